//! A page in memory: the rows of its SELECT, corrected by changes of the log until they equal the table at a point.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::snapshot::{PageLimit, PageRows};
use crate::split::{Chunk, Key, KeyRange};

/// A page that is open to corrections.
///
/// The rows of the SELECT stay as they are; what changes lies beside them in key order, a row or, where a row of the
/// SELECT is gone, nothing. A page that outgrows its limit is cut: its upper bound moves down to the first row that
/// does not fit, and what lies behind is read again later.
#[derive(Debug)]
pub struct Page {
    table: u32,
    chunk: Chunk,
    upper: Option<Key>,
    limit: PageLimit,
    selected: PageRows,
    /// Rows of `selected` below `upper`.
    kept: usize,
    corrections: BTreeMap<Box<[u8]>, Option<Vec<u8>>>,
    rows: usize,
    bytes: usize,
}

impl Page {
    /// A page as its SELECT gave it: the first rows of `chunk`, and the first key that was not read if any was left.
    pub fn new(table: u32, chunk: Chunk, selected: PageRows, rest: Option<Key>, limit: PageLimit) -> Self {
        Page {
            table,
            upper: rest.or_else(|| chunk.range.upper.clone()),
            chunk,
            limit,
            kept: selected.len(),
            rows: selected.len(),
            bytes: selected.size(),
            corrections: BTreeMap::new(),
            selected,
        }
    }

    /// The table's number in the reader's table list.
    pub fn table(&self) -> u32 {
        self.table
    }

    /// What it was read from.
    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    /// Its lowest key; `None` if it is open below.
    pub fn lower(&self) -> Option<&[u8]> {
        self.chunk.range.lower.as_ref().map(|key| &*key.0)
    }

    /// Whether a key falls into it.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower().is_none_or(|lower| lower <= key) && self.upper.as_ref().is_none_or(|upper| key < &*upper.0)
    }

    /// How many rows it has now.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no row now.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of its rows and their keys now.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// A row with this key arrives or becomes another one. The key must fall into the page.
    pub fn put(&mut self, key: &[u8], row: &[u8]) {
        match self.corrections.get_mut(key) {
            Some(Some(present)) => {
                self.bytes = self.bytes - present.len() + row.len();
                present.clear();
                present.extend_from_slice(row);
            }
            Some(gone) => {
                *gone = Some(row.to_vec());
                self.rows += 1;
                self.bytes += key.len() + row.len();
            }
            None => {
                match self.find_selected(key) {
                    Some(number) => self.bytes = self.bytes - self.selected.row(number).len() + row.len(),
                    None => {
                        self.rows += 1;
                        self.bytes += key.len() + row.len();
                    }
                }
                self.corrections.insert(key.into(), Some(row.to_vec()));
            }
        }
        self.cut();
    }

    /// The row with this key leaves. The key must fall into the page.
    pub fn remove(&mut self, key: &[u8]) {
        let selected = self.find_selected(key);
        let size = match (self.corrections.get_mut(key), selected) {
            (Some(correction), Some(_)) => correction.take().map(|row| row.len()),
            (Some(_), None) => self.corrections.remove(key).flatten().map(|row| row.len()),
            (None, Some(number)) => {
                self.corrections.insert(key.into(), None);
                Some(self.selected.row(number).len())
            }
            (None, None) => None,
        };
        if let Some(size) = size {
            self.rows -= 1;
            self.bytes -= key.len() + size;
        }
    }

    fn find_selected(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.kept);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.selected.key(middle).cmp(key) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Gives up rows from the end until the page fits; one row it always has, else a large row would never go out.
    fn cut(&mut self) {
        while self.rows > 1 && (self.rows > self.limit.rows || self.bytes > self.limit.bytes) {
            let last_selected = self.kept.checked_sub(1).map(|number| self.selected.key(number));
            let Some(order) = (match (last_selected, self.corrections.last_key_value()) {
                (Some(selected), Some((corrected, _))) => Some(selected.cmp(corrected)),
                (Some(_), None) => Some(Ordering::Greater),
                (None, Some(_)) => Some(Ordering::Less),
                (None, None) => None,
            }) else {
                return;
            };
            let number = self.kept - usize::from(order != Ordering::Less);
            let corrected = if order == Ordering::Greater {
                None
            } else {
                self.corrections.pop_last()
            };
            let (key, size): (Box<[u8]>, _) = match corrected {
                Some((key, Some(row))) => (key, row.len()),
                Some((_, None)) => {
                    self.kept = number;
                    continue;
                }
                None => (self.selected.key(number).into(), self.selected.row(number).len()),
            };
            self.kept = number;
            self.rows -= 1;
            self.bytes -= key.len() + size;
            self.upper = Some(Key(key));
        }
    }

    /// The page's own keys, what of its chunk it leaves unread, and its rows in key order.
    pub fn close(mut self) -> CorrectedPage {
        let rows = if self.corrections.is_empty() {
            self.selected.truncate(self.kept);
            self.selected
        } else {
            merge(&self.selected, self.kept, &self.corrections)
        };
        let rest = (self.upper != self.chunk.range.upper).then(|| Chunk {
            table: self.chunk.table.clone(),
            range: KeyRange {
                lower: self.upper.clone(),
                upper: self.chunk.range.upper.clone(),
            },
        });
        CorrectedPage {
            table: self.table,
            range: KeyRange {
                lower: self.chunk.range.lower.clone(),
                upper: self.upper,
            },
            chunk: self.chunk,
            rest,
            rows,
        }
    }
}

/// A page whose corrections are all in.
#[derive(Debug)]
pub struct CorrectedPage {
    /// The table's number in the reader's table list.
    pub table: u32,
    /// What it was read from.
    pub chunk: Chunk,
    /// Its own keys.
    pub range: KeyRange,
    /// What is left of the chunk behind it.
    pub rest: Option<Chunk>,
    /// Its rows in key order.
    pub rows: PageRows,
}

fn merge(selected: &PageRows, kept: usize, corrections: &BTreeMap<Box<[u8]>, Option<Vec<u8>>>) -> PageRows {
    let mut rows = PageRows::default();
    let mut number = 0;
    for (key, row) in corrections {
        while number < kept && selected.key(number) < &**key {
            rows.push_encoded(selected.key(number), selected.row(number));
            number += 1;
        }
        if number < kept && selected.key(number) == &**key {
            number += 1;
        }
        if let Some(row) = row {
            rows.push_encoded(key, row);
        }
    }
    for number in number..kept {
        rows.push_encoded(selected.key(number), selected.row(number));
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::split::TableName;

    const WIDE: PageLimit = PageLimit {
        rows: 1_000_000,
        bytes: 1 << 30,
    };

    fn chunk(lower: Option<&str>, upper: Option<&str>) -> Chunk {
        let key = |text: Option<&str>| text.map(|text| Key(text.as_bytes().into()));
        Chunk {
            table: Arc::new(TableName {
                schema: "BIZ".into(),
                name: "ORDERS".into(),
            }),
            range: KeyRange {
                lower: key(lower),
                upper: key(upper),
            },
        }
    }

    fn rows(rows: &[(&str, &str)]) -> PageRows {
        let mut page = PageRows::default();
        rows.iter()
            .for_each(|(key, row)| page.push_encoded(key.as_bytes(), row.as_bytes()));
        page
    }

    fn texts(page: &PageRows) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (0..page.len())
            .map(|row| (text(page.key(row)), text(page.row(row))))
            .collect()
    }

    /// The example that descriptions of watermark-based snapshots print: between the low and the high watermark of a
    /// chunk K1 to K7, K2 goes from 100 to 108 and on to 119, K3 is deleted, K5 goes from 77 to 100.
    #[test]
    fn the_published_example() {
        let selected = rows(&[
            ("K1", "100"),
            ("K2", "100"),
            ("K3", "80"),
            ("K4", "25"),
            ("K5", "77"),
            ("K6", "12"),
            ("K7", "50"),
        ]);
        let mut page = Page::new(0, chunk(Some("K1"), Some("K8")), selected, None, WIDE);
        page.put(b"K2", b"108");
        page.put(b"K2", b"119");
        page.remove(b"K3");
        page.put(b"K5", b"100");
        let page = page.close();
        let expected = [
            ("K1", "100"),
            ("K2", "119"),
            ("K4", "25"),
            ("K5", "100"),
            ("K6", "12"),
            ("K7", "50"),
        ];
        assert_eq!(
            texts(&page.rows),
            expected.map(|(key, row)| (key.to_owned(), row.to_owned()))
        );
        assert_eq!(page.rest, None);
        assert_eq!(page.range, chunk(Some("K1"), Some("K8")).range);
    }

    #[test]
    fn a_page_that_outgrows_its_limit_gives_up_its_last_keys() {
        let limit = PageLimit { rows: 3, bytes: 1000 };
        let rest = Some(Key(b"f".as_slice().into()));
        let selected = rows(&[("b", "1"), ("c", "1"), ("e", "1")]);
        let mut page = Page::new(0, chunk(Some("a"), Some("z")), selected, rest, limit);
        page.remove(b"e");
        page.put(b"d", b"2");
        page.put(b"a", b"2");
        assert!(!page.contains(b"d") && page.contains(b"c"));
        let page = page.close();
        assert_eq!(
            texts(&page.rows),
            [("a", "2"), ("b", "1"), ("c", "1")].map(|(key, row)| (key.to_owned(), row.to_owned()))
        );
        assert_eq!(page.range, chunk(Some("a"), Some("d")).range);
        assert_eq!(page.rest, Some(chunk(Some("d"), Some("z"))));
    }

    #[test]
    fn one_row_stays_however_large_it_becomes() {
        let limit = PageLimit { rows: 3, bytes: 10 };
        let mut page = Page::new(0, chunk(None, None), rows(&[("a", "1"), ("b", "1")]), None, limit);
        page.put(b"a", b"a row of some length");
        let page = page.close();
        assert_eq!(page.rows.len(), 1);
        assert_eq!(page.rest, Some(chunk(Some("b"), None)));
    }

    /// Random corrections against a plain map, with limits that cut.
    #[test]
    fn corrections_equal_those_of_a_plain_map() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..5_000 {
            let mut expected = BTreeMap::new();
            for _ in 0..random(8) {
                expected.insert(format!("{:02}", random(20)), "s".repeat(random(5) as usize));
            }
            let mut selected = PageRows::default();
            let pairs = expected.iter();
            pairs.for_each(|(key, row)| selected.push_encoded(key.as_bytes(), row.as_bytes()));
            let limit = PageLimit {
                rows: 8 + random(3) as usize,
                bytes: 40 + random(60) as usize,
            };
            let mut page = Page::new(3, chunk(None, None), selected, None, limit);
            for number in 0..random(30) {
                let key = format!("{:02}", random(20));
                if !page.contains(key.as_bytes()) {
                    continue;
                }
                let puts = random(3) > 0;
                if puts {
                    let row = number.to_string().repeat(1 + random(4) as usize);
                    page.put(key.as_bytes(), row.as_bytes());
                    expected.insert(key, row);
                } else {
                    page.remove(key.as_bytes());
                    expected.remove(&key);
                }
                expected.retain(|key, _| page.contains(key.as_bytes()));
                let bytes: usize = expected.iter().map(|(key, row)| key.len() + row.len()).sum();
                assert_eq!((page.len(), page.size()), (expected.len(), bytes));
                let fits = page.len() <= limit.rows && page.size() <= limit.bytes;
                assert!(!puts || fits || page.len() == 1);
            }
            let page = page.close();
            assert_eq!(texts(&page.rows), expected.into_iter().collect::<Vec<_>>());
            assert_eq!(page.rest.map(|rest| rest.range.lower), page.range.upper.map(Some));
        }
    }
}
