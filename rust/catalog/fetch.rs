//! How a column is fetched by its type, and which value its buffer then holds.

use crate::catalog::{Column, ColumnType, Table};
use crate::dialect::Dialect;
use crate::error::{ErrorKind, Result};
use crate::odbc::{self, ColumnSpec};
use crate::row::value::Value;

/// Digits, sign, point and exponent of the longest number that a database gives, and of a date, time or interval.
const NUMBER_BYTES: usize = 140;
const TIME_BYTES: usize = 64;

/// A value that may be longer than this has any length, whatever the dictionary says: it is read by itself where it does
/// not fit into its buffer, and the rows of a page are counted by it.
const BOUNDED_BYTES: usize = 1 << 20;

/// The longest value of a key that an index can hold, in bytes; of texts that have any length elsewhere.
const KEY_BYTES: usize = 8 << 10;

/// A column as it stands in a SELECT whose result is fetched by its [`spec`].
pub(crate) fn selected(dialect: &dyn Dialect, column: &Column) -> String {
    let mut selected = String::new();
    dialect.push_selected(&column.name, &column.kind, &mut selected);
    selected
}

/// How a column is fetched.
///
/// # Errors
/// `Catalog`: values of its type cannot be read.
pub(crate) fn spec(column: &Column) -> Result<ColumnSpec> {
    Ok(match &column.kind {
        ColumnType::Boolean | ColumnType::Integer { .. } => ColumnSpec::Int,
        ColumnType::Decimal { .. } | ColumnType::Float { .. } => ColumnSpec::Text { bytes: NUMBER_BYTES },
        // The dictionary may count in characters, or in bytes of another character set: at most four for one.
        ColumnType::Text {
            length: Some(length), ..
        } if 4 * *length as usize <= BOUNDED_BYTES => ColumnSpec::Text {
            bytes: 4 * *length as usize,
        },
        ColumnType::Shown { ordered: true } => ColumnSpec::Text { bytes: TIME_BYTES },
        ColumnType::Text { .. } | ColumnType::Shown { ordered: false } => ColumnSpec::LongText,
        ColumnType::Binary { length: Some(length) } if *length as usize <= BOUNDED_BYTES => ColumnSpec::Binary {
            bytes: *length as usize,
        },
        ColumnType::Binary { .. } => ColumnSpec::LongBinary,
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::TimeZoned { .. }
        | ColumnType::TimestampZoned { .. }
        | ColumnType::TimestampLocal { .. }
        | ColumnType::Interval { .. } => ColumnSpec::Text { bytes: TIME_BYTES },
        ColumnType::Unsupported(name) => {
            return Err(ErrorKind::Catalog(format!(
                "column '{}' has type {name}, which cannot be captured",
                column.name
            ))
            .into());
        }
    })
}

/// How a column of a table is fetched, which may be one of its key's.
///
/// # Errors
/// As [`spec`].
pub(crate) fn spec_in(table: &Table, column: usize) -> Result<ColumnSpec> {
    match table.key.contains(&column) {
        true => key_spec(&table.columns[column]),
        false => spec(&table.columns[column]),
    }
}

/// How a column of a key is fetched: an index holds no long values.
///
/// # Errors
/// As [`spec`].
pub(crate) fn key_spec(column: &Column) -> Result<ColumnSpec> {
    Ok(match spec(column)? {
        ColumnSpec::LongText => ColumnSpec::Text { bytes: KEY_BYTES },
        ColumnSpec::LongBinary => ColumnSpec::Binary { bytes: KEY_BYTES },
        spec => spec,
    })
}

/// One value of a fetched column.
pub(crate) fn value<'b>(kind: &ColumnType, column: &odbc::Column<'b>, row: usize) -> Value<'b> {
    if let ColumnType::Boolean | ColumnType::Integer { .. } = kind {
        return column.int(row).map_or(Value::Null, Value::Int);
    }
    let Some(bytes) = column.bytes(row) else {
        return Value::Null;
    };
    match kind {
        ColumnType::Decimal { .. } | ColumnType::Float { .. } => Value::Number(bytes),
        ColumnType::Binary { .. } => Value::Bytes(bytes),
        ColumnType::Date => Value::Date(bytes),
        ColumnType::Time { .. } | ColumnType::TimeZoned { .. } => Value::Time(bytes),
        ColumnType::Timestamp { .. } | ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. } => {
            Value::Timestamp(bytes)
        }
        _ => Value::Text(bytes),
    }
}
