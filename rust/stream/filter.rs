//! What pages already contain, so that the log phase does not send it again.

use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::log::TransactionHead;
use crate::position::{Point, Position, Scn};
use crate::split::{FinishedRange, KeyRange, TableName};

/// The finished ranges of a job by table and key.
#[derive(Debug)]
pub struct Filter {
    /// By number in the reader's table list; a table without ranges is not filtered.
    tables: Vec<Vec<Entry>>,
    end: Position,
}

#[derive(Debug)]
struct Entry {
    range: KeyRange,
    point: Point,
}

impl Filter {
    /// A filter over ranges of the tables in the reader's list, those of other tables aside; `None` if none is left.
    ///
    /// # Errors
    /// `Protocol` if two ranges share a key.
    pub fn new(tables: &[Arc<TableName>], ranges: &[FinishedRange]) -> Result<Option<Self>> {
        let mut filter = Filter {
            tables: tables.iter().map(|_| Vec::new()).collect(),
            end: Position::default(),
        };
        // Ranges of a table follow each other, and their names are mostly one.
        let mut last: Option<(&Arc<TableName>, Option<usize>)> = None;
        for range in ranges {
            let number = match last {
                Some((name, number)) if *name == range.table => number,
                _ => tables.iter().position(|name| *name == range.table),
            };
            last = Some((&range.table, number));
            let Some(number) = number else { continue };
            filter.end = filter.end.max(range.point.end());
            filter.tables[number].push(Entry {
                range: range.range.clone(),
                point: range.point.clone(),
            });
        }
        for (entries, name) in filter.tables.iter_mut().zip(tables) {
            entries.sort_unstable_by(|a, b| a.range.lower.cmp(&b.range.lower));
            if entries.windows(2).any(|pair| pair[0].range.overlaps(&pair[1].range)) {
                let text = "two finished ranges of the stream split overlap";
                return Err(crate::error::Error::from(ErrorKind::Protocol(text.into())).on(name));
            }
        }
        let empty = filter.tables.iter().all(Vec::is_empty);
        Ok((!empty).then_some(filter))
    }

    /// From where on no transaction is in any page.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Whether a table has ranges.
    pub fn covers(&self, table: u32) -> bool {
        self.tables
            .get(table as usize)
            .is_some_and(|entries| !entries.is_empty())
    }

    /// Whether the page that a key fell into contains the transaction.
    ///
    /// # Errors
    /// `Internal` for a key in no range of a table that has ranges.
    pub fn contains(&self, table: u32, key: &[u8], head: &TransactionHead) -> Result<bool> {
        let Some(entries) = self.tables.get(table as usize).filter(|entries| !entries.is_empty()) else {
            return Ok(false);
        };
        let behind = entries.partition_point(|entry| entry.range.lower.as_ref().is_none_or(|lower| &*lower.0 <= key));
        match behind.checked_sub(1).map(|number| &entries[number]) {
            Some(entry) if entry.range.contains(key) => Ok(entry.point.includes(head.xid, head.commit)),
            _ => Err(ErrorKind::Internal("a key lies in no finished range of its table".into()).into()),
        }
    }

    /// Whether all pages of a table were read behind a record that is no transaction's (a change of its shape). Where
    /// page and record share an scn that is not known, and the answer is no.
    pub fn all_behind(&self, table: &TableName, tables: &[Arc<TableName>], scn: Scn) -> bool {
        let number = tables.iter().position(|name| **name == *table);
        let entries = number.map_or(&[][..], |number| &self.tables[number]);
        !entries.is_empty() && entries.iter().all(|entry| entry.point.end().scn > scn)
    }
}
