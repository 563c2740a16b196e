//! Dates and times of day, in the proleptic Gregorian calendar that Flink and ISO use: no Julian days before 1582, no
//! step through a library's local zone. Years 1 to 9999.

use crate::row::convert::{Refusal, quoted};
use crate::row::zone::Zone;

/// A day, a time of day, and the offset if one was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// 1 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to the month's length.
    pub day: u8,
    /// Seconds since midnight.
    pub second_of_day: u32,
    /// Nanoseconds beyond them.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset: Option<i32>,
}

impl DateTime {
    /// Reads `YYYY-MM-DD[ hh:mm[:ss[.f{0,9}]][ ±hh[:mm[:ss]]]]`; a `T` may stand between day and time, a `Z` for the
    /// offset.
    ///
    /// # Errors
    /// Another form, or a day or time that does not exist.
    #[inline]
    pub(super) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        match Self::parse_usual(text) {
            Some(usual) => Ok(usual),
            None => Self::parse_any(text),
        }
    }

    #[cold]
    fn parse_any(text: &[u8]) -> Result<Self, Refusal> {
        let refused = |why: &str| Refusal::new(format!("{} {why}", quoted(text)));
        let trimmed = text.trim_ascii();
        if trimmed.ends_with(b" BC") {
            return Err(refused("is not a day of the years 0001 to 9999"));
        }
        let Some((&[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1], rest)) = trimmed.split_first_chunk() else {
            return Err(refused("is not a date"));
        };
        let (Some(year), Some(month), Some(day)) = (number([y0, y1, y2, y3]), number([m0, m1]), number([d0, d1]))
        else {
            return Err(refused("is not a date"));
        };
        if year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_of_month(year, month) {
            return Err(refused("is not a day of the years 0001 to 9999"));
        }
        let (second_of_day, nanos, offset) = match rest {
            [] => (0, 0, None),
            [b' ' | b'T', rest @ ..] => {
                let (second_of_day, nanos, rest) = time(rest).ok_or_else(|| refused("has no valid time of day"))?;
                (
                    second_of_day,
                    nanos,
                    offset(rest).ok_or_else(|| refused("has no valid offset"))?,
                )
            }
            _ => return Err(refused("is not a date")),
        };
        Ok(DateTime {
            year: year as u16,
            month: month as u8,
            day: day as u8,
            second_of_day,
            nanos,
            offset,
        })
    }

    /// As most drivers and logs write it: `YYYY-MM-DD`, or `YYYY-MM-DD hh:mm:ss[.f{0,9}]` without an offset. `None` for
    /// all else.
    #[inline]
    fn parse_usual(text: &[u8]) -> Option<Self> {
        let (&year_month, rest) = text.split_first_chunk::<8>()?;
        let [century, _, year, _, _, month, ..] = Form::YEAR_MONTH.pairs(year_month)?.map(u32::from);
        let year = 100 * century + year;
        let (day, second_of_day, nanos) = match rest {
            &[d0, d1] => (number([d0, d1])?, 0, 0),
            _ => {
                let (&day_minute, rest) = rest.split_first_chunk::<8>()?;
                let [day, _, _, hour, _, _, minute, _] = Form::DAY_MINUTE.pairs(day_minute)?.map(u32::from);
                let (&[b':', s0, s1], rest) = rest.split_first_chunk()? else {
                    return None;
                };
                let nanos = match rest {
                    [] => 0,
                    [b'.', rest @ ..] => match fraction(rest)? {
                        (nanos, []) => nanos,
                        _ => return None,
                    },
                    _ => return None,
                };
                let second = number([s0, s1])?;
                if hour > 23 || minute > 59 || second > 59 {
                    return None;
                }
                (day, hour * 3600 + minute * 60 + second, nanos)
            }
        };
        let exists = year > 0 && (1..=12).contains(&month) && day > 0 && day <= days_of_month(year, month);
        exists.then_some(DateTime {
            year: year as u16,
            month: month as u8,
            day: day as u8,
            second_of_day,
            nanos,
            offset: None,
        })
    }

    /// Days since 1970-01-01.
    #[inline]
    pub(super) fn days(&self) -> i32 {
        // Days of a year that begins in March, so that the leap day is its last (H. Hinnant, "days_from_civil").
        let year = i32::from(self.year) - i32::from(self.month <= 2);
        let month = (i32::from(self.month) + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + i32::from(self.day) - 1;
        365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
    }

    /// Seconds since 1970-01-01 00:00:00 on the same clock.
    #[inline]
    pub(super) fn local_seconds(&self) -> i64 {
        i64::from(self.days()) * 86_400 + i64::from(self.second_of_day)
    }

    /// Seconds since the epoch; a time without an offset is one of the zone.
    pub(super) fn epoch_seconds(&self, zone: &Zone) -> i64 {
        let offset = self.offset.unwrap_or_else(|| zone.offset_seconds(self));
        self.local_seconds() - i64::from(offset)
    }
}

/// A time of day alone: seconds since midnight and nanoseconds.
pub(super) fn time_of_day(text: &[u8]) -> Result<(u32, u32), Refusal> {
    match time(text.trim_ascii()) {
        Some((seconds, nanos, [])) => Ok((seconds, nanos)),
        _ => Err(Refusal::new(format!("{} is not a time of day", quoted(text)))),
    }
}

/// A time of day with its offset, in the one text that it has downstream: `hh:mm:ss[.f] ±hh:mm`, no zeros at the end of
/// the fraction; drivers and logs write the same time with more digits or fewer.
pub(super) fn zoned_time(text: &[u8]) -> Result<String, Refusal> {
    let parsed = time(text.trim_ascii()).and_then(|(seconds, nanos, rest)| Some((seconds, nanos, offset(rest)??)));
    let Some((seconds, nanos, offset)) = parsed else {
        return Err(Refusal::new(format!(
            "{} is not a time of day with its offset",
            quoted(text)
        )));
    };
    let (sign, offset) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    let seconds_too = match offset % 60 {
        0 => String::new(),
        odd => format!(":{odd:02}"),
    };
    Ok(format!(
        "{} {sign}{:02}:{:02}{seconds_too}",
        clock(seconds.into(), nanos),
        offset / 3600,
        offset / 60 % 60
    ))
}

/// `hh:mm:ss[.f]`, no zeros at the end of the fraction.
pub(super) fn clock(seconds: u64, nanos: u32) -> String {
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if nanos > 0 {
        text.push_str(format!(".{nanos:09}").trim_end_matches('0'));
    }
    text
}

/// Nanoseconds cut to `precision` digits. Digits beyond the declared precision are left out, as a declaration of fewer
/// digits asks for; they are not rounded, so a time never moves into the next second or day.
#[inline]
pub(super) fn cut(nanos: u32, precision: u8) -> u32 {
    match precision {
        0..9 => nanos - nanos % 10_u32.pow(9 - u32::from(precision)),
        _ => nanos,
    }
}

/// Reads `hh:mm[:ss[.f{0,9}]]` and returns what follows it.
fn time(text: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (&[h0, h1, b':', m0, m1], mut rest) = text.split_first_chunk()? else {
        return None;
    };
    let (hour, minute) = (number([h0, h1])?, number([m0, m1])?);
    let mut second = 0;
    let mut nanos = 0;
    if let [b':', tens, ones, after @ ..] = rest {
        second = number([*tens, *ones])?;
        rest = after;
        if let [b'.', after @ ..] = rest {
            (nanos, rest) = fraction(after)?;
        }
    }
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then_some((hour * 3600 + minute * 60 + second, nanos, rest))
}

/// Reads up to nine digits behind a point as nanoseconds, and returns what follows them.
#[inline]
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    // As most databases write it.
    if let Some((&micros, rest)) = text.split_first_chunk::<6>()
        && !rest.first().is_some_and(u8::is_ascii_digit)
        && let Some(micros) = number(micros)
    {
        return Some((micros * 1_000, rest));
    }
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = text.split_at(count);
    let missing = 9_u32.checked_sub(count as u32)?;
    Some((digits(fraction)? * 10_u32.pow(missing), rest))
}

/// Reads what may follow a time: nothing, or `±hh[[:]mm[:ss]]`, with or without a blank before it, or `Z`.
fn offset(text: &[u8]) -> Option<Option<i32>> {
    match text.trim_ascii_start() {
        [] => Some(None),
        text => offset_seconds(text).map(Some),
    }
}

/// Reads `Z` or `±h`, `±hh`, `±hhmm`, `±hh:mm`, `±hh:mm:ss` as seconds east of UTC; at most 18 hours, as Java has it.
pub(super) fn offset_seconds(text: &[u8]) -> Option<i32> {
    let (sign, text) = match text {
        b"Z" | b"z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes, seconds) = match text {
        [_] | [_, _] => (text, &b"0"[..], &b"0"[..]),
        [_, _, _, _] if text[1] != b':' => (&text[..2], &text[2..], &b"0"[..]),
        [_, b':', _, _] => (&text[..1], &text[2..], &b"0"[..]),
        [_, _, b':', _, _] => (&text[..2], &text[3..], &b"0"[..]),
        [_, _, b':', _, _, b':', _, _] => (&text[..2], &text[3..5], &text[6..]),
        _ => return None,
    };
    let (hours, minutes, seconds) = (digits(hours)?, digits(minutes)?, digits(seconds)?);
    let total = (hours * 3600 + minutes * 60 + seconds) as i32;
    (minutes < 60 && seconds < 60 && total <= 18 * 3600).then_some(sign * total)
}

/// Eight characters of which some are digits and the others separators.
struct Form {
    text: u64,
    separators: u64,
}

impl Form {
    const YEAR_MONTH: Form = Form::new(b"0000-00-");
    const DAY_MINUTE: Form = Form::new(b"00 00:00");

    /// Zeros stand for digits.
    const fn new(text: &[u8; 8]) -> Self {
        let (mut separators, mut at) = (0, 0);
        while at < 8 {
            if text[at] != b'0' {
                separators |= 0xff << (8 * at);
            }
            at += 1;
        }
        Form {
            text: u64::from_le_bytes(*text),
            separators,
        }
    }

    /// In each byte the number that its digit and the next one are, all eight at once: rows are full of times.
    #[inline]
    fn pairs(&self, text: [u8; 8]) -> Option<[u8; 8]> {
        const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        const TO_THE_HIGH_BIT: u64 = 0x7676_7676_7676_7676;
        let digits = u64::from_le_bytes(text) ^ self.text;
        let above_nine = (((digits & LOW_BITS) + TO_THE_HIGH_BIT) | digits) & !LOW_BITS;
        let valid = above_nine | (digits & self.separators) == 0;
        // Nine times ten and nine fits a byte: none carries into the next.
        valid.then(|| (digits * 10 + (digits >> 8)).to_le_bytes())
    }
}

/// So many digits, at most nine.
#[inline]
fn number<const DIGITS: usize>(text: [u8; DIGITS]) -> Option<u32> {
    let (mut value, mut valid) = (0, true);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        valid &= digit <= 9;
        value = value * 10 + u32::from(digit);
    }
    valid.then_some(value)
}

/// At most nine digits; none are 0.
fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
    })
}

fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> DateTime {
        DateTime::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    #[test]
    fn days_are_those_of_the_proleptic_gregorian_calendar() {
        // As java.time.LocalDate.toEpochDay gives them.
        for (text, days) in [
            ("0001-01-01", -719_162),
            ("1582-10-04", -141_438),
            ("1582-10-10", -141_432),
            ("1582-10-15", -141_427),
            ("1900-02-28", -25_509),
            ("1900-03-01", -25_508),
            ("1969-12-31", -1),
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(parse(text).days(), days, "{text}");
        }
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let mut before = parse("0001-01-01").days() - 1;
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=days_of_month(year, month) {
                    let days = DateTime {
                        year: year as u16,
                        month: month as u8,
                        day: day as u8,
                        second_of_day: 0,
                        nanos: 0,
                        offset: None,
                    }
                    .days();
                    assert_eq!(days, before + 1);
                    before = days;
                }
            }
        }
        assert_eq!(before, 2_932_896);
    }

    #[test]
    fn times_have_up_to_nine_digits_and_perhaps_an_offset() {
        let at = |text: &str| {
            let at = parse(text);
            (at.second_of_day, at.nanos, at.offset)
        };
        assert_eq!(at("2026-01-02"), (0, 0, None));
        assert_eq!(at("2026-01-02 10:20"), (37_200, 0, None));
        assert_eq!(at("2026-01-02 10:20:30"), (37_230, 0, None));
        assert_eq!(at("2026-01-02T10:20:30.1"), (37_230, 100_000_000, None));
        assert_eq!(at("2026-01-02 10:20:30.123456789"), (37_230, 123_456_789, None));
        assert_eq!(at("2026-01-02 10:20:30."), (37_230, 0, None));
        assert_eq!(at(" 2026-01-02 10:20:30"), (37_230, 0, None));
        assert_eq!(
            at("2026-01-02 10:20:30.123456 +08:00"),
            (37_230, 123_456_000, Some(28_800))
        );
        assert_eq!(at("2026-01-02 10:20:30-11:30"), (37_230, 0, Some(-41_400)));
        assert_eq!(at("2026-01-02 10:20:30+00"), (37_230, 0, Some(0)));
        assert_eq!(at("2026-01-02 10:20:30Z"), (37_230, 0, Some(0)));
        assert_eq!(at("1900-01-01 00:00:00+08:05:43"), (0, 0, Some(29_143)));
    }

    #[test]
    fn the_usual_form_is_read_as_any_other() {
        let seed = 20_261_130;
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut usual, mut unusual) = (0, 0);
        for _ in 0..200_000 {
            let mut number = |least: u32, most: u32| random.u32(least..=most);
            let mut text = format!("{:04}-{:02}-{:02}", number(0, 9999), number(0, 13), number(0, 32));
            if number(0, 4) > 0 {
                text += &format!(" {:02}:{:02}:{:02}", number(0, 24), number(0, 60), number(0, 60));
                let digits = number(0, 10) as usize;
                if digits > 0 {
                    text += &format!(".{:010}", number(0, u32::MAX))[..=digits];
                }
            }
            let mut text = text.into_bytes();
            if number(0, 3) == 0 {
                let at = random.usize(..text.len());
                text[at] = random.u8(..);
            }
            let any = DateTime::parse_any(&text).ok();
            if let Some(read) = DateTime::parse_usual(&text) {
                assert_eq!(Some(read), any, "seed {seed}: {}", text.escape_ascii());
                usual += 1;
            }
            unusual += u32::from(any.is_none());
            assert_eq!(DateTime::parse(&text).ok(), any, "seed {seed}: {}", text.escape_ascii());
        }
        assert!(usual > 50_000 && unusual > 20_000, "{usual} {unusual}");
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026-1-2",
            "0000-01-01",
            "2026-13-01",
            "2026-02-29",
            "1900-02-29",
            "2026-04-31",
            "2026-01-00",
            "10000-01-01",
            "infinity",
            "-infinity",
            "2026-01-02 BC",
            "0044-03-15 12:00:00 BC",
            "2026-01-02 24:00:00",
            "2026-01-02 10:60:00",
            "2026-01-02 10:20:60",
            "2026-01-02 10:20:30.1234567890",
            "2026/01/02",
            "2026-01-02 10:20:30 +19:00",
            "2026-01-02 10:20:30 Asia/Shanghai",
            "2026-01-02x",
            "+026-01-02",
        ] {
            assert!(DateTime::parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in [
            "",
            "24:00:00",
            "10:20:30+08",
            "1:2:3",
            "10.20.30",
            "10:20:30.1234567890",
        ] {
            assert!(time_of_day(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(time_of_day(b"23:59:59.999").ok(), Some((86_399, 999_000_000)));
    }

    #[test]
    fn a_time_with_its_offset_has_one_text() {
        for (text, expected) in [
            ("10:20:30.120000 +08:00", "10:20:30.12 +08:00"),
            ("10:20:30.12+08", "10:20:30.12 +08:00"),
            ("10:20:30-11:30", "10:20:30 -11:30"),
            ("23:59:59.999999999Z", "23:59:59.999999999 +00:00"),
            ("00:00:00+08:05:43", "00:00:00 +08:05:43"),
        ] {
            assert_eq!(zoned_time(text.as_bytes()).ok().as_deref(), Some(expected), "{text}");
        }
        for text in ["10:20:30", "10:20:30 +19:00", "24:00:00+08:00", "now"] {
            assert!(zoned_time(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn digits_beyond_the_precision_are_cut() {
        assert_eq!(cut(999_999_999, 0), 0);
        assert_eq!(cut(999_999_999, 3), 999_000_000);
        assert_eq!(cut(123_456_789, 8), 123_456_780);
        assert_eq!(cut(123_456_789, 9), 123_456_789);
    }
}
