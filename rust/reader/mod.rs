//! Runs all splits of one reader.

pub mod api;
pub mod batch;
pub mod capture;
mod delivery;
mod shared;
mod source;
pub mod state;
mod stop;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::error::Result;
use crate::reader::api::SourceReader;
use crate::reader::capture::Connector;
use crate::reader::source::Reader;
use crate::reader::worker::WorkerLimits;

/// How long a closing reader waits for a driver that does not come back.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// Opens the reader of a subtask. Connects to nothing yet: Flink calls this on the task thread.
///
/// # Errors
/// The configuration cannot be carried out.
pub fn open(config: &Config, connector: Arc<dyn Connector>) -> Result<Arc<dyn SourceReader>> {
    Ok(Arc::new(Reader::new(
        connector,
        WorkerLimits::new(config.chunk_rows),
        CLOSE_PATIENCE,
    )))
}
