//! Flink around readers and enumerator, with what it really does: the enumerator's snapshot comes first, then a barrier in
//! each reader's queue (what the enumerator sends after its snapshot arrives after the reader's); events are FIFO and in
//! flight; a reader dies, which is noticed later (until then what is sent to it is lost, afterwards sending fails), and is
//! restored to the newest completed checkpoint, notified or not; what was assigned after it comes back, or an empty list;
//! one reader, several or all of them without the enumerator; global restores with another parallelism; notices late or
//! lost; two checkpoints at once; aborts; finished tasks without state, to which nothing can be sent; stops with a savepoint,
//! whose tasks end when it is complete, and what is sent to them then fails the stop.

mod checkpoints;
mod invariants;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidemark::assigner::{Action, Checkpointing, Settings};
use tidemark::error::Result;
use tidemark::offset::Offset;
use tidemark::position::{Incarnation, Position, Scn};
use tidemark::split::{Chunk, FinishedRange, KeyRange, Split, TableName, ToEnumerator, ToReader};

use crate::enumerator::Enumerator;
use crate::random::Random;
use crate::reader::{Database, FromTask, Row, STREAMED, Task, ToTask, Up, key, mine_from};

/// What kind of job and how rough the times.
#[derive(Clone)]
pub struct Config {
    pub tables: usize,
    pub stream_only: bool,
    pub bounded: bool,
    pub checkpoints: bool,
    /// `None`: random, and changed by global restores.
    pub parallelism: Option<u32>,
    pub first_parallelism: Option<u32>,
    pub failures: f64,
    pub global_restores: f64,
    /// The share of steps that stop the job with a savepoint.
    pub stops: f64,
    pub extra_checkpoints: f64,
    /// The share of checkpoints that are triggered just after a reset.
    pub checkpoints_after_resets: f64,
    /// The share of notices that never arrive.
    pub lost_notices: f64,
    pub group: usize,
    pub faults: Faults,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            tables: 1,
            stream_only: false,
            bounded: false,
            checkpoints: true,
            parallelism: None,
            first_parallelism: None,
            failures: 1.0,
            global_restores: 1.0,
            stops: 0.004,
            extra_checkpoints: 0.0,
            checkpoints_after_resets: 0.0,
            lost_notices: 0.25,
            group: 2,
            faults: Faults::default(),
        }
    }
}

/// Rules that the driver breaks.
#[derive(Clone, Default)]
pub struct Faults {
    pub no_second_report: bool,
    pub ranges_not_asked_again: bool,
    pub reports_before_registration: bool,
    pub stream_reads_before_all_ranges: bool,
    pub unacknowledged_ranges_hold_a_reader: bool,
    pub a_reader_finishes_untold: bool,
    pub report_before_the_rows: bool,
    pub pages_are_out_whole_or_not: bool,
    pub rest_is_forgotten: bool,
    pub finished_ranges_are_no_state: bool,
    pub acknowledged_at_once: bool,
    pub dropped_on_the_own_notice: bool,
    pub empty_lists_are_not_given_back: bool,
    pub resets_forget_nothing: bool,
    pub firm_at_any_notice: bool,
    pub gate_does_not_wait_for_firm: bool,
    pub sends_to_readers_that_are_down: bool,
    pub answers_are_sent_at_once: bool,
}

/// A run that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

fn fail<T>(text: impl Into<String>) -> std::result::Result<T, Failure> {
    Err(Failure(text.into()))
}

impl From<tidemark::error::Error> for Failure {
    fn from(error: tidemark::error::Error) -> Self {
        Failure(format!("error: {error}"))
    }
}

type Outcome<T> = std::result::Result<T, Failure>;

#[derive(Clone)]
struct TaskState {
    splits: Vec<Vec<u8>>,
    log: Vec<Row>,
}

#[derive(Clone)]
struct Checkpoint<S> {
    id: u64,
    enumerator: S,
    tasks: BTreeMap<usize, TaskState>,
    base: Vec<Row>,
}

impl<S> Checkpoint<S> {
    fn downstream(&self) -> Vec<Row> {
        let logs = self.tasks.values().flat_map(|task| &task.log);
        self.base.iter().chain(logs).copied().collect()
    }
}

enum Notice {
    Enumerator(u64),
    Tasks(u64),
    /// The tasks of a savepoint's stop end.
    Stop,
}

/// What the runs met, so that a storm that never blows is noticed.
#[derive(Default, Debug)]
pub struct Met {
    pub resets: usize,
    pub resets_not_notified: usize,
    pub empty_lists: usize,
    pub streams_back: usize,
    pub global_restores: usize,
    pub rescaled: usize,
    pub streams_opened: usize,
    pub stops: usize,
}

impl Met {
    pub fn add(&mut self, other: &Met) {
        self.resets += other.resets;
        self.resets_not_notified += other.resets_not_notified;
        self.empty_lists += other.empty_lists;
        self.streams_back += other.streams_back;
        self.global_restores += other.global_restores;
        self.rescaled += other.rescaled;
        self.streams_opened += other.streams_opened;
        self.stops += other.stops;
    }
}

pub struct World<E: Enumerator> {
    config: Config,
    rules: E::Rules,
    random: Random,
    database: Database,
    chunks: Vec<Vec<Chunk>>,
    tasks: Vec<Task>,
    enumerator: E,
    /// Flink's `registeredReaders`.
    listed: BTreeSet<u32>,
    /// Flink's `SplitAssignmentTracker`.
    assigned: BTreeMap<u64, Vec<(u32, Split)>>,
    unsaved: Vec<(u32, Split)>,
    last_notice: u64,
    newest: Option<Checkpoint<E::State>>,
    pending: Vec<Checkpoint<E::State>>,
    /// The savepoint that the job is being stopped with.
    stop: Option<u64>,
    next_id: u64,
    notices: Vec<Notice>,
    base: Vec<Row>,
    quiet: bool,
    pub met: Met,
}

impl<E: Enumerator> World<E> {
    pub fn new(seed: u64, config: Config, rules: E::Rules) -> Self {
        let mut random = Random::new(seed);
        let keys: u8 = if config.tables == 1 { 9 } else { 6 };
        let mut database = Database {
            tables: Vec::new(),
            rows: Vec::new(),
            clock: 1,
        };
        let mut chunks = Vec::new();
        for number in 0..config.tables as u8 {
            let table = Arc::new(TableName {
                schema: "S".into(),
                name: format!("T{number}"),
            });
            let mut kept: Vec<u8> = (0..keys).collect();
            random.shuffle(&mut kept);
            kept.truncate(4 + random.below(usize::from(keys) - 3));
            kept.sort_unstable();
            database.rows.extend(kept.iter().map(|&key| (number, key, 0)));
            let mut bounds: Vec<u8> = (1..keys).filter(|_| random.chance(0.25)).collect();
            if bounds.is_empty() {
                bounds.push(keys / 2);
            }
            let lowers = std::iter::once(None).chain(bounds.iter().copied().map(Some));
            let uppers = bounds.iter().copied().map(Some).chain([None]);
            let chunk = |(lower, upper): (Option<u8>, Option<u8>)| Chunk {
                table: table.clone(),
                range: KeyRange {
                    lower: lower.map(key),
                    upper: upper.map(key),
                },
            };
            chunks.push(lowers.zip(uppers).map(chunk).collect());
            database.tables.push(table);
        }
        if config.stream_only {
            database.rows.clear();
        }
        let parallelism = config.parallelism.or(config.first_parallelism);
        let parallelism = parallelism.unwrap_or_else(|| 1 + random.below(4) as u32);
        let tasks = (0..parallelism)
            .map(|_| Task::start(&[], Vec::new(), &config.faults).unwrap())
            .collect();
        let enumerator = E::new(settings(&config, parallelism), &rules);
        World {
            config,
            rules,
            random,
            database,
            chunks,
            tasks,
            enumerator,
            listed: BTreeSet::new(),
            assigned: BTreeMap::new(),
            unsaved: Vec::new(),
            last_notice: 0,
            newest: None,
            pending: Vec::new(),
            stop: None,
            next_id: 1,
            notices: Vec::new(),
            base: Vec::new(),
            quiet: false,
            met: Met::default(),
        }
    }

    /// Some hundred steps of rough times, then quiet ones until the job has come to its end or its stream.
    pub fn run(&mut self) -> Outcome<()> {
        for _ in 0..100 + self.random.below(800) {
            self.step()?;
        }
        self.quiet = true;
        for _ in 0..6000 {
            self.step()?;
            if self.is_done() {
                return self.check_end();
            }
        }
        fail("hang")
    }

    fn step(&mut self) -> Outcome<()> {
        if self.random.chance(self.config.extra_checkpoints) {
            self.trigger();
        }
        if !self.quiet && self.random.chance(self.config.stops) {
            self.stop();
        }
        let share = self.random.share();
        let failures = 0.03 + 0.015 * self.config.failures;
        let restores = 0.105 + 0.004 * self.config.global_restores;
        match share {
            _ if share < 0.03 => self.trigger(),
            _ if share < failures && !self.quiet && self.stop.is_none() => self.kill(),
            _ if share < 0.085 => self.detect(),
            _ if share < 0.105 => self.restore_tasks()?,
            _ if share < restores && !self.quiet => self.restore_all()?,
            _ if share < 0.125 && !self.quiet => {
                if !self.pending.is_empty() && self.stop.is_none() {
                    let aborted = self.random.below(self.pending.len());
                    self.pending.remove(aborted);
                }
            }
            _ if share < 0.16 => self.notify()?,
            _ if share < 0.42 => self.enumerate()?,
            _ => {
                let subtask = self.random.below(self.tasks.len());
                self.work(subtask)?;
            }
        }
        Ok(())
    }
}

fn settings(config: &Config, parallelism: u32) -> Settings {
    let checkpointing = match config.checkpoints {
        true => Checkpointing::Aligned,
        false => Checkpointing::None,
    };
    let merely_tiles = config.faults.gate_does_not_wait_for_firm;
    Settings {
        bounded: config.bounded,
        group_ranges: config.group,
        ..Settings::new(if merely_tiles { 1 } else { parallelism }, checkpointing)
    }
}
