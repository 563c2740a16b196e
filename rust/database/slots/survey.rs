//! The enumerator's look at a database whose log is read through a slot: makes what is missing, says where the log begins, and
//! takes the slot along where it is not to stay.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{Checkpointing, DdlCapture, StartupMode};
use crate::database::slots::{BARRIER_PATIENCE, BUSY_PAUSE, SlotDatabase, ddl, setup};
use crate::database::tables::Tables;
use crate::dialect::postgres::Postgres;
use crate::dialect::slots::{Statements, lsn};
use crate::enumerator::survey::Survey;
use crate::error::{Error, ErrorKind, Result};
use crate::log::decoding::session::copy_name;
use crate::log::decoding::{control, slot};
use crate::log::{LogStart, Patience};
use crate::odbc::Connection;
use crate::offset::Offset;
use crate::position::{Incarnation, Lsn, Position, Scn};
use crate::snapshot::barrier::Barrier;
use crate::snapshot::wait::Clock;
use crate::split::{Chunk, Key, Partition, TableName};

/// How long the slot may be on its way to a checkpoint's place when it is to be dropped.
const DROP_PATIENCE: Duration = Duration::from_secs(2);

/// What an enumerator is connected to.
pub(super) struct Surveyed {
    pub(super) database: Arc<SlotDatabase>,
    pub(super) dialect: Arc<Postgres>,
    pub(super) statements: Statements,
    pub(super) tables: Tables,
    pub(super) incarnation: Incarnation,
    /// The slot goes with the job. Not before it was found or made for it, and not where the job may be restarted from its
    /// state.
    pub(super) drops: bool,
}

impl Surveyed {
    /// Makes what is missing: the publication before the slot, since a slot sees no publication that is younger than itself. A
    /// job that goes on has all but what its options say anew of DDL statements.
    pub(super) fn prepare(&mut self, is_new: bool) -> Result<()> {
        let slot = self.database.slot.clone();
        let startup = self.database.config.startup;
        let mut names: Vec<TableName> = match is_new {
            true => self.tables.names().iter().map(|name| (**name).clone()).collect(),
            false => Vec::new(),
        };
        let connection = self.tables.connection();
        let query = self.statements.system_identifier();
        let number = connection.int(&query.sql, &query.columns)?;
        let unknown = || ErrorKind::Internal("the server does not say which log it has".into());
        self.incarnation = Incarnation(number.ok_or_else(unknown)? as u64);
        let found = slot::status(connection, &self.statements, &slot.name)?;
        if is_new && found.is_some() {
            self.wait_for_slot()?;
        }
        let connection = self.tables.connection();
        if slot.ddl == DdlCapture::Own {
            ddl::install(connection, &self.statements)?;
        }
        names.extend(slot.ddl.table());
        if names.is_empty() {
            return Ok(());
        }
        let plugin = match &found {
            Some(found) => found.plugin.clone().unwrap_or_default(),
            // Whoever needs it will say that it is gone.
            None if !is_new => return Ok(()),
            None => setup::plugin(&self.database, &self.dialect, &self.statements)?,
        };
        let mut published = false;
        if plugin == "pgoutput" {
            published = setup::publish(connection, (&self.dialect, &self.statements), &slot.publication, &names)?;
        }
        let Some(found) = found else {
            slot::create(connection, &self.statements, &slot.name, &plugin)?;
            log::info!("slot '{}' was made with output plugin {plugin}", slot.name);
            return Ok(());
        };
        // What stands in front of a publication cannot be read with it any more, and a job that begins anew needs none of
        // it.
        if is_new && published && startup != StartupMode::Log(LogStart::Committed) {
            slot::advance(connection, &self.statements, &slot.name, found.log_end)?;
        }
        Ok(())
    }

    /// What the job's user may not expect of a slot.
    pub(super) fn warn(&self) {
        let config = &self.database.config;
        if config.checkpointing == Checkpointing::Disabled && config.startup != StartupMode::Snapshot {
            log::warn!(
                "without checkpoints slot '{}' is never moved: the server keeps all of its log from now on",
                self.database.slot.name
            );
        }
    }

    /// Waits for a session that still reads the slot: one of this job's last run ends soon, another job's does not.
    fn wait_for_slot(&mut self) -> Result<()> {
        let Patience { limit, pause } = self.database.copy_patience();
        let (name, copy) = (&self.database.slot.name, copy_name(&self.database.slot.name));
        let mut clock = self.database.clock();
        let since = clock.now();
        loop {
            let found = slot::status(self.tables.connection(), &self.statements, &copy)?;
            let Some(holder) = found.and_then(|found| found.holder) else {
                return Ok(());
            };
            if clock.now() - since >= limit {
                return Err(ErrorKind::SlotBusy {
                    slot: name.clone(),
                    holder,
                    seconds: limit.as_secs(),
                }
                .into());
            }
            clock.pause(pause);
            if clock.is_stopped() {
                return Err(ErrorKind::Closed.into());
            }
        }
    }

    /// After such an error Flink may restart the job from its state, which needs the slot.
    fn noted<T>(&mut self, found: Result<T>) -> Result<T> {
        let may_restart = |error: &Error| error.is_retryable() && !matches!(error.kind(), ErrorKind::Closed);
        self.drops &= !found.as_ref().is_err_and(may_restart);
        found
    }

    fn kept(&mut self, needed: Scn) -> Result<()> {
        let place = || format!("LSN {}", lsn(Lsn(needed.0)));
        let confirmed = self.confirmed().map_err(|error| error.at(place()))?;
        if confirmed.0 > needed.0 {
            return Err(ErrorKind::SlotAhead {
                slot: self.database.slot.name.clone(),
                confirmed: lsn(confirmed),
                needed: lsn(Lsn(needed.0)),
            }
            .into());
        }
        Ok(())
    }

    fn start(&mut self, start: LogStart) -> Result<Offset> {
        let position = match start {
            LogStart::Latest => self.barrier()?,
            LogStart::Committed => Position::before(Scn(self.confirmed()?.0)),
            LogStart::At(scn) => {
                let confirmed = self.confirmed()?;
                if scn.0 < confirmed.0 {
                    let reason = format!(
                        "is {}, which lies in front of where slot '{}' stands ({}): it was made later, or its log was read",
                        lsn(Lsn(scn.0)),
                        self.database.slot.name,
                        lsn(confirmed)
                    );
                    return Err(ErrorKind::Option {
                        option: "scan.startup.specific-offset.lsn".into(),
                        reason,
                    }
                    .into());
                }
                Position::before(scn)
            }
            LogStart::Earliest | LogStart::Time(_) => {
                return Err(ErrorKind::Internal("slots have no such start".into()).into());
            }
        };
        Ok(Offset::starting(self.incarnation, position.scn, position))
    }

    /// Drops the slot, and the publication that is of it alone.
    fn drop_slot(&self) -> Result<()> {
        let slot = &self.database.slot;
        // The job's connections were cancelled.
        let mut connection = Connection::open(&self.database.settings)?;
        let since = Instant::now();
        loop {
            match slot::drop_slot(&mut connection, &self.statements, &slot.name) {
                // Somebody is moving it.
                Err(error) if slot::is_state(&error, &["55006"]) && since.elapsed() < DROP_PATIENCE => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                dropped => break dropped?,
            }
        }
        log::info!("slot '{}' was dropped", slot.name);
        let query = self.statements.publication(&slot.publication);
        if slot.publication_is_own && !connection.rows(&query.sql, &query.columns)?.is_empty() {
            let sql = self.statements.drop_publication(&*self.dialect, &slot.publication);
            match connection.execute(&sql) {
                Ok(()) => log::info!("publication '{}' was dropped", slot.publication),
                // Its owner made it for this user.
                Err(error) => log::debug!("publication '{}' stays: {error}", slot.publication),
            }
        }
        Ok(())
    }

    fn barrier(&mut self) -> Result<Position> {
        let connection = self.database.connections.open()?;
        let mut barrier = Barrier::new(connection, self.dialect.clone(), BARRIER_PATIENCE);
        let from = barrier.pass(&mut self.database.clock())?;
        log::info!("the log phase will begin at LSN {}", lsn(from));
        Ok(Position::before(Scn(from.0)))
    }

    /// Where the slot stands.
    fn confirmed(&mut self) -> Result<Lsn> {
        let name = &self.database.slot.name;
        let found = slot::status(self.tables.connection(), &self.statements, name)?;
        let lost = |reason: &str| {
            Error::from(ErrorKind::SlotLost {
                slot: name.clone(),
                reason: reason.into(),
            })
        };
        let found = found.ok_or_else(|| lost("there is no such slot"))?;
        found.check_lost(name)?;
        found
            .confirmed
            .ok_or_else(|| lost("it does not say where it stands (confirmed_flush_lsn is NULL)"))
    }
}

impl Survey for Surveyed {
    fn tables(&self) -> Vec<TableName> {
        self.tables.names().iter().map(|name| (**name).clone()).collect()
    }

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        let kept = self.kept(needed);
        self.noted(kept)
    }

    fn start_of_snapshot(&mut self) -> Result<Option<Position>> {
        let start = self.barrier();
        self.noted(start).map(Some)
    }

    fn partitions(&mut self) -> Result<Vec<Partition>> {
        let tables = self.tables.for_log();
        let found = control::partitions(self.tables.connection(), &self.statements, &tables);
        self.noted(found)
    }

    fn start_of_log(&mut self, start: LogStart) -> Result<Offset> {
        let start = self.start(start);
        self.noted(start)
    }

    fn cut(&mut self, table: &TableName, lower: Option<&Key>) -> Result<Vec<Chunk>> {
        let chunks = self.tables.cut(table, lower);
        self.noted(chunks)
    }
}

impl Drop for Surveyed {
    fn drop(&mut self) {
        if !self.drops {
            return;
        }
        if let Err(error) = self.drop_slot() {
            log::warn!("slot '{}' could not be dropped: {error}", self.database.slot.name);
        }
    }
}
