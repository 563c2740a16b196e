//! Runs all splits of one reader.

pub mod api;
pub mod batch;
pub mod capture;
mod delivery;
mod shared;
mod source;
pub mod state;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::reader::api::SourceReader;
use crate::reader::capture::Connector;
use crate::reader::source::Reader;
use crate::reader::worker::WorkerLimits;

/// How long a closing reader waits for a driver that does not come back.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// The reader of a subtask. Connects to nothing yet: Flink calls this on the task thread.
pub fn open(config: &Config, connector: Arc<dyn Connector>, subtask: u32) -> Arc<dyn SourceReader> {
    let limits = WorkerLimits::new(config.chunk_rows);
    Arc::new(Reader::new(connector, limits, subtask, CLOSE_PATIENCE))
}
