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

    /// Whether all pages of a table were read behind a change of its shape. Where a position and the change's record share
    /// an scn that is not known, and the answer is no.
    pub fn all_behind(
        &self,
        table: &TableName,
        tables: &[Arc<TableName>],
        head: &TransactionHead,
        record: Scn,
    ) -> bool {
        let entries = self.of(table, tables);
        let behind = |entry: &Entry| match &entry.point {
            Point::Position(position) => position.scn > record,
            point @ Point::Snapshot { .. } => point.includes(head.xid, head.commit),
        };
        !entries.is_empty() && entries.iter().all(behind)
    }

    /// Whether any of them may have been.
    pub fn any_behind(
        &self,
        table: &TableName,
        tables: &[Arc<TableName>],
        head: &TransactionHead,
        record: Scn,
    ) -> bool {
        let behind = |entry: &Entry| match &entry.point {
            Point::Position(position) => position.scn >= record,
            point @ Point::Snapshot { .. } => point.includes(head.xid, head.commit),
        };
        self.of(table, tables).iter().any(behind)
    }

    fn of(&self, table: &TableName, tables: &[Arc<TableName>]) -> &[Entry] {
        let number = tables.iter().position(|name| **name == *table);
        number.map_or(&[][..], |number| &self.tables[number])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::{CommitPosition, Lsn, TransactionSnapshot, Xid};
    use crate::split::Key;

    fn table(name: &str) -> Arc<TableName> {
        Arc::new(TableName {
            schema: "BIZ".into(),
            name: name.into(),
        })
    }

    fn range(table: &Arc<TableName>, lower: Option<u32>, upper: Option<u32>, scn: u64, commits: u32) -> FinishedRange {
        let key = |number: Option<u32>| number.map(|number| Key(Box::new(number.to_be_bytes())));
        FinishedRange {
            table: table.clone(),
            range: KeyRange {
                lower: key(lower),
                upper: key(upper),
            },
            point: Point::Position(Position { scn: Scn(scn), commits }),
            mine_from: Scn(1),
        }
    }

    fn head(scn: u64, nth: u32) -> TransactionHead {
        TransactionHead {
            xid: Xid(1),
            commit: CommitPosition { scn: Scn(scn), nth },
            commit_micros: 0,
            start: Scn(1),
            next_scn: Scn(1),
        }
    }

    #[test]
    fn each_range_has_its_own_point_down_to_the_commit() {
        let (a, b) = (table("A"), table("B"));
        let ranges = [
            range(&a, Some(10), None, 20, 1),
            range(&a, None, Some(10), 30, 0),
            range(&table("GONE"), None, None, 99, 0),
        ];
        let filter = Filter::new(&[b, a], &ranges).unwrap().unwrap();
        assert_eq!(filter.end(), Position::before(Scn(30)));
        let contains = |key: u32, head| filter.contains(1, &key.to_be_bytes(), &head).unwrap();
        assert!(contains(9, head(29, 5)) && !contains(9, head(30, 0)));
        assert!(contains(10, head(20, 0)) && !contains(10, head(20, 1)));
        assert!(!filter.covers(0) && !filter.contains(0, b"any", &head(1, 0)).unwrap());
    }

    #[test]
    fn a_key_in_no_range_and_ranges_that_overlap_are_errors() {
        let a = table("A");
        let holes = [range(&a, None, Some(5), 9, 0), range(&a, Some(6), None, 9, 0)];
        let filter = Filter::new(std::slice::from_ref(&a), &holes).unwrap().unwrap();
        let error = filter.contains(0, &5u32.to_be_bytes(), &head(1, 0)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Internal(_)));
        let twice = [range(&a, None, Some(7), 9, 0), range(&a, Some(6), None, 9, 0)];
        let error = Filter::new(&[a], &twice).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Protocol(_)));
    }

    #[test]
    fn a_hundred_thousand_ranges_are_searched_not_walked() {
        let a = table("A");
        let bound = |number: u32| (0 < number && number < 100_000).then_some(number * 3);
        let ranges: Vec<_> = (0..100_000)
            .map(|number| range(&a, bound(number), bound(number + 1), u64::from(number) + 1, 0))
            .collect();
        let filter = Filter::new(&[a], &ranges).unwrap().unwrap();
        for number in 0..1_000_000u32 {
            let key = number % 300_000;
            let scn = u64::from(key / 3) + 1;
            let contains = |scn| filter.contains(0, &key.to_be_bytes(), &head(scn, 0)).unwrap();
            assert!(contains(scn - 1) && !contains(scn));
        }
    }

    #[test]
    fn a_change_of_shape_is_behind_a_table_only_if_all_its_pages_are_later() {
        let (a, b) = (table("A"), table("B"));
        let ranges = [range(&a, None, Some(5), 9, 0), range(&a, Some(5), None, 12, 0)];
        let tables = [a.clone(), b.clone()];
        let filter = Filter::new(&tables, &ranges).unwrap().unwrap();
        let behind = |table, scn| filter.all_behind(table, &tables, &head(scn + 100, 0), Scn(scn));
        assert!(behind(&a, 8));
        assert!(!behind(&a, 9) && !behind(&a, 10));
        assert!(!behind(&b, 1));
        let any = |table, scn| filter.any_behind(table, &tables, &head(scn + 100, 0), Scn(scn));
        assert!([8, 9, 12].iter().all(|&scn| any(&a, scn)));
        assert!(!any(&a, 13) && !any(&b, 1));
    }

    /// A page that sees some of the transactions that commit in front of its end: the others' changes come.
    #[test]
    fn a_page_of_a_snapshot_contains_what_its_select_saw() {
        let a = table("A");
        let point = Point::Snapshot {
            snapshot: TransactionSnapshot {
                xmin: Xid(5),
                xmax: Xid(9),
                open: Box::new([Xid(5), Xid(7)]),
            },
            high: Lsn(100),
        };
        let ranges = [FinishedRange {
            point,
            ..range(&a, None, None, 0, 0)
        }];
        let tables = [a.clone()];
        let filter = Filter::new(&tables, &ranges).unwrap().unwrap();
        assert_eq!(filter.end(), Position::before(Scn(100)));
        let of = |xid, scn| TransactionHead {
            xid: Xid(xid),
            ..head(scn, 0)
        };
        let contains = |xid, scn| filter.contains(0, b"any", &of(xid, scn)).unwrap();
        assert!(contains(4, 99) && contains(6, 99) && contains(8, 20));
        // Open when the SELECT looked, whatever its place; begun later; committed behind the end.
        assert!(!contains(5, 20) && !contains(7, 99) && !contains(9, 99) && !contains(6, 100));
        assert!(filter.all_behind(&a, &tables, &of(6, 99), Scn(200)));
        assert!(!filter.all_behind(&a, &tables, &of(7, 99), Scn(20)));
        assert!(filter.any_behind(&a, &tables, &of(6, 99), Scn(200)));
        assert!(!filter.any_behind(&a, &tables, &of(7, 99), Scn(20)));
    }
}
