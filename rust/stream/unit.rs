//! What of a change goes out, and how many events of its transaction are out.

use crate::log::TransactionHead;
use crate::position::{CommitPosition, Xid};
use crate::row::value::Image;

/// How many events of the transaction at hand are out, those of an earlier attempt among them.
#[derive(Default)]
pub(super) struct Counted {
    transaction: Option<(CommitPosition, Xid)>,
    total: u64,
    tables: Vec<u64>,
}

impl Counted {
    /// Begins anew where another transaction begins.
    pub(super) fn enter(&mut self, head: &TransactionHead, tables: usize) {
        let transaction = Some((head.commit, head.xid));
        if transaction == self.transaction {
            return;
        }
        self.transaction = transaction;
        self.total = 0;
        self.tables.clear();
        self.tables.resize(tables, 0);
    }

    /// Counts one more; its number in the transaction and among those of its table.
    pub(super) fn next(&mut self, table: u32) -> (u64, u64) {
        self.total += 1;
        let of_table = self.tables.get_mut(table as usize).map_or(0, |count| {
            *count += 1;
            *count
        });
        (self.total, of_table)
    }
}

/// What of a change goes out.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Leaves(Image),
    Comes(Image),
    /// An update whose key stays.
    Becomes(Image, Image),
    /// A row leaves and one with another key comes in its place.
    Moves(Image, Image),
}

impl Unit {
    /// How many events it is, whatever rows they have.
    pub(super) fn events(self) -> u32 {
        match self {
            Unit::Leaves(_) | Unit::Comes(_) | Unit::Becomes(..) => 1,
            Unit::Moves(..) => 2,
        }
    }
}
