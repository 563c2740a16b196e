//! The assigner, and what a job does whose log may be gone (`log.gone` = `resnapshot`): it begins a new run.
//!
//! Readers hold splits of their own: chunks, ranges, the stream. So that nothing of an old run is read beside a new one,
//! each reader says at its start what it was restored with, and reads none of it before it is told which run counts. A restored
//! enumerator hears all readers before it looks at the log, since what is needed of it stands in their splits; what they
//! ask for meanwhile waits. If the log is gone, it begins with nothing, and its splits bear the number of the new run: a reader
//! that is reset to a checkpoint from before is told that they are void. A checkpoint in which one may still hold such splits
//! says so. Once readers have begun, a log that is gone for one of them restarts the whole job, which then decides anew. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::assigner::{Action, Assigner, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Incarnation, Scn};
use crate::split::{Chunk, Split, ToEnumerator, ToReader};

/// The assigner of the run that counts.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) assigner: Assigner,
    settings: Settings,
    /// `None` where the log must not be gone.
    asking: Option<Asking>,
}

/// What readers asked.
#[derive(Debug, Default)]
struct Asking {
    /// Until it is decided whether the restored run counts.
    undecided: Option<Undecided>,
    /// Readers that wait for an answer, and what they need of the log.
    waiting: BTreeMap<u32, Option<Scn>>,
    /// Reset, and not heard of since.
    unheard: BTreeSet<u32>,
}

/// Before anybody has begun.
#[derive(Debug, Default)]
struct Undecided {
    /// What each reader was restored with: of which run, and what that needs.
    asked: BTreeMap<u32, (Option<u32>, Option<Scn>)>,
    /// What they said beside that.
    events: Vec<(u32, ToEnumerator)>,
}

impl Runs {
    /// # Errors
    /// `Option` where the state can be restored by a job alone that asks its readers.
    pub(super) fn new(assigner: Assigner, settings: Settings, resnapshot: bool, is_restored: bool) -> Result<Self> {
        if !resnapshot && assigner.run().is_mixed {
            let reason = "must be 'resnapshot' for this start: the checkpoint was taken while the job began to read everything again";
            return Err(ErrorKind::Option {
                option: "log.gone".into(),
                reason: reason.into(),
            }
            .into());
        }
        let asking = resnapshot.then(|| Asking {
            undecided: is_restored.then(Undecided::default),
            ..Asking::default()
        });
        Ok(Runs {
            assigner,
            settings,
            asking,
        })
    }

    /// Whether the database is not to be looked at yet, because readers are still to be heard.
    pub(super) fn waits_for_readers(&self) -> bool {
        let parallelism = self.settings.parallelism as usize;
        self.undecided()
            .is_some_and(|undecided| undecided.asked.len() < parallelism)
    }

    /// Whether it is not decided yet whether the restored run counts.
    pub(super) fn is_undecided(&self) -> bool {
        self.undecided().is_some()
    }

    /// The oldest place of the log that is needed: of the assigner's ranges and, before anybody has begun, of all readers.
    pub(super) fn needed(&self) -> Option<Scn> {
        let run = self.assigner.run().number;
        let asked = self
            .undecided()
            .into_iter()
            .flat_map(|undecided| undecided.asked.values());
        let of_readers = asked
            .filter(|(of, _)| *of == Some(run))
            .filter_map(|(_, needed)| *needed);
        of_readers.chain(self.assigner.smallest_mine_from()).min()
    }

    /// What readers that wait for an answer need.
    pub(super) fn needed_by_waiting(&self) -> Option<Scn> {
        let asking = self.asking.as_ref()?;
        asking.waiting.values().flatten().min().copied()
    }

    pub(super) fn listed(&mut self, registered: &[u32]) {
        self.assigner.listed(registered);
        if let Some(asking) = &mut self.asking {
            asking.waiting.retain(|subtask, _| registered.contains(subtask));
            if let Some(undecided) = &mut asking.undecided {
                undecided.keep(|subtask| registered.contains(&subtask));
            }
        }
    }

    pub(super) fn register(&mut self, subtask: u32) -> Result<Vec<Action>> {
        // One that is to ask must not be given anything before its question, the first that it says, is answered.
        if self.asking.is_some() {
            return Ok(Vec::new());
        }
        let actions = self.assigner.register(subtask)?;
        Ok(self.out(actions))
    }

    pub(super) fn event(&mut self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        if let (ToEnumerator::Restored { run, needed }, Some(_)) = (&event, &self.asking) {
            return self.asked(subtask, *run, *needed);
        }
        if let Some(undecided) = self.asking.as_mut().and_then(|asking| asking.undecided.as_mut()) {
            undecided.events.push((subtask, event));
            return Ok(Vec::new());
        }
        let actions = self.assigner.event(subtask, event)?;
        Ok(self.out(actions))
    }

    /// A reader says what it was restored with.
    fn asked(&mut self, subtask: u32, run: Option<u32>, needed: Option<Scn>) -> Result<Vec<Action>> {
        let current = self.assigner.run().number;
        if run.is_some_and(|run| run > current) {
            let text = format!("reader {subtask} has splits of run {run:?}, the job is at run {current}");
            return Err(ErrorKind::Protocol(text).into());
        }
        if let Some(asking) = &mut self.asking {
            asking.unheard.remove(&subtask);
            if let Some(undecided) = &mut asking.undecided {
                undecided.asked.insert(subtask, (run, needed));
                return Ok(Vec::new());
            }
            if run == Some(current) && needed.is_some() {
                asking.waiting.insert(subtask, needed);
                return Ok(Vec::new());
            }
        }
        self.admit(&[(subtask, run.is_some())])
    }

    /// Readers begin, those that hold something with the answer which run counts.
    fn admit(&mut self, readers: &[(u32, bool)]) -> Result<Vec<Action>> {
        let run = self.assigner.run().number;
        let asked = readers.iter().filter(|(_, holds)| *holds);
        let mut actions: Vec<Action> = asked
            .map(|&(subtask, _)| Action::Send {
                subtask,
                event: ToReader::Run(run),
            })
            .collect();
        for (subtask, _) in readers {
            actions.extend(self.assigner.register(*subtask)?);
        }
        Ok(self.out(actions))
    }

    pub(super) fn add_splits_back(&mut self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        let current = self.assigner.run().number;
        if let Some(asking) = &mut self.asking {
            asking.waiting.remove(&subtask);
            if let Some(undecided) = &mut asking.undecided {
                undecided.keep(|other| other != subtask);
                return Ok(Vec::new());
            }
            if current > 0 {
                asking.unheard.insert(subtask);
            }
        }
        let parted = splits.into_iter().map(Split::parted);
        let of_this = parted
            .filter(|(run, _)| *run == current)
            .map(|(_, split)| split)
            .collect();
        let actions = self.assigner.add_splits_back(of_this, subtask)?;
        Ok(self.out(actions))
    }

    pub(super) fn snapshot(&mut self, checkpoint: u64) -> Vec<u8> {
        let is_mixed = self.asking.as_ref().is_some_and(|asking| !asking.unheard.is_empty());
        self.assigner.set_mixed(is_mixed);
        self.assigner.snapshot(checkpoint)
    }

    pub(super) fn checkpoint_complete(&mut self, checkpoint: u64) -> Result<Vec<Action>> {
        // Everything restored is firm.
        if self.is_undecided() {
            return Ok(Vec::new());
        }
        let actions = self.assigner.checkpoint_complete(checkpoint)?;
        Ok(self.out(actions))
    }

    /// The log is there.
    pub(super) fn log_is_kept(&mut self, incarnation: Incarnation) -> Result<Vec<Action>> {
        self.assigner.set_incarnation(incarnation)?;
        self.decided()
    }

    /// The log is gone: everything is read again.
    pub(super) fn log_is_gone(&mut self, incarnation: Incarnation) -> Result<Vec<Action>> {
        let run = self.assigner.run().number.saturating_add(1);
        self.assigner = Assigner::of_run(self.settings.clone(), run);
        self.assigner.set_incarnation(incarnation)?;
        self.decided()
    }

    /// The log is there that waiting readers need.
    pub(super) fn answer(&mut self) -> Result<Vec<Action>> {
        let waiting = self.asking.as_mut().map(|asking| std::mem::take(&mut asking.waiting));
        let readers: Vec<_> = waiting
            .unwrap_or_default()
            .into_keys()
            .map(|subtask| (subtask, true))
            .collect();
        self.admit(&readers)
    }

    /// It is known which run counts: all that was kept back goes on.
    fn decided(&mut self) -> Result<Vec<Action>> {
        let Some(undecided) = self.asking.as_mut().and_then(|asking| asking.undecided.take()) else {
            return Ok(Vec::new());
        };
        let asked = undecided.asked.iter();
        let readers: Vec<_> = asked.map(|(&subtask, (run, _))| (subtask, run.is_some())).collect();
        let mut actions = self.admit(&readers)?;
        for (subtask, event) in undecided.events {
            actions.extend(self.event(subtask, event)?);
        }
        Ok(actions)
    }

    fn undecided(&self) -> Option<&Undecided> {
        self.asking.as_ref()?.undecided.as_ref()
    }

    /// Splits go out as those of their run.
    fn out(&self, actions: Vec<Action>) -> Vec<Action> {
        let run = self.assigner.run().number;
        let out = |action| match action {
            Action::Assign { subtask, split } => Action::Assign {
                subtask,
                split: split.of_run(run),
            },
            other => other,
        };
        actions.into_iter().map(out).collect()
    }

    /// It is decided for a stream, which may go out.
    pub(super) fn start_stream(&mut self, offset: Offset) -> Result<Vec<Action>> {
        let actions = self.assigner.start_stream(offset)?;
        Ok(self.out(actions))
    }

    /// Tables were cut on.
    pub(super) fn cut(&mut self, chunks: Vec<Chunk>) -> Result<Vec<Action>> {
        let actions = self.assigner.cut(chunks)?;
        Ok(self.out(actions))
    }
}

impl Undecided {
    /// Forgets all other readers.
    fn keep(&mut self, of: impl Fn(u32) -> bool) {
        self.asked.retain(|&subtask, _| of(subtask));
        self.events.retain(|(subtask, _)| of(*subtask));
    }
}

/// Whether what a job needs of the log is gone for good.
pub(super) fn is_gone(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::LogGone { .. } | ErrorKind::SlotLost { .. } | ErrorKind::SlotAhead { .. }
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::assigner::Checkpointing;
    use crate::position::Position;
    use crate::split::{AssignerState, KeyRange, Plan, TableCut, TableName};

    fn table() -> TableName {
        TableName {
            schema: "S".into(),
            name: "T".into(),
        }
    }

    fn chunk() -> Chunk {
        Chunk {
            table: Arc::new(table()),
            range: KeyRange::ALL,
        }
    }

    fn settings() -> Settings {
        Settings::new(2, Checkpointing::Aligned)
    }

    /// That of a job of two readers, one of which has the table's chunk.
    fn restored(resnapshot: bool, state: &[u8]) -> Result<Runs> {
        let assigner = Assigner::restore(state, settings())?;
        Runs::new(assigner, settings(), resnapshot, true)
    }

    fn state() -> Vec<u8> {
        AssignerState {
            incarnation: Incarnation(1),
            plan: Some(Plan::Tables {
                from: Some(Position::before(Scn(70))),
                tables: vec![TableCut {
                    table: Arc::new(table()),
                    bounds: Vec::new(),
                    whole: true,
                }],
            }),
            planned: Vec::new(),
            ranges: Vec::new(),
            stream_out: false,
            partitions: Vec::new(),
            run: Default::default(),
        }
        .encode()
    }

    fn ask(runs: &mut Runs, subtask: u32, run: Option<u32>, needed: Option<u64>) -> Vec<Action> {
        let needed = needed.map(Scn);
        runs.event(subtask, ToEnumerator::Restored { run, needed }).unwrap()
    }

    fn answer(subtask: u32, run: u32) -> Action {
        let event = ToReader::Run(run);
        Action::Send { subtask, event }
    }

    fn request(runs: &mut Runs, subtask: u32) -> Vec<Action> {
        runs.event(subtask, ToEnumerator::Request).unwrap()
    }

    fn none_now(subtask: u32) -> Action {
        let event = ToReader::NoneNow;
        Action::Send { subtask, event }
    }

    #[test]
    fn nobody_begins_before_all_readers_were_heard_and_the_log_was_looked_at() {
        let mut runs = restored(true, &state()).unwrap();
        for subtask in [0, 1] {
            assert_eq!(runs.register(subtask).unwrap(), []);
        }
        assert_eq!(ask(&mut runs, 1, None, None), []);
        assert_eq!(request(&mut runs, 1), []);
        assert_eq!(ask(&mut runs, 0, Some(0), Some(60)), []);
        assert!(!runs.waits_for_readers());
        assert_eq!(runs.needed(), Some(Scn(60)));
        // One that is reset has to be heard once more, and another one may have its splits by then.
        runs.add_splits_back(Vec::new(), 0).unwrap();
        assert!(runs.waits_for_readers());
        assert_eq!(ask(&mut runs, 0, Some(0), None), []);
        assert_eq!(runs.needed(), Some(Scn(70)));
        let begun = runs.log_is_kept(Incarnation(1)).unwrap();
        assert_eq!(begun, [answer(0, 0), none_now(1)]);
        assert!(!runs.is_undecided());
    }

    /// A job that has begun to read again; both readers had something.
    fn again() -> Runs {
        let mut runs = restored(true, &state()).unwrap();
        for subtask in [0, 1] {
            runs.register(subtask).unwrap();
            ask(&mut runs, subtask, Some(0), Some(60));
        }
        let begun = runs.log_is_gone(Incarnation(1)).unwrap();
        assert_eq!(begun, [answer(0, 1), answer(1, 1)]);
        runs.assigner.start_tables(vec![table()], None).unwrap();
        runs.cut(vec![chunk()]).unwrap();
        runs
    }

    #[test]
    fn what_goes_out_behind_a_log_that_is_gone_is_of_another_run_and_what_was_before_is_void() {
        let mut runs = again();
        let split = Split::Chunk(chunk()).of_run(1);
        let given = |subtask| Action::Assign {
            subtask,
            split: split.clone(),
        };
        assert_eq!(request(&mut runs, 0), [given(0)]);
        // Its reader goes back to a checkpoint from before, and hears that this is void before it is given anything.
        runs.add_splits_back(vec![Split::Chunk(chunk()), split.clone()], 0)
            .unwrap();
        assert_eq!(runs.register(0).unwrap(), []);
        assert_eq!(ask(&mut runs, 0, Some(0), Some(60)), [answer(0, 1)]);
        assert_eq!(request(&mut runs, 0), [given(0)]);
        assert_eq!(request(&mut runs, 1), [none_now(1)]);
        let late = runs.event(
            1,
            ToEnumerator::Restored {
                run: Some(2),
                needed: None,
            },
        );
        assert!(matches!(late.unwrap_err().kind(), ErrorKind::Protocol(_)));
    }

    #[test]
    fn a_checkpoint_in_which_a_reader_may_hold_splits_of_another_run_needs_readers_that_ask() {
        let mut runs = again();
        let clean = runs.snapshot(1);
        runs.add_splits_back(Vec::new(), 0).unwrap();
        let mixed = runs.snapshot(2);
        runs.register(0).unwrap();
        ask(&mut runs, 0, Some(0), None);
        for (state, fits) in [(clean, true), (mixed, false), (runs.snapshot(3), true)] {
            assert!(restored(true, &state).is_ok());
            let without = restored(false, &state);
            assert_eq!(without.is_ok(), fits);
            if let Err(error) = without {
                assert!(error.to_string().contains("option 'log.gone'"), "{error}");
            }
        }
    }

    #[test]
    fn a_reader_that_comes_back_later_begins_once_its_log_was_looked_at() {
        let mut runs = again();
        runs.add_splits_back(Vec::new(), 1).unwrap();
        assert_eq!(runs.register(1).unwrap(), []);
        assert_eq!(ask(&mut runs, 1, Some(1), Some(80)), []);
        assert_eq!(runs.needed_by_waiting(), Some(Scn(80)));
        assert_eq!(runs.answer().unwrap(), [answer(1, 1)]);
        assert_eq!(runs.needed_by_waiting(), None);
    }
}
