//! Runs all splits of one reader.

pub mod api;
pub mod batch;
pub mod state;

use std::sync::Arc;

use crate::config::Config;
use crate::error::{ErrorKind, Result};
use crate::reader::api::SourceReader;

/// Opens the reader of a subtask. Connects to nothing yet: Flink calls this on the task thread.
///
/// # Errors
/// The configuration cannot be carried out.
pub fn open(config: Arc<Config>, subtask: u32) -> Result<Arc<dyn SourceReader>> {
    Err(ErrorKind::Internal(format!(
        "{} has no reader yet (subtask {subtask})",
        config.connector.name()
    ))
    .into())
}
