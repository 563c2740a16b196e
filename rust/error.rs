//! The one error of the core: what went wrong, what was being done, on which table, at which position, and what the
//! user can do. Every kind has a number that the documentation lists, and says whether trying again can help.

use std::fmt;

use crate::position::{Scn, Xid};

/// What every fallible function of the core returns.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. The number at the head of each text is stable; docs/operations.md lists them.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// An option is unknown, malformed or impossible beside another one.
    #[error("TM-1001 option '{option}': {reason}")]
    Option {
        /// The option as the user writes it.
        option: String,
        /// Why it is refused.
        reason: String,
    },
    /// The captured table, or something that is needed of it, is not there.
    #[error("TM-1002 {0}")]
    Catalog(String),
    /// The database is not set up for capture (archive mode, logging mode, grants).
    #[error("TM-1003 {0}")]
    Setup(String),
    /// A column that the job declares does not fit the table.
    #[error("TM-1004 {0}")]
    Declaration(String),
    /// Several things stand in the way of a start, each with its own number.
    #[error("TM-1005 {} things stand in the way:{}", .0.len(), numbered(.0))]
    Several(Vec<Error>),
    /// The driver manager, a driver or a connection could not be had.
    #[error("TM-2001 cannot connect: {message} [SQLSTATE {state}, native {native}]")]
    Connect {
        /// Text of the driver, without the connection string.
        message: String,
        /// SQLSTATE, five letters.
        state: String,
        /// The database's own number.
        native: i32,
        /// Whether the same attempt may succeed later.
        retryable: bool,
    },
    /// A statement failed.
    #[error("TM-2002 {message} [SQLSTATE {state}, native {native}]")]
    Statement {
        /// Text of the driver or the server.
        message: String,
        /// SQLSTATE, five letters.
        state: String,
        /// The database's own number.
        native: i32,
        /// Whether the same attempt may succeed later.
        retryable: bool,
    },
    /// A call did not come back within `socket.timeout`.
    #[error("TM-2003 no answer within {seconds} s")]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// The log from a needed position on is no longer kept.
    #[error("TM-3001 the log is gone: scn {needed} is needed, the oldest kept is {}, {detail}", oldest.map_or_else(|| "none".to_owned(), |scn| scn.to_string()))]
    LogGone {
        /// The first scn that is needed.
        needed: Scn,
        /// The first scn that is still kept, where any is.
        oldest: Option<Scn>,
        /// Which file or sequence is missing.
        detail: String,
    },
    /// The minable end of the log stays behind what a SELECT may have seen.
    #[error(
        "TM-3002 the log can be mined up to scn {reached} only, scn {needed} is needed, after {seconds} s of waiting"
    )]
    LogBehind {
        /// The scn that must be readable.
        needed: Scn,
        /// The scn up to which files can be mined.
        reached: Scn,
        /// How long was waited.
        seconds: u64,
    },
    /// Transactions whose COMMIT stands in the log stay open in the database.
    #[error("TM-3003 committed transactions did not become visible within {seconds} s: {sessions}")]
    NotVisible {
        /// Which transactions and sessions.
        sessions: String,
        /// How long was waited.
        seconds: u64,
    },
    /// A record of the log cannot be read as what it claims to be.
    #[error("TM-3004 corrupt log record: {0}")]
    CorruptLog(String),
    /// A record was written under another shape of its table than today's dictionary has.
    #[error("TM-3005 dictionary mismatch: {0}")]
    DictionaryMismatch(String),
    /// The server does not log enough to rebuild rows.
    #[error("TM-3006 logging mode: {0}")]
    LoggingMode(String),
    /// A redo text does not follow its grammar.
    #[error("TM-3007 cannot read the redo text: {0}")]
    Redo(String),
    /// A row of a slot does not follow its output plugin's format.
    #[error("TM-3009 cannot read what the output plugin sent: {0}")]
    Decoding(String),
    /// The durable slot has moved beyond what a state needs.
    #[error(
        "TM-3010 slot '{slot}' was confirmed up to LSN {confirmed}, the state needs what commits from LSN {needed} on: that is \
         gone from the slot"
    )]
    SlotAhead {
        /// The slot.
        slot: String,
        /// Where it stands, as the server writes it.
        confirmed: String,
        /// What is needed, as the server writes it.
        needed: String,
    },
    /// The durable slot is not there, or the log that it needs is not.
    #[error("TM-3011 slot '{slot}' cannot be read any more: {reason}")]
    SlotLost {
        /// The slot.
        slot: String,
        /// Why.
        reason: String,
    },
    /// The server may remove log that the durable slot needs at its next checkpoint.
    #[error(
        "TM-3012 slot '{slot}' is about to be lost (wal_status unreserved): it holds back {retained} bytes of log, more than \
         max_slot_wal_keep_size allows"
    )]
    SlotUnreserved {
        /// The slot.
        slot: String,
        /// What it holds back.
        retained: u64,
    },
    /// Another session uses the slot.
    #[error("TM-3013 slot '{slot}' is used by another session ({holder}), also after {seconds} s of waiting")]
    SlotBusy {
        /// The slot.
        slot: String,
        /// Which one.
        holder: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The columns of a table are others than those that a page was to be read in.
    #[error("TM-3014 the table was altered since it was looked up")]
    Altered,
    /// What does not fit into `transaction.memory` cannot be written to a temporary folder, or not be read back.
    #[error("TM-6001 transaction {transaction} cannot be spilled to '{directory}': {reason}")]
    Spill {
        /// The folder.
        directory: String,
        /// The transaction.
        transaction: Xid,
        /// What the system says.
        reason: String,
    },
    /// A spill file does not hold what was written to it.
    #[error("TM-6002 the spill file '{file}' of transaction {transaction} is damaged: {reason}")]
    SpillCorrupt {
        /// The file.
        file: String,
        /// The transaction.
        transaction: Xid,
        /// What is wrong, and where.
        reason: String,
    },
    /// A transaction is open for longer than `transaction.max-age`.
    #[error(
        "TM-6003 transaction {transaction} of {session} is open for {seconds} s, from scn {start} on; transaction.max-age is \
         {limit} s"
    )]
    TransactionTooOld {
        /// The transaction.
        transaction: Xid,
        /// Its session, as far as the database says.
        session: String,
        /// Where it began.
        start: Scn,
        /// Its age.
        seconds: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A table was truncated while it is captured.
    #[error("TM-3008 the table was truncated")]
    Truncated,
    /// A value does not fit the declared type.
    #[error("TM-4001 column '{column}' of the row with key {key}: {reason}")]
    Value {
        /// The column.
        column: String,
        /// The row's key as text, or `?` where it is not known.
        key: String,
        /// Why it does not fit.
        reason: String,
    },
    /// The log does not hold a value and it must not be invented.
    #[error("TM-4002 column '{column}' of the row with key {key}: the log does not hold its value")]
    ValueUnavailable {
        /// The column.
        column: String,
        /// The row's key as text.
        key: String,
    },
    /// State bytes are damaged, of a later version, or do not fit the log.
    #[error("TM-5001 state: {0}")]
    State(String),
    /// Readers and enumerator disagree; the job restarts from its checkpoint.
    #[error("TM-5002 snapshot protocol: {0}")]
    Protocol(String),
    /// Use after close, or woken by close.
    #[error("TM-9001 closed")]
    Closed,
    /// A fault of our own: a panic that was caught, an invariant that does not hold.
    #[error("TM-9002 internal fault: {0}")]
    Internal(String),
}

/// An [`ErrorKind`] with what was being done when it came up.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    doing: Option<String>,
    table: Option<String>,
    position: Option<String>,
}

impl Error {
    /// All of these errors as one: nothing if there are none, the only one as it is.
    ///
    /// # Errors
    /// What was given.
    pub fn all(errors: Vec<Error>) -> Result<()> {
        let mut all = Vec::with_capacity(errors.len());
        for error in errors {
            match error.0.kind {
                ErrorKind::Several(more) => all.extend(more),
                _ => all.push(error),
            }
        }
        match all.len() {
            0 => Ok(()),
            1 => Err(all.remove(0)),
            _ => Err(ErrorKind::Several(all).into()),
        }
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Says what was being done; the innermost description stays.
    pub fn doing(mut self, what: impl Into<String>) -> Self {
        self.0.doing.get_or_insert_with(|| what.into());
        self
    }

    /// Says on which table.
    pub fn on(mut self, table: impl fmt::Display) -> Self {
        self.0.table.get_or_insert_with(|| table.to_string());
        self
    }

    /// Says at which position of the log.
    pub fn at(mut self, position: impl fmt::Display) -> Self {
        self.0.position.get_or_insert_with(|| position.to_string());
        self
    }

    /// Whether a call took longer than a call may.
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind(), ErrorKind::Timeout { .. })
    }

    /// Whether restarting from the last checkpoint can help. Everything else must reach Flink as an error that
    /// suppresses restarts.
    pub fn is_retryable(&self) -> bool {
        match self.kind() {
            ErrorKind::Connect { retryable, .. } | ErrorKind::Statement { retryable, .. } => *retryable,
            ErrorKind::Timeout { .. }
            | ErrorKind::LogBehind { .. }
            | ErrorKind::NotVisible { .. }
            | ErrorKind::SlotUnreserved { .. }
            | ErrorKind::SlotBusy { .. }
            | ErrorKind::Altered
            | ErrorKind::Spill { .. }
            | ErrorKind::Protocol(_)
            | ErrorKind::Closed
            | ErrorKind::Internal(_) => true,
            ErrorKind::Option { .. }
            | ErrorKind::Catalog(_)
            | ErrorKind::Setup(_)
            | ErrorKind::Declaration(_)
            | ErrorKind::Several(_)
            | ErrorKind::LogGone { .. }
            | ErrorKind::CorruptLog(_)
            | ErrorKind::DictionaryMismatch(_)
            | ErrorKind::LoggingMode(_)
            | ErrorKind::Redo(_)
            | ErrorKind::Decoding(_)
            | ErrorKind::SlotAhead { .. }
            | ErrorKind::SlotLost { .. }
            | ErrorKind::SpillCorrupt { .. }
            | ErrorKind::TransactionTooOld { .. }
            | ErrorKind::Truncated
            | ErrorKind::Value { .. }
            | ErrorKind::ValueUnavailable { .. }
            | ErrorKind::State(_) => false,
        }
    }

    /// One sentence of what the user can do.
    pub fn hint(&self) -> &'static str {
        match self.kind() {
            ErrorKind::Option { .. } => "Correct the option; docs/options.md lists names, defaults and values.",
            ErrorKind::Catalog(_) => {
                "Check schema-name and table-name (a name that SQL must quote stands in double quotes) and the grants of the user."
            }
            ErrorKind::Setup(_) | ErrorKind::LoggingMode(_) => {
                "Ask the DBA to run the setup script of the database's page in docs/."
            }
            ErrorKind::Declaration(_) => "Correct the column in CREATE TABLE, or leave it out.",
            ErrorKind::Several(_) => "Each says what is to be done.",
            ErrorKind::Connect { .. } => {
                "Check hostname, port, username and password, that the server answers within connect.timeout, and that unixODBC (libodbc.so.2) and the database's ODBC driver are installed on JobManager and TaskManagers."
            }
            ErrorKind::Statement { .. } => "See the server's message; a lost connection is tried again by a restart.",
            ErrorKind::Timeout { .. } => "Check that the server is alive, or raise socket.timeout.",
            ErrorKind::LogGone { .. } => {
                "Restore the missing archives to their place, start the job anew without its state, or set log.gone = 'resnapshot' to read all tables again: what they held cannot be known, be the database ever so idle. Keep archives longer than the longest stop."
            }
            ErrorKind::LogBehind { .. } => {
                "Check that the server archives its log and that its archive disk is not full."
            }
            ErrorKind::NotVisible { .. } => {
                "Look at these sessions: a commit that waits (for a standby, say) is not visible yet."
            }
            ErrorKind::CorruptLog(_) => {
                "Check the archive file with the database's own tools; set log.on-corruption = 'skip' to go on without the record."
            }
            ErrorKind::DictionaryMismatch(_) => {
                "The table was altered after the record was written; start the job anew, or set log.on-dictionary-mismatch = 'skip'."
            }
            ErrorKind::Redo(_) => {
                "Please report the text with the server's version, it is not in a form that this version knows; set log.on-corruption = 'skip' to go on without the record."
            }
            ErrorKind::Decoding(_) => {
                "Please report the bytes with the names and versions of server and plugin; they are not in a form that this version knows."
            }
            ErrorKind::SlotAhead { .. } => {
                "Restore a newer checkpoint or savepoint, start the job anew without its state, or set log.gone = 'resnapshot' to read all tables again; the slot must be used by this job alone."
            }
            ErrorKind::SlotLost { .. } => {
                "Start the job anew without its state, or set log.gone = 'resnapshot' to read all tables again; raise max_slot_wal_keep_size, do not drop the slot while a state needs it, and carry it over where a standby takes the primary's place, which does not have it by itself."
            }
            ErrorKind::SlotUnreserved { .. } => {
                "Let the job catch up, or raise max_slot_wal_keep_size; look for what slows the job down."
            }
            ErrorKind::SlotBusy { .. } => {
                "Give each job a slot.name of its own; a session that is dead is ended by the server's tcp_keepalives or by pg_terminate_backend."
            }
            ErrorKind::Altered => {
                "The page is read again in the new columns; end what alters the table again and again."
            }
            ErrorKind::Spill { .. } => {
                "Make room in Flink's temporary folders (io.tmp.dirs), or raise transaction.memory; nothing is lost, the job reads the transaction again."
            }
            ErrorKind::SpillCorrupt { .. } => {
                "Check the disk of the temporary folder; nothing is lost: started from its last checkpoint the job reads the transaction again."
            }
            ErrorKind::TransactionTooOld { .. } => {
                "End the session and start the job from its last checkpoint, raise transaction.max-age, or set transaction.on-max-age = 'skip' to go on without the transaction."
            }
            ErrorKind::Truncated => "Start the job anew, or set on-truncate = 'ignore' to keep the rows downstream.",
            ErrorKind::Value { .. } => {
                "Declare the column with a type that holds its values, or set value.on-error = 'null'."
            }
            ErrorKind::ValueUnavailable { .. } => {
                "Leave the column out of the declared ones, or set value.unavailable = 'read-back' or 'placeholder'."
            }
            ErrorKind::State(_) => {
                "Restore with the version that wrote the state or a later one, and on the same database."
            }
            ErrorKind::Protocol(_) => {
                "The job restarts from its last checkpoint by itself; report it if it comes again."
            }
            ErrorKind::Closed => "The reader was closed; nothing is to be done.",
            ErrorKind::Internal(_) => "Please report this with the stack trace and the lines before it in the log.",
        }
    }
}

fn numbered(errors: &[Error]) -> String {
    let lines = errors.iter().zip(1..);
    lines
        .map(|(error, number)| format!("\n  ({number}) {error}"))
        .collect::<String>()
        + "\n "
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(Inner {
            kind,
            doing: None,
            table: None,
            position: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if let Some(doing) = &self.0.doing {
            write!(f, "; while {doing}")?;
        }
        if let Some(table) = &self.0.table {
            write!(f, "; table {table}")?;
        }
        if let Some(position) = &self.0.position {
            write!(f, "; at {position}")?;
        }
        write!(f, ". {}", self.hint())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let error = Error::from(ErrorKind::LogGone {
            needed: Scn(7),
            oldest: Some(Scn(9)),
            detail: "archive 3".into(),
        })
        .doing("opening the log")
        .doing("starting the reader")
        .on("BIZ.ORDERS")
        .at(Scn(7));
        let text = error.to_string();
        for part in [
            "TM-3001",
            "scn 7 is needed",
            "oldest kept is 9",
            "archive 3",
            "while opening the log",
            "BIZ.ORDERS",
            "Restore the missing",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("starting the reader"));
        assert!(!error.is_retryable());
    }
}
