//! Days and times of a key: days since 1970 in four bytes, nanoseconds of the day in six. Infinity is the first and the
//! last day that these bytes can hold.

use super::take;
use crate::dialect::{date_of, days};

const DAY: i64 = 24 * 3600 * 1_000_000_000;

pub(super) fn push_date(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let day = infinite(text).or_else(|| {
        let (text, era) = Era::of(text);
        parse_date(text, era)
    });
    push_day(day?, out);
    Some(())
}

pub(super) fn push_time(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // The end of a day, which some databases have beside the next day's beginning.
    let nanos = match text {
        b"24:00:00" => DAY,
        _ => parse_time(text)?,
    };
    push_nanos(nanos, out);
    Some(())
}

pub(super) fn push_timestamp(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (day, nanos) = match infinite(text) {
        Some(day) => (day, 0),
        None => {
            let (text, era) = Era::of(text);
            parse_timestamp(text, era)?
        }
    };
    push_day(day, out);
    push_nanos(nanos, out);
    Some(())
}

/// The instant, whatever zone it is written in: `… ±hh[:mm]`.
pub(super) fn push_zoned(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if infinite(text).is_some() {
        return push_timestamp(text, out);
    }
    let (text, era) = Era::of(text);
    let sign = text
        .iter()
        .rposition(|byte| matches!(byte, b'+' | b'-'))
        .filter(|&at| at > 10)?;
    let (local, offset) = text.split_at(sign);
    let offset_minutes = match offset {
        [sign, h1, h2, minutes @ ..] => {
            let minutes = match minutes {
                [] => 0,
                [b':', m1, m2] => number(&[*m1, *m2])?,
                _ => return None,
            };
            let minutes = number(&[*h1, *h2])? * 60 + minutes;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let (day, nanos) = parse_timestamp(local.trim_ascii_end(), era)?;
    let instant = nanos - offset_minutes * 60 * 1_000_000_000;
    push_day(day + instant.div_euclid(DAY), out);
    push_nanos(instant.rem_euclid(DAY), out);
    Some(())
}

pub(super) fn take_date(from: &mut &[u8]) -> Option<String> {
    let day = (u32::from_be_bytes(take(from)?) ^ (1 << 31)) as i32;
    if let Some((text, _)) = INFINITE.iter().find(|(_, infinite)| *infinite == day) {
        return Some((*text).to_owned());
    }
    let (year, month, day) = date_of(i64::from(day));
    let sign = if year < 0 { "-" } else { "" };
    Some(format!("{sign}{:04}-{month:02}-{day:02}", year.abs()))
}

pub(super) fn take_time(from: &mut &[u8]) -> Option<String> {
    let nanos = take::<6>(from)?
        .iter()
        .fold(0i64, |nanos, &byte| (nanos << 8) | i64::from(byte));
    let seconds = nanos / 1_000_000_000;
    let mut out = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if nanos % 1_000_000_000 > 0 {
        out.push('.');
        out.push_str(format!("{:09}", nanos % 1_000_000_000).trim_end_matches('0'));
    }
    Some(out)
}

pub(super) fn take_timestamp(from: &mut &[u8]) -> Option<String> {
    let (date, time) = (take_date(from)?, take_time(from)?);
    Some(match is_infinite(&date) {
        true => date,
        false => format!("{date} {time}"),
    })
}

/// The instant, in UTC.
pub(super) fn take_zoned(from: &mut &[u8]) -> Option<String> {
    let at = take_timestamp(from)?;
    Some(match is_infinite(&at) {
        true => at,
        false => format!("{at} +00:00"),
    })
}

/// What is no day: its text and the day in its place.
const INFINITE: [(&str, i32); 2] = [("-infinity", i32::MIN), ("infinity", i32::MAX)];

fn infinite(text: &[u8]) -> Option<i64> {
    let found = INFINITE.iter().find(|(infinite, _)| infinite.as_bytes() == text);
    found.map(|(_, day)| i64::from(*day))
}

fn is_infinite(text: &str) -> bool {
    infinite(text.as_bytes()).is_some()
}

/// How years are counted.
#[derive(Clone, Copy)]
enum Era {
    /// From the year 0 on, up and down.
    Astronomical,
    /// From the year 1 BC on, which is the year 0, down.
    BeforeChrist,
}

impl Era {
    /// That of a date, and the date without its word for it.
    fn of(text: &[u8]) -> (&[u8], Era) {
        match text.strip_suffix(b" BC") {
            Some(text) => (text, Era::BeforeChrist),
            None => (text, Era::Astronomical),
        }
    }
}

fn push_day(day: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(day as i32 as u32 ^ (1 << 31)).to_be_bytes());
}

fn push_nanos(nanos: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&nanos.to_be_bytes()[2..]);
}

fn parse_timestamp(text: &[u8], era: Era) -> Option<(i64, i64)> {
    let blank = text.iter().position(|&byte| byte == b' ')?;
    Some((parse_date(&text[..blank], era)?, parse_time(&text[blank + 1..])?))
}

/// `[-]Y{4,7}-MM-DD` as days.
fn parse_date(text: &[u8], era: Era) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let year_end = text
        .iter()
        .position(|&byte| byte == b'-')
        .filter(|&end| (4..=7).contains(&end))?;
    let (year, month_day) = text.split_at(year_end);
    let [b'-', m1, m2, b'-', d1, d2] = month_day else {
        return None;
    };
    let (year, month, day) = (number(year)?, number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    let year = match era {
        Era::BeforeChrist => 1 - year,
        Era::Astronomical if negative => -year,
        Era::Astronomical => year,
    };
    let days = days(year, month, day);
    // A day that the calendar does not have comes back as another one.
    ((1..=12).contains(&month) && day > 0 && date_of(days).2 == day).then_some(days)
}

/// `hh:mm:ss[.f{1,9}]` as nanoseconds.
fn parse_time(text: &[u8]) -> Option<i64> {
    let (clock, fraction) = text.split_at_checked(8)?;
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = clock else {
        return None;
    };
    let (hours, minutes, seconds) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    let nanos = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => number(digits)? * 10i64.pow(9 - digits.len() as u32),
        _ => return None,
    };
    (hours < 24 && minutes < 60 && seconds < 60)
        .then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}
