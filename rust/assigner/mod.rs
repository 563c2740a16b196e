//! The enumerator's whole decision: which split goes out next. A pure state machine: calls in, [`Action`]s out, no I/O.
//!
//! Chunks go out on request, finished ranges come back as reports. A report is *provisional* until a checkpoint that
//! holds it is complete, then *firm* for ever, which is acknowledged. When the ranges tile all tables and are firm,
//! the gate opens: the one stream split goes out, and all readers are told that there are no more splits. Behind that
//! a reader is sent nothing that it does not wait for, since it may have finished; nor behind a checkpoint's notice until it
//! is heard of ([`hearing`]). Everything here is called from one thread, the coordinator's.

mod gate;
mod hearing;
mod progress;
mod ranges;
mod reports;
mod settings;
mod state;
mod table;
#[cfg(test)]
mod tests;

pub use progress::{CutProgress, Progress};
pub use settings::{Checkpointing, Settings};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::split::{Chunk, FinishedRange, Partition, Run, Split, TableName, ToEnumerator, ToReader};
use hearing::Hearing;
use table::Table;

/// What is to be done in Flink's context, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `assignSplit`.
    Assign {
        /// To which reader.
        subtask: u32,
        /// What.
        split: Split,
    },
    /// `sendEventToSourceReader`.
    Send {
        /// To which reader.
        subtask: u32,
        /// What.
        event: ToReader,
    },
    /// `signalNoMoreSplits`.
    NoMoreSplits {
        /// To which reader.
        subtask: u32,
    },
}

/// The enumerator's decision and its state.
#[derive(Debug)]
pub struct Assigner {
    settings: Settings,
    incarnation: Incarnation,
    start: Start,
    tables: BTreeMap<Arc<TableName>, Table>,
    partitions: Vec<Partition>,
    planned: VecDeque<Chunk>,
    /// How many kept ranges are provisional.
    provisional: usize,
    /// How often each `mine_from` stands among the kept ranges.
    mine_from: BTreeMap<Scn, usize>,
    /// How many tables are cut to the end, and tiled.
    whole: usize,
    tiled: usize,
    stream: Option<StreamOut>,
    registered: BTreeSet<u32>,
    /// Told that there are no more splits since their reset.
    told: BTreeSet<u32>,
    /// Told that there is none now, oldest first.
    waiting: VecDeque<u32>,
    hearing: Hearing,
    run: Run,
}

#[derive(Debug)]
enum Start {
    Undecided,
    Stream(Offset),
    Tables { from: Option<Position> },
}

/// The stream split is in a reader's hands.
#[derive(Debug)]
struct StreamOut {
    /// Not known after a restore.
    subtask: Option<u32>,
}

impl Assigner {
    /// An assigner that has decided nothing; [`Assigner::start_tables`] or [`Assigner::start_stream`] comes next.
    pub fn new(settings: Settings) -> Self {
        Assigner {
            settings,
            incarnation: Incarnation::default(),
            start: Start::Undecided,
            tables: BTreeMap::new(),
            partitions: Vec::new(),
            planned: VecDeque::new(),
            provisional: 0,
            mine_from: BTreeMap::new(),
            whole: 0,
            tiled: 0,
            stream: None,
            registered: BTreeSet::new(),
            told: BTreeSet::new(),
            waiting: VecDeque::new(),
            hearing: Hearing::default(),
            run: Run::default(),
        }
    }

    /// The same for a job that reads everything again.
    pub fn of_run(settings: Settings, number: u32) -> Self {
        Assigner {
            run: Run {
                number,
                is_mixed: false,
            },
            ..Assigner::new(settings)
        }
    }

    /// How often the job has read everything again.
    pub fn run(&self) -> Run {
        self.run
    }

    /// Says whether a reader may still hold splits of an earlier run.
    pub fn set_mixed(&mut self, is_mixed: bool) {
        self.run.is_mixed = is_mixed;
    }

    /// Decides for a snapshot of these tables and a stream behind it, from `from` on or, without it, from the smallest
    /// point.
    ///
    /// # Errors
    /// `Option` where the way of checkpointing cannot bring the snapshot to its end; `Catalog` without a table;
    /// `Internal` if the start was decided before.
    pub fn start_tables(&mut self, tables: Vec<TableName>, from: Option<Position>) -> Result<()> {
        self.undecided()?;
        if tables.is_empty() {
            return Err(ErrorKind::Catalog("there is no table to capture".into()).into());
        }
        self.start = Start::Tables { from };
        for table in tables.into_iter().map(Table::new) {
            self.tables.insert(table.name.clone(), table);
        }
        self.refuse_unsafe_checkpointing()
    }

    /// Says which partitions the tables have at the beginning of the snapshot, where the log names these alone.
    pub fn set_partitions(&mut self, partitions: Vec<Partition>) {
        self.partitions = partitions;
    }

    /// Decides for the stream alone.
    ///
    /// # Errors
    /// `Internal` if the start was decided before.
    pub fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>> {
        self.undecided()?;
        self.start = Start::Stream(offset);
        let mut actions = Vec::new();
        self.ask_gate(&mut actions)?;
        Ok(actions)
    }

    /// Says which log the database has now. It becomes part of the state, and of the stream's offset.
    ///
    /// # Errors
    /// `State` if the state belongs to another log.
    pub fn set_incarnation(&mut self, incarnation: Incarnation) -> Result<()> {
        if self.incarnation != Incarnation::default() && self.incarnation != incarnation {
            return Err(ErrorKind::State(format!(
                "the snapshot was begun on log {}, the database now has log {incarnation}",
                self.incarnation
            ))
            .into());
        }
        self.incarnation = incarnation;
        Ok(())
    }

    /// Says which readers Flink's context lists now; to be called first in each turn of the coordinator's thread. Those
    /// that it no longer lists (they failed, their reset is to come) are sent nothing.
    pub fn listed(&mut self, registered: &[u32]) {
        self.registered.retain(|subtask| registered.contains(subtask));
        let registered = &self.registered;
        self.waiting.retain(|subtask| registered.contains(subtask));
    }

    /// A reader has registered (`addReader`), for the first time or after its reset.
    ///
    /// # Errors
    /// `Protocol` where the kept ranges contradict each other.
    pub fn register(&mut self, subtask: u32) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.registered.insert(subtask);
        self.hearing.heard_of(subtask);
        // Where the stream is out its own reader is told too that there are no more splits: if it had finished before its
        // reset, it comes back with nothing.
        self.catch_up(&mut actions)?;
        Ok(actions)
    }

    /// A reader has sent an event.
    ///
    /// # Errors
    /// `Protocol` where a report contradicts what is kept.
    pub fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        if let ToEnumerator::Completed { checkpoint } = event {
            // The coordinator's own notice may come later, or never.
            self.make_firm(checkpoint);
        }
        self.hearing.heard_of(subtask);
        match event {
            ToEnumerator::Request => self.request(subtask, &mut actions),
            ToEnumerator::Report(range) => self.report(subtask, range, &mut actions)?,
            ToEnumerator::Missing { have } => self.missing(subtask, have, &mut actions)?,
            // That it was heard of is all, or it is answered by who knows whether its run counts.
            ToEnumerator::Completed { .. } | ToEnumerator::Restored { .. } => {}
        }
        self.catch_up(&mut actions)?;
        Ok(actions)
    }

    /// Takes the next chunks of a table that [`Assigner::cut_progress`] named, in key order; the one without an upper
    /// bound is the table's last.
    ///
    /// # Errors
    /// `Internal` if they do not go on where the table was left.
    pub fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>> {
        for chunk in chunks {
            let table = self.tables.get_mut(&*chunk.table).ok_or_else(|| {
                let kind = ErrorKind::Internal("a table was cut that is not captured".into());
                Error::from(kind).on(&chunk.table)
            })?;
            table.add_chunk(&chunk)?;
            self.whole += usize::from(table.whole);
            let table = table.name.clone();
            self.planned.push_back(Chunk { table, ..chunk });
        }
        let mut actions = Vec::new();
        self.catch_up(&mut actions)?;
        Ok(actions)
    }

    /// A reader was reset (`addSplitsBack`): these splits were assigned to it after the checkpoint that it goes back to.
    /// To be called with an empty list too.
    ///
    /// # Errors
    /// `Protocol` where the list contradicts what is kept.
    pub fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.registered.remove(&subtask);
        self.hearing.forget(subtask);
        self.told.remove(&subtask);
        self.waiting.retain(|&waiting| waiting != subtask);
        for split in splits {
            match split {
                Split::Chunk(chunk) => self.planned.push_back(chunk),
                // Thrown away: what it knows of the ranges may be forgotten in a moment.
                Split::Stream(_) => self.stream = None,
                Split::OfRun { .. } => {
                    let kind = ErrorKind::Internal("a split of a run came to one run's assigner".into());
                    return Err(kind.into());
                }
                Split::Finished(range) => {
                    let kind = ErrorKind::Protocol("a finished range came back, though none was ever assigned".into());
                    return Err(Error::from(kind).on(&range.table));
                }
            }
        }
        if self.stream.is_none() {
            self.forget(subtask);
        } else if let Some(chunk) = self.planned.front() {
            let kind = ErrorKind::Protocol("a chunk came back behind the stream split".into());
            return Err(Error::from(kind).on(&chunk.table));
        }
        self.catch_up(&mut actions)?;
        Ok(actions)
    }

    /// A checkpoint is complete, and with it every earlier one whose notice may have been lost. What follows from it goes to
    /// each reader when it says that it goes on ([`ToEnumerator::Completed`]).
    ///
    /// # Errors
    /// `Protocol` where the kept ranges contradict each other.
    pub fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.make_firm(checkpoint);
        self.catch_up(&mut actions)?;
        Ok(actions)
    }

    /// Whether a reader can be sent something: it is there, and was not told that there are no more splits. Behind that it
    /// may be gone as soon as it has nothing left to do, and an event that misses its task fails it.
    fn listens(&self, subtask: u32) -> bool {
        self.registered.contains(&subtask) && !self.told.contains(&subtask)
    }

    fn undecided(&self) -> Result<()> {
        if self.is_undecided() {
            return Ok(());
        }
        Err(ErrorKind::Internal("the start of the job was decided twice".into()).into())
    }

    fn request(&mut self, subtask: u32, actions: &mut Vec<Action>) {
        if !self.listens(subtask) {
            return;
        }
        match self.planned.pop_front() {
            Some(chunk) => actions.push(assign(subtask, Split::Chunk(chunk))),
            None => {
                if !self.waiting.contains(&subtask) {
                    self.waiting.push_back(subtask);
                }
                let event = ToReader::NoneNow;
                actions.push(Action::Send { subtask, event });
            }
        }
    }

    /// Gives planned chunks to those who were told that there was none.
    fn serve(&mut self, actions: &mut Vec<Action>) {
        let mut next = 0;
        while let Some(&subtask) = self.waiting.get(next) {
            if !self.is_at_hand(subtask) {
                next += 1;
                continue;
            }
            let Some(chunk) = self.planned.pop_front() else { return };
            self.waiting.remove(next);
            actions.push(assign(subtask, Split::Chunk(chunk)));
        }
    }
}

fn assign(subtask: u32, split: Split) -> Action {
    Action::Assign { subtask, split }
}

fn acknowledge(subtask: u32, range: FinishedRange) -> Action {
    let event = ToReader::Acknowledge(range);
    Action::Send { subtask, event }
}
