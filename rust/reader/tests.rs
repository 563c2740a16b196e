//! The reader over a database that is made up here: what leaves it, what its state says in between, and how it ends.

mod ends;
mod pages;
mod stream;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::api::{Message, RowsOut, SourceReader};
use super::capture::{Calls, Capture, Connector, Overdue};
use super::source::Reader;
use super::watch::Watch;
use super::worker::WorkerLimits;
use crate::error::{ErrorKind, Result};
use crate::gauges::{FETCH_LAG, UNDEFINED};
use crate::log::{Change, Changes, Fragment, LogEvent, LogReader, Progress, TransactionHead};
use crate::offset::Offset;
use crate::position::{CommitPosition, Incarnation, Place, Point, Position, Scn, Xid};
use crate::row::value::{Image, Value, ValueBuffer};
use crate::row::{RowCodec, RowKind, RowOrigin};
use crate::snapshot::{PageLimit, PageRows, PageSource};
use crate::split::{
    Chunk, FinishedRange, Key, KeyRange, Partition, Split, StreamSplit, TableName, ToEnumerator, ToReader,
};

const WAIT: Duration = Duration::from_secs(20);

/// What counts as a call that hangs, here; nothing waits for it.
const WATCHED: Duration = Duration::from_millis(100);

/// Keys 0..rows, one byte each; the row is its key twice.
#[derive(Clone)]
struct Fake(Arc<World>);

struct World {
    rows: u8,
    /// What the stream's log will give.
    log: Mutex<VecDeque<LogEvent>>,
    /// SELECTs wait while this is set, until cancelled.
    hang: Mutex<bool>,
    /// SELECTs that are under way, and how many there must be at once before any goes on.
    together: Mutex<(usize, usize)>,
    /// Whether a SELECT that hangs does not mind being cancelled, and how often its call was.
    deaf: AtomicBool,
    calls_cancelled: AtomicU64,
    looks_for_tables: AtomicU64,
    /// Up to where the log was let go.
    confirmed: Mutex<Vec<Scn>>,
    fails_at: Mutex<Option<u8>>,
    changed: Condvar,
    cancelled: AtomicBool,
    panics: bool,
}

fn fake(rows: u8, hang: bool, panics: bool) -> Fake {
    Fake(Arc::new(World {
        rows,
        log: Mutex::default(),
        hang: Mutex::new(hang),
        together: Mutex::new((0, 1)),
        deaf: AtomicBool::new(false),
        calls_cancelled: AtomicU64::new(0),
        looks_for_tables: AtomicU64::new(0),
        confirmed: Mutex::default(),
        fails_at: Mutex::new(None),
        changed: Condvar::new(),
        cancelled: AtomicBool::new(false),
        panics,
    }))
}

fn table() -> Arc<TableName> {
    Arc::new(TableName {
        schema: "BIZ".into(),
        name: "T".into(),
    })
}

fn reader(fake: &Fake) -> Reader {
    let mut limits = WorkerLimits::new(100);
    limits.batch.rows = 3;
    limits.look_for_tables = Duration::from_millis(3);
    let watch = Watch::new(WATCHED);
    Reader::new(Arc::new(fake.clone()), limits, 0, Duration::from_secs(5), watch)
}

impl Calls for Fake {
    fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.changed.notify_all();
    }

    fn overdue(&self) -> Option<Overdue> {
        // Longer at each look.
        let by = (self.0.calls_cancelled.load(Ordering::SeqCst) as u32 + 1) * WATCHED;
        let running = 10 * WATCHED + by;
        self.0.deaf.load(Ordering::SeqCst).then_some(Overdue { by, running })
    }

    fn cancel_overdue(&self, by: Duration) {
        assert_eq!(by, WATCHED);
        self.0.calls_cancelled.fetch_add(1, Ordering::SeqCst);
    }
}

impl Connector for Fake {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        Ok(Box::new(FakeCapture(self.clone(), vec![table()])))
    }

    fn confirm(&self, before: Scn) {
        self.0.confirmed.lock().unwrap().push(before);
    }
}

struct FakeCapture(Fake, Vec<Arc<TableName>>);

impl Capture for FakeCapture {
    fn tables(&self) -> &[Arc<TableName>] {
        &self.1
    }

    fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>> {
        assert!(tables.is_none_or(|tables| tables == self.tables()));
        Ok(Vec::new())
    }

    fn newcomers(&mut self) -> Result<Vec<TableName>> {
        self.0.0.looks_for_tables.fetch_add(1, Ordering::SeqCst);
        Ok(Vec::new())
    }

    fn has_key(&self, _: u32) -> bool {
        true
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        Arc::new(FirstByte)
    }

    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        Ok((
            Box::new(FakeLog(self.0.clone(), Position::before(Scn(10)))),
            Position::before(Scn(10)),
        ))
    }

    fn log_at(&mut self, _: Scn, position: Position, _: &[Partition]) -> Result<Box<dyn LogReader>> {
        Ok(Box::new(FakeLog(self.0.clone(), position)))
    }

    fn look_again(&mut self, _: u32) -> Result<bool> {
        Ok(false)
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        Ok(Box::new(self.0.clone()))
    }
}

impl Fake {
    /// Waits for the others that must be there at once.
    fn meet(&self) {
        let mut together = self.0.together.lock().unwrap();
        together.0 += 1;
        self.0.changed.notify_all();
        while together.0 < together.1 && !self.0.cancelled.load(Ordering::SeqCst) {
            together = self.0.changed.wait(together).unwrap();
        }
    }
}

impl PageSource for Fake {
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        assert!(!self.0.panics, "the driver is broken: {}", 7);
        self.meet();
        let fails_at = *self.0.fails_at.lock().unwrap();
        if fails_at.is_some() && fails_at == chunk.range.lower.as_ref().map(|key| key.0[0]) {
            return Err(ErrorKind::Catalog("this page cannot be read".into()).into());
        }
        let mut hang = self.0.hang.lock().unwrap();
        while *hang && (self.0.deaf.load(Ordering::SeqCst) || !self.0.cancelled.load(Ordering::SeqCst)) {
            hang = self.0.changed.wait(hang).unwrap();
        }
        drop(hang);
        if self.0.cancelled.load(Ordering::SeqCst) {
            return Err(ErrorKind::Closed.into());
        }
        for row in (0..self.0.rows).filter(|row| chunk.range.contains(&[*row])) {
            if into.len() == limit.rows {
                return Ok(Some(Key([row].into())));
            }
            into.push(
                |key| {
                    key.push(row);
                    Ok(())
                },
                |out| {
                    out.extend([row, row]);
                    Ok(())
                },
            )?;
        }
        Ok(None)
    }
}

struct FirstByte;

impl RowCodec for FirstByte {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        if let Value::Text(text) = values.get(image, 0) {
            out.extend_from_slice(text);
        }
        Ok(())
    }

    fn row(
        &self,
        _: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.push(kind as u8);
        self.key(0, values, image, out)
    }
}

struct FakeLog(Fake, Position);

impl LogReader for FakeLog {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        let event = self.0.0.log.lock().unwrap().pop_front();
        if let Some(LogEvent::Fragment(fragment)) = &event {
            self.1 = Position::after(fragment.head.commit);
        }
        Ok(event)
    }

    fn idle(&self) -> (Duration, Duration) {
        (Duration::from_millis(1), Duration::from_millis(2))
    }

    fn progress(&self) -> Progress {
        Progress {
            position: self.1,
            next_scn: Scn(5),
            complete_to: Some(self.1.scn),
        }
    }

    fn visible_end(&mut self) -> Result<Scn> {
        Ok(self.1.scn)
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn push(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn check_kept(&mut self, _: Scn) -> Result<()> {
        Ok(())
    }

    fn incarnation(&self) -> Incarnation {
        Incarnation(1)
    }
}

fn chunk(lower: Option<u8>, upper: Option<u8>) -> Chunk {
    let key = |byte: u8| Key([byte].into());
    Chunk {
        table: table(),
        range: KeyRange {
            lower: lower.map(key),
            upper: upper.map(key),
        },
    }
}

/// The next message that is not empty.
fn next(reader: &Reader) -> Message {
    let deadline = std::time::Instant::now() + WAIT;
    loop {
        assert!(std::time::Instant::now() < deadline, "no message came");
        match reader.next(WAIT).unwrap() {
            Message::Nothing => {}
            message => return message,
        }
    }
}

/// The next batch; requests on the way are answered with "none now".
fn rows(reader: &Reader) -> super::batch::Batch {
    loop {
        match next(reader) {
            Message::Rows(batch) => return batch,
            Message::Events(events) => {
                assert_eq!(events, [ToEnumerator::Request]);
                assert!(reader.handle(ToReader::NoneNow).unwrap().is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}

fn finished(upper: Option<u8>) -> FinishedRange {
    let range = chunk(None, upper).range;
    let point = Point::Position(Position::before(Scn(10)));
    FinishedRange {
        table: table(),
        range,
        point,
        mine_from: Scn(5),
    }
}

fn metric(reader: &Reader, name: &str) -> i64 {
    let metrics = reader.metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap().value
}

fn three_chunks() -> Vec<Chunk> {
    vec![chunk(None, Some(2)), chunk(Some(2), Some(4)), chunk(Some(4), None)]
}
