//! What the task's thread and the worker share: the reader's state under one short lock, and a few gauges.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::log::Progress;
use crate::position::Scn;
use crate::reader::api::Metric;
use crate::reader::delivery::InFlight;
use crate::reader::state::ReaderState;
use crate::split::StreamSplit;

#[derive(Debug, Default)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    scn: AtomicU64,
    next_scn: AtomicU64,
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

    pub(super) fn metrics(&self) -> Vec<Metric> {
        let gauge = |name, value: &AtomicU64| Metric {
            name,
            value: value.load(Ordering::Relaxed) as i64,
        };
        vec![gauge("scn", &self.scn), gauge("nextScn", &self.next_scn)]
    }
}
