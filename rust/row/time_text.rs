//! Dates and times written down: `YYYY-MM-DD`, `hh:mm:ss.f`, with as many digits of the second as are declared.

use crate::dialect::date_of;
use crate::row::time::cut;

/// Appends the day that many days from 1970-01-01.
pub(super) fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = date_of(days);
    let (century, year) = (year.div_euclid(100), year.rem_euclid(100));
    pair(century as u32, out);
    pair(year as u32, out);
    out.push(b'-');
    pair(month as u32, out);
    out.push(b'-');
    pair(day as u32, out);
}

/// Appends a time of day.
pub(super) fn write_time(seconds: u32, nanos: u32, precision: u8, out: &mut Vec<u8>) {
    pair(seconds / 3600, out);
    out.push(b':');
    pair(seconds / 60 % 60, out);
    out.push(b':');
    pair(seconds % 60, out);
    if precision > 0 {
        out.push(b'.');
        let end = out.len() + usize::from(precision.min(9));
        let mut rest = cut(nanos, precision);
        for place in (0..9).map(|place| 10_u32.pow(8 - place)) {
            if out.len() < end {
                out.push(b'0' + (rest / place) as u8);
                rest %= place;
            }
        }
    }
}

/// Appends a day, a separator and a time of day, by the seconds since 1970-01-01 00:00:00 on the same clock.
pub(super) fn write_timestamp(seconds: i64, nanos: u32, precision: u8, separator: u8, out: &mut Vec<u8>) {
    write_date(seconds.div_euclid(86_400), out);
    out.push(separator);
    write_time(seconds.rem_euclid(86_400) as u32, nanos, precision, out);
}

fn pair(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::time::DateTime;

    #[test]
    fn what_is_written_reads_as_what_it_was() {
        for (text, precision, expected) in [
            ("0001-01-01 00:00:00", 0, "0001-01-01T00:00:00"),
            ("9999-12-31 23:59:59.999999999", 9, "9999-12-31T23:59:59.999999999"),
            ("1969-12-31 23:59:59.000001", 6, "1969-12-31T23:59:59.000001"),
            ("2024-02-29 07:08:09.1239", 3, "2024-02-29T07:08:09.123"),
            ("2024-02-29 07:08:09.9", 0, "2024-02-29T07:08:09"),
            ("1582-10-10 12:00:00", 2, "1582-10-10T12:00:00.00"),
        ] {
            let at = DateTime::parse(text.as_bytes()).unwrap();
            let mut out = Vec::new();
            write_timestamp(at.local_seconds(), at.nanos, precision, b'T', &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
