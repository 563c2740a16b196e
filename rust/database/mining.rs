//! A database whose log files are mined.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, StartupMode};
use crate::database::connections::Connections;
use crate::database::setup;
use crate::database::tables::{Tables, listed};
use crate::dialect::Endpoint;
use crate::dialect::mining::Mining;
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::Result;
use crate::log::OnFault;
use crate::log::logminer::opener::LogMiner;
use crate::log::logminer::reader::Settings;
use crate::log::spill::Spilling;
use crate::log::{FragmentLimit, LogReader, LogStart, Opening, Patience};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::capture::{Calls, Capture, Connector, Overdue};
use crate::row::RowCodec;
use crate::snapshot::PageSource;
use crate::split::{Chunk, Key, Partition, TableName};
use crate::unavailable::Completion;

/// How long a log file that should be there may be missing: a server may list one before it can be opened, or the next
/// one before the one between.
const MISSING_PATIENCE: Duration = Duration::from_secs(30);

/// The database. Connects to nothing by itself.
pub(super) struct MinedDatabase {
    config: Arc<Config>,
    dialect: Arc<dyn Mining>,
    connections: Arc<Connections>,
    /// For all logs of its reader.
    spilling: Arc<Spilling>,
}

impl MinedDatabase {
    pub(super) fn new(config: Arc<Config>, dialect: Arc<dyn Mining>, endpoint: &Endpoint) -> Arc<Self> {
        let connections = Connections::new(dialect.connection(endpoint), config.connect_retries);
        let spilling = Spilling::new(config.log.transaction_memory, config.temporary.clone());
        Arc::new(MinedDatabase {
            spilling,
            config,
            dialect,
            connections: Arc::new(connections),
        })
    }
}

impl Calls for Arc<MinedDatabase> {
    fn cancel(&self) {
        self.connections.cancel();
    }

    fn overdue(&self) -> Option<Overdue> {
        self.connections.overdue()
    }

    fn cancel_overdue(&self, by: Duration) {
        self.connections.cancel_overdue(by);
    }
}

impl Connector for Arc<MinedDatabase> {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        self.spilling.sweep();
        let connection = self.connections.open()?;
        let tables = Tables::look_up(&self.config, self.dialect.clone(), &self.connections, connection)?;
        Ok(Box::new(Captured {
            database: self.clone(),
            tables,
        }))
    }
}

impl Surveyor for Arc<MinedDatabase> {
    fn connect(&self, state: Option<&[Arc<TableName>]>) -> Result<Box<dyn Survey>> {
        let mut connection = self.connections.open()?;
        let found = setup::check(&mut connection, &*self.dialect, &self.config, state)
            .map_err(|error| error.doing("checking the database's set-up"))?;
        let tables = Tables::of(
            &self.config,
            self.dialect.clone(),
            &self.connections,
            connection,
            &found,
        )?;
        let captured = Captured {
            database: self.clone(),
            tables,
        };
        for name in &found.but_for_case {
            log::warn!(
                "table {name} is not captured: it matches {} but for its case (a name in double quotes is exact)",
                self.config.tables
            );
        }
        log::info!("captured tables: {}", listed(captured.tables.names()));
        // Nothing is mined here: the reader answers questions, and opening it checks how the server is set up.
        let (opening, log) = captured.log_miner().open_new(self.connections.open()?)?;
        Ok(Box::new(Surveyed { captured, opening, log }))
    }
}

/// The captured tables and their log.
struct Captured {
    database: Arc<MinedDatabase>,
    tables: Tables,
}

impl Captured {
    fn log_miner(&self) -> LogMiner {
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
            max_age: log.max_age,
            on_max_age: log.on_max_age,
            missing_patience: MISSING_PATIENCE,
            zone: self.database.config.server_time_zone.clone(),
            logging_hint: self.database.dialect.logging_hint().to_owned(),
            selection: Some(self.tables.selection()),
            spilling: self.database.spilling.clone(),
            ..defaults
        };
        LogMiner::new(self.database.dialect.clone(), self.tables.for_log(), settings)
    }
}

impl Capture for Captured {
    fn tables(&self) -> &[Arc<TableName>] {
        self.tables.names()
    }

    fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>> {
        self.tables.keep(tables)
    }

    fn newcomers(&mut self) -> Result<Vec<TableName>> {
        self.tables.newcomers()
    }

    fn has_key(&self, table: u32) -> bool {
        self.tables.has_key(table)
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        self.tables.codec()
    }

    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        let (opening, log) = self.log_miner().open_new(self.database.connections.open()?)?;
        self.tables.look_at_altered()?;
        Ok((log, opening.position))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position, _: &[Partition]) -> Result<Box<dyn LogReader>> {
        self.log_miner()
            .open(self.database.connections.open()?, Opening { mine_from, position })
    }

    fn completion(&mut self, visibility: Patience) -> Option<Completion> {
        Some(self.tables.completion(visibility))
    }

    fn look_again(&mut self, table: u32) -> Result<bool> {
        self.tables.look_again(table)
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        Ok(Box::new(self.tables.pages()?))
    }
}

struct Surveyed {
    captured: Captured,
    opening: Opening,
    log: Box<dyn LogReader>,
}

impl Survey for Surveyed {
    fn tables(&self) -> Vec<TableName> {
        self.captured
            .tables
            .names()
            .iter()
            .map(|name| (**name).clone())
            .collect()
    }

    fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        self.log.check_kept(needed)
    }

    fn check_readable(&mut self, needed: Scn) -> Result<()> {
        self.log.check_readable(needed)
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
        self.captured.tables.cut(table, lower)
    }
}
