//! The enumerator that Flink drives: the assigner decides on the coordinator's thread, the database is asked on a worker
//! thread, a piece a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::assigner::{self, CutProgress};
use crate::config::StartupMode;
use crate::enumerator::api::{Action, Enumerator};
use crate::enumerator::asking::{Asking, Connected};
use crate::enumerator::runs::{Runs, is_gone};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{Error, ErrorKind, Result};
use crate::gauges::{CHUNKS_DONE, CHUNKS_PLANNED, Gauge, TABLES_CUT};
use crate::offset::Offset;
use crate::position::{Incarnation, Position, Scn};
use crate::reader::api::Metric;
use crate::split::{Chunk, Partition, Split, TableName, ToEnumerator};

/// How often the log is told how the snapshot comes along.
const TOLD_EVERY: Duration = Duration::from_secs(30);

pub(super) struct Coordinator {
    asking: Asking,
    startup: StartupMode,
    runs: Mutex<Runs>,
    /// A look was asked for, and is not done.
    looking: AtomicBool,
    connected: AtomicBool,
    found: Mutex<Option<Found>>,
    /// When the log was last told how the snapshot comes along.
    told: Mutex<Instant>,
}

/// What a look at the database found.
enum Found {
    /// Which log there is, and that it still holds what the state needs.
    Log(Incarnation),
    /// Which log there is, and that it no longer holds what the state needs.
    Nothing(Incarnation),
    /// That the log holds what readers need.
    Kept,
    /// The tables of a snapshot with their partitions, and where the log phase behind it begins, if that is known.
    Tables(Vec<TableName>, Vec<Partition>, Option<Position>),
    Start(Offset),
    Chunks(Vec<Chunk>),
}

/// What to look for next.
enum Wanted {
    Log {
        needed: Option<Scn>,
        /// The tables that the state has, if there is one, as far as it names them.
        state: Option<Vec<Arc<TableName>>>,
        /// Those of them whose rows are not all out.
        unfinished: Vec<Arc<TableName>>,
        /// Everything is read again if the log is gone.
        may_be_gone: bool,
    },
    /// Whether the log from there on is kept.
    Kept(Scn),
    Start,
    Chunks(CutProgress),
}

impl Coordinator {
    pub(super) fn new(surveyor: Arc<dyn Surveyor>, startup: StartupMode, runs: Runs) -> Self {
        Coordinator {
            asking: Asking::new(surveyor),
            startup,
            runs: Mutex::new(runs),
            looking: AtomicBool::new(false),
            connected: AtomicBool::new(false),
            found: Mutex::new(None),
            told: Mutex::new(Instant::now()),
        }
    }

    /// Tells the log how the snapshot comes along, if it is time for that.
    fn tell(&self) {
        let mut told = lock(&self.told);
        if told.elapsed() < TOLD_EVERY {
            return;
        }
        *told = Instant::now();
        let progress = lock(&self.runs).assigner.progress();
        if progress.chunks_done < progress.chunks || !progress.cut {
            let more = if progress.cut { "" } else { ", and more are being cut" };
            log::info!("{} of {} chunks are read{more}", progress.chunks_done, progress.chunks);
        }
    }

    fn wanted(&self, connected: bool) -> Option<Wanted> {
        let runs = lock(&self.runs);
        let assigner = &runs.assigner;
        if runs.waits_for_readers() {
            return None;
        }
        if !connected {
            return Some(Wanted::Log {
                needed: runs.needed(),
                state: (!assigner.is_undecided()).then(|| assigner.tables()),
                unfinished: assigner.unfinished_tables(),
                may_be_gone: runs.is_undecided(),
            });
        }
        if let Some(needed) = runs.needed_by_waiting() {
            return Some(Wanted::Kept(needed));
        }
        if assigner.is_undecided() {
            return Some(Wanted::Start);
        }
        assigner.cut_progress().map(Wanted::Chunks)
    }

    /// Asks for a look at the database, if there is something to look for and none is under way.
    fn looking(&self, mut done: Vec<Action>) -> Vec<Action> {
        let connected = self.connected.load(Ordering::SeqCst);
        if self.wanted(connected).is_some() && !self.looking.swap(true, Ordering::SeqCst) {
            done.push(Action::Cut);
        }
        done
    }
}

impl Enumerator for Coordinator {
    fn start(&self) -> Result<Vec<Action>> {
        Ok(self.looking(Vec::new()))
    }

    fn listed(&self, registered: &[u32]) {
        lock(&self.runs).listed(registered);
    }

    fn register(&self, subtask: u32) -> Result<Vec<Action>> {
        lock(&self.runs).register(subtask).map(actions)
    }

    fn handle(&self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        let decided = lock(&self.runs).event(subtask, event).map(actions)?;
        self.tell();
        Ok(self.looking(decided))
    }

    fn add_splits_back(&self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        lock(&self.runs).add_splits_back(splits, subtask).map(actions)
    }

    fn snapshot(&self, checkpoint: u64) -> Result<Vec<u8>> {
        Ok(lock(&self.runs).snapshot(checkpoint))
    }

    fn checkpoint_complete(&self, checkpoint: u64) -> Result<Vec<Action>> {
        lock(&self.runs).checkpoint_complete(checkpoint).map(actions)
    }

    fn cut(&self) -> Result<()> {
        let connected = self.connected.load(Ordering::SeqCst);
        let Some(wanted) = self.wanted(connected) else {
            return Ok(());
        };
        let startup = self.startup;
        let found = self
            .asking
            .ask(move |surveyor, connected| look(surveyor, connected, wanted, startup))?;
        self.connected.store(true, Ordering::SeqCst);
        *lock(&self.found) = Some(found);
        Ok(())
    }

    fn cut_done(&self) -> Result<Vec<Action>> {
        let found = lock(&self.found).take();
        let done = {
            let mut runs = lock(&self.runs);
            match found {
                None => Vec::new(),
                Some(Found::Log(incarnation)) => runs.log_is_kept(incarnation)?,
                Some(Found::Nothing(incarnation)) => runs.log_is_gone(incarnation)?,
                Some(Found::Kept) => runs.answer()?,
                Some(Found::Tables(tables, partitions, from)) => {
                    runs.assigner.start_tables(tables, from)?;
                    runs.assigner.set_partitions(partitions);
                    Vec::new()
                }
                Some(Found::Start(offset)) => runs.start_stream(offset)?,
                Some(Found::Chunks(chunks)) => runs.cut(chunks)?,
            }
        };
        self.looking.store(false, Ordering::SeqCst);
        Ok(self.looking(actions(done)))
    }

    fn metrics(&self) -> Vec<Metric> {
        let progress = lock(&self.runs).assigner.progress();
        let gauge = |gauge: Gauge, value: usize| Metric {
            name: gauge.name,
            value: value as i64,
        };
        vec![
            gauge(CHUNKS_DONE, progress.chunks_done),
            gauge(CHUNKS_PLANNED, progress.chunks),
            gauge(TABLES_CUT, usize::from(progress.cut)),
        ]
    }

    fn cancel(&self) {
        self.asking.cancel();
    }

    fn close(&self) {
        self.asking.close();
    }
}

fn look(surveyor: &dyn Surveyor, connected: &mut Connected, wanted: Wanted, startup: StartupMode) -> Result<Found> {
    if let Wanted::Log {
        needed,
        state,
        unfinished,
        may_be_gone,
    } = wanted
    {
        return match restored(surveyor, needed, state.as_deref(), &unfinished, may_be_gone) {
            Ok(survey) => Ok(Found::Log(connected.insert(survey).incarnation())),
            Err(error) if may_be_gone && is_gone(&error) => {
                log::warn!("{}: {error}", AGAIN);
                let survey = surveyor.connect_anew()?;
                Ok(Found::Nothing(connected.insert(survey).incarnation()))
            }
            Err(error) => Err(error),
        };
    }
    let survey = connected
        .as_mut()
        .ok_or_else(|| ErrorKind::Internal("there is no connection".into()))?;
    Ok(match wanted {
        Wanted::Chunks(progress) => Found::Chunks(
            survey
                .cut(&progress.table, progress.lower.as_ref())
                .map_err(|error| error.doing("cutting the table into chunks").on(&progress.table))?,
        ),
        Wanted::Kept(needed) => match survey.check_kept(needed) {
            Ok(()) => Found::Kept,
            // Others have begun: all begin again, and hear it before they do.
            Err(error) if is_gone(&error) => {
                let text = format!("the job is restarted whole, to read everything again: {error}");
                return Err(ErrorKind::Protocol(text).into());
            }
            Err(error) => return Err(error),
        },
        Wanted::Log { .. } | Wanted::Start => match startup {
            StartupMode::Log(start) => Found::Start(survey.start_of_log(start)?),
            StartupMode::Initial | StartupMode::Snapshot => {
                // Behind the log phase's beginning a partition can go whose rows come in it.
                let partitions = survey.partitions()?;
                let from = survey.start_of_snapshot()?;
                Found::Tables(survey.tables(), partitions, from)
            }
        },
    })
}

/// Connects a job to its database, and checks that the log is there that its state needs.
fn restored(
    surveyor: &dyn Surveyor,
    needed: Option<Scn>,
    state: Option<&[Arc<TableName>]>,
    unfinished: &[Arc<TableName>],
    may_be_gone: bool,
) -> Result<Box<dyn Survey>> {
    let mut survey = surveyor.connect(state)?;
    let found = survey.tables();
    if let Some(gone) = unfinished.iter().find(|table| !found.contains(table)) {
        let text = "the table left before all its rows were read: schema-name and table-name match it no more, or it was \
                    dropped; match it again, or start the job anew without its state";
        return Err(Error::from(ErrorKind::Catalog(text.into())).on(gone));
    }
    if let Some(needed) = needed {
        let kept = match may_be_gone {
            true => survey.check_readable(needed),
            false => survey.check_kept(needed),
        };
        kept.map_err(|error| error.doing("checking that the log that the state needs is still kept"))?;
    }
    Ok(survey)
}

/// What reading everything again means for who gets the rows.
const AGAIN: &str = "log.gone = 'resnapshot': the log that the state needs is gone, so all tables are read again. Rows that were \
                     deleted in the gap STAY downstream, rows that are there come once more as inserts, and what counts rows \
                     counts them twice";

fn actions(decided: Vec<assigner::Action>) -> Vec<Action> {
    decided
        .into_iter()
        .map(|action| Action::Decided(Box::new(action)))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
