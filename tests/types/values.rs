//! Random values of every type.

use std::sync::OnceLock;

use fastrand::Rng;
use tidemark::row::RowCodec;

use crate::phases::{Captured, Rows, possible, rows};
use crate::support::stand_in::StandIn;

/// The server that the tests of this file share.
pub fn stand_in() -> &'static StandIn {
    static SHARED: OnceLock<StandIn> = OnceLock::new();
    SHARED.get_or_init(|| StandIn::start(&[]))
}

/// A column's type in the stand-in, and a value of it as text that the server reads.
type Column = (&'static str, fn(&mut Rng) -> String);

const COLUMNS: &[Column] = &[
    ("boolean", |rng| rng.bool().to_string()),
    ("bit(1)", |rng| rng.u8(0..2).to_string()),
    ("tinyint", |rng| rng.i8(..).to_string()),
    ("byte", |rng| rng.i8(..).to_string()),
    ("smallint", |rng| rng.i16(..).to_string()),
    ("int", |rng| rng.i32(..).to_string()),
    ("bigint", |rng| (rng.i64(..) >> rng.u8(0..64)).to_string()),
    ("decimal(38, 10)", |rng| decimal(rng, 28, 10)),
    ("decimal(5, 2)", |rng| decimal(rng, 3, 2)),
    ("decimal(38, 0)", |rng| decimal(rng, 38, 0)),
    ("numeric(3, 5)", |rng| format!("{}0.00{}", sign(rng), rng.u32(0..1000))),
    ("numeric(6, -2)", |rng| decimal(rng, 8, 0)),
    ("number", |rng| decimal(rng, 20, 18)),
    ("decimal_float", |rng| {
        format!("{}{}e{}", sign(rng), rng.u32(..), rng.i32(-60..60))
    }),
    ("real", |rng| float(f64::from(f32::from_bits(rng.u32(..)) / 8.0))),
    ("double", |rng| float(f64::from_bits(rng.u64(..)) / 8.0)),
    ("char(10)", |rng| text(rng, 10)),
    ("varchar(50)", |rng| text(rng, 50)),
    ("clob", |rng| text(rng, 2000)),
    ("rowid", |rng| format!("{:018X}", rng.u64(..))),
    ("json", |rng| format!(r#"{{"b": "{}", "a":1}}"#, rng.u8(..))),
    ("jsonb", |rng| format!(r#"{{"b": "{}", "a":1}}"#, rng.u8(..))),
    ("xml", |rng| format!("<a b='1'>{}</a>", rng.u8(..))),
    ("blob", |rng| binary(rng, 2000)),
    ("image", |rng| binary(rng, 30)),
    ("varbinary", |rng| binary(rng, 30)),
    ("date", |rng| date(rng)),
    ("date_with_time", |rng| format!("{} {}", date(rng), clock(rng, 0))),
    ("time(0)", |rng| clock(rng, 0)),
    ("time(3)", |rng| clock(rng, 3)),
    ("time(6)", |rng| clock(rng, 6)),
    ("timetz(6)", |rng| format!("{}{}", clock(rng, 6), offset(rng))),
    ("timestamp(0)", |rng| format!("{} {}", date(rng), clock(rng, 0))),
    ("timestamp(1)", |rng| format!("{} {}", date(rng), clock(rng, 1))),
    ("timestamp(4)", |rng| format!("{} {}", date(rng), clock(rng, 4))),
    ("timestamp(6)", |rng| format!("{} {}", date(rng), clock(rng, 6))),
    ("datetime2", |rng| {
        format!("{} {}{:03}", date(rng), clock(rng, 6), rng.u32(0..1000))
    }),
    ("timestamptz(0)", instant),
    ("timestamptz(6)", instant),
    ("timestamp_local", instant),
    ("interval_year", span),
    ("interval_month", span),
    ("interval_year_to_month", span),
    ("interval_day", span),
    ("interval_hour", span),
    ("interval_minute", span),
    ("interval_second", span),
    ("interval_day_to_hour", span),
    ("interval_day_to_minute", span),
    ("interval_day_to_second", span),
    ("interval_hour_to_minute", span),
    ("interval_hour_to_second", span),
    ("interval_minute_to_second", span),
];

fn sign(rng: &mut Rng) -> &'static str {
    if rng.bool() { "-" } else { "" }
}

fn decimal(rng: &mut Rng, whole: usize, fraction: usize) -> String {
    let mut digits = |most: usize| -> String { (0..rng.usize(0..=most)).map(|_| rng.digit(10)).collect() };
    let (whole, fraction) = (digits(whole), digits(fraction));
    format!("{}0{whole}.{fraction}0", sign(rng))
}

fn float(value: f64) -> String {
    if value.is_finite() {
        format!("{value:e}")
    } else {
        "0".into()
    }
}

/// Quotes, words of the log's grammar, line ends, backslashes, letters of one to four bytes, blanks at the end.
fn text(rng: &mut Rng, longest: usize) -> String {
    const PARTS: [&str; 16] = [
        "a", "Z", "0", " ", "'", "''", "\\", "\n", "\r\n", "改", "é", "😀", "\"", ", ", " AND ", "NULL",
    ];
    let mut text = String::new();
    for _ in 0..rng.usize(0..longest) {
        let part = PARTS[rng.usize(..PARTS.len())];
        if text.chars().count() + part.chars().count() <= longest {
            text.push_str(part);
        }
    }
    text
}

fn binary(rng: &mut Rng, longest: usize) -> String {
    let bytes = (0..rng.usize(0..longest)).map(|_| format!("{:02x}", rng.u8(..)));
    format!("\\x{}", bytes.collect::<String>())
}

/// A day, often one at which calendars go wrong.
pub fn date(rng: &mut Rng) -> String {
    const ODD: [&str; 8] = [
        "0001-01-01",
        "1582-10-04",
        "1582-10-10",
        "1582-10-15",
        "1900-02-28",
        "1900-12-31",
        "1986-05-04",
        "9999-12-31",
    ];
    match rng.u8(0..3) {
        0 => ODD[rng.usize(..ODD.len())].to_owned(),
        _ => format!("{:04}-{:02}-{:02}", rng.u16(1..=9999), rng.u8(1..=12), rng.u8(1..=28)),
    }
}

fn clock(rng: &mut Rng, digits: usize) -> String {
    let clock = match rng.u8(0..4) {
        0 => "23:59:59".to_owned(),
        1 => "00:00:00".to_owned(),
        _ => format!("{:02}:{:02}:{:02}", rng.u8(0..24), rng.u8(0..60), rng.u8(0..60)),
    };
    let fraction = match rng.u8(0..3) {
        0 => "000000".to_owned(),
        1 => "999999".to_owned(),
        _ => format!("{:06}", rng.u32(0..1_000_000)),
    };
    match digits {
        0 => clock,
        _ => format!("{clock}.{}", &fraction[..digits]),
    }
}

fn offset(rng: &mut Rng) -> String {
    format!(
        "{}{:02}:{:02}",
        if rng.bool() { '-' } else { '+' },
        rng.u8(0..14),
        15 * rng.u8(0..4)
    )
}

/// Far enough from the first and the last year for every zone.
fn instant(rng: &mut Rng) -> String {
    format!(
        "{:04}-{:02}-{:02} {}{}",
        rng.u16(2..9999),
        rng.u8(1..=12),
        rng.u8(1..=28),
        clock(rng, 6),
        offset(rng)
    )
}

fn span(rng: &mut Rng) -> String {
    // In words, all of one sign: each kind of column keeps the fields that it has.
    let sign = sign(rng);
    format!(
        "{sign}{} years {sign}{} months {sign}{} days {sign}{} hours {sign}{} minutes {sign}{}.{:06} seconds",
        rng.u8(0..100),
        rng.u8(0..12),
        rng.u8(0..100),
        rng.u8(0..100),
        rng.u8(0..60),
        rng.u8(0..60),
        rng.u32(0..1_000_000)
    )
}

/// What a column of whole months takes is no day, and the other way round.
fn of_one_family(kind: &str, span: &str) -> String {
    let months = kind.contains("year") || kind.contains("month");
    let words: Vec<&str> = span.split(' ').collect();
    if months {
        words[..4].join(" ")
    } else {
        words[4..].join(" ")
    }
}

fn insert(rng: &mut Rng, id: usize) -> String {
    let values = COLUMNS.iter().map(|(kind, value)| match rng.u8(0..8) {
        0 => "NULL".to_owned(),
        _ => {
            let value = value(rng);
            let value = match kind.starts_with("interval") {
                true => of_one_family(kind, &value),
                false => value,
            };
            format!("'{}'", value.replace('\'', "''"))
        }
    });
    format!("({id}, 0, {})", values.collect::<Vec<_>>().join(", "))
}

/// The driver's words and the log's, of random values, in every type that the columns may be declared as; an image
/// before an update, behind it, and of a delete.
#[test]
fn a_value_has_the_same_bytes_in_snapshot_and_log() {
    let seed = std::env::var("TIDEMARK_SEED").map_or(7, |seed| seed.parse().unwrap());
    println!("TIDEMARK_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let columns = COLUMNS.iter().enumerate();
    let columns: Vec<String> = columns
        .map(|(number, (kind, _))| format!("\"C{number}\" {kind}"))
        .collect();
    stand_in().psql(&format!(
        r#"create schema "VALUES"; create table "VALUES"."T" ("ID" int primary key, "MARK" int, {})"#,
        columns.join(", ")
    ));
    let mut captured = Captured::new(stand_in(), "VALUES", "T");
    let inserts: Vec<String> = (0..60).map(|id| insert(&mut rng, id)).collect();
    for rows in inserts.chunks(5) {
        stand_in().psql(&format!(r#"insert into "VALUES"."T" values {}"#, rows.join(", ")));
    }
    let inserted = captured.changes().unwrap();

    let table = captured.table.clone();
    let kinds: Vec<_> = (0..table.columns.len())
        .map(|column| possible(&table, column))
        .collect();
    let most = kinds.iter().map(Vec::len).max().unwrap();
    let mut declared = vec![captured.natural()];
    declared.extend((0..most).map(|turn| -> Vec<_> { kinds.iter().map(|kinds| kinds[turn % kinds.len()]).collect() }));
    let encoders: Vec<_> = declared.iter().map(|kinds| captured.codec(kinds, "+08:00")).collect();
    let snapshots: Vec<_> = encoders.iter().map(|codec| captured.snapshot(codec).unwrap()).collect();
    stand_in().psql(r#"update "VALUES"."T" set "MARK" = 1"#);
    let updates = captured.changes().unwrap();
    stand_in().psql(r#"delete from "VALUES"."T""#);
    let deletes = captured.changes().unwrap();
    for ((codec, kinds), snapshot) in encoders.iter().zip(&declared).zip(&snapshots) {
        assert_eq!(snapshot.len(), 60);
        let same = |left: &Rows, right: &Rows, what| captured.require_same(kinds, left, right, what);
        same(snapshot, &rows(codec, &inserted, |change| change.after), "inserted");
        same(
            snapshot,
            &rows(codec, &updates, |change| change.before),
            "before updates",
        );
        same(
            &rows(codec, &updates, |change| change.after),
            &rows(codec, &deletes, |change| change.before),
            "behind updates",
        );
    }
    // In its natural type every value fits.
    assert_eq!(encoders[0].nulled_values(), 0);
}
