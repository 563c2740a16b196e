//! The thread that reads: pages in rounds while there are chunks, then the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select};

use crate::error::{Error, ErrorKind, Result};
use crate::log::Patience;
use crate::reader::batch::BatchBuilder;
use crate::reader::capture::{Capture, Connector};
use crate::reader::delivery::{Delivery, Meaning};
use crate::reader::shared::Shared;
use crate::reader::state::{PageEnd, PageId};
use crate::row::batch::{Batch, BatchLimit};
use crate::snapshot::page::{ClosedPage, RoundLimits, Rounds};
use crate::snapshot::wait::Clock;
use crate::snapshot::{PageLimit, PageRows, PageSource};
use crate::split::{Chunk, StreamSplit, TableName, ToEnumerator};
use crate::stop::{RealClock, Stopped};
use crate::stream::{OnTruncate, Step, Stream, StreamSettings};

/// How large what the worker makes becomes, and how long it waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLimits {
    pub(super) rounds: RoundLimits,
    pub(super) batch: BatchLimit,
    pub(super) on_truncate: OnTruncate,
    /// Shortest and longest pause between two looks at a log that had nothing new.
    pub(super) idle: (Duration, Duration),
}

impl WorkerLimits {
    /// The limits for pages of so many rows; everything else has its default.
    pub(super) fn new(page_rows: usize) -> Self {
        WorkerLimits {
            rounds: RoundLimits {
                page: PageLimit {
                    rows: page_rows,
                    bytes: 16 << 20,
                },
                round_bytes: 64 << 20,
                visibility: Patience {
                    limit: Duration::from_secs(30),
                    pause: Duration::from_millis(20),
                },
                log_end: Patience {
                    limit: Duration::from_secs(30),
                    pause: Duration::from_millis(50),
                },
            },
            batch: BatchLimit {
                rows: 1024,
                bytes: 1 << 20,
            },
            on_truncate: OnTruncate::Fail,
            idle: (Duration::from_millis(50), Duration::from_millis(500)),
        }
    }
}

/// What the worker sends out.
pub(super) enum Output {
    Delivery(Delivery),
    Events(Vec<ToEnumerator>),
}

pub(super) struct Worker {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) shared: Arc<Shared>,
    pub(super) limits: WorkerLimits,
    pub(super) out: Sender<Result<Output>>,
    pub(super) wake: Receiver<()>,
    pub(super) stopped: Stopped,
    pub(super) batches: u64,
}

/// What the snapshot phase does next.
enum Next {
    Chunk(PageId, Chunk),
    Close,
    Stream(StreamSplit),
    Finish,
}

impl Worker {
    /// Reads until nothing is left to do, or the reader is closed.
    pub(super) fn run(mut self) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.read()));
        let error = match result {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => panicked(&*panic),
        };
        if !self.stopped.is_stopped() {
            let _ = self.send(Err(error));
        }
    }

    fn read(&mut self) -> Result<()> {
        // Nothing is asked of the database before there is something to do.
        let mut capture = None;
        let mut snapshot: Option<Snapshot> = None;
        loop {
            match self.next(true)? {
                Next::Chunk(id, chunk) => {
                    let capture = connected(&mut capture, &*self.connector)?;
                    if snapshot.is_none() {
                        snapshot = Some(self.open_snapshot(capture)?);
                    }
                    if let Some(snapshot) = &mut snapshot {
                        self.round(snapshot, id, chunk)?;
                    }
                }
                Next::Stream(split) => {
                    drop(snapshot.take());
                    let capture = connected(&mut capture, &*self.connector)?;
                    return self.stream(capture, &split);
                }
                Next::Finish => return Ok(()),
                Next::Close => {}
            }
        }
    }

    /// Waits for what comes next; with pages at hand (`idle` is false) it does not wait once the enumerator has no chunk.
    fn next(&mut self, idle: bool) -> Result<Next> {
        loop {
            let (chunk, request) = {
                let mut inner = self.shared.lock();
                let chunk = inner.state.take_chunk();
                match &chunk {
                    Some(_) => {}
                    None if !idle && inner.none_now => return Ok(Next::Close),
                    None if idle => {
                        if let Some(split) = inner.take_stream() {
                            return Ok(Next::Stream(split));
                        }
                        if inner.state.is_finished() {
                            return Ok(Next::Finish);
                        }
                    }
                    None => {}
                }
                // With a chunk at hand the next one is asked for too, so that it is here when this one's page is read.
                (chunk, inner.state.request())
            };
            if let Some(request) = request {
                self.send(Ok(Output::Events(vec![request])))?;
            }
            if let Some((id, chunk)) = chunk {
                return Ok(Next::Chunk(id, chunk));
            }
            select! {
                recv(self.wake) -> woken => if woken.is_err() { return Err(ErrorKind::Closed.into()) },
                recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
            }
        }
    }

    fn open_snapshot(&self, capture: &mut dyn Capture) -> Result<Snapshot> {
        let (log, position) = capture.log_for_snapshot()?;
        let mut rounds = Rounds::new(log, capture.codec(), position, self.limits.rounds);
        if let Some(mine_from) = self.shared.lock().smallest_mine_from {
            rounds.keep(mine_from);
        }
        let source = capture.pages()?;
        let tables = capture.tables().iter().enumerate();
        Ok(Snapshot {
            rounds,
            source,
            tables: tables.map(|(number, name)| (name.clone(), number as u32)).collect(),
            clock: RealClock::new(self.stopped.clone()),
        })
    }

    /// Reads pages until the round is full or there is no chunk at hand, then closes the round and sends its pages.
    fn round(&mut self, snapshot: &mut Snapshot, id: PageId, chunk: Chunk) -> Result<()> {
        let mut begun = HashMap::new();
        snapshot.add(&chunk)?;
        begun.insert(chunk, id);
        loop {
            while !snapshot.rounds.is_full() {
                let Next::Chunk(id, chunk) = self.next(false)? else {
                    break;
                };
                snapshot.add(&chunk)?;
                begun.insert(chunk, id);
            }
            let closed = snapshot.rounds.close(&mut snapshot.clock)?;
            for page in closed.pages {
                let id = begun
                    .remove(&page.chunk)
                    .ok_or_else(|| internal("a page of no begun chunk was closed"))?;
                self.send_page(id, Arc::new(page))?;
            }
            if closed.again.is_empty() {
                return Ok(());
            }
            for (_, chunk) in closed.again {
                log::info!(
                    "table {} changed its shape while a page of it was read; it is read again",
                    chunk.table
                );
                snapshot.add(&chunk)?;
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

    fn stream(&mut self, capture: &mut dyn Capture, split: &StreamSplit) -> Result<()> {
        let log = capture.log_at(split.offset.next_scn, split.offset.commit)?;
        let settings = StreamSettings {
            batch: self.limits.batch,
            on_truncate: self.limits.on_truncate,
        };
        let mut stream = Stream::open(log, capture.codec(), capture.tables().to_vec(), split, settings)?;
        let filter_end = stream.filter_end();
        log::info!(
            "the stream begins at {:?} behind {} ranges",
            split.offset,
            split.ranges.len()
        );
        for range in &split.ranges {
            log::debug!("range {:?} of {} at {:?}", range.range, range.table, range.point);
        }
        let mut clock = RealClock::new(self.stopped.clone());
        let mut pause = self.limits.idle.0;
        let mut rows = Batch::default();
        loop {
            if clock.is_stopped() {
                return Err(ErrorKind::Closed.into());
            }
            rows.clear();
            let step = stream.read(&mut rows)?;
            self.shared.note_progress(stream.progress());
            match step {
                Step::Batch => {
                    if rows.row_count() > 0 {
                        pause = self.limits.idle.0;
                        if let Some(micros) = stream.newest_commit() {
                            self.shared.note_commit(micros);
                        }
                    }
                    let delivery = self.stream_delivery(&rows, filter_end)?;
                    self.send(Ok(Output::Delivery(delivery)))?;
                }
                Step::Schema(change) => log::info!("{} at scn {}: {}", change.table, change.scn, change.statement),
                Step::Idle => {
                    clock.pause(pause);
                    pause = (pause * 2).min(self.limits.idle.1);
                }
                Step::Ended => {
                    let delivery = Delivery {
                        batch: None,
                        meaning: Meaning::StreamEnd,
                    };
                    return self.send(Ok(Output::Delivery(delivery)));
                }
            }
        }
    }

    fn stream_delivery(&mut self, rows: &Batch, filter_end: Option<crate::position::Position>) -> Result<Delivery> {
        let mut builder = BatchBuilder::with_capacity(rows.bytes().len());
        let mut units = Vec::with_capacity(rows.unit_count());
        let mut row = 0;
        for unit in 0..rows.unit_count() {
            let end = rows.unit_end(unit);
            for number in row..end {
                builder.row(number > row, |out| {
                    out.extend_from_slice(rows.row(number));
                    Ok(())
                })?;
            }
            row = end;
            units.push((end as u32, *rows.mark(unit)));
        }
        let batch = if row == 0 {
            None
        } else {
            self.batches += 1;
            Some(builder.finish(self.batches))
        };
        Ok(Delivery {
            batch,
            meaning: Meaning::Stream { units, filter_end },
        })
    }

    fn send(&self, output: Result<Output>) -> Result<()> {
        select! {
            send(self.out, output) -> sent => sent.map_err(|_| ErrorKind::Closed.into()),
            recv(self.stopped.channel()) -> _ => Err(ErrorKind::Closed.into()),
        }
    }
}

/// What the snapshot phase holds open.
struct Snapshot {
    rounds: Rounds,
    source: Box<dyn PageSource>,
    tables: HashMap<Arc<TableName>, u32>,
    clock: RealClock,
}

impl Snapshot {
    fn add(&mut self, chunk: &Chunk) -> Result<()> {
        let table = *self.tables.get(&chunk.table).ok_or_else(|| {
            Error::from(ErrorKind::State(
                "the state names a table that is not captured any more".into(),
            ))
            .on(&chunk.table)
        })?;
        self.rounds
            .read_page(&mut *self.source, table, chunk.clone(), &mut self.clock)
    }
}

fn connected<'c>(capture: &'c mut Option<Box<dyn Capture>>, connector: &dyn Connector) -> Result<&'c mut dyn Capture> {
    if capture.is_none() {
        *capture = Some(connector.connect()?);
    }
    match capture {
        Some(capture) => Ok(&mut **capture),
        None => Err(internal("a connection vanished")),
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

fn internal(what: &str) -> Error {
    ErrorKind::Internal(what.to_owned()).into()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned());
    Error::from(ErrorKind::Internal(format!("panic: {text}"))).doing("reading")
}
