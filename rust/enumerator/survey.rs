//! What the enumerator needs of its database, so that it need not know which one it is.

use std::sync::Arc;

use crate::error::Result;
use crate::log::LogStart;
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::capture::Calls;
use crate::split::{Chunk, Key, Partition, TableName};

/// Connects the enumerator to its database.
pub trait Surveyor: Calls {
    /// Connects, checks that the database is set up for capture, and looks the captured tables up. May block for long.
    /// Where there is a state, only its own tables must be as they should: another one that came to match is not captured,
    /// and its own may have been altered since the job began.
    ///
    /// # Errors
    /// Connection, set-up and catalogue errors.
    fn connect(&self, state: Option<&[Arc<TableName>]>) -> Result<Box<dyn Survey>>;

    /// The same for a job that reads everything again since its log is gone: what kept it is made anew.
    ///
    /// # Errors
    /// Those of [`Surveyor::connect`].
    fn connect_anew(&self) -> Result<Box<dyn Survey>> {
        self.connect(None)
    }
}

/// An open connection to the captured tables and their log.
pub trait Survey: Send {
    /// The captured tables.
    fn tables(&self) -> Vec<TableName>;

    /// Which log the database has now.
    fn incarnation(&self) -> Incarnation;

    /// Whether the log from `needed` on is still there.
    ///
    /// # Errors
    /// `LogGone`; database errors.
    fn check_kept(&mut self, needed: Scn) -> Result<()>;

    /// Whether the log from `needed` on is still there, and can be read; it may take a while until that is known.
    ///
    /// # Errors
    /// `LogGone`; database errors.
    fn check_readable(&mut self, needed: Scn) -> Result<()> {
        self.check_kept(needed)
    }

    /// Where the log phase behind a snapshot begins, where that is known before it: every page read from now on contains
    /// what commits in front of it. `None`: at the smallest point of the pages.
    ///
    /// # Errors
    /// `NotVisible`; database errors.
    fn start_of_snapshot(&mut self) -> Result<Option<Position>> {
        Ok(None)
    }

    /// The captured tables' partitions as they are now, where the log names these alone.
    ///
    /// # Errors
    /// Database errors.
    fn partitions(&mut self) -> Result<Vec<Partition>> {
        Ok(Vec::new())
    }

    /// Where a log phase without a snapshot begins: nothing that commits behind it is missed.
    ///
    /// # Errors
    /// `LogGone`, `Option`: the log does not hold what is asked for; database errors.
    fn start_of_log(&mut self, start: LogStart) -> Result<Offset>;

    /// The next chunks of a table in key order, from `lower` on (from its first key without). The one without an upper
    /// bound is the last.
    ///
    /// # Errors
    /// Database errors; a key that cannot be cut.
    fn cut(&mut self, table: &TableName, lower: Option<&Key>) -> Result<Vec<Chunk>>;
}
