//! What Flink asks of a split enumerator, and what it is told to do: the interface that `bridge` drives.

use crate::assigner;
use crate::error::Result;
use crate::reader::api::Metric;
use crate::split::{Split, ToEnumerator};

/// The one enumerator of a job.
///
/// Flink's *coordinator thread* calls everything but [`Enumerator::cut`], which runs on a *worker thread*, one call at a
/// time; [`Enumerator::cancel`] and [`Enumerator::metrics`] may come from any thread at any time. Nothing on the
/// coordinator thread may wait for a database. Actions are carried out in their order and before any later call.
pub trait Enumerator: Send + Sync {
    /// Starts; called once, before everything else.
    ///
    /// # Errors
    /// The job cannot work as it is configured (design 5: checkpointing and parallelism).
    fn start(&self) -> Result<Vec<Action>>;

    /// Says which readers Flink's context lists now; comes first in each turn of the coordinator's thread. Those that it
    /// no longer lists (they failed, their reset is to come) are assigned nothing.
    fn listed(&self, registered: &[u32]);

    /// A reader has registered: for the first time, or again after a reset.
    ///
    /// # Errors
    /// Protocol errors.
    fn register(&self, subtask: u32) -> Result<Vec<Action>>;

    /// A reader sent an event.
    ///
    /// # Errors
    /// Protocol errors.
    fn handle(&self, subtask: u32, event: ToEnumerator) -> Result<Vec<Action>>;

    /// A subtask was reset: it is no longer registered, and these of its splits are in no checkpoint that it will be
    /// restored from. Comes with an empty list too.
    ///
    /// # Errors
    /// Protocol errors.
    fn add_splits_back(&self, splits: Vec<Split>, subtask: u32) -> Result<Vec<Action>>;

    /// The state that belongs to a checkpoint.
    ///
    /// # Errors
    /// None of its own.
    fn snapshot(&self, checkpoint: u64) -> Result<Vec<u8>>;

    /// A checkpoint is complete; notices may be lost, a later one implies the earlier.
    ///
    /// # Errors
    /// Protocol errors.
    fn checkpoint_complete(&self, checkpoint: u64) -> Result<Vec<Action>>;

    /// Asks the database where to cut next, and keeps the answer for [`Enumerator::cut_done`]. May block for long, but
    /// returns within moments after a cancel, whatever the driver does: Flink waits for its worker thread.
    ///
    /// # Errors
    /// Database errors; `Closed` after a cancel.
    fn cut(&self) -> Result<()>;

    /// Takes what [`Enumerator::cut`] kept. Another [`Action::Cut`] among the actions asks for the next piece.
    ///
    /// # Errors
    /// Protocol errors.
    fn cut_done(&self) -> Result<Vec<Action>>;

    /// Gauges by name, always the same names.
    fn metrics(&self) -> Vec<Metric>;

    /// Wakes what is stuck in a driver. Never blocks, may come more than once.
    fn cancel(&self);

    /// Ends connections. Comes after [`Enumerator::cancel`].
    fn close(&self);
}

/// What Flink has to do for the enumerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// What the assigner decided; left out for a reader that is not registered.
    Decided(Box<assigner::Action>),
    /// Run [`Enumerator::cut`] on the worker thread, then [`Enumerator::cut_done`] here. Never while one is under way.
    Cut,
}
