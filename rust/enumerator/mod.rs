//! The assigner with the database and Flink on its two sides.

pub mod api;
mod asking;
mod coordinator;
mod runs;
pub mod survey;

use std::sync::Arc;

use crate::assigner::{self, Assigner, Settings};
use crate::config::{Checkpointing, Config, StartupMode};
use crate::enumerator::api::Enumerator;
use crate::enumerator::coordinator::Coordinator;
use crate::enumerator::runs::Runs;
use crate::enumerator::survey::Surveyor;
use crate::error::Result;

/// Opens the enumerator of a job, from a checkpoint's state where there is one. Connects to nothing yet: Flink calls
/// this on the JobMaster's main thread.
///
/// # Errors
/// The job cannot work as it is configured; damaged state.
pub fn open(
    config: &Config,
    surveyor: Arc<dyn Surveyor>,
    parallelism: u32,
    state: Option<&[u8]>,
) -> Result<Arc<dyn Enumerator>> {
    let checkpointing = match config.checkpointing {
        Checkpointing::Disabled => assigner::Checkpointing::None,
        Checkpointing::Aligned => assigner::Checkpointing::Aligned,
        Checkpointing::Unaligned => assigner::Checkpointing::Unaligned,
    };
    let mut settings = Settings::new(parallelism, checkpointing);
    settings.bounded = config.startup == StartupMode::Snapshot;
    let assigner = match state {
        None => Assigner::new(settings.clone()),
        Some(bytes) => Assigner::restore(bytes, settings.clone())?,
    };
    let runs = Runs::new(assigner, settings, config.log.resnapshot, state.is_some())?;
    Ok(Arc::new(Coordinator::new(surveyor, config.startup, runs)))
}
