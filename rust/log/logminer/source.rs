//! What the log reader asks of a database, and the rows that it gets back: the seam between mining and connections.

use crate::catalog::{Table, TableVersion};
use crate::dialect::mining::Operation;
use crate::error::{Error, Result};
use crate::position::{Incarnation, Scn, Xid};

/// An archived log file as the database lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Where it lies on the server.
    pub path: String,
    /// The first scn in it.
    pub first: Scn,
    /// The last scn in it; grows while the file is written.
    pub last: Scn,
    /// The last scn of the file before it, whether that one is kept or not.
    pub previous: Scn,
    /// Its number among the files; equal for copies in several destinations.
    pub sequence: u64,
    /// How many bytes of it are written.
    pub bytes: u64,
    /// Whether the server still writes it.
    pub active: bool,
}

/// A transaction that is open in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Which one.
    pub xid: Xid,
    /// The scn of its START record; `None` if it has written nothing.
    pub start: Option<Scn>,
    /// The session, for a person.
    pub session: String,
}

/// A record of the log as the view of the mining session gives it; everything is borrowed from the fetch buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentsRow<'a> {
    /// Where the record stands.
    pub scn: Scn,
    /// Its transaction.
    pub xid: Xid,
    /// What it does, in the database's own numbers.
    pub code: i64,
    /// What it does; `None` for a code without a rule, which is an error.
    pub operation: Option<Operation>,
    /// Whether it is, or belongs to, an undone change.
    pub roll_back: bool,
    /// The table's owner; empty where the record has no table.
    pub owner: &'a [u8],
    /// The table; empty where the record has none.
    pub table: &'a [u8],
    /// Identifies the row inside its transaction; empty where there is none.
    pub row_id: &'a [u8],
    /// The database's number of the table.
    pub object_id: u64,
    /// The table's version, as the database counts its shapes.
    pub object_version: u32,
    /// The text, or a piece of it; `None` where the view has NULL.
    pub redo: Option<&'a [u8]>,
    /// Name of the record set.
    pub rs_id: &'a [u8],
    /// Number inside the record set.
    pub ssn: u32,
    /// Whether the text goes on in the next row.
    pub continued: bool,
    /// Zero, or why the record could not be read.
    pub status: i32,
    /// The record's time on the server's clock, as text; `None` where the view has NULL.
    pub time: Option<&'a [u8]>,
}

/// What a server has noted of its log by its clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTimes {
    /// The newest scn that was noted at or before a time, and not behind one that was noted later.
    pub scn: Option<Scn>,
    /// The first and the last time noted, on the server's clock; `None` if nothing is noted.
    pub noted: Option<(String, String)>,
}

/// A file that is listed and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// Its path, if the server's error belongs to one file.
    pub path: Option<String>,
    /// What the server says.
    pub message: String,
}

/// What to mine.
#[derive(Clone, Copy, Debug)]
pub struct MiningCall<'a> {
    /// The files, each once, in log order.
    pub files: &'a [Archive],
    /// The first scn that is wanted, inclusive. Rows before it may come and are dropped.
    pub from: Scn,
}

/// How much was mined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mined {
    /// Calls made, those that failed too.
    pub calls: u64,
    /// Bytes of the files that were given to them; a file counts each time.
    pub bytes: u64,
}

impl Mined {
    /// Makes a mining call and counts it.
    ///
    /// # Errors
    /// Those of [`LogSource::mine`].
    pub fn call(
        &mut self,
        source: &mut impl LogSource,
        call: &MiningCall<'_>,
        row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.calls += 1;
        self.bytes += bytes(call.files);
        source.mine(call, row)
    }
}

/// Bytes of files.
pub(super) fn bytes(files: &[Archive]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

/// A database with LogMiner. One connection is enough: no cursor is open between two calls.
pub trait LogSource: Send {
    /// All archived files of this log, in any order; a file may be listed more than once. The greatest
    /// [`Archive::last`] among them is `E` of design 3.1.4.
    ///
    /// # Errors
    /// Database errors.
    fn archives(&mut self) -> Result<Vec<Archive>>;

    /// `V` of design 3.1.4: what a SELECT that ended before this call may have seen.
    ///
    /// # Errors
    /// Database errors.
    fn visible_end(&mut self) -> Result<Scn>;

    /// The transactions that are open in the database, on all its nodes.
    ///
    /// # Errors
    /// Database errors.
    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>>;

    /// What the server knows of its log at a time on its clock (`YYYY-MM-DD hh:mm:ss`).
    ///
    /// # Errors
    /// Database errors.
    fn known_times(&mut self, local: &str) -> Result<KnownTimes>;

    /// Which log this is.
    ///
    /// # Errors
    /// Database errors.
    fn incarnation(&mut self) -> Result<Incarnation>;

    /// Makes the server begin a new log file.
    ///
    /// # Errors
    /// Database errors.
    fn switch_log(&mut self) -> Result<()>;

    /// One mining call: adds the files, starts the session, hands every row to `row` in the order of the view, and
    /// ends the session, after an error too. Of changes only those of the captured tables come, of START, COMMIT and
    /// ROLLBACK records all.
    ///
    /// # Errors
    /// Database errors and those of `row`.
    fn mine(&mut self, call: &MiningCall<'_>, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()>;

    /// Whether the server can open files that it lists.
    ///
    /// # Errors
    /// Database errors, among them those that [`LogSource::missing_file`] knows.
    fn probe(&mut self, _files: &[Archive]) -> Result<()> {
        Ok(())
    }

    /// Which of the tables with these numbers the dictionary has now, and in which shape. `None` from a log without a
    /// dictionary.
    ///
    /// # Errors
    /// Database errors.
    fn versions(&mut self, _object_ids: &[u64]) -> Result<Option<Vec<TableVersion>>> {
        Ok(None)
    }

    /// A captured table, by its place in the list, as the dictionary has it now; `None` if it is gone.
    ///
    /// # Errors
    /// Database errors.
    fn shape(&mut self, _table: u32) -> Result<Option<Table>> {
        Ok(None)
    }

    /// The file, where it is known, if an error of [`LogSource::mine`] says that one is missing that was listed a moment
    /// ago; `None` for other errors.
    fn missing_file(&self, error: &Error) -> Option<MissingFile>;

    /// Whether the server still logs what is needed.
    ///
    /// # Errors
    /// `Setup`, `LoggingMode`; database errors.
    fn check_setup(&mut self) -> Result<()>;
}
