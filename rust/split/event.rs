//! What readers and enumerator tell each other, beside splits.

use super::{FinishedRange, VERSION, read_ranges, write_ranges};
use crate::error::{ErrorKind, Result};
use crate::position::Scn;
use crate::wire::{Reader, Writer};

/// What a reader tells the enumerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToEnumerator {
    /// It has room for another chunk.
    Request,
    /// All rows of a range have left it.
    Report(FinishedRange),
    /// Its stream split lacks ranges; so many have arrived.
    Missing {
        /// How many of the frozen ranges it has, in their order.
        have: u32,
    },
    /// It was told that a checkpoint is complete, and goes on: who is stopped with a savepoint says nothing of it.
    Completed {
        /// Which one.
        checkpoint: u64,
    },
    /// What it was restored with, of which it reads nothing before it knows the run that counts ([`ToReader::Run`]).
    Restored {
        /// Of which run that is; `None`: it has nothing, and waits for nothing.
        run: Option<u32>,
        /// The oldest place of the log that it needs.
        needed: Option<Scn>,
    },
}

/// What the enumerator tells a reader, beside splits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToReader {
    /// No chunk is at hand now: close the round.
    NoneNow,
    /// The range is firm: it may leave the reader's state.
    Acknowledge(FinishedRange),
    /// The next ranges of the stream split, in their order from `first` on.
    Ranges {
        /// Number of the first one.
        first: u32,
        /// The ranges.
        ranges: Vec<FinishedRange>,
    },
    /// Answers [`ToEnumerator::Restored`]: this run counts, what belongs to another one is void.
    Run(u32),
}

impl ToEnumerator {
    /// The bytes of this event.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::versioned(VERSION);
        match self {
            ToEnumerator::Request => out.u8(0),
            ToEnumerator::Report(range) => {
                out.u8(1);
                range.write(&mut out);
            }
            ToEnumerator::Missing { have } => {
                out.u8(2);
                out.u64(u64::from(*have));
            }
            ToEnumerator::Completed { checkpoint } => {
                out.u8(3);
                out.u64(*checkpoint);
            }
            ToEnumerator::Restored { run, needed } => {
                out.u8(4);
                out.option(*run, |out, run| out.u64(u64::from(run)));
                out.option(*needed, |out, needed| out.u64(needed.0));
            }
        }
        out.finish()
    }

    /// Reads what [`ToEnumerator::encode`] wrote.
    ///
    /// # Errors
    /// State error for damaged bytes or another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (_, mut from) = Reader::versioned(bytes, VERSION)?;
        let event = match from.u8()? {
            0 => ToEnumerator::Request,
            1 => ToEnumerator::Report(FinishedRange::read(&mut from)?),
            2 => ToEnumerator::Missing { have: from.u32()? },
            3 => ToEnumerator::Completed {
                checkpoint: from.u64()?,
            },
            4 => ToEnumerator::Restored {
                run: from.option(|from| from.u32())?,
                needed: from.option(|from| from.u64().map(Scn))?,
            },
            other => return Err(ErrorKind::State(format!("an event is marked {other}")).into()),
        };
        from.finish()?;
        Ok(event)
    }
}

impl ToReader {
    /// The bytes of this event.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::versioned(VERSION);
        match self {
            ToReader::NoneNow => out.u8(0),
            ToReader::Acknowledge(range) => {
                out.u8(1);
                range.write(&mut out);
            }
            ToReader::Ranges { first, ranges } => {
                out.u8(2);
                out.u64(u64::from(*first));
                write_ranges(&mut out, ranges);
            }
            ToReader::Run(run) => {
                out.u8(3);
                out.u64(u64::from(*run));
            }
        }
        out.finish()
    }

    /// Reads what [`ToReader::encode`] wrote.
    ///
    /// # Errors
    /// State error for damaged bytes or another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (_, mut from) = Reader::versioned(bytes, VERSION)?;
        let event = match from.u8()? {
            0 => ToReader::NoneNow,
            1 => ToReader::Acknowledge(FinishedRange::read(&mut from)?),
            2 => ToReader::Ranges {
                first: from.u32()?,
                ranges: read_ranges(&mut from)?,
            },
            3 => ToReader::Run(from.u32()?),
            other => return Err(ErrorKind::State(format!("an event is marked {other}")).into()),
        };
        from.finish()?;
        Ok(event)
    }
}
