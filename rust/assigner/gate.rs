//! The gate between snapshot and stream: when the one stream split goes out, to whom, from where, and how its reader gets
//! the ranges.

use super::{Action, Assigner, Checkpointing, Start, StreamOut, assign};
use crate::error::{Error, ErrorKind, Result};
use crate::offset::Offset;
use crate::position::Incarnation;
use crate::split::{Split, StreamSplit, ToReader};

impl Assigner {
    /// Whether every key of every table is in a finished range.
    pub(super) fn covered(&self) -> bool {
        match self.start {
            Start::Undecided => false,
            Start::Stream(_) => true,
            Start::Tables { .. } => self.whole == self.tables.len() && self.tiled == self.tables.len(),
        }
    }

    /// Unaligned checkpoints let the stream's rows overtake those of the snapshot on their way to the sink; without
    /// checkpoints no range becomes firm. A single reader needs neither.
    pub(super) fn refuse_unsafe_checkpointing(&self) -> Result<()> {
        let unfinished = matches!(self.start, Start::Tables { .. }) && !self.is_streaming() && !self.covered();
        let (option, reason) = match self.settings.checkpointing {
            _ if !unfinished || self.settings.parallelism == 1 => return Ok(()),
            Checkpointing::Aligned => return Ok(()),
            Checkpointing::Unaligned => (
                "execution.checkpointing.unaligned.enabled",
                "a snapshot at a parallelism above 1 needs aligned checkpoints, without a timeout \
                 (execution.checkpointing.aligned-checkpoint-timeout = 0); they may be switched on again once the \
                 stream has begun",
            ),
            Checkpointing::None => (
                "execution.checkpointing.interval",
                "a snapshot at a parallelism above 1 cannot go over into the stream without checkpoints; set an \
                 interval, or give the source a parallelism of 1",
            ),
        };
        Err(ErrorKind::Option {
            option: option.into(),
            reason: reason.into(),
        }
        .into())
    }

    /// Hands the next group of frozen ranges to the stream's reader.
    pub(super) fn missing(&mut self, subtask: u32, have: u32, actions: &mut Vec<Action>) -> Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let owner = *stream.subtask.get_or_insert(subtask);
        let have = have as usize;
        let total: usize = self.tables.values().map(|table| table.ranges.len()).sum();
        if owner != subtask || have >= total {
            return Err(ErrorKind::Protocol(format!(
                "reader {subtask} asks for more than its {have} of {total} ranges, the stream is at reader {owner}"
            ))
            .into());
        }
        if !self.registered.contains(&subtask) {
            return Ok(());
        }
        let mut ranges = Vec::new();
        let mut bytes = 0;
        for range in self.ranges().skip(have).take(self.settings.group_ranges.max(1)) {
            bytes += range.size_bound();
            if bytes > self.settings.group_bytes && !ranges.is_empty() {
                break;
            }
            ranges.push(range.clone());
        }
        let first = have as u32;
        let event = ToReader::Ranges { first, ranges };
        actions.push(Action::Send { subtask, event });
        Ok(())
    }

    /// Lets the stream split out, if it is time.
    pub(super) fn ask_gate(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        if self.is_streaming() || !self.covered() {
            return Ok(());
        }
        if let Some(chunk) = self.planned.front() {
            let kind = ErrorKind::Protocol(format!("{:?} is finished and planned at once", chunk.range));
            return Err(Error::from(kind).on(&chunk.table));
        }
        // A single reader's rows cannot be overtaken, and its one checkpoint holds ranges and stream alike.
        if self.settings.parallelism > 1 && self.provisional > 0 {
            return Ok(());
        }
        let mut registered = self.registered.iter().copied();
        let Some(subtask) = registered.find(|subtask| self.is_at_hand(*subtask)) else {
            return Ok(());
        };
        let split = Split::Stream(self.stream_split()?);
        self.stream = Some(StreamOut { subtask: Some(subtask) });
        actions.push(assign(subtask, split));
        self.end_splits(actions);
        Ok(())
    }

    /// Tells those who can be told that there are no more splits: the stream's own reader too, which ends no sooner.
    pub(super) fn end_splits(&mut self, actions: &mut Vec<Action>) {
        let untold: Vec<_> = self.registered.difference(&self.told).copied().collect();
        for subtask in untold.into_iter().filter(|subtask| self.hearing.is_heard(*subtask)) {
            self.told.insert(subtask);
            actions.push(Action::NoMoreSplits { subtask });
        }
    }

    pub(super) fn stream_split(&self) -> Result<StreamSplit> {
        let ends = || self.ranges().map(|range| range.point.end());
        let offset = match &self.start {
            Start::Stream(offset) => Some(offset.clone()),
            Start::Undecided => None,
            Start::Tables { from } => from.or_else(|| ends().min()).map(|position| {
                let mine_from = self.mine_from.keys().next().copied().unwrap_or(position.scn);
                // It may lie behind the smallest point, where closed files hold nothing that is missing.
                let mine_from = from.map_or(mine_from, |from| mine_from.min(from.scn));
                Offset::starting(self.incarnation, mine_from, position)
            }),
        };
        let mut offset =
            offset.ok_or_else(|| ErrorKind::Internal("the gate opened before there was a point".into()))?;
        if offset.incarnation == Incarnation::default() {
            offset.incarnation = self.incarnation;
        }
        let end = ends().max().unwrap_or(offset.commit);
        Ok(StreamSplit {
            end: self.settings.bounded.then_some(end),
            needed: u32::try_from(self.ranges().count())
                .map_err(|_| ErrorKind::Internal("there are too many finished ranges".into()))?,
            ranges: Vec::new(),
            tables: self.tables.keys().cloned().collect(),
            partitions: self.partitions.clone(),
            offset,
        })
    }
}
