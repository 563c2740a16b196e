//! The connection that reads: a temporary copy of the durable slot, and calls that hand out what it has.
//!
//! A temporary slot ends with its session, and any error ends its use: then all is made anew from the durable slot.

use std::time::Instant;

use crate::dialect::slots::{Slots, Statements, lsn};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Patience;
use crate::log::decoding::control::{Connect, Control};
use crate::log::decoding::fetching::{Calls, Fetching};
use crate::log::decoding::plugin::Plugin;
use crate::log::decoding::plugins::AnyPlugin;
use crate::log::decoding::settings::SlotSettings;
use crate::log::decoding::slot;
use crate::odbc::Connection;
use crate::position::Lsn;

/// The name of a slot's temporary copy.
pub fn copy_name(slot: &str) -> String {
    // A name has 63 bytes at most, all of them ASCII letters, digits and underscores.
    const LONGEST: usize = 61;
    format!("{}_r", slot.get(..LONGEST).unwrap_or(slot))
}

/// Opens a session whose copy of the slot begins at a place, or where the durable slot stands if that is later; and what
/// reads the slot's plugin. Its calls may take `patience` times as long as others. With `is_binary`, values come in binary
/// form if the plugin can give them so.
pub(super) fn open(
    connect: &Connect,
    dialect: &dyn Slots,
    settings: &SlotSettings,
    control: &mut Control,
    from: Lsn,
    (patience, is_binary): (u32, bool),
) -> Result<(Fetching, AnyPlugin)> {
    let status = check_durable(control, &settings.slot, from)?;
    let name = status.plugin.unwrap_or_default();
    let plugin = AnyPlugin::of_name(&name, is_binary).ok_or_else(|| {
        let text = format!(
            "slot '{}' has output plugin '{name}', which cannot be read",
            settings.slot
        );
        Error::from(ErrorKind::Setup(text))
    })?;
    let mut connection = connect()?;
    connection.allow_longer(patience)?;
    for statement in dialect.reader_session() {
        if let Err(error) = connection.execute(&statement) {
            log::debug!("{statement} is not known to the server: {error}");
        }
    }
    let mut opening = Opening {
        connection,
        statements: control.statements.clone(),
        settings,
        copy: copy_name(&settings.slot),
    };
    opening.copy_slot(control)?;
    if status.confirmed.is_some_and(|confirmed| confirmed < from) {
        let statement = opening.statements.advance_slot(&opening.copy, from);
        opening
            .connection
            .execute(&statement)
            .map_err(|error| error.doing("moving the slot's copy").at(lsn(from)))?;
    }
    let mut publications = String::new();
    for (number, publication) in settings.publications.iter().enumerate() {
        if number > 0 {
            publications.push(',');
        }
        dialect.push_name(publication, &mut publications);
    }
    Ok((opening.fetch(plugin.clone(), publications)?, plugin))
}

/// A connection that is to become a reading session.
struct Opening<'a> {
    connection: Connection,
    statements: Statements,
    settings: &'a SlotSettings,
    copy: String,
}

impl Opening<'_> {
    /// Makes the copy; one that another session holds is waited for.
    fn copy_slot(&mut self, control: &mut Control) -> Result<()> {
        let settings = self.settings;
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

    /// Leaves the connection to the thread that fetches.
    fn fetch(self, plugin: AnyPlugin, publications: String) -> Result<Fetching> {
        let Opening {
            connection,
            statements,
            settings,
            copy,
        } = self;
        let end = statements.log_end();
        let call = move |limit| statements.changes(&copy, limit, &plugin.call(&publications));
        let calls = Calls {
            changes: Box::new(call),
            end,
            first: settings.batch_changes,
        };
        Fetching::start(connection, calls)
    }
}

/// Whether the durable slot has everything from a place on.
pub(super) fn check_durable(control: &mut Control, name: &str, from: Lsn) -> Result<slot::SlotStatus> {
    let status = control.status();
    let kept = status.and_then(|status| status.check_lost(name).map(|()| status));
    // What is needed of it.
    let status = kept.map_err(|error| error.at(format!("LSN {}", lsn(from))))?;
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
