//! A database whose log is read through a logical slot.

mod ddl;
mod setup;
mod survey;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::config::{Config, SlotConfig};
use crate::database::connections::Connections;
use crate::database::slots::survey::Surveyed;
use crate::database::tables::{Tables, listed};
use crate::dialect::Endpoint;
use crate::dialect::postgres::{Brand, Postgres, connection};
use crate::dialect::slots::{Names, Statements};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{ErrorKind, Result};
use crate::log::decoding::confirm::Confirmer;
use crate::log::decoding::control::Connect;
use crate::log::decoding::reader::{Settings, SlotReader};
use crate::log::decoding::settings::SlotSettings;
use crate::log::decoding::slot;
use crate::log::{FragmentLimit, LogReader, Opening, Patience};
use crate::odbc::{Connection, ConnectionSettings};
use crate::position::{Incarnation, Lsn, Position, Scn};
use crate::reader::capture::{Calls, Capture, Connector, Overdue};
use crate::row::RowCodec;
use crate::snapshot::barrier::Barrier;
use crate::snapshot::exact::{ExactPages, ExactRounds};
use crate::snapshot::page::RoundLimits;
use crate::snapshot::{PageRounds, PageSource};
use crate::split::{Partition, TableName};
use crate::stop::{RealClock, Stop, Stopped};
use crate::unavailable::Completion;

/// Changes that the first call for the log asks for; those behind it ask for more while the log has more.
const CALL_CHANGES: u64 = 100_000;

/// How often partitions and the slot's state are looked up again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Bytes of changes that are decoded and handed on at once.
const FRAGMENT_BYTES: usize = 8 << 20;

/// How long transactions may stay open that were so when the snapshot began.
const BARRIER_PATIENCE: Patience = Patience {
    limit: Duration::from_secs(60),
    pause: Duration::from_millis(20),
};

/// How often a slot that another session uses is asked for.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How long the log may take to become durable up to where a page has seen it.
const DURABLE_PATIENCE: Patience = Patience {
    limit: Duration::from_secs(30),
    pause: Duration::from_millis(5),
};

/// The database. Connects to nothing by itself.
pub(super) struct SlotDatabase {
    config: Arc<Config>,
    slot: SlotConfig,
    brand: &'static Brand,
    settings: ConnectionSettings,
    connections: Arc<Connections>,
    /// The server's dialect, once it was asked for its names.
    dialect: OnceLock<Arc<Postgres>>,
    confirmer: Mutex<Option<Confirmer>>,
    stop: Stop,
    stopped: Stopped,
}

impl SlotDatabase {
    pub(super) fn new(config: Arc<Config>, brand: &'static Brand, endpoint: &Endpoint) -> Result<Arc<Self>> {
        let slot = config
            .slot
            .clone()
            .ok_or_else(|| ErrorKind::Internal("a job of this connector has no slot".into()))?;
        let settings = connection(brand, endpoint);
        let connections = Connections::new(settings.clone(), config.connect_retries);
        let (stop, stopped) = Stop::new();
        Ok(Arc::new(SlotDatabase {
            config,
            slot,
            brand,
            settings,
            connections: Arc::new(connections),
            dialect: OnceLock::new(),
            confirmer: Mutex::default(),
            stop,
            stopped,
        }))
    }

    /// The first connection: a database that is not there is told by its option.
    fn open(&self) -> Result<Connection> {
        self.connections.open().map_err(|error| {
            let database = &self.slot.database;
            let is_missing = match error.kind() {
                ErrorKind::Connect { message, retryable, .. } => {
                    !retryable && message.contains(&format!("database \"{database}\" does not exist"))
                }
                _ => false,
            };
            match is_missing {
                true => {
                    let reason = format!("is '{database}', which the server does not have");
                    let option = "database-name".into();
                    ErrorKind::Option { option, reason }.into()
                }
                false => error,
            }
        })
    }

    /// The dialect with the names that the server has.
    fn dialect(&self, connection: &mut Connection) -> Result<Arc<Postgres>> {
        if let Some(known) = self.dialect.get() {
            return Ok(known.clone());
        }
        let unnamed = Postgres::new(self.brand, Names::default());
        let statements = slot::resolve_names(connection, &unnamed)?;
        let named = Arc::new(Postgres::new(self.brand, statements.names().clone()));
        Ok(self.dialect.get_or_init(|| named).clone())
    }

    fn opener(&self) -> Connect {
        let connections = self.connections.clone();
        Arc::new(move || connections.open())
    }

    /// How long a session that died may hold the slot's copy.
    fn copy_patience(&self) -> Patience {
        Patience {
            limit: self.config.connect_timeout,
            pause: BUSY_PAUSE,
        }
    }

    fn clock(&self) -> RealClock {
        RealClock::new(self.stopped.clone())
    }
}

impl Calls for Arc<SlotDatabase> {
    fn cancel(&self) {
        self.stop.stop();
        self.connections.cancel();
    }

    fn overdue(&self) -> Option<Overdue> {
        self.connections.overdue()
    }

    fn cancel_overdue(&self, by: Duration) {
        self.connections.cancel_overdue(by);
    }
}

impl Connector for Arc<SlotDatabase> {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        let mut connection = self.open()?;
        let dialect = self.dialect(&mut connection)?;
        let tables = Tables::look_up(&self.config, dialect.clone(), &self.connections, connection)?;
        Ok(Box::new(Captured {
            database: self.clone(),
            dialect,
            tables,
        }))
    }

    fn confirm(&self, before: Scn) {
        let Some(dialect) = self.dialect.get() else { return };
        let mut confirmer = self.confirmer.lock().unwrap_or_else(PoisonError::into_inner);
        let confirmer =
            confirmer.get_or_insert_with(|| Confirmer::new(self.opener(), dialect.clone(), &self.slot.name));
        confirmer.confirm(Lsn(before.0));
    }
}

impl Surveyor for Arc<SlotDatabase> {
    fn connect(&self, state: Option<&[Arc<TableName>]>) -> Result<Box<dyn Survey>> {
        let mut connection = self.open()?;
        let dialect = self.dialect(&mut connection)?;
        let statements = Statements::new(dialect.names().clone());
        let found = setup::check(self, &mut connection, (&dialect, &statements), state)
            .map_err(|error| error.doing("checking the database's set-up"))?;
        let tables = Tables::of(&self.config, dialect.clone(), &self.connections, connection, &found)?;
        for name in &found.but_for_case {
            log::warn!(
                "table {name} is not captured: it matches {} but for its case (a name in double quotes is exact)",
                self.config.tables
            );
        }
        log::info!("captured tables: {}", listed(tables.names()));
        let mut surveyed = Surveyed {
            database: self.clone(),
            dialect,
            statements,
            tables,
            incarnation: Incarnation::default(),
            drops: false,
        };
        surveyed.prepare(state.is_none())?;
        surveyed.warn();
        surveyed.drops = self.slot.drop_on_stop;
        Ok(Box::new(surveyed))
    }

    /// A slot that cannot be read any more is dropped first, so that another one can be made.
    fn connect_anew(&self) -> Result<Box<dyn Survey>> {
        let mut connection = self.open()?;
        let dialect = self.dialect(&mut connection)?;
        let statements = Statements::new(dialect.names().clone());
        let name = &self.slot.name;
        let found = slot::status(&mut connection, &statements, name)?;
        if found.is_some_and(|found| found.check_lost(name).is_err()) {
            slot::drop_slot(&mut connection, &statements, name)?;
            log::info!("slot '{name}' was dropped, to be made anew");
        }
        drop(connection);
        Surveyor::connect(self, None)
    }
}

/// The captured tables and their log.
struct Captured {
    database: Arc<SlotDatabase>,
    dialect: Arc<Postgres>,
    tables: Tables,
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

    fn is_paged(&self, table: u32) -> bool {
        self.tables.is_paged(table)
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        self.tables.codec()
    }

    /// Pages are exact; no log corrects them.
    fn rounds(&mut self, limits: RoundLimits) -> Result<Box<dyn PageRounds>> {
        self.tables.look_at_altered()?;
        let (database, dialect) = (self.database.clone(), self.dialect.clone());
        let connect = move || {
            let connection = database.connections.open()?;
            Ok(Barrier::new(connection, dialect.clone(), BARRIER_PATIENCE))
        };
        Ok(Box::new(ExactRounds::new(limits, Box::new(connect))))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position, partitions: &[Partition]) -> Result<Box<dyn LogReader>> {
        let (config, slot) = (&self.database.config, &self.database.slot);
        let names = self.tables.names().to_vec();
        let statements = Statements::new(self.dialect.names().clone());
        let exclusive = setup::is_exclusive(self.tables.connection(), &statements, slot, &names)
            .map_err(|error| error.doing("looking at the publication"))?;
        let settings = Settings {
            slot: SlotSettings {
                slot: slot.name.clone(),
                publications: vec![slot.publication.clone()],
                exclusive,
                ddl_table: slot.ddl.table(),
                on_mismatch: config.log.on_mismatch,
                look_every: LOOK_EVERY,
                batch_changes: CALL_CHANGES,
                patience: self.database.copy_patience(),
            },
            fragment: FragmentLimit {
                rows: config.log.fragment_rows,
                bytes: FRAGMENT_BYTES,
            },
            selection: Some(self.tables.selection()),
            partitions: partitions.to_vec(),
        };
        let at = Opening { mine_from, position };
        let tables = self.tables.for_log();
        let connect = self.database.opener();
        let reader = SlotReader::open(connect, self.dialect.clone(), &tables, settings, at)?;
        Ok(Box::new(reader))
    }

    fn completion(&mut self, visibility: Patience) -> Option<Completion> {
        Some(self.tables.completion(visibility))
    }

    fn look_again(&mut self, table: u32) -> Result<bool> {
        self.tables.look_again(table)
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        let pages = self.tables.pages()?;
        let clock = Box::new(self.database.clock());
        Ok(Box::new(ExactPages::new(
            pages,
            self.dialect.clone(),
            DURABLE_PATIENCE,
            clock,
        )))
    }
}
