//! Random values of every type: a row has the same bytes in a page and in the log of every plugin, in every type of Flink
//! that its column may be declared as, whatever the sessions of writer and connector were set to.

use std::sync::Arc;

use fastrand::Rng;
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{ColumnType, Table, load};
use tidemark::log::captured::CapturedTable as LogTable;
use tidemark::log::decoding::reader::SlotReader;
use tidemark::log::{Change, Changes};
use tidemark::odbc::{ColumnSpec, Connection};
use tidemark::row::codec::{CapturedTable, Codec, OnValueError};
use tidemark::row::layout::{FlinkType, resolve};
use tidemark::row::zone::Zone;
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, KeyRange, TableName};

use crate::binary_row::{Read, read};
use crate::phases::{Rows, declared, possible, rows};
use crate::slots::{PLUGINS, Slot, changes, psql};
use crate::support::postgres::{connect, dialect, endpoint, shared};

const ROWS: usize = 60;

/// A type and what makes texts of it.
type Maker = (&'static str, fn(&mut Rng) -> String);

fn one_of(rng: &mut Rng, texts: &[&str]) -> String {
    texts[rng.usize(..texts.len())].to_owned()
}

fn word(rng: &mut Rng) -> String {
    const LETTERS: [&str; 20] = [
        "a", "Z", "0", " ", "'", "\"", "\\", ",", "{", "}", "(", ")", "\n", "\t", "é", "字", "𝄞", ":", "[", "null",
    ];
    (0..rng.usize(0..6))
        .map(|_| LETTERS[rng.usize(..LETTERS.len())])
        .collect()
}

fn digits(rng: &mut Rng, most: usize) -> String {
    (0..rng.usize(1..=most)).map(|_| rng.digit(10)).collect()
}

fn number(rng: &mut Rng) -> String {
    let sign = one_of(rng, &["", "-"]);
    match rng.u8(0..6) {
        0 => one_of(rng, &["0", "-0.00", "1e20", "1.50", "-1e-10", "100"]),
        1 => one_of(rng, &["NaN", "Infinity", "-Infinity"]),
        2 => format!("{sign}{}", digits(rng, 45)),
        _ => format!("{sign}{}.{}", digits(rng, 12), digits(rng, 12)),
    }
}

fn float(rng: &mut Rng) -> String {
    match rng.u8(0..4) {
        0 => one_of(
            rng,
            &["NaN", "Infinity", "-Infinity", "0", "-0", "0.1", "1e-30", "3.4e38"],
        ),
        1 => format!("{}e{}", rng.f64() - 0.5, rng.i32(-30..30)),
        // Between two decimals that are as short as each other, or beside one that is half way to a neighbour: of type
        // `real`, and of both.
        2 if rng.bool() => (rng.u32(1 << 23..1 << 24) as f32 * 2f32.powi(rng.i32(-12..30))).to_string(),
        2 => {
            let fives = 5u128.pow(rng.u32(0..10));
            let least = (1 << if rng.bool() { 24 } else { 53 }) / fives;
            let odd = rng.u128(least..=least * 2) | 1;
            ((odd * fives) << rng.u32(0..30)).to_string()
        }
        _ => f32::from_bits(rng.u32(0x2000_0000..0x5000_0000)).to_string(),
    }
}

/// A day, and whether it is before the year 1.
fn day(rng: &mut Rng) -> (String, &'static str) {
    let (year, era) = match rng.u8(0..6) {
        0 => (rng.u32(1..4000), " BC"),
        1 => (rng.u32(10_000..100_000), ""),
        2 => (one_of(rng, &["1", "4", "1582", "9999"]).parse().unwrap(), ""),
        _ => (rng.u32(1900..2100), ""),
    };
    (format!("{year:04}-{:02}-{:02}", rng.u32(1..13), rng.u32(1..29)), era)
}

fn clock(rng: &mut Rng) -> String {
    let fraction = match rng.u8(0..3) {
        0 => String::new(),
        1 => ".5".to_owned(),
        _ => format!(".{:06}", rng.u32(0..1_000_000)),
    };
    format!(
        "{:02}:{:02}:{:02}{fraction}",
        rng.u32(0..24),
        rng.u32(0..60),
        rng.u32(0..60)
    )
}

fn date(rng: &mut Rng) -> String {
    if rng.u8(0..8) == 0 {
        return one_of(rng, &["infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"]);
    }
    let (day, era) = day(rng);
    day + era
}

fn timestamp(rng: &mut Rng) -> String {
    if rng.u8(0..8) == 0 {
        return one_of(rng, &["infinity", "-infinity"]);
    }
    let (day, era) = day(rng);
    format!("{day} {}{era}", clock(rng))
}

fn offset(rng: &mut Rng) -> String {
    one_of(rng, &["+00", "+08", "-03:30", "+05:45", "-12", "+14"])
}

fn array(rng: &mut Rng, mut make: impl FnMut(&mut Rng) -> String) -> String {
    let items: Vec<String> = (0..rng.usize(0..4))
        .map(|_| match rng.u8(0..4) {
            0 => "NULL".to_owned(),
            _ => format!("\"{}\"", make(rng).replace('\\', "\\\\").replace('"', "\\\"")),
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

fn json(rng: &mut Rng) -> String {
    let word = serde_json::Value::from(word(rng));
    match rng.u8(0..4) {
        0 => one_of(rng, &["null", "\"\"", "[]", "1.50", "{ \"a\":1,  \"a\":2}"]),
        _ => format!("{{\"k\": [{word}, {}, null]}}", rng.i32(..)),
    }
}

fn bits(rng: &mut Rng, count: usize) -> String {
    (0..count).map(|_| if rng.bool() { '1' } else { '0' }).collect()
}

fn range(rng: &mut Rng) -> String {
    let from = rng.i32(-50..50);
    match rng.u8(0..4) {
        0 => one_of(rng, &["empty", "(,)", "[3,)", "(,4]"]),
        _ => format!("[{from},{})", from + rng.i32(1..9)),
    }
}

const TYPES: &[Maker] = &[
    ("boolean", |rng| one_of(rng, &["t", "f"])),
    ("smallint", |rng| rng.i16(..).to_string()),
    ("integer", |rng| rng.i32(..).to_string()),
    ("bigint", |rng| rng.i64(..).to_string()),
    ("oid", |rng| rng.u32(..).to_string()),
    ("numeric", number),
    ("numeric(9,3)", |rng| {
        format!("{}.{}", rng.i32(-999_999..999_999), digits(rng, 3))
    }),
    ("numeric(12,-2)", |rng| rng.i64(-9_999_999..9_999_999).to_string()),
    ("numeric(3,5)", |rng| format!("0.00{}", digits(rng, 3))),
    ("real", float),
    ("double precision", float),
    ("money", |rng| format!("{}.{:02}", rng.i32(..), rng.u8(0..100))),
    ("char(7)", |rng| word(rng).chars().take(7).collect()),
    ("varchar(30)", word),
    ("text", word),
    ("name", word),
    ("\"char\"", |rng| one_of(rng, &["a", "Z", "", "'", "\\"])),
    ("bytea", |rng| {
        (0..rng.usize(0..9)).fold("\\x".to_owned(), |text, _| format!("{text}{:02x}", rng.u8(..)))
    }),
    ("date", date),
    ("time", |rng| {
        if rng.u8(0..8) == 0 {
            "24:00:00".to_owned()
        } else {
            clock(rng)
        }
    }),
    ("time(2)", clock),
    ("timetz", |rng| clock(rng) + &offset(rng)),
    ("timestamp", timestamp),
    ("timestamp(0)", timestamp),
    ("timestamptz", |rng| {
        let text = timestamp(rng);
        match (text.ends_with("infinity"), text.strip_suffix(" BC")) {
            (true, _) => text,
            (_, Some(before)) => format!("{before}{} BC", offset(rng)),
            (_, None) => text + &offset(rng),
        }
    }),
    ("interval", |rng| {
        format!(
            "{} mons {} days {}{}",
            rng.i32(-30..30),
            rng.i32(-50..50),
            one_of(rng, &["", "-"]),
            clock(rng)
        )
    }),
    ("interval day to second(3)", |rng| {
        format!("{} days {}", rng.i32(-50..50), clock(rng))
    }),
    ("uuid", |rng| format!("{:032X}", rng.u128(..))),
    ("json", json),
    ("jsonb", json),
    ("xml", |rng| format!("<a b=\"{}\">x</a>", rng.u8(..))),
    ("int[]", |rng| array(rng, |rng| rng.i32(..).to_string())),
    ("text[]", |rng| array(rng, word)),
    ("timestamp[]", |rng| array(rng, timestamp)),
    ("bytea[]", |rng| array(rng, |rng| format!("\\x{:04x}", rng.u16(..)))),
    ("float8[]", |rng| array(rng, float)),
    ("interval[]", |rng| array(rng, |rng| format!("{} days", rng.i32(-9..9)))),
    ("p.mood", |rng| one_of(rng, &["so so", "it's", "OK"])),
    ("p.mood[]", |rng| {
        array(rng, |rng| one_of(rng, &["so so", "it's", "OK"]))
    }),
    ("p.pair", |rng| {
        one_of(
            rng,
            &["(1,\"a b\",2024-02-29)", "(,,)", "(,\"it's\",\"0044-03-15 BC\")"],
        )
    }),
    ("p.cheap", |rng| rng.u8(0..9).to_string()),
    ("p.days", |rng| date(rng)),
    ("bit(6)", |rng| bits(rng, 6)),
    ("bit varying", |rng| {
        let count = rng.usize(0..9);
        bits(rng, count)
    }),
    ("inet", |rng| {
        one_of(rng, &["10.0.0.1", "10.0.0.1/8", "::1", "2001:db8::/32"])
    }),
    ("cidr", |rng| one_of(rng, &["10.0.0.0/8", "192.168.1.7/32", "::/0"])),
    ("macaddr", |rng| format!("08002b:01{:04x}", rng.u16(..))),
    ("int4range", range),
    ("tsrange", |rng| {
        one_of(rng, &["empty", "[2024-02-29 12:00,infinity)", "(,\"0044-03-15 BC\")"])
    }),
    ("tstzmultirange", |rng| {
        one_of(rng, &["{}", "{[2024-01-01 00:00+08,2024-01-02 00:00+08)}"])
    }),
    ("point", |rng| format!("({},{})", rng.i8(..), rng.f32())),
    ("tsvector", |rng| one_of(rng, &["'a' 'b':2A", "'it''s'", ""])),
    ("pg_lsn", |rng| format!("{:X}/{:X}", rng.u32(..), rng.u32(..))),
    ("regclass", |rng| one_of(rng, &["pg_class", "p.t"])),
    ("hstore", |rng| format!("\"k\"=>\"{}\", e=>NULL", rng.u8(..))),
    ("citext", word),
];

/// Those that `pgoutput` gives in binary form, which it does for tables that have no others.
const BINARY: &[&str] = &[
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "oid",
    "numeric",
    "numeric(9,3)",
    "numeric(12,-2)",
    "numeric(3,5)",
    "real",
    "double precision",
    "char(7)",
    "varchar(30)",
    "text",
    "name",
    "bytea",
    "date",
    "time",
    "time(2)",
    "timestamp",
    "timestamp(0)",
    "timestamptz",
    "uuid",
    "json",
    "jsonb",
];

/// What sessions may be set to; the first three belong to the writers alone.
const STYLES: [&[&str]; 2] = [
    &[
        "datestyle = 'German'",
        "timezone = 'Asia/Kathmandu'",
        "intervalstyle = 'iso_8601'",
        "bytea_output = 'escape'",
        "extra_float_digits = -5",
        "search_path = p, public",
    ],
    &[
        "datestyle = 'SQL, DMY'",
        "timezone = 'America/St_Johns'",
        "intervalstyle = 'sql_standard'",
        "bytea_output = 'hex'",
        "extra_float_digits = 0",
        "search_path = public",
    ],
];

/// A connection as the connector opens it, of a user whose sessions are set to something else.
fn styled() -> Connection {
    let mut endpoint = endpoint(shared());
    endpoint.username = "styled".into();
    Connection::open(&tidemark::dialect::postgres::connection(
        &tidemark::dialect::postgres::POSTGRES,
        &endpoint,
    ))
    .unwrap()
}

fn insert(rng: &mut Rng, table: &str, types: &[Maker], id: usize) -> String {
    let values: Vec<String> = types
        .iter()
        .map(|(kind, make)| match rng.u8(0..9) {
            0 => "NULL".to_owned(),
            _ => format!("'{}'::{kind}", make(rng).replace('\'', "''")),
        })
        .collect();
    format!("insert into p.{table} values ({id}, 0, {});", values.join(", "))
}

/// Equal bytes may be equally wrong: texts are those that a session shows which nobody has set to anything, and every type
/// has values that are not NULL.
fn require_canonical(table: &Table, kinds: &[Vec<FlinkType>], codecs: &[(Vec<FlinkType>, Arc<Codec>)], pages: &[Rows]) {
    let text = FlinkType::VarChar {
        length: i32::MAX as u32,
    };
    for (column, described) in table.columns.iter().enumerate() {
        let mut values = 0;
        let sql = format!(
            "select format('%s', \"{}\") from {} order by id",
            described.name, table.name
        );
        let expected = connect(shared())
            .rows(&sql, &[ColumnSpec::Text { bytes: 4096 }])
            .unwrap();
        for ((chosen, _), page) in codecs.iter().zip(pages) {
            assert!(kinds[column].contains(&chosen[column]));
            for (row, expected) in page.values().zip(&expected) {
                let field = &read(row, chosen).1[column];
                values += usize::from(*field != Read::Null);
                let shown = matches!(
                    described.kind,
                    ColumnType::Shown { .. } | ColumnType::Text { padded: false, .. }
                );
                if let (true, Read::Bytes(bytes)) = (shown && chosen[column] == text, field) {
                    assert_eq!(
                        String::from_utf8_lossy(bytes),
                        expected[0].text().unwrap(),
                        "{:?}",
                        described.name
                    );
                }
            }
        }
        assert!(
            values > ROWS / 4,
            "{} {:?}: {values} of its values are not NULL",
            described.name,
            described.kind
        );
    }
}

#[test]
fn random_values_of_every_type_have_the_same_bytes_in_pages_and_in_the_log_of_each_plugin() {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    psql(
        "create extension hstore; create extension citext; create schema p; create type p.mood as enum ('so so', 'it''s', 'OK'); \
         create type p.pair as (a int, b text, c date); create domain p.price as numeric(8, 3); \
         create domain p.cheap as p.price check (value < 10); create domain p.day as date; create domain p.days as p.day; \
         create role styled superuser login",
    );
    for (number, setting) in STYLES[0].iter().enumerate() {
        let whose = if number % 2 == 0 {
            "role styled"
        } else {
            "role styled in database postgres"
        };
        psql(&format!("alter {whose} set {setting}"));
    }
    let known = |(kind, _): &&Maker| BINARY.contains(kind);
    let binary: Vec<Maker> = TYPES.iter().filter(known).copied().collect();
    assert_eq!(binary.len(), BINARY.len());
    require_the_same(&mut rng, "t", TYPES);
    require_the_same(&mut rng, "b", &binary);
}

fn require_the_same(rng: &mut Rng, table: &str, types: &[Maker]) {
    let columns: Vec<String> = (types.iter().enumerate())
        .map(|(number, (kind, _))| format!("c{number} {kind}"))
        .collect();
    psql(&format!(
        "create table p.{table} (id int primary key, tick int, {}); alter table p.{table} replica identity full",
        columns.join(", ")
    ));
    let name = TableName {
        schema: "p".into(),
        name: table.into(),
    };
    let slot_name = format!("properties_{table}");
    let table = Arc::new(load(&mut styled(), &*dialect(), &name).unwrap());
    let slots = PLUGINS.map(|plugin| Slot::of(&slot_name, plugin, vec![LogTable::whole(table.clone())]));
    let mut readers = slots.each_ref().map(|slot| {
        SlotReader::open(
            Arc::new(|| Ok(styled())),
            dialect(),
            &slot.tables,
            slot.settings(),
            slot.begin(),
        )
        .unwrap()
    });
    // Every type that each column can be declared as, in as many codecs as the most of them needs.
    let kinds: Vec<Vec<FlinkType>> = (0..table.columns.len())
        .map(|column| possible(&table, column))
        .collect();
    let most = kinds.iter().map(Vec::len).max().unwrap();
    let codecs: Vec<(Vec<FlinkType>, Arc<Codec>)> = (0..most)
        .map(|number| {
            let chosen: Vec<FlinkType> = kinds.iter().map(|kinds| kinds[number % kinds.len()]).collect();
            let columns = table.columns.iter().zip(&chosen);
            let columns: Vec<_> = columns.map(|(column, kind)| declared(&column.name, *kind)).collect();
            let captured = CapturedTable {
                table: (*table).clone(),
                key: Arc::new(KeyCodec::new(&table).unwrap()),
                columns: resolve(&columns, &table).unwrap(),
            };
            let zone = Zone::parse("Asia/Shanghai").unwrap();
            (
                chosen,
                Arc::new(Codec::new(vec![captured], "postgres", zone, OnValueError::Null)),
            )
        })
        .collect();
    let pages = || -> Vec<Rows> {
        let page = |(_, codec): &(_, Arc<Codec>)| {
            let tables = [(table.clone(), codec.needed_columns(0))];
            let mut reader = PageReader::new(styled(), dialect(), codec.clone(), &tables, 100).unwrap();
            let (mut rows, chunk) = (
                PageRows::default(),
                Chunk {
                    table: table.name.clone(),
                    range: KeyRange::ALL,
                },
            );
            let limit = PageLimit {
                rows: 1000,
                bytes: usize::MAX,
            };
            assert_eq!(reader.select(&chunk, limit, &mut rows).unwrap(), None);
            (0..rows.len())
                .map(|row| (rows.key(row).to_vec(), rows.row(row).to_vec()))
                .collect()
        };
        codecs.iter().map(page).collect()
    };
    let require = |pages: &[Rows],
                   log: &[Changes],
                   image: &dyn Fn(&Change) -> Option<tidemark::row::value::Image>,
                   what: &str| {
        for ((kinds, codec), page) in codecs.iter().zip(pages) {
            let logged = rows(codec, log, image);
            assert_eq!(logged.len(), page.len(), "{what}");
            for (key, row) in page {
                let (left, right) = (read(row, kinds).1, read(&logged[key], kinds).1);
                for (column, (page, log)) in table.columns.iter().zip(left.iter().zip(&right)) {
                    assert_eq!(
                        page, log,
                        "{what}: {} {:?}, row {:?}",
                        column.name, column.kind, left[0]
                    );
                }
                assert_eq!(row, &logged[key], "{what}");
            }
        }
    };
    let mut script = String::new();
    for id in 0..ROWS {
        if id % 7 == 0 {
            let settings = STYLES[rng.usize(..2)];
            settings
                .iter()
                .for_each(|setting| script.push_str(&format!("set {setting};")));
        }
        script.push_str(&insert(rng, &table.name.name, types, id));
    }
    psql(&script);
    let inserted = pages();
    let logs = readers.each_mut().map(changes);
    for (log, plugin) in logs.iter().zip(PLUGINS) {
        require(&inserted, log, &|change| change.after, &format!("{plugin}, inserted"));
    }
    require_canonical(&table, &kinds, &codecs, &inserted);
    psql(&format!("update {} set tick = 1", table.name));
    let updated = pages();
    psql(&format!("delete from {}", table.name));
    for (reader, plugin) in readers.iter_mut().zip(PLUGINS) {
        let log = changes(reader);
        let is_update = |change: &Change| change.before.is_some() && change.after.is_some();
        let before = |change: &Change| change.before.filter(|_| is_update(change));
        require(&inserted, &log, &before, &format!("{plugin}, before the update"));
        let after = |change: &Change| change.after.filter(|_| is_update(change));
        require(&updated, &log, &after, &format!("{plugin}, after the update"));
        let deleted = |change: &Change| change.before.filter(|_| change.after.is_none());
        require(&updated, &log, &deleted, &format!("{plugin}, deleted"));
    }
    drop(readers);
}
