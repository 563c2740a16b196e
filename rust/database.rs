//! One configured database: what readers and enumerator open of it. Here the rooms below meet: dialect, connections,
//! catalogue, codec and log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::catalog::key::KeyCodec;
use crate::catalog::{self, Table};
use crate::config::Config;
use crate::dialect::mining::Mining;
use crate::dialect::{self, Endpoint};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::changes;
use crate::log::logminer::opener::LogMiner;
use crate::log::logminer::reader::Settings;
use crate::log::{LogReader, Opening};
use crate::odbc::{CancelToken, Connection, ConnectionSettings, Field};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::capture::{Capture, Connector};
use crate::row::RowCodec;
use crate::row::codec::{CapturedTable, Codec, OnValueError};
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
    settings: ConnectionSettings,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    cancelled: bool,
    tokens: Vec<CancelToken>,
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
            statement_timeout: None,
            driver: config.odbc_driver.clone(),
            attributes: config.odbc.clone().into_iter().collect(),
        };
        let settings = dialect.connection(&endpoint);
        Ok(Arc::new(Database {
            config,
            dialect,
            settings,
            connections: Mutex::default(),
        }))
    }

    /// A connection that ends when the database is cancelled.
    fn connection(&self) -> Result<Connection> {
        if lock(&self.connections).cancelled {
            return Err(ErrorKind::Closed.into());
        }
        let connection = Connection::open(&self.settings)?;
        let token = connection.cancel_token();
        let mut connections = lock(&self.connections);
        if connections.cancelled {
            return Err(ErrorKind::Closed.into());
        }
        connections.tokens.push(token);
        Ok(connection)
    }

    fn cancel_all(&self) {
        let mut connections = lock(&self.connections);
        connections.cancelled = true;
        connections.tokens.iter().for_each(CancelToken::close);
    }

    fn captured(self: &Arc<Self>) -> Result<Captured> {
        let mut connection = self.connection()?;
        let table = Arc::new(catalog::load(&mut connection, &*self.dialect, &self.config.table)?);
        if table.key.is_empty() {
            return Err(Error::from(ErrorKind::Catalog(
                "the table has neither a primary key nor a unique key of NOT NULL columns".into(),
            ))
            .on(&table.name));
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
            OnValueError::Fail,
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
        self.cancel_all();
    }
}

impl Surveyor for Arc<Database> {
    fn connect(&self) -> Result<Box<dyn Survey>> {
        let captured = self.captured()?;
        // Nothing is mined here: the reader answers questions, and opening it checks how the server is set up.
        let (opening, log) = captured.log_miner().open_new(self.connection()?)?;
        Ok(Box::new(Surveyed { captured, opening, log }))
    }

    fn cancel(&self) {
        self.cancel_all();
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
        let settings = Settings {
            zone: self.database.config.server_time_zone.clone(),
            ..Settings::default()
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
        let (opening, log) = self.log_miner().open_new(self.database.connection()?)?;
        Ok((log, opening.position))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position) -> Result<Box<dyn LogReader>> {
        self.log_miner()
            .open(self.database.connection()?, Opening { mine_from, position })
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        let connection = self.database.connection()?;
        let needed = self.codec.needed_columns(0);
        let reader = PageReader::new(
            connection,
            self.database.dialect.clone(),
            self.codec.clone(),
            &[(self.table.clone(), needed)],
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

fn lock(connections: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}
