//! What a reader needs of its database, so that it need not know which one it is.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::log::{LogReader, Patience};
use crate::position::{Position, Scn};
use crate::row::RowCodec;
use crate::snapshot::page::{RoundLimits, Rounds};
use crate::snapshot::{PageRounds, PageSource};
use crate::split::{Partition, TableName};
use crate::unavailable::Completion;

/// The calls that are in a driver, of a reader or an enumerator; asked from any thread.
pub trait Calls: Send + Sync {
    /// Wakes what is stuck in a driver on any of the connections, and refuses further ones. Never blocks.
    fn cancel(&self);

    /// By how much the call that does so most takes longer than it may, an attempt to connect being one; `None` if none does.
    fn overdue(&self) -> Option<Overdue>;

    /// Asks the driver to end the calls that take longer than they may by so much; connections stay. Never blocks.
    fn cancel_overdue(&self, by: Duration);
}

/// A call that takes longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overdue {
    /// So much longer.
    pub by: Duration,
    /// It has been running for so long.
    pub running: Duration,
}

/// Connects a reader to its database; shared by the reader's threads.
pub trait Connector: Calls {
    /// Connects and looks the captured tables up. May block for long.
    ///
    /// # Errors
    /// Connection, catalogue and set-up errors.
    fn connect(&self) -> Result<Box<dyn Capture>>;

    /// What commits before a place is asked for no more: a database that keeps its log for the job may let go of it. Never
    /// blocks; of several places the last one counts.
    fn confirm(&self, _before: Scn) {}
}

/// An open connection to the captured tables and their log.
pub trait Capture: Send {
    /// The captured tables; their numbers here are those of the codec and of the changes.
    fn tables(&self) -> &[Arc<TableName>];

    /// Lets go of the tables that are not among these, and returns those of these that are not there. Tables have other
    /// numbers afterwards. `None`: all that match must be here.
    ///
    /// # Errors
    /// `Catalog`: none is left; what is wrong with one that must be captured.
    fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>>;

    /// The tables that match now and did not so far; each is returned once.
    ///
    /// # Errors
    /// Connection and catalogue errors.
    fn newcomers(&mut self) -> Result<Vec<TableName>>;

    /// Whether a table is read and told apart by a key; one without is read whole.
    fn has_key(&self, table: u32) -> bool;

    /// Whether a table is read page by page. Else each of its chunks is one SELECT: one without a key, and one of which no
    /// index has the key's order.
    fn is_paged(&self, table: u32) -> bool {
        self.has_key(table)
    }

    /// Makes keys and rows.
    fn codec(&self) -> Arc<dyn RowCodec>;

    /// Opens the log for a snapshot: from the oldest open transaction on, at a position that lies in front of the
    /// log's end (design 3.1.5).
    ///
    /// # Errors
    /// Database errors.
    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        Err(ErrorKind::Internal("no log corrects the pages of this database".into()).into())
    }

    /// What closes the pages of a snapshot: by correction, unless the database has another way.
    ///
    /// # Errors
    /// Those of [`Capture::log_for_snapshot`].
    fn rounds(&mut self, limits: RoundLimits) -> Result<Box<dyn PageRounds>> {
        let (log, position) = self.log_for_snapshot()?;
        let rounds = Rounds::new(log, self.codec(), position, limits);
        Ok(Box::new(match self.completion(limits.visibility) {
            Some(completion) => rounds.completing(completion),
            None => rounds,
        }))
    }

    /// Opens the log at a pair. `partitions`: those that the captured tables have or had there, as far as that was noted.
    ///
    /// # Errors
    /// `LogGone`; database errors.
    fn log_at(&mut self, mine_from: Scn, position: Position, partitions: &[Partition]) -> Result<Box<dyn LogReader>>;

    /// How changes are made whole that lack values, and how long to wait for what the log has handed out to become
    /// visible; `None` where the log holds every value. Connects to nothing by itself.
    fn completion(&mut self, _visibility: Patience) -> Option<Completion> {
        None
    }

    /// Looks a table up again; whether its shape is another than the one that counted, in which case the new one counts
    /// from now on: for the codec and for connections that are opened behind this.
    ///
    /// # Errors
    /// `Catalog` if it is gone; `DictionaryMismatch` if its rows cannot go where they went; database errors.
    fn look_again(&mut self, table: u32) -> Result<bool>;

    /// Opens a connection for pages.
    ///
    /// # Errors
    /// Connection errors.
    fn pages(&mut self) -> Result<Box<dyn PageSource>>;
}
