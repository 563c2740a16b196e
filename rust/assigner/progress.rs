//! What of the enumerator's decision others ask for.

use std::sync::Arc;

use crate::assigner::table::Table;
use crate::assigner::{Assigner, Start};
use crate::position::Scn;
use crate::split::{FinishedRange, Key, TableName};

/// How far the snapshot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Chunks cut so far; all of them once `cut` is set.
    pub chunks: usize,
    /// Of these, those whose rows are out.
    pub chunks_done: usize,
    /// Whether all tables are cut.
    pub cut: bool,
    /// Finished ranges kept.
    pub ranges: usize,
    /// Of these, those not yet known to be in a completed checkpoint.
    pub provisional: usize,
}

/// Where cutting goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutProgress {
    /// The table to cut.
    pub table: Arc<TableName>,
    /// The lower bound of its next chunk; `None` for its first.
    pub lower: Option<Key>,
}

impl Assigner {
    /// Where cutting goes on; `None` once all tables are cut, or if there are none to cut.
    pub fn cut_progress(&self) -> Option<CutProgress> {
        let table = self.tables.values().find(|table| !table.whole)?;
        Some(CutProgress {
            table: table.name.clone(),
            lower: table.next_lower().cloned(),
        })
    }

    /// How far the snapshot is; all zero for a job without one.
    pub fn progress(&self) -> Progress {
        let sum = |of: fn(&Table) -> usize| self.tables.values().map(of).sum();
        Progress {
            chunks: sum(Table::chunks),
            chunks_done: sum(Table::chunks_done),
            cut: self.whole == self.tables.len(),
            ranges: sum(|table| table.ranges.len()),
            provisional: self.provisional,
        }
    }

    /// The tables whose rows are read; none for a job without a snapshot.
    pub fn tables(&self) -> Vec<Arc<TableName>> {
        self.tables.keys().cloned().collect()
    }

    /// The tables of which not every key is in a finished range yet.
    pub fn unfinished_tables(&self) -> Vec<Arc<TableName>> {
        let unfinished = self
            .tables
            .values()
            .filter(|table| !(table.whole && table.ranges.tile()));
        unfinished.map(|table| table.name.clone()).collect()
    }

    /// Whether nothing is decided yet: [`Assigner::start_tables`] or [`Assigner::start_stream`] is to come.
    pub fn is_undecided(&self) -> bool {
        matches!(self.start, Start::Undecided)
    }

    /// Whether the stream split is in a reader's hands.
    pub fn is_streaming(&self) -> bool {
        self.stream.is_some()
    }

    /// The oldest place of the log that the finished ranges need, or the place that the stream was told to begin at; `None`
    /// without one, and once the stream split, which then says what it needs, is out.
    pub fn smallest_mine_from(&self) -> Option<Scn> {
        if self.is_streaming() {
            return None;
        }
        let from = match self.start {
            Start::Tables { from: Some(from) } => Some(from.scn),
            _ => None,
        };
        self.mine_from.keys().next().copied().into_iter().chain(from).min()
    }

    /// The kept ranges, ascending by table and key: the order in which they go to the stream's reader.
    pub fn ranges(&self) -> impl Iterator<Item = &FinishedRange> {
        self.tables.values().flat_map(|table| table.ranges.iter())
    }
}
