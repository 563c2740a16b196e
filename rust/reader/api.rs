//! What Flink asks of a source reader, and what it answers: the interface that `bridge` drives.

use std::time::Duration;

use crate::error::Result;
use crate::reader::batch::Batch;
use crate::split::{Split, ToEnumerator, ToReader};

/// One subtask's reader.
///
/// Three threads come here. Flink's *task thread* calls everything but [`SourceReader::next`], which a *fetcher thread*
/// calls in a loop from [`SourceReader::start`] on; [`SourceReader::cancel`] and [`SourceReader::metrics`] may come from
/// any thread at any time, also while another call is stuck in a driver. No lock is held around a call, so what they
/// share is the reader's own business; no call on the task thread may wait for a database.
///
/// Events that a call returns are sent to the enumerator before anything that a later call returns: those of
/// [`SourceReader::start`] at once, all others from `pollNext`, since Flink calls it no more once it stops the task with a
/// savepoint, and nobody is there to take an answer then.
pub trait SourceReader: Send + Sync {
    /// Starts reading. Called once, behind the registration with the enumerator and behind the
    /// [`SourceReader::add_splits`] of a restored state.
    ///
    /// # Errors
    /// The restored state cannot be continued.
    fn start(&self) -> Result<Vec<ToEnumerator>>;

    /// Takes splits: before [`SourceReader::start`] those of the restored state, when no event may be returned since the
    /// enumerator does not know the reader yet; afterwards what the enumerator assigned.
    ///
    /// # Errors
    /// The splits contradict what the reader holds.
    fn add_splits(&self, splits: Vec<Split>) -> Result<Vec<ToEnumerator>>;

    /// Takes an event of the enumerator.
    ///
    /// # Errors
    /// The event contradicts what the reader holds.
    fn handle(&self, event: ToReader) -> Result<Vec<ToEnumerator>>;

    /// No split will be assigned any more: [`Message::End`] comes when what is held is out.
    ///
    /// # Errors
    /// None of its own.
    fn no_more_splits(&self) -> Result<Vec<ToEnumerator>>;

    /// The next message; waits up to `timeout`, and returns at once after [`SourceReader::cancel`].
    ///
    /// # Errors
    /// Whatever reading failed with, after the messages that came before it; `Closed` after a cancel. The reader is not
    /// asked again.
    fn next(&self, timeout: Duration) -> Result<Message>;

    /// The last row of a batch has left `pollNext`. Batches are consumed in the order of their numbers.
    ///
    /// # Errors
    /// A batch that was not handed out.
    fn consumed(&self, batch: u64) -> Result<Vec<ToEnumerator>>;

    /// The state at exactly the rows that are out.
    ///
    /// # Errors
    /// A place between the two rows of a unit, or in a batch that was not handed out.
    fn snapshot(&self, checkpoint: u64, out: RowsOut) -> Result<Vec<Split>>;

    /// Flink says that a checkpoint is complete; notices may be lost, a later one implies the earlier.
    ///
    /// # Errors
    /// None that must fail the job: what can be tried again with the next notice is not one.
    fn checkpoint_complete(&self, checkpoint: u64) -> Result<Vec<ToEnumerator>>;

    /// Those of `gauges` that a reader has, always all of them.
    fn metrics(&self) -> Vec<Metric>;

    /// Wakes everything that waits: the channel, and what is stuck in a driver. Never blocks, may come more than once.
    fn cancel(&self);

    /// Ends the threads and connections, or abandons those that do not end within `socket.timeout`. Comes after
    /// [`SourceReader::cancel`].
    fn close(&self);
}

/// What [`SourceReader::next`] has.
#[derive(Debug)]
pub enum Message {
    /// Nothing came within the timeout.
    Nothing,
    /// Rows.
    Rows(Batch),
    /// Events of the reader's own threads for the enumerator.
    Events(Vec<ToEnumerator>),
    /// Everything is out and nothing will come: the reader is at its end. Nothing else may end it.
    End,
}

/// How far rows are out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsOut {
    /// All batches before this one are out; 0 before the first.
    pub batch: u64,
    /// So many rows of that batch are out: always at the end of a unit, and all rows once it was consumed.
    pub rows: u32,
}

/// A gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in Flink's metric group.
    pub name: &'static str,
    /// Its value now.
    pub value: i64,
}
