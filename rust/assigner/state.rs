//! The enumerator's part of a checkpoint.

use crate::assigner::table::Table;
use crate::assigner::{Assigner, Settings, Start, StreamOut};
use crate::error::Result;
use crate::split::{AssignerState, Plan};

impl Assigner {
    /// The assigner of a checkpoint. All its ranges are firm, no reader is registered yet.
    ///
    /// # Errors
    /// State errors; `Option` where the way of checkpointing cannot bring the snapshot to its end.
    pub fn restore(bytes: &[u8], settings: Settings) -> Result<Self> {
        let state = AssignerState::decode(bytes)?;
        let mut assigner = Assigner::new(settings);
        assigner.incarnation = state.incarnation;
        match state.plan {
            None => {}
            Some(Plan::Stream(offset)) => assigner.start = Start::Stream(offset),
            Some(Plan::Tables { from, tables }) => {
                assigner.start = Start::Tables { from };
                for cut in tables {
                    let table = Table::restore(cut)?;
                    assigner.whole += usize::from(table.whole);
                    assigner.tables.insert(table.name.clone(), table);
                }
            }
        }
        for range in state.ranges {
            assigner.keep(range, None)?;
        }
        assigner.planned = state.planned.into();
        assigner.partitions = state.partitions;
        assigner.run = state.run;
        assigner.stream = state.stream_out.then_some(StreamOut { subtask: None });
        assigner.refuse_unsafe_checkpointing()?;
        Ok(assigner)
    }

    /// The state for a checkpoint, which from now on holds every range reported so far.
    pub fn snapshot(&mut self, checkpoint: u64) -> Vec<u8> {
        for kept in self.tables.values_mut().flat_map(|table| table.ranges.kept_mut()) {
            if let Some(provisional) = &mut kept.provisional {
                provisional.checkpoint.get_or_insert(checkpoint);
            }
        }
        let plan = match &self.start {
            Start::Undecided => None,
            Start::Stream(offset) => Some(Plan::Stream(offset.clone())),
            Start::Tables { from } => Some(Plan::Tables {
                from: *from,
                tables: self.tables.values().map(Table::cut).collect(),
            }),
        };
        AssignerState {
            incarnation: self.incarnation,
            plan,
            planned: self.planned.iter().cloned().collect(),
            ranges: self.ranges().cloned().collect(),
            stream_out: self.stream.is_some(),
            partitions: self.partitions.clone(),
            run: self.run,
        }
        .encode()
    }
}
