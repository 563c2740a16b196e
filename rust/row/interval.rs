//! Spans of time. Flink's sinks hardly take its own INTERVAL types, and the one of days keeps milliseconds only, so a span
//! goes out as text, in one form whatever the driver and the log write:
//! `[-]years-months`, or `[-]days hh:mm:ss[.f]`.

use crate::catalog::IntervalField::{self, Day, Hour, Minute, Month, Second, Year};
use crate::row::convert::{Refusal, quoted};
use crate::row::time::clock;

const NANOS: u64 = 1_000_000_000;

/// A span; its sign stands apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    negative: bool,
    size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Months(u64),
    Time { seconds: u64, nanos: u32 },
}

impl Interval {
    /// Reads `[INTERVAL] [±]'[±]…' [FIELD [TO FIELD]]` or what stands between the quotes alone, which is then in the fields of
    /// the column, `first` to `last`. Fields that SQL would leave out may be there: `3 0:00:00` is three days.
    pub(super) fn parse(text: &[u8], first: IntervalField, last: IntervalField) -> Result<Self, Refusal> {
        read(text, first, last).ok_or_else(|| Refusal::new(format!("{} is not an interval", quoted(text))))
    }

    /// Its text.
    pub(super) fn text(&self) -> String {
        let is_zero = matches!(self.size, Size::Months(0) | Size::Time { seconds: 0, nanos: 0 });
        let sign = if self.negative && !is_zero { "-" } else { "" };
        match self.size {
            Size::Months(months) => format!("{sign}{}-{:02}", months / 12, months % 12),
            Size::Time { seconds, nanos } => {
                format!("{sign}{} {}", seconds / 86_400, clock(seconds % 86_400, nanos))
            }
        }
    }
}

fn read(text: &[u8], first: IntervalField, last: IntervalField) -> Option<Interval> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let Some((head, rest)) = text.split_once('\'') else {
        return body(text, first, last);
    };
    let (written, fields) = rest.split_once('\'')?;
    let head = head.trim();
    let sign = match head.get(..8) {
        Some(word) if word.eq_ignore_ascii_case("INTERVAL") => head[8..].trim(),
        _ => head,
    };
    let (first, last) = match fields.trim() {
        "" => (first, last),
        fields => qualifier(fields)?,
    };
    let mut interval = body(written.trim(), first, last)?;
    match sign {
        "" | "+" => {}
        "-" => interval.negative = !interval.negative,
        _ => return None,
    }
    Some(interval)
}

/// `DAY(2) TO SECOND(6)`
fn qualifier(text: &str) -> Option<(IntervalField, IntervalField)> {
    let mut words = text
        .split_whitespace()
        .map(|word| word.split('(').next().unwrap_or(word).to_ascii_uppercase())
        .filter(|word| !word.is_empty());
    let first = field(&words.next()?)?;
    let last = match words.next().as_deref() {
        None => first,
        Some("TO") => field(&words.next()?)?,
        Some(_) => return None,
    };
    words.next().is_none().then_some((first, last))
}

fn field(word: &str) -> Option<IntervalField> {
    Some(match word {
        "YEAR" => Year,
        "MONTH" => Month,
        "DAY" => Day,
        "HOUR" => Hour,
        "MINUTE" => Minute,
        "SECOND" => Second,
        _ => return None,
    })
}

fn body(text: &str, first: IntervalField, last: IntervalField) -> Option<Interval> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text).trim_start()),
    };
    let size = if first <= Month {
        Size::Months(months(text, first)?)
    } else {
        time(text, first, last)?
    };
    Some(Interval { negative, size })
}

fn months(text: &str, first: IntervalField) -> Option<u64> {
    match text.split_once('-') {
        Some((years, months)) => {
            let months = number(months).filter(|months| *months < 12)?;
            number(years)?.checked_mul(12)?.checked_add(months)
        }
        None if first == Year => number(text)?.checked_mul(12),
        None => number(text),
    }
}

fn time(text: &str, first: IntervalField, last: IntervalField) -> Option<Size> {
    let (days, rest) = match text.split_once(' ') {
        Some((days, rest)) => (number(days)?, rest.trim_start()),
        None if first == Day && !text.contains(':') => (number(text)?, "0"),
        None => (0, text),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    let greatest = match parts.len() {
        1 if first > Day && !text.contains(' ') => first,
        1 | 3 => Hour,
        2 if first >= Minute && last == Second && !text.contains(' ') => Minute,
        2 => Hour,
        _ => return None,
    };
    let mut seconds = days.checked_mul(86_400)?;
    let mut nanos = 0;
    for (place, part) in parts.iter().enumerate() {
        let unit = match (greatest, place) {
            (Hour, 0) => 3600,
            (Hour, 1) | (Minute, 0) => 60,
            _ => 1,
        };
        let whole = match part.split_once('.') {
            Some((whole, fraction)) if unit == 1 => {
                nanos = fraction_nanos(fraction)?;
                whole
            }
            _ => part,
        };
        seconds = seconds.checked_add(number(whole)?.checked_mul(unit)?)?;
    }
    Some(Size::Time { seconds, nanos })
}

/// Digits alone; at most 18 of them.
fn number(text: &str) -> Option<u64> {
    let valid = (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.parse().ok() } else { None }
}

fn fraction_nanos(digits: &str) -> Option<u32> {
    let valid = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let nanos = format!("{digits:0<9}").parse().ok()?;
    (valid && u64::from(nanos) < NANOS).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, first: IntervalField, last: IntervalField) -> String {
        Interval::parse(text.as_bytes(), first, last)
            .unwrap_or_else(|refusal| panic!("{refusal}"))
            .text()
    }

    #[test]
    fn one_span_has_one_text() {
        for (text, first, last, expected) in [
            ("1-2", Year, Month, "1-02"),
            ("+0001-02", Year, Month, "1-02"),
            ("INTERVAL'1-2' YEAR TO MONTH", Year, Month, "1-02"),
            ("INTERVAL '-1-2' YEAR(4) TO MONTH", Year, Month, "-1-02"),
            ("INTERVAL -'1-2' YEAR(4) TO MONTH", Year, Month, "-1-02"),
            ("INTERVAL -'-1-2' YEAR TO MONTH", Year, Month, "1-02"),
            ("5", Year, Year, "5-00"),
            ("5-0", Year, Year, "5-00"),
            ("14", Month, Month, "1-02"),
            ("INTERVAL '14' MONTH(9)", Month, Month, "1-02"),
            ("3", Day, Day, "3 00:00:00"),
            ("3 0:00:00", Day, Day, "3 00:00:00"),
            ("-3 4", Day, Hour, "-3 04:00:00"),
            ("3 04:05", Day, Minute, "3 04:05:00"),
            ("-3 4:05:06.7", Day, Second, "-3 04:05:06.7"),
            (
                "INTERVAL'3 04:05:06.700000' DAY(2) TO SECOND(6)",
                Day,
                Second,
                "3 04:05:06.7",
            ),
            ("4:05:06", Day, Second, "0 04:05:06"),
            ("30", Hour, Hour, "1 06:00:00"),
            ("30:00:00", Hour, Hour, "1 06:00:00"),
            ("4:05", Hour, Minute, "0 04:05:00"),
            ("4:05:06", Hour, Second, "0 04:05:06"),
            ("90", Minute, Minute, "0 01:30:00"),
            ("1:30:00", Minute, Minute, "0 01:30:00"),
            ("5:06.25", Minute, Second, "0 00:05:06.25"),
            ("6.000000001", Second, Second, "0 00:00:06.000000001"),
            ("0:01:06", Second, Second, "0 00:01:06"),
            ("-0", Second, Second, "0 00:00:00"),
            ("-0-0", Year, Month, "0-00"),
        ] {
            assert_eq!(plain(text, first, last), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for (text, first, last) in [
            ("", Year, Month),
            ("1 year 2 mons", Year, Month),
            ("1-2-3", Year, Month),
            ("1-12", Year, Month),
            ("--1", Year, Year),
            ("3 days", Day, Day),
            ("1:2:3:4", Day, Second),
            ("4.5:00", Hour, Minute),
            ("1.0000000001", Second, Second),
            ("INTERVAL'1' FORTNIGHT", Day, Day),
            ("INTERVAL'1' DAY TO", Day, Day),
            ("INTERVAL*'1' DAY", Day, Day),
            ("9999999999999999999", Month, Month),
        ] {
            assert!(Interval::parse(text.as_bytes(), first, last).is_err(), "{text}");
        }
    }
}
