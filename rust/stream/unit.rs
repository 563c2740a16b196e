//! What of a change goes out, and how many events of its transaction are out.

use crate::log::TransactionHead;
use crate::position::{CommitPosition, Xid};
use crate::row::Updates;
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

    /// The images that go out, before and after.
    pub(super) fn images(self, updates: Updates) -> (Option<Image>, Option<Image>) {
        match self {
            Unit::Leaves(before) => (Some(before), None),
            Unit::Comes(after) => (None, Some(after)),
            Unit::Becomes(_, after) if updates == Updates::After => (None, Some(after)),
            Unit::Becomes(before, after) | Unit::Moves(before, after) => (Some(before), Some(after)),
        }
    }

    /// The same with other images where there are any.
    pub(super) fn with(self, before: Option<Image>, after: Option<Image>) -> Self {
        match self {
            Unit::Leaves(image) => Unit::Leaves(before.unwrap_or(image)),
            Unit::Comes(image) => Unit::Comes(after.unwrap_or(image)),
            Unit::Becomes(was, is) => Unit::Becomes(before.unwrap_or(was), after.unwrap_or(is)),
            Unit::Moves(was, is) => Unit::Moves(before.unwrap_or(was), after.unwrap_or(is)),
        }
    }
}
