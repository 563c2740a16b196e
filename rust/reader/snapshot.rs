//! The snapshot phase of a reader: pages of a round side by side, then one advance of the log, then their rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossbeam_channel::select;

use crate::error::{Error, ErrorKind, Result};
use crate::reader::batch::BatchBuilder;
use crate::reader::capture::Capture;
use crate::reader::delivery::{Delivery, Meaning};
use crate::reader::pages::{PageTask, PageThreads};
use crate::reader::state::{PageEnd, PageId};
use crate::reader::worker::{At, Output, Worker, internal};
use crate::row::batch::BatchLimit;
use crate::snapshot::PageRows;
use crate::snapshot::page::{ClosedPage, Rounds};
use crate::split::{Chunk, TableName};
use crate::stop::RealClock;

/// What the snapshot phase holds open.
pub(super) struct Snapshot {
    rounds: Rounds,
    threads: PageThreads,
    tables: HashMap<Arc<TableName>, u32>,
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
            clock: RealClock::new(worker.stopped.clone()),
        })
    }

    /// Begins to read a page; the log stands still until all that were begun are in.
    fn begin(&mut self, capture: &mut dyn Capture, chunk: Chunk) -> Result<()> {
        let table = *self.tables.get(&chunk.table).ok_or_else(|| {
            Error::from(ErrorKind::State(
                "the state names a table that is not captured any more".into(),
            ))
            .on(&chunk.table)
        })?;
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
        let mut first = 0;
        loop {
            let end = batch_end(&page.rows, first, self.limits.batch);
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
            let meaning = Meaning::Page {
                id,
                page: page.clone(),
                first,
                end,
            };
            self.send(Ok(Output::Delivery(Delivery { batch, meaning })))?;
            first = end;
            if first == page.rows.len() {
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
