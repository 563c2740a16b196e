//! The stream phase of a run, and the state that a checkpoint keeps of it.

use std::sync::Arc;

use tidemark::log::logminer::reader::LogMinerReader;
use tidemark::log::{LogReader, Opening, Patience};
use tidemark::offset::Offset;
use tidemark::position::{Position, Scn};
use tidemark::row::batch::{Batch, BatchLimit, Mark};
use tidemark::split::StreamSplit;
use tidemark::stream::{OnTruncate, Step, Stream, StreamSettings};

use crate::codec::{ModelCodec, completion, decode, table_names};
use crate::database::Shared;
use crate::log::{FakeLog, Purpose};
use crate::mined::{self, Mined};
use crate::model::ModelClock;
use crate::outcome::Outcome;
use crate::rules::Fault;
use crate::sink::Sink;

pub struct Running {
    database: Shared,
    fault: Fault,
    stream: Stream,
    /// The model's own log, if that is what is read.
    log: Option<FakeLog>,
    batch: Batch,
    /// Units of the batch that are out.
    units: usize,
    /// The next one is half out (faulty runs only).
    half: bool,
    /// As of the last row, or what a faulty run takes for it.
    state: StreamSplit,
    /// As of the last row.
    offset: Offset,
    filter_end: Position,
}

impl Running {
    pub fn open(
        database: &Shared,
        split: StreamSplit,
        batch: BatchLimit,
        filter_end: Position,
        visibility: Patience,
    ) -> Outcome<Self> {
        let offset = split.offset.clone();
        let fault = database.lock().rules.fault;
        let mut log = None;
        let reader: Box<dyn LogReader> = if database.lock().rules.mined {
            let at = Opening {
                mine_from: offset.next_scn,
                position: offset.commit,
            };
            let settings = mined::settings(offset.next_scn.0);
            let database = database.clone();
            Box::new(LogMinerReader::open(
                Mined { database },
                mined::captured(),
                settings,
                at,
            )?)
        } else {
            let own = FakeLog::open(database, offset.next_scn, offset.commit, Purpose::Stream);
            Box::new(log.insert(own).clone())
        };
        let settings = StreamSettings {
            batch,
            on_truncate: OnTruncate::Fail,
            on_mismatch: tidemark::log::OnFault::Fail,
        };
        let judges_once = fault == Fault::KeyChangeJudgedOnce;
        let codec = Arc::new(ModelCodec { judges_once });
        let clock = ModelClock {
            database: database.clone(),
            now: 0,
        };
        let stream = Stream::open(reader, codec, table_names().to_vec(), &split, settings)?
            .completing(completion(database, visibility), Box::new(clock));
        Ok(Running {
            database: database.clone(),
            fault,
            stream,
            log,
            batch: Batch::default(),
            units: 0,
            half: false,
            state: split,
            offset,
            filter_end,
        })
    }

    /// Where a bounded stream ends.
    pub fn end(&self) -> Option<Position> {
        self.state.end
    }

    /// What a checkpoint keeps now.
    pub fn checkpoint(&self) -> StreamSplit {
        let mut state = self.state.clone();
        match (self.fault, &self.log) {
            (Fault::PartialForgotten, _) => state.offset.partial = None,
            (Fault::NextScnOfReadAhead, Some(log)) => state.offset.next_scn = log.next_scn_of_read_ahead(),
            _ => {}
        }
        state
    }

    /// Lets a unit out or reads on; whether the stream is over, or nothing will come any more.
    pub fn step(&mut self, sink: &mut Sink) -> Outcome<bool> {
        if self.units < self.batch.unit_count() {
            self.emit_unit(sink)?;
            return Ok(false);
        }
        self.batch.clear();
        self.units = 0;
        let at_rest = self.database.lock().is_at_rest();
        Ok(match self.stream.read(&mut self.batch)? {
            Step::Batch => false,
            Step::Idle => at_rest,
            Step::Ended => true,
        })
    }

    fn emit_unit(&mut self, sink: &mut Sink) -> Outcome<()> {
        let first = self.units.checked_sub(1).map_or(0, |unit| self.batch.unit_end(unit));
        let mut rows = first..self.batch.unit_end(self.units);
        let mark = *self.batch.mark(self.units);
        if self.fault == Fault::HalvesApart && rows.len() == 2 {
            self.half = !self.half;
            rows = if self.half {
                first..first + 1
            } else {
                first + 1..first + 2
            };
        }
        for row in rows {
            let (kind, out) = (self.batch.kind(row), decode(self.batch.row(row)));
            sink.put(kind, out)?;
            let (Mark::Inside { commit, .. } | Mark::Over { commit, .. }) = mark else {
                continue;
            };
            if !self.filter_end.includes(commit) {
                sink.note(kind, out.key, out.version);
            }
        }
        if !self.half {
            self.units += 1;
        }
        mark.apply(&mut self.offset);
        if self.fault != Fault::StateOfBatches || self.units == self.batch.unit_count() {
            self.keep_state();
        }
        Ok(())
    }

    fn keep_state(&mut self) {
        let state = &mut self.state;
        state.offset = self.offset.clone();
        if self.fault == Fault::CommitIsScn && state.offset.partial.is_none() {
            state.offset.commit = Position::before(Scn(state.offset.commit.scn.0 + 1));
        }
        let spent = match self.fault {
            Fault::RangesDroppedEarly => state.ranges.iter().map(|range| range.point.end()).min(),
            _ => self.stream.filter_end(),
        };
        if spent.is_some_and(|spent| state.offset.commit >= spent) {
            state.ranges.clear();
            state.needed = 0;
        }
    }
}
