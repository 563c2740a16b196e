//! A plugin's values as the codec takes them, by the type of their column: the same words that a SELECT gives.

use crate::catalog::ColumnType;
use crate::log::decoding::binary::Form;
use crate::log::decoding::plugin::Datum;
use crate::log::decoding::test_decoding::push_undoubled;
use crate::log::decoding::words::{DAY, Words};
use crate::row::value::{Image, Value, ValueBuffer};

/// Puts a value into an image. `form` is the binary one of its type, where that is known.
///
/// # Errors
/// What of it is not as the column's type has it.
pub(super) fn put(
    values: &mut ValueBuffer,
    image: Image,
    column: usize,
    (kind, form): (&ColumnType, Option<Form>),
    datum: Datum<'_>,
) -> Result<(), &'static str> {
    let value = match datum {
        Datum::Null => Value::Null,
        Datum::Unchanged => Value::Unavailable,
        Datum::Text(text) => of_text(kind, text)?,
        Datum::Doubled(text) => {
            if matches!(kind, ColumnType::Binary { .. }) {
                return Err("there is a quote in a binary value");
            }
            values.set_text(image, column, |out| push_undoubled(text, b'\'', out));
            return Ok(());
        }
        Datum::Binary(bytes) => {
            let form = form.ok_or("the binary form of its type is not known")?;
            return form.put(values, image, column, bytes);
        }
        Datum::Bytes(bytes) => match kind {
            ColumnType::Binary { .. } => Value::Bytes(bytes),
            // Types that a plugin does not know come as the bytes of their text.
            _ => of_text(kind, bytes)?,
        },
        typed => {
            let mut text = Words::default();
            let value = of_typed(kind, typed, &mut text)?;
            values.set(image, column, value);
            return Ok(());
        }
    };
    values.set(image, column, value);
    Ok(())
}

fn of_text<'a>(kind: &ColumnType, text: &'a [u8]) -> Result<Value<'a>, &'static str> {
    Ok(match kind {
        ColumnType::Integer { .. } | ColumnType::Decimal { .. } | ColumnType::Float { .. } => Value::Number(text),
        ColumnType::Boolean => match text {
            b"t" | b"true" => Value::Int(1),
            b"f" | b"false" => Value::Int(0),
            _ => return Err("a truth value is neither true nor false"),
        },
        ColumnType::Binary { .. } => match text.strip_prefix(br"\x") {
            Some(digits) => Value::Hex(digits),
            None => return Err("a binary value is not written as hexadecimal digits (bytea_output)"),
        },
        ColumnType::Date => Value::Date(text),
        ColumnType::Time { .. } | ColumnType::TimeZoned { .. } => Value::Time(text),
        ColumnType::Timestamp { .. } | ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. } => {
            Value::Timestamp(text)
        }
        _ => Value::Text(text),
    })
}

/// Values of plugins that have types of their own.
fn of_typed<'w>(kind: &ColumnType, datum: Datum<'_>, words: &'w mut Words) -> Result<Value<'w>, &'static str> {
    Ok(match (kind, datum) {
        (ColumnType::Boolean, Datum::Bool(value)) => Value::Int(value.into()),
        (_, Datum::Bool(value)) => Value::Text(if value { b"t" } else { b"f" }),
        (ColumnType::Date, Datum::Int(days)) => {
            push_day(days, words)?;
            Value::Date(words.done())
        }
        (ColumnType::Time { .. }, Datum::Int(micros)) if (0..DAY).contains(&micros) => {
            words.clock(micros);
            Value::Time(words.done())
        }
        (
            ColumnType::Timestamp { .. } | ColumnType::TimestampZoned { .. } | ColumnType::TimestampLocal { .. },
            Datum::Int(micros),
        ) => {
            push_day(micros.div_euclid(DAY), words)?;
            words.push(b" ");
            words.clock(micros.rem_euclid(DAY));
            // Where a time is an instant it was given in UTC.
            if !matches!(kind, ColumnType::Timestamp { .. }) {
                words.push(b"+00");
            }
            Value::Timestamp(words.done())
        }
        (ColumnType::Integer { .. } | ColumnType::Decimal { .. } | ColumnType::Float { .. }, Datum::Int(value)) => {
            Value::Int(value)
        }
        (ColumnType::Text { .. }, Datum::Int(value)) => Value::Text(words.write(format_args!("{value}"))?),
        (_, Datum::Single(value)) => number(kind, words.float(value)),
        (_, Datum::Float(value)) => number(kind, words.float(value)),
        (_, Datum::Point(x, y)) => {
            for (mark, value) in [(b"(", x), (b",", y)] {
                words.push(mark);
                words.float(value);
            }
            words.push(b")");
            Value::Text(words.done())
        }
        _ => return Err("a value has not the type of its column"),
    })
}

fn number<'w>(kind: &ColumnType, words: &'w [u8]) -> Value<'w> {
    match kind {
        ColumnType::Text { .. } => Value::Text(words),
        _ => Value::Number(words),
    }
}

/// Appends a day since 1970-01-01, of the years 1 to 9999.
fn push_day(days: i64, words: &mut Words) -> Result<(), &'static str> {
    const FIRST: i64 = -719_162;
    const LAST: i64 = 2_932_896;
    if !(FIRST..=LAST).contains(&days) {
        return Err("a date is not of the years 0001 to 9999");
    }
    words.day(days);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: ColumnType, datum: Datum<'_>) -> String {
        let mut values = ValueBuffer::default();
        let image = values.begin(1);
        match put(&mut values, image, 0, (&kind, None), datum) {
            Ok(()) => match values.get(image, 0) {
                Value::Number(text)
                | Value::Text(text)
                | Value::Date(text)
                | Value::Time(text)
                | Value::Hex(text)
                | Value::Timestamp(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            },
            Err(error) => error.to_owned(),
        }
    }

    #[test]
    fn typed_values_have_the_words_of_a_select() {
        let timestamp = ColumnType::Timestamp { precision: 6 };
        let zoned = ColumnType::TimestampZoned { precision: 6 };
        let text = ColumnType::Text {
            length: None,
            padded: false,
        };
        let double = ColumnType::Float { bits: 64 };
        for (kind, datum, expected) in [
            (ColumnType::Date, Datum::Int(0), "1970-01-01"),
            (ColumnType::Date, Datum::Int(-719_162), "0001-01-01"),
            (ColumnType::Date, Datum::Int(2_932_896), "9999-12-31"),
            (ColumnType::Date, Datum::Int(19_782), "2024-02-29"),
            (
                ColumnType::Date,
                Datum::Int(i64::MAX),
                "a date is not of the years 0001 to 9999",
            ),
            (timestamp.clone(), Datum::Int(-1), "1969-12-31 23:59:59.999999"),
            (zoned, Datum::Int(86_400_000_001), "1970-01-02 00:00:00.000001+00"),
            (
                ColumnType::Time { precision: 6 },
                Datum::Int(3_661_000_000),
                "01:01:01.000000",
            ),
            (double.clone(), Datum::Float(0.1), "0.1"),
            (double.clone(), Datum::Float(1e300), "1e+300"),
            (double.clone(), Datum::Float(f64::NEG_INFINITY), "-Infinity"),
            (ColumnType::Float { bits: 32 }, Datum::Single(0.1), "0.1"),
            (ColumnType::Boolean, Datum::Bool(true), "Int(1)"),
            (text.clone(), Datum::Point(1.5, -2.0), "(1.5,-2)"),
            (text.clone(), Datum::Point(1e15, f64::NAN), "(1e+15,NaN)"),
            (text.clone(), Datum::Int(7), "7"),
            (text, Datum::Doubled(b"it''s ''"), "it's '"),
            (ColumnType::Binary { length: None }, Datum::Text(br"\x00ff"), "00ff"),
            (timestamp, Datum::Text(b"infinity"), "infinity"),
            (ColumnType::Boolean, Datum::Float(1.0), "1"),
        ] {
            assert_eq!(value(kind.clone(), datum), expected, "{kind:?} {datum:?}");
        }
        let binary = value(ColumnType::Binary { length: None }, Datum::Text(br"a\000"));
        assert!(binary.contains("bytea_output"), "{binary}");
    }
}
