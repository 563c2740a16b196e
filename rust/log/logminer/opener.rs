//! Opens log readers, so that who reads need not know how the log is read.

use std::sync::Arc;

use crate::catalog::Table;
use crate::dialect::mining::Mining;
use crate::error::{ErrorKind, Result};
use crate::log::logminer::changes::CapturedTable;
use crate::log::logminer::reader::{LogMinerReader, Settings, openings};
use crate::log::logminer::session::Session;
use crate::log::{LogReader, LogStart, Opening};
use crate::odbc::Connection;
use crate::split::TableName;

/// What a job's log readers have in common.
#[derive(Clone)]
pub struct LogMiner {
    dialect: Arc<dyn Mining>,
    /// The captured tables; their numbers are those of the changes.
    tables: Vec<CapturedTable>,
    settings: Settings,
}

impl LogMiner {
    /// Readers of the given tables' changes.
    pub fn new(dialect: Arc<dyn Mining>, tables: Vec<CapturedTable>, settings: Settings) -> Self {
        LogMiner {
            dialect,
            tables,
            settings,
        }
    }

    /// Opens the log where a state left it, on a connection that then belongs to the reader.
    ///
    /// # Errors
    /// `LogGone` if the log from `at.mine_from` on is no longer kept; `Setup`, `LoggingMode`; database errors.
    pub fn open(&self, connection: Connection, at: Opening) -> Result<Box<dyn LogReader>> {
        let session = self.session(connection)?;
        let reader = LogMinerReader::open(session, self.tables.clone(), self.settings.clone(), at)?;
        Ok(Box::new(reader))
    }

    /// Opens the log where it ends now, on a connection that then belongs to the reader; no transaction that is open
    /// or begins now is missed.
    ///
    /// # Errors
    /// `Setup`, `LoggingMode`; database errors.
    pub fn open_new(&self, connection: Connection) -> Result<(Opening, Box<dyn LogReader>)> {
        let session = self.session(connection)?;
        let (opening, reader) = LogMinerReader::open_new(session, self.tables.clone(), self.settings.clone())?;
        Ok((opening, Box::new(reader)))
    }

    /// Where a log phase without a snapshot begins, asked over a connection of its own.
    ///
    /// # Errors
    /// `LogGone`, `Option`: the log does not hold what is asked for; `Setup`, `LoggingMode`; database errors.
    pub fn start(&self, connection: Connection, start: LogStart) -> Result<Opening> {
        let mut session = self.session(connection)?;
        match start {
            LogStart::Latest => openings::latest(&mut session),
            LogStart::Earliest => openings::earliest(&mut session),
            LogStart::Committed => Err(ErrorKind::Internal("log files are kept for no one job".into()).into()),
            LogStart::At(scn) => openings::at(&mut session, scn),
            LogStart::Time(millis) => openings::at_time(session, self.settings.clone(), millis),
        }
    }

    fn session(&self, connection: Connection) -> Result<Session> {
        let tables = self.tables.iter().map(|captured| &*captured.table);
        let names: Vec<TableName> = tables.flat_map(names).collect();
        let names: Vec<&TableName> = names.iter().collect();
        Session::new(connection, Arc::clone(&self.dialect), &names, self.settings.fetch_rows)
    }
}

/// The names under which the log may have a table's rows.
fn names(table: &Table) -> impl Iterator<Item = TableName> {
    let of_partitions = table.partitions.iter().map(|partition| TableName {
        schema: table.name.schema.clone(),
        name: partition.name.clone(),
    });
    std::iter::once((*table.name).clone()).chain(of_partitions)
}
