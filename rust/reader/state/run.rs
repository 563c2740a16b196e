//! Which run the reader's splits are of: where the log may be gone that they need, it asks before it reads any of them.

use super::{ReaderState, Todo};
use crate::error::{ErrorKind, Result};
use crate::position::Scn;
use crate::split::ToEnumerator;

/// The run, and whether it counts.
#[derive(Debug, Default)]
pub(super) struct OfRun {
    pub(super) number: u32,
    /// It asks at its start.
    asks: bool,
    /// It has asked, and is not answered.
    pub(super) waits: bool,
}

impl ReaderState {
    /// From its start on the reader does nothing with what it was restored with before it has asked whether that counts.
    pub fn ask_first(&mut self) {
        self.run.asks = true;
    }

    /// The run of its splits.
    pub fn run(&self) -> u32 {
        self.run.number
    }

    /// The oldest place of the log that ranges need which are not acknowledged.
    pub fn oldest_owed(&self) -> Option<Scn> {
        self.unacknowledged.values().map(|range| range.mine_from).min()
    }

    /// Whether a split of a run is to be taken. Of what was restored, the latest run counts; later on there is one alone.
    pub(super) fn takes(&mut self, run: u32) -> Result<bool> {
        if run == self.run.number {
            return Ok(true);
        }
        if self.started && (run < self.run.number || self.holds()) {
            let text = format!(
                "a split of run {run} was assigned beside those of run {}",
                self.run.number
            );
            return Err(ErrorKind::Protocol(text).into());
        }
        let is_later = run > self.run.number;
        if is_later {
            self.forget(run);
        }
        Ok(is_later)
    }

    /// What it has to ask at its start, if anything.
    pub(super) fn question(&mut self) -> Option<Todo> {
        if !self.run.asks {
            return None;
        }
        self.run.waits = self.holds();
        let of_stream = self.stream().map(|split| split.offset.next_scn);
        Some(Todo::Send(ToEnumerator::Restored {
            run: self.run.waits.then_some(self.run.number),
            needed: of_stream.into_iter().chain(self.oldest_owed()).min(),
        }))
    }

    /// This run counts: what it holds of another one is void.
    pub(super) fn take_run(&mut self, run: u32) -> Result<Vec<Todo>> {
        if !std::mem::take(&mut self.run.waits) || run < self.run.number {
            let text = format!(
                "run {run} was told to a reader of run {} that did not ask",
                self.run.number
            );
            return Err(ErrorKind::Protocol(text).into());
        }
        if run > self.run.number {
            self.forget(run);
        }
        Ok(self.begin())
    }

    fn holds(&self) -> bool {
        !self.chunks.is_empty() || !self.pages.is_empty() || !self.unacknowledged.is_empty() || self.stream.is_some()
    }

    fn forget(&mut self, run: u32) {
        self.chunks.clear();
        self.unacknowledged.clear();
        self.stream = None;
        self.run.number = run;
    }
}
