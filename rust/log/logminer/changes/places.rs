//! Where records stand that only their order tells apart.

use std::collections::HashMap;

use crate::log::transactions::Entry;
use crate::position::{Place, RecordSet};

/// Counts the records of one transaction that only their order tells apart.
#[derive(Debug, Default)]
pub(super) struct Places {
    last: Option<Place>,
    /// The records at the scn of `last`, once it has two of one table.
    at: HashMap<(u64, RecordSet, u32), u32>,
}

impl Places {
    pub(super) fn clear(&mut self) {
        self.last = None;
        self.at.clear();
    }

    /// Counts each record among those of its transaction and table at its scn that have the same name. A scn with one
    /// record needs no count.
    pub(super) fn next(&mut self, entry: &Entry) -> Place {
        let record = &entry.record;
        let mut place = Place {
            scn: record.scn,
            table: record.object,
            rs_id: record.rs_id,
            ssn: record.ssn,
            nth: 0,
        };
        match self.last {
            Some(last) if last.scn == place.scn => {
                if self.at.is_empty() {
                    self.at.insert(key(&last), 1);
                }
                let count = self.at.entry(key(&place)).or_default();
                place.nth = *count;
                *count += 1;
            }
            _ => self.at.clear(),
        }
        self.last = Some(place);
        place
    }
}

fn key(place: &Place) -> (u64, RecordSet, u32) {
    (place.table, place.rs_id, place.ssn)
}
