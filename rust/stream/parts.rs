//! Parts of transactions as they go out: numbered behind the filter, and the last one known by that nothing comes behind it.

use std::collections::VecDeque;

use crate::log::{Fragment, SchemaEvent, TransactionHead};
use crate::position::{CommitPosition, Xid};
use crate::row::Part;

/// What goes out next.
pub(super) enum Due {
    Fragment(Fragment, Part),
    Schema(SchemaEvent),
}

/// A fragment waits until another one comes of which something goes out, or the transaction's end.
#[derive(Default)]
pub(super) struct Parts {
    transaction: Option<(CommitPosition, Xid)>,
    /// How many there were, the one that waits among them.
    numbered: u32,
    /// A fragment, and the changes of shapes behind it.
    waiting: VecDeque<Due>,
    due: VecDeque<Due>,
}

impl Parts {
    /// Begins anew where another transaction begins.
    pub(super) fn enter(&mut self, head: &TransactionHead) {
        let transaction = Some((head.commit, head.xid));
        if transaction != self.transaction {
            self.transaction = transaction;
            self.numbered = 0;
        }
    }

    /// Whether it must be known if anything of a fragment goes out.
    pub(super) fn asks_of(&self, fragment: &Fragment) -> bool {
        !(fragment.last && self.waiting.is_empty())
    }

    /// Takes the transaction's next fragment; `goes_out`: something of it does.
    pub(super) fn push(&mut self, fragment: Fragment, goes_out: bool) {
        if goes_out {
            self.release(false);
            self.numbered += 1;
        }
        let part = Part {
            number: self.numbered,
            last: fragment.last,
        };
        match (fragment.last, goes_out) {
            (true, goes_out) => {
                if !goes_out {
                    self.release(true);
                }
                self.due.push_back(Due::Fragment(fragment, part));
            }
            (false, true) => self.waiting.push_back(Due::Fragment(fragment, part)),
            (false, false) => {}
        }
    }

    /// Takes a change of a table's shape.
    pub(super) fn push_schema(&mut self, event: SchemaEvent) {
        match self.waiting.is_empty() {
            true => self.due.push_back(Due::Schema(event)),
            false => self.waiting.push_back(Due::Schema(event)),
        }
    }

    /// What waits goes out.
    fn release(&mut self, last: bool) {
        for mut due in self.waiting.drain(..) {
            if let Due::Fragment(_, part) = &mut due {
                part.last = last;
            }
            self.due.push_back(due);
        }
    }

    pub(super) fn next(&mut self) -> Option<Due> {
        self.due.pop_front()
    }
}
