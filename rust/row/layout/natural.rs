//! What a column becomes where nothing is declared: the narrowest type of Flink that every one of its values fits into.

use crate::catalog::{Column, ColumnType, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::row::layout::{DeclaredColumn, FlinkType, OutputColumn, OutputSource, UNBOUNDED};

const STRING: FlinkType = FlinkType::VarChar { length: UNBOUNDED };

/// The type of Flink that holds every value of a column, exactly; `None` for a column that cannot be captured.
///
/// A number without a precision, or of more than 38 digits, is a `STRING`: no `DECIMAL` holds them all.
pub fn natural(column: &ColumnType) -> Option<FlinkType> {
    Some(match *column {
        ColumnType::Boolean => FlinkType::Boolean,
        ColumnType::Integer { bits: ..=8 } => FlinkType::TinyInt,
        ColumnType::Integer { bits: ..=16 } => FlinkType::SmallInt,
        ColumnType::Integer { bits: ..=32 } => FlinkType::Int,
        ColumnType::Integer { .. } => FlinkType::BigInt,
        ColumnType::Decimal { precision, scale } => decimal(precision, scale),
        ColumnType::Float { bits: ..=32 } => FlinkType::Float,
        ColumnType::Float { .. } => FlinkType::Double,
        ColumnType::Text { .. }
        | ColumnType::Shown { .. }
        | ColumnType::TimeZoned { .. }
        | ColumnType::Interval { .. } => STRING,
        ColumnType::Binary { .. } => FlinkType::VarBinary { length: UNBOUNDED },
        ColumnType::Date => FlinkType::Date,
        ColumnType::Time { precision } => FlinkType::Time { precision },
        ColumnType::Timestamp { precision } => FlinkType::Timestamp { precision },
        ColumnType::TimestampZoned { precision } | ColumnType::TimestampLocal { precision } => {
            FlinkType::TimestampLtz { precision }
        }
        ColumnType::Unsupported(_) => return None,
    })
}

/// Digits before the point are `precision - scale`: more than `precision` where places before the point are rounded
/// away, none where the first ones behind it are always zeros.
fn decimal(precision: Option<u8>, scale: i8) -> FlinkType {
    let Some(precision) = precision else {
        return STRING;
    };
    let behind = scale.max(0).unsigned_abs();
    let before = i16::from(precision) - i16::from(scale);
    match before.max(0) + i16::from(behind) {
        digits @ 1..=38 => FlinkType::Decimal {
            precision: digits as u8,
            scale: behind,
        },
        _ => STRING,
    }
}

/// All columns of a table, each as it is.
///
/// # Errors
/// `Declaration` for a column that cannot be captured.
pub fn all_columns(table: &Table) -> Result<Vec<OutputColumn>> {
    let columns = table.columns.iter().enumerate();
    let output = columns.map(|(number, column)| {
        let Some(kind) = natural(&column.kind) else {
            let text = format!("column '{}' is of a type that cannot be captured", column.name);
            return Err(Error::from(ErrorKind::Declaration(text)).on(&table.name));
        };
        Ok(OutputColumn {
            name: column.name.clone(),
            kind,
            nullable: column.nullable,
            source: OutputSource::Column(number),
        })
    });
    output.collect()
}

impl DeclaredColumn {
    /// A column of the table as it is, under its own name and type; `None` if it cannot be captured.
    pub fn natural(column: &Column) -> Option<Self> {
        let kind = natural(&column.kind)?;
        let text = kind.to_string();
        let mut declared = DeclaredColumn {
            name: column.name.clone(),
            type_name: text.split('(').next().unwrap_or(&text).to_owned(),
            precision: None,
            scale: None,
            length: None,
            nullable: column.nullable,
            metadata: None,
        };
        match kind {
            FlinkType::Decimal { precision, scale } => {
                declared.precision = Some(precision);
                declared.scale = Some(scale);
            }
            FlinkType::Time { precision }
            | FlinkType::Timestamp { precision }
            | FlinkType::TimestampLtz { precision } => declared.precision = Some(precision),
            _ => {}
        }
        Some(declared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_places_for_every_value_of_their_column() {
        for (precision, scale, expected) in [
            (Some(38), 10, "DECIMAL(38, 10)"),
            (Some(5), 0, "DECIMAL(5, 0)"),
            (Some(6), -2, "DECIMAL(8, 0)"),
            (Some(3), 5, "DECIMAL(5, 5)"),
            (Some(38), -1, "STRING"),
            (Some(38), 39, "STRING"),
            (None, 0, "STRING"),
        ] {
            let kind = natural(&ColumnType::Decimal { precision, scale }).expect("a type");
            assert_eq!(kind.to_string(), expected, "NUMBER({precision:?}, {scale})");
        }
    }

    #[test]
    fn the_natural_declaration_is_one_that_the_column_takes() {
        let kinds = [
            ColumnType::Boolean,
            ColumnType::Integer { bits: 8 },
            ColumnType::Decimal {
                precision: Some(20),
                scale: 4,
            },
            ColumnType::Text {
                length: Some(10),
                padded: true,
            },
            ColumnType::Binary { length: None },
            ColumnType::Time { precision: 3 },
            ColumnType::TimestampLocal { precision: 9 },
        ];
        for kind in kinds {
            let expected = natural(&kind);
            let declared = DeclaredColumn::natural(&Column {
                name: "A".into(),
                kind,
                nullable: false,
                is_virtual: false,
                collated: false,
            })
            .expect("a declaration");
            assert_eq!(declared.kind().ok(), expected);
            assert!(!declared.nullable);
        }
        assert_eq!(natural(&ColumnType::Unsupported("BFILE".into())), None);
    }
}
