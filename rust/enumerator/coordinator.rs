//! The enumerator that Flink drives: the assigner decides on the coordinator's thread, the database is asked on a worker
//! thread, a piece a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::assigner::{self, Assigner, CutProgress};
use crate::config::StartupMode;
use crate::enumerator::api::{Action, Enumerator};
use crate::enumerator::asking::{Asking, Connected};
use crate::enumerator::survey::Surveyor;
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
    assigner: Mutex<Assigner>,
    connected: AtomicBool,
    found: Mutex<Option<Found>>,
    /// When the log was last told how the snapshot comes along.
    told: Mutex<Instant>,
}

/// What a look at the database found.
enum Found {
    /// Which log there is, and that it still holds what the state needs.
    Log(Incarnation),
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
    },
    Start,
    Chunks(CutProgress),
}

impl Coordinator {
    pub(super) fn new(surveyor: Arc<dyn Surveyor>, startup: StartupMode, assigner: Assigner) -> Self {
        Coordinator {
            asking: Asking::new(surveyor),
            startup,
            assigner: Mutex::new(assigner),
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
        let progress = lock(&self.assigner).progress();
        if progress.chunks_done < progress.chunks || !progress.cut {
            let more = if progress.cut { "" } else { ", and more are being cut" };
            log::info!("{} of {} chunks are read{more}", progress.chunks_done, progress.chunks);
        }
    }

    fn wanted(&self, connected: bool) -> Option<Wanted> {
        let assigner = lock(&self.assigner);
        if !connected {
            return Some(Wanted::Log {
                needed: assigner.smallest_mine_from(),
                state: (!assigner.is_undecided()).then(|| assigner.tables()),
                unfinished: assigner.unfinished_tables(),
            });
        }
        if assigner.is_undecided() {
            return Some(Wanted::Start);
        }
        assigner.cut_progress().map(Wanted::Chunks)
    }
}

impl Enumerator for Coordinator {
    fn start(&self) -> Result<Vec<Action>> {
        Ok(vec![Action::Cut])
    }

    fn listed(&self, registered: &[u32]) {
        lock(&self.assigner).listed(registered);
    }

    fn register(&self, subtask: u32) -> Result<Vec<Action>> {
        lock(&self.assigner).register(subtask).map(actions)
    }

    fn handle(&self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>> {
        let decided = lock(&self.assigner).event(subtask, event).map(actions)?;
        self.tell();
        Ok(decided)
    }

    fn add_splits_back(&self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>> {
        lock(&self.assigner).add_splits_back(splits, subtask).map(actions)
    }

    fn snapshot(&self, checkpoint: u64) -> Result<Vec<u8>> {
        Ok(lock(&self.assigner).snapshot(checkpoint))
    }

    fn checkpoint_complete(&self, checkpoint: u64) -> Result<Vec<Action>> {
        lock(&self.assigner).checkpoint_complete(checkpoint).map(actions)
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
        let mut done = {
            let mut assigner = lock(&self.assigner);
            match found {
                None => return Ok(Vec::new()),
                Some(Found::Log(incarnation)) => {
                    assigner.set_incarnation(incarnation)?;
                    Vec::new()
                }
                Some(Found::Tables(tables, partitions, from)) => {
                    assigner.start_tables(tables, from)?;
                    assigner.set_partitions(partitions);
                    Vec::new()
                }
                Some(Found::Start(offset)) => actions(assigner.start_stream(offset)?),
                Some(Found::Chunks(chunks)) => actions(assigner.cut(chunks)?),
            }
        };
        if self.wanted(true).is_some() {
            done.push(Action::Cut);
        }
        Ok(done)
    }

    fn metrics(&self) -> Vec<Metric> {
        let progress = lock(&self.assigner).progress();
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
    } = wanted
    {
        let mut survey = surveyor.connect(state.as_deref())?;
        let found = survey.tables();
        if let Some(gone) = unfinished.iter().find(|table| !found.contains(table)) {
            let text = "the table left before all its rows were read: schema-name and table-name match it no more, or it was \
                        dropped; match it again, or start the job anew without its state";
            return Err(Error::from(ErrorKind::Catalog(text.into())).on(gone));
        }
        if let Some(needed) = needed {
            survey
                .check_kept(needed)
                .map_err(|error| error.doing("checking that the log that the state needs is still kept"))?;
        }
        return Ok(Found::Log(connected.insert(survey).incarnation()));
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

fn actions(decided: Vec<assigner::Action>) -> Vec<Action> {
    decided
        .into_iter()
        .map(|action| Action::Decided(Box::new(action)))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
