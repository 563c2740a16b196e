//! Which type a column of DM8's dictionary has: names of the ODBC guide, numbers and marks of the system tables' manual.
//! docs/types.md lists all of them; a test reads it.

use crate::dialect::{ColumnType, DictionaryColumn, IntervalField};

/// Bits of SYSCOLINFOS.INFO1.
const VIRTUAL: i64 = 1;
const FLOAT: i64 = 1 << 2;
const DATE_WITH_TIME: i64 = 1 << 3;

/// The scale of FLOAT, whose digits are decimal ones: any number.
const FLOAT_SCALE: i64 = 129;

/// In the scale of a timestamp: a timestamp with local time zone.
const LOCAL_ZONE: i64 = 4096;

/// Whether a column is computed from others.
pub(super) fn is_virtual(column: &DictionaryColumn) -> bool {
    column.marks & VIRTUAL != 0
}

/// The type of a column. Names may carry a length or precision in parentheses.
pub(super) fn column_type(column: &DictionaryColumn) -> ColumnType {
    let name = without_parentheses(&column.type_name);
    let words: Vec<&str> = name.split_whitespace().collect();
    let length = column.length.and_then(|length| u32::try_from(length).ok());
    let is_local = column.scale.is_some_and(|scale| scale & LOCAL_ZONE != 0);
    match words.as_slice() {
        ["BIT" | "BOOLEAN" | "BOOL"] => ColumnType::Boolean,
        ["TINYINT" | "BYTE"] => ColumnType::Integer { bits: 8 },
        ["SMALLINT"] => ColumnType::Integer { bits: 16 },
        ["INT" | "INTEGER" | "PLS_INTEGER"] => ColumnType::Integer { bits: 32 },
        ["BIGINT"] => ColumnType::Integer { bits: 64 },
        ["NUMERIC" | "DECIMAL" | "DEC" | "NUMBER"] => decimal(column),
        ["FLOAT"] if column.scale == Some(FLOAT_SCALE) || column.marks & FLOAT != 0 => decimal(column),
        ["REAL" | "BINARY_FLOAT"] => ColumnType::Float { bits: 32 },
        ["FLOAT" | "DOUBLE" | "BINARY_DOUBLE"] | ["DOUBLE", "PRECISION"] => ColumnType::Float { bits: 64 },
        ["CHAR" | "CHARACTER" | "NCHAR"] => ColumnType::Text { length, padded: true },
        ["VARCHAR" | "VARCHAR2" | "NVARCHAR" | "NVARCHAR2"] => ColumnType::Text { length, padded: false },
        ["ROWID"] => ColumnType::Text {
            length: Some(18),
            padded: false,
        },
        ["TEXT" | "LONG" | "LONGVARCHAR" | "CLOB" | "JSON" | "JSONB" | "XML"] => ColumnType::Text {
            length: None,
            padded: false,
        },
        ["BINARY" | "VARBINARY" | "RAW"] => ColumnType::Binary { length },
        ["IMAGE" | "LONGVARBINARY" | "BLOB"] => ColumnType::Binary { length: None },
        ["DATE"] if column.marks & DATE_WITH_TIME != 0 => ColumnType::Timestamp { precision: 0 },
        ["DATE"] => ColumnType::Date,
        ["TIME"] => ColumnType::Time {
            precision: digits(column, 0),
        },
        ["TIME", "WITH", "TIME", "ZONE"] => ColumnType::TimeZoned {
            precision: digits(column, 0),
        },
        ["TIMESTAMP" | "DATETIME" | "DATETIME2", zone @ ..] => timestamp(column, zone, is_local),
        ["INTERVAL", fields @ ..] => interval(fields).unwrap_or_else(|| refused(column, "its fields are not known")),
        ["BFILE"] => refused(column, "its content is a file outside the database"),
        _ => refused(column, "its values are no single value of SQL"),
    }
}

fn without_parentheses(type_name: &str) -> String {
    let mut name = String::new();
    let mut depth = 0;
    for letter in type_name.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => name.push(letter.to_ascii_uppercase()),
            _ => {}
        }
    }
    name
}

/// Without a precision, or with one that says binary digits, the column holds any number.
fn decimal(column: &DictionaryColumn) -> ColumnType {
    let any = ColumnType::Decimal {
        precision: None,
        scale: 0,
    };
    let precision = column.precision.and_then(|digits| u8::try_from(digits).ok());
    let scale = i8::try_from(column.scale.unwrap_or(0));
    match (precision, scale) {
        (Some(1..), Ok(scale)) if column.marks & FLOAT == 0 => ColumnType::Decimal { precision, scale },
        _ => any,
    }
}

/// Digits behind the second: the low byte of the scale.
fn digits(column: &DictionaryColumn, default: u8) -> u8 {
    let scale = column.scale.and_then(|scale| u8::try_from(scale & 0xff).ok());
    scale.filter(|scale| *scale <= 9).unwrap_or(default)
}

fn timestamp(column: &DictionaryColumn, zone: &[&str], is_local: bool) -> ColumnType {
    let precision = digits(column, 6);
    match zone {
        [] | ["WITH", "TIME", "ZONE"] if is_local => ColumnType::TimestampLocal { precision },
        [] | ["WITHOUT", "TIME", "ZONE"] => ColumnType::Timestamp { precision },
        ["WITH", "TIME", "ZONE"] => ColumnType::TimestampZoned { precision },
        ["WITH", "LOCAL", "TIME", "ZONE"] => ColumnType::TimestampLocal { precision },
        _ => refused(column, "its zone is not known"),
    }
}

fn interval(fields: &[&str]) -> Option<ColumnType> {
    let field = |name: &str| {
        Some(match name {
            "YEAR" => IntervalField::Year,
            "MONTH" => IntervalField::Month,
            "DAY" => IntervalField::Day,
            "HOUR" => IntervalField::Hour,
            "MINUTE" => IntervalField::Minute,
            "SECOND" => IntervalField::Second,
            _ => return None,
        })
    };
    let (first, last) = match fields {
        [only] => (field(only)?, field(only)?),
        [first, "TO", last] => (field(first)?, field(last)?),
        _ => return None,
    };
    // Months and days have no fixed ratio: no interval goes across them.
    let within = first <= last && (first <= IntervalField::Month) == (last <= IntervalField::Month);
    within.then_some(ColumnType::Interval { first, last })
}

fn refused(column: &DictionaryColumn, why: &str) -> ColumnType {
    ColumnType::Unsupported(format!("{} ({why})", column.type_name))
}
