//! Which shapes the captured tables have now, by the dictionary.

use std::collections::HashMap;

use crate::catalog::{Table, TableVersion};
use crate::error::Result;
use crate::log::logminer::source::LogSource;

/// What the dictionary said last.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// By the table's place; `None` for one that is gone.
    said: Vec<Option<TableVersion>>,
    is_asked: bool,
}

/// Tables by their place, in a shape that they had not before.
pub(super) type Altered = Vec<(u32, Table)>;

impl Dictionary {
    /// Tables as they were looked up.
    pub(super) fn new<'t>(tables: impl Iterator<Item = &'t Table>) -> Self {
        Dictionary {
            said: tables.map(|table| Some(TableVersion::of(table))).collect(),
            is_asked: true,
        }
    }

    /// Whether the log has a dictionary.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Asks for the tables that are not as they were; `None` if all are.
    ///
    /// # Errors
    /// Database errors.
    pub(super) fn look(&mut self, source: &mut impl LogSource) -> Result<Option<Altered>> {
        let known: Vec<u64> = self.said.iter().flatten().map(|said| said.object_id).collect();
        let Some(now) = source.versions(&known)? else {
            self.is_asked = false;
            return Ok(None);
        };
        let now: HashMap<u64, u32> = now.iter().map(|now| (now.object_id, now.version)).collect();
        let mut altered = Vec::new();
        let mut moved = false;
        for (said, number) in self.said.iter_mut().zip(0..) {
            let as_it_was = said.is_some_and(|said| now.get(&said.object_id) == Some(&said.version));
            if as_it_was {
                continue;
            }
            let shape = source.shape(number)?;
            let version = shape.as_ref().map(TableVersion::of);
            if *said != version {
                moved = true;
                altered.extend(shape.map(|table| (number, table)));
                *said = version;
            }
        }
        Ok(moved.then_some(altered))
    }
}
