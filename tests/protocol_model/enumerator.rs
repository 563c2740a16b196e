//! What the model asks of an enumerator: the real one, the literal one, or both side by side.

use tidemark::assigner::{Action, Assigner, CutProgress, Settings};
use tidemark::error::Result;
use tidemark::offset::Offset;
use tidemark::split::{Chunk, FinishedRange, Split, TableName, ToEnumerator};

use crate::literal::{Literal, LiteralState};
use crate::rules::Rules;

pub trait Enumerator: Sized {
    /// What a checkpoint keeps.
    type State: Clone;
    /// What can be switched off.
    type Rules: Clone + Default;

    fn new(settings: Settings, rules: &Self::Rules) -> Self;
    fn restore(state: &Self::State, settings: Settings, rules: &Self::Rules) -> Result<Self>;
    fn start_tables(&mut self, tables: Vec<TableName>) -> Result<()>;
    fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>>;
    fn listed(&mut self, registered: &[u32]);
    fn register(&mut self, subtask: u32) -> Result<Vec<Action>>;
    fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>>;
    fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>>;
    fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>>;
    fn snapshot(&mut self, checkpoint: u64) -> Self::State;
    fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>>;
    fn cut_progress(&self) -> Option<CutProgress>;
    fn is_undecided(&self) -> bool;
    fn ranges(&self) -> Vec<FinishedRange>;
}

impl Enumerator for Assigner {
    type State = Vec<u8>;
    type Rules = ();

    fn new(settings: Settings, (): &()) -> Self {
        Assigner::new(settings)
    }
    fn restore(state: &Vec<u8>, settings: Settings, (): &()) -> Result<Self> {
        Assigner::restore(state, settings)
    }
    fn start_tables(&mut self, tables: Vec<TableName>) -> Result<()> {
        self.start_tables(tables, None)
    }
    fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>> {
        self.start_stream(offset)
    }
    fn listed(&mut self, registered: &[u32]) {
        self.listed(registered);
    }
    fn register(&mut self, subtask: u32) -> Result<Vec<Action>> {
        self.register(subtask)
    }
    fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        self.event(subtask, event)
    }
    fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>> {
        self.cut(chunks)
    }
    fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        self.add_splits_back(splits, subtask)
    }
    fn snapshot(&mut self, checkpoint: u64) -> Vec<u8> {
        self.snapshot(checkpoint)
    }
    fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>> {
        self.checkpoint_complete(checkpoint)
    }
    fn cut_progress(&self) -> Option<CutProgress> {
        self.cut_progress()
    }
    fn is_undecided(&self) -> bool {
        self.is_undecided()
    }
    fn ranges(&self) -> Vec<FinishedRange> {
        self.ranges().cloned().collect()
    }
}

/// The real and the literal enumerator on the same calls: whatever they answer must be the same.
pub struct Both {
    real: Assigner,
    literal: Literal,
}

impl Both {
    fn agree<T: PartialEq + std::fmt::Debug>(real: Result<T>, literal: Result<T>) -> Result<T> {
        match (real, literal) {
            (Ok(real), Ok(literal)) => {
                assert_eq!(real, literal, "the real assigner and the literal one differ");
                Ok(real)
            }
            (real, literal) => panic!("real: {real:?}, literal: {literal:?}"),
        }
    }
}

impl Enumerator for Both {
    type State = (Vec<u8>, LiteralState);
    type Rules = ();

    fn new(settings: Settings, (): &()) -> Self {
        Both {
            real: Assigner::new(settings.clone()),
            literal: Literal::new(settings, &Rules::default()),
        }
    }
    fn restore(state: &Self::State, settings: Settings, (): &()) -> Result<Self> {
        Ok(Both {
            real: Assigner::restore(&state.0, settings.clone())?,
            literal: Literal::restore(&state.1, settings, &Rules::default())?,
        })
    }
    fn start_tables(&mut self, tables: Vec<TableName>) -> Result<()> {
        self.real.start_tables(tables.clone(), None)?;
        self.literal.start_tables(tables)
    }
    fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>> {
        Both::agree(
            self.real.start_stream(offset.clone()),
            self.literal.start_stream(offset),
        )
    }
    fn listed(&mut self, registered: &[u32]) {
        self.real.listed(registered);
        self.literal.listed(registered);
    }
    fn register(&mut self, subtask: u32) -> Result<Vec<Action>> {
        Both::agree(self.real.register(subtask), self.literal.register(subtask))
    }
    fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        Both::agree(
            self.real.event(subtask, event.clone()),
            self.literal.event(subtask, event),
        )
    }
    fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>> {
        Both::agree(self.real.cut(chunks.clone()), self.literal.cut(chunks))
    }
    fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        Both::agree(
            self.real.add_splits_back(splits.clone(), subtask),
            self.literal.add_splits_back(splits, subtask),
        )
    }
    fn snapshot(&mut self, checkpoint: u64) -> Self::State {
        (self.real.snapshot(checkpoint), self.literal.snapshot(checkpoint))
    }
    fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>> {
        Both::agree(
            self.real.checkpoint_complete(checkpoint),
            self.literal.checkpoint_complete(checkpoint),
        )
    }
    fn cut_progress(&self) -> Option<CutProgress> {
        assert_eq!(self.real.cut_progress(), self.literal.cut_progress());
        self.real.cut_progress()
    }
    fn is_undecided(&self) -> bool {
        self.real.is_undecided()
    }
    fn ranges(&self) -> Vec<FinishedRange> {
        let ranges: Vec<_> = self.real.ranges().cloned().collect();
        assert_eq!(ranges, self.literal.ranges());
        ranges
    }
}
