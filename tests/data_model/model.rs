//! One run: readers that take chunks, read pages in rounds and emit their rows; then the stream; checkpoints and
//! crashes at any moment; and a sink that takes no row amiss.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tidemark::log::logminer::reader::LogMinerReader;
use tidemark::log::{LogReader, Patience};
use tidemark::offset::Offset;
use tidemark::position::{Point, Position, Scn};
use tidemark::row::RowKind;
use tidemark::row::batch::BatchLimit;
use tidemark::snapshot::closed::{ClosedPage, PageTicket, SelectedPage};
use tidemark::snapshot::page::{RoundLimits, Rounds};
use tidemark::snapshot::wait::Clock;
use tidemark::snapshot::{PageLimit, PageRounds, PageRows, PageSource};
use tidemark::split::{Chunk, FinishedRange, Key, KeyRange, Split, StreamSplit};
use tidemark::unavailable::Completion;

use crate::codec::{ModelCodec, ModelSource, completion, decode, key, table_names};
use crate::database::{Database, Random, Shared};
use crate::log::{FakeLog, INCARNATION};
use crate::mined::{self, Mined};
use crate::outcome::{Failure, Outcome, Tally};
use crate::rules::{Fault, Rules};
use crate::running::Running;
use crate::sink::Sink;

struct Reader {
    unread: Vec<(u32, Chunk)>,
    /// Begun in this round, not read yet; then read, not added yet.
    begun: Vec<Begun>,
    /// In the round.
    pages: Vec<(u32, Chunk)>,
    /// With the model's own log, if that is what is read.
    rounds: Option<(Rounds, Option<FakeLog>)>,
    closed: VecDeque<(ClosedPage, usize)>,
}

struct Begun {
    ticket: PageTicket,
    table: u32,
    chunk: Chunk,
    read: Option<(PageRows, Option<Key>)>,
}

#[derive(Clone, Default)]
struct Checkpoint {
    sink: Sink,
    chunks: Vec<(u32, Chunk)>,
    unread: Vec<Vec<(u32, Chunk)>>,
    finished: Vec<FinishedRange>,
    stream: Option<Vec<u8>>,
    ready: bool,
}

pub struct Model {
    rules: Rules,
    random: Random,
    database: Shared,
    limits: RoundLimits,
    batch: BatchLimit,
    bounded: bool,
    sink: Sink,
    filter_end: Position,
    chunks: Vec<(u32, Chunk)>,
    finished: Vec<FinishedRange>,
    readers: Vec<Reader>,
    running: Option<Running>,
    ready: bool,
    checkpoint: Checkpoint,
    pub tally: Tally,
}

pub struct ModelClock {
    pub database: Shared,
    pub now: u64,
}

impl Clock for ModelClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    fn pause(&mut self, _: Duration) {
        self.now += 1;
        self.database.lock().step();
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

fn chunk(table: u32, lower: Option<u64>, upper: Option<u64>) -> (u32, Chunk) {
    let range = KeyRange {
        lower: lower.map(key),
        upper: upper.map(key),
    };
    let table_name = table_names()[table as usize].clone();
    (
        table,
        Chunk {
            table: table_name,
            range,
        },
    )
}

impl Model {
    pub fn new(seed: u64, rules: Rules) -> Self {
        let mut random = Random::new(seed ^ 0x5EED);
        let patience = Patience {
            limit: Duration::from_millis(2000),
            pause: Duration::from_millis(1),
        };
        let readers = 1 + random.below(2);
        let page = PageLimit {
            rows: 2 + random.below(2),
            bytes: if random.chance(25) { 80 } else { 1000 },
        };
        let limits = RoundLimits {
            page,
            round_bytes: 40 + random.below(200),
            visibility: patience,
            log_end: patience,
        };
        let batch = BatchLimit {
            rows: 1 + random.below(5),
            bytes: 1000,
        };
        let database = Shared::new(Database::new(seed, rules));
        let chunks = vec![
            chunk(0, None, Some(4)),
            chunk(0, Some(4), Some(8)),
            chunk(1, None, None),
            chunk(0, Some(8), None),
        ];
        let checkpoint = Checkpoint {
            chunks: chunks.clone(),
            unread: vec![Vec::new(); readers],
            ..Checkpoint::default()
        };
        let mut model = Model {
            rules,
            bounded: random.chance(20),
            random,
            database,
            limits,
            batch,
            sink: Sink::default(),
            filter_end: Position::default(),
            chunks,
            finished: Vec::new(),
            readers: Vec::new(),
            running: None,
            ready: false,
            checkpoint,
            tally: Tally::default(),
        };
        model.readers = (0..readers).map(|_| idle_reader(Vec::new())).collect();
        model
    }

    /// Runs to the end: the sink must equal the table.
    pub fn run(&mut self) -> Outcome<()> {
        let result = self.run_to_end();
        self.tally.runs = 1;
        self.tally.rescues = self.database.lock().rescues;
        result
    }

    fn run_to_end(&mut self) -> Outcome<()> {
        let busy = 100 + self.random.below(250);
        for step in 0..8000 {
            if step == busy {
                self.database.lock().quiet = true;
            }
            match self.step(step < busy) {
                Ok(false) => {}
                Ok(true) => return self.check_end(),
                Err(failure) if failure.0.contains("TM-3008") && self.database.lock().truncated => {
                    self.tally.truncated += 1;
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure(format!(
            "hang: stream {}, ready {}",
            self.running.is_some(),
            self.ready
        )))
    }

    fn step(&mut self, busy: bool) -> Outcome<bool> {
        match self.random.below(1000) {
            0..250 => self.database.lock().step(),
            250..300 => self.take_checkpoint()?,
            300..308 if busy => self.crash()?,
            _ if self.running.is_some() => return self.stream_step(),
            _ if self.ready => self.start_stream()?,
            _ => self.reader_step()?,
        }
        Ok(false)
    }

    fn check_end(&self) -> Outcome<()> {
        let database = self.database.lock();
        let expected = match self.running.as_ref().and_then(Running::end) {
            Some(end) => database.state_at((end.scn.0, end.commits)),
            None => database.table.clone(),
        };
        let behind = database.changes_behind((self.filter_end.scn.0, self.filter_end.commits));
        if !self.bounded {
            self.sink.check_bodies()?;
        }
        self.sink.check(&expected, if self.bounded { &[] } else { &behind })
    }

    // The snapshot phase.

    fn reader_step(&mut self) -> Outcome<()> {
        let number = self.random.below(self.readers.len());
        let reader = &mut self.readers[number];
        if !self.chunks.is_empty() && reader.unread.len() < 3 && self.random.chance(30) {
            reader.unread.push(self.chunks.remove(0));
            return Ok(());
        }
        if !reader.closed.is_empty() && self.random.chance(60) {
            return self.emit_row(number);
        }
        if reader.rounds.is_none() {
            return self.open_rounds(number);
        }
        if let Some(begun) = reader.begun.iter().position(|_| self.random.chance(50)) {
            return self.go_on_with_page(number, begun);
        }
        let in_round = reader.begun.len() + reader.pages.len();
        let full = matches!(&reader.rounds, Some((rounds, _)) if rounds.is_full(0));
        if !reader.unread.is_empty() && in_round < 3 && !full && (in_round == 0 || self.random.chance(60)) {
            return self.begin_page(number);
        }
        if reader.begun.is_empty() && !reader.pages.is_empty() {
            return self.close_round(number);
        }
        Ok(())
    }

    fn clock(&self) -> ModelClock {
        ModelClock {
            database: self.database.clone(),
            now: 0,
        }
    }

    fn completion(&self) -> Completion {
        completion(&self.database, self.limits.visibility)
    }

    fn codec(&self) -> Arc<ModelCodec> {
        Arc::new(ModelCodec { judges_once: false })
    }

    fn open_rounds(&mut self, number: usize) -> Outcome<()> {
        self.readers[number].rounds = Some(if self.rules.mined {
            let database = self.database.clone();
            let settings = mined::settings(self.random.next());
            let (opening, log) = LogMinerReader::open_new(Mined { database }, mined::captured(), settings)?;
            let rounds = Rounds::new(Box::new(log), self.codec(), opening.position, self.limits);
            (rounds.completing(self.completion()), None)
        } else {
            let (log, opening) = FakeLog::open_now(&self.database);
            let rounds = Rounds::new(Box::new(log.clone()), self.codec(), opening, self.limits);
            (rounds.completing(self.completion()), Some(log))
        });
        Ok(())
    }

    fn begin_page(&mut self, number: usize) -> Outcome<()> {
        let mut clock = self.clock();
        let reader = &mut self.readers[number];
        let chosen = self.random.below(reader.unread.len());
        if let Some((rounds, _)) = &mut reader.rounds {
            let ticket = rounds.begin_page(&mut clock)?;
            let (table, chunk) = reader.unread.swap_remove(chosen);
            let read = None;
            reader.begun.push(Begun {
                ticket,
                table,
                chunk,
                read,
            });
        }
        Ok(())
    }

    /// The SELECT, or what comes behind it.
    fn go_on_with_page(&mut self, number: usize, page: usize) -> Outcome<()> {
        let reader = &mut self.readers[number];
        let Some((rounds, log)) = &mut reader.rounds else {
            return Ok(());
        };
        let begun = &mut reader.begun[page];
        if begun.read.is_none() {
            let mut rows = PageRows::default();
            let database = self.database.clone();
            let rest = ModelSource { database }.select(&begun.chunk, self.limits.page, &mut rows)?;
            begun.read = Some((rows, rest));
            if let (Fault::LogMovesDuringPages, Some(log)) = (self.rules.fault, log) {
                for _ in 0..3 {
                    log.poll()?;
                }
            }
            return Ok(());
        }
        let begun = reader.begun.swap_remove(page);
        if let Some((rows, rest)) = begun.read {
            let page = SelectedPage {
                table: begun.table,
                chunk: begun.chunk.clone(),
                rows,
                rest,
                point: None,
            };
            rounds.add_page(begun.ticket, page)?;
            reader.pages.push((begun.table, begun.chunk));
        }
        Ok(())
    }

    fn close_round(&mut self, number: usize) -> Outcome<()> {
        let mut clock = self.clock();
        let reader = &mut self.readers[number];
        let Some((rounds, log)) = &mut reader.rounds else {
            return Ok(());
        };
        let round = rounds.close(&mut clock)?;
        reader.pages.clear();
        self.tally.pages_read_again += round.again.len() as u64;
        reader.unread.extend(round.again);
        for mut page in round.pages {
            if let Some(rest) = page.rest.clone() {
                reader.unread.push((page.table, rest));
            }
            if let (Fault::PointIsHigh, Some(log)) = (self.rules.fault, &log) {
                page.point = Point::Position(Position::before(Scn(log.visible().0 + 1)));
            }
            if self.rules.fault == Fault::MineFromIsPoint {
                page.mine_from = page.point.end().scn;
            }
            if self.rules.fault == Fault::PointIsScn {
                page.point = Point::Position(Position::before(Scn(page.point.end().scn.0 + 1)));
            }
            if page.rest.is_some() && page.rows.len() < self.limits.page.rows {
                self.tally.cut_pages += 1;
            }
            reader.closed.push_back((page, 0));
        }
        Ok(())
    }

    fn emit_row(&mut self, number: usize) -> Outcome<()> {
        let Some((page, out)) = self.readers[number].closed.front_mut() else {
            return Ok(());
        };
        if *out < page.rows.len() {
            let row = *out;
            *out += 1;
            self.sink.put(RowKind::Insert, decode(page.rows.row(row)))?;
            return Ok(());
        }
        self.finished.extend(page.finished_after(*out));
        self.readers[number].closed.pop_front();
        Ok(())
    }

    // The stream phase.

    fn start_stream(&mut self) -> Outcome<()> {
        let points = || self.finished.iter().map(|range| range.point.end());
        let (first, last) = (points().min().unwrap_or_default(), points().max().unwrap_or_default());
        self.filter_end = last;
        let mine_from = self
            .finished
            .iter()
            .map(|range| range.mine_from)
            .min()
            .unwrap_or_default();
        let start = if self.rules.fault == Fault::StartAtLargestPoint {
            last
        } else {
            first
        };
        let split = StreamSplit {
            offset: Offset::starting(INCARNATION, mine_from, start),
            end: self.bounded.then_some(last),
            needed: self.finished.len() as u32,
            ranges: self.finished.clone(),
            tables: Vec::new(),
            partitions: Vec::new(),
        };
        self.tally.bounded += u64::from(self.bounded);
        self.open_stream(split)
    }

    fn open_stream(&mut self, split: StreamSplit) -> Outcome<()> {
        let running = Running::open(
            &self.database,
            split,
            self.batch,
            self.filter_end,
            self.limits.visibility,
        )?;
        self.running = Some(running);
        Ok(())
    }

    /// Whether the run is over.
    fn stream_step(&mut self) -> Outcome<bool> {
        match &mut self.running {
            Some(running) => running.step(&mut self.sink),
            None => Ok(false),
        }
    }

    // Checkpoints.

    fn take_checkpoint(&mut self) -> Outcome<()> {
        let mut finished = self.finished.clone();
        let mut unread = Vec::new();
        for reader in &self.readers {
            let mut chunks = reader.unread.clone();
            chunks.extend(reader.pages.iter().cloned());
            chunks.extend(reader.begun.iter().map(|begun| (begun.table, begun.chunk.clone())));
            for (page, out) in &reader.closed {
                let rows = match self.rules.fault {
                    Fault::PageUnreadUntilEmitted if *out < page.rows.len() => 0,
                    Fault::PageFinishedAtOnce if *out > 0 => page.rows.len(),
                    _ => *out,
                };
                self.tally.inside_page += u64::from(rows > 0 && rows < page.rows.len());
                finished.extend(page.finished_after(rows));
                chunks.extend(page.unread_after(rows).map(|chunk| (page.table, chunk)));
            }
            unread.push(chunks);
        }
        let stream = self.running.as_ref().map(|running| {
            let state = running.checkpoint();
            self.tally.stream_checkpoints += 1;
            self.tally.inside_transaction += u64::from(state.offset.partial.is_some());
            Split::Stream(state).encode()
        });
        let done = self.chunks.is_empty() && unread.iter().all(Vec::is_empty);
        self.checkpoint = Checkpoint {
            sink: self.sink.clone(),
            chunks: self.chunks.clone(),
            unread,
            finished,
            stream,
            ready: done,
        };
        // A page of which all rows are out is finished, whether the reader has come to say so or not.
        if done && self.running.is_none() {
            self.finished = self.checkpoint.finished.clone();
            self.readers.iter_mut().for_each(|reader| reader.closed.clear());
            self.ready = true;
        }
        Ok(())
    }

    fn crash(&mut self) -> Outcome<()> {
        self.tally.crashes += 1;
        let checkpoint = self.checkpoint.clone();
        self.sink = checkpoint.sink;
        self.chunks = checkpoint.chunks;
        self.finished = checkpoint.finished;
        self.ready = checkpoint.ready;
        self.readers = checkpoint.unread.into_iter().map(idle_reader).collect();
        self.running = None;
        if let Some(bytes) = checkpoint.stream {
            let Split::Stream(split) = Split::decode(&bytes)? else {
                return Err(Failure("another split came back".into()));
            };
            self.open_stream(split)?;
        }
        Ok(())
    }
}

fn idle_reader(unread: Vec<(u32, Chunk)>) -> Reader {
    Reader {
        unread,
        begun: Vec::new(),
        pages: Vec::new(),
        rounds: None,
        closed: VecDeque::new(),
    }
}
