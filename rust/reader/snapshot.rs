//! The snapshot phase of a reader: pages of a round side by side, then one advance of the log, then their rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossbeam_channel::select;

use crate::error::{Error, ErrorKind, Result};
use crate::position::Point;
use crate::reader::batch::BatchBuilder;
use crate::reader::capture::Capture;
use crate::reader::delivery::{Delivery, Meaning};
use crate::reader::pages::{PageTask, PageThreads};
use crate::reader::state::{PageEnd, PageId};
use crate::reader::worker::{At, Output, Worker, internal};
use crate::row::batch::BatchLimit;
use crate::snapshot::page::{ClosedPage, Rounds};
use crate::snapshot::{PageRows, PageSource};
use crate::split::{Chunk, TableName};
use crate::stop::RealClock;

/// What the snapshot phase holds open.
pub(super) struct Snapshot {
    rounds: Rounds,
    threads: PageThreads,
    tables: HashMap<Arc<TableName>, u32>,
    /// Of tables without a key, which wait for the round to be closed.
    whole: VecDeque<(PageId, Chunk)>,
    whole_source: Option<Box<dyn PageSource>>,
    clock: RealClock,
}

/// The pages of a round that are begun, by what they are read from.
type Begun = HashMap<Chunk, PageId>;

impl Snapshot {
    /// Opens the log for it; connections for pages are opened as pages come.
    pub(super) fn open(worker: &Worker, capture: &mut dyn Capture) -> Result<Self> {
        let (log, position) = capture.log_for_snapshot()?;
        let limits = worker.limits;
        let mut rounds = Rounds::new(log, capture.codec(), position, limits.rounds);
        if let Some(mine_from) = worker.shared.lock().smallest_mine_from {
            rounds.keep(mine_from);
        }
        let tables = capture.tables().iter().enumerate();
        Ok(Snapshot {
            rounds,
            threads: PageThreads::new(
                limits.connections,
                limits.rounds.page,
                worker.name.clone(),
                worker.threads.clone(),
                worker.stopped.clone(),
            ),
            tables: tables.map(|(number, name)| (name.clone(), number as u32)).collect(),
            whole: VecDeque::new(),
            whole_source: None,
            clock: RealClock::new(worker.stopped.clone()),
        })
    }

    fn number(&self, chunk: &Chunk) -> Result<u32> {
        self.tables.get(&chunk.table).copied().ok_or_else(|| {
            let kind = ErrorKind::State("the state names a table that is not captured any more".into());
            Error::from(kind).on(&chunk.table)
        })
    }

    /// Begins to read a page; the log stands still until all that were begun are in.
    fn begin(&mut self, capture: &mut dyn Capture, chunk: Chunk) -> Result<()> {
        let table = self.number(&chunk)?;
        let ticket = self.rounds.begin_page(&mut self.clock)?;
        self.threads
            .begin(PageTask { ticket, table, chunk }, || capture.pages())
    }
}

impl Worker {
    /// Reads pages until the round is full or there is no chunk at hand, then closes the round and sends its pages.
    pub(super) fn round(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: Chunk,
    ) -> Result<()> {
        if capture.has_key(snapshot.number(&chunk)?) {
            self.keyed_round(snapshot, capture, id, chunk)?;
        } else {
            snapshot.whole.push_back((id, chunk));
        }
        while let Some((id, chunk)) = snapshot.whole.pop_front() {
            self.whole_table(snapshot, capture, id, &chunk)?;
        }
        Ok(())
    }

    fn keyed_round(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: Chunk,
    ) -> Result<()> {
        let mut begun = Begun::from([(chunk.clone(), id)]);
        let mut pending = VecDeque::from([chunk]);
        while !pending.is_empty() {
            self.fill(snapshot, capture, &mut pending, &mut begun)?;
            let closed = snapshot.rounds.close(&mut snapshot.clock)?;
            self.shared
                .counts
                .round_closed(closed.pages.len(), snapshot.rounds.figures());
            for page in closed.pages {
                let id = begun
                    .remove(&page.chunk)
                    .ok_or_else(|| internal("a page of no begun chunk was closed"))?;
                self.send_page(id, Arc::new(page))?;
            }
            self.shared.counts.note_nulled(capture.codec().nulled_values());
            for (_, chunk) in closed.again {
                log::info!(
                    "table {} changed its shape while a page of it was read; it is read again",
                    chunk.table
                );
                pending.push_back(chunk);
            }
        }
        Ok(())
    }

    /// Reads pages over all connections, the pending ones first, until the round holds enough or no chunk is at hand.
    /// None is being read when this returns without an error.
    fn fill(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        pending: &mut VecDeque<Chunk>,
        begun: &mut Begun,
    ) -> Result<()> {
        loop {
            let mut more = !snapshot.rounds.is_full();
            while more && snapshot.threads.is_free() {
                let chunk = match pending.pop_front() {
                    Some(chunk) => chunk,
                    None => match self.at_hand()? {
                        At::Chunk(id, chunk) if !capture.has_key(snapshot.number(&chunk)?) => {
                            snapshot.whole.push_back((id, chunk));
                            more = false;
                            break;
                        }
                        At::Chunk(id, chunk) => {
                            begun.insert(chunk.clone(), id);
                            chunk
                        }
                        At::NoneNow => {
                            more = false;
                            break;
                        }
                        At::Coming => break,
                    },
                };
                snapshot.begin(capture, chunk)?;
            }
            if !more && snapshot.threads.reading() == 0 {
                return Ok(());
            }
            select! {
                recv(snapshot.threads.pages()) -> page => {
                    let page = page.map_err(|_| ErrorKind::Closed)?;
                    let (PageTask { ticket, table, chunk }, rows, rest) = snapshot.threads.take(page)?;
                    snapshot.rounds.add_page(ticket, table, chunk, rows, rest)?;
                },
                recv(self.wake) -> woken => woken.map_err(|_| ErrorKind::Closed)?,
                recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
            }
        }
    }

    fn send_page(&mut self, id: PageId, page: Arc<ClosedPage>) -> Result<()> {
        let end = PageEnd {
            rest: page.rest.as_ref().and_then(|rest| rest.range.lower.clone()),
            point: page.point.clone(),
            mine_from: page.mine_from,
        };
        log::debug!(
            "page {:?} of {} has {} rows at {:?}, mine from {}",
            page.range,
            page.chunk.table,
            page.rows.len(),
            page.point,
            page.mine_from
        );
        self.shared.lock().state.page_closed(id, end)?;
        let rows = page.rows.len();
        self.send_rows(id, page, rows, true)
    }

    /// Reads a table without a key: its rows go out while the SELECT runs and the log stands still, and are not
    /// corrected. What the log has behind the position where it stands comes in the log phase, once more where the SELECT
    /// has seen it.
    fn whole_table(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: &Chunk,
    ) -> Result<()> {
        let table = snapshot.number(chunk)?;
        let (position, mine_from) = snapshot.rounds.begin_uncorrected(&mut snapshot.clock)?;
        let point = Point::Position(position);
        let end = PageEnd {
            rest: None,
            point: point.clone(),
            mine_from,
        };
        self.shared.lock().state.page_closed(id, end)?;
        if chunk.range.lower.is_some() {
            log::warn!(
                "table {} has no key and was not read to its end: all its rows are read again",
                chunk.table
            );
        }
        if snapshot.whole_source.is_none() {
            snapshot.whole_source = Some(capture.pages()?);
        }
        let Some(source) = &mut snapshot.whole_source else {
            return Err(internal("a connection vanished"));
        };
        let (rounds, limit) = (&mut snapshot.rounds, self.limits.rounds.page);
        source.select_whole(chunk, limit, &mut |piece| {
            rounds.check_kept()?;
            let page = ClosedPage {
                table,
                chunk: chunk.clone(),
                range: chunk.range.clone(),
                rest: None,
                point: point.clone(),
                mine_from,
                rows: piece.rows,
            };
            let last = page.rows.len() == piece.len;
            self.send_rows(id, Arc::new(page), piece.len, last)
        })?;
        self.shared.counts.note_nulled(capture.codec().nulled_values());
        Ok(())
    }

    /// Sends the first rows of a page; `last`: the page ends with them.
    fn send_rows(&mut self, id: PageId, page: Arc<ClosedPage>, rows: usize, last: bool) -> Result<()> {
        let mut first = 0;
        loop {
            let end = batch_end(&page.rows, first, self.limits.batch).min(rows);
            let batch = if first == end {
                None
            } else {
                let mut builder = BatchBuilder::with_capacity((first..end).map(|row| page.rows.row(row).len()).sum());
                for row in first..end {
                    builder.row(false, |out| {
                        out.extend_from_slice(page.rows.row(row));
                        Ok(())
                    })?;
                }
                self.batches += 1;
                Some(builder.finish(self.batches))
            };
            if batch.is_some() || last {
                let meaning = Meaning::Page {
                    id,
                    page: page.clone(),
                    first,
                    end,
                };
                self.send(Ok(Output::Delivery(Delivery { batch, meaning })))?;
            }
            first = end;
            if first == rows {
                return Ok(());
            }
        }
    }
}

/// Where a batch of a page's rows ends.
fn batch_end(rows: &PageRows, first: usize, limit: BatchLimit) -> usize {
    let mut bytes = 0;
    let mut end = first;
    while end < rows.len() && end - first < limit.rows && (end == first || bytes < limit.bytes) {
        bytes += rows.row(end).len();
        end += 1;
    }
    end
}
