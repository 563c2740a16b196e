//! What becomes of a record, by its operation.

use crate::dialect::mining::Operation;
use crate::log::transactions::Action;

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Waits in the transaction buffer if its table is captured.
    Buffer(Action),
    /// Begins or ends a transaction, whichever tables it touches.
    Bound(Bound),
    /// Says nothing about a row.
    Pass,
}

/// What begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It begins.
    Start,
    /// It is prepared.
    Prepare,
    /// It commits.
    Commit,
    /// It is dropped.
    Rollback,
}

/// Every operation has a rule.
pub(super) fn rule(operation: Operation) -> Rule {
    match operation {
        Operation::Insert => Rule::Buffer(Action::Insert),
        Operation::Delete => Rule::Buffer(Action::Delete),
        Operation::Update => Rule::Buffer(Action::Update),
        Operation::Schema => Rule::Buffer(Action::Schema),
        Operation::BatchUpdate | Operation::Unsupported => Rule::Buffer(Action::Unsupported),
        Operation::Start => Rule::Bound(Bound::Start),
        Operation::Prepare => Rule::Bound(Bound::Prepare),
        Operation::Commit | Operation::CommitPrepared => Rule::Bound(Bound::Commit),
        Operation::Rollback => Rule::Bound(Bound::Rollback),
        Operation::LobBegin | Operation::LobData | Operation::Sequence => Rule::Pass,
    }
}

/// Whether an operation commits a transaction.
pub(super) fn commits(operation: Operation) -> bool {
    rule(operation) == Rule::Bound(Bound::Commit)
}

/// Whether an operation begins or ends a transaction.
pub(super) fn is_bound(operation: Operation) -> bool {
    matches!(rule(operation), Rule::Bound(_))
}
