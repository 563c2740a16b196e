//! One configured database: what readers and enumerator open of it. Here the rooms below meet: dialect, connections,
//! catalogue, codec and log.

mod connections;
mod setup;

use std::sync::Arc;
use std::time::Duration;

use crate::catalog::key::KeyCodec;
use crate::catalog::{self, Table};
use crate::config::Config;
use crate::database::connections::Connections;
use crate::dialect::mining::Mining;
use crate::dialect::{self, Endpoint};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::changes;
use crate::log::logminer::delivery::FragmentLimit;
use crate::log::logminer::opener::LogMiner;
use crate::log::logminer::reader::Settings;
use crate::log::{LogReader, Opening};
use crate::odbc::{Connection, Field};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::capture::{Capture, Connector};
use crate::row::RowCodec;
use crate::row::codec::{CapturedTable, Codec};
use crate::row::layout;
use crate::snapshot::PageSource;
use crate::snapshot::select::PageReader;
use crate::snapshot::splitter::Splitter;
use crate::split::{Chunk, Key, TableName};

/// Chunks that one look at the database plans: few enough that the first ones go out soon.
const CHUNKS_A_CALL: usize = 16;

/// The database that a job's configuration names. Connects to nothing by itself.
pub struct Database {
    config: Arc<Config>,
    dialect: Arc<dyn Mining>,
    connections: Connections,
}

impl Database {
    /// The database of a configuration.
    ///
    /// # Errors
    /// `Internal` for a connector that no dialect knows.
    pub fn new(config: Arc<Config>) -> Result<Arc<Self>> {
        let name = config.connector.name();
        let dialect = dialect::of_connector(name)
            .ok_or_else(|| ErrorKind::Internal(format!("no dialect belongs to connector '{name}'")))?;
        let endpoint = Endpoint {
            hostname: config.hostname.clone(),
            port: config.port,
            username: config.username.clone(),
            password: config.password.clone(),
            connect_timeout: config.connect_timeout,
            statement_timeout: Some(config.socket_timeout),
            driver: config.odbc_driver.clone(),
            attributes: config.odbc.clone().into_iter().collect(),
        };
        let connections = Connections::new(dialect.connection(&endpoint), config.connect_retries);
        Ok(Arc::new(Database {
            config,
            dialect,
            connections,
        }))
    }

    fn captured(self: &Arc<Self>) -> Result<Captured> {
        let mut connection = self.connections.open()?;
        let table = Arc::new(catalog::load(&mut connection, &*self.dialect, &self.config.table)?);
        if table.key.is_empty() {
            return Err(setup::without_key().on(&table.name));
        }
        let columns = layout::resolve(&self.config.columns, &table)?;
        let keys = Arc::new(KeyCodec::new(&table).map_err(|error| error.on(&table.name))?);
        let name = text(&mut connection, &self.dialect.database_name())?;
        let captured = CapturedTable {
            table: (*table).clone(),
            key: keys,
            columns,
        };
        let codec = Codec::new(
            vec![captured],
            &name,
            self.config.server_time_zone.clone(),
            self.config.on_value_error,
        );
        Ok(Captured {
            database: self.clone(),
            connection,
            names: vec![table.name.clone()],
            table,
            codec: Arc::new(codec),
        })
    }
}

impl Connector for Arc<Database> {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        Ok(Box::new(self.captured()?))
    }

    fn cancel(&self) {
        self.connections.cancel();
    }

    fn busy_for(&self) -> Option<Duration> {
        self.connections.busy_for()
    }

    fn cancel_calls(&self, longer_than: Duration) {
        self.connections.cancel_calls(longer_than);
    }
}

impl Surveyor for Arc<Database> {
    fn connect(&self) -> Result<Box<dyn Survey>> {
        setup::check(&mut self.connections.open()?, &*self.dialect, &self.config)
            .map_err(|error| error.doing("checking the database's set-up"))?;
        let captured = self.captured()?;
        // Nothing is mined here: the reader answers questions, and opening it checks how the server is set up.
        let (opening, log) = captured.log_miner().open_new(self.connections.open()?)?;
        Ok(Box::new(Surveyed { captured, opening, log }))
    }

    fn cancel(&self) {
        self.connections.cancel();
    }
}

/// The captured table, looked up over a connection that stays for questions.
struct Captured {
    database: Arc<Database>,
    connection: Connection,
    names: Vec<Arc<TableName>>,
    table: Arc<Table>,
    codec: Arc<Codec>,
}

impl Captured {
    fn log_miner(&self) -> LogMiner {
        let table = changes::CapturedTable {
            table: self.table.clone(),
            wanted: Some(self.codec.needed_columns(0).to_vec()),
        };
        let log = &self.database.config.log;
        let defaults = Settings::default();
        let settings = Settings {
            fetch_rows: log.fetch_rows,
            window_bytes: log.window_bytes,
            fragment: FragmentLimit {
                rows: log.fragment_rows,
                ..defaults.fragment
            },
            may_switch: log.may_switch,
            on_corruption: log.on_corruption,
            on_mismatch: log.on_mismatch,
            zone: self.database.config.server_time_zone.clone(),
            logging_hint: self.database.dialect.logging_hint().to_owned(),
            ..defaults
        };
        LogMiner::new(self.database.dialect.clone(), vec![table], settings)
    }
}

impl Capture for Captured {
    fn tables(&self) -> &[Arc<TableName>] {
        &self.names
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        self.codec.clone()
    }

    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        let (opening, log) = self.log_miner().open_new(self.database.connections.open()?)?;
        Ok((log, opening.position))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position) -> Result<Box<dyn LogReader>> {
        self.log_miner()
            .open(self.database.connections.open()?, Opening { mine_from, position })
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        let connection = self.database.connections.open()?;
        let needed = self.codec.needed_columns(0);
        let reader = PageReader::new(
            connection,
            self.database.dialect.clone(),
            self.codec.clone(),
            &[(self.table.clone(), needed)],
            self.database.config.snapshot.fetch_rows,
        )?;
        Ok(Box::new(reader))
    }
}

struct Surveyed {
    captured: Captured,
    opening: Opening,
    log: Box<dyn LogReader>,
}

impl Survey for Surveyed {
    fn tables(&self) -> Vec<TableName> {
        vec![(*self.captured.table.name).clone()]
    }

    fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        self.log.check_kept(needed)
    }

    fn end_of_log(&mut self) -> Result<Offset> {
        Ok(Offset::starting(
            self.log.incarnation(),
            self.opening.mine_from,
            self.opening.position,
        ))
    }

    fn cut(&mut self, table: &TableName, lower: Option<&Key>) -> Result<Vec<Chunk>> {
        if *table != *self.captured.table.name {
            let kind = ErrorKind::State("the state names a table that is not captured any more".into());
            return Err(Error::from(kind).on(table));
        }
        let database = &self.captured.database;
        Splitter::new(&*database.dialect, &self.captured.table, database.config.chunk_rows)?.cut(
            &mut self.captured.connection,
            lower,
            CHUNKS_A_CALL,
        )
    }
}

fn text(connection: &mut Connection, query: &crate::dialect::Query) -> Result<String> {
    let rows = connection.rows(&query.sql, &query.columns)?;
    let text = rows.first().and_then(|row| row.first()).and_then(Field::text);
    Ok(text.unwrap_or_default().trim_end().to_owned())
}
