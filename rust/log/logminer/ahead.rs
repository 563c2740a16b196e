//! Looking ahead in the log: statements that altered a table stand behind the records that today's dictionary has put into
//! words, perhaps in files that are not read yet or not there yet.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::log::logminer::contents::{Contents, TableIndex};
use crate::log::logminer::faults::Faults;
use crate::log::logminer::source::{LogSource, Mined, MiningCall};
use crate::log::logminer::windows::{Window, Windows};
use crate::log::standstill::Standstill;
use crate::log::transactions::Transactions;
use crate::position::Scn;
use crate::row::zone::Zone;

/// A way through the log in front of what was read of it.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) windows: Windows,
    /// Up to here are the statements that led to the shapes that were known when it began.
    pub(super) end: Scn,
    /// How many those are, of each table.
    pub(super) shapes: Vec<usize>,
    begun: Instant,
    standstill: Standstill,
}

/// What a mining call needs.
pub(super) struct Call<'a> {
    pub(super) index: &'a mut TableIndex,
    pub(super) zone: &'a Zone,
    pub(super) faults: &'a mut Faults,
    pub(super) mined: &'a mut Mined,
}

impl Ahead {
    pub(super) fn new(windows: Windows, end: Scn, shapes: Vec<usize>, patience: Duration) -> Self {
        Ahead {
            windows,
            end,
            shapes,
            begun: Instant::now(),
            standstill: Standstill::new(patience),
        }
    }

    /// There is nothing to read behind `reached`, which is too little.
    ///
    /// # Errors
    /// Those of [`Standstill::look`].
    pub(super) fn wait(&mut self, reached: Scn, push: impl FnOnce() -> Result<bool>) -> Result<()> {
        self.standstill
            .look(self.end, reached, self.begun.elapsed(), push)
            .map_err(|error| error.doing("waiting for the statements that a table was altered by"))
    }

    /// Whether everything is read that it is for, once the log was read up to `end`.
    pub(super) fn is_over(&self, end: Option<Scn>) -> bool {
        end.is_some_and(|end| end >= self.end)
    }

    /// Adds the statements of a window, committed or not.
    ///
    /// # Errors
    /// Those of mining.
    pub(super) fn mine(
        &mut self,
        source: &mut impl LogSource,
        window: &Window,
        with: &mut Call<'_>,
        into: &mut Transactions,
    ) -> Result<()> {
        let mut contents = Contents::new(self.windows.sift(), with.zone);
        let call = MiningCall {
            files: &window.files,
            from: window.from,
        };
        let (index, faults) = (&mut *with.index, &mut *with.faults);
        with.mined.call(source, &call, &mut |row| {
            contents.take_statement(row, index, into, faults)
        })?;
        let (_, sieve) = contents.finish(into)?;
        self.windows.advance(window, sieve)
    }
}
