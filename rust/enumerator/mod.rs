//! The assigner with the database and Flink on its two sides.

pub mod api;

use std::sync::Arc;

use crate::config::Config;
use crate::enumerator::api::Enumerator;
use crate::error::{ErrorKind, Result};

/// Opens the enumerator of a job, from a checkpoint's state where there is one. Connects to nothing yet: Flink calls
/// this on the JobMaster's main thread.
///
/// # Errors
/// The configuration cannot be carried out; damaged state.
pub fn open(config: Arc<Config>, parallelism: u32, state: Option<&[u8]>) -> Result<Arc<dyn Enumerator>> {
    Err(ErrorKind::Internal(format!(
        "{} has no enumerator yet (parallelism {parallelism}, {} bytes of state)",
        config.connector.name(),
        state.map_or(0, <[u8]>::len)
    ))
    .into())
}
