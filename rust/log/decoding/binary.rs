//! Values in the binary form that pgoutput gives them in on demand: what a type's send function makes of them (PostgreSQL's
//! `*send` functions). It costs the server less than their text, is shorter, and is read quicker.
//!
//! A SELECT gives texts, and a value must be the same from both: what is made of the binary form here are the words that
//! the type's output function has for it, under the settings that every session has. Only types whose numbers are the
//! same on every server are known, and of these the usual ones.

mod numeric;
#[cfg(test)]
pub(super) mod tests;

use crate::catalog::ColumnType;
use crate::log::decoding::binary::numeric::Numeric;
use crate::log::decoding::words::Words;
use crate::row::value::{Image, Value, ValueBuffer};

/// The binary form of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A byte, 0 or 1.
    Boolean,
    /// Two, four or eight bytes with a sign.
    Integer,
    /// Four bytes without one.
    Unsigned,
    /// Four bytes, IEEE 754.
    Single,
    /// Eight bytes, IEEE 754.
    Double,
    /// Digits to the base of 10,000.
    Numeric,
    /// The bytes themselves.
    Bytes,
    /// The characters, in the client's encoding.
    Text,
    /// A version, and the characters.
    VersionedText,
    /// Four bytes: days since 2000-01-01.
    Date,
    /// Eight bytes: microseconds since midnight.
    Time,
    /// Eight bytes: microseconds since 2000-01-01.
    Timestamp,
    /// The same, of an instant.
    Instant,
    /// Sixteen bytes.
    Uuid,
}

const MALFORMED: &str = "it is not in the binary form of its type";

impl Form {
    /// The form of a type by its number (`pg_type.dat`); `None` for one that is not known here.
    pub(super) fn of_type(number: u32) -> Option<Self> {
        Some(match number {
            16 => Form::Boolean,
            // int8, int2, int4
            20 | 21 | 23 => Form::Integer,
            // oid
            26 => Form::Unsigned,
            700 => Form::Single,
            701 => Form::Double,
            1700 => Form::Numeric,
            // bytea
            17 => Form::Bytes,
            // name, text, json, bpchar, varchar
            19 | 25 | 114 | 1042 | 1043 => Form::Text,
            // jsonb
            3802 => Form::VersionedText,
            1082 => Form::Date,
            1083 => Form::Time,
            1114 => Form::Timestamp,
            1184 => Form::Instant,
            2950 => Form::Uuid,
            _ => return None,
        })
    }

    /// Whether values of this form are those of a column as the dictionary has it. They are not where a column's type was
    /// altered since: of such a value the text is wanted.
    pub(super) fn fits(self, kind: &ColumnType) -> bool {
        match self {
            Form::Boolean => matches!(kind, ColumnType::Boolean),
            Form::Integer | Form::Unsigned | Form::Single | Form::Double | Form::Numeric => matches!(
                kind,
                ColumnType::Integer { .. } | ColumnType::Decimal { .. } | ColumnType::Float { .. }
            ),
            Form::Bytes => matches!(kind, ColumnType::Binary { .. }),
            Form::Text | Form::VersionedText | Form::Uuid => {
                matches!(kind, ColumnType::Text { .. } | ColumnType::Shown { .. })
            }
            Form::Date => matches!(kind, ColumnType::Date),
            Form::Time => matches!(kind, ColumnType::Time { .. }),
            Form::Timestamp => matches!(kind, ColumnType::Timestamp { .. }),
            Form::Instant => matches!(kind, ColumnType::TimestampZoned { .. }),
        }
    }

    /// Puts a value into an image, into a column that the form fits.
    ///
    /// # Errors
    /// What of it is not as the form has it.
    #[inline]
    pub(super) fn put(
        self,
        values: &mut ValueBuffer,
        image: Image,
        column: usize,
        bytes: &[u8],
    ) -> Result<(), &'static str> {
        let mut words = Words::default();
        let value = match self {
            Form::Numeric => {
                let numeric = Numeric::read(bytes).ok_or(MALFORMED)?;
                values.set_number(image, column, |out| numeric.push(out));
                return Ok(());
            }
            Form::Boolean => match bytes {
                [0] => Value::Int(0),
                [1] => Value::Int(1),
                _ => return Err(MALFORMED),
            },
            Form::Integer => Value::Int(match *bytes {
                [a, b] => i16::from_be_bytes([a, b]).into(),
                [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
                _ => i64::from_be_bytes(exactly(bytes)?),
            }),
            Form::Unsigned => Value::Int(u32::from_be_bytes(exactly(bytes)?).into()),
            Form::Single => Value::Number(words.float(f32::from_be_bytes(exactly(bytes)?))),
            Form::Double => Value::Number(words.float(f64::from_be_bytes(exactly(bytes)?))),
            Form::Bytes => Value::Bytes(bytes),
            Form::Text | Form::VersionedText => Value::Text(self.text(bytes)?),
            Form::Date => Value::Date(words.date(i32::from_be_bytes(exactly(bytes)?))),
            Form::Time => Value::Time(words.time(i64::from_be_bytes(exactly(bytes)?)).ok_or(MALFORMED)?),
            Form::Timestamp => Value::Timestamp(words.timestamp(i64::from_be_bytes(exactly(bytes)?), b"")),
            Form::Instant => Value::Timestamp(words.timestamp(i64::from_be_bytes(exactly(bytes)?), b"+00")),
            Form::Uuid => Value::Text(words.uuid(exactly(bytes)?)),
        };
        values.set(image, column, value);
        Ok(())
    }

    /// The characters of a value.
    ///
    /// # Errors
    /// It has none in this form.
    pub(super) fn text(self, bytes: &[u8]) -> Result<&[u8], &'static str> {
        match (self, bytes) {
            (Form::Text, text) | (Form::VersionedText, [1, text @ ..]) => Ok(text),
            _ => Err(MALFORMED),
        }
    }
}

fn exactly<const BYTES: usize>(bytes: &[u8]) -> Result<[u8; BYTES], &'static str> {
    bytes.try_into().map_err(|_| MALFORMED)
}
