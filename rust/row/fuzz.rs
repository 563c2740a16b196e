//! Damaged values of every type: refused, or what another way of reading them gives.

use crate::catalog::{ColumnType, IntervalField};
use crate::fuzz::Target;
use crate::row::RowKind;
use crate::row::binary_row::BinaryRow;
use crate::row::convert::Conversion;
use crate::row::interval::Interval;
use crate::row::layout::natural;
use crate::row::time::{DateTime, clock, time_of_day, zoned_time};
use crate::row::time_text::write_timestamp;
use crate::row::value::Value;
use crate::row::zone::Zone;
use crate::row::{number, text};

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "number",
        files: &["row/number.rs"],
        corpus: || {
            let texts = [
                "0",
                "-1234.5678",
                "1E+30",
                ".5",
                "12.",
                "9223372036854775807",
                "-00.05e-3",
                "99999999999999999999999999999999999999",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &["-", "+", ".", "e", "E-", "0000000000", "NaN", "Infinity", "\u{663}"],
        read: |bytes| {
            let plain = plain(bytes);
            let mut out = Vec::new();
            let written = number::write_plain(bytes, &mut out).is_ok();
            assert_eq!(written.then(|| String::from_utf8(out).unwrap()), plain);
            let integer = number::integer(bytes, i64::MIN, i64::MAX).ok();
            assert_eq!(integer, plain.as_deref().and_then(|plain| plain.parse().ok()));
            for scale in [0, 2, 18, 38] {
                let decimal = number::decimal(bytes, 38, scale).ok();
                assert_eq!(
                    decimal,
                    plain.as_deref().and_then(|plain| unscaled(plain, scale.into())),
                    "scale {scale}"
                );
            }
            if let (Ok(double), Some(plain)) = (number::double(bytes), &plain) {
                assert_eq!(double.abs(), plain.parse::<f64>().unwrap().abs());
            }
            plain.is_some()
        },
        // An exponent may be written out.
        bytes: 128 << 10,
        ..Target::USUAL
    },
    Target {
        name: "date and time",
        files: &["row/time.rs", "row/time_text.rs", "row/zone.rs"],
        corpus: || {
            let texts = [
                "2024-02-29",
                "1999-12-31 23:59:59",
                "0001-01-01 00:00:00.000001",
                "2024-06-30T12:34:56.789Z",
                "9999-12-31 23:59:59.999999999 +18:00",
                "2024-01-31 12:00:00-05:30",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &[
            "-", ":", " ", "T", "Z", "+08", " BC", "infinity", "24:00:00", ".", "02-30", "00",
        ],
        read: |bytes| {
            let Ok(at) = DateTime::parse(bytes) else { return false };
            assert!(jiff::civil::Date::new(at.year as i16, at.month as i8, at.day as i8).is_ok());
            assert!(at.second_of_day < 86_400 && at.nanos < 1_000_000_000);
            let mut out = Vec::new();
            write_timestamp(at.local_seconds(), at.nanos, 9, b' ', &mut out);
            let again = DateTime::parse(&out).unwrap();
            assert_eq!(again, DateTime { offset: None, ..at });
            // As it stands there: the same digits.
            assert_eq!(out[..10], bytes.trim_ascii()[..10]);
            assert!(at.offset.is_none_or(|offset| offset.abs() <= 18 * 3600));
            let micros = Zone::UTC.epoch_micros(bytes).unwrap();
            assert_eq!(
                micros.div_euclid(1_000_000),
                at.local_seconds() - i64::from(at.offset.unwrap_or(0))
            );
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "time of day",
        files: &["row/time.rs"],
        corpus: || {
            [
                "23:59:59.5",
                "00:00",
                "10:20:30.123456 +08:00",
                "10:20:30Z",
                "01:02:03-11:30:15",
            ]
            .map(|text| text.as_bytes().to_vec())
            .into()
        },
        words: &[":", ".", "+", "-", " ", "Z", "24", "60"],
        read: |bytes| {
            let plain = time_of_day(bytes).ok();
            if let Some((seconds, nanos)) = plain {
                assert!(seconds < 86_400 && nanos < 1_000_000_000);
                assert_eq!(
                    time_of_day(clock(seconds.into(), nanos).as_bytes()).unwrap(),
                    (seconds, nanos)
                );
            }
            let zoned = zoned_time(bytes).ok();
            if let Some(zoned) = &zoned {
                assert_eq!(zoned_time(zoned.as_bytes()).unwrap(), *zoned);
                assert!(plain.is_none());
            }
            plain.is_some() || zoned.is_some()
        },
        ..Target::USUAL
    },
    Target {
        name: "interval",
        files: &["row/interval.rs"],
        corpus: || {
            let texts = [
                "INTERVAL'1-2' YEAR TO MONTH",
                "INTERVAL -'3 4:05:06.7' DAY(2) TO SECOND(6)",
                "14",
                "-3 4:05:06.7",
                "INTERVAL '5' HOUR",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &[
            "INTERVAL",
            "'",
            "-",
            "+",
            " TO ",
            "DAY",
            "MONTH",
            "SECOND(9)",
            ":",
            ".",
            "\u{130}",
            "999999999999999999",
        ],
        read: |bytes| {
            let mut any = false;
            for (first, last) in FIELDS {
                let Ok(interval) = Interval::parse(bytes, first, last) else {
                    continue;
                };
                any = true;
                let text = interval.text();
                let (first, last) = match text.contains(' ') {
                    true => (IntervalField::Day, IntervalField::Second),
                    false => (IntervalField::Year, IntervalField::Month),
                };
                assert_eq!(Interval::parse(text.as_bytes(), first, last).unwrap().text(), text);
            }
            any
        },
        ..Target::USUAL
    },
    Target {
        name: "binary and truth value",
        files: &["row/text.rs"],
        corpus: || {
            ["00ffAb", "", "true", "F", "0"]
                .map(|text| text.as_bytes().to_vec())
                .into()
        },
        words: &["0x", "g", "TRUE", "\u{ff21}"],
        inputs: 5_000,
        read: |bytes| {
            let mut out = Vec::new();
            let hex = text::write_hex(bytes, &mut out).is_ok();
            if hex {
                let again: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
                assert!(bytes.eq_ignore_ascii_case(again.as_bytes()));
            }
            assert_eq!(text::characters(bytes).ok(), std::str::from_utf8(bytes).ok());
            let padded = text::unpadded(bytes, true);
            assert!(bytes.starts_with(padded) && bytes[padded.len()..].iter().all(|byte| *byte == b' '));
            hex || text::boolean(bytes).is_ok()
        },
        ..Target::USUAL
    },
    Target {
        name: "value of a column",
        files: &["row/convert.rs", "row/fields.rs", "row/binary_row.rs", "row/text.rs"],
        corpus: || {
            let texts = [
                "12",
                "-1.5",
                "true",
                "it's",
                "2024-01-31 12:00:00.5",
                "2024-01-31",
                "10:20:30",
                "00ff",
                "1-2",
                "10:20:30+08",
                "2024-01-31 12:00:00 +08:00",
            ];
            let all = (0..KINDS).flat_map(|kind| texts.map(|text| [&[kind], text.as_bytes()].concat()));
            all.filter(|input| converts(input)).collect()
        },
        words: &["-", ".", ":", " ", "e5", "NaN", "Infinity", "'", "+08:00", "\u{8ba2}"],
        read: converts,
        ..Target::USUAL
    },
];

const FIELDS: [(IntervalField, IntervalField); 6] = [
    (IntervalField::Year, IntervalField::Month),
    (IntervalField::Month, IntervalField::Month),
    (IntervalField::Day, IntervalField::Second),
    (IntervalField::Hour, IntervalField::Minute),
    (IntervalField::Minute, IntervalField::Second),
    (IntervalField::Second, IntervalField::Second),
];

/// A number's digits in front of and behind the point, as a child would write them out.
fn plain(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = match exponent {
        None => 0,
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            let size: i64 = digits.trim_start_matches('0').len().try_into().ok()?;
            let value = match digits.trim_start_matches('0') {
                _ if digits.is_empty() || !is_digits(digits) || size > 4 => return None,
                "" => 0,
                digits => digits.parse::<i64>().ok()?,
            };
            // Farther away no database has a number.
            if value > 1_000 {
                return None;
            }
            if exponent.starts_with('-') { -value } else { value }
        }
    };
    if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let zeros = "0".repeat(1_000);
    let digits = format!("{zeros}{whole}{fraction}{zeros}");
    let point = (1_000 + whole.len() as i64 + exponent) as usize;
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let sign = if negative && whole.len() + fraction.len() > 0 {
        "-"
    } else {
        ""
    };
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

/// A plain number times `10^scale`, if that is whole and has 38 digits at most.
fn unscaled(plain: &str, scale: usize) -> Option<i128> {
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let digits = format!("{whole}{fraction:0<scale$}");
    let fits = fraction.len() <= scale && digits.trim_start_matches('-').trim_start_matches('0').len() <= 38;
    fits.then(|| digits.parse().unwrap())
}

const KINDS: u8 = 16;

fn converts(input: &[u8]) -> bool {
    let Some((&kind, bytes)) = input.split_first() else {
        return false;
    };
    let interval = |first, last| ColumnType::Interval { first, last };
    let text = |padded| ColumnType::Text { length: None, padded };
    let kind = match kind % KINDS {
        0 => ColumnType::Boolean,
        1 => ColumnType::Integer { bits: 8 },
        2 => ColumnType::Integer { bits: 64 },
        3 => ColumnType::Decimal {
            precision: Some(10),
            scale: 2,
        },
        4 => ColumnType::Decimal {
            precision: None,
            scale: 0,
        },
        5 => ColumnType::Float { bits: 32 },
        6 => ColumnType::Float { bits: 64 },
        7 => text(true),
        8 => text(false),
        9 => ColumnType::Binary { length: None },
        10 => ColumnType::Date,
        11 => ColumnType::Time { precision: 3 },
        12 => ColumnType::TimeZoned { precision: 6 },
        13 => ColumnType::TimestampZoned { precision: 6 },
        14 => interval(IntervalField::Day, IntervalField::Second),
        _ => ColumnType::Timestamp { precision: 6 },
    };
    let to = natural(&kind).unwrap();
    let conversion = Conversion::new(&kind, to);
    let mut any = false;
    let values = [
        Value::Text(bytes),
        Value::Number(bytes),
        Value::Date(bytes),
        Value::Time(bytes),
        Value::Timestamp(bytes),
        Value::Hex(bytes),
        Value::Bytes(bytes),
    ];
    for value in values {
        let mut out = Vec::new();
        let mut row = BinaryRow::begin(&mut out, 2, RowKind::Insert);
        row.put_bytes(0, b"before");
        let before = row.size();
        match conversion.write(&mut row, 1, value, &Zone::UTC) {
            Ok(()) => any = true,
            Err(refusal) => {
                assert_eq!(row.size(), before, "a row is as it was");
                assert!(refusal.to_string().len() < 500);
            }
        }
    }
    any
}
