//! A slot as the server describes it, and the questions and orders about it that need no copy.

use crate::dialect::Query;
use crate::dialect::slots::{Names, Slots, Statements, lsn, status};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{Connection, Field};
use crate::position::Lsn;

/// What the server says of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotStatus {
    /// Its output plugin; `None` for a physical slot.
    pub plugin: Option<String>,
    /// The database that it belongs to.
    pub database: Option<String>,
    /// The session that uses it now, for a person.
    pub holder: Option<String>,
    /// The log is kept from here on; `None` if it is kept no more.
    pub restart: Option<Lsn>,
    /// What commits before here does not come from it any more.
    pub confirmed: Option<Lsn>,
    /// `reserved`, `extended`, `unreserved` or `lost`; `None` where the server does not say.
    pub wal_status: Option<String>,
    /// Bytes that may be written before it is in danger; `None` without a limit.
    pub safe_bytes: Option<u64>,
    /// Why it cannot be used any more.
    pub invalidation: Option<String>,
    /// Where the log ends.
    pub log_end: Lsn,
}

impl SlotStatus {
    /// Bytes of log that it holds back.
    pub fn retained(&self) -> u64 {
        self.restart
            .map_or(0, |restart| self.log_end.0.saturating_sub(restart.0))
    }

    /// Whether the log that it needs is there for sure.
    ///
    /// # Errors
    /// `SlotLost`, `SlotUnreserved`.
    pub fn check(&self, slot: &str) -> Result<()> {
        self.check_lost(slot)?;
        if self.wal_status.as_deref() == Some("unreserved") {
            return Err(ErrorKind::SlotUnreserved {
                slot: slot.into(),
                retained: self.retained(),
            }
            .into());
        }
        Ok(())
    }

    /// Whether it can still be read.
    ///
    /// # Errors
    /// `SlotLost`.
    pub fn check_lost(&self, slot: &str) -> Result<()> {
        let lost = |reason: String| {
            Err(ErrorKind::SlotLost {
                slot: slot.into(),
                reason,
            }
            .into())
        };
        if let Some(why) = &self.invalidation {
            return lost(format!("it was invalidated ({why})"));
        }
        if self.wal_status.as_deref() == Some("lost") {
            return lost("the server has removed log that it needs (wal_status lost)".into());
        }
        match self.restart {
            Some(_) => Ok(()),
            None => lost("it holds no log (restart_lsn is NULL): it was invalidated".into()),
        }
    }
}

/// Which of the system's names a server has.
///
/// # Errors
/// Database errors.
pub fn resolve_names(connection: &mut Connection, dialect: &dyn Slots) -> Result<Statements> {
    let mut failed = None;
    for query in dialect.system_names() {
        match connection.rows(&query.sql, &query.columns) {
            Ok(rows) => {
                let names = rows.iter().filter_map(|row| row.first()?.text().map(str::to_owned));
                return Ok(Statements::new(Names::new(dialect.prefixes(), names)));
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let error = failed.unwrap_or_else(|| ErrorKind::Internal("the dialect asks for no names".into()).into());
    Err(error.doing("asking which system functions the server has"))
}

/// What the server says of a slot; `None` if it is not there.
///
/// # Errors
/// Database errors.
pub fn status(connection: &mut Connection, statements: &Statements, slot: &str) -> Result<Option<SlotStatus>> {
    let rows = rows(connection, &statements.slot_status(slot), "looking at the slot")?;
    Ok(rows.first().map(|row| {
        let text = |column: usize| row.get(column).and_then(Field::text).map(str::to_owned);
        let number = |column: usize| row.get(column).and_then(Field::int);
        let lsn = |column: usize| number(column).map(|lsn| Lsn(lsn as u64));
        SlotStatus {
            plugin: text(status::PLUGIN),
            database: text(status::DATABASE),
            holder: number(status::PID).map(|pid| match text(status::SESSION) {
                Some(session) => format!("pid {pid}, {session}"),
                None => format!("pid {pid}"),
            }),
            restart: lsn(status::RESTART),
            confirmed: lsn(status::CONFIRMED),
            wal_status: text(status::WAL_STATUS),
            safe_bytes: number(status::SAFE_BYTES).map(|bytes| bytes.max(0) as u64),
            invalidation: text(status::INVALIDATION),
            log_end: lsn(status::LOG_END).unwrap_or_default(),
        }
    }))
}

/// Makes the durable slot. Returns where the log can be read from.
///
/// # Errors
/// `Setup` where the server has no room for another slot, or not the plugin; database errors.
pub fn create(connection: &mut Connection, statements: &Statements, slot: &str, plugin: &str) -> Result<Lsn> {
    let query = statements.create_slot(slot, plugin, false);
    let made = number(connection, &query, "making the slot").map_err(|error| no_room(error, slot));
    Ok(Lsn(made? as u64))
}

/// Drops a slot if it is there.
///
/// # Errors
/// Database errors; it is in use.
pub fn drop_slot(connection: &mut Connection, statements: &Statements, slot: &str) -> Result<()> {
    if status(connection, statements, slot)?.is_none() {
        return Ok(());
    }
    connection
        .execute(&statements.drop_slot(slot))
        .map_err(|error| error.doing(format!("dropping slot '{slot}'")))
}

/// Moves a slot to a place; one that stands there or behind it already stays.
///
/// # Errors
/// `SlotLost` if it is not there; database errors.
pub fn advance(connection: &mut Connection, statements: &Statements, slot: &str, to: Lsn) -> Result<()> {
    let found = status(connection, statements, slot)?.ok_or_else(|| is_gone(slot))?;
    if found.confirmed.is_some_and(|confirmed| confirmed >= to) {
        return Ok(());
    }
    connection
        .execute(&statements.advance_slot(slot, to))
        .map_err(|error| error.doing(format!("moving slot '{slot}'")).at(lsn(to)))
}

/// Which of the dialect's plugins the server has, found by making temporary slots. Needs a free slot, and a session that
/// may break.
///
/// # Errors
/// `Setup` if it has none of them, or no room for a slot; database errors.
pub fn usable_plugins(
    open: &mut dyn FnMut() -> Result<Connection>,
    statements: &Statements,
    wanted: &[&'static str],
    probe: &str,
) -> Result<Vec<&'static str>> {
    let mut usable = Vec::new();
    let mut refused = Vec::new();
    for plugin in wanted {
        let mut connection = open()?;
        let made = number(
            &mut connection,
            &statements.create_slot(probe, plugin, true),
            "looking for output plugins",
        );
        match made {
            Ok(_) => {
                connection.execute(&statements.drop_slot(probe))?;
                usable.push(*plugin);
            }
            // 58P01: there is no such library; 42883: it is none of a plugin's. A server may have other words.
            Err(error) if is_state(&error, &["53400"]) => return Err(no_room(error, probe)),
            Err(error) if error.is_retryable() || is_state(&error, &["42501", "55000"]) => return Err(error),
            Err(error) => refused.push(format!("{plugin}: {error}")),
        }
    }
    if usable.is_empty() {
        let text = format!(
            "the server has none of the output plugins that can be read: {}",
            refused.join("; ")
        );
        return Err(ErrorKind::Setup(text).into());
    }
    Ok(usable)
}

/// The rows of a small result.
pub(super) fn rows(connection: &mut Connection, query: &Query, doing: &str) -> Result<Vec<Vec<Field>>> {
    connection
        .rows(&query.sql, &query.columns)
        .map_err(|error| error.doing(doing))
}

/// The one integer of a result.
pub(super) fn number(connection: &mut Connection, query: &Query, doing: &str) -> Result<i64> {
    let number = connection.int(&query.sql, &query.columns);
    let number = number.map_err(|error| error.doing(doing))?;
    number.ok_or_else(|| Error::from(ErrorKind::Internal("the server gave no number".into())).doing(doing))
}

pub(super) fn is_gone(slot: &str) -> Error {
    ErrorKind::SlotLost {
        slot: slot.into(),
        reason: "there is no such slot".into(),
    }
    .into()
}

/// Whether an error is a statement's with one of these SQLSTATEs.
pub(crate) fn is_state(error: &Error, states: &[&str]) -> bool {
    matches!(error.kind(), ErrorKind::Statement { state, .. } if states.contains(&state.as_str()))
}

/// Whether the server could not do what a statement asked for, by the class of its SQLSTATE (the manual's appendix A): not
/// supported, data, names, raised by a function, internal.
pub(super) fn is_refused(error: &Error) -> bool {
    let classes = ["0A", "22", "42", "P0", "XX"];
    matches!(error.kind(), ErrorKind::Statement { state, .. } if classes.iter().any(|class| state.starts_with(class)))
}

/// Says what is to be done where all slots are taken.
pub(super) fn no_room(error: Error, slot: &str) -> Error {
    match is_state(&error, &["53400"]) {
        true => ErrorKind::Setup(format!(
            "there is no room for slot '{slot}': all that max_replication_slots allows are taken; a job needs two"
        ))
        .into(),
        false => error,
    }
}
