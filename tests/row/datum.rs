//! Random columns and values, each value in a driver's words, in a log's words, and as Flink must read it.

use fastrand::Rng;
use jiff::civil;
use tidemark::catalog::ColumnType;
use tidemark::row::layout::{FlinkType, UNBOUNDED};
use tidemark::row::value::Value;

use crate::reader::Read;

/// A value that owns its bytes.
#[derive(Clone, Debug)]
pub enum Owned {
    Int(i64),
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
    Hex(String),
    Date(String),
    Time(String),
    Timestamp(String),
}

impl Owned {
    pub fn value(&self) -> Value<'_> {
        match self {
            Owned::Int(value) => Value::Int(*value),
            Owned::Number(text) => Value::Number(text.as_bytes()),
            Owned::Text(text) => Value::Text(text.as_bytes()),
            Owned::Bytes(bytes) => Value::Bytes(bytes),
            Owned::Hex(text) => Value::Hex(text.as_bytes()),
            Owned::Date(text) => Value::Date(text.as_bytes()),
            Owned::Time(text) => Value::Time(text.as_bytes()),
            Owned::Timestamp(text) => Value::Timestamp(text.as_bytes()),
        }
    }
}

/// One value.
#[derive(Clone, Debug)]
pub struct Datum {
    pub driver: Owned,
    pub log: Owned,
    pub read: Read,
}

/// The zone of the random columns' database, and its offset.
pub const ZONE: &str = "+08:00";
const ZONE_SECONDS: i64 = 8 * 3600;

/// A column of any type and a type of Flink that it can be declared as.
pub fn column(rng: &mut Rng) -> (ColumnType, FlinkType) {
    let precision = rng.u8(0..=9);
    let declared = rng.u8(0..=9);
    let length = rng.u32(1..=40);
    match rng.u8(0..16) {
        0 => (ColumnType::Boolean, FlinkType::Boolean),
        1 => (ColumnType::Boolean, FlinkType::SmallInt),
        2 => (ColumnType::Integer { bits: 8 }, FlinkType::TinyInt),
        3 => (ColumnType::Integer { bits: 16 }, FlinkType::SmallInt),
        4 => (ColumnType::Integer { bits: 32 }, FlinkType::Int),
        5 => (ColumnType::Integer { bits: 64 }, FlinkType::BigInt),
        6 => (
            ColumnType::Integer { bits: 64 },
            FlinkType::VarChar { length: UNBOUNDED },
        ),
        7 => (ColumnType::Float { bits: 32 }, FlinkType::Float),
        8 => (ColumnType::Float { bits: 64 }, FlinkType::Double),
        9 => {
            let precision = rng.u8(1..=38);
            let scale = rng.u8(0..=precision);
            let column = ColumnType::Decimal {
                precision: Some(precision),
                scale: scale as i8,
            };
            match rng.u8(0..4) {
                0 => (column, FlinkType::VarChar { length }),
                _ => (column, FlinkType::Decimal { precision, scale }),
            }
        }
        10 => {
            let padded = rng.bool();
            let column = ColumnType::Text {
                length: Some(40),
                padded,
            };
            match padded {
                true => (column, FlinkType::Char { length }),
                false => (column, FlinkType::VarChar { length }),
            }
        }
        11 => (ColumnType::Binary { length: None }, FlinkType::VarBinary { length }),
        12 => (ColumnType::Date, FlinkType::Date),
        13 => (ColumnType::Time { precision }, FlinkType::Time { precision: declared }),
        14 => (
            ColumnType::Timestamp { precision },
            FlinkType::Timestamp { precision: declared },
        ),
        _ if rng.bool() => (
            ColumnType::Timestamp { precision },
            FlinkType::TimestampLtz { precision: declared },
        ),
        _ => (
            ColumnType::TimestampZoned { precision },
            FlinkType::TimestampLtz { precision: declared },
        ),
    }
}

/// A value of a column.
pub fn datum(rng: &mut Rng, column: &ColumnType, kind: FlinkType) -> Datum {
    match (column, kind) {
        (ColumnType::Boolean, kind) => {
            let value = rng.bool();
            Datum {
                driver: Owned::Int(i64::from(value)),
                log: match rng.bool() {
                    true => Owned::Number(i64::from(value).to_string()),
                    false => Owned::Text(value.to_string().to_uppercase()),
                },
                read: match kind {
                    FlinkType::Boolean => Read::Boolean(value),
                    _ => Read::Integer(i64::from(value)),
                },
            }
        }
        (ColumnType::Integer { bits }, kind) => {
            // Arithmetic shift: every magnitude is as likely as the next.
            let value = rng.i64(..) >> (64 - bits + rng.u8(0..*bits));
            Datum {
                driver: Owned::Int(value),
                log: Owned::Number(value.to_string()),
                read: match kind {
                    FlinkType::VarChar { .. } => Read::Bytes(value.to_string().into_bytes()),
                    _ => Read::Integer(value),
                },
            }
        }
        (ColumnType::Float { .. }, FlinkType::Float) => {
            let value = f32::from_bits(rng.u32(..));
            let value = if value.is_nan() { f32::NAN } else { value };
            Datum {
                driver: Owned::Number(format!("{value:?}")),
                log: Owned::Number(format!("{value:e}").replace('e', "E")),
                read: Read::Float(value.to_bits()),
            }
        }
        (ColumnType::Float { .. }, _) => {
            let value = f64::from_bits(rng.u64(..));
            let value = if value.is_nan() { f64::NAN } else { value };
            Datum {
                driver: Owned::Number(format!("{value:?}")),
                log: Owned::Number(format!("{value:e}").replace('e', "E")),
                read: Read::Double(value.to_bits()),
            }
        }
        (ColumnType::Decimal { precision, scale }, kind) => {
            decimal(rng, precision.expect("a precision"), *scale as usize, kind)
        }
        (ColumnType::Text { padded, .. }, _) => {
            let text = text(rng, *padded);
            let blanks = if *padded { rng.usize(0..5) } else { 0 };
            Datum {
                driver: Owned::Text(text.clone() + &" ".repeat(blanks)),
                log: Owned::Text(text.clone()),
                read: Read::Bytes(text.into_bytes()),
            }
        }
        (ColumnType::Binary { .. }, _) => {
            let bytes: Vec<u8> = (0..rng.usize(0..20)).map(|_| rng.u8(..)).collect();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Datum {
                driver: Owned::Bytes(bytes.clone()),
                log: Owned::Hex(if rng.bool() { hex.to_uppercase() } else { hex }),
                read: Read::Bytes(bytes),
            }
        }
        (ColumnType::Date, _) => {
            let (days, date) = date(rng);
            Datum {
                driver: Owned::Text(if rng.bool() {
                    date.clone()
                } else {
                    date.clone() + " 00:00:00"
                }),
                log: Owned::Date(date),
                read: Read::Integer(days),
            }
        }
        (ColumnType::Time { precision }, kind) => {
            let (seconds, nanos) = (rng.u32(0..86_400), nanos(rng, *precision));
            Datum {
                driver: Owned::Text(clock(seconds, nanos, 9)),
                log: Owned::Time(clock(seconds, nanos, *precision)),
                read: Read::Integer(i64::from(seconds * 1_000 + cut(nanos, kind) / 1_000_000)),
            }
        }
        (ColumnType::Timestamp { precision }, kind) => {
            let (days, date) = date(rng);
            let (seconds, nanos) = (rng.u32(0..86_400), nanos(rng, *precision));
            let east = match kind {
                FlinkType::TimestampLtz { .. } => ZONE_SECONDS,
                _ => 0,
            };
            Datum {
                driver: Owned::Text(format!("{date} {}", clock(seconds, nanos, 9))),
                log: Owned::Timestamp(format!("{date} {}", clock(seconds, nanos, *precision))),
                read: timestamp(days * 86_400 + i64::from(seconds) - east, cut(nanos, kind)),
            }
        }
        (ColumnType::TimestampZoned { precision }, kind) => {
            let (days, date) = date(rng);
            let (seconds, nanos) = (rng.u32(0..86_400), nanos(rng, *precision));
            let quarters = rng.i64(-48..=56);
            let sign = if quarters < 0 { '-' } else { '+' };
            let offset = format!("{sign}{:02}:{:02}", quarters.abs() / 4, quarters.abs() % 4 * 15);
            Datum {
                driver: Owned::Text(format!("{date} {}{offset}", clock(seconds, nanos, 9))),
                log: Owned::Timestamp(format!("{date} {} {offset}", clock(seconds, nanos, *precision))),
                read: timestamp(days * 86_400 + i64::from(seconds) - quarters * 900, cut(nanos, kind)),
            }
        }
        (_, _) => unreachable!("no such column is made"),
    }
}

/// A decimal in a driver's words (all digits of the scale) and in a log's (no idle zeros, no leading zero, an exponent).
fn decimal(rng: &mut Rng, precision: u8, scale: usize, kind: FlinkType) -> Datum {
    let limit = 10_i128.pow(u32::from(rng.u8(1..=precision)));
    let unscaled = (rng.u128(..) % limit as u128) as i128 * if rng.bool() { -1 } else { 1 };
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", unscaled.unsigned_abs(), scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let plain = match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    };
    let log = match rng.u8(0..3) {
        0 => plain.clone(),
        1 => plain.replacen("0.", ".", usize::from(whole == "0")),
        _ => format!("{unscaled}E-{scale}"),
    };
    Datum {
        driver: match (scale, i64::try_from(unscaled)) {
            (0, Ok(value)) if rng.bool() => Owned::Int(value),
            (0, _) => Owned::Number(format!("{sign}{whole}")),
            _ => Owned::Text(format!("{sign}{whole}.{fraction}")),
        },
        log: Owned::Number(log),
        read: match kind {
            FlinkType::Decimal { .. } => Read::Decimal(unscaled),
            _ => Read::Bytes(plain.into_bytes()),
        },
    }
}

fn timestamp(seconds: i64, nanos: u32) -> Read {
    Read::Timestamp(seconds * 1_000 + i64::from(nanos / 1_000_000), nanos % 1_000_000)
}

/// What a declared type keeps of a fraction of a second.
fn cut(nanos: u32, kind: FlinkType) -> u32 {
    match kind {
        FlinkType::Time { precision } | FlinkType::Timestamp { precision } | FlinkType::TimestampLtz { precision } => {
            let digits = format!("{nanos:09}");
            let kept = format!("{:0<9}", &digits[..usize::from(precision)]);
            kept.parse().expect("nanoseconds")
        }
        _ => nanos,
    }
}

/// A day by the calendar of an independent library, half of them near the years where calendars go wrong.
fn date(rng: &mut Rng) -> (i64, String) {
    let epoch = civil::date(1970, 1, 1);
    let first = epoch.duration_until(civil::date(1, 1, 1)).as_hours() / 24;
    let last = epoch.duration_until(civil::date(9999, 12, 31)).as_hours() / 24;
    let days = match rng.u8(0..8) {
        0 => first,
        1 => last,
        2 => epoch.duration_until(civil::date(1582, 10, 4)).as_hours() / 24 + rng.i64(0..12),
        3 => epoch.duration_until(civil::date(1900, 2, 27)).as_hours() / 24 + rng.i64(0..4),
        _ => rng.i64(first..=last),
    };
    let date = epoch
        .checked_add(jiff::SignedDuration::from_hours(days * 24))
        .expect("a day");
    (days, date.to_string())
}

fn nanos(rng: &mut Rng, precision: u8) -> u32 {
    let step = 10_u32.pow(9 - u32::from(precision));
    rng.u32(0..1_000_000_000) / step * step
}

fn clock(seconds: u32, nanos: u32, digits: u8) -> String {
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if digits > 0 {
        let fraction = format!("{nanos:09}");
        text.push('.');
        text.push_str(&fraction[..usize::from(digits)]);
    }
    text
}

fn text(rng: &mut Rng, padded: bool) -> String {
    const LETTERS: [char; 8] = ['a', 'Z', '0', ' ', '\'', '\n', '改', '😀'];
    let text: String = (0..rng.usize(0..20))
        .map(|_| LETTERS[rng.usize(..LETTERS.len())])
        .collect();
    match padded {
        true => text.trim_end_matches(' ').to_owned(),
        false => text,
    }
}
