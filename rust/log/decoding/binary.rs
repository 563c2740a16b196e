//! Values in the binary form that pgoutput gives them in on demand: what a type's send function makes of them (PostgreSQL's
//! `*send` functions). It costs the server less than their text, is shorter, and is read quicker.
//!
//! A SELECT gives texts, and a value must be the same from both: what is made of the binary form here are the words that
//! the type's output function has for it, under the settings that every session has. Only types whose numbers are the
//! same on every server are known, and of these the usual ones.

use std::io::Write;

use crate::catalog::ColumnType;
use crate::log::decoding::values::civil;
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
            Form::Time => Value::Time(words.time(i64::from_be_bytes(exactly(bytes)?))?),
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

/// `numeric` as `numeric_send` writes it: how many digits, the weight of the first one, sign, digits behind the point that
/// are shown, the digits.
struct Numeric<'a> {
    weight: i16,
    sign: u16,
    scale: u16,
    digits: &'a [u8],
}

const BASE: u16 = 10_000;
const NEGATIVE: u16 = 0x4000;

impl<'a> Numeric<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, digits) = bytes.split_first_chunk::<8>()?;
        let [count, weight, sign, scale] = [0, 2, 4, 6].map(|at| u16::from_be_bytes([head[at], head[at + 1]]));
        let numeric = Numeric {
            weight: weight as i16,
            sign,
            scale,
            digits,
        };
        let known = matches!(sign, 0 | NEGATIVE) || (numeric.special().is_some() && count == 0);
        // Behind the point there are 16,383 digits at most (the manual).
        let fits = digits.len() == 2 * usize::from(count) && scale < 0x4000;
        let is_digit = |digit: &[u8]| u16::from_be_bytes([digit[0], digit[1]]) < BASE;
        (known && fits && digits.chunks_exact(2).all(is_digit)).then_some(numeric)
    }

    fn special(&self) -> Option<&'static [u8]> {
        Some(match self.sign {
            0xC000 => b"NaN",
            0xD000 => b"Infinity",
            0xF000 => b"-Infinity",
            _ => return None,
        })
    }

    /// A digit by its weight; those that are not there are 0.
    fn digit(&self, weight: i32) -> u16 {
        let at = usize::try_from(i32::from(self.weight) - weight).ok();
        let digit = at.and_then(|at| self.digits.get(2 * at..2 * at + 2));
        digit.map_or(0, |digit| u16::from_be_bytes([digit[0], digit[1]]))
    }

    fn push(&self, out: &mut Vec<u8>) {
        if let Some(special) = self.special() {
            out.extend_from_slice(special);
            return;
        }
        if self.sign == NEGATIVE {
            out.push(b'-');
        }
        let weight = i32::from(self.weight).max(0);
        let first = four(self.digit(weight));
        let zeros = first.iter().take(3).take_while(|digit| **digit == b'0').count();
        out.extend_from_slice(&first[zeros..]);
        for weight in (0..weight).rev() {
            out.extend_from_slice(&four(self.digit(weight)));
        }
        let mut left = usize::from(self.scale);
        if left > 0 {
            out.push(b'.');
        }
        let mut weight = -1;
        while left > 0 {
            let shown = left.min(4);
            out.extend_from_slice(&four(self.digit(weight))[..shown]);
            left -= shown;
            weight -= 1;
        }
    }
}

/// Two decimal digits of a number below 100.
fn two(number: u16) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// Four decimal digits of a number below 10,000.
fn four(number: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (two(number / 100), two(number % 100));
    [a, b, c, d]
}

/// Room for the words of a value that is not long.
struct Words {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Words {
    fn default() -> Self {
        Words {
            bytes: [0; 64],
            length: 0,
        }
    }
}

const DAY: i64 = 86_400_000_000;

impl Words {
    fn push(&mut self, word: &[u8]) {
        // The longest, a time of a year with six digits before Christ, has half of it.
        if let Some(room) = self.bytes.get_mut(self.length..self.length + word.len()) {
            room.copy_from_slice(word);
            self.length += word.len();
        }
    }

    fn done(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The shortest digits that stand for it.
    fn float(&mut self, value: impl Into<f64> + std::fmt::Debug + Copy) -> &[u8] {
        let wide: f64 = value.into();
        if wide.is_nan() {
            self.push(b"NaN");
        } else if wide.is_infinite() {
            self.push(if wide > 0.0 { b"Infinity" } else { b"-Infinity" });
        } else {
            let mut rest = &mut self.bytes[..];
            let room = rest.len();
            // Its digits, of which there are 17 at most, and an exponent.
            let _ = write!(rest, "{value:?}");
            self.length = room - rest.len();
        }
        self.done()
    }

    fn date(&mut self, days: i32) -> &[u8] {
        match days {
            i32::MIN => self.push(b"-infinity"),
            i32::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(days.into());
                if is_before_christ {
                    self.push(b" BC");
                }
            }
        }
        self.done()
    }

    /// A time of day; it may be 24:00:00.
    fn time(&mut self, micros: i64) -> Result<&[u8], &'static str> {
        if !(0..=DAY).contains(&micros) {
            return Err(MALFORMED);
        }
        self.of_day(micros);
        Ok(self.done())
    }

    fn timestamp(&mut self, micros: i64, zone: &[u8]) -> &[u8] {
        match micros {
            i64::MIN => self.push(b"-infinity"),
            i64::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(micros.div_euclid(DAY));
                self.push(b" ");
                self.of_day(micros.rem_euclid(DAY));
                self.push(zone);
                if is_before_christ {
                    self.push(b" BC");
                }
            }
        }
        self.done()
    }

    /// A day since 2000-01-01; whether its year is before Christ.
    fn day(&mut self, days: i64) -> bool {
        let (year, month, day) = civil(days + 10_957);
        // There is no year 0.
        let shown = if year > 0 { year } else { 1 - year };
        if shown < 10_000 {
            self.push(&four(shown as u16));
        } else {
            let (thousands, rest) = (shown / 10_000, shown % 10_000);
            let digits = four((thousands % 10_000) as u16);
            let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
            self.push(&digits[zeros..]);
            self.push(&four(rest as u16));
        }
        for part in [month, day] {
            self.push(b"-");
            self.push(&two(part as u16));
        }
        year <= 0
    }

    fn of_day(&mut self, micros: i64) {
        let (seconds, micros) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
        for (mark, part) in [
            (&b""[..], seconds / 3600),
            (b":", seconds / 60 % 60),
            (b":", seconds % 60),
        ] {
            self.push(mark);
            self.push(&two(part as u16));
        }
        if micros > 0 {
            self.push(b".");
            self.push(&four((micros / 100) as u16));
            self.push(&two((micros % 100) as u16));
            while self.bytes[self.length - 1] == b'0' {
                self.length -= 1;
            }
        }
    }

    fn uuid(&mut self, bytes: [u8; 16]) -> &[u8] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for (at, byte) in bytes.into_iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                self.push(b"-");
            }
            self.push(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        self.done()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Types, what their send functions make of a value, and its words: of a server, but for the marks of exponents.
    pub(in crate::log::decoding) const SENT: &[(u32, &str, &str)] = &[
        (1700, "0000000000000000", "0"),
        (1700, "0000000000000002", "0.00"),
        (1700, "0001ffff400000011388", "-0.5"),
        (1700, "00010000000000000001", "1"),
        (1700, "00010001000000000001", "10000"),
        (1700, "0003000140000004000100000001", "-10000.0001"),
        (1700, "0002000100000000270f270f", "99999999"),
        (1700, "0001fffb000000140001", "0.00000000000000000001"),
        (1700, "0006000200000009000109291a852694153803e8", "123456789.987654321"),
        (1700, "00010007000000000064", "1000000000000000000000000000000"),
        (1700, "0001ffff000000040001", "0.0001"),
        (1700, "0001ffff000000050001", "0.00010"),
        (
            1700,
            "000600040000000104d2162e23340d801ed21388",
            "12345678901234567890.5",
        ),
        (1700, "00000000c0000000", "NaN"),
        (1700, "00000000d0000020", "Infinity"),
        (1700, "00000000f0000020", "-Infinity"),
        (1700, "000200000000000300640064", "100.010"),
        (1700, "0002000000000004270f270f", "9999.9999"),
        (1700, "0002000040000002004f076c", "-79.19"),
        (1700, "0001ffff0000000803e8", "0.10000000"),
        (1700, "00010003000000001388", "5000000000000000"),
        (1082, "00000000", "2000-01-01"),
        (1082, "ffffffff", "1999-12-31"),
        (1082, "fff4dbf9", "0001-01-01"),
        (1082, "fff4dbf8", "0001-12-31 BC"),
        (1082, "ffda97cd", "4713-01-01 BC"),
        (1082, "002c95d3", "9999-12-31"),
        (1082, "002c95d4", "10000-01-01"),
        (1082, "7fda970c", "5874897-12-31"),
        (1082, "7fffffff", "infinity"),
        (1082, "80000000", "-infinity"),
        (1082, "00002279", "2024-02-29"),
        (1082, "fffdacc0", "1582-10-15"),
        (1083, "0000000000000000", "00:00:00"),
        (1083, "000000141dd76000", "24:00:00"),
        (1083, "000000141dd75fff", "23:59:59.999999"),
        (1083, "0000000a7a3d2320", "12:30:00.5"),
        (1083, "00000000dde878ca", "01:02:03.00001"),
        (1114, "0000000000000000", "2000-01-01 00:00:00"),
        (1114, "ffffffffffffffff", "1999-12-31 23:59:59.999999"),
        (1114, "ff1af9e8fb4856a0", "0044-03-15 12:00:00.1 BC"),
        (1114, "7fffff5bb3b29fff", "294276-12-31 23:59:59.999999"),
        (1114, "7fffffffffffffff", "infinity"),
        (1114, "8000000000000000", "-infinity"),
        (1114, "0002b583417262e0", "2024-02-29 12:34:56.78"),
        (1114, "fd0f7fbdaf17e000", "4713-01-01 00:00:00 BC"),
        (1184, "0000000000000000", "2000-01-01 00:00:00+00"),
        (1184, "ffffffffffffffff", "1999-12-31 23:59:59.999999+00"),
        (1184, "7fffff5bb3b29fff", "294276-12-31 23:59:59.999999+00"),
        (1184, "0002b583417262e0", "2024-02-29 12:34:56.78+00"),
        (1184, "ff1af9e8fb4856a0", "0044-03-15 12:00:00.1+00 BC"),
        (1184, "7fffffffffffffff", "infinity"),
        (1184, "8000000000000000", "-infinity"),
        (1184, "fd0f7fbdaf17e000", "4713-01-01 00:00:00+00 BC"),
        (
            2950,
            "00112233445566778899aabbccddeeff",
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
        (3802, "017b2261223a205b315d7d", "{\"a\": [1]}"),
        (16, "01", "1"),
        (20, "8000000000000000", "-9223372036854775808"),
        (23, "fffffff9", "-7"),
        (21, "8000", "-32768"),
        (26, "ffffffff", "4294967295"),
        (701, "3fb999999999999a", "0.1"),
        (701, "7e37e43c8800759c", "1e300"),
        (701, "fff0000000000000", "-Infinity"),
        (701, "7ff8000000000000", "NaN"),
        (701, "8000000000000000", "-0.0"),
        (700, "3dcccccd", "0.1"),
        (700, "7f800000", "Infinity"),
        (25, "6974277320616c6c", "it's all"),
        (25, "", ""),
        (17, "00ff27", "[0, 255, 39]"),
    ];

    pub(in crate::log::decoding) fn bytes(digits: &str) -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    fn words(number: u32, bytes: &[u8]) -> Result<String, &'static str> {
        let mut values = ValueBuffer::default();
        let image = values.begin(1);
        Form::of_type(number).unwrap().put(&mut values, image, 0, bytes)?;
        Ok(match values.get(image, 0) {
            Value::Number(text)
            | Value::Text(text)
            | Value::Date(text)
            | Value::Time(text)
            | Value::Timestamp(text) => String::from_utf8(text.to_vec()).unwrap(),
            Value::Int(value) => value.to_string(),
            Value::Bytes(bytes) => format!("{bytes:?}"),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn values_have_the_words_of_the_servers_output_functions() {
        for (number, sent, expected) in SENT {
            assert_eq!(
                words(*number, &bytes(sent)).as_deref(),
                Ok(*expected),
                "{number} {sent}"
            );
        }
    }

    #[test]
    fn every_day_has_its_date() {
        let mut expected = (1, 1, 1);
        // From 0001-01-01 to 9999-12-31.
        for days in -730_119..=2_921_939i32 {
            let (year, month, day) = expected;
            let text = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(Words::default().date(days), text.as_bytes(), "{days}");
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i32::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    #[test]
    fn what_is_not_in_the_form_of_its_type_is_an_error() {
        for (number, wrong) in [
            (16, "02"),
            (16, ""),
            (16, "0100"),
            (20, "000000"),
            (20, "000000000000000000"),
            (26, "00000000000000"),
            (700, "0000000000000000"),
            (701, "00000000"),
            (1082, "0000"),
            (1083, "000000141dd76001"),
            (1083, "ffffffffffffffff"),
            (1114, "00000000"),
            (2950, "0011"),
            (3802, "02"),
            (3802, ""),
            // A digit less, more, too large; an unknown sign; a special number with digits; too many digits behind the point.
            (1700, "0001000000000000"),
            (1700, "000000000000000000"),
            (1700, "00000000000000000001"),
            (1700, "00010000000000002710"),
            (1700, "00010000800000000001"),
            (1700, "00010000c00000000001"),
            (1700, "00010000000040000001"),
            (1700, "00"),
        ] {
            assert_eq!(words(number, &bytes(wrong)), Err(MALFORMED), "{number} {wrong}");
        }
    }

    #[test]
    fn a_form_fits_columns_of_its_type_alone() {
        let text = ColumnType::Text {
            length: None,
            padded: false,
        };
        let number = ColumnType::Integer { bits: 32 };
        let fits = |oid: u32, kind: &ColumnType| Form::of_type(oid).unwrap().fits(kind);
        assert!(fits(23, &number) && fits(1700, &number) && fits(25, &text) && fits(2950, &text));
        // Columns that were of another type when the row was written.
        assert!(!fits(23, &text) && !fits(25, &number) && !fits(16, &number) && !fits(16, &text));
        assert!(!fits(1082, &ColumnType::Timestamp { precision: 6 }) && !fits(1114, &ColumnType::Date));
        assert!(!fits(1114, &ColumnType::TimestampZoned { precision: 6 }) && !fits(17, &text));
        // An array, a type that a user made.
        assert_eq!([1007, 16_400].map(Form::of_type), [None, None]);
    }
}
