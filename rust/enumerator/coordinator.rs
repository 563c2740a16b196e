//! The enumerator that Flink drives: the assigner decides on the coordinator's thread, the database is asked on a worker
//! thread, a piece a call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::assigner::{self, Assigner, CutProgress};
use crate::config::StartupMode;
use crate::enumerator::api::{Action, Enumerator};
use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{ErrorKind, Result};
use crate::gauges::{CHUNKS_DONE, CHUNKS_PLANNED, Gauge, TABLES_CUT};
use crate::offset::Offset;
use crate::position::{Incarnation, Scn};
use crate::reader::api::Metric;
use crate::split::{Chunk, Split, TableName, ToEnumerator};

pub(super) struct Coordinator {
    surveyor: Arc<dyn Surveyor>,
    startup: StartupMode,
    assigner: Mutex<Assigner>,
    survey: Mutex<Option<Box<dyn Survey>>>,
    found: Mutex<Option<Found>>,
}

/// What a look at the database found.
enum Found {
    /// Which log there is, and that it still holds what the state needs.
    Log(Incarnation),
    Tables(Vec<TableName>),
    End(Offset),
    Chunks(Vec<Chunk>),
}

/// What to look for next.
enum Wanted {
    Log(Option<Scn>),
    Start,
    Chunks(CutProgress),
}

impl Coordinator {
    pub(super) fn new(surveyor: Arc<dyn Surveyor>, startup: StartupMode, assigner: Assigner) -> Self {
        Coordinator {
            surveyor,
            startup,
            assigner: Mutex::new(assigner),
            survey: Mutex::new(None),
            found: Mutex::new(None),
        }
    }

    fn wanted(&self, connected: bool) -> Option<Wanted> {
        let assigner = lock(&self.assigner);
        if !connected {
            return Some(Wanted::Log(assigner.smallest_mine_from()));
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
        lock(&self.assigner).event(subtask, event).map(actions)
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
        let mut survey = lock(&self.survey);
        let Some(wanted) = self.wanted(survey.is_some()) else {
            return Ok(());
        };
        let found = match wanted {
            Wanted::Log(needed) => {
                let mut connected = self.surveyor.connect()?;
                if let Some(needed) = needed {
                    connected
                        .check_kept(needed)
                        .map_err(|error| error.doing("checking that the log that the state needs is still kept"))?;
                }
                Found::Log(survey.insert(connected).incarnation())
            }
            _ => {
                let survey = survey
                    .as_mut()
                    .ok_or_else(|| ErrorKind::Internal("there is no connection".into()))?;
                match wanted {
                    Wanted::Chunks(progress) => Found::Chunks(
                        survey
                            .cut(&progress.table, progress.lower.as_ref())
                            .map_err(|error| error.doing("cutting the table into chunks").on(&progress.table))?,
                    ),
                    _ if self.startup == StartupMode::LatestOffset => Found::End(survey.end_of_log()?),
                    _ => Found::Tables(survey.tables()),
                }
            }
        };
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
                Some(Found::Tables(tables)) => {
                    assigner.start_tables(tables, None)?;
                    Vec::new()
                }
                Some(Found::End(offset)) => actions(assigner.start_stream(offset)?),
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
        self.surveyor.cancel();
    }

    fn close(&self) {
        self.cancel();
        lock(&self.survey).take();
    }
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
