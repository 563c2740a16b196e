//! One configured database: what readers and enumerator open of it. Here the rooms below meet: dialect, connections,
//! catalogue, codec and log.

mod captured;
mod connections;
mod mining;
mod setup;
mod slots;
mod tables;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::database::mining::MinedDatabase;
use crate::database::slots::SlotDatabase;
use crate::dialect::{self, Endpoint, Family};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{ErrorKind, Result};
use crate::position::Scn;
use crate::reader::capture::{Calls, Capture, Connector, Overdue};
use crate::split::TableName;

/// The database that a job's configuration names, by how its log is read. Connects to nothing by itself.
#[derive(Clone)]
pub struct Database {
    connector: Arc<dyn Connector>,
    surveyor: Arc<dyn Surveyor>,
}

impl Database {
    /// The database of a configuration.
    ///
    /// # Errors
    /// `Internal` for a connector that no dialect knows.
    pub fn new(config: Arc<Config>) -> Result<Arc<Self>> {
        let name = config.connector.name();
        let family = dialect::of_connector(name)
            .ok_or_else(|| ErrorKind::Internal(format!("no dialect belongs to connector '{name}'")))?;
        let endpoint = Endpoint {
            hostname: config.hostname.clone(),
            port: config.port,
            database: config.slot.as_ref().map(|slot| slot.database.clone()),
            username: config.username.clone(),
            password: config.password.clone(),
            connect_timeout: config.connect_timeout,
            statement_timeout: Some(config.socket_timeout),
            driver: config.odbc_driver.clone(),
            attributes: config.odbc.0.clone().into_iter().collect(),
        };
        Ok(Arc::new(match family {
            Family::Mining(dialect) => {
                let database = Arc::new(MinedDatabase::new(config, dialect, &endpoint));
                Database {
                    connector: database.clone(),
                    surveyor: database,
                }
            }
            Family::Slots(brand) => {
                let database = Arc::new(SlotDatabase::new(config, brand, &endpoint)?);
                Database {
                    connector: database.clone(),
                    surveyor: database,
                }
            }
        }))
    }
}

impl Calls for Arc<Database> {
    fn cancel(&self) {
        self.connector.cancel();
    }

    fn overdue(&self) -> Option<Overdue> {
        self.connector.overdue()
    }

    fn cancel_overdue(&self, by: Duration) {
        self.connector.cancel_overdue(by);
    }
}

impl Connector for Arc<Database> {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        self.connector.connect()
    }

    fn confirm(&self, before: Scn) {
        self.connector.confirm(before);
    }
}

impl Surveyor for Arc<Database> {
    fn connect(&self, state: Option<&[Arc<TableName>]>) -> Result<Box<dyn Survey>> {
        self.surveyor.connect(state)
    }

    fn connect_anew(&self) -> Result<Box<dyn Survey>> {
        self.surveyor.connect_anew()
    }
}
