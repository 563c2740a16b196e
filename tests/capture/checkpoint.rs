//! What a job's checkpoint keeps, as bytes.

use tidemark::position::Scn;
use tidemark::split::{AssignerState, Split, StreamSplit};

use crate::sink::Sink;

/// What a checkpoint keeps.
#[derive(Clone, Default)]
pub struct Checkpoint {
    /// Counted from 1; 0 for a job's start.
    pub number: u64,
    /// The enumerator's bytes.
    pub enumerator: Option<Vec<u8>>,
    /// The splits of each reader.
    pub readers: Vec<Vec<Vec<u8>>>,
    /// What was out.
    pub sink: Sink,
}

impl Checkpoint {
    /// All splits in it.
    pub fn splits(&self) -> impl Iterator<Item = Split> {
        self.readers.iter().flatten().map(|bytes| Split::decode(bytes).unwrap())
    }

    /// The stream split in it.
    pub fn stream(&self) -> Option<StreamSplit> {
        self.splits().find_map(|split| match split.parted().1 {
            Split::Stream(stream) => Some(stream),
            _ => None,
        })
    }

    /// How often the job had read everything again.
    pub fn run(&self) -> u32 {
        let state = self
            .enumerator
            .as_ref()
            .map(|bytes| AssignerState::decode(bytes).unwrap());
        state.map_or(0, |state| state.run.number)
    }

    /// From where the ranges in it need the log.
    pub fn smallest_mine_from(&self) -> Scn {
        let of_enumerator = self
            .enumerator
            .iter()
            .flat_map(|bytes| AssignerState::decode(bytes).unwrap().ranges);
        let of_readers = self.splits().filter_map(|split| match split.parted().1 {
            Split::Finished(range) => Some(range),
            _ => None,
        });
        of_enumerator
            .chain(of_readers)
            .map(|range| range.mine_from)
            .min()
            .unwrap()
    }
}
