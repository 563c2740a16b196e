//! Which tables there are of those that a job means.

use crate::catalog::pattern::{Fit, NameCase, TablePatterns};
use crate::dialect::{Dialect, Query};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{Connection, Field};
use crate::split::TableName;

/// Names in an error's text at most.
const NAMED: usize = 10;

/// What a look for tables found.
#[derive(Debug)]
pub struct Found {
    /// The tables, ascending; not empty.
    pub tables: Vec<TableName>,
    /// Those that are left out for their case alone.
    pub but_for_case: Vec<TableName>,
}

/// The tables that a job means: ordinary and partitioned tables of users' schemas, whether or not the user may read
/// them. Names are compared here: no pattern goes to the database.
///
/// # Errors
/// `Catalog`: there is none, with the names that there are instead; database errors.
pub fn find(connection: &mut Connection, dialect: &dyn Dialect, wanted: &TablePatterns) -> Result<Found> {
    try_find(connection, dialect, wanted).map_err(|error| error.doing("looking for the tables"))
}

fn try_find(connection: &mut Connection, dialect: &dyn Dialect, wanted: &TablePatterns) -> Result<Found> {
    let query = dialect.names_have_case();
    let case = match connection.int(&query.sql, &query.columns)? {
        Some(1) => NameCase::Upper,
        Some(2) => NameCase::Lower,
        _ => NameCase::Ignored,
    };
    let mut all = Vec::new();
    for row in rows(connection, &dialect.tables())? {
        let [Field::Text(schema), Field::Text(name)] = &row[..] else {
            return Err(ErrorKind::Catalog("the dictionary has a table without a name".into()).into());
        };
        all.push(TableName {
            schema: schema.clone(),
            name: name.clone(),
        });
    }
    all.sort_unstable();
    all.dedup();
    let fitting = |wanted_fit: Fit| {
        let fits = |table: &&TableName| wanted.fit(&table.schema, &table.name, case) == wanted_fit;
        all.iter().filter(fits).cloned().collect::<Vec<_>>()
    };
    let found = Found {
        tables: fitting(Fit::Yes),
        but_for_case: fitting(Fit::ButForCase),
    };
    if found.tables.is_empty() {
        return Err(nothing(wanted, case, &all, &found.but_for_case));
    }
    Ok(found)
}

fn rows(connection: &mut Connection, query: &Query) -> Result<Vec<Vec<Field>>> {
    connection.rows(&query.sql, &query.columns)
}

/// The error that there is no such table, with what the user may have meant.
fn nothing(wanted: &TablePatterns, case: NameCase, all: &[TableName], but_for_case: &[TableName]) -> Error {
    let mut text = format!("no table matches {wanted}");
    let in_schema: Vec<&TableName> = all
        .iter()
        .filter(|table| wanted.schema.fit(&table.schema, case) == Fit::Yes)
        .collect();
    if !but_for_case.is_empty() {
        let names = listed(but_for_case.iter().map(TableName::to_string));
        let bare = if case == NameCase::Lower { "lower" } else { "upper" };
        text += &format!(
            "; case apart there is {names}: a name in double quotes is exact, one without means {bare}-case letters"
        );
    } else if !in_schema.is_empty() {
        let names = listed(in_schema.iter().map(|table| table.to_string()));
        text += &format!("; in such a schema there is {names}");
    } else {
        let mut schemas: Vec<&str> = all.iter().map(|table| table.schema.as_str()).collect();
        schemas.dedup();
        text += &match schemas.is_empty() {
            true => "; the user sees no table at all".to_owned(),
            false => format!(
                "; tables are in schema {}",
                listed(schemas.into_iter().map(str::to_owned))
            ),
        };
    }
    ErrorKind::Catalog(text).into()
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first: Vec<String> = names.take(NAMED).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
