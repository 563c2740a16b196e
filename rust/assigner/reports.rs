//! Finished ranges that readers report, provisional until a complete checkpoint holds them.

use crate::assigner::ranges::Provisional;
use crate::assigner::{Action, Assigner, acknowledge};
use crate::error::{Error, ErrorKind, Result};
use crate::split::FinishedRange;

impl Assigner {
    pub(super) fn report(&mut self, subtask: u32, range: FinishedRange, actions: &mut Vec<Action>) -> Result<()> {
        let streaming = self.is_streaming();
        let listens = self.listens(subtask);
        let table = self.tables.get_mut(&*range.table).ok_or_else(|| {
            let kind = ErrorKind::Protocol("a range was reported of a table that is not captured".into());
            Error::from(kind).on(&range.table)
        })?;
        match table.ranges.equal(&range).map(|kept| &mut kept.provisional) {
            Some(None) => {
                if listens {
                    actions.push(acknowledge(subtask, range));
                }
            }
            Some(Some(of)) if streaming => of.owner = subtask,
            _ => {
                let provisional = Provisional {
                    owner: subtask,
                    checkpoint: None,
                };
                self.keep(range, Some(provisional))?;
            }
        }
        Ok(())
    }

    pub(super) fn keep(&mut self, range: FinishedRange, provisional: Option<Provisional>) -> Result<()> {
        let table = self.tables.get_mut(&*range.table).ok_or_else(|| {
            let kind = ErrorKind::State("a range is kept of a table that is not captured".into());
            Error::from(kind).on(&range.table)
        })?;
        let (mine_from, is_provisional) = (range.mine_from, provisional.is_some());
        table.add_range(range, provisional)?;
        self.tiled += usize::from(table.ranges.tile());
        self.provisional += usize::from(is_provisional);
        *self.mine_from.entry(mine_from).or_default() += 1;
        Ok(())
    }

    pub(super) fn forget(&mut self, subtask: u32) {
        if self.provisional == 0 {
            return;
        }
        for table in self.tables.values_mut() {
            let tiled = table.ranges.tile();
            let gone = table.forget(subtask);
            self.provisional -= gone.len();
            self.tiled -= usize::from(tiled && !gone.is_empty());
            for range in gone {
                if let Some(times) = self.mine_from.get_mut(&range.mine_from) {
                    *times -= 1;
                    if *times == 0 {
                        self.mine_from.remove(&range.mine_from);
                    }
                }
            }
        }
    }

    /// What a complete checkpoint holds is firm.
    pub(super) fn make_firm(&mut self, checkpoint: u64) {
        self.hearing.complete(checkpoint);
        if self.provisional == 0 {
            return;
        }
        for kept in self.tables.values_mut().flat_map(|table| table.ranges.kept_mut()) {
            let holds = |of: &mut Provisional| of.checkpoint.is_some_and(|first| first <= checkpoint);
            if let Some(of) = kept.provisional.take_if(holds) {
                self.provisional -= 1;
                self.hearing.acknowledge(of.owner, kept.range.clone());
            }
        }
    }
}
