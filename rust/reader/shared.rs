//! What the task's thread and the worker share: the reader's state under one short lock, and a few gauges.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::gauges::{FETCH_LAG, Gauge, NEXT_SCN, SCN, UNDEFINED};
use crate::log::Progress;
use crate::position::Scn;
use crate::reader::api::Metric;
use crate::reader::delivery::InFlight;
use crate::reader::state::ReaderState;
use crate::split::StreamSplit;

#[derive(Debug)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    scn: AtomicU64,
    next_scn: AtomicU64,
    /// In milliseconds.
    fetch_lag: AtomicI64,
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            inner: Mutex::default(),
            scn: AtomicU64::default(),
            next_scn: AtomicU64::default(),
            fetch_lag: AtomicI64::new(UNDEFINED),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) state: ReaderState,
    pub(super) in_flight: InFlight,
    /// The enumerator has no chunk; until one comes a round closes with the pages that it has.
    pub(super) none_now: bool,
    /// The stream split has all its ranges and nobody reads it yet.
    pub(super) stream_ready: bool,
    /// The oldest place of the log that restored ranges need.
    pub(super) smallest_mine_from: Option<Scn>,
    /// The stream's `next_scn` at checkpoints that are not known complete.
    pub(super) checkpoints: Vec<(u64, Scn)>,
}

impl Inner {
    pub(super) fn take_stream(&mut self) -> Option<StreamSplit> {
        if !std::mem::take(&mut self.stream_ready) {
            return None;
        }
        self.state.stream().cloned()
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_progress(&self, progress: Progress) {
        self.scn.store(progress.position.scn.0, Ordering::Relaxed);
        self.next_scn.store(progress.next_scn.0, Ordering::Relaxed);
    }

    /// Notes that a change was read now whose transaction committed then (microseconds since the epoch).
    pub(super) fn note_commit(&self, micros: i64) {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else {
            return;
        };
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let lag = now.saturating_sub(micros.div_euclid(1000));
        self.fetch_lag.store(lag, Ordering::Relaxed);
    }

    pub(super) fn metrics(&self) -> Vec<Metric> {
        let gauge = |gauge: Gauge, value| Metric {
            name: gauge.name,
            value,
        };
        let scn = |scn: &AtomicU64| i64::try_from(scn.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        vec![
            gauge(FETCH_LAG, self.fetch_lag.load(Ordering::Relaxed)),
            gauge(SCN, scn(&self.scn)),
            gauge(NEXT_SCN, scn(&self.next_scn)),
        ]
    }
}
