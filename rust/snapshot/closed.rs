//! Pages as they are read, and as a round's end leaves them.

use crate::position::{Point, Scn};
use crate::snapshot::PageRows;
use crate::split::{Chunk, FinishedRange, Key, KeyRange};

/// The leave to read one page by a SELECT that starts from now on; void once the round is closed.
#[derive(Debug)]
pub struct PageTicket {
    pub(super) round: u64,
}

impl PageTicket {
    pub(super) fn new(round: u64) -> Self {
        PageTicket { round }
    }
}

/// A page as it was read.
#[derive(Debug)]
pub struct SelectedPage {
    /// The table's number in the reader's table list.
    pub table: u32,
    /// What it was read from.
    pub chunk: Chunk,
    /// Its rows: the first ones of the chunk.
    pub rows: PageRows,
    /// The first key that was not read, if any was left.
    pub rest: Option<Key>,
    /// Which transactions it contains, where the database tells.
    pub point: Option<Point>,
}

/// A page that equals its part of the table at its point.
#[derive(Debug)]
pub struct ClosedPage {
    /// The table's number in the reader's table list.
    pub table: u32,
    /// What it was read from.
    pub chunk: Chunk,
    /// Its own keys.
    pub range: KeyRange,
    /// What is left of the chunk behind it.
    pub rest: Option<Chunk>,
    /// Which transactions it contains.
    pub point: Point,
    /// The oldest START among transactions that are not committed at the point.
    pub mine_from: Scn,
    /// Its rows in key order, encoded as inserts.
    pub rows: PageRows,
}

impl ClosedPage {
    /// A page that needs no correction.
    pub(super) fn whole(table: u32, chunk: Chunk, rows: PageRows, rest: Option<Key>, point: Point) -> Self {
        let range = KeyRange {
            lower: chunk.range.lower.clone(),
            upper: rest.clone().or_else(|| chunk.range.upper.clone()),
        };
        let rest = rest.map(|lower| Chunk {
            table: chunk.table.clone(),
            range: KeyRange {
                lower: Some(lower),
                upper: chunk.range.upper.clone(),
            },
        });
        ClosedPage {
            table,
            range,
            rest,
            mine_from: point.end().scn,
            chunk,
            point,
            rows,
        }
    }

    /// What is finished once so many of its rows are out; nothing before the first one.
    pub fn finished_after(&self, rows: usize) -> Option<FinishedRange> {
        if rows == 0 && !self.rows.is_empty() {
            return None;
        }
        Some(FinishedRange {
            table: self.chunk.table.clone(),
            range: KeyRange {
                lower: self.range.lower.clone(),
                upper: self.next_key(rows).or_else(|| self.range.upper.clone()),
            },
            point: self.point.clone(),
            mine_from: self.mine_from,
        })
    }

    /// What of the page itself (its chunk's rest is not part of it) must be read again if only so many of its rows are
    /// out.
    pub fn unread_after(&self, rows: usize) -> Option<Chunk> {
        let key = self.next_key(rows)?;
        let lower = if rows == 0 { self.range.lower.clone() } else { Some(key) };
        Some(Chunk {
            table: self.chunk.table.clone(),
            range: KeyRange {
                lower,
                upper: self.range.upper.clone(),
            },
        })
    }

    fn next_key(&self, rows: usize) -> Option<Key> {
        (rows < self.rows.len()).then(|| Key(self.rows.key(rows).into()))
    }
}

/// What a round gave.
#[derive(Debug, Default)]
pub struct ClosedRound {
    /// Its pages, by table and key.
    pub pages: Vec<ClosedPage>,
    /// What has to be read again from the start, since its table changed its shape while the page was corrected: the
    /// table's number and what the page was read from.
    pub again: Vec<(u32, Chunk)>,
}
