//! A second enumerator, written down rule by rule without regard to speed. With all rules on it must answer as the real
//! one does; with one of them off the model must fail, which proves that the model would notice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tidemark::assigner::{Action, CutProgress, Settings};
use tidemark::error::{ErrorKind, Result};
use tidemark::offset::Offset;
use tidemark::position::Incarnation;
use tidemark::split::{Chunk, FinishedRange, Split, StreamSplit, TableName, ToEnumerator, ToReader};

use crate::enumerator::Enumerator;
use crate::rules::{FirmAgain, Forget, Rules};

#[derive(Clone, Copy, PartialEq)]
enum Status {
    Planned,
    Assigned,
    Finished,
}

#[derive(Clone)]
struct Kept {
    range: FinishedRange,
    owner: Option<u32>,
    first: Option<u64>,
    firm: bool,
}

#[derive(Clone)]
pub struct LiteralState {
    offset: Option<Offset>,
    chunks: Option<BTreeMap<TableName, Vec<(Chunk, Status)>>>,
    planned: VecDeque<Chunk>,
    kept: Vec<Kept>,
    /// The stream split is out, to whom if that is known.
    stream: Option<Option<u32>>,
}

pub struct Literal {
    settings: Settings,
    rules: Rules,
    state: LiteralState,
    returned: Option<Vec<FinishedRange>>,
    frozen: Vec<FinishedRange>,
    registered: BTreeSet<u32>,
    told: BTreeSet<u32>,
    waiting: VecDeque<u32>,
    /// The newest checkpoint known complete, and who was heard of since.
    complete: u64,
    heard: BTreeSet<u32>,
    /// Acknowledgements that are to be sent.
    firm: Vec<(u32, FinishedRange)>,
}

impl Literal {
    fn hears(&self, subtask: u32) -> bool {
        !self.rules.silent_behind_a_notice || self.heard.contains(&subtask)
    }

    fn catch_up(&mut self, ask: bool, actions: &mut Vec<Action>) -> Result<()> {
        let mut firm = std::mem::take(&mut self.firm);
        firm.sort_by_key(|(subtask, _)| *subtask);
        for (subtask, range) in firm {
            match self.hears(subtask) || !self.listens(subtask) {
                true => self.acknowledge(Some(subtask), &range, actions),
                false => self.firm.push((subtask, range)),
            }
        }
        if self.state.stream.is_some() {
            self.end_splits(actions);
        }
        self.serve(actions);
        match ask {
            true => self.gate(actions),
            false => Ok(()),
        }
    }

    fn end_splits(&mut self, actions: &mut Vec<Action>) {
        for reader in self.registered.clone() {
            let told = match self.state.stream == Some(Some(reader)) {
                true => self.rules.its_reader_is_told,
                false => self.rules.others_are_told,
            };
            if told && self.hears(reader) && self.told.insert(reader) {
                actions.push(Action::NoMoreSplits { subtask: reader });
            }
        }
    }

    fn complete(&mut self, checkpoint: u64) {
        if checkpoint > self.complete {
            self.complete = checkpoint;
            self.heard.clear();
        }
        let implied = self.rules.later_implies_earlier;
        for kept in &mut self.state.kept {
            let holds = |first: u64| first == checkpoint || (implied && first <= checkpoint);
            if !kept.firm && kept.first.is_some_and(holds) {
                kept.firm = true;
                self.firm.extend(kept.owner.map(|owner| (owner, kept.range.clone())));
            }
        }
    }

    fn serve(&mut self, actions: &mut Vec<Action>) {
        while !self.state.planned.is_empty() {
            let hears = |subtask: &u32| self.hears(*subtask) && self.listens(*subtask);
            let Some(at) = self.waiting.iter().position(hears) else {
                return;
            };
            let subtask = self.waiting.remove(at).unwrap();
            self.assign_chunk(subtask, actions);
        }
    }

    fn assign_chunk(&mut self, subtask: u32, actions: &mut Vec<Action>) {
        let chunk = self.state.planned.pop_front().unwrap();
        self.mark(&chunk, Status::Assigned);
        let split = Split::Chunk(chunk);
        actions.push(Action::Assign { subtask, split });
    }

    fn mark(&mut self, chunk: &Chunk, status: Status) {
        let chunks = self.state.chunks.as_mut().unwrap().get_mut(&*chunk.table).unwrap();
        chunks.iter_mut().find(|(cut, _)| cut == chunk).unwrap().1 = status;
    }

    fn listens(&self, subtask: u32) -> bool {
        let silent = self.rules.told_get_no_answers && self.told.contains(&subtask);
        self.registered.contains(&subtask) && !silent
    }

    fn acknowledge(&self, subtask: Option<u32>, range: &FinishedRange, actions: &mut Vec<Action>) {
        if let Some(subtask) = subtask.filter(|&subtask| self.listens(subtask)) {
            let event = ToReader::Acknowledge(range.clone());
            actions.push(Action::Send { subtask, event });
        }
    }

    fn whole(&self) -> bool {
        let last_is_open = |chunks: &Vec<(Chunk, Status)>| chunks.last().is_some_and(|(c, _)| c.range.upper.is_none());
        match &self.state.chunks {
            Some(tables) => tables.values().all(last_is_open),
            None => self.state.offset.is_some(),
        }
    }

    fn tile(&self) -> bool {
        let Some(tables) = &self.state.chunks else {
            return true;
        };
        tables.keys().all(|name| {
            let ranges: Vec<_> = self.of_table(name).collect();
            if !self.rules.every_table_tiles && ranges.is_empty() {
                return !self.state.kept.is_empty();
            }
            !ranges.is_empty()
                && ranges[0].range.lower.is_none()
                && ranges[ranges.len() - 1].range.upper.is_none()
                && ranges.windows(2).all(|pair| pair[0].range.upper == pair[1].range.lower)
        })
    }

    fn covered(&self, chunk: &Chunk) -> bool {
        let mut next = chunk.range.lower.clone();
        for range in self
            .of_table(&chunk.table)
            .filter(|range| range.range.overlaps(&chunk.range))
        {
            if range.range.lower > next {
                return false;
            }
            match &range.range.upper {
                None => return true,
                Some(upper) => next = Some(upper.clone()),
            }
        }
        chunk.range.upper.is_some() && next >= chunk.range.upper
    }

    fn of_table(&self, name: &TableName) -> impl Iterator<Item = &FinishedRange> {
        self.state
            .kept
            .iter()
            .map(|kept| &kept.range)
            .filter(move |range| *range.table == *name)
    }

    fn report(&mut self, subtask: u32, range: FinishedRange, actions: &mut Vec<Action>) -> Result<()> {
        let (streaming, rules) = (self.state.stream.is_some(), self.rules.clone());
        if let Some(same) = self.state.kept.iter_mut().find(|kept| kept.range == range) {
            let overlap = rules.firm_again == FirmAgain::Overlap;
            if !overlap && (same.firm || (streaming && rules.keep_while_out)) {
                if same.firm {
                    self.acknowledge(Some(subtask), &range, actions);
                } else {
                    same.owner = Some(subtask);
                }
                return Ok(());
            }
        }
        let overlaps = |kept: &Kept| kept.range.table == range.table && kept.range.range.overlaps(&range.range);
        if rules.overlap_is_an_error && self.state.kept.iter().any(overlaps) {
            return Err(ErrorKind::Protocol(format!("overlap of {range:?}")).into());
        }
        self.state.kept.retain(|kept| !overlaps(kept));
        self.state.kept.push(Kept {
            range,
            owner: Some(subtask),
            first: None,
            firm: false,
        });
        self.state
            .kept
            .sort_by(|a, b| (&a.range.table, &a.range.range).cmp(&(&b.range.table, &b.range.range)));
        let mut chunks = self.state.chunks.take().unwrap();
        for (chunk, status) in chunks.values_mut().flatten() {
            if *status == Status::Assigned && self.covered(chunk) {
                *status = Status::Finished;
            }
        }
        self.state.chunks = Some(chunks);
        Ok(())
    }

    fn missing(&self, subtask: u32, have: u32, actions: &mut Vec<Action>) {
        if self.state.stream.is_some() && self.registered.contains(&subtask) {
            let of = self
                .state
                .kept
                .iter()
                .skip(have as usize)
                .take(self.settings.group_ranges);
            let ranges = of.map(|kept| kept.range.clone()).collect();
            let event = ToReader::Ranges { first: have, ranges };
            actions.push(Action::Send { subtask, event });
        }
    }

    fn gate(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        let out = self.rules.one_stream && self.state.stream.is_some();
        if out || !self.whole() {
            return Ok(());
        }
        if self.rules.finished_is_derived {
            if !self.tile() {
                return Ok(());
            }
        } else {
            let mut chunks = self.state.chunks.iter().flat_map(|tables| tables.values()).flatten();
            if !chunks.all(|(_, status)| *status == Status::Finished) {
                return Ok(());
            }
            if !self.tile() {
                return Err(ErrorKind::Protocol("all chunks are finished, the ranges do not tile".into()).into());
            }
        }
        let one = self.rules.one_reader_merely_tiles && self.settings.parallelism == 1;
        if self.rules.gate_wants_firm && !one && !self.state.kept.iter().all(|kept| kept.firm) {
            return Ok(());
        }
        if !self.rules.stream_to_the_registered {
            self.registered.insert(0);
            self.heard.insert(0);
        }
        let any = !self.rules.stream_to_the_untold;
        let mut free = self
            .registered
            .iter()
            .filter(|subtask| (any || !self.told.contains(subtask)) && self.hears(**subtask));
        let Some(&subtask) = (if any { free.next_back() } else { free.next() }) else {
            return Ok(());
        };
        self.frozen = self.ranges();
        let ends = || self.frozen.iter().map(|range| range.point.end());
        let offset = self.state.offset.clone().unwrap_or_else(|| {
            let mine_from = self.frozen.iter().map(|range| range.mine_from).min().unwrap();
            Offset::starting(Incarnation::default(), mine_from, ends().min().unwrap())
        });
        let end = self.settings.bounded.then(|| ends().max().unwrap_or(offset.commit));
        let returned = self.returned.take().unwrap_or_default();
        let needed = if returned.is_empty() {
            self.frozen.len()
        } else {
            returned.len()
        };
        let split = Split::Stream(StreamSplit {
            offset,
            end,
            needed: needed as u32,
            ranges: returned,
            tables: self
                .state
                .chunks
                .iter()
                .flat_map(|tables| tables.keys().cloned().map(Arc::new))
                .collect(),
            partitions: Vec::new(),
        });
        self.state.stream = Some(Some(subtask));
        actions.push(Action::Assign { subtask, split });
        self.end_splits(actions);
        Ok(())
    }
}

impl Enumerator for Literal {
    type State = LiteralState;
    type Rules = Rules;

    fn new(settings: Settings, rules: &Rules) -> Self {
        Literal {
            settings,
            rules: rules.clone(),
            state: LiteralState {
                offset: None,
                chunks: None,
                planned: VecDeque::new(),
                kept: Vec::new(),
                stream: None,
            },
            returned: None,
            frozen: Vec::new(),
            registered: BTreeSet::new(),
            told: BTreeSet::new(),
            waiting: VecDeque::new(),
            complete: 0,
            heard: BTreeSet::new(),
            firm: Vec::new(),
        }
    }

    fn restore(state: &LiteralState, settings: Settings, rules: &Rules) -> Result<Self> {
        let mut state = state.clone();
        state.stream = state.stream.map(|_| None);
        for kept in &mut state.kept {
            kept.first = None;
            if rules.restored_is_firm {
                kept.firm = true;
            }
        }
        Ok(Literal {
            state,
            ..Literal::new(settings, rules)
        })
    }

    fn start_tables(&mut self, tables: Vec<TableName>) -> Result<()> {
        self.state.chunks = Some(tables.into_iter().map(|table| (table, Vec::new())).collect());
        Ok(())
    }

    fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>> {
        self.state.offset = Some(offset);
        let mut actions = Vec::new();
        self.gate(&mut actions)?;
        Ok(actions)
    }

    fn listed(&mut self, registered: &[u32]) {
        self.registered.retain(|subtask| registered.contains(subtask));
        self.waiting.retain(|subtask| registered.contains(subtask));
    }

    fn register(&mut self, subtask: u32) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.registered.insert(subtask);
        self.waiting.retain(|&waiting| waiting != subtask);
        if self.rules.told_again {
            self.told.remove(&subtask);
        }
        self.heard.insert(subtask);
        self.catch_up(self.rules.ask_after_registration, &mut actions)?;
        Ok(actions)
    }

    fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.heard.insert(subtask);
        let ask = match event {
            ToEnumerator::Report(_) => self.rules.ask_after_report,
            ToEnumerator::Completed { .. } => self.rules.ask_after_notice,
            _ => self.rules.ask_after_report && self.rules.ask_after_notice && self.rules.ask_after_registration,
        };
        match event {
            ToEnumerator::Report(range) => self.report(subtask, range, &mut actions)?,
            ToEnumerator::Missing { have } => self.missing(subtask, have, &mut actions),
            ToEnumerator::Request if !self.listens(subtask) => {}
            ToEnumerator::Request if self.state.planned.is_empty() => {
                let event = ToReader::NoneNow;
                actions.push(Action::Send { subtask, event });
                if self.rules.none_now_is_remembered && !self.waiting.contains(&subtask) {
                    self.waiting.push_back(subtask);
                }
            }
            ToEnumerator::Request => self.assign_chunk(subtask, &mut actions),
            ToEnumerator::Completed { checkpoint } => {
                self.complete(checkpoint);
                self.heard.insert(subtask);
            }
            ToEnumerator::Restored { .. } => unreachable!("nobody asks which run counts"),
        }
        self.catch_up(ask, &mut actions)?;
        Ok(actions)
    }

    fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>> {
        for chunk in chunks {
            self.state.planned.push_back(chunk.clone());
            let tables = self.state.chunks.as_mut().unwrap();
            tables.get_mut(&*chunk.table).unwrap().push((chunk, Status::Planned));
        }
        let mut actions = Vec::new();
        self.catch_up(true, &mut actions)?;
        Ok(actions)
    }

    fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.registered.remove(&subtask);
        self.heard.remove(&subtask);
        self.firm.retain(|(owner, _)| *owner != subtask);
        self.waiting.retain(|&waiting| waiting != subtask);
        if self.rules.told_again {
            self.told.remove(&subtask);
        }
        for split in splits {
            match split {
                Split::Chunk(chunk) => {
                    self.mark(&chunk, Status::Planned);
                    self.state.planned.push_back(chunk);
                }
                Split::Stream(_) => {
                    self.state.stream = None;
                    if !self.rules.stream_is_rebuilt {
                        self.returned = Some(self.frozen.clone());
                    }
                }
                Split::Finished(_) => unreachable!("finished ranges are never assigned"),
                Split::OfRun { .. } => unreachable!("there is one run"),
            }
        }
        if !(self.rules.keep_while_out && self.state.stream.is_some()) {
            let forget = self.rules.forget;
            let is_gone = |kept: &Kept| {
                let of = kept.owner == Some(subtask);
                of && (forget == Forget::Everything || (forget == Forget::Provisional && !kept.firm))
            };
            let gone: Vec<_> = self.state.kept.iter().filter(|kept| is_gone(kept)).cloned().collect();
            self.state.kept.retain(|kept| !is_gone(kept));
            if !self.rules.plan_only_what_comes_back {
                let chunks: Vec<_> = self
                    .state
                    .chunks
                    .iter()
                    .flat_map(|tables| tables.values())
                    .flatten()
                    .collect();
                let touched = chunks.into_iter().map(|(chunk, _)| chunk).filter(|chunk| {
                    let of = |kept: &Kept| kept.range.table == chunk.table && kept.range.range.overlaps(&chunk.range);
                    gone.iter().any(of) && !self.state.planned.contains(chunk)
                });
                let again: Vec<_> = touched.cloned().collect();
                self.state.planned.extend(again);
            }
        }
        self.catch_up(true, &mut actions)?;
        Ok(actions)
    }

    fn snapshot(&mut self, checkpoint: u64) -> LiteralState {
        for kept in &mut self.state.kept {
            if !kept.firm && kept.first.is_none() {
                kept.first = Some(checkpoint);
            }
        }
        self.state.clone()
    }

    fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        self.complete(checkpoint);
        self.catch_up(self.rules.ask_after_notice, &mut actions)?;
        Ok(actions)
    }

    fn cut_progress(&self) -> Option<CutProgress> {
        let tables = self.state.chunks.as_ref()?;
        let next = |chunks: &Vec<(Chunk, Status)>| chunks.last().map(|(chunk, _)| chunk.range.upper.clone());
        let (name, lower) = tables
            .iter()
            .map(|(name, chunks)| (name, next(chunks)))
            .find(|(_, next)| *next != Some(None))?;
        Some(CutProgress {
            table: Arc::new(name.clone()),
            lower: lower.flatten(),
        })
    }

    fn is_undecided(&self) -> bool {
        self.state.chunks.is_none() && self.state.offset.is_none()
    }

    fn ranges(&self) -> Vec<FinishedRange> {
        self.state.kept.iter().map(|kept| kept.range.clone()).collect()
    }
}
