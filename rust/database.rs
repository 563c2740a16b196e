//! One configured database: what readers and enumerator open of it. Here the rooms below meet: dialect, connections,
//! catalogue, codec and log.

mod connections;
mod setup;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::key::KeyCodec;
use crate::catalog::{self, Found, Table, TableVersion};
use crate::config::{Config, StartupMode};
use crate::database::connections::Connections;
use crate::dialect::mining::Mining;
use crate::dialect::{self, Endpoint};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::changes::{self, Selection};
use crate::log::logminer::delivery::FragmentLimit;
use crate::log::logminer::faults::OnFault;
use crate::log::logminer::opener::LogMiner;
use crate::log::logminer::reader::Settings;
use crate::log::{LogReader, LogStart, Opening, Patience};
use crate::odbc::{Connection, Field};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::capture::{Capture, Connector};
use crate::row::RowCodec;
use crate::row::codec::{CapturedTable, Codec, Form, Needed, NoKey};
use crate::row::layout;
use crate::snapshot::PageSource;
use crate::snapshot::select::PageReader;
use crate::snapshot::splitter::Splitter;
use crate::split::{Chunk, Key, KeyRange, TableName};
use crate::unavailable::Completion;
use crate::unavailable::look_up::KeyedSource;
use crate::unavailable::select::KeyReader;

/// Chunks that one look at the database plans: few enough that the first ones go out soon.
const CHUNKS_A_CALL: usize = 16;

/// How long a log file that should be there may be missing: a server may list one before it can be opened, or the next
/// one before the one between.
const MISSING_PATIENCE: Duration = Duration::from_secs(30);

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
            database: None,
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

    /// Looks the captured tables up over a connection of its own.
    fn captured(self: &Arc<Self>) -> Result<Captured> {
        let mut connection = self.connections.open()?;
        let found = catalog::find(&mut connection, &*self.dialect, &self.config.tables)?;
        self.captured_of(connection, &found)
    }

    fn captured_of(self: &Arc<Self>, mut connection: Connection, found: &Found) -> Result<Captured> {
        let mut tables = Vec::with_capacity(found.tables.len());
        let mut faulty = Vec::new();
        for name in &found.tables {
            match self.load(&mut connection, name) {
                Ok(table) => tables.push(Arc::new(table)),
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => faulty.push((name.clone(), error)),
            }
        }
        let database_name = text(&mut connection, &self.dialect.database_name())?;
        let codec = self.codec(&tables, &database_name)?;
        Ok(Captured {
            database: self.clone(),
            connection,
            names: tables.iter().map(|table| table.name.clone()).collect(),
            tables,
            codec: Arc::new(codec),
            database_name,
            faulty,
            seen: found.tables.iter().cloned().collect(),
        })
    }

    fn load(&self, connection: &mut Connection, name: &TableName) -> Result<Table> {
        let table = load(connection, &*self.dialect, &self.config, name)?;
        prepared(&self.config, &table).map_err(|error| error.on(name))?;
        Ok(table)
    }

    fn codec(&self, tables: &[Arc<Table>], database_name: &str) -> Result<Codec> {
        let captured = tables
            .iter()
            .map(|table| prepared(&self.config, table).map_err(|error| error.on(&table.name)));
        let config = self.config.clone();
        let codec = Codec::new(
            captured.collect::<Result<_>>()?,
            database_name,
            self.config.server_time_zone.clone(),
            self.config.on_value_error,
        );
        let codec = codec.with_shapes(Arc::new(move |table| prepared(&config, table)));
        Ok(codec.with_form(self.config.form.clone()))
    }
}

/// A table with its key in the order in which it is read.
fn load(connection: &mut Connection, dialect: &dyn Mining, config: &Config, name: &TableName) -> Result<Table> {
    let mut table = catalog::load(connection, dialect, name)?;
    if let Some(column) = &config.chunk_key_column {
        table.lead_with(column)?;
    }
    Ok(table)
}

/// A table with what of it goes downstream: the columns that the job declares, those that the table has no more as NULL,
/// or all.
fn prepared(config: &Config, table: &Table) -> Result<CapturedTable> {
    setup::check_key(config, table)?;
    check_upsert(config, table)?;
    Ok(CapturedTable {
        table: table.clone(),
        key: match table.key.is_empty() {
            true => Arc::new(NoKey),
            false => Arc::new(KeyCodec::new(table)?),
        },
        columns: match &config.columns {
            Some(declared) => layout::resolve_altered(declared, table)?,
            None => layout::all_columns(table)?,
        },
    })
}

/// Whether rows can be kept downstream where an update is its new row alone.
fn check_upsert(config: &Config, table: &Table) -> Result<()> {
    match config.form {
        Form::Rows { upsert: true } => layout::require_key(config.upsert_key.as_deref(), table),
        _ => Ok(()),
    }
}

/// What log readers must read of the tables.
struct Selected {
    codec: Arc<Codec>,
    config: Arc<Config>,
}

impl fmt::Debug for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the job declares")
    }
}

impl Selection for Selected {
    fn of(&self, table: u32, shape: &Table) -> Result<Needed> {
        Ok(Needed {
            whole: self.config.columns.is_none(),
            ..self.codec.needed_of(table, shape)?
        })
    }

    fn prepare(&self, shape: &mut Table) -> Result<()> {
        match &self.config.chunk_key_column {
            Some(column) => shape.lead_with(column).map_err(|error| error.on(&shape.name)),
            None => Ok(()),
        }
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
    fn connect(&self, state: Option<&[Arc<TableName>]>) -> Result<Box<dyn Survey>> {
        let mut connection = self.connections.open()?;
        let found = setup::check(&mut connection, &*self.dialect, &self.config, state)
            .map_err(|error| error.doing("checking the database's set-up"))?;
        let captured = self.captured_of(connection, &found)?;
        for name in &found.but_for_case {
            log::warn!(
                "table {name} is not captured: it matches {} but for its case (a name in double quotes is exact)",
                self.config.tables
            );
        }
        log::info!("captured tables: {}", listed(&captured.names));
        // Nothing is mined here: the reader answers questions, and opening it checks how the server is set up.
        let (opening, log) = captured.log_miner().open_new(self.connections.open()?)?;
        Ok(Box::new(Surveyed { captured, opening, log }))
    }

    fn cancel(&self) {
        self.connections.cancel();
    }
}

/// The captured tables, looked up over a connection that stays for questions.
struct Captured {
    database: Arc<Database>,
    connection: Connection,
    /// Names and tables, both by number.
    names: Vec<Arc<TableName>>,
    tables: Vec<Arc<Table>>,
    codec: Arc<Codec>,
    database_name: String,
    /// Tables that match and cannot be captured: an error as soon as they must be.
    faulty: Vec<(TableName, Error)>,
    /// Every table that has matched so far.
    seen: BTreeSet<TableName>,
}

impl Captured {
    fn log_miner(&self) -> LogMiner {
        let tables = self
            .with_needed_columns()
            .map(|(table, needed)| changes::CapturedTable {
                table,
                wanted: Some(needed),
            });
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
            on_lost_start: match self.database.config.startup {
                StartupMode::Log(LogStart::Earliest) => OnFault::Skip,
                _ => OnFault::Fail,
            },
            missing_patience: MISSING_PATIENCE,
            zone: self.database.config.server_time_zone.clone(),
            logging_hint: self.database.dialect.logging_hint().to_owned(),
            selection: Some(Arc::new(Selected {
                codec: self.codec.clone(),
                config: self.database.config.clone(),
            })),
            ..defaults
        };
        LogMiner::new(self.database.dialect.clone(), tables.collect(), settings)
    }

    /// The tables in the shapes that count now.
    fn with_needed_columns(&self) -> impl Iterator<Item = (Arc<Table>, Vec<bool>)> {
        let tables = self.tables.iter().zip(0..);
        tables.map(|(table, number)| {
            let shape = self.codec.shape(number).unwrap_or_else(|| table.clone());
            (shape, self.codec.needed_columns(number))
        })
    }
}

impl Captured {
    /// Looks at the tables once the log is open: what was done between the look before and the place where it was opened is
    /// not in the log that follows.
    fn look_at_altered(&mut self) -> Result<()> {
        let known: Vec<u64> = self.tables.iter().map(|table| table.object_id).collect();
        let now = catalog::versions(&mut self.connection, &*self.database.dialect, &known)
            .map_err(|error| error.doing("asking whether the tables were altered"))?;
        for number in 0..self.tables.len() {
            let said = TableVersion::of(&self.tables[number]);
            if !now.contains(&said) {
                self.look_again(number as u32)?;
            }
        }
        Ok(())
    }
}

impl Capture for Captured {
    fn tables(&self) -> &[Arc<TableName>] {
        &self.names
    }

    fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>> {
        let wants = |name: &TableName| tables.is_none_or(|tables| tables.iter().any(|wanted| **wanted == *name));
        if let Some(faulty) = self.faulty.iter().position(|(name, _)| wants(name)) {
            return Err(self.faulty.swap_remove(faulty).1);
        }
        let Some(tables) = tables else {
            return Ok(Vec::new());
        };
        let kept = self.tables.iter().filter(|table| tables.contains(&table.name)).cloned();
        let kept: Vec<Arc<Table>> = kept.collect();
        let gone = tables
            .iter()
            .filter(|name| !self.names.contains(name))
            .cloned()
            .collect();
        if kept.is_empty() {
            let text = "of the tables that the state has none is matched any more";
            return Err(ErrorKind::Catalog(text.into()).into());
        }
        if kept.len() < self.tables.len() {
            let codec = self.database.codec(&kept, &self.database_name)?;
            self.codec = Arc::new(codec);
            self.names = kept.iter().map(|table| table.name.clone()).collect();
            self.tables = kept;
        }
        Ok(gone)
    }

    fn newcomers(&mut self) -> Result<Vec<TableName>> {
        let Captured {
            database, connection, ..
        } = self;
        let (dialect, wanted) = (&*database.dialect, &database.config.tables);
        let found = match catalog::find(connection, dialect, wanted) {
            // It was idle for long: a firewall may have ended it.
            Err(error) if error.is_retryable() => {
                *connection = database.connections.open()?;
                catalog::find(connection, dialect, wanted)
            }
            found => found,
        };
        let new = found?.tables.into_iter().filter(|table| !self.seen.contains(table));
        let new: Vec<TableName> = new.collect();
        self.seen.extend(new.iter().cloned());
        Ok(new)
    }

    fn has_key(&self, table: u32) -> bool {
        self.tables
            .get(table as usize)
            .is_some_and(|table| !table.key.is_empty())
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        self.codec.clone()
    }

    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        let (opening, log) = self.log_miner().open_new(self.database.connections.open()?)?;
        self.look_at_altered()?;
        Ok((log, opening.position))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position) -> Result<Box<dyn LogReader>> {
        self.log_miner()
            .open(self.database.connections.open()?, Opening { mine_from, position })
    }

    fn completion(&mut self, visibility: Patience) -> Option<Completion> {
        let database = self.database.clone();
        let connect = move || -> Result<Box<dyn KeyedSource>> {
            let connection = database.connections.open()?;
            Ok(Box::new(KeyReader::new(connection, database.dialect.clone())))
        };
        let policy = self.database.config.on_unavailable;
        Some(Completion::new(
            policy,
            self.with_needed_columns().map(|(table, _)| table).collect(),
            visibility,
            Box::new(connect),
        ))
    }

    fn look_again(&mut self, table: u32) -> Result<bool> {
        let Some(name) = self.names.get(table as usize) else {
            return Ok(false);
        };
        let known = self.codec.shape(table);
        let shape = load(
            &mut self.connection,
            &*self.database.dialect,
            &self.database.config,
            name,
        )?;
        if known.is_some_and(|known| *known == shape) {
            return Ok(false);
        }
        self.codec.reshape(table, &Arc::new(shape))?;
        Ok(true)
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        let connection = self.database.connections.open()?;
        let tables: Vec<_> = self.with_needed_columns().collect();
        let reader = PageReader::new(
            connection,
            self.database.dialect.clone(),
            self.codec.clone(),
            &tables,
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
        self.captured.names.iter().map(|name| (**name).clone()).collect()
    }

    fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        self.log.check_kept(needed)
    }

    fn start_of_log(&mut self, start: LogStart) -> Result<Offset> {
        let opening = match start {
            LogStart::Latest => self.opening,
            start => {
                let connection = self.captured.database.connections.open()?;
                self.captured.log_miner().start(connection, start)?
            }
        };
        Ok(Offset::starting(
            self.log.incarnation(),
            opening.mine_from,
            opening.position,
        ))
    }

    fn cut(&mut self, table: &TableName, lower: Option<&Key>) -> Result<Vec<Chunk>> {
        let Captured {
            database,
            connection,
            tables,
            ..
        } = &mut self.captured;
        let Some(table) = tables.iter().find(|captured| *captured.name == *table) else {
            let kind = ErrorKind::State("the state names a table that is not captured any more".into());
            return Err(Error::from(kind).on(table));
        };
        if table.key.is_empty() {
            return Ok(vec![Chunk {
                table: table.name.clone(),
                range: KeyRange::ALL,
            }]);
        }
        Splitter::new(&*database.dialect, table, database.config.chunk_rows)?.cut(connection, lower, CHUNKS_A_CALL)
    }
}

/// Names for a line of the log.
fn listed(names: &[Arc<TableName>]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn text(connection: &mut Connection, query: &crate::dialect::Query) -> Result<String> {
    let rows = connection.rows(&query.sql, &query.columns)?;
    let text = rows.first().and_then(|row| row.first()).and_then(Field::text);
    Ok(text.unwrap_or_default().trim_end().to_owned())
}
