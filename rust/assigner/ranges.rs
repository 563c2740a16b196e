//! The finished ranges of one table: whether they tile it is known at every moment, at the cost of a look-up a report.

use std::collections::BTreeMap;

use crate::error::{ErrorKind, Result};
use crate::split::{FinishedRange, Key};

/// Ranges of one table, by their lower bounds; no two share a key.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    by_lower: BTreeMap<Option<Key>, Kept>,
    /// How many neighbours touch.
    joints: usize,
}

/// A range with what is known of its safety.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) range: FinishedRange,
    /// `None`: firm.
    pub(super) provisional: Option<Provisional>,
}

/// A range that is not yet known to be in a completed checkpoint.
#[derive(Debug)]
pub(super) struct Provisional {
    /// The subtask that reported it.
    pub(super) owner: u32,
    /// The first checkpoint that holds it.
    pub(super) checkpoint: Option<u64>,
}

impl Ranges {
    /// The kept range that is equal to this one.
    pub(super) fn equal(&mut self, range: &FinishedRange) -> Option<&mut Kept> {
        self.by_lower
            .get_mut(&range.range.lower)
            .filter(|kept| kept.range == *range)
    }

    /// Keeps a range that shares no key with another one.
    pub(super) fn insert(&mut self, range: FinishedRange, provisional: Option<Provisional>) -> Result<()> {
        let bounds = &range.range;
        if matches!((&bounds.lower, &bounds.upper), (Some(lower), Some(upper)) if lower >= upper) {
            return Err(protocol(format!("range {bounds:?} holds no key"), &range));
        }
        let before = self.by_lower.range(..=&bounds.lower).next_back();
        let after = self.by_lower.range(&bounds.lower..).next();
        for neighbour in before.iter().chain(after.iter()).map(|(_, kept)| &kept.range) {
            if neighbour.range.overlaps(bounds) {
                let text = format!(
                    "the reported range {bounds:?} at {:?} overlaps {:?} at {:?}",
                    range.point, neighbour.range, neighbour.point
                );
                return Err(protocol(text, &range));
            }
        }
        self.joints += before.is_some_and(|(_, kept)| touch(&kept.range, &range)) as usize
            + after.is_some_and(|(_, kept)| touch(&range, &kept.range)) as usize;
        self.by_lower.insert(bounds.lower.clone(), Kept { range, provisional });
        Ok(())
    }

    /// Forgets the provisional ranges of a subtask and hands them out.
    pub(super) fn forget(&mut self, subtask: u32) -> Vec<FinishedRange> {
        let mut gone = Vec::new();
        self.by_lower.retain(|_, kept| {
            let forgotten = kept.provisional.as_ref().is_some_and(|of| of.owner == subtask);
            if forgotten {
                gone.push(kept.range.clone());
            }
            !forgotten
        });
        if !gone.is_empty() {
            let ranges = self.iter();
            self.joints = ranges.clone().zip(ranges.skip(1)).filter(|(a, b)| touch(a, b)).count();
        }
        gone
    }

    /// Whether every key of the table lies in one range.
    pub(super) fn tile(&self) -> bool {
        let first = self.by_lower.values().next();
        let last = self.by_lower.values().next_back();
        first.is_some_and(|kept| kept.range.range.lower.is_none())
            && last.is_some_and(|kept| kept.range.range.upper.is_none())
            && self.joints + 1 == self.by_lower.len()
    }

    pub(super) fn len(&self) -> usize {
        self.by_lower.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FinishedRange> + Clone {
        self.by_lower.values().map(|kept| &kept.range)
    }

    pub(super) fn kept_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.by_lower.values_mut()
    }
}

fn touch(left: &FinishedRange, right: &FinishedRange) -> bool {
    left.range.upper.is_some() && left.range.upper == right.range.lower
}

fn protocol(text: String, range: &FinishedRange) -> crate::error::Error {
    crate::error::Error::from(ErrorKind::Protocol(text)).on(&range.table)
}
