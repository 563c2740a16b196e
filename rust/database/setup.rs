//! The start-up check: everything that stands in the way of a capture, in one report.

use std::sync::Arc;

use crate::catalog::{self, Found, Table};
use crate::config::{Config, StartupMode};
use crate::database::captured::{check_key, check_upsert, load};
use crate::dialect::mining::{Mining, MiningFault};
use crate::dialect::{Dialect, Query};
use crate::error::{Error, ErrorKind, Result};
use crate::log::LogStart;
use crate::log::logminer::session::server_settings;
use crate::odbc::{ColumnSpec, Connection};
use crate::row::layout::{self, OutputColumn, OutputSource};
use crate::split::TableName;
use crate::unavailable::OnUnavailable;

/// Tables in one report at most: the rest of many mostly has the same faults.
const REPORTED_TABLES: usize = 20;

/// Checks rights, the server's settings, the tables, their keys and the declared columns, and returns the tables.
/// Where there is a state, what is wrong with another table than its own is only warned of; and a declared column that a
/// table has not is one that left it, since its tables had all of them when the job began.
///
/// # Errors
/// The one thing that stands in the way, or `Several`; what comes of a lost connection at once.
pub(super) fn check(
    connection: &mut Connection,
    dialect: &dyn Mining,
    config: &Config,
    state: Option<&[Arc<TableName>]>,
) -> Result<Found> {
    let mut faults = Vec::new();
    let times = matches!(config.startup, StartupMode::Log(LogStart::Time(_))).then(|| dialect.times_probe());
    for probe in dialect.probes().into_iter().chain(times) {
        if let Err(error) = rows(connection, &probe.query) {
            // A package that answers that there is no session is there.
            let harmless = match error.kind() {
                ErrorKind::Statement { native, .. } => matches!(
                    dialect.fault(*native),
                    Some(MiningFault::NoSession | MiningFault::NotStarted)
                ),
                _ => false,
            };
            if !harmless {
                faults.push(missing(error, &probe.needs)?);
            }
        }
    }
    let lacks_rights = !faults.is_empty();
    // Where the settings cannot be read, a probe has said so.
    if let Ok(settings) = server_settings(connection, dialect) {
        faults.extend(dialect.judge_setup(&settings).err());
    }
    check_tables(
        connection,
        dialect,
        (config, state),
        (faults, lacks_rights),
        &mut |_, _| Ok(Vec::new()),
    )
}

/// What a database asks of a table beside what all do.
pub(super) type Further<'f> = &'f mut dyn FnMut(&mut Connection, &Table) -> Result<Vec<Error>>;

/// Checks the tables, as [`check`] does, behind what was found to stand in the way so far and whether that is rights on
/// the dictionary.
///
/// # Errors
/// As [`check`].
pub(super) fn check_tables(
    connection: &mut Connection,
    dialect: &dyn Dialect,
    (config, state): (&Config, Option<&[Arc<TableName>]>),
    (mut faults, lacks_rights): (Vec<Error>, bool),
    further: Further<'_>,
) -> Result<Found> {
    let found = match catalog::find(connection, dialect, &config.tables) {
        Err(error) if error.is_retryable() => return Err(error),
        found => found,
    };
    let mut faulty = 0;
    for name in found.iter().flat_map(|found| &found.tables) {
        let mut of_it = table(connection, dialect, (config, state.is_some()), name, further)?;
        // A part of the dictionary that may not be read is no fault of each table: a probe has said so.
        of_it.retain(|fault| !lacks_rights || !matches!(fault.kind(), ErrorKind::Statement { .. }));
        if state.is_some_and(|state| !state.iter().any(|known| **known == *name)) {
            of_it
                .iter()
                .for_each(|fault| log::warn!("a table that is not captured could not be: {fault}"));
            continue;
        }
        faulty += usize::from(!of_it.is_empty());
        if faulty <= REPORTED_TABLES {
            faults.extend(of_it);
        }
    }
    if faulty > REPORTED_TABLES {
        let text = format!("{} more tables have such faults", faulty - REPORTED_TABLES);
        faults.push(ErrorKind::Catalog(text).into());
    }
    let found = match found {
        // A probe has said so.
        Err(error) if matches!(error.kind(), ErrorKind::Statement { .. }) && !faults.is_empty() => None,
        Err(error) => {
            faults.push(error);
            None
        }
        Ok(found) => Some(found),
    };
    Error::all(faults)?;
    found.ok_or_else(|| ErrorKind::Internal("a fault of the set-up was lost".into()).into())
}

fn table(
    connection: &mut Connection,
    dialect: &dyn Dialect,
    (config, resumes): (&Config, bool),
    name: &TableName,
    further: Further<'_>,
) -> Result<Vec<Error>> {
    // The dictionary hides the columns of a table that the user may not read: the right comes first.
    let mut quoted = String::new();
    dialect.push_table(name, &mut quoted);
    let readable = Query {
        sql: format!("SELECT 1 FROM {quoted} WHERE 1 = 0"),
        columns: vec![ColumnSpec::Int],
    };
    if let Err(error) = rows(connection, &readable) {
        return Ok(vec![missing(error, &format!("GRANT SELECT ON {quoted}"))?.on(name)]);
    }
    let table = match load(connection, dialect, config, name) {
        Ok(table) => table,
        Err(error) if error.is_retryable() => return Err(error),
        Err(error) => return Ok(vec![error]),
    };
    let mut faults = Vec::new();
    faults.extend(check_key(config, &table).err().map(|error| error.on(&table.name)));
    let columns = check_upsert(config, &table).and_then(|()| match &config.columns {
        None => layout::all_columns(&table),
        Some(declared) if resumes => layout::resolve_altered(declared, &table),
        Some(declared) => layout::resolve(declared, &table),
    });
    if let Ok(columns) = &columns {
        let gone = columns.iter().filter(|column| column.source == OutputSource::Gone);
        for column in gone {
            log::warn!(
                "table {} has no column '{}' (any more): NULL goes out in its place",
                table.name,
                column.name
            );
        }
    }
    let columns = columns.and_then(|columns| check_read_back(config, &table, &columns));
    faults.extend(columns.err().map(|error| error.on(&table.name)));
    let more = further(connection, &table)?;
    faults.extend(more.into_iter().map(|error| error.on(&table.name)));
    Ok(faults)
}

/// Whether values that the log does not hold can be had as the job asks for them.
///
/// # Errors
/// `Declaration`: a large object of a table without a key is to be read back.
fn check_read_back(config: &Config, table: &Table, columns: &[OutputColumn]) -> Result<()> {
    // A slot gives of a table without a key whole old rows, which have what an update leaves alone, or nothing at all.
    if config.on_unavailable != OnUnavailable::ReadBack || !table.key.is_empty() || config.slot.is_some() {
        return Ok(());
    }
    let large = columns.iter().find(|column| match column.source {
        OutputSource::Column(number) => table.columns[number].kind.is_large(),
        OutputSource::Metadata(_) | OutputSource::Gone => false,
    });
    match large {
        None => Ok(()),
        Some(column) => Err(ErrorKind::Declaration(format!(
            "column '{}' is a large object, which the log may not hold, and the table has no key to read it back by; set \
             value.unavailable to 'placeholder' or 'fail', or leave the column out",
            column.name
        ))
        .into()),
    }
}

pub(super) fn rows(connection: &mut Connection, query: &Query) -> Result<Vec<Vec<crate::odbc::Field>>> {
    connection.rows(&query.sql, &query.columns)
}

/// What a question that failed says of the user's rights; an error of another kind stays one.
pub(super) fn missing(error: Error, needs: &str) -> Result<Error> {
    match error.kind() {
        ErrorKind::Statement {
            message,
            retryable: false,
            ..
        } => Ok(ErrorKind::Setup(format!("{needs} is needed: {}", message.trim())).into()),
        _ => Err(error),
    }
}
