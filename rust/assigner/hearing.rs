//! Who may be sent something that it did not ask for.
//!
//! A job that is stopped with a savepoint ends its tasks as soon as they hear that it is complete, and the enumerator hears
//! it at the same time. Whatever it sends then misses its task, which fails the stop. Nobody tells the enumerator what
//! a checkpoint was for. So behind each notice a reader is sent nothing until it has been heard of again: one that was
//! stopped says nothing any more, and events that it sent before its barrier arrive before the notice.

use std::collections::BTreeMap;

use super::{Action, Assigner, acknowledge};
use crate::error::Result;
use crate::split::FinishedRange;

/// Of which reader the enumerator has heard since the newest notice.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// The newest checkpoint that is known to be complete.
    complete: u64,
    /// What was the newest one when a reader was last heard of.
    heard: BTreeMap<u32, u64>,
    /// Acknowledgements that wait for their readers.
    waiting: BTreeMap<u32, Vec<FinishedRange>>,
}

impl Hearing {
    /// A checkpoint is complete.
    pub(super) fn complete(&mut self, checkpoint: u64) {
        self.complete = self.complete.max(checkpoint);
    }

    /// A reader has registered, or sent something.
    pub(super) fn heard_of(&mut self, subtask: u32) {
        self.heard.insert(subtask, self.complete);
    }

    /// A reader is gone.
    pub(super) fn forget(&mut self, subtask: u32) {
        self.heard.remove(&subtask);
        self.waiting.remove(&subtask);
    }

    pub(super) fn is_heard(&self, subtask: u32) -> bool {
        self.heard.get(&subtask).is_some_and(|heard| *heard >= self.complete)
    }

    /// A range of a reader is firm, which it is told once it is heard of.
    pub(super) fn acknowledge(&mut self, subtask: u32, range: FinishedRange) {
        self.waiting.entry(subtask).or_default().push(range);
    }
}

impl Assigner {
    /// Sends what nobody asked for to those who are heard of.
    pub(super) fn catch_up(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        let waiting = std::mem::take(&mut self.hearing.waiting);
        for (subtask, ranges) in waiting {
            if !self.listens(subtask) {
                // It reports them again when it comes back, if it does.
                continue;
            }
            match self.hearing.is_heard(subtask) {
                true => actions.extend(ranges.into_iter().map(|range| acknowledge(subtask, range))),
                false => drop(self.hearing.waiting.insert(subtask, ranges)),
            }
        }
        if self.is_streaming() {
            self.end_splits(actions);
        }
        self.serve(actions);
        self.ask_gate(actions)
    }

    /// Whether a reader can be sent something that it did not ask for.
    pub(super) fn is_at_hand(&self, subtask: u32) -> bool {
        self.listens(subtask) && self.hearing.is_heard(subtask)
    }
}
