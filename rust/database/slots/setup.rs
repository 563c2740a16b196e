//! The start-up check of a database with slots, and what is made where it is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Found, Table};
use crate::config::{Config, SlotConfig, StartupMode};
use crate::database::setup::{check_tables, missing};
use crate::database::slots::{SlotDatabase, ddl};
use crate::dialect::postgres::Postgres;
use crate::dialect::slots::{Slots, Statements};
use crate::dialect::visibility::Visibility;
use crate::error::{Error, ErrorKind, Result};
use crate::log::LogStart;
use crate::log::decoding::plugins::AnyPlugin;
use crate::log::decoding::slot;
use crate::odbc::{Connection, Field};
use crate::row::codec::Form;
use crate::snapshot::barrier::refuse_standby;
use crate::split::TableName;

/// Slots that a job takes: the durable one, where it is not there yet, and its copy.
const COPY: i64 = 1;

/// Checks server, slot, rights and tables, and returns the tables.
///
/// # Errors
/// The one thing that stands in the way, or `Several`; what comes of a lost connection at once.
pub(super) fn check(
    database: &SlotDatabase,
    connection: &mut Connection,
    (dialect, statements): (&Arc<Postgres>, &Statements),
    state: Option<&[Arc<TableName>]>,
) -> Result<Found> {
    let visibility: &dyn Visibility = &**dialect;
    // On a standby nothing else is worth saying.
    refuse_standby(connection, visibility)?;
    let mut faults = Vec::new();
    let slot = slot::status(connection, statements, &database.slot.name)?;
    faults.extend(server(connection, statements, slot.is_some())?);
    if slot.is_none() && state.is_none() {
        faults.extend(starts_where_no_slot_is(database));
    }
    if let Some(found) = &slot {
        // Whoever has a state will say what it needs of it.
        faults.extend(found.check_lost(&database.slot.name).err().filter(|_| state.is_none()));
        faults.extend(fits(database, found));
    }
    faults.extend(rights(connection, dialect)?);
    let plugin = slot
        .and_then(|slot| slot.plugin)
        .or_else(|| database.slot.plugin.clone());
    // Without a plugin by name the first that the server has is taken.
    let is_published = plugin.is_none_or(|plugin| plugin == "pgoutput");
    let capture = &database.slot.ddl;
    faults.extend(ddl::check(connection, (&**dialect, statements), capture, is_published)?);
    let config = &database.config;
    let of_table = |connection: &mut Connection, table: &Table| identity(connection, dialect, config, table);
    check_tables(connection, &**dialect, (config, state), (faults, false), &mut {
        of_table
    })
}

/// The server's settings.
fn server(connection: &mut Connection, statements: &Statements, has_slot: bool) -> Result<Vec<Error>> {
    let query = statements.settings();
    let rows = connection.rows(&query.sql, &query.columns)?;
    let setting = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row.first().and_then(Field::text) == Some(name))?;
        row.get(1).and_then(Field::text)
    };
    let number = |name: &str| setting(name).and_then(|text| text.parse::<i64>().ok());
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(Error::from(ErrorKind::Setup(text)));
    match setting("wal_level") {
        Some("logical") => {}
        level => fault(format!(
            "wal_level is '{}'; slots need 'logical' (ALTER SYSTEM SET wal_level = 'logical', then a restart of the server)",
            level.unwrap_or("unknown")
        )),
    }
    if let (Some(most), Some(taken)) = (number("max_replication_slots"), number("slots")) {
        let needed = COPY + i64::from(!has_slot);
        if most - taken < needed {
            fault(format!(
                "max_replication_slots is {most}, and {taken} slots are there: the job needs {needed} more"
            ));
        }
    }
    match setting("client_encoding") {
        None | Some("UTF8") => {}
        Some(other) => fault(format!(
            "the driver has the server send text in {other}; it must be UTF8 (the Unicode driver of psqlODBC)"
        )),
    }
    Ok(faults)
}

/// Whether a slot that is there can be read by this job.
fn fits(database: &SlotDatabase, found: &slot::SlotStatus) -> Option<Error> {
    let name = &database.slot.name;
    let Some(plugin) = &found.plugin else {
        return Some(ErrorKind::Setup(format!("slot '{name}' is a physical one")).into());
    };
    if let Some(wanted) = database.slot.plugin.as_ref().filter(|wanted| *wanted != plugin) {
        return Some(
            ErrorKind::Option {
                option: "decoding.plugin.name".into(),
                reason: format!(
                    "is '{wanted}', but slot '{name}' has output plugin '{plugin}': drop it, or name another one"
                ),
            }
            .into(),
        );
    }
    if AnyPlugin::of_name(plugin, false).is_none() {
        return Some(
            ErrorKind::Setup(format!(
                "slot '{name}' has output plugin '{plugin}', which cannot be read"
            ))
            .into(),
        );
    }
    let elsewhere = found.database.as_ref().filter(|of| **of != database.slot.database);
    elsewhere.map(|of| ErrorKind::Setup(format!("slot '{name}' belongs to database '{of}'")).into())
}

/// A start in the log of a slot that is still to be made: what it asks for is in none.
fn starts_where_no_slot_is(database: &SlotDatabase) -> Option<Error> {
    let mode = match database.config.startup {
        StartupMode::Log(LogStart::Committed) => "committed-offset",
        StartupMode::Log(LogStart::At(_)) => "specific-offset",
        _ => return None,
    };
    let reason = format!(
        "is '{mode}', but there is no slot '{}' that has the log from there on",
        database.slot.name
    );
    Some(
        ErrorKind::Option {
            option: "scan.startup.mode".into(),
            reason,
        }
        .into(),
    )
}

/// Whether the user may use slots.
fn rights(connection: &mut Connection, dialect: &Postgres) -> Result<Option<Error>> {
    let query = dialect.may_replicate();
    match connection.int(&query.sql, &query.columns) {
        Ok(Some(0)) => Ok(Some(
            ErrorKind::Setup("the user may not use slots: ALTER ROLE … REPLICATION is needed".into()).into(),
        )),
        Ok(_) => Ok(None),
        Err(error) => missing(error, "the right to read the catalogue's roles").map(Some),
    }
}

/// Whether the log holds enough of old rows, and users may change the table once it is published.
fn identity(connection: &mut Connection, dialect: &Postgres, config: &Config, table: &Table) -> Result<Vec<Error>> {
    let query = dialect.replica_identities(table.object_id);
    let wants_whole = !matches!(config.form, Form::Rows { upsert: true });
    let mut faults = Vec::new();
    for row in connection.rows(&query.sql, &query.columns)? {
        let (Some(identity), Some(has_index), Some(name)) = (
            row.first().and_then(Field::text),
            row.get(1).and_then(Field::int),
            row.get(2).and_then(Field::text),
        ) else {
            continue;
        };
        let full = format!("ALTER TABLE {name} REPLICA IDENTITY FULL");
        let text = match identity {
            "f" => continue,
            _ if wants_whole => format!(
                "the log holds no whole old rows of {name}, which changelog-mode = 'all' and JSON and changes need: {full}, or \
                 set changelog-mode = 'upsert'"
            ),
            _ if has_index == 0 => format!(
                "{name} has no replica identity: once it is published, UPDATE and DELETE of it fail for everybody; {full}, or give \
                 it a primary key"
            ),
            _ => continue,
        };
        faults.push(Error::from(ErrorKind::LoggingMode(text)));
    }
    Ok(faults)
}

/// The output plugin for a slot that is made.
///
/// # Errors
/// `Setup`: the server has none that can be read, or not the one that is asked for.
pub(super) fn plugin(database: &SlotDatabase, dialect: &Postgres, statements: &Statements) -> Result<String> {
    let wanted: Vec<&'static str> = (dialect.plugins().iter().copied())
        .filter(|plugin| database.slot.plugin.as_ref().is_none_or(|wanted| wanted == plugin))
        .collect();
    let probe = format!("{}_p", database.slot.name.get(..61).unwrap_or(&database.slot.name));
    let mut open = || database.connections.open();
    let usable = match slot::usable_plugins(&mut open, statements, &wanted, &probe) {
        Err(error) if matches!(error.kind(), ErrorKind::Setup(_)) => {
            let Some(asked) = &database.slot.plugin else {
                return Err(error);
            };
            let others: Vec<&'static str> = (dialect.plugins().iter().copied())
                .filter(|plugin| !wanted.contains(plugin))
                .collect();
            let Ok(there) = slot::usable_plugins(&mut open, statements, &others, &probe) else {
                return Err(error);
            };
            return Err(ErrorKind::Option {
                option: "decoding.plugin.name".into(),
                reason: format!(
                    "is '{asked}', which the server does not have; it has {}",
                    there.join(", ")
                ),
            }
            .into());
        }
        usable => usable?,
    };
    let first = usable.first().copied().unwrap_or_default();
    Ok(first.to_owned())
}

/// Makes the publication, or adds the tables that it lacks. Whether anything was done.
///
/// # Errors
/// `Setup`: that is needed, and the user may not; database errors.
pub(super) fn publish(
    connection: &mut Connection,
    (dialect, statements): (&Arc<Postgres>, &Statements),
    publication: &str,
    tables: &[TableName],
) -> Result<bool> {
    let query = statements.publication(publication);
    let found = connection.rows(&query.sql, &query.columns)?;
    let Some(flags) = found.first() else {
        let sql = statements.create_publication(&**dialect, publication, tables);
        change(connection, &sql)?;
        log::info!("publication '{publication}' was made for {} tables", tables.len());
        return Ok(true);
    };
    let flag = |column: usize| flags.get(column).and_then(Field::int) == Some(1);
    if let Some((what, _)) = ["insert", "update", "delete", "truncate"]
        .iter()
        .zip(1..)
        .find(|(_, at)| !flag(*at))
    {
        let text =
            format!("publication '{publication}' does not publish {what}; let it publish all, or name another one");
        return Err(ErrorKind::Setup(text).into());
    }
    if flag(0) {
        return Ok(false);
    }
    let published = published(connection, statements, publication)?;
    for table in tables {
        let Some((rows, columns)) = published.get(table) else {
            continue;
        };
        let what = match (rows, columns) {
            (true, _) => "some of its rows only (WHERE)",
            (_, true) => "some of its columns only",
            _ => continue,
        };
        let text = format!("publication '{publication}' publishes {what}; let it publish all, or name another one");
        return Err(Error::from(ErrorKind::Setup(text)).on(table));
    }
    let lacking: Vec<TableName> = tables
        .iter()
        .filter(|table| !published.contains_key(table))
        .cloned()
        .collect();
    if lacking.is_empty() {
        return Ok(false);
    }
    let sql = statements.extend_publication(&**dialect, publication, &lacking);
    change(connection, &sql)?;
    for table in &lacking {
        log::info!("table {table} was added to publication '{publication}'");
    }
    Ok(true)
}

/// The tables of a publication, and whether it leaves out rows or columns of them.
fn published(
    connection: &mut Connection,
    statements: &Statements,
    publication: &str,
) -> Result<BTreeMap<TableName, (bool, bool)>> {
    let query = statements.publication_tables(publication);
    let rows = connection.rows(&query.sql, &query.columns)?;
    let table = |row: &Vec<Field>| {
        let name = TableName {
            schema: row.first()?.text()?.to_owned(),
            name: row.get(1)?.text()?.to_owned(),
        };
        Some((name, (row.get(2)?.int()? == 1, row.get(3)?.int()? == 1)))
    };
    Ok(rows.iter().filter_map(table).collect())
}

/// Whether the log that a slot gives can hold rows of captured tables and their partitions alone: its publication is of
/// this slot, and has no other tables.
///
/// # Errors
/// `Setup`: the publication is gone; database errors.
pub(super) fn is_exclusive(
    connection: &mut Connection,
    statements: &Statements,
    slot: &SlotConfig,
    tables: &[Arc<TableName>],
) -> Result<bool> {
    let plugin = slot::status(connection, statements, &slot.name)?.and_then(|found| found.plugin);
    if plugin.as_deref() != Some("pgoutput") {
        return Ok(false);
    }
    let query = statements.publication(&slot.publication);
    let found = connection.rows(&query.sql, &query.columns)?;
    let Some(flags) = found.first() else {
        let text = format!(
            "publication '{}' is not there any more, and slot '{}' cannot be read without it: start the job anew without its state",
            slot.publication, slot.name
        );
        return Err(ErrorKind::Setup(text).into());
    };
    let is_for_all = flags.first().and_then(Field::int) == Some(1);
    if is_for_all || !slot.publication_is_own {
        return Ok(false);
    }
    let published = published(connection, statements, &slot.publication)?;
    let ddl = slot.ddl.table();
    let is_ours = |name: &TableName| tables.iter().any(|table| **table == *name) || ddl.as_ref() == Some(name);
    Ok(published.keys().all(is_ours))
}

fn change(connection: &mut Connection, sql: &str) -> Result<()> {
    match connection.execute(sql) {
        Err(error) => Err(missing(error, &format!("a superuser's or the owner's {sql}"))?),
        Ok(()) => Ok(()),
    }
}
