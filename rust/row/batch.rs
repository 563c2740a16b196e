//! Rows of the log phase on their way out, with what a checkpoint between any two of them has to keep.

use crate::error::Result;
use crate::offset::Offset;
use crate::position::{CommitPosition, Place, Position, Scn, Xid};
use crate::row::RowKind;

/// What is kept of the memory that rows took.
const KEPT: usize = 4 << 20;

/// How large a batch becomes before it is handed on.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimit {
    /// Rows.
    pub rows: usize,
    /// Bytes of rows.
    pub bytes: usize,
}

/// How the stream's offset moves over a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The transaction is out up to and including this record.
    Inside {
        /// Where it committed.
        commit: CommitPosition,
        /// Which one it is.
        xid: Xid,
        /// The record.
        last: Place,
    },
    /// The transaction is out.
    Over {
        /// Where it committed.
        commit: CommitPosition,
        /// Which one it is.
        xid: Xid,
        /// From where to mine for everything behind it.
        next_scn: Scn,
    },
    /// Nothing was committed for us up to here.
    Idle {
        /// Up to where.
        position: Position,
        /// From where to mine for everything behind it.
        next_scn: Scn,
    },
}

impl Mark {
    /// Moves an offset over the unit.
    pub fn apply(&self, offset: &mut Offset) {
        match *self {
            Mark::Inside { commit, xid, last } => offset.advance_inside(commit, xid, last),
            Mark::Over { commit, xid, next_scn } => offset.advance_over(commit, xid, next_scn),
            Mark::Idle { position, next_scn } => offset.advance_idle(position, next_scn),
        }
    }
}

/// Rows that go out together with the boundaries between them. A unit is what goes out at once: one row, both rows of
/// an update, or none where the offset alone moves. A checkpoint falls between units.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    commit: i64,
    units: Vec<(usize, Mark)>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    kind: RowKind,
    end: usize,
    /// When its transaction committed, in microseconds since the epoch.
    commit: i64,
}

impl Batch {
    /// Empties it and keeps the memory, but not that of large rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.rows.clear();
        self.units.clear();
    }

    /// Whether nothing is in it, neither rows nor marks.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Whether it should be handed on. Units without rows count as rows.
    pub fn is_full(&self, limit: BatchLimit) -> bool {
        let full = self.rows.len().max(self.units.len()) >= limit.rows || self.bytes.len() >= limit.bytes;
        full && !self.is_empty()
    }

    /// The rows that are pushed from now on are of a transaction that committed then (microseconds since the epoch).
    pub fn of_commit(&mut self, micros: i64) {
        self.commit = micros;
    }

    /// Appends a row of the unit that is not ended yet.
    ///
    /// # Errors
    /// Those of `write`; the row is not there then.
    pub fn push_row(&mut self, kind: RowKind, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.push_if(kind, |out| write(out).map(|()| true)).map(drop)
    }

    /// Appends what `write` appends, if it says that this is a row; whether it did.
    ///
    /// # Errors
    /// Those of `write`; the row is not there then.
    pub fn push_if(&mut self, kind: RowKind, write: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<bool> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        match written {
            Ok(true) => self.rows.push(Row {
                kind,
                end: self.bytes.len(),
                commit: self.commit,
            }),
            _ => self.bytes.truncate(start),
        }
        written
    }

    /// Ends a unit.
    pub fn end_unit(&mut self, mark: Mark) {
        self.units.push((self.rows.len(), mark));
    }

    /// Ends a transaction: with its last unit if that is here, else with a unit of its own.
    pub fn end_transaction(&mut self, commit: CommitPosition, xid: Xid, next_scn: Scn) {
        let over = Mark::Over { commit, xid, next_scn };
        match self.units.last_mut() {
            Some((_, mark @ Mark::Inside { .. })) => *mark = over,
            _ => self.end_unit(over),
        }
    }

    /// Notes that nothing was committed for us up to `position`.
    pub fn idle(&mut self, position: Position, next_scn: Scn) {
        let idle = Mark::Idle { position, next_scn };
        match self.units.last_mut() {
            Some((_, mark @ Mark::Idle { .. })) => *mark = idle,
            _ => self.end_unit(idle),
        }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Where a row ends in [`Batch::bytes`]; it starts where the one before ends.
    pub fn row_end(&self, row: usize) -> usize {
        self.rows[row].end
    }

    /// A row's bytes.
    pub fn row(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.rows[row - 1].end };
        &self.bytes[start..self.rows[row].end]
    }

    /// When a row's transaction committed, in microseconds since the epoch.
    pub fn commit_micros(&self, row: usize) -> i64 {
        self.rows[row].commit
    }

    /// A row's kind.
    pub fn kind(&self, row: usize) -> RowKind {
        self.rows[row].kind
    }

    /// How many units.
    pub fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// How many rows are in the units up to and including this one.
    pub fn unit_end(&self, unit: usize) -> usize {
        self.units[unit].0
    }

    /// How the offset moves over a unit.
    pub fn mark(&self, unit: usize) -> &Mark {
        &self.units[unit].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(out: &mut Vec<u8>) -> Result<()> {
        out.push(1);
        Ok(())
    }

    #[test]
    fn an_end_joins_its_own_transactions_last_unit_only() {
        let commit = |nth| CommitPosition { scn: Scn(9), nth };
        let mut batch = Batch::default();
        batch.push_row(RowKind::Insert, one).unwrap();
        batch.end_unit(Mark::Inside {
            commit: commit(0),
            xid: Xid(1),
            last: Place::default(),
        });
        batch.end_transaction(commit(0), Xid(1), Scn(5));
        batch.end_transaction(commit(1), Xid(2), Scn(6));
        batch.idle(Position::before(Scn(11)), Scn(7));
        batch.idle(Position::before(Scn(12)), Scn(8));
        batch.end_transaction(commit(2), Xid(3), Scn(9));
        let units: Vec<_> = (0..batch.unit_count())
            .map(|unit| match *batch.mark(unit) {
                Mark::Inside { .. } => panic!("a transaction is left inside"),
                Mark::Over { xid, next_scn, .. } => (batch.unit_end(unit), xid.0, next_scn.0),
                Mark::Idle { position, next_scn } => (batch.unit_end(unit), position.scn.0, next_scn.0),
            })
            .collect();
        assert_eq!(units, [(1, 1, 5), (1, 2, 6), (1, 12, 8), (1, 3, 9)]);
    }

    #[test]
    fn every_row_has_the_commit_time_of_its_transaction_however_it_came() {
        let mut batch = Batch::default();
        batch.of_commit(5);
        batch.push_row(RowKind::Insert, one).unwrap();
        batch.of_commit(7);
        assert!(batch.push_if(RowKind::Insert, |out| one(out).map(|()| true)).unwrap());
        assert!(!batch.push_if(RowKind::Insert, |out| one(out).map(|()| false)).unwrap());
        batch.push_row(RowKind::Delete, one).unwrap();
        let commits: Vec<_> = (0..batch.row_count()).map(|row| batch.commit_micros(row)).collect();
        assert_eq!(commits, [5, 7, 7]);
        assert_eq!(batch.row(2), [1]);
    }

    #[test]
    fn a_row_that_fails_leaves_nothing_behind() {
        let mut batch = Batch::default();
        batch.push_row(RowKind::Insert, one).unwrap();
        let failed = batch.push_row(RowKind::Insert, |out| {
            out.push(2);
            Err(crate::error::ErrorKind::Closed.into())
        });
        assert!(failed.is_err());
        assert_eq!((batch.bytes(), batch.row_count()), (&[1u8][..], 1));
    }
}
