//! What the LogMiner databases have in common: the questions, the records' kinds and the faults, in neutral terms.

use crate::dialect::{Dialect, Query};
use crate::error::Result;
use crate::position::{Scn, Xid};
use crate::split::TableName;

/// What a record of the log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A transaction begins.
    Start,
    /// A row comes.
    Insert,
    /// A row goes.
    Delete,
    /// A row changes.
    Update,
    /// Several rows change by one text; no form of it is known, so it is an error for a captured table.
    BatchUpdate,
    /// A table's shape changes, or another object does.
    Schema,
    /// A transaction ends and counts.
    Commit,
    /// A transaction ends and never was.
    Rollback,
    /// The first half of a two-phase commit: the transaction stays open.
    Prepare,
    /// The second half of a two-phase commit: as a commit.
    CommitPrepared,
    /// A large object is made: its content is not in the row's text, which says so; passed over.
    LobBegin,
    /// A piece of a large object; passed over as its beginning is.
    LobData,
    /// A sequence moves: no table's row; passed over.
    Sequence,
    /// The server could not put the record into words: an error for a captured table.
    Unsupported,
}

/// What an error of a mining call means, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiningFault {
    /// A file that was listed is not there any more: look the files up again and try once more.
    MissingFile,
    /// START found no files in the session: as for a missing file.
    NoFiles,
    /// A file was added twice: leave it out.
    DuplicateFile,
    /// Rows were asked for without START: the session was lost.
    NotStarted,
    /// START came twice: END, and begin anew.
    AlreadyStarted,
    /// END without a session: nothing is to be done.
    NoSession,
    /// A file was added after START: END, and begin anew.
    TooLate,
}

/// A question that fails where the user lacks a right, or the server a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A SELECT without rows, or a call that does nothing outside of a mining session.
    pub query: Query,
    /// What is needed for it, as the DBA grants it.
    pub needs: String,
}

/// What differs between databases in mining their log through SQL.
pub trait Mining: Dialect {
    /// `V` of design 3.1.4, one integer: no SELECT that has ended saw a commit beyond it.
    fn visible_end(&self) -> Query;

    /// Which log this is, one integer.
    fn incarnation(&self) -> Query;

    /// The archived files: path, first scn, last scn, last scn of the file before, bytes written, whether it is still
    /// written (1 or 0), sequence number, incarnation.
    fn archives(&self) -> Query;

    /// The transactions that are open: id, scn of the START (NULL or 0 if it has written nothing), session.
    fn open_transactions(&self) -> Query;

    /// What the server has noted of its log by its clock, one row: the newest scn noted at or before a local time
    /// (`YYYY-MM-DD hh:mm:ss`) and not behind one noted later, or NULL; the first and the last time noted, texts.
    fn known_times(&self, local: &str) -> Query;

    /// What tells whether the user may ask for [`Mining::known_times`].
    fn times_probe(&self) -> Probe;

    /// Names and values, texts both, of what [`Mining::judge_setup`] looks at.
    fn setup(&self) -> Query;

    /// What tells whether the user has the rights that capture needs, each by itself; without those on the tables.
    fn probes(&self) -> Vec<Probe>;

    /// Whether a server that is set up like this logs what is needed.
    ///
    /// # Errors
    /// `Setup` or `LoggingMode`, with what is to be set; `Several` where it is more than one thing.
    fn judge_setup(&self, settings: &[(String, String)]) -> Result<()>;

    /// What to set so that the log holds whole rows, for a person.
    fn logging_hint(&self) -> &'static str;

    /// Adds a file to the session, or begins a session with it.
    fn add_file(&self, path: &str, first: bool) -> String;

    /// Starts mining the added files from an scn on, inclusive.
    fn start(&self, from: Scn) -> String;

    /// Ends the session.
    fn end(&self) -> String;

    /// The records of the started session, in the columns of [`contents`]: of transactions' begins and ends, of records
    /// of unknown kinds and of those that the server cannot put into words all, of the rest those of the given tables.
    fn contents(&self, tables: &[&TableName]) -> Query;

    /// What a record's number of operation says; `None` for a number that has no rule, which is an error.
    fn operation(&self, code: i64) -> Option<Operation>;

    /// A transaction's number as [`contents::XID`] has it.
    fn xid(&self, bytes: &[u8]) -> Option<Xid>;

    /// What an error with the database's own number says of a mining call; `None`: nothing special.
    fn fault(&self, native: i32) -> Option<MiningFault>;

    /// Makes the server begin a new log file.
    fn switch_log(&self) -> String;
}

/// The columns of [`Mining::contents`], by number.
pub mod contents {
    /// Where the record stands; integer.
    pub const SCN: usize = 0;
    /// Its transaction; bytes, for [`super::Mining::xid`].
    pub const XID: usize = 1;
    /// What it does; integer.
    pub const OPERATION: usize = 2;
    /// Whether it is undone or undoes; integer, 1 or 0.
    pub const ROLL_BACK: usize = 3;
    /// The table's schema; text.
    pub const OWNER: usize = 4;
    /// The table; text.
    pub const TABLE: usize = 5;
    /// What identifies the row inside its transaction; text.
    pub const ROW_ID: usize = 6;
    /// The table's number; integer.
    pub const OBJECT: usize = 7;
    /// The number of the table's shape; integer.
    pub const OBJECT_VERSION: usize = 8;
    /// The record's words or a piece of them; text, perhaps cut inside a character.
    pub const REDO: usize = 9;
    /// Name of the record set; text.
    pub const RS_ID: usize = 10;
    /// Number inside the record set; integer.
    pub const SSN: usize = 11;
    /// Whether the text goes on in the next row; integer, 1 or 0.
    pub const CONTINUED: usize = 12;
    /// Zero or NULL, or why the record could not be read; integer.
    pub const STATUS: usize = 13;
    /// The record's time in the server's zone; text, for [`crate::row::zone::Zone::epoch_micros`].
    pub const TIMESTAMP: usize = 14;
}
