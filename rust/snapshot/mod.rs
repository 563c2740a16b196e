//! The snapshot phase: where to cut, how a page is read and corrected, how its rows go out.

pub mod merge;
pub mod page;
pub mod select;
pub mod splitter;
pub mod wait;

use crate::error::{Error, ErrorKind, Result};
use crate::split::{Chunk, Key};

/// Where a page ends, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// `scan.incremental.snapshot.chunk.size`.
    pub rows: usize,
    /// `scan.snapshot.page.bytes`.
    pub bytes: usize,
}

/// Keys and rows of a page, in key order, their bytes in two buffers.
#[derive(Clone, Debug, Default)]
pub struct PageRows {
    keys: Vec<u8>,
    rows: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl PageRows {
    /// Appends a row; its bytes are what the two closures append.
    ///
    /// # Errors
    /// Those of the closures; the row is not there then.
    pub fn push(
        &mut self,
        key: impl FnOnce(&mut Vec<u8>) -> Result<()>,
        row: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let (key_start, row_start) = (self.keys.len(), self.rows.len());
        let pushed = key(&mut self.keys).and_then(|()| row(&mut self.rows));
        if pushed.is_ok() {
            self.ends.push((self.keys.len(), self.rows.len()));
        } else {
            self.keys.truncate(key_start);
            self.rows.truncate(row_start);
        }
        pushed
    }

    /// Appends a row that is encoded already.
    pub fn push_encoded(&mut self, key: &[u8], row: &[u8]) {
        self.keys.extend_from_slice(key);
        self.rows.extend_from_slice(row);
        self.ends.push((self.keys.len(), self.rows.len()));
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes that keys and rows take.
    pub fn size(&self) -> usize {
        self.keys.len() + self.rows.len()
    }

    /// Bytes that the rows take, without their keys.
    pub fn row_bytes(&self) -> usize {
        self.rows.len()
    }

    /// Drops the rows behind the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        if let Some(&(key, row)) = rows.checked_sub(1).and_then(|last| self.ends.get(last)) {
            self.keys.truncate(key);
            self.rows.truncate(row);
            self.ends.truncate(rows);
        } else if rows == 0 {
            *self = PageRows::default();
        }
    }

    /// A row's key.
    pub fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1].0 };
        &self.keys[start..self.ends[row].0]
    }

    /// A row's bytes.
    pub fn row(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1].1 };
        &self.rows[start..self.ends[row].1]
    }
}

/// Reads pages over a connection of its own: plain SELECTs under read-committed.
pub trait PageSource: Send {
    /// Reads the first page of what is left of a chunk, in key order, and returns the first key that was not read, or
    /// `None` if nothing of the chunk is left behind the page.
    ///
    /// # Errors
    /// Database errors; values that do not fit.
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>>;

    /// Reads a table that has no key by one SELECT and hands its rows on in pieces, in the order in which they come. Their
    /// keys are numbers of eight bytes, ascending from the chunk's lower bound on, whatever was read there before.
    ///
    /// # Errors
    /// Database errors; values that do not fit; those of `take`.
    fn select_whole(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let _ = (limit, take);
        let kind = ErrorKind::Internal("this source reads tables by their keys only".into());
        Err(Error::from(kind).on(&chunk.table))
    }
}

/// Some rows of a table that is read whole.
#[derive(Debug)]
pub struct Piece {
    /// The rows and, unless it is the last piece, the key of the one behind them with nothing else of it.
    pub rows: PageRows,
    /// How many rows there are.
    pub len: usize,
}
