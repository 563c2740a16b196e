//! The snapshot phase: where to cut, how a page is read and corrected, how its rows go out.

pub mod barrier;
pub mod closed;
pub mod exact;
pub mod merge;
pub mod page;
pub mod select;
pub mod splitter;
pub mod wait;

use crate::error::{Error, ErrorKind, Result};
use crate::log::{Figures, Headroom};
use crate::position::{Point, Position, Scn};
use crate::snapshot::closed::{ClosedPage, ClosedRound, PageTicket, SelectedPage};
use crate::snapshot::wait::Clock;
use crate::split::{Chunk, Key};
use crate::unavailable::Counts;

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

/// Reads pages over a connection of its own.
pub trait PageSource: Send {
    /// Reads the first page of what is left of a chunk, in key order, and returns the first key that was not read, or
    /// `None` if nothing of the chunk is left behind the page.
    ///
    /// # Errors
    /// Database errors; values that do not fit.
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>>;

    /// The same, and which transactions the page contains, where the database tells: it needs no correction then.
    ///
    /// # Errors
    /// Those of [`PageSource::select`].
    fn read_page(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        into: &mut PageRows,
    ) -> Result<(Option<Key>, Option<Point>)> {
        Ok((self.select(chunk, limit, into)?, None))
    }

    /// Has the database sort and keep the rows of a chunk of which no index has the key's order, and returns which
    /// transactions they contain. Only one such result is kept.
    ///
    /// # Errors
    /// Those of [`PageSource::select`].
    fn sort(&mut self, chunk: &Chunk) -> Result<Point> {
        let kind = ErrorKind::Internal("this source reads tables page by page only".into());
        Err(Error::from(kind).on(&chunk.table))
    }

    /// Hands the rows on that were sorted, in pieces, in key order.
    ///
    /// # Errors
    /// Those of [`PageSource::select`]; those of `take`.
    fn select_sorted(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let _ = (limit, take);
        self.sort(chunk).map(|_| ())
    }

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

/// How the pages of one reader come to equal their parts of the tables at points, and what the log phase needs of it.
pub trait PageRounds: Send {
    /// Says that the log phase will mine from `mine_from` on (a range restored from a checkpoint).
    fn keep(&mut self, mine_from: Scn);

    /// Gets ready for a SELECT that starts from now on; its page comes back by [`PageRounds::add_page`] before the round
    /// is closed.
    ///
    /// # Errors
    /// `LogGone`, `NotVisible`, `LogBehind`, `Closed`; database errors.
    fn begin_page(&mut self, clock: &mut dyn Clock) -> Result<PageTicket>;

    /// Gets ready for a SELECT of rows that go out as they come. They contain all transactions up to the position
    /// returned, and any of the later ones; with it comes what [`ClosedPage::mine_from`] says of a page.
    ///
    /// # Errors
    /// Those of [`PageRounds::begin_page`].
    fn begin_uncorrected(&mut self, clock: &mut dyn Clock) -> Result<(Position, Scn)>;

    /// Checks that the log which the log phase will need is still there.
    ///
    /// # Errors
    /// `LogGone`; database errors.
    fn check_kept(&mut self) -> Result<()>;

    /// Takes a page.
    ///
    /// # Errors
    /// `Internal` for rows out of order; database errors.
    fn add_page(&mut self, ticket: PageTicket, page: SelectedPage) -> Result<()>;

    /// Whether no further page may be begun before the round is closed; `leaving`: bytes of closed pages whose rows are
    /// still on their way out.
    fn is_full(&self, leaving: usize) -> bool;

    /// Bytes of closed pages that may still be on their way out when a round is closed.
    fn leaving_at_close(&self) -> usize;

    /// Bytes that the pages hold which are not closed.
    fn size(&self) -> usize;

    /// Pages that are closed already, if any can be before the round is.
    fn take_closed(&mut self) -> Vec<ClosedPage>;

    /// Closes the round: all pages that were begun are in.
    ///
    /// # Errors
    /// `LogBehind`, `Closed`, values of changes that do not fit; database errors. The round is lost then.
    fn close(&mut self, clock: &mut dyn Clock) -> Result<ClosedRound>;

    /// What a log reader that closes pages has done and what it holds.
    fn figures(&self) -> Figures;

    /// Bytes of kept log before what the log phase will need of the pages closed so far.
    fn headroom(&self) -> Option<Headroom>;

    /// What was done about values that the log does not hold.
    fn unavailable(&self) -> Counts;
}

/// Some rows of a table that is read whole.
#[derive(Debug)]
pub struct Piece {
    /// The rows and, unless it is the last piece, the key of the one behind them with nothing else of it.
    pub rows: PageRows,
    /// How many rows there are.
    pub len: usize,
}
