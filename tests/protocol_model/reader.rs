//! One subtask of the model: the real `ReaderState` with made-up pages, its queues, and the rows it sent downstream.

use std::collections::VecDeque;
use std::sync::Arc;

use tidemark::error::Result;
use tidemark::position::{Point, Position, Scn};
use tidemark::reader::state::{PageEnd, PageId, ReaderState, Todo};
use tidemark::split::{Chunk, FinishedRange, Key, KeyRange, Split, TableName, ToEnumerator, ToReader};

use crate::random::Random;
use crate::world::Faults;

/// A row downstream: table, key, the point it was read at.
pub type Row = (u8, u8, u64);

/// Downstream, once the stream of a bounded job has ended.
pub const STREAMED: Row = (u8::MAX, 0, 0);

/// Where the stream stands behind that row.
const STREAM_END: Scn = Scn(1 << 40);

/// The database, as far as the model needs one: rows that never change, read at points that only differ in number.
pub struct Database {
    pub tables: Vec<Arc<TableName>>,
    pub rows: Vec<Row>,
    pub clock: u64,
}

impl Database {
    fn number(&self, table: &TableName) -> u8 {
        self.tables.iter().position(|name| **name == *table).unwrap() as u8
    }

    fn read(&self, chunk: &Chunk) -> Vec<Row> {
        let table = self.number(&chunk.table);
        let inside = |row: &&Row| row.0 == table && chunk.range.contains(&[row.1]);
        self.rows.iter().filter(inside).copied().collect()
    }

    /// What must be downstream according to finished ranges.
    pub fn expected(&self, ranges: &[FinishedRange]) -> Vec<Row> {
        let at = |row: &Row| {
            let table = &self.tables[usize::from(row.0)];
            let mut of = ranges
                .iter()
                .filter(|range| range.table == *table && range.range.contains(&[row.1]));
            (row.0, row.1, of.next().map_or(0, |range| range.point.end().scn.0))
        };
        self.rows.iter().map(at).collect()
    }
}

/// How the oldest open transaction of a point is made up.
pub fn mine_from(point: u64) -> Scn {
    Scn(point - point % 3)
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Up {
    Running,
    /// Failed; the JobManager does not know yet.
    Dead,
    /// Failed; its gateway is not ready.
    Detected,
    /// Ended behind the savepoint that it was stopped with.
    Stopped,
}

pub enum ToTask {
    Barrier(u64),
    Split(Vec<u8>),
    Event(Vec<u8>),
    NoMoreSplits,
}

pub enum FromTask {
    Register,
    Event(Vec<u8>),
}

pub struct Task {
    pub state: ReaderState,
    pub up: Up,
    pub inbox: VecDeque<ToTask>,
    pub outbox: VecDeque<FromTask>,
    pub log: Vec<Row>,
    pub finished: bool,
    /// At the barrier of a savepoint that it is stopped with: it is not polled any more.
    pub stopped: bool,
    /// Events that go out when it is polled.
    pub unsent: Vec<ToEnumerator>,
    /// How many events in the outbox were sent before its stop.
    pub before_stop: usize,
    /// The stream may be read, which the world has not checked yet; and it has.
    pub opening: bool,
    pub opened: bool,
    pages: Vec<OpenPage>,
}

struct OpenPage {
    id: PageId,
    chunk: Chunk,
    /// Its rows, once it is closed, and how many are out.
    closed: Option<Vec<Row>>,
    out: usize,
    reported: Option<ToEnumerator>,
}

impl Task {
    /// A task that starts, with what a checkpoint kept for it.
    pub fn start(splits: &[Vec<u8>], log: Vec<Row>, faults: &Faults) -> Result<Self> {
        let mut task = Task {
            state: ReaderState::new(),
            up: Up::Running,
            inbox: VecDeque::new(),
            outbox: VecDeque::from([FromTask::Register]),
            log,
            finished: false,
            stopped: false,
            unsent: Vec::new(),
            before_stop: 0,
            opening: false,
            opened: false,
            pages: Vec::new(),
        };
        let splits: Vec<_> = splits.iter().map(|bytes| Split::decode(bytes)).collect::<Result<_>>()?;
        task.state.add_splits(splits)?;
        let mut todo = task.state.start();
        let is_report = |todo: &Todo| matches!(todo, Todo::Send(ToEnumerator::Report(_)));
        if faults.no_second_report {
            todo.retain(|todo| !is_report(todo));
        }
        if faults.ranges_not_asked_again {
            todo.retain(|todo| !matches!(todo, Todo::Send(ToEnumerator::Missing { .. })));
        }
        task.take_todo(todo);
        if faults.reports_before_registration {
            task.outbox.rotate_left(1);
        }
        Ok(task)
    }

    fn take_todo(&mut self, todo: impl IntoIterator<Item = Todo>) {
        for todo in todo {
            match todo {
                Todo::Send(event) => self.outbox.push_back(FromTask::Event(event.encode())),
                Todo::CloseRound => {}
                Todo::OpenStream => self.opening = true,
            }
        }
    }

    /// Takes what comes next from the coordinator; a barrier is the world's to handle.
    pub fn receive(&mut self, faults: &Faults) -> std::result::Result<Option<u64>, String> {
        let todo = match self.inbox.pop_front() {
            None => return Ok(None),
            Some(ToTask::Barrier(checkpoint)) => return Ok(Some(checkpoint)),
            Some(_) if self.finished => return Err("something was sent to a finished reader".into()),
            Some(ToTask::Split(bytes)) => Split::decode(&bytes).and_then(|split| self.state.add_splits(vec![split])),
            Some(ToTask::Event(bytes)) => ToReader::decode(&bytes).and_then(|event| self.state.handle(event)),
            Some(ToTask::NoMoreSplits) => Ok(self.state.no_more_splits()),
        };
        let todo = todo.map_err(|error| error.to_string())?;
        if faults.stream_reads_before_all_ranges && self.state.stream().is_some() && !self.opened {
            self.opening = true;
        }
        for todo in todo {
            match todo {
                Todo::Send(event) if !faults.answers_are_sent_at_once => self.unsent.push(event),
                other => self.take_todo([other]),
            }
        }
        Ok(None)
    }

    /// Flink tells that a checkpoint is complete.
    pub fn notice(&mut self, checkpoint: u64) {
        self.unsent.extend(self.state.completed(checkpoint));
    }

    /// One step of its own.
    pub fn work(&mut self, random: &mut Random, database: &mut Database, config: &crate::world::Config) -> Result<()> {
        let (share, faults) = (random.share(), &config.faults);
        for event in std::mem::take(&mut self.unsent) {
            self.outbox.push_back(FromTask::Event(event.encode()));
        }
        let room = self.state.chunks_waiting() + self.pages.len() < 2;
        if share < 0.25 && room {
            if let Some(request) = self.state.request() {
                self.outbox.push_back(FromTask::Event(request.encode()));
                return Ok(());
            }
        }
        if share < 0.42 && self.pages.len() < 2 {
            if let Some((id, chunk)) = self.state.take_chunk() {
                self.pages.push(OpenPage {
                    id,
                    chunk,
                    closed: None,
                    out: 0,
                    reported: None,
                });
                return Ok(());
            }
        }
        if !self.pages.is_empty() && share < 0.85 {
            let at = random.below(self.pages.len());
            return self.work_on_page(at, random, database, faults);
        }
        if self.opened {
            self.stream(random, config.bounded);
        }
        let held = faults.unacknowledged_ranges_hold_a_reader && self.state.unacknowledged() > 0;
        let untold = faults.a_reader_finishes_untold && self.log.contains(&STREAMED);
        self.finished = (self.state.is_finished() || (untold && config.bounded)) && !held;
        Ok(())
    }

    fn work_on_page(&mut self, at: usize, random: &mut Random, database: &mut Database, faults: &Faults) -> Result<()> {
        if self.pages[at].closed.is_none() {
            database.clock += 1;
            // A round closes its pages at one point.
            let whole_round = random.chance(0.5);
            for other in 0..self.pages.len() {
                if other == at || (whole_round && self.pages[other].closed.is_none()) {
                    self.close(other, random, database, faults)?;
                }
            }
            return Ok(());
        }
        let page = &mut self.pages[at];
        let rows = page.closed.as_ref().unwrap();
        if let Some(row) = rows.get(page.out) {
            self.log.push(*row);
            page.out += 1;
        }
        if page.out == rows.len() && random.chance(0.6) {
            let page = self.pages.remove(at);
            let todo = self.state.page_done(page.id)?;
            if page.reported.is_none() {
                self.take_todo([todo]);
            }
        } else if random.chance(0.3) {
            self.tell_rows_out(at)?;
        }
        Ok(())
    }

    fn close(&mut self, at: usize, random: &mut Random, database: &Database, faults: &Faults) -> Result<()> {
        let page = &mut self.pages[at];
        let mut rows = database.read(&page.chunk);
        let limit = 1 + random.below(3);
        let rest = rows.get(limit).map(|row| key(row.1));
        rows.truncate(limit);
        let point = Point::Position(Position::before(Scn(database.clock)));
        rows.iter_mut().for_each(|row| row.2 = database.clock);
        let end = PageEnd {
            rest: rest.clone(),
            point: point.clone(),
            mine_from: mine_from(database.clock),
        };
        self.state.page_closed(page.id, end)?;
        page.closed = Some(rows);
        if faults.report_before_the_rows {
            let range = KeyRange {
                lower: page.chunk.range.lower.clone(),
                upper: rest.or_else(|| page.chunk.range.upper.clone()),
            };
            let event = ToEnumerator::Report(FinishedRange {
                table: page.chunk.table.clone(),
                range,
                point,
                mine_from: mine_from(database.clock),
            });
            self.outbox.push_back(FromTask::Event(event.encode()));
            page.reported = Some(event);
        }
        Ok(())
    }

    /// The state learns of rows only now and then, but before each snapshot.
    fn tell_rows_out(&mut self, at: usize) -> Result<()> {
        let page = &self.pages[at];
        match &page.closed {
            Some(rows) if page.out > 0 => self.state.row_out(page.id, rows.get(page.out).map(|row| key(row.1))),
            _ => Ok(()),
        }
    }

    /// The state between two rows. A finished task has none.
    pub fn snapshot(&mut self, faults: &Faults) -> Result<Vec<Vec<u8>>> {
        if self.finished {
            return Ok(Vec::new());
        }
        if !faults.pages_are_out_whole_or_not {
            for at in 0..self.pages.len() {
                self.tell_rows_out(at)?;
            }
        }
        let mut splits = self.state.snapshot();
        if faults.rest_is_forgotten {
            let is_rest = |chunk: &Chunk| {
                let of =
                    |page: &OpenPage| page.chunk.table == chunk.table && page.chunk.range.upper == chunk.range.upper;
                self.pages.iter().any(of)
            };
            splits.retain(|split| !matches!(split, Split::Chunk(chunk) if is_rest(chunk)));
        }
        if faults.finished_ranges_are_no_state {
            splits.retain(|split| !matches!(split, Split::Finished(_)));
        }
        Ok(splits.iter().map(Split::encode).collect())
    }

    fn stream(&mut self, random: &mut Random, bounded: bool) {
        let Some(split) = self.state.stream() else {
            return;
        };
        let mut offset = split.offset.clone();
        let largest = split.ranges.iter().map(|range| range.point.end()).max();
        let next = Position::before(Scn(offset.commit.scn.0 + 1));
        if random.chance(0.3) {
            offset.advance_idle(next, next.scn);
            self.state.advance_stream(offset);
        } else if largest.is_some_and(|largest| offset.commit >= largest) {
            self.state.drop_filter();
        } else if bounded && largest.is_none() {
            let end = Position::before(STREAM_END);
            if offset.commit < end {
                self.log.push(STREAMED);
                offset.advance_idle(end, end.scn);
                self.state.advance_stream(offset);
            }
            self.state.end_stream();
        }
    }

    pub fn idle(&self) -> bool {
        let done = self.state.unacknowledged() == 0 && self.state.chunks_waiting() == 0 && self.pages.is_empty();
        self.up == Up::Running && (done || self.finished)
    }
}

pub fn key(number: u8) -> Key {
    Key(Box::new([number]))
}
