//! A job as Flink runs it: one enumerator, some readers, checkpoints of both and of the sink, kills, restores. On one
//! thread, beside the readers' own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tidemark::assigner::Action as Decided;
use tidemark::config::Config;
use tidemark::database::Database;
use tidemark::enumerator::api::{Action, Enumerator};
use tidemark::error::Result;
use tidemark::reader::api::{Message, RowsOut, SourceReader};
use tidemark::reader::batch::Batch;
use tidemark::row::layout::DeclaredColumn;
use tidemark::split::{Split, ToEnumerator, ToReader};
use tidemark::{enumerator, reader};

use crate::checkpoint::Checkpoint;
use crate::sink::{Row, Sink, units};
use crate::source::Source;
use crate::watch::{Watch, Watched};

/// Longest wait for what must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running job.
pub struct Job {
    config: Arc<Config>,
    watch: Arc<Watch>,
    enumerator: Arc<dyn Enumerator>,
    subtasks: Vec<Subtask>,
    actions: VecDeque<Action>,
    cut: bool,
    /// Where rows go.
    pub sink: Sink,
    /// The stream split is out.
    pub streams: bool,
    checkpoints: u64,
    completed: Checkpoint,
    /// How often everything was read again; then the sink begins with nothing.
    pub run: u32,
}

struct Subtask {
    reader: Arc<dyn SourceReader>,
    fetched: VecDeque<Message>,
    batch: Option<Going>,
    out: RowsOut,
    ended: bool,
}

/// A batch whose rows go out.
struct Going {
    number: u64,
    units: VecDeque<Vec<Row>>,
}

/// What a turn of a subtask was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A unit went out.
    Unit,
    /// Something else happened.
    Else,
    /// Nothing was there.
    Nothing,
}

impl Job {
    /// Starts a job.
    pub fn start(config: Arc<Config>, watch: Arc<Watch>, parallelism: u32) -> Result<Job> {
        Job::open(config, watch, parallelism, Checkpoint::default())
    }

    /// Starts one reader on a captured table with the usual options.
    pub fn of(source: &Source, watch: Watch) -> Job {
        Job::start(source.config(&[]), Arc::new(watch), 1).unwrap()
    }

    /// Starts a job from a checkpoint, on so many readers, as Flink does after a failure or a rescale.
    pub fn open(config: Arc<Config>, watch: Arc<Watch>, parallelism: u32, from: Checkpoint) -> Result<Job> {
        let surveyor = Arc::new(Database::new(config.clone())?);
        let enumerator = enumerator::open(&config, surveyor, parallelism, from.enumerator.as_deref())?;
        let subtasks = (0..parallelism).map(|subtask| {
            let connector = Watched {
                database: Database::new(config.clone())?,
                watch: watch.clone(),
                subtask,
            };
            Ok(Subtask {
                reader: reader::open(&config, Arc::new(connector), subtask),
                fetched: VecDeque::new(),
                batch: None,
                out: RowsOut { batch: 0, rows: 0 },
                ended: false,
            })
        });
        let mut job = Job {
            subtasks: subtasks.collect::<Result<_>>()?,
            config,
            watch,
            enumerator,
            actions: VecDeque::new(),
            cut: false,
            sink: from.sink.clone(),
            streams: from.stream().is_some(),
            checkpoints: from.number,
            run: from.run(),
            completed: from,
        };
        job.begin()?;
        Ok(job)
    }

    fn begin(&mut self) -> Result<()> {
        let actions = self.enumerator.start()?;
        self.actions.extend(actions);
        let mut splits: Vec<Vec<Split>> = self.subtasks.iter().map(|_| Vec::new()).collect();
        for (number, split) in self.completed.splits().enumerate() {
            splits[number % self.subtasks.len()].push(split);
        }
        for (subtask, splits) in splits.into_iter().enumerate() {
            if !splits.is_empty() {
                let events = self.subtasks[subtask].reader.add_splits(splits)?;
                assert!(events.is_empty(), "the enumerator does not know the reader yet");
            }
            let actions = self.enumerator.register(subtask as u32)?;
            self.actions.extend(actions);
            let events = self.subtasks[subtask].reader.start()?;
            self.tell(subtask, events)?;
        }
        Ok(())
    }

    /// Ends it as a kill does: whatever is not in a completed checkpoint is gone. Starts it again from there.
    pub fn restart(self, parallelism: u32) -> Result<Job> {
        let (config, watch, completed) = (self.config.clone(), self.watch.clone(), self.completed.clone());
        drop(self);
        Job::open(config, watch, parallelism, completed)
    }

    /// Does something while the log gives the stream nothing: all of it is there before the first of it is read.
    pub fn behind_its_back(&self, what: impl FnOnce()) {
        self.watch.held.store(true, Ordering::SeqCst);
        let asked = self.watch.asked_in_vain.load(Ordering::SeqCst);
        let waited = Instant::now();
        while self.watch.asked_in_vain.load(Ordering::SeqCst) == asked {
            assert!(waited.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(1));
        }
        what();
        self.watch.held.store(false, Ordering::SeqCst);
    }

    /// The newest completed checkpoint.
    pub fn completed(&self) -> &Checkpoint {
        &self.completed
    }

    /// The reader of a subtask.
    pub fn reader(&self, subtask: usize) -> &Arc<dyn SourceReader> {
        &self.subtasks[subtask].reader
    }

    fn tell(&mut self, subtask: usize, events: Vec<ToEnumerator>) -> Result<()> {
        for event in events {
            let event = ToEnumerator::decode(&event.encode())?;
            let actions = self.enumerator.handle(subtask as u32, event)?;
            self.actions.extend(actions);
        }
        Ok(())
    }

    /// Carries out what the enumerator asked for.
    fn settle(&mut self) -> Result<()> {
        let listed: Vec<u32> = (0..self.subtasks.len() as u32).collect();
        self.enumerator.listed(&listed);
        // Tables are cut while chunks of them are read.
        if std::mem::take(&mut self.cut) {
            self.enumerator.cut()?;
            let actions = self.enumerator.cut_done()?;
            self.actions.extend(actions);
        }
        loop {
            let Some(action) = self.actions.pop_front() else {
                return Ok(());
            };
            let Action::Decided(decided) = action else {
                self.cut = true;
                continue;
            };
            let (subtask, events) = match *decided {
                Decided::Assign { subtask, split } => {
                    self.streams |= matches!(split.clone().parted().1, Split::Stream(_));
                    let split = Split::decode(&split.encode())?;
                    (subtask, self.subtasks[subtask as usize].reader.add_splits(vec![split])?)
                }
                Decided::Send { subtask, event } => {
                    let event = ToReader::decode(&event.encode())?;
                    if matches!(event, ToReader::Run(run) if run > self.run) {
                        self.run += 1;
                        self.streams = false;
                        self.sink = Sink::default();
                    }
                    (subtask, self.subtasks[subtask as usize].reader.handle(event)?)
                }
                Decided::NoMoreSplits { subtask } => {
                    (subtask, self.subtasks[subtask as usize].reader.no_more_splits()?)
                }
            };
            self.tell(subtask as usize, events)?;
        }
    }

    /// Takes what a reader has, and lets nothing out, until `done`: the fetcher runs far ahead of the task.
    pub fn fetch(&mut self, subtask: usize, mut done: impl FnMut() -> bool) -> Result<()> {
        let waited = Instant::now();
        while !done() {
            match self.subtasks[subtask].reader.next(Duration::from_millis(10))? {
                Message::Nothing => {}
                message => self.subtasks[subtask].fetched.push_back(message),
            }
            assert!(waited.elapsed() < PATIENCE);
        }
        Ok(())
    }

    /// Lets a subtask's next unit out or, without one, takes its next message.
    pub fn turn(&mut self, subtask: usize) -> Result<Turn> {
        self.settle()?;
        let columns = self.config.columns.as_deref().unwrap_or_default();
        let this = &mut self.subtasks[subtask];
        if this.ended {
            return Ok(Turn::Nothing);
        }
        // The fetcher runs ahead of the task.
        while this.fetched.len() < 2 && !matches!(this.fetched.back(), Some(Message::End)) {
            match this.reader.next(Duration::ZERO)? {
                Message::Nothing => break,
                message => this.fetched.push_back(message),
            }
        }
        if this.batch.is_some() {
            return self.emit(subtask);
        }
        match this.fetched.pop_front() {
            None | Some(Message::Nothing) => return Ok(Turn::Nothing),
            Some(Message::Rows(batch)) => this.batch = Some(Going::new(&batch, columns)),
            Some(Message::Events(events)) => self.tell(subtask, events)?,
            Some(Message::End) => this.ended = true,
        }
        Ok(Turn::Else)
    }

    fn emit(&mut self, subtask: usize) -> Result<Turn> {
        let this = &mut self.subtasks[subtask];
        let Some(mut going) = this.batch.take() else {
            return Ok(Turn::Nothing);
        };
        let unit = going.units.pop_front().unwrap();
        if this.out.batch != going.number {
            this.out = RowsOut {
                batch: going.number,
                rows: 0,
            };
        }
        if unit.len() > 1 {
            let inside = RowsOut {
                batch: going.number,
                rows: this.out.rows + 1,
            };
            let refused = this.reader.snapshot(self.checkpoints + 1, inside);
            assert!(refused.is_err(), "a checkpoint between the halves of {unit:?}");
        }
        this.out.rows += unit.len() as u32;
        self.sink.take(unit);
        if going.units.is_empty() {
            let events = this.reader.consumed(going.number)?;
            self.tell(subtask, events)?;
        } else {
            this.batch = Some(going);
        }
        Ok(Turn::Unit)
    }

    /// Runs until `done`. Takes checkpoints while nothing moves and the stream is not out, since the gate needs them.
    pub fn run(&mut self, mut done: impl FnMut(&Job) -> bool) -> Result<()> {
        let waited = Instant::now();
        while !done(self) {
            let mut moved = false;
            for subtask in 0..self.subtasks.len() {
                moved |= self.turn(subtask)? != Turn::Nothing;
                if done(self) {
                    return Ok(());
                }
            }
            if !moved {
                if !self.streams {
                    self.checkpoint()?;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            assert!(waited.elapsed() < PATIENCE, "{:?}", self.sink.log);
        }
        Ok(())
    }

    /// Lets one unit out.
    pub fn unit(&mut self) -> Result<()> {
        let units = self.sink.log.len();
        self.run(|job| job.sink.log.len() > units)
    }

    /// Runs until the stream split is out.
    pub fn run_to_stream(&mut self) -> Result<()> {
        self.run(|job| job.streams)
    }

    /// Runs until everything that is committed now is out.
    pub fn catch_up(&mut self, source: &Source) -> Result<()> {
        self.run_to_stream()?;
        let marker = 1_000_000 + self.sink.table.range(1_000_000..).count() as i64;
        source.run(&format!("insert into T values ({marker}, 'marker')"));
        self.run(|job| job.sink.table.contains_key(&marker))
    }

    /// Whether all readers are at their end.
    pub fn has_ended(&self) -> bool {
        self.subtasks.iter().all(|subtask| subtask.ended)
    }

    /// A checkpoint that completes.
    pub fn checkpoint(&mut self) -> Result<()> {
        let checkpoint = self.take_checkpoint()?;
        self.complete(checkpoint)
    }

    /// A checkpoint that is not complete yet.
    pub fn take_checkpoint(&mut self) -> Result<Checkpoint> {
        self.settle()?;
        self.checkpoints += 1;
        let number = self.checkpoints;
        let enumerator = self.enumerator.snapshot(number)?;
        let readers = self.subtasks.iter().map(|subtask| match subtask.ended {
            // What has finished has no state.
            true => Ok(Vec::new()),
            false => {
                let splits = subtask.reader.snapshot(number, subtask.out)?;
                Ok(splits.iter().map(Split::encode).collect())
            }
        });
        Ok(Checkpoint {
            number,
            enumerator: Some(enumerator),
            readers: readers.collect::<Result<_>>()?,
            sink: self.sink.clone(),
        })
    }

    /// A checkpoint is complete.
    pub fn complete(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let number = checkpoint.number;
        self.completed = checkpoint;
        let actions = self.enumerator.checkpoint_complete(number)?;
        self.actions.extend(actions);
        for subtask in 0..self.subtasks.len() {
            let events = self.subtasks[subtask].reader.checkpoint_complete(number)?;
            self.tell(subtask, events)?;
        }
        self.settle()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.enumerator.cancel();
        for subtask in &self.subtasks {
            subtask.reader.cancel();
        }
        self.enumerator.close();
        for subtask in &self.subtasks {
            subtask.reader.close();
        }
    }
}

impl Going {
    fn new(batch: &Batch, columns: &[DeclaredColumn]) -> Going {
        let units: VecDeque<_> = units(batch, columns).into();
        assert!(!units.is_empty());
        Going {
            number: batch.number(),
            units,
        }
    }
}
