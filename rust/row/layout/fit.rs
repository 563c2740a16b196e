//! Which types of Flink a column of a table, or a metadata column, can be declared as. Values are checked one by one
//! later; what can never fit, or would not look the same in the snapshot and in the log, is refused here.

use crate::catalog::{Column, ColumnType};
use crate::error::{ErrorKind, Result};
use crate::row::layout::{FlinkType, Metadata};

/// Refuses a declared type that a column cannot be read as.
pub(super) fn check(name: &str, kind: FlinkType, column: &Column) -> Result<()> {
    if let ColumnType::Unsupported(type_name) = &column.kind {
        return refuse(format!("column '{name}' is of type {type_name}, which is not captured"));
    }
    if fits(&column.kind, kind) {
        return Ok(());
    }
    refuse(format!(
        "column '{name}' is {} in the table and cannot be read as {kind}; possible are {}",
        describe(&column.kind),
        possible(&column.kind)
    ))
}

/// Refuses a declared type that a metadata column cannot be read as.
pub(super) fn check_metadata(name: &str, kind: FlinkType, metadata: Metadata) -> Result<()> {
    let text = matches!(kind, FlinkType::Char { .. } | FlinkType::VarChar { .. });
    let (fits, possible) = match metadata {
        Metadata::TableName | Metadata::SchemaName | Metadata::DatabaseName | Metadata::RowKind => (text, "STRING"),
        Metadata::OpTs => (
            matches!(kind, FlinkType::TimestampLtz { .. }),
            "TIMESTAMP_LTZ(3), or another precision",
        ),
        Metadata::Scn | Metadata::TransactionId => (
            text || matches!(kind, FlinkType::BigInt | FlinkType::Decimal { scale: 0, .. }),
            "BIGINT, DECIMAL(p, 0), STRING",
        ),
        Metadata::Fragment => (matches!(kind, FlinkType::Int | FlinkType::BigInt), "INT, BIGINT"),
        Metadata::LastFragment => (kind == FlinkType::Boolean, "BOOLEAN"),
    };
    if fits {
        return Ok(());
    }
    refuse(format!(
        "column '{name}': metadata '{}' cannot be read as {kind}; possible are {possible}",
        metadata.key()
    ))
}

fn refuse(text: String) -> Result<()> {
    Err(ErrorKind::Declaration(text).into())
}

fn fits(column: &ColumnType, kind: FlinkType) -> bool {
    use FlinkType as F;
    match column {
        ColumnType::Boolean => matches!(kind, F::Boolean | F::TinyInt | F::SmallInt | F::Int | F::BigInt),
        ColumnType::Integer { .. } | ColumnType::Decimal { .. } => matches!(
            kind,
            F::Boolean
                | F::TinyInt
                | F::SmallInt
                | F::Int
                | F::BigInt
                | F::Decimal { .. }
                | F::Float
                | F::Double
                | F::Char { .. }
                | F::VarChar { .. }
        ),
        ColumnType::Float { .. } => matches!(kind, F::Float | F::Double),
        ColumnType::Text { .. } | ColumnType::Shown { .. } => matches!(kind, F::Char { .. } | F::VarChar { .. }),
        ColumnType::Binary { .. } => matches!(kind, F::Binary { .. } | F::VarBinary { .. }),
        ColumnType::Time { .. } => matches!(kind, F::Time { .. }),
        ColumnType::Date | ColumnType::Timestamp { .. } => {
            matches!(kind, F::Date | F::Timestamp { .. } | F::TimestampLtz { .. })
        }
        ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. } => matches!(kind, F::TimestampLtz { .. }),
        ColumnType::TimeZoned { .. } | ColumnType::Interval { .. } => {
            matches!(kind, F::Char { .. } | F::VarChar { .. })
        }
        ColumnType::Unsupported(_) => false,
    }
}

fn possible(column: &ColumnType) -> &'static str {
    match column {
        ColumnType::Boolean => "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT",
        ColumnType::Integer { .. } | ColumnType::Decimal { .. } => {
            "TINYINT, SMALLINT, INT, BIGINT, DECIMAL, FLOAT, DOUBLE, STRING, VARCHAR, CHAR, BOOLEAN"
        }
        ColumnType::Float { .. } => "FLOAT, DOUBLE",
        ColumnType::Text { .. } | ColumnType::Shown { .. } => "STRING, VARCHAR, CHAR",
        ColumnType::Binary { .. } => "BYTES, VARBINARY, BINARY",
        ColumnType::Time { .. } => "TIME",
        ColumnType::Date | ColumnType::Timestamp { .. } => "TIMESTAMP, TIMESTAMP_LTZ, DATE",
        ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. } => "TIMESTAMP_LTZ",
        ColumnType::TimeZoned { .. } | ColumnType::Interval { .. } => "STRING, VARCHAR, CHAR",
        ColumnType::Unsupported(_) => "none",
    }
}

fn describe(column: &ColumnType) -> &'static str {
    match column {
        ColumnType::Boolean => "a truth value",
        ColumnType::Integer { .. } => "an integer",
        ColumnType::Decimal { .. } => "a decimal number",
        ColumnType::Float { .. } => "a floating-point number",
        ColumnType::Text { length: None, .. } => "a large text",
        ColumnType::Text { .. } => "text",
        ColumnType::Shown { .. } => "of a type that is shown as text",
        ColumnType::Binary { length: None } => "a large binary",
        ColumnType::Binary { .. } => "binary",
        ColumnType::Date => "a date",
        ColumnType::Time { .. } => "a time of day",
        ColumnType::Timestamp { .. } => "a timestamp without a zone",
        ColumnType::TimeZoned { .. } => "a time of day with a zone",
        ColumnType::TimestampZoned { .. } => "a timestamp with a zone",
        ColumnType::TimestampLocal { .. } => "a timestamp with a local zone",
        ColumnType::Interval { .. } => "an interval",
        ColumnType::Unsupported(_) => "of a type that is not captured",
    }
}
