//! The log phase of a reader: batches of the stream on their way to the fetcher.

use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::position::Position;
use crate::reader::batch::BatchBuilder;
use crate::reader::capture::Capture;
use crate::reader::delivery::{Delivery, Meaning};
use crate::reader::worker::{Output, Worker};
use crate::row::batch::Batch;
use crate::snapshot::wait::Clock;
use crate::split::{StreamSplit, TableName};
use crate::stop::RealClock;
use crate::stream::{Step, Stream, StreamSettings};

/// How often the list of files is looked through for the headroom.
const HEADROOM_EVERY: Duration = Duration::from_secs(1);

impl Worker {
    pub(super) fn stream(&mut self, capture: &mut dyn Capture, split: &StreamSplit) -> Result<()> {
        self.open_tables(capture, split)?;
        let log = capture.log_at(split.offset.next_scn, split.offset.commit, &split.partitions)?;
        let codec = capture.codec();
        let settings = StreamSettings {
            batch: self.limits.batch,
            on_truncate: self.limits.on_truncate,
            on_mismatch: self.limits.on_mismatch,
        };
        let mut stream = Stream::open(log, codec.clone(), capture.tables().to_vec(), split, settings)?;
        if let Some(completion) = capture.completion(self.limits.rounds.visibility) {
            let clock = Box::new(RealClock::new(self.stopped.clone()));
            stream = stream.completing(completion, clock);
        }
        let filter_end = stream.filter_end();
        log::info!(
            "the stream begins at {:?} behind {} ranges",
            split.offset,
            split.ranges.len()
        );
        for range in &split.ranges {
            log::debug!("range {:?} of {} at {:?}", range.range, range.table, range.point);
        }
        let mut clock = RealClock::new(self.stopped.clone());
        let (shortest, longest) = stream.idle();
        let mut pause = shortest;
        let mut rows = Batch::default();
        let mut looked = Instant::now();
        let mut headroom_asked: Option<Instant> = None;
        loop {
            if clock.is_stopped() {
                return Err(ErrorKind::Closed.into());
            }
            if looked.elapsed() >= self.limits.look_for_tables {
                looked = Instant::now();
                self.look_for_tables(capture);
            }
            rows.clear();
            let step = stream.read(&mut rows)?;
            if let Some(partitions) = stream.partitions() {
                self.shared.lock().state.set_stream_partitions(partitions);
            }
            self.shared.note_progress(stream.progress());
            self.shared
                .counts
                .note_stream(stream.figures(), stream.truncates_ignored());
            self.shared.counts.note_nulled(codec.nulled_values());
            self.shared.counts.note_unavailable(1, stream.unavailable());
            if headroom_asked.is_none_or(|asked| asked.elapsed() >= HEADROOM_EVERY) {
                headroom_asked = Some(Instant::now());
                let needed = self.shared.lock().state.stream().map(|split| split.offset.safe);
                self.note_headroom(needed.and_then(|needed| stream.headroom(needed)));
            }
            match step {
                Step::Batch => {
                    if rows.row_count() > 0 {
                        pause = shortest;
                        if let Some(micros) = stream.newest_commit() {
                            self.shared.note_commit(micros);
                        }
                    }
                    let delivery = self.stream_delivery(&rows, filter_end)?;
                    rows.clear();
                    self.send(Ok(Output::Delivery(delivery)))?;
                }
                Step::Idle => {
                    clock.pause(pause);
                    pause = (pause * 2).min(longest);
                }
                Step::Ended => {
                    let delivery = Delivery {
                        batch: None,
                        meaning: Meaning::StreamEnd,
                    };
                    return self.send(Ok(Output::Delivery(delivery)));
                }
            }
        }
    }

    /// Leaves the captured tables at those that the split has, as far as they are there.
    fn open_tables(&mut self, capture: &mut dyn Capture, split: &StreamSplit) -> Result<()> {
        if split.tables.is_empty() {
            capture.keep(None)?;
        } else {
            let found = capture.tables().to_vec();
            for table in capture.keep(Some(&split.tables))? {
                log::warn!("table {table} is captured no longer: it is not matched any more, or it was dropped");
            }
            for table in found.iter().filter(|table| !split.tables.contains(table)) {
                warn_of_newcomer(table);
            }
        }
        self.shared.lock().state.set_stream_tables(capture.tables());
        Ok(())
    }

    /// Says which tables have come to match since the last look. What stands in the way of that is no reason to stop.
    fn look_for_tables(&self, capture: &mut dyn Capture) {
        match capture.newcomers() {
            Ok(new) => new.iter().for_each(warn_of_newcomer),
            Err(error) => log::warn!("whether there are new tables could not be seen: {error}"),
        }
    }

    fn stream_delivery(&mut self, rows: &Batch, filter_end: Option<Position>) -> Result<Delivery> {
        let mut builder = BatchBuilder::with_capacity(rows.bytes().len());
        let mut units = Vec::with_capacity(rows.unit_count());
        let mut row = 0;
        for unit in 0..rows.unit_count() {
            let end = rows.unit_end(unit);
            for number in row..end {
                builder.row(number > row, |out| {
                    out.extend_from_slice(rows.row(number));
                    Ok(())
                })?;
                builder.commit_time(rows.commit_micros(number).div_euclid(1000));
            }
            row = end;
            units.push((end as u32, *rows.mark(unit)));
        }
        let batch = if row == 0 {
            None
        } else {
            self.batches += 1;
            Some(builder.finish(self.batches))
        };
        Ok(Delivery {
            batch,
            meaning: Meaning::Stream { units, filter_end },
        })
    }
}

fn warn_of_newcomer(table: &TableName) {
    log::warn!(
        "table {table} is not captured: it came to match after the job was started, and its rows were never read; a job \
         that is started anew has it"
    );
}
