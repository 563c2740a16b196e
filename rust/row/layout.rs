//! What the job declared: the columns that go downstream, where each comes from, and whether the table can give it.

mod declared;
mod fit;
mod natural;

pub use declared::DeclaredColumn;
pub use natural::{all_columns, natural};

use std::fmt;

use crate::catalog::Table;
use crate::error::{Error, ErrorKind, Result};

/// A column's type downstream: the types of Flink SQL that a column of a database can become.
///
/// Lengths of texts and binaries are not enforced, as no source of Flink does: a longer value goes out whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlinkType {
    /// `BOOLEAN`
    Boolean,
    /// `TINYINT`
    TinyInt,
    /// `SMALLINT`
    SmallInt,
    /// `INT`
    Int,
    /// `BIGINT`
    BigInt,
    /// `FLOAT`
    Float,
    /// `DOUBLE`
    Double,
    /// `DECIMAL(precision, scale)`
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits behind the point, 0 to `precision`.
        scale: u8,
    },
    /// `CHAR(length)`
    Char {
        /// In characters.
        length: u32,
    },
    /// `VARCHAR(length)`; `STRING` is its greatest.
    VarChar {
        /// In characters.
        length: u32,
    },
    /// `BINARY(length)`
    Binary {
        /// In bytes.
        length: u32,
    },
    /// `VARBINARY(length)`; `BYTES` is its greatest.
    VarBinary {
        /// In bytes.
        length: u32,
    },
    /// `DATE`
    Date,
    /// `TIME(precision)`; Flink holds milliseconds, whatever the precision.
    Time {
        /// Digits behind the second, 0 to 9.
        precision: u8,
    },
    /// `TIMESTAMP(precision)`
    Timestamp {
        /// Digits behind the second, 0 to 9.
        precision: u8,
    },
    /// `TIMESTAMP_LTZ(precision)`
    TimestampLtz {
        /// Digits behind the second, 0 to 9.
        precision: u8,
    },
}

/// The length that makes `VARCHAR` a `STRING` and `VARBINARY` a `BYTES`.
pub const UNBOUNDED: u32 = i32::MAX as u32;

impl fmt::Display for FlinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FlinkType::Boolean => f.write_str("BOOLEAN"),
            FlinkType::TinyInt => f.write_str("TINYINT"),
            FlinkType::SmallInt => f.write_str("SMALLINT"),
            FlinkType::Int => f.write_str("INT"),
            FlinkType::BigInt => f.write_str("BIGINT"),
            FlinkType::Float => f.write_str("FLOAT"),
            FlinkType::Double => f.write_str("DOUBLE"),
            FlinkType::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            FlinkType::Char { length } => write!(f, "CHAR({length})"),
            FlinkType::VarChar { length: UNBOUNDED } => f.write_str("STRING"),
            FlinkType::VarChar { length } => write!(f, "VARCHAR({length})"),
            FlinkType::Binary { length } => write!(f, "BINARY({length})"),
            FlinkType::VarBinary { length: UNBOUNDED } => f.write_str("BYTES"),
            FlinkType::VarBinary { length } => write!(f, "VARBINARY({length})"),
            FlinkType::Date => f.write_str("DATE"),
            FlinkType::Time { precision } => write!(f, "TIME({precision})"),
            FlinkType::Timestamp { precision } => write!(f, "TIMESTAMP({precision})"),
            FlinkType::TimestampLtz { precision } => write!(f, "TIMESTAMP_LTZ({precision})"),
        }
    }
}

/// What a metadata column says of its row; names and types are Flink CDC's where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// `table_name`
    TableName,
    /// `schema_name`
    SchemaName,
    /// `database_name`
    DatabaseName,
    /// `op_ts`: when the transaction committed; the epoch in snapshot rows.
    OpTs,
    /// `row_kind`: `+I`, `-U`, `+U` or `-D`.
    RowKind,
    /// `scn`: where the transaction committed; NULL in snapshot rows.
    Scn,
    /// `transaction_id`: which transaction; NULL in snapshot rows.
    TransactionId,
    /// `fragment`: which part of its transaction the row is in, from 1; NULL in snapshot rows.
    Fragment,
    /// `last_fragment`: whether it is the transaction's last part; NULL in snapshot rows.
    LastFragment,
}

impl Metadata {
    /// All of them.
    pub const ALL: [Metadata; 9] = [
        Metadata::TableName,
        Metadata::SchemaName,
        Metadata::DatabaseName,
        Metadata::OpTs,
        Metadata::RowKind,
        Metadata::Scn,
        Metadata::TransactionId,
        Metadata::Fragment,
        Metadata::LastFragment,
    ];

    /// The key as `METADATA FROM` names it.
    pub fn key(self) -> &'static str {
        match self {
            Metadata::TableName => "table_name",
            Metadata::SchemaName => "schema_name",
            Metadata::DatabaseName => "database_name",
            Metadata::OpTs => "op_ts",
            Metadata::RowKind => "row_kind",
            Metadata::Scn => "scn",
            Metadata::TransactionId => "transaction_id",
            Metadata::Fragment => "fragment",
            Metadata::LastFragment => "last_fragment",
        }
    }
}

/// Where a column downstream comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    /// A column of the table, by its number.
    Column(usize),
    /// A column that the table has no more.
    Gone,
    /// What is known of the row beside its values.
    Metadata(Metadata),
}

/// A column downstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name in the job.
    pub name: String,
    /// Its type in the job.
    pub kind: FlinkType,
    /// Whether the job allows NULL.
    pub nullable: bool,
    /// Where it comes from.
    pub source: OutputSource,
}

/// Finds the declared columns in a table. A column of the job means the table's column of exactly its name or, if there
/// is none, the one column whose name differs in case only (unquoted names become upper-case in the databases, and SQL
/// jobs are often written in lower-case); no two columns of the job may mean the same one by that second rule.
///
/// # Errors
/// `Declaration` for a column that the table has not, has twice, or cannot give as the declared type.
pub fn resolve(declared: &[DeclaredColumn], table: &Table) -> Result<Vec<OutputColumn>> {
    find_all(declared, table, false).map_err(|error| error.on(&table.name))
}

/// As [`resolve`], in a table that may have been altered since the job began: a column that it has not is one that left.
///
/// # Errors
/// `Declaration` for a column that the table has twice, or cannot give as the declared type.
pub fn resolve_altered(declared: &[DeclaredColumn], table: &Table) -> Result<Vec<OutputColumn>> {
    find_all(declared, table, true).map_err(|error| error.on(&table.name))
}

/// Refuses what rows cannot be kept by downstream where an update is its new row alone: a table without a key, or a
/// PRIMARY KEY of the job that is not the table's key (in any order), by which the rows that an update leaves behind would
/// not be found.
///
/// # Errors
/// `Declaration`.
pub fn require_key(declared: Option<&[String]>, table: &Table) -> Result<()> {
    if table.key.is_empty() {
        let text = "with changelog-mode = 'upsert' the table must have a key; this one has none";
        return Err(ErrorKind::Declaration(text.into()).into());
    }
    let Some(declared) = declared else { return Ok(()) };
    let mut columns = declared
        .iter()
        .map(|name| find(name, table)?.ok_or_else(|| missing(name, table)))
        .collect::<Result<Vec<_>>>()?;
    let mut key = table.key.clone();
    columns.sort_unstable();
    key.sort_unstable();
    if columns == key {
        return Ok(());
    }
    let key: Vec<&str> = table
        .key
        .iter()
        .map(|&column| table.columns[column].name.as_str())
        .collect();
    Err(ErrorKind::Declaration(format!(
        "with changelog-mode = 'upsert' the declared PRIMARY KEY ({}) must be the table's key ({})",
        declared.join(", "),
        key.join(", ")
    ))
    .into())
}

fn find_all(declared: &[DeclaredColumn], table: &Table, altered: bool) -> Result<Vec<OutputColumn>> {
    let mut columns: Vec<OutputColumn> = Vec::with_capacity(declared.len());
    for column in declared {
        let kind = column.kind()?;
        let source = match &column.metadata {
            Some(key) => OutputSource::Metadata(metadata(&column.name, key, kind)?),
            None => match find(&column.name, table)? {
                Some(number) => OutputSource::Column(number),
                None if altered => OutputSource::Gone,
                None => return Err(missing(&column.name, table)),
            },
        };
        if let OutputSource::Column(index) = source {
            if let Some(other) = columns.iter().find(|other| other.source == source) {
                return Err(ErrorKind::Declaration(format!(
                    "columns '{}' and '{}' both mean column '{}' of the table",
                    other.name, column.name, table.columns[index].name
                ))
                .into());
            }
            fit::check(&column.name, kind, &table.columns[index])?;
        }
        columns.push(OutputColumn {
            name: column.name.clone(),
            kind,
            nullable: column.nullable,
            source,
        });
    }
    Ok(columns)
}

fn metadata(column: &str, key: &str, kind: FlinkType) -> Result<Metadata> {
    let Some(metadata) = Metadata::ALL.into_iter().find(|metadata| metadata.key() == key) else {
        return Err(ErrorKind::Declaration(format!(
            "column '{column}': there is no metadata '{key}'; there are {}",
            Metadata::ALL.map(Metadata::key).join(", ")
        ))
        .into());
    };
    fit::check_metadata(column, kind, metadata)?;
    Ok(metadata)
}

fn missing(name: &str, table: &Table) -> Error {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    ErrorKind::Declaration(format!("the table has no column '{name}'; it has {}", names.join(", "))).into()
}

fn find(name: &str, table: &Table) -> Result<Option<usize>> {
    if let Some(exact) = table.columns.iter().position(|column| column.name == name) {
        return Ok(Some(exact));
    }
    let folded = name.to_lowercase();
    let mut alike = (0..table.columns.len()).filter(|index| table.columns[*index].name.to_lowercase() == folded);
    match (alike.next(), alike.next()) {
        (Some(only), None) => Ok(Some(only)),
        (Some(first), Some(second)) => Err(ErrorKind::Declaration(format!(
            "column '{name}' may mean '{}' or '{}' of the table; write it as one of them",
            table.columns[first].name, table.columns[second].name
        ))
        .into()),
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
