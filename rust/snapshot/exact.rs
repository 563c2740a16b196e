//! Exact pages (design 4.5): the database says which transactions a SELECT saw, so that nothing has to be corrected.

use std::sync::Arc;
use std::time::Duration;

use crate::dialect::visibility::Visibility;
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Figures, Headroom, Patience};
use crate::odbc::Field;
use crate::position::{Lsn, Point, Position, Scn, TransactionSnapshot};
use crate::snapshot::barrier::{Barrier, integer};
use crate::snapshot::closed::{ClosedPage, ClosedRound, PageTicket, SelectedPage};
use crate::snapshot::page::{RoundLimits, check_order};
use crate::snapshot::select::PageReader;
use crate::snapshot::wait::{Clock, Wait, go_on};
use crate::snapshot::{PageLimit, PageRounds, PageRows, PageSource, Piece};
use crate::split::{Chunk, Key};
use crate::unavailable::Counts;

/// How long the log's durable end may stay behind a page before a record is written that takes it along: on an idle
/// server nothing else would.
const PUSH_AFTER: Duration = Duration::from_millis(100);

/// Reads pages that tell which transactions they contain.
pub struct ExactPages {
    pages: PageReader,
    dialect: Arc<dyn Visibility>,
    /// For the log to become durable up to where a page has seen it.
    patience: Patience,
    clock: Box<dyn Clock + Send>,
    /// Whether the server keeps sorted rows for this connection.
    kept: bool,
}

impl ExactPages {
    /// Over a page reader's connection.
    pub fn new(
        pages: PageReader,
        dialect: Arc<dyn Visibility>,
        patience: Patience,
        clock: Box<dyn Clock + Send>,
    ) -> Self {
        ExactPages {
            pages,
            dialect,
            patience,
            clock,
            kept: false,
        }
    }

    /// Reads in a transaction that tells what it sees. `end` are the statements that end it; of an attempt that
    /// fails nothing is left either.
    fn in_snapshot<T>(
        &mut self,
        chunk: &Chunk,
        end: &[String],
        read: impl FnOnce(&mut PageReader) -> Result<T>,
    ) -> Result<(T, Point, Lsn)> {
        let seen = self.see(chunk).and_then(|(point, high)| {
            let read = read(&mut self.pages)?;
            let connection = self.pages.connection_mut();
            end.iter().try_for_each(|statement| connection.execute(statement))?;
            Ok((read, point, high))
        });
        if seen.is_err() {
            // Of an error its own text says more.
            let _ = self.pages.connection_mut().execute(&self.dialect.end_snapshot());
        }
        seen
    }

    fn see(&mut self, chunk: &Chunk) -> Result<(Point, Lsn)> {
        let connection = self.pages.connection_mut();
        for statement in self.dialect.begin_snapshot(&chunk.table) {
            connection.execute(&statement)?;
        }
        let query = self.dialect.seen();
        let rows = connection.rows(&query.sql, &query.columns)?;
        let seen = rows.first().and_then(|row| {
            let high = u64::try_from(row.first()?.int()?).ok()?;
            Some((
                TransactionSnapshot::parse(row.get(1).and_then(Field::text)?)?,
                Lsn(high),
            ))
        });
        let (snapshot, high) =
            seen.ok_or_else(|| Error::from(ErrorKind::Internal("the server does not say what a SELECT saw".into())))?;
        // A change that the snapshot sees never comes from the log, which alone would tell of a column that it has and the
        // SELECT does not name. From here on the table's lock keeps the columns.
        self.pages.check_shape(chunk)?;
        Ok((Point::Snapshot { snapshot, high }, high))
    }

    /// The rows are sorted by the statement that ends the transaction, which is no longer than that: they go out from what
    /// the server keeps of them, as seen by it.
    fn keep_sorted(&mut self, chunk: &Chunk) -> Result<Point> {
        let select = self.pages.sorted(chunk)?;
        let connection = self.pages.connection_mut();
        if std::mem::take(&mut self.kept) {
            connection.execute(&self.dialect.drop_kept())?;
        }
        let keep = self.dialect.keep_result(&select);
        let ((), point, high) = self.in_snapshot(chunk, &keep, |_| Ok(()))?;
        self.kept = true;
        self.wait_until_durable(high)?;
        Ok(point)
    }

    fn read(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<(Option<Key>, Point)> {
        let end = [self.dialect.end_snapshot()];
        let (rest, point, high) = self.in_snapshot(chunk, &end, |pages| pages.select(chunk, limit, into))?;
        self.wait_until_durable(high)?;
        Ok((rest, point))
    }

    /// A commit that does not wait for the disk can be seen and yet be lost in a crash: its row must not go out before.
    fn wait_until_durable(&mut self, high: Lsn) -> Result<()> {
        let connection = self.pages.connection_mut();
        let wait = Wait::begin(self.patience, &*self.clock);
        let push_at = self.clock.now() + PUSH_AFTER;
        let mut pushed = false;
        loop {
            let reached = integer(connection, &self.dialect.durable_end())?;
            if reached >= high.0 {
                return Ok(());
            }
            go_on(&*self.clock)?;
            if wait.is_over(&*self.clock) {
                return Err(ErrorKind::LogBehind {
                    needed: Scn(high.0),
                    reached: Scn(reached),
                    seconds: wait.seconds(),
                }
                .into());
            }
            if !pushed && self.clock.now() >= push_at {
                integer(connection, &self.dialect.push_log())?;
                pushed = true;
                continue;
            }
            wait.pause(&mut *self.clock)?;
        }
    }
}

impl PageSource for ExactPages {
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        self.read_page(chunk, limit, into).map(|(rest, _)| rest)
    }

    fn read_page(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        into: &mut PageRows,
    ) -> Result<(Option<Key>, Option<Point>)> {
        let (rest, point) = self
            .read(chunk, limit, into)
            .map_err(|error| error.doing("reading a page").on(&chunk.table))?;
        Ok((rest, Some(point)))
    }

    fn sort(&mut self, chunk: &Chunk) -> Result<Point> {
        self.keep_sorted(chunk)
            .map_err(|error| error.doing("sorting rows by their key").on(&chunk.table))
    }

    fn select_sorted(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let dialect = self.dialect.clone();
        self.pages
            .read_sorted(chunk, limit, &|rows| dialect.kept_rows(rows), take)
            .and_then(|()| self.pages.connection_mut().execute(&dialect.drop_kept()))
            .map(|()| self.kept = false)
            .map_err(|error| error.doing("reading sorted rows").on(&chunk.table))
    }

    fn select_whole(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        self.pages.select_whole(chunk, limit, take)
    }
}

/// Opens the connection for barriers; asked when the first one is needed.
pub type Connect = Box<dyn FnMut() -> Result<Barrier> + Send>;

/// Pages of one reader that go out as they come.
pub struct ExactRounds {
    limits: RoundLimits,
    closed: Vec<ClosedPage>,
    connect: Connect,
    barrier: Option<Barrier>,
}

impl ExactRounds {
    /// Rounds without a log.
    pub fn new(limits: RoundLimits, connect: Connect) -> Self {
        ExactRounds {
            limits,
            closed: Vec::new(),
            connect,
            barrier: None,
        }
    }
}

impl PageRounds for ExactRounds {
    /// The log phase begins in front of every page.
    fn keep(&mut self, _: Scn) {}

    fn begin_page(&mut self, _: &mut dyn Clock) -> Result<PageTicket> {
        Ok(PageTicket::new(0))
    }

    /// What commits in front of a barrier that was passed before the SELECT is in it.
    fn begin_uncorrected(&mut self, clock: &mut dyn Clock) -> Result<(Position, Scn)> {
        if self.barrier.is_none() {
            self.barrier = Some((self.connect)()?);
        }
        let Some(barrier) = &mut self.barrier else {
            return Err(ErrorKind::Internal("a connection vanished".into()).into());
        };
        let from = Scn(barrier.pass(clock)?.0);
        Ok((Position::before(from), from))
    }

    /// A slot keeps the log.
    fn check_kept(&mut self) -> Result<()> {
        Ok(())
    }

    fn add_page(&mut self, _: PageTicket, page: SelectedPage) -> Result<()> {
        let SelectedPage {
            table,
            chunk,
            rows,
            rest,
            point,
        } = page;
        check_order(&chunk.range, &rows, rest.as_ref())
            .map_err(|error| error.doing("reading a page").on(&chunk.table))?;
        let point = point.ok_or_else(|| Error::from(ErrorKind::Internal("a page has no point".into())))?;
        self.closed.push(ClosedPage::whole(table, chunk, rows, rest, point));
        Ok(())
    }

    fn is_full(&self, leaving: usize) -> bool {
        leaving >= self.limits.round_bytes
    }

    /// Pages go out while others are read, down to a half, so that connections need not stop for each.
    fn leaving_at_close(&self) -> usize {
        self.limits.round_bytes / 2
    }

    fn size(&self) -> usize {
        self.closed.iter().map(|page| page.rows.size()).sum()
    }

    fn take_closed(&mut self) -> Vec<ClosedPage> {
        std::mem::take(&mut self.closed)
    }

    fn close(&mut self, _: &mut dyn Clock) -> Result<ClosedRound> {
        Ok(ClosedRound {
            pages: self.take_closed(),
            again: Vec::new(),
        })
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }

    fn headroom(&self) -> Option<Headroom> {
        None
    }

    fn unavailable(&self) -> Counts {
        Counts::default()
    }
}
