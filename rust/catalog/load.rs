//! Reading a table's description from the dictionary.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::key::is_orderable;
use crate::catalog::text_order::TextOrder;
use crate::catalog::text_probe;
use crate::catalog::{Column, ColumnType, Partition, Table, TableVersion};
use crate::dialect::{Dialect, DictionaryColumn};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{Connection, Field};
use crate::split::TableName;

/// Tables whose partitions one question asks for.
const PARTITIONS_A_QUERY: usize = 500;

/// The table as the dictionary has it now. Its key is the primary key or else the first unique key, by name, whose
/// columns are all NOT NULL, those aside that cannot be ordered where another one can; empty if there is neither.
///
/// # Errors
/// `Catalog`: there is no such table, or the user may not read it; database errors.
pub fn load(connection: &mut Connection, dialect: &dyn Dialect, name: &TableName) -> Result<Table> {
    try_load(connection, dialect, name).map_err(|error| error.doing("reading the dictionary").on(name))
}

/// How often a table may be altered while it is described.
const ATTEMPTS: usize = 20;

fn try_load(connection: &mut Connection, dialect: &dyn Dialect, name: &TableName) -> Result<Table> {
    let mut version = version(connection, dialect, name)?;
    for _ in 0..ATTEMPTS {
        let described = describe(connection, dialect, name, version);
        let again = self::version(connection, dialect, name)?;
        // What was read in pieces is one shape only if the table had it all the while.
        if again == version {
            return described;
        }
        version = again;
    }
    Err(ErrorKind::Catalog("the table is altered again and again while it is looked at".into()).into())
}

fn describe(
    connection: &mut Connection,
    dialect: &dyn Dialect,
    name: &TableName,
    version: Option<TableVersion>,
) -> Result<Table> {
    let missing = || ErrorKind::Catalog("there is no such table, or the user may not read it".into());
    let TableVersion {
        object_id,
        version,
        is_partitioned,
    } = version.ok_or_else(missing)?;
    let marks = marks(connection, dialect, object_id)?;
    let columns = columns(connection, dialect, name, &marks)?;
    if columns.is_empty() {
        return Err(missing().into());
    }
    let key = key(connection, dialect, name, &columns)?;
    let has_text = key
        .iter()
        .any(|&column| matches!(columns[column].kind, ColumnType::Text { .. }));
    Ok(Table {
        name: Arc::new(name.clone()),
        object_id,
        version,
        is_partitioned,
        columns,
        key,
        partitions: partitions(connection, dialect, object_id)?,
        text_order: match has_text {
            true => text_probe::measure(connection, dialect)?,
            false => TextOrder::BYTES,
        },
    })
}

/// Which table there is of a name now, and in which shape.
///
/// # Errors
/// Database errors.
pub fn version(connection: &mut Connection, dialect: &dyn Dialect, name: &TableName) -> Result<Option<TableVersion>> {
    let query = dialect.table(name);
    let rows = connection.rows(&query.sql, &query.columns)?;
    Ok(rows
        .first()
        .and_then(|row| versioned(dialect, row.get(2)?, row.get(3)?)))
}

/// Which of the tables with these numbers there are now, and in which shape.
///
/// # Errors
/// Database errors.
pub fn versions(connection: &mut Connection, dialect: &dyn Dialect, object_ids: &[u64]) -> Result<Vec<TableVersion>> {
    let mut all = Vec::with_capacity(object_ids.len());
    for some in object_ids.chunks(IN_A_QUESTION) {
        let query = dialect.versions(some);
        let rows = connection.rows(&query.sql, &query.columns)?;
        all.extend(
            rows.iter()
                .filter_map(|row| versioned(dialect, row.first()?, row.get(1)?)),
        );
    }
    Ok(all)
}

/// Tables in one question at most.
const IN_A_QUESTION: usize = 500;

fn versioned(dialect: &dyn Dialect, object_id: &Field, described: &Field) -> Option<TableVersion> {
    let described = described.int().unwrap_or_default();
    Some(TableVersion {
        object_id: object_id.int()? as u64,
        // The version is the number's low four bytes.
        version: described as u32,
        is_partitioned: dialect.is_partitioned(described),
    })
}

/// Level by level; a database has few of them.
fn partitions(connection: &mut Connection, dialect: &dyn Dialect, root: u64) -> Result<Vec<Partition>> {
    let mut all: Vec<Partition> = Vec::new();
    let mut level = vec![root];
    while !level.is_empty() {
        let mut below = Vec::new();
        for some in level.chunks(PARTITIONS_A_QUERY) {
            let query = dialect.partitions(some);
            for row in connection.rows(&query.sql, &query.columns)? {
                let [id, name] = row.as_slice() else {
                    return Err(malformed());
                };
                let object_id = id.int().ok_or_else(malformed)? as u64;
                // A dictionary that goes in circles must not hold the job.
                if object_id == root || all.iter().any(|known| known.object_id == object_id) {
                    return Err(malformed());
                }
                below.push(object_id);
                all.push(Partition {
                    name: text(name)?,
                    object_id,
                });
            }
        }
        level = below;
    }
    Ok(all)
}

fn columns(
    connection: &mut Connection,
    dialect: &dyn Dialect,
    name: &TableName,
    marks: &HashMap<String, i64>,
) -> Result<Vec<Column>> {
    let query = dialect.columns(name);
    let rows = connection.rows(&query.sql, &query.columns)?;
    rows.iter()
        .map(|row| {
            let [name, type_name, length, precision, scale, nullable] = row.as_slice() else {
                return Err(malformed());
            };
            let name = text(name)?;
            let described = DictionaryColumn {
                type_name: text(type_name)?,
                length: length.int(),
                precision: precision.int(),
                scale: scale.int(),
                marks: marks.get(&name).copied().unwrap_or(0),
            };
            Ok(Column {
                kind: dialect.column_type(&described),
                nullable: text(nullable)?.trim() != "N",
                is_virtual: dialect.is_virtual(&described),
                collated: dialect.is_collated(&described),
                name,
            })
        })
        .collect()
}

fn marks(connection: &mut Connection, dialect: &dyn Dialect, object_id: u64) -> Result<HashMap<String, i64>> {
    let Some(query) = dialect.column_marks(object_id) else {
        return Ok(HashMap::new());
    };
    let rows = connection.rows(&query.sql, &query.columns)?;
    rows.iter()
        .map(|row| match row.as_slice() {
            [name, marks] => Ok((text(name)?, marks.int().unwrap_or(0))),
            _ => Err(malformed()),
        })
        .collect()
}

fn key(connection: &mut Connection, dialect: &dyn Dialect, name: &TableName, columns: &[Column]) -> Result<Vec<usize>> {
    let query = dialect.keys(name);
    let rows = connection.rows(&query.sql, &query.columns)?;
    // Primary keys come first, then unique ones by name: the first that serves is the one.
    let mut keys: Vec<(String, String, Vec<usize>)> = Vec::new();
    for row in &rows {
        let [kind, constraint, column, _] = row.as_slice() else {
            return Err(malformed());
        };
        let (kind, constraint, column) = (text(kind)?, text(constraint)?, text(column)?);
        let number = columns
            .iter()
            .position(|known| known.name == column)
            .ok_or_else(malformed)?;
        match keys.last_mut() {
            Some(key) if key.0 == kind && key.1 == constraint => key.2.push(number),
            _ => keys.push((kind, constraint, vec![number])),
        }
    }
    let serves = |(kind, _, numbers): &(String, String, Vec<usize>)| {
        kind.trim() == "P" || numbers.iter().all(|&number| !columns[number].nullable)
    };
    let mut serving: Vec<Vec<usize>> = keys.into_iter().filter(serves).map(|key| key.2).collect();
    let is_known = |&column: &usize| is_orderable(&columns[column].kind) && !columns[column].is_virtual;
    let orderable = |key: &Vec<usize>| key.iter().all(is_known);
    // In an order that no index has.
    let is_shown = |&column: &usize| columns[column].kind == ColumnType::Shown { ordered: false };
    let indexed = |key: &Vec<usize>| orderable(key) && !key.iter().any(is_shown);
    // Where none can be ordered, the first one is named in the error.
    let best = serving
        .iter()
        .position(indexed)
        .or_else(|| serving.iter().position(orderable))
        .unwrap_or(0);
    Ok(match serving.is_empty() {
        true => Vec::new(),
        false => serving.swap_remove(best),
    })
}

fn text(field: &Field) -> Result<String> {
    field.text().map(str::to_owned).ok_or_else(malformed)
}

fn malformed() -> Error {
    ErrorKind::Catalog("the dictionary contradicts itself; was the table altered just now?".into()).into()
}
