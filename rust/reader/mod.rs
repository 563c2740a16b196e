//! Runs all splits of one reader.

pub mod api;
pub mod batch;
pub mod capture;
mod confirming;
mod delivery;
mod headroom;
mod leaving;
mod pages;
mod progress;
mod shared;
mod snapshot;
mod source;
pub mod state;
mod streaming;
#[cfg(test)]
mod tests;
mod threads;
pub(crate) mod watch;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::reader::api::SourceReader;
use crate::reader::capture::Connector;
use crate::reader::source::Reader;
use crate::reader::watch::Watch;
use crate::reader::worker::WorkerLimits;

/// How long a closing reader waits for a driver that does not come back.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// How long beyond its time a call may run until it is cancelled, and again until it is given up.
pub(crate) const CALL_GRACE: Duration = Duration::from_secs(5);

/// The reader of a subtask. Connects to nothing yet: Flink calls this on the task thread.
pub fn open(config: &Config, connector: Arc<dyn Connector>, subtask: u32) -> Arc<dyn SourceReader> {
    let limits = WorkerLimits::of(config);
    let watch = Watch::new(CALL_GRACE);
    Arc::new(Reader::new(connector, limits, subtask, CLOSE_PATIENCE, watch))
}
