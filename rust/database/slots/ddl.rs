//! The table of DDL statements: whether it is as the job needs it, and how it comes to be.

use crate::config::DdlCapture;
use crate::dialect::ddl_capture::{SCRIPT_FILE, ddl_triggers, own_table};
use crate::dialect::postgres::Postgres;
use crate::dialect::slots::{Relation, Statements};
use crate::dialect::{Dialect, Query};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{Connection, Field};
use crate::split::TableName;

/// What is read of somebody else's table.
const COLUMNS: [&str; 3] = ["tg_tag", "search_path", "command"];

/// Whether statements are captured, or can be. `is_published`: the slot's plugin gives what a publication has.
///
/// # Errors
/// Database errors.
pub(super) fn check(
    connection: &mut Connection,
    (dialect, statements): (&Postgres, &Statements),
    capture: &DdlCapture,
    is_published: bool,
) -> Result<Option<Error>> {
    match capture {
        DdlCapture::Off => Ok(None),
        DdlCapture::Table(table) => {
            let fault = check_table(connection, statements, table)?;
            match fault {
                None if is_published => check_identity(connection, (dialect, statements), table),
                fault => Ok(fault),
            }
        }
        DdlCapture::Own => {
            let may = number(connection, &statements.may_make_event_triggers())? == 1;
            if may || is_installed(connection, statements)? {
                return Ok(None);
            }
            let text = format!(
                "ddl.capture = 'on' needs event triggers, which a superuser alone may make: have one run {SCRIPT_FILE} in this \
                 database (psql -f), once, or set ddl.capture = 'off'"
            );
            Ok(Some(ErrorKind::Setup(text).into()))
        }
    }
}

fn check_table(connection: &mut Connection, statements: &Statements, table: &TableName) -> Result<Option<Error>> {
    let refused = |reason: String| {
        let option = "ddl.table".into();
        Ok(Some(Error::from(ErrorKind::Option { option, reason })))
    };
    let Some(of_table) = relation(connection, statements, table)? else {
        return refused(format!("names {table}, which is not there"));
    };
    let query = statements.column_names(of_table);
    let rows = connection.rows(&query.sql, &query.columns)?;
    let names = || rows.iter().filter_map(|row| row.first()?.text());
    let lacks = |wanted: &&str| !names().any(|name| name.eq_ignore_ascii_case(wanted));
    let lacking: Vec<&str> = COLUMNS.into_iter().filter(lacks).collect();
    match lacking.is_empty() {
        true => Ok(None),
        false => refused(format!("names {table}, which has no column {}", lacking.join(", "))),
    }
}

/// Old statements may be deleted, which fails in a publication without a replica identity.
fn check_identity(
    connection: &mut Connection,
    (dialect, statements): (&Postgres, &Statements),
    table: &TableName,
) -> Result<Option<Error>> {
    let Some(number) = relation(connection, statements, table)? else {
        return Ok(None);
    };
    let query = dialect.replica_identities(number);
    let rows = connection.rows(&query.sql, &query.columns)?;
    let is_told = |row: &Vec<Field>| {
        let (identity, has_index) = (row.first().and_then(Field::text), row.get(1).and_then(Field::int));
        identity == Some("f") || has_index == Some(1)
    };
    if rows.iter().all(is_told) {
        return Ok(None);
    }
    let mut name = String::new();
    dialect.push_table(table, &mut name);
    let text = format!(
        "{name}, the table of DDL statements, has no replica identity: once it is published, deleting old rows of it fails; ALTER \
         TABLE {name} REPLICA IDENTITY FULL"
    );
    Ok(Some(ErrorKind::Setup(text).into()))
}

/// Makes table, functions and event triggers where they are not there.
///
/// # Errors
/// Database errors.
pub(super) fn install(connection: &mut Connection, statements: &Statements) -> Result<()> {
    if is_installed(connection, statements)? {
        return Ok(());
    }
    if let Err(error) = connection.execute(&statements.ddl_capture_script()) {
        // The transaction that failed is still open.
        connection.execute("ROLLBACK")?;
        // Another job may have been faster.
        if !is_installed(connection, statements)? {
            return Err(error.doing("making the capture of DDL statements"));
        }
    }
    log::info!("DDL statements are captured in table {}", own_table());
    Ok(())
}

fn is_installed(connection: &mut Connection, statements: &Statements) -> Result<bool> {
    Ok(relation(connection, statements, &own_table())?.is_some()
        && number(connection, &statements.enabled_ddl_triggers())? == ddl_triggers())
}

fn relation(connection: &mut Connection, statements: &Statements, table: &TableName) -> Result<Option<u64>> {
    let query = statements.relation(Relation::Name {
        schema: &table.schema,
        name: &table.name,
    });
    let found = connection.int(&query.sql, &query.columns)?;
    Ok(found.map(|number| number as u64))
}

fn number(connection: &mut Connection, query: &Query) -> Result<i64> {
    Ok(connection.int(&query.sql, &query.columns)?.unwrap_or_default())
}
