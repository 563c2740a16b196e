//! The connection that reads: a temporary copy of the durable slot, and calls that hand out what it has.
//!
//! A temporary slot ends with its session, and any error ends its use: then all is made anew from the durable slot.

use std::time::{Duration, Instant};

use crate::dialect::Query;
use crate::dialect::slots::{Slots, Statements, changes, lsn};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Patience;
use crate::log::decoding::control::{Connect, Control};
use crate::log::decoding::plugin::{AnyPlugin, Plugin};
use crate::log::decoding::slot;
use crate::log::logminer::faults::OnFault;
use crate::odbc::Connection;
use crate::position::Lsn;
use crate::split::TableName;

/// Which slot is read, and how.
#[derive(Clone, Debug)]
pub struct SlotSettings {
    /// `slot.name`: the durable slot.
    pub slot: String,
    /// The publications whose tables are wanted, for plugins that know publications.
    pub publications: Vec<String>,
    /// Only the captured tables and their partitions are in the publications, and ever were: what nobody knows any more is
    /// one of these.
    pub exclusive: bool,
    /// The table that DDL statements are captured in, where there is one; it must be in the publications.
    pub ddl_table: Option<TableName>,
    /// `log.on-dictionary-mismatch`: what becomes of rows of which it cannot be told whose they are.
    pub on_mismatch: OnFault,
    /// How many changes a call hands out at most, whole transactions aside.
    pub batch_changes: u64,
    /// How often partitions and the slot's state are looked up again while the log grows.
    pub look_every: Duration,
    /// How long a copy that a dead session holds is waited for, and how often it is asked for.
    pub patience: Patience,
}

/// The name of a slot's temporary copy.
pub fn copy_name(slot: &str) -> String {
    // A name has 63 bytes at most, all of them ASCII letters, digits and underscores.
    const LONGEST: usize = 61;
    format!("{}_r", slot.get(..LONGEST).unwrap_or(slot))
}

/// A row of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRow<'a> {
    /// It is one that ends a transaction and comes first, once more.
    pub(super) is_end: bool,
    pub(super) lsn: u64,
    pub(super) xid: u32,
    pub(super) data: &'a [u8],
}

/// What became of reading rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Whoever takes the rows wants no more for now.
    Stopped,
    /// That was the last row.
    Ended,
}

/// Why rows could not be read.
pub(super) enum Failure {
    /// The session is of no use any more.
    Session(Error),
    /// Whoever takes the rows cannot go on.
    Taker(Error),
}

/// A reading session.
pub(super) struct Session {
    connection: Connection,
    statements: Statements,
    copy: String,
    publications: String,
    /// The call that was made last, and for how many changes.
    call: Option<(u64, Query)>,
    /// Rows that the next fetch asks for.
    fetch_rows: u64,
    fetch: Option<Fetch>,
    is_open: bool,
}

/// A fetch that is running.
#[derive(Clone, Copy, Default)]
struct Fetch {
    asked: u64,
    came: u64,
    bytes: u64,
}

/// Bytes that one fetch should bring, and rows that it brings at least and at most.
const FETCH_BYTES: u64 = 4 << 20;
const FETCH_ROWS: (u64, u64) = (16, 4_000);

impl Session {
    /// Opens a session whose copy of the slot begins at a place, or where the durable slot stands if that is later.
    pub(super) fn open(
        connect: &Connect,
        dialect: &dyn Slots,
        settings: &SlotSettings,
        control: &mut Control,
        from: Lsn,
    ) -> Result<(Self, AnyPlugin)> {
        let status = check_durable(control, &settings.slot, from)?;
        let name = status.plugin.unwrap_or_default();
        let plugin = AnyPlugin::of_name(&name).ok_or_else(|| {
            let text = format!(
                "slot '{}' has output plugin '{name}', which cannot be read",
                settings.slot
            );
            Error::from(ErrorKind::Setup(text))
        })?;
        let mut connection = connect()?;
        for statement in dialect.reader_session() {
            if let Err(error) = connection.execute(&statement) {
                log::debug!("{statement} is not known to the server: {error}");
            }
        }
        let mut publications = String::new();
        for (number, publication) in settings.publications.iter().enumerate() {
            if number > 0 {
                publications.push(',');
            }
            dialect.push_name(publication, &mut publications);
        }
        let mut session = Session {
            connection,
            statements: control.statements.clone(),
            copy: copy_name(&settings.slot),
            publications,
            call: None,
            fetch_rows: 256,
            fetch: None,
            is_open: false,
        };
        session.copy_slot(settings, control)?;
        if status.confirmed.is_some_and(|confirmed| confirmed < from) {
            let statement = session.statements.advance_slot(&session.copy, from);
            session
                .connection
                .execute(&statement)
                .map_err(|error| error.doing("moving the slot's copy").at(lsn(from)))?;
        }
        Ok((session, plugin))
    }

    /// Makes the copy; one that another session holds is waited for.
    fn copy_slot(&mut self, settings: &SlotSettings, control: &mut Control) -> Result<()> {
        let Patience { limit, pause } = settings.patience;
        let since = Instant::now();
        let query = self.statements.copy_slot(&settings.slot, &self.copy);
        loop {
            let made = slot::number(&mut self.connection, &query, "copying the slot");
            let error = match made {
                Ok(_) => return Ok(()),
                // 42710: there is one of that name; 55006: somebody is moving the durable one.
                Err(error) if slot::is_state(&error, &["42710", "55006"]) => error,
                Err(error) => return Err(slot::no_room(error, &self.copy)),
            };
            if since.elapsed() >= limit {
                return Err(match control.holder(&self.copy)? {
                    Some(holder) => ErrorKind::SlotBusy {
                        slot: settings.slot.clone(),
                        holder,
                        seconds: limit.as_secs(),
                    }
                    .into(),
                    None => error,
                });
            }
            std::thread::sleep(pause);
        }
    }

    /// A call for so many changes; its rows are then read. The server keeps the result, so that no transaction is open and
    /// holds rows back while it is fetched.
    pub(super) fn begin(&mut self, plugin: &AnyPlugin, limit: u64) -> Result<()> {
        self.close()?;
        let query = match self.call.take() {
            Some((of, query)) if of == limit => query,
            _ => self
                .statements
                .changes(&self.copy, limit, &plugin.call(&self.publications)),
        };
        let declare = format!("DECLARE {CURSOR} CURSOR WITH HOLD FOR {}", query.sql);
        self.call = Some((limit, query));
        self.connection.execute(&declare)?;
        self.is_open = true;
        Ok(())
    }

    /// Whether rows of a call are left.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Hands the next rows on until it is told to stop.
    pub(super) fn read(
        &mut self,
        take: &mut dyn FnMut(SlotRow<'_>) -> Result<bool>,
    ) -> std::result::Result<Flow, Failure> {
        while self.is_open {
            let Some(mut fetch) = self.fetch else {
                self.fetch().map_err(Failure::Session)?;
                continue;
            };
            let batch = self.connection.fetch().map_err(Failure::Session)?;
            let Some(batch) = batch else {
                if fetch.came < fetch.asked {
                    self.close().map_err(Failure::Session)?;
                    return Ok(Flow::Ended);
                }
                let average = fetch.bytes / fetch.came.max(1) + 1;
                self.fetch_rows = (FETCH_BYTES / average).clamp(FETCH_ROWS.0, FETCH_ROWS.1);
                self.fetch = None;
                continue;
            };
            let number = |column: usize, row: usize| batch.column(column).int(row).unwrap_or_default();
            let data = batch.column(changes::DATA);
            let mut stopped = false;
            for row in 0..batch.rows() {
                let data = data.bytes(row).unwrap_or_default();
                fetch.came += 1;
                fetch.bytes += data.len() as u64;
                stopped |= take(SlotRow {
                    is_end: number(changes::PART, row) == 0,
                    lsn: number(changes::LSN, row) as u64,
                    xid: number(changes::XID, row) as u32,
                    data,
                })
                .map_err(Failure::Taker)?;
            }
            self.fetch = Some(fetch);
            if stopped {
                return Ok(Flow::Stopped);
            }
        }
        Ok(Flow::Ended)
    }

    fn fetch(&mut self) -> Result<()> {
        let Some((_, query)) = &self.call else {
            return Err(ErrorKind::Internal("rows are fetched without a call".into()).into());
        };
        let sql = format!("FETCH FORWARD {} FROM {CURSOR}", self.fetch_rows);
        self.connection.start(&sql, &query.columns, self.fetch_rows as usize)?;
        self.fetch = Some(Fetch {
            asked: self.fetch_rows,
            ..Fetch::default()
        });
        Ok(())
    }

    /// Gives up what is left of a call.
    fn close(&mut self) -> Result<()> {
        self.fetch = None;
        self.connection.finish()?;
        match std::mem::take(&mut self.is_open) {
            true => self.connection.execute(&format!("CLOSE {CURSOR}")),
            false => Ok(()),
        }
    }
}

const CURSOR: &str = "tidemark_changes";

/// Whether the durable slot has everything from a place on.
pub(super) fn check_durable(control: &mut Control, name: &str, from: Lsn) -> Result<slot::SlotStatus> {
    let status = control.status()?;
    status.check_lost(name)?;
    match status.confirmed {
        Some(confirmed) if confirmed > from => Err(ErrorKind::SlotAhead {
            slot: name.into(),
            confirmed: lsn(confirmed),
            needed: lsn(from),
        }
        .into()),
        _ => Ok(status),
    }
}
