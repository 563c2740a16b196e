//! Flink around readers and enumerator, with what it really does: the enumerator's snapshot comes first, then a barrier in
//! each reader's queue (what the enumerator sends after its snapshot arrives after the reader's); events are FIFO and in
//! flight; a reader dies, which is noticed later (until then what is sent to it is lost, afterwards sending fails), and is
//! restored to the newest completed checkpoint, notified or not; what was assigned after it comes back, or an empty list;
//! one reader, several or all of them without the enumerator; global restores with another parallelism; notices late or
//! lost; two checkpoints at once; aborts; finished tasks without state.

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
    pub reports_come_last: bool,
    pub reports_before_registration: bool,
    pub stream_reads_before_all_ranges: bool,
    pub unacknowledged_ranges_hold_a_reader: bool,
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
        let share = self.random.share();
        let failures = 0.03 + 0.015 * self.config.failures;
        let restores = 0.105 + 0.004 * self.config.global_restores;
        match share {
            _ if share < 0.03 => self.trigger(),
            _ if share < failures && !self.quiet => self.kill(),
            _ if share < 0.085 => self.detect(),
            _ if share < 0.105 => self.restore_tasks()?,
            _ if share < restores && !self.quiet => self.restore_all()?,
            _ if share < 0.125 && !self.quiet => {
                if !self.pending.is_empty() {
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

    // Checkpoints.

    fn trigger(&mut self) {
        let up = |up: Up| self.tasks.iter().any(|task| task.up == up);
        let some_dead = up(Up::Dead) || up(Up::Detected);
        if !self.config.checkpoints || (some_dead && self.random.chance(0.7)) || up(Up::Detected) {
            return;
        }
        if self.pending.len() >= 2 {
            return;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.pending.push(Checkpoint {
            id,
            enumerator: self.enumerator.snapshot(id),
            tasks: BTreeMap::new(),
            base: self.base.clone(),
        });
        let unsaved = std::mem::take(&mut self.unsaved);
        self.assigned.insert(id, unsaved);
        for task in self.tasks.iter_mut().filter(|task| task.up == Up::Running) {
            task.inbox.push_back(ToTask::Barrier(id));
        }
    }

    fn snapshot_task(&mut self, subtask: usize, id: u64) -> Outcome<()> {
        let Some(at) = self.pending.iter().position(|checkpoint| checkpoint.id == id) else {
            return Ok(());
        };
        let task = &mut self.tasks[subtask];
        let state = TaskState {
            splits: task.snapshot(&self.config.faults)?,
            log: task.log.clone(),
        };
        self.pending[at].tasks.insert(subtask, state);
        if self.pending[at].tasks.len() == self.tasks.len() {
            let complete = self.pending.remove(at);
            self.pending.retain(|checkpoint| checkpoint.id > id);
            self.newest = Some(complete);
            if self.quiet || !self.random.chance(self.config.lost_notices) {
                self.notices.push(Notice::Enumerator(id));
            }
            if self.config.faults.dropped_on_the_own_notice {
                self.notices.push(Notice::Tasks(id));
            }
        }
        Ok(())
    }

    fn notify(&mut self) -> Outcome<()> {
        if self.notices.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.notices.len());
        match self.notices.remove(at) {
            Notice::Enumerator(id) => {
                self.last_notice = self.last_notice.max(id);
                self.assigned.retain(|&checkpoint, _| checkpoint > id);
                if self.config.faults.firm_at_any_notice {
                    self.enumerator.snapshot(id);
                }
                self.tell(|enumerator| enumerator.checkpoint_complete(id))
            }
            Notice::Tasks(id) => {
                let Some(checkpoint) = self.newest.as_ref().filter(|checkpoint| checkpoint.id == id) else {
                    return Ok(());
                };
                for (subtask, task) in self
                    .tasks
                    .iter_mut()
                    .enumerate()
                    .filter(|(_, task)| task.up == Up::Running)
                {
                    let state = checkpoint.tasks.get(&subtask);
                    for bytes in state.into_iter().flat_map(|state| &state.splits) {
                        if let Split::Finished(range) = Split::decode(bytes)? {
                            task.state.handle(ToReader::Acknowledge(range))?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    // Failures.

    fn kill(&mut self) {
        let share = self.random.share();
        let mut subtasks: Vec<_> = (0..self.tasks.len()).collect();
        self.random.shuffle(&mut subtasks);
        let many = match share {
            _ if share < 0.35 => subtasks.len(),
            _ if share < 0.8 => 1,
            _ => 1 + self.random.below(subtasks.len()),
        };
        for &subtask in &subtasks[..many] {
            if self.tasks[subtask].up == Up::Running {
                self.tasks[subtask].up = Up::Dead;
            }
        }
    }

    fn detect(&mut self) {
        for (subtask, task) in self.tasks.iter_mut().enumerate() {
            if task.up == Up::Dead && self.random.chance(0.7) {
                task.up = Up::Detected;
                self.listed.remove(&(subtask as u32));
            }
        }
    }

    /// All readers that are known to be down start again, the enumerator goes on.
    fn restore_tasks(&mut self) -> Outcome<()> {
        let mut down: Vec<_> = (0..self.tasks.len())
            .filter(|&at| self.tasks[at].up == Up::Detected)
            .collect();
        if down.is_empty() {
            return Ok(());
        }
        self.pending.clear();
        self.random.shuffle(&mut down);
        let id = self.newest.as_ref().map_or(0, |checkpoint| checkpoint.id);
        for at in down {
            let subtask = at as u32;
            let mut back = Vec::new();
            let later = self.assigned.range_mut(id + 1..).map(|(_, splits)| splits);
            for splits in later.chain([&mut self.unsaved]) {
                let (of_subtask, others) = std::mem::take(splits).into_iter().partition(|(to, _)| *to == subtask);
                *splits = others;
                let of_subtask: Vec<(u32, Split)> = of_subtask;
                back.extend(of_subtask.into_iter().map(|(_, split)| split));
            }
            self.met.resets += 1;
            self.met.resets_not_notified += usize::from(id > self.last_notice);
            self.met.empty_lists += usize::from(back.is_empty());
            self.met.streams_back += usize::from(back.iter().any(|split| matches!(split, Split::Stream(_))));
            let faults = &self.config.faults;
            let named = if faults.resets_forget_nothing {
                subtask + 1000
            } else {
                subtask
            };
            if !(faults.empty_lists_are_not_given_back && back.is_empty()) {
                self.tell(|enumerator| enumerator.add_splits_back(back, named))?;
            }
            let state = self.newest.as_ref().map(|checkpoint| checkpoint.tasks[&at].clone());
            let (splits, log) = state.map_or_else(Default::default, |state| (state.splits, state.log));
            self.tasks[at] = Task::start(&splits, log, &self.config.faults)?;
        }
        if self.random.chance(self.config.checkpoints_after_resets) {
            self.trigger();
        }
        Ok(())
    }

    /// Everything starts again, perhaps with another parallelism.
    fn restore_all(&mut self) -> Outcome<()> {
        self.pending.clear();
        let before = self.tasks.len();
        let mut now = before;
        if self.random.chance(0.6) {
            now = self
                .config
                .parallelism
                .map_or_else(|| 1 + self.random.below(4), |fixed| fixed as usize);
        }
        self.met.global_restores += 1;
        self.met.rescaled += usize::from(now != before);
        self.listed.clear();
        self.assigned.clear();
        self.unsaved.clear();
        self.notices.retain(|notice| matches!(notice, Notice::Enumerator(_)));
        let (random, notices) = (&mut self.random, &mut self.notices);
        notices.retain(|_| random.chance(0.5));
        let settings = settings(&self.config, now as u32);
        let Some(checkpoint) = &mut self.newest else {
            self.base.clear();
            self.last_notice = 0;
            self.enumerator = E::new(settings, &self.rules);
            self.tasks = (0..now)
                .map(|_| Task::start(&[], Vec::new(), &self.config.faults))
                .collect::<Result<_>>()?;
            return Ok(());
        };
        // The restored checkpoint stays the newest one, seen with the new parallelism.
        checkpoint.base = checkpoint.downstream();
        let mut states: Vec<_> = std::mem::take(&mut checkpoint.tasks)
            .into_values()
            .map(|state| state.splits)
            .collect();
        if now != before {
            let mut splits: Vec<_> = states.into_iter().flatten().collect();
            self.random.shuffle(&mut splits);
            states = vec![Vec::new(); now];
            for (number, split) in splits.into_iter().enumerate() {
                states[number % now].push(split);
            }
        }
        self.base = checkpoint.base.clone();
        self.last_notice = checkpoint.id;
        self.enumerator = E::restore(&checkpoint.enumerator, settings, &self.rules)?;
        self.tasks.clear();
        for (subtask, splits) in states.into_iter().enumerate() {
            self.tasks.push(Task::start(&splits, Vec::new(), &self.config.faults)?);
            let log = Vec::new();
            checkpoint.tasks.insert(subtask, TaskState { splits, log });
        }
        Ok(())
    }

    // The enumerator.

    /// Calls the enumerator and does what it answers.
    fn tell(&mut self, call: impl FnOnce(&mut E) -> Result<Vec<Action>>) -> Outcome<()> {
        if !self.config.faults.sends_to_readers_that_are_down {
            let listed: Vec<_> = self.listed.iter().copied().collect();
            self.enumerator.listed(&listed);
        }
        for action in call(&mut self.enumerator)? {
            match action {
                Action::Assign { subtask, split } => {
                    if !self.listed.contains(&subtask) {
                        return fail("a split was assigned to a reader that is not registered");
                    }
                    if let Split::Stream(stream) = &split {
                        self.check_gate(&stream.offset)?;
                    }
                    let bytes = split.encode();
                    self.unsaved.push((subtask, split));
                    self.send(subtask, ToTask::Split(bytes))?;
                }
                Action::Send { subtask, event } => self.send(subtask, ToTask::Event(event.encode()))?,
                Action::NoMoreSplits { subtask } => self.send(subtask, ToTask::NoMoreSplits)?,
            }
        }
        Ok(())
    }

    fn send(&mut self, subtask: u32, what: ToTask) -> Outcome<()> {
        let task = &mut self.tasks[subtask as usize];
        match task.up {
            Up::Running => task.inbox.push_back(what),
            Up::Dead => {}
            Up::Detected => return fail("something was sent to a reader that is down"),
        }
        Ok(())
    }

    /// The enumerator's turn: it starts, cuts, or takes an event.
    fn enumerate(&mut self) -> Outcome<()> {
        let share = self.random.share();
        if self.enumerator.is_undecided() {
            if share < 0.5 {
                let names = self.database.tables.iter().map(|name| (**name).clone()).collect();
                if self.config.stream_only {
                    let offset = Offset::starting(Incarnation(1), Scn(1), Position::before(Scn(1)));
                    return self.tell(|enumerator| enumerator.start_stream(offset));
                }
                self.enumerator.start_tables(names)?;
                return Ok(());
            }
        } else if share < 0.25 {
            if let Some(cut) = self.enumerator.cut_progress() {
                let number = self.database.tables.iter().position(|name| *name == cut.table).unwrap();
                let next = self.chunks[number]
                    .iter()
                    .skip_while(|chunk| chunk.range.lower != cut.lower);
                let chunks = next.take(1 + self.random.below(2)).cloned().collect();
                return self.tell(|enumerator| enumerator.cut(chunks));
            }
        }
        let senders: Vec<_> = (0..self.tasks.len())
            .filter(|&at| !self.tasks[at].outbox.is_empty() && self.tasks[at].up != Up::Detected)
            .collect();
        if senders.is_empty() {
            return Ok(());
        }
        let at = senders[self.random.below(senders.len())];
        let subtask = at as u32;
        match self.tasks[at].outbox.pop_front() {
            None => Ok(()),
            Some(FromTask::Register) => {
                self.listed.insert(subtask);
                self.tell(|enumerator| enumerator.register(subtask))
            }
            Some(FromTask::Event(bytes)) => {
                let event = ToEnumerator::decode(&bytes)?;
                let forged = match &event {
                    ToEnumerator::Report(range) if self.config.faults.acknowledged_at_once => Some(range.clone()),
                    _ => None,
                };
                self.tell(|enumerator| enumerator.event(subtask, event))?;
                match forged {
                    Some(range) => self.send(subtask, ToTask::Event(ToReader::Acknowledge(range).encode())),
                    None => Ok(()),
                }
            }
        }
    }

    // Readers.

    fn work(&mut self, subtask: usize) -> Outcome<()> {
        let task = &mut self.tasks[subtask];
        if task.up != Up::Running {
            return Ok(());
        }
        if !task.inbox.is_empty() && self.random.chance(0.35) {
            if let Some(checkpoint) = task.receive(&self.config.faults).map_err(Failure)? {
                self.snapshot_task(subtask, checkpoint)?;
            }
        } else if !task.finished {
            task.work(&mut self.random, &mut self.database, &self.config)?;
        }
        if std::mem::take(&mut self.tasks[subtask].opening) {
            self.tasks[subtask].opened = true;
            self.check_stream(subtask)?;
        }
        Ok(())
    }

    // Invariants.

    fn downstream(&self) -> Vec<Row> {
        let logs = self.tasks.iter().flat_map(|task| &task.log);
        let mut rows: Vec<_> = self.base.iter().chain(logs).copied().collect();
        rows.sort_unstable();
        rows
    }

    fn check_tiles(&self, ranges: &[FinishedRange]) -> Outcome<()> {
        for table in &self.database.tables {
            for number in 0..=u8::MAX {
                let of = |range: &&FinishedRange| range.table == *table && range.range.contains(&[number]);
                if ranges.iter().filter(of).count() != 1 {
                    return fail("INV3 the ranges do not tile");
                }
            }
        }
        Ok(())
    }

    fn check_gate(&mut self, offset: &Offset) -> Outcome<()> {
        let ranges = self.enumerator.ranges();
        if self.config.stream_only {
            return Ok(());
        }
        self.check_tiles(&ranges)?;
        let points = || ranges.iter().map(|range| range.point.end().scn.0);
        let (first, mine) = (points().min().unwrap(), points().map(mine_from).min().unwrap());
        if offset.commit != Position::before(Scn(first)) || offset.next_scn != mine {
            return fail("INV4 the stream does not start at the smallest point");
        }
        let gate_opened_early = self.tasks.len() > 1 && {
            let mut safe = self.newest.as_ref().map_or_else(Vec::new, Checkpoint::downstream);
            safe.sort_unstable();
            safe != self.database.expected(&ranges)
        };
        if gate_opened_early {
            return fail("INV5 the gate is open, and a row is in no completed checkpoint");
        }
        Ok(())
    }

    fn check_stream(&mut self, subtask: usize) -> Outcome<()> {
        self.met.streams_opened += 1;
        let Some(split) = self.tasks[subtask].state.stream() else {
            return fail("a stream was opened without its split");
        };
        if self.config.stream_only || split.needed == 0 {
            return Ok(());
        }
        self.check_tiles(&split.ranges)?;
        let largest = split.ranges.iter().map(|range| range.point.end()).max();
        if self.config.bounded && split.end != largest {
            return fail("INV4 the stream does not end at the largest point");
        }
        let mut rows = self.downstream();
        rows.retain(|row| *row != STREAMED);
        let keys = |rows: &[Row]| rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
        if keys(&rows) != keys(&self.database.rows) {
            return fail("INV1 the stream starts, a row is missing or there twice");
        }
        if rows != self.database.expected(&split.ranges) {
            return fail("INV2 a range's point is not that of its rows");
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        if self.config.bounded {
            return self.tasks.iter().all(|task| task.finished && task.up == Up::Running);
        }
        self.tasks.iter().filter(|task| task.opened).count() == 1 && self.tasks.iter().all(Task::idle)
    }

    fn check_end(&self) -> Outcome<()> {
        let mut rows = self.downstream();
        let streamed = rows.iter().filter(|row| **row == STREAMED).count();
        rows.retain(|row| *row != STREAMED);
        if rows
            .iter()
            .map(|row| (row.0, row.1))
            .ne(self.database.rows.iter().map(|row| (row.0, row.1)))
        {
            return fail("INV1 at the end a row is missing or there twice");
        }
        if self.config.bounded && streamed != 1 {
            return fail("at the end the stream has not run, or twice");
        }
        if !self.config.bounded && self.tasks.iter().filter(|task| task.state.stream().is_some()).count() != 1 {
            return fail("at the end there is not one stream");
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
