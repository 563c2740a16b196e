//! What must hold at the gate, when the stream opens, and at the end.

use super::*;

impl<E: Enumerator> World<E> {
    pub(super) fn downstream(&self) -> Vec<Row> {
        let logs = self.tasks.iter().flat_map(|task| &task.log);
        let mut rows: Vec<_> = self.base.iter().chain(logs).copied().collect();
        rows.sort_unstable();
        rows
    }

    pub(super) fn check_tiles(&self, ranges: &[FinishedRange]) -> Outcome<()> {
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

    pub(super) fn check_gate(&mut self, offset: &Offset) -> Outcome<()> {
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

    pub(super) fn check_stream(&mut self, subtask: usize) -> Outcome<()> {
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

    pub(super) fn is_done(&self) -> bool {
        if self.config.bounded {
            return self.tasks.iter().all(|task| task.finished && task.up == Up::Running);
        }
        self.tasks.iter().filter(|task| task.opened).count() == 1 && self.tasks.iter().all(Task::idle)
    }

    pub(super) fn check_end(&self) -> Outcome<()> {
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
