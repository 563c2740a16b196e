//! A value as the database gives it becomes a field of a row. One way for the snapshot and for the log: whatever words a
//! driver and a log use for the same value, the field's bytes are the same, because `BinaryRowData.equals` and a key
//! downstream compare bytes.

use std::fmt;
use std::io::Write;

use crate::catalog::{ColumnType, IntervalField};
use crate::row::fields::Fields;
use crate::row::interval::Interval;
use crate::row::layout::FlinkType;
use crate::row::number;
use crate::row::text;
use crate::row::time::{self, DateTime};
use crate::row::value::Value;
use crate::row::zone::Zone;

/// Why a value does not fit; the codec adds column, key and table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(Box<str>);

impl Refusal {
    pub(super) fn new(reason: String) -> Self {
        Refusal(reason.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value's text for an error: quoted, and not longer than a line.
pub(super) fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 64;
    let shown = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]);
    if text.len() > LONGEST {
        format!("'{shown}…' ({} bytes)", text.len())
    } else {
        format!("'{shown}'")
    }
}

/// How one column's values become fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    to: FlinkType,
    from: From,
}

/// What of a column's type decides how its values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Boolean,
    Number,
    Text {
        padded: bool,
    },
    /// With the offset in each text: without it, nobody knows which instant is meant.
    Instant,
    TimeZoned,
    Interval {
        first: IntervalField,
        last: IntervalField,
    },
    Other,
}

impl Conversion {
    /// From a column's type to a type that `layout` has accepted for it.
    pub(super) fn new(from: &ColumnType, to: FlinkType) -> Self {
        let from = match from {
            ColumnType::Boolean => From::Boolean,
            ColumnType::Integer { .. } | ColumnType::Decimal { .. } => From::Number,
            ColumnType::Text { padded, .. } => From::Text { padded: *padded },
            ColumnType::Shown { .. } => From::Text { padded: false },
            ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. } => From::Instant,
            ColumnType::TimeZoned { .. } => From::TimeZoned,
            ColumnType::Interval { first, last } => From::Interval {
                first: *first,
                last: *last,
            },
            _ => From::Other,
        };
        Conversion { to, from }
    }

    /// Writes a value that is there. On an error the row is as it was.
    #[inline(always)]
    pub(super) fn write<F: Fields>(
        &self,
        row: &mut F,
        field: usize,
        value: Value<'_>,
        zone: &Zone,
    ) -> Result<(), Refusal> {
        match self.to {
            FlinkType::Boolean => row.put_bool(field, boolean(value)?),
            FlinkType::TinyInt => row.put_i8(field, self.integer(value, i8::MIN.into(), i8::MAX.into())? as i8),
            FlinkType::SmallInt => row.put_i16(field, self.integer(value, i16::MIN.into(), i16::MAX.into())? as i16),
            FlinkType::Int => row.put_i32(field, self.integer(value, i32::MIN.into(), i32::MAX.into())? as i32),
            FlinkType::BigInt => row.put_i64(field, self.integer(value, i64::MIN, i64::MAX)?),
            FlinkType::Float => row.put_f32(field, single(value)?),
            FlinkType::Double => row.put_f64(field, double(value)?),
            FlinkType::Decimal { precision, scale } => {
                row.put_decimal(field, decimal(value, precision, scale)?, precision, scale)?;
            }
            FlinkType::Char { .. } | FlinkType::VarChar { .. } => self.characters(row, field, value)?,
            FlinkType::Binary { .. } | FlinkType::VarBinary { .. } => binary(row, field, value)?,
            FlinkType::Date => row.put_date(field, date(value)?),
            FlinkType::Time { precision } => {
                let (seconds, nanos) = time_of_day(value)?;
                row.put_time(field, seconds, nanos, precision);
            }
            FlinkType::Timestamp { precision } => {
                let at = date_time(value)?;
                if at.offset.is_some() {
                    return Err(refused(value, "has an offset; declare the column as TIMESTAMP_LTZ"));
                }
                row.put_timestamp(field, at.local_seconds(), at.nanos, precision);
            }
            FlinkType::TimestampLtz { precision } => {
                let at = date_time(value)?;
                if self.from == From::Instant && at.offset.is_none() {
                    return Err(refused(
                        value,
                        "has no offset, so it is not known which instant is meant",
                    ));
                }
                row.put_instant(field, at.epoch_seconds(zone), at.nanos, precision);
            }
        }
        Ok(())
    }

    fn integer(&self, value: Value<'_>, least: i64, greatest: i64) -> Result<i64, Refusal> {
        if self.from == From::Boolean {
            return boolean(value).map(i64::from);
        }
        match value {
            Value::Int(value) if (least..=greatest).contains(&value) => Ok(value),
            Value::Int(value) => Err(Refusal::new(format!("{value} is not between {least} and {greatest}"))),
            Value::Number(text) | Value::Text(text) => number::integer(text, least, greatest),
            _ => Err(refused(value, "is not a number")),
        }
    }

    #[inline]
    fn characters<F: Fields>(&self, row: &mut F, field: usize, value: Value<'_>) -> Result<(), Refusal> {
        match (self.from, value) {
            (From::Number, Value::Int(value)) => row.put_number(field, |out| {
                write!(out, "{value}").map_err(|error| Refusal::new(error.to_string()))
            }),
            (From::Number, Value::Number(text) | Value::Text(text)) => {
                row.put_number(field, |out| number::write_plain(text, out))
            }
            (From::Text { padded }, Value::Text(text)) => row.put_characters(field, text::unpadded(text, padded)),
            (From::TimeZoned, Value::Time(text) | Value::Text(text)) => {
                row.put_text(field, &time::zoned_time(text)?);
                Ok(())
            }
            (From::Interval { first, last }, Value::Text(text)) => {
                row.put_text(field, &Interval::parse(text, first, last)?.text());
                Ok(())
            }
            _ => Err(refused(value, "is not text")),
        }
    }
}

fn boolean(value: Value<'_>) -> Result<bool, Refusal> {
    match value {
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        Value::Number(text) | Value::Text(text) => text::boolean(text)
            .or_else(|refusal| number::integer(text, 0, 1).map(|value| value == 1).map_err(|_| refusal)),
        _ => Err(refused(value, "is neither true nor false")),
    }
}

#[inline]
fn decimal(value: Value<'_>, precision: u8, scale: u8) -> Result<i128, Refusal> {
    match value {
        Value::Int(value) => number::decimal_of_integer(value, precision, scale),
        Value::Number(text) | Value::Text(text) => number::decimal(text, precision, scale),
        _ => Err(refused(value, "is not a number")),
    }
}

fn single(value: Value<'_>) -> Result<f32, Refusal> {
    match value {
        Value::Int(value) => Ok(value as f32),
        Value::Number(text) | Value::Text(text) => number::single(text),
        _ => Err(refused(value, "is not a number")),
    }
}

fn double(value: Value<'_>) -> Result<f64, Refusal> {
    match value {
        Value::Int(value) => Ok(value as f64),
        Value::Number(text) | Value::Text(text) => number::double(text),
        _ => Err(refused(value, "is not a number")),
    }
}

fn binary<F: Fields>(row: &mut F, field: usize, value: Value<'_>) -> Result<(), Refusal> {
    match value {
        Value::Bytes(bytes) => {
            row.put_binary(field, bytes);
            Ok(())
        }
        Value::Hex(text) => row.put_decoded(field, |out| text::write_hex(text, out)),
        _ => Err(refused(value, "is not binary")),
    }
}

#[inline]
fn date_time(value: Value<'_>) -> Result<DateTime, Refusal> {
    match value {
        Value::Date(text) | Value::Timestamp(text) | Value::Text(text) => DateTime::parse(text),
        _ => Err(refused(value, "is not a date")),
    }
}

#[inline]
fn date(value: Value<'_>) -> Result<i32, Refusal> {
    let at = date_time(value)?;
    if (at.second_of_day, at.nanos, at.offset) != (0, 0, None) {
        return Err(refused(value, "has a time of day; declare the column as TIMESTAMP"));
    }
    Ok(at.days())
}

/// Seconds since midnight and nanoseconds beyond them.
fn time_of_day(value: Value<'_>) -> Result<(u32, u32), Refusal> {
    match value {
        Value::Time(text) | Value::Text(text) => time::time_of_day(text),
        _ => Err(refused(value, "is not a time of day")),
    }
}

#[cold]
fn refused(value: Value<'_>, why: &str) -> Refusal {
    Refusal::new(format!("{} {why}", describe(value)))
}

/// A value's words, for an error.
pub(super) fn describe(value: Value<'_>) -> String {
    match value {
        Value::Absent => "a value that is not there".into(),
        Value::Null => "NULL".into(),
        Value::Unavailable => "a value that the log does not hold".into(),
        Value::Int(value) => value.to_string(),
        Value::Number(text) => quoted(text).trim_matches('\'').to_owned(),
        Value::Text(text) | Value::Date(text) | Value::Time(text) | Value::Timestamp(text) => quoted(text),
        Value::Hex(text) => format!("0x{}", quoted(text).trim_matches('\'')),
        Value::Bytes(bytes) => format!("a binary of {} bytes", bytes.len()),
    }
}
