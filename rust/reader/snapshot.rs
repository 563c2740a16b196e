//! The snapshot phase of a reader: pages of a round side by side, then one advance of the log, then their rows.

mod whole;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossbeam_channel::{Receiver, bounded, never, select};

use crate::catalog::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::reader::capture::Capture;
use crate::reader::pages::{PageRead, PageTask, PageThreads};
use crate::reader::progress::SnapshotProgress;
use crate::reader::state::{PageEnd, PageId};
use crate::reader::worker::{At, Output, Worker, internal};
use crate::snapshot::closed::{ClosedPage, SelectedPage};
use crate::snapshot::{PageRounds, PageSource};
use crate::split::{Chunk, TableName};
use crate::stop::RealClock;

/// What the snapshot phase holds open.
pub(super) struct Snapshot {
    rounds: Box<dyn PageRounds>,
    threads: PageThreads,
    tables: HashMap<Arc<TableName>, u32>,
    /// Chunks that are one SELECT, which wait for the round to be closed.
    whole: VecDeque<(PageId, Chunk)>,
    whole_source: Option<Box<dyn PageSource>>,
    /// The shapes that pages are read in, by the tables' numbers.
    shapes: Vec<Option<Arc<Table>>>,
    clock: RealClock,
    progress: SnapshotProgress,
}

fn threads(worker: &Worker) -> PageThreads {
    PageThreads::new(
        worker.limits.connections,
        worker.limits.rounds.page,
        worker.name.clone(),
        worker.threads.clone(),
        worker.stopped.clone(),
    )
}

fn shapes(capture: &dyn Capture) -> Vec<Option<Arc<Table>>> {
    let codec = capture.codec();
    (0..capture.tables().len() as u32)
        .map(|table| codec.shape(table))
        .collect()
}

/// Whether a page cannot be read since its table's columns are, or may be, others by now.
fn may_be_altered(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Statement { retryable: false, .. } | ErrorKind::Altered
    )
}

/// The pages of a round that are begun, by what they are read from.
type Begun = HashMap<Chunk, PageId>;

impl Snapshot {
    /// Opens the log for it; connections for pages are opened as pages come.
    pub(super) fn open(worker: &Worker, capture: &mut dyn Capture) -> Result<Self> {
        let limits = worker.limits;
        let mut rounds = capture.rounds(limits.rounds)?;
        if let Some(mine_from) = worker.shared.lock().smallest_mine_from {
            rounds.keep(mine_from);
        }
        let tables = capture.tables().iter().enumerate();
        Ok(Snapshot {
            rounds,
            threads: threads(worker),
            shapes: shapes(capture),
            tables: tables.map(|(number, name)| (name.clone(), number as u32)).collect(),
            whole: VecDeque::new(),
            whole_source: None,
            clock: RealClock::new(worker.stopped.clone()),
            progress: SnapshotProgress::new(limits.progress),
        })
    }

    fn number(&self, chunk: &Chunk) -> Result<u32> {
        self.tables.get(&chunk.table).copied().ok_or_else(|| {
            let kind = ErrorKind::State("the state names a table that is not captured any more".into());
            Error::from(kind).on(&chunk.table)
        })
    }

    /// The phase is over.
    pub(super) fn end(self) {
        self.progress.end(self.rounds.figures());
    }

    /// Whether a table's shape is not the one that its pages were read in; the new one counts from now on.
    fn is_altered(&self, capture: &mut dyn Capture, table: u32) -> Result<bool> {
        let known = self.shapes.get(table as usize).cloned().flatten();
        let counts = capture.codec().shape(table);
        let is_followed = match (&known, &counts) {
            (Some(known), Some(counts)) => Arc::ptr_eq(known, counts),
            _ => true,
        };
        Ok(!is_followed || capture.look_again(table)?)
    }

    /// Pages are read in the shapes that count now; none may be under way.
    fn follow_shapes(&mut self, worker: &Worker, capture: &dyn Capture) {
        let now = shapes(capture);
        let same = |(before, now): (&Option<Arc<Table>>, &Option<Arc<Table>>)| match (before, now) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            _ => true,
        };
        if !self.shapes.iter().zip(&now).all(same) {
            self.threads = threads(worker);
            self.whole_source = None;
        }
        self.shapes = now;
    }

    /// The connection for chunks that are one SELECT.
    fn whole_source(&mut self, capture: &mut dyn Capture) -> Result<&mut dyn PageSource> {
        let source = match self.whole_source.take() {
            Some(source) => source,
            None => capture.pages()?,
        };
        Ok(&mut **self.whole_source.insert(source))
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
    /// Reads pages until the round is full or there is no chunk at hand, then closes the round. Its pages go out while
    /// the next one is read, or whatever else the worker waits for.
    pub(super) fn round(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: Chunk,
    ) -> Result<()> {
        if capture.is_paged(snapshot.number(&chunk)?) {
            self.keyed_round(snapshot, capture, id, chunk)?;
        } else {
            snapshot.whole.push_back((id, chunk));
        }
        while let Some((id, chunk)) = snapshot.whole.pop_front() {
            match capture.has_key(snapshot.number(&chunk)?) {
                true => self.sorted_chunk(snapshot, capture, id, &chunk)?,
                false => self.whole_table(snapshot, capture, id, &chunk)?,
            }
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
            self.send_leaving(snapshot.rounds.leaving_at_close())?;
            let closed = snapshot.rounds.close(&mut snapshot.clock)?;
            self.shared.counts.round_closed(snapshot.rounds.figures());
            self.shared.counts.note_unavailable(0, snapshot.rounds.unavailable());
            self.note_headroom(snapshot.rounds.headroom());
            self.leave_closed(snapshot, closed.pages, &mut begun)?;
            snapshot.progress.round_closed();
            snapshot.progress.tell(snapshot.rounds.figures());
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
        snapshot.follow_shapes(self, capture);
        let mut failed: Vec<(u32, Chunk, Error)> = Vec::new();
        loop {
            let mut more = !snapshot.rounds.is_full(self.leaving.size()) && failed.is_empty();
            while more && snapshot.threads.is_free() {
                let chunk = match pending.pop_front() {
                    Some(chunk) => chunk,
                    None => match self.at_hand()? {
                        At::Chunk(id, chunk) if !capture.is_paged(snapshot.number(&chunk)?) => {
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
                if failed.is_empty() {
                    return Ok(());
                }
                // Only now: while pages are read, no shape may change under them.
                for (table, chunk, error) in failed.drain(..) {
                    if !snapshot.is_altered(capture, table)? {
                        return Err(error);
                    }
                    pending.push_back(chunk);
                }
                snapshot.follow_shapes(self, capture);
                continue;
            }
            if let Some(page) = self.wait(Some(snapshot.threads.pages()))? {
                let PageRead {
                    task: PageTask { ticket, table, chunk },
                    rows,
                } = snapshot.threads.take(page);
                match rows {
                    Ok((rows, rest, point)) => {
                        self.shared.counts.page_read(rows.len());
                        let page = SelectedPage {
                            table,
                            chunk,
                            rows,
                            rest,
                            point,
                        };
                        snapshot.rounds.add_page(ticket, page)?;
                        self.shared.counts.note_round(snapshot.rounds.size());
                        let closed = snapshot.rounds.take_closed();
                        self.leave_closed(snapshot, closed, begun)?;
                    }
                    Err(error) if may_be_altered(&error) => {
                        failed.push((table, chunk, error));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    fn leave_closed(&mut self, snapshot: &mut Snapshot, pages: Vec<ClosedPage>, begun: &mut Begun) -> Result<()> {
        self.shared.counts.pages_closed(pages.len());
        for page in pages {
            let id = begun
                .remove(&page.chunk)
                .ok_or_else(|| internal("a page of no begun chunk was closed"))?;
            let (rows, bytes) = (page.rows.len(), page.rows.row_bytes());
            snapshot.progress.page_closed(rows, bytes, page.rest.is_none());
            self.leave(id, page)?;
        }
        Ok(())
    }

    /// A closed page goes out from now on.
    fn leave(&mut self, id: PageId, page: ClosedPage) -> Result<()> {
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
        self.shared.counts.page_leaves(page.rows.len(), page.rows.row_bytes());
        self.leaving.push(id, page);
        Ok(())
    }

    /// Sends what is on its way out, until no more than so many bytes of it are left.
    pub(super) fn send_leaving(&mut self, most: usize) -> Result<()> {
        while (most == 0 || self.leaving.size() > most) && self.leaving.prepare(self.limits.batch, &mut self.batches)? {
            if let Some(delivery) = self.leaving.take() {
                self.send(Ok(Output::Delivery(delivery)))?;
            }
        }
        Ok(())
    }

    /// Sends what is on its way out until a page was read, or there is something new to look at.
    pub(super) fn wait(&mut self, pages: Option<&Receiver<PageRead>>) -> Result<Option<PageRead>> {
        let none = never();
        let pages = pages.unwrap_or(&none);
        // Nobody receives from them, so nothing is ever sent.
        let (blocked, _receiver) = bounded(0);
        let (full, _receiver) = bounded(0);
        loop {
            let any = self.leaving.prepare(self.limits.batch, &mut self.batches)?;
            let roomy = self.taken >= self.leaving.rooms();
            let out = if any && roomy { &self.out } else { &blocked };
            let room = if roomy { &full } else { &self.room };
            select! {
                recv(pages) -> page => return Ok(Some(page.map_err(|_| ErrorKind::Closed)?)),
                recv(self.wake) -> woken => return woken.map(|()| None).map_err(|_| ErrorKind::Closed.into()),
                recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
                send(room, ()) -> taken => {
                    taken.map_err(|_| ErrorKind::Closed)?;
                    self.taken += 1;
                },
                // What is sent is evaluated only when it can be.
                send(out, self.leaving.take().map(Output::Delivery).ok_or_else(|| internal("a delivery vanished"))) -> sent => {
                    sent.map_err(|_| ErrorKind::Closed)?;
                    self.taken = 0;
                },
            }
        }
    }
}
