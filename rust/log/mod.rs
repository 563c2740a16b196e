//! What turns a database's log into transactions in commit order.

pub mod captured;
pub mod decoding;
pub mod logminer;
mod records;
pub mod spill;
pub mod standstill;
mod transaction;
pub mod transactions;
pub mod undo;

use std::sync::Arc;
use std::time::Duration;

use crate::catalog::Table;
use crate::catalog::change::SchemaChange;
use crate::error::Result;
use crate::log::spill::Spilled;
use crate::position::{CommitPosition, Incarnation, Place, Position, Scn, Xid};
use crate::row::value::{Image, ValueBuffer};
use crate::split::Partition;

/// Reads one log from a position on: the one interface that snapshot correction and stream both use.
///
/// A reader is opened at a pair (`mine_from`, `position`): it mines from `mine_from`, returns the transactions that
/// commit behind `position`, and of those from `mine_from` to `position` only notes which they are.
pub trait LogReader: Send {
    /// The next step of the log, or `None` when nothing more can be read now: then the end of the log was asked for
    /// since the call began, and all that it allows has been read. Does not wait for the log to grow; may take as long
    /// as one mining call.
    ///
    /// # Errors
    /// Whatever the log does not allow; the reader cannot be used afterwards.
    fn poll(&mut self) -> Result<Option<LogEvent>>;

    /// Where the reader stands: behind the last event that [`LogReader::poll`] returned.
    fn progress(&self) -> Progress;

    /// `V` of design 3.1.4: no SELECT that ended before this call has seen a commit beyond it.
    ///
    /// # Errors
    /// Database errors.
    fn visible_end(&mut self) -> Result<Scn>;

    /// Transactions whose COMMIT was returned or noted and that are still open in the database, described for a person;
    /// those seen closed are forgotten.
    ///
    /// # Errors
    /// Database errors.
    fn still_open(&mut self) -> Result<Vec<String>>;

    /// Asks the database for what helps the log on where the configuration allows it (a log switch); `false` if
    /// nothing may be done.
    ///
    /// # Errors
    /// Database errors.
    fn push(&mut self) -> Result<bool>;

    /// Whether the log from `needed` on is still there.
    ///
    /// # Errors
    /// `LogGone` with what is needed and what is there, or database errors.
    fn check_kept(&mut self, needed: Scn) -> Result<()>;

    /// The same, and whether all of it can be opened; waits for what may come late.
    ///
    /// # Errors
    /// Those of [`LogReader::check_kept`].
    fn check_readable(&mut self, needed: Scn) -> Result<()> {
        self.check_kept(needed)
    }

    /// Which log this is.
    fn incarnation(&self) -> Incarnation;

    /// How much may still happen to the log before what is `needed` is lost, as it was looked at last; `None` where that is not
    /// known, or nothing can happen to it.
    fn headroom(&self, needed: Scn) -> Option<Headroom> {
        let _ = needed;
        None
    }

    /// How long to wait before an idle log is asked again, at first and at most: as long as the question is cheap beside it.
    fn idle(&self) -> (Duration, Duration) {
        (Duration::from_millis(50), Duration::from_millis(500))
    }

    /// The partitions of captured tables, once they are others than it gave last: where the log names these alone, a later
    /// reader of the same stretch has to know them, be they gone by then. `None`: nothing new.
    fn partitions(&mut self) -> Option<Vec<Partition>> {
        None
    }

    /// What it has done and what it holds; asks nothing of the database.
    fn figures(&self) -> Figures {
        Figures::default()
    }
}

/// How far a log is from losing what is needed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// Bytes of kept files that lie wholly before what is needed: they may be deleted.
    Files(u64),
    /// Bytes of log that may be written before the server takes some away that the job's slot needs.
    Slot(u64),
}

impl Headroom {
    /// The bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Headroom::Files(bytes) | Headroom::Slot(bytes) => bytes,
        }
    }
}

/// What a log reader has done and what it holds, for gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Records that could not be read and were passed over, where the job is told to go on without them.
    pub skipped_records: u64,
    /// Committed transactions left out since their beginning is no longer kept, where the job is told to begin with
    /// what is.
    pub skipped_transactions: u64,
    /// Mining calls made.
    pub mining_calls: u64,
    /// Bytes of the files that were given to them; a file counts each time.
    pub mined_bytes: u64,
    /// Transactions, of captured tables or not, whose end has not been read.
    pub open_transactions: u64,
    /// The oldest START among them and its time, in microseconds since the epoch.
    pub oldest: Option<(Scn, i64)>,
    /// Bytes of the log files from there on, as they were listed last; zero without one.
    pub oldest_log_bytes: u64,
    /// Memory that the changes of transactions take that are not out.
    pub buffered_bytes: u64,
    /// What did not fit into `transaction.memory`.
    pub spilled: Spilled,
    /// Bytes of log that the server keeps for the job alone, where it keeps any so.
    pub retained_bytes: Option<u64>,
}

/// The pair that a log reader is opened at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Where mining begins, inclusive.
    pub mine_from: Scn,
    /// Transactions that commit before this cut are noted, those behind it are returned.
    pub position: Position,
}

/// From where on the log is read by those who start without a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStart {
    /// `latest-offset`: what commits from now on.
    Latest,
    /// `earliest-offset`: all that the kept log has whole.
    Earliest,
    /// `specific-offset`: what commits at or after this scn.
    At(Scn),
    /// `committed-offset`: from where the log is kept for the job.
    Committed,
    /// `timestamp`: from the first commit at or after this time on, in milliseconds since the epoch.
    Time(i64),
}

/// Where a log reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Every commit before this cut has been returned or noted. Moves only with records that came back.
    pub position: Position,
    /// The oldest START among transactions that do not commit before `position` (also of those that are read, but not
    /// returned yet), or the place from which nothing is missing: where none is open, at least up to where closed files
    /// were read whole.
    pub next_scn: Scn,
    /// The log is read completely up to here, inclusive: every record that stood at or below it when the end of the
    /// log was asked for has been read, and every commit among them returned or noted. Speaks of the
    /// newest time the end was asked for: where scns are shared, an end that falls inside an scn counts as the scn
    /// before, even if it was that scn the time before.
    pub complete_to: Option<Scn>,
}

/// What to do about a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// Fail the job.
    #[default]
    Fail,
    /// Go on without the record, count it and warn.
    Skip,
}

/// Where a fragment ends, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimit {
    /// `transaction.fragment.rows`
    pub rows: usize,
    /// Bytes of its values.
    pub bytes: usize,
}

/// A step of the log.
#[derive(Debug)]
pub enum LogEvent {
    /// A committed transaction, or the next part of a large one.
    Fragment(Fragment),
    /// A captured table changed its shape: rows of the new one come behind it. Its transaction ends with a
    /// [`Fragment`], be it an empty one.
    Schema(SchemaEvent),
    /// Nothing for you, but the log is read up to here.
    Progress(Progress),
}

/// A transaction's begin, changes and end; or a part of it.
#[derive(Debug)]
pub struct Fragment {
    /// The transaction.
    pub head: TransactionHead,
    /// Counted from zero.
    pub number: u32,
    /// Whether the transaction ends with this fragment.
    pub last: bool,
    /// The changes, in log order.
    pub changes: Changes,
}

/// What is known of a committed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionHead {
    /// Which one.
    pub xid: Xid,
    /// Where it committed.
    pub commit: CommitPosition,
    /// When, in microseconds since the epoch (UTC).
    pub commit_micros: i64,
    /// Where it began.
    pub start: Scn,
    /// Mining from here, inclusive, finds everything that commits behind this transaction: the oldest START that was
    /// open when its COMMIT record was read, its own left out; the scn of that COMMIT if there was none.
    pub next_scn: Scn,
}

/// Rows of a transaction, their values in one buffer.
#[derive(Debug, Default)]
pub struct Changes {
    /// The values.
    pub values: ValueBuffer,
    /// One entry a row.
    pub rows: Vec<Change>,
    /// The shape whose columns number the values of a table's rows here, for each table that has any; a table without
    /// an entry has the shape that it was captured with.
    pub shapes: Vec<(u32, Arc<Table>)>,
}

impl Changes {
    /// None yet, with room for about as many as these are: transactions are often like the one before.
    #[must_use]
    pub fn like(&self) -> Self {
        const ROWS: usize = 1_000;
        Changes {
            values: self.values.like(),
            rows: Vec::with_capacity(self.rows.len().min(ROWS)),
            shapes: Vec::new(),
        }
    }
}

/// One row inserted, updated or deleted.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which of the captured tables, by its number in the reader's table list.
    pub table: u32,
    /// The row before, whole; `None` for an insert.
    pub before: Option<Image>,
    /// The row after, whole; `None` for a delete.
    pub after: Option<Image>,
    /// Where the record stands, to name it in a checkpoint.
    pub place: Place,
}

/// A change of a table's shape, as a committed transaction did it.
#[derive(Clone, Debug)]
pub struct SchemaEvent {
    /// Its transaction.
    pub head: TransactionHead,
    /// Which of the captured tables, by its number in the reader's table list.
    pub table: u32,
    /// Where the record stands, to name it in a checkpoint.
    pub place: Place,
    /// What changed.
    pub change: SchemaChange,
}

/// How long to wait for a condition of the database, and how often to ask.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Longest wait.
    pub limit: Duration,
    /// Pause between two questions.
    pub pause: Duration,
}
