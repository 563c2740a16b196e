//! Values as they are put into a statement.

use crate::error::{ErrorKind, Result};

/// A value that a dialect can write down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Digits with an optional sign and point.
    Number(String),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// True or false.
    Boolean(bool),
    /// `YYYY-MM-DD`.
    Date(String),
    /// `hh:mm:ss[.f{1,9}]`.
    Time(String),
    /// `YYYY-MM-DD hh:mm:ss[.f{1,9}]`.
    Timestamp(String),
    /// `YYYY-MM-DD hh:mm:ss[.f{1,9}] ±hh:mm`.
    TimestampZoned(String),
}

/// Reads `YYYY-MM-DD hh:mm:ss[.f{1,9}]` as microseconds since 1970 in the zone that it was written in.
///
/// # Errors
/// It is not of that form.
pub fn local_micros(text: &[u8]) -> Result<i64> {
    parse(text).ok_or_else(|| {
        ErrorKind::CorruptLog(format!(
            "'{}' is not a time of the form YYYY-MM-DD hh:mm:ss.ffffff",
            String::from_utf8_lossy(text)
        ))
        .into()
    })
}

fn parse(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        text.get(from..to)?.iter().try_fold(0i64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
    let shaped = is(4, b'-') && is(7, b'-') && is(10, b' ') && is(13, b':') && is(16, b':');
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let fraction = match text.get(19..)? {
        [] => 0,
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            let mut micros = 0;
            for place in 0..9 {
                let digit = *digits.get(place).unwrap_or(&b'0');
                if !digit.is_ascii_digit() {
                    return None;
                }
                if place < 6 {
                    micros = micros * 10 + i64::from(digit - b'0');
                }
            }
            micros
        }
        _ => return None,
    };
    let valid =
        shaped && (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
    valid.then(|| ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day that many days from 1970-01-01: year, month, day.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_microsecond() {
        let micros = |text: &str| local_micros(text.as_bytes());
        assert_eq!(micros("1970-01-01 00:00:00").unwrap(), 0);
        assert_eq!(micros("2024-02-29 23:59:59.5").unwrap(), 1_709_251_199_500_000);
        assert_eq!(micros("2026-01-02 10:20:30.123456789").unwrap(), 1_767_349_230_123_456);
        assert_eq!(micros("1969-12-31 23:59:59.999999").unwrap(), -1);
        for wrong in [
            "",
            "2024-02-29",
            "2024-13-01 00:00:00",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00.",
            "2024-01-01 0a:00:00",
        ] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for day in (-800_000..2_000_000).step_by(97) {
            let (year, month, date) = date_of(day);
            assert_eq!(days(year, month, date), day);
        }
        assert_eq!(date_of(19_782), (2024, 2, 29));
    }
}
