//! The reader over a database that is made up here: what leaves it, what its state says in between, and how it ends.

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

#[test]
fn a_page_is_reported_when_its_last_row_has_left_and_its_state_is_exact_before() {
    let reader = reader(&fake(5, false, false));
    assert!(reader.start().unwrap().is_empty());
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let first = rows(&reader);
    assert_eq!((first.number(), first.rows()), (1, 3));
    let second = rows(&reader);
    assert_eq!(second.rows(), 2);
    let at = |batch, rows| reader.snapshot(1, RowsOut { batch, rows }).unwrap();
    assert_eq!(at(1, 0), [Split::Chunk(chunk(None, None))]);
    assert_eq!(
        at(1, 2),
        [Split::Finished(finished(Some(2))), Split::Chunk(chunk(Some(2), None))]
    );
    assert!(reader.consumed(1).unwrap().is_empty());
    assert_eq!(
        at(2, 0),
        [Split::Finished(finished(Some(3))), Split::Chunk(chunk(Some(3), None))]
    );
    assert_eq!(
        at(2, 1),
        [Split::Finished(finished(Some(4))), Split::Chunk(chunk(Some(4), None))]
    );
    assert_eq!(reader.consumed(2).unwrap(), [ToEnumerator::Report(finished(None))]);
    assert_eq!(at(2, 2), [Split::Finished(finished(None))]);
    assert!(reader.consumed(2).is_err());
    reader.handle(ToReader::Acknowledge(finished(None))).unwrap();
    assert!(at(2, 2).is_empty());
    reader.no_more_splits().unwrap();
    assert!(matches!(next(&reader), Message::End));
    reader.close();
}

/// A round of 30 batches: more than wait between worker and fetcher.
#[test]
fn the_next_round_is_read_while_the_rows_of_one_go_out() {
    let fake = fake(100, false, false);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, Some(90)))]).unwrap();
    let mut came = u32::from(rows(&reader).rows() > 0);
    reader.add_splits(vec![Split::Chunk(chunk(Some(90), None))]).unwrap();
    let deadline = std::time::Instant::now() + WAIT;
    while fake.0.together.lock().unwrap().0 < 2 {
        assert!(std::time::Instant::now() < deadline, "the second chunk is not read");
        // Whatever is read meanwhile is of the first one: it must not be the end of it.
        if came < 20 {
            came += u32::from(rows(&reader).rows() > 0);
        }
    }
    for _ in came..30 {
        assert_eq!(rows(&reader).rows(), 3);
    }
    assert_eq!([3, 3, 3, 1].map(|_| rows(&reader).rows()), [3, 3, 3, 1]);
    reader.close();
}

#[test]
fn rows_that_were_read_go_out_before_the_error_of_another_round() {
    let fake = fake(100, false, false);
    *fake.0.fails_at.lock().unwrap() = Some(90);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, Some(90)))]).unwrap();
    rows(&reader);
    reader.add_splits(vec![Split::Chunk(chunk(Some(90), None))]).unwrap();
    (1..30).for_each(|_| assert_eq!(rows(&reader).rows(), 3));
    let error = loop {
        match reader.next(WAIT) {
            Ok(Message::Rows(batch)) => panic!("{batch:?} came"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("cannot be read"), "{error}");
    reader.close();
}

#[test]
fn a_chunk_without_rows_is_reported_too() {
    let reader = reader(&fake(0, false, false));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let report = loop {
        match next(&reader) {
            Message::Events(events) if events == [ToEnumerator::Request] => {
                reader.handle(ToReader::NoneNow).unwrap();
            }
            Message::Events(events) => break events,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(report, [ToEnumerator::Report(finished(None))]);
    reader.close();
}

#[test]
fn restored_ranges_are_reported_before_anything_is_asked_for() {
    let reader = reader(&fake(0, false, false));
    reader.add_splits(vec![Split::Finished(finished(None))]).unwrap();
    assert_eq!(reader.start().unwrap(), [ToEnumerator::Report(finished(None))]);
    match next(&reader) {
        Message::Events(events) => assert_eq!(events, [ToEnumerator::Request]),
        other => panic!("{other:?}"),
    }
    reader.close();
}

fn transaction(xid: u64, keys: &[u8], updates: bool) -> LogEvent {
    let mut changes = Changes::default();
    for (nth, key) in keys.iter().enumerate() {
        let mut image = || {
            let image = changes.values.begin(1);
            changes.values.set(image, 0, Value::Text(&[*key]));
            image
        };
        let before = updates.then(&mut image);
        let after = Some(image());
        let place = Place {
            scn: Scn(20 + xid),
            nth: nth as u32,
            ..Place::default()
        };
        changes.rows.push(Change {
            table: 0,
            before,
            after,
            place,
        });
    }
    let commit = CommitPosition {
        scn: Scn(20 + xid),
        nth: 0,
    };
    let head = TransactionHead {
        xid: Xid(xid),
        commit,
        commit_micros: 1,
        start: Scn(20 + xid),
        next_scn: commit.scn,
    };
    LogEvent::Fragment(Fragment {
        head,
        number: 0,
        last: true,
        changes,
    })
}

#[test]
fn the_streams_state_is_exact_at_every_unit() {
    let fake = fake(0, false, false);
    fake.0
        .log
        .lock()
        .unwrap()
        .extend([transaction(1, b"ab", true), transaction(2, b"c", false)]);
    let reader = reader(&fake);
    let offset = Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10)));
    let split = StreamSplit {
        offset: offset.clone(),
        end: None,
        needed: 0,
        ranges: Vec::new(),
        tables: Vec::new(),
        partitions: Vec::new(),
    };
    reader.start().unwrap();
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    let first = rows(&reader);
    assert_eq!(first.rows(), 4, "two updates; a batch of three ends behind the unit");
    let at = |batch, rows| match &reader.snapshot(1, RowsOut { batch, rows }).unwrap()[..] {
        [Split::Stream(split)] => split.offset.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(at(1, 0), offset);
    assert!(
        reader.snapshot(1, RowsOut { batch: 1, rows: 1 }).is_err(),
        "between both halves of an update"
    );
    let inside = at(1, 2);
    assert_eq!(inside.partial.as_ref().unwrap().last.nth, 0);
    assert_eq!(inside.commit, offset.commit);
    assert_eq!(at(1, 2), inside, "asking twice moves nothing");
    reader.consumed(1).unwrap();
    let second = rows(&reader);
    let over = at(1, 4);
    assert_eq!(
        (over.commit, over.partial.as_ref(), &over.xids[..]),
        (
            Position {
                scn: Scn(21),
                commits: 1
            },
            None,
            &[Xid(1)][..]
        )
    );
    reader.consumed(second.number()).unwrap();
    assert_eq!(
        at(second.number(), 1).commit,
        Position {
            scn: Scn(22),
            commits: 1
        }
    );
    reader.checkpoint_complete(1).unwrap();
    assert!(at(second.number(), 1).safe >= Scn(5));
    reader.close();
}

#[test]
fn the_log_is_let_go_behind_completed_checkpoints_alone_and_some_of_them_late() {
    let fake = fake(0, false, false);
    let transactions = (1..=6).map(|xid| transaction(xid, b"a", false));
    fake.0.log.lock().unwrap().extend(transactions);
    let reader = reader(&fake);
    let split = StreamSplit {
        offset: Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10))),
        end: None,
        needed: 0,
        ranges: Vec::new(),
        tables: Vec::new(),
        partitions: Vec::new(),
    };
    reader.start().unwrap();
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    let mut checkpoint = 0;
    while checkpoint < 6 {
        let batch = rows(&reader);
        for row in 1..=batch.rows() {
            checkpoint += 1;
            let out = RowsOut {
                batch: batch.number(),
                rows: row,
            };
            reader.snapshot(checkpoint, out).unwrap();
            // The notice of the first comes late, when more is out; the third one fails, the notice of the fourth is lost.
            if checkpoint == 2 {
                reader.checkpoint_complete(1).unwrap();
            }
            if ![1, 3, 4].contains(&checkpoint) {
                reader.checkpoint_complete(checkpoint).unwrap();
            }
        }
        reader.consumed(batch.number()).unwrap();
    }
    // Complete are 1, 2, 5 and 6, their transactions commit at 21, 22, 25 and 26.
    assert_eq!(*fake.0.confirmed.lock().unwrap(), [Scn(21)]);
    reader.close();
}

#[test]
fn a_bounded_stream_ends_when_its_rows_are_out() {
    let fake = fake(0, false, false);
    fake.0
        .log
        .lock()
        .unwrap()
        .extend([transaction(1, b"a", false), transaction(9, b"z", false)]);
    let reader = reader(&fake);
    let offset = Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10)));
    let end = Some(Position::before(Scn(25)));
    reader
        .add_splits(vec![Split::Stream(StreamSplit {
            offset,
            end,
            needed: 0,
            ranges: Vec::new(),
            tables: Vec::new(),
            partitions: Vec::new(),
        })])
        .unwrap();
    reader.start().unwrap();
    let only = rows(&reader);
    assert_eq!(only.rows(), 1);
    reader.consumed(only.number()).unwrap();
    assert!(matches!(next(&reader), Message::End));
    reader.close();
}

#[test]
fn the_lag_is_that_of_the_newest_change() {
    let lag = |reader: &Reader| {
        let metrics = reader.metrics();
        metrics
            .iter()
            .find(|metric| metric.name == FETCH_LAG.name)
            .unwrap()
            .value
    };
    let fake = fake(0, false, false);
    fake.0.log.lock().unwrap().push_back(transaction(1, b"a", false));
    let reader = reader(&fake);
    assert_eq!(lag(&reader), UNDEFINED);
    let offset = Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10)));
    reader
        .add_splits(vec![Split::Stream(StreamSplit {
            offset,
            end: None,
            needed: 0,
            ranges: Vec::new(),
            tables: Vec::new(),
            partitions: Vec::new(),
        })])
        .unwrap();
    let before = millis();
    reader.start().unwrap();
    rows(&reader);
    // It committed a microsecond after the epoch.
    assert!((before..=millis()).contains(&lag(&reader)), "{}", lag(&reader));
    reader.close();
}

fn millis() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64
}

#[test]
fn cancelling_wakes_the_fetcher_and_a_select_that_hangs() {
    let fake = fake(5, true, false);
    let reader = Arc::new(reader(&fake));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let fetcher = std::thread::spawn({
        let reader = reader.clone();
        move || loop {
            match reader.next(WAIT) {
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });
    reader.cancel();
    assert!(matches!(fetcher.join().unwrap().kind(), ErrorKind::Closed));
    reader.close();
    assert!(reader.next(WAIT).is_err());
}

#[test]
fn a_panic_of_the_worker_is_an_error_with_its_text() {
    let reader = reader(&fake(5, false, true));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let error = loop {
        match reader.next(WAIT) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the driver is broken: 7"), "{error}");
    assert!(
        matches!(reader.next(WAIT).unwrap_err().kind(), ErrorKind::Closed),
        "and is told once"
    );
    reader.close();
}

/// What leaves the reader until `done`, requests on the way answered from `chunks`.
fn feed(reader: &Reader, chunks: Vec<Chunk>, mut done: impl FnMut(&Message) -> bool) {
    let mut chunks = VecDeque::from(chunks);
    loop {
        let message = next(reader);
        if let Message::Events(events) = &message {
            for event in events.iter().filter(|event| **event == ToEnumerator::Request) {
                assert_eq!(*event, ToEnumerator::Request);
                match chunks.pop_front() {
                    Some(chunk) => drop(reader.add_splits(vec![Split::Chunk(chunk)]).unwrap()),
                    None => drop(reader.handle(ToReader::NoneNow).unwrap()),
                }
            }
        }
        if done(&message) {
            return;
        }
    }
}

fn metric(reader: &Reader, name: &str) -> i64 {
    let metrics = reader.metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap().value
}

fn three_chunks() -> Vec<Chunk> {
    vec![chunk(None, Some(2)), chunk(Some(2), Some(4)), chunk(Some(4), None)]
}

#[test]
fn pages_of_a_round_are_read_at_the_same_time_and_go_out_in_key_order() {
    let fake = fake(6, false, false);
    // With fewer at once this hangs until the test's patience is over.
    fake.0.together.lock().unwrap().1 = 2;
    let reader = reader(&fake);
    reader.start().unwrap();
    let mut keys = Vec::new();
    feed(&reader, three_chunks(), |message| {
        if let Message::Rows(batch) = message {
            let rows = batch.rows() as usize;
            keys.extend(batch.bytes()[24..24 + 2 * rows].iter().step_by(2).copied());
            reader.consumed(batch.number()).unwrap();
        }
        keys.len() == 6
    });
    assert_eq!(keys, [0, 1, 2, 3, 4, 5]);
    assert_eq!((metric(&reader, "pagesRead"), metric(&reader, "roundsClosed")), (3, 1));
    reader.close();
}

#[test]
fn an_error_of_one_page_ends_the_round_while_another_page_hangs() {
    let fake = fake(6, true, false);
    *fake.0.fails_at.lock().unwrap() = Some(2);
    fake.0.together.lock().unwrap().1 = 2;
    let reader = reader(&fake);
    reader.start().unwrap();
    reader
        .add_splits(three_chunks().into_iter().map(Split::Chunk).collect())
        .unwrap();
    let error = loop {
        match reader.next(WAIT) {
            Ok(Message::Rows(_)) => panic!("a page of a broken round went out"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("this page cannot be read"), "{error}");
    assert!(error.to_string().contains("BIZ.T"), "{error}");
    reader.close();
}

/// Waits until so many SELECTs are under way.
fn under_way(fake: &Fake, selects: usize) {
    let mut together = fake.0.together.lock().unwrap();
    while together.0 < selects {
        let (guard, waited) = fake.0.changed.wait_timeout(together, WAIT).unwrap();
        assert!(!waited.timed_out(), "{} SELECTs are under way", guard.0);
        together = guard;
    }
}

#[test]
fn closing_wakes_all_pages_that_hang() {
    let fake = fake(6, true, false);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader
        .add_splits(three_chunks().into_iter().map(Split::Chunk).collect())
        .unwrap();
    under_way(&fake, 2);
    reader.cancel();
    reader.close();
    assert_eq!(
        Arc::strong_count(&fake.0),
        2,
        "only the reader's connector and the test have it"
    );
}

#[test]
fn a_call_that_does_not_mind_being_cancelled_is_given_up_and_counted() {
    let fake = fake(6, true, false);
    let reader = reader(&fake);
    let before = metric(&reader, "callsAbandoned");
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    under_way(&fake, 1);
    fake.0.deaf.store(true, Ordering::SeqCst);
    let error = loop {
        match reader.next(Duration::from_millis(1)) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind(), ErrorKind::Timeout { .. }), "{error}");
    assert_eq!(
        fake.0.calls_cancelled.load(Ordering::SeqCst),
        1,
        "it was cancelled before"
    );
    reader.close();
    assert_eq!(metric(&reader, "callsAbandoned"), before + 1);
    *fake.0.hang.lock().unwrap() = false;
    fake.0.changed.notify_all();
}

#[test]
fn the_log_phase_looks_for_new_tables_again_and_again() {
    let fake = fake(0, false, false);
    let reader = reader(&fake);
    let split = StreamSplit {
        offset: Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10))),
        end: None,
        needed: 0,
        ranges: Vec::new(),
        tables: Vec::new(),
        partitions: Vec::new(),
    };
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    reader.start().unwrap();
    let begun = std::time::Instant::now();
    while fake.0.looks_for_tables.load(Ordering::SeqCst) < 3 {
        assert!(begun.elapsed() < WAIT);
        reader.next(Duration::from_millis(1)).unwrap();
    }
    match &reader.snapshot(1, RowsOut { batch: 0, rows: 0 }).unwrap()[..] {
        [Split::Stream(split)] => assert_eq!(split.tables, [table()], "those that were found"),
        other => panic!("{other:?}"),
    }
    reader.close();
}
