//! Captured tables and their partitions: what the dictionary says of them, and what is known of the log's.

use crate::catalog::Table;
use crate::dialect::slots::Relation as Sought;
use crate::error::Result;

/// A captured table, or a partition of one, as the dictionary has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u64,
    /// The captured table's number in the dictionary.
    pub root: u64,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether it has partitions, or can have them.
    pub is_partitioned: bool,
    /// What of old rows its changes have in the log.
    pub identity: Identity,
}

/// What of old rows the log has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// All.
    Whole,
    /// These columns, when one of them changes or the row goes; none: rows can only come.
    Columns(Vec<String>),
}

impl Identity {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Identity::Whole)
    }

    /// The columns, unless it is all of them.
    pub(in crate::log::decoding) fn columns(&self) -> Option<Vec<String>> {
        match self {
            Identity::Whole => None,
            Identity::Columns(columns) => Some(columns.clone()),
        }
    }

    pub(super) fn has(&self, column: &[u8]) -> bool {
        match self {
            Identity::Whole => true,
            Identity::Columns(columns) => columns.iter().any(|name| name.as_bytes() == column),
        }
    }
}

/// What the tables are asked that the log does not say.
pub(in crate::log::decoding) trait Asked {
    /// The captured tables and all their partitions, as they are now.
    fn parts(&mut self, roots: &[u64]) -> Result<Vec<Part>>;

    /// The number of the table with this number, or of this name; `None` if there is none now.
    fn relation(&mut self, of: Sought<'_>) -> Result<Option<u64>>;

    /// A captured table as the dictionary has it now.
    fn table(&mut self, number: u32) -> Result<Option<Table>>;

    /// The log's end of now.
    fn log_end(&mut self) -> Result<u64>;
}

/// A table of the log.
#[derive(Debug)]
pub(in crate::log::decoding) enum Known {
    /// A captured one or a part of one. `until`: it is none any more, but the log up to here is of the time when it was.
    Ours {
        table: u32,
        identity: Identity,
        until: Option<Until>,
    },
    /// One that is not captured.
    Foreign,
}

/// Up to where the log has a table as part of a captured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log::decoding) struct Until {
    /// Its rows stand in front of here.
    pub(in crate::log::decoding) lsn: u64,
    /// Their transactions commit in front of here.
    pub(in crate::log::decoding) over: u64,
}

impl Until {
    /// What has been gone since the log ended there.
    pub(super) fn end(lsn: u64) -> Self {
        Until { lsn, over: lsn }
    }
}
