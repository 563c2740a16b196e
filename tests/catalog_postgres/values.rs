//! Values of every type, as a page has them: the server's own texts.

use std::sync::{Arc, Mutex};

use tidemark::catalog::Table;
use tidemark::catalog::key::KeyCodec;
use tidemark::error::Result;
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, KeyRange};

use crate::support::postgres::{connect, dialect, shared};
use crate::{psql, read};

struct Texts(Arc<Table>, KeyCodec, Mutex<Vec<Vec<String>>>);

impl RowCodec for Texts {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        self.1.encode(&|column| values.get(image, column), out)
    }

    fn row(
        &self,
        _: u32,
        _: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        _: &mut Vec<u8>,
    ) -> Result<()> {
        let row = (0..self.0.columns.len()).map(|column| match values.get(image, column) {
            Value::Null => "NULL".to_owned(),
            Value::Int(value) => value.to_string(),
            Value::Bytes(bytes) => bytes
                .iter()
                .fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
            Value::Text(text)
            | Value::Number(text)
            | Value::Date(text)
            | Value::Time(text)
            | Value::Timestamp(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        });
        self.2.lock().unwrap().push(row.collect());
        Ok(())
    }
}

/// A type, and a text of it for each of the rows; in the end each text comes out as the server writes it.
const VALUES: &[(&str, &[&str])] = &[
    ("bool", &["t", "f"]),
    ("int2", &["-32768", "32767"]),
    ("int4", &["-2147483648", "2147483647"]),
    ("int8", &["-9223372036854775808", "9223372036854775807"]),
    (
        "numeric",
        &[
            "NaN",
            "Infinity",
            "-Infinity",
            "123456789012345678901234567890123456789012345678901234567890.000100",
        ],
    ),
    ("numeric(10,2)", &["-1.50", "0.00"]),
    ("float4", &["NaN", "Infinity", "1e-37", "0.1"]),
    ("float8", &["-Infinity", "1.7976931348623157e+308", "0.1"]),
    ("money", &["-$1,234.50"]),
    ("char(4)", &["a", "äöü"]),
    ("varchar(19)", &["", "it's \"a\"", "line\nbreak\ttab\\"]),
    ("text", &["null", "NULL", "中文", " "]),
    ("bytea", &["\\x", "\\x00ff27"]),
    (
        "date",
        &["infinity", "-infinity", "0044-03-15 BC", "2024-02-29", "12345-01-01"],
    ),
    ("time", &["24:00:00", "00:00:00", "12:34:56.789012"]),
    ("timetz", &["12:34:56.5+05:30", "00:00:00-12"]),
    (
        "timestamp",
        &["infinity", "2024-02-29 12:34:56.789", "0001-01-01 00:00:00 BC"],
    ),
    ("timestamptz", &["-infinity", "2024-02-29 12:34:56.789+00"]),
    ("interval", &["1 year 2 mons -3 days +04:05:06.7", "00:00:00"]),
    ("uuid", &["00112233-4455-6677-8899-aabbccddeeff"]),
    ("json", &["{\"a\":  [1, null]}", "null"]),
    ("jsonb", &["{\"a\": [1, null]}"]),
    ("xml", &["<a>b</a>"]),
    ("int4[]", &["{}", "{{1,2},{3,NULL}}"]),
    ("text[]", &["{a,\"b,c\",NULL,\"NULL\",\"\"}"]),
    ("int4range", &["empty", "[1,5)"]),
    ("int4multirange", &["{[1,5),[7,9)}"]),
    ("inet", &["10.0.0.1/8", "::1"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("bit(4)", &["1010"]),
    ("varbit", &["", "101"]),
    ("point", &["(1.5,-2)"]),
    ("tsvector", &["'a' 'b':2"]),
    ("val.mood", &["so so", "ok"]),
    ("val.pair", &["(1,\"a b\")", "(,)"]),
    ("val.price", &["1.500"]),
];

#[test]
fn every_value_has_the_text_that_the_server_writes_for_it() {
    psql(
        "create schema val; create type val.mood as enum ('so so', 'ok'); create type val.pair as (a int, b text); \
         create domain val.price as numeric(8, 3)",
    );
    let columns: Vec<String> = (VALUES.iter().enumerate())
        .map(|(number, (kind, _))| format!("c{number} {kind}"))
        .collect();
    psql(&format!(
        "create table val.t (id int primary key, {})",
        columns.join(", ")
    ));
    let rows = VALUES.iter().map(|(_, values)| values.len()).max().unwrap();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    for row in 0..rows {
        let values: Vec<String> = (VALUES.iter())
            .map(|(_, values)| values.get(row).map_or("NULL".into(), |text| quoted(text)))
            .collect();
        psql(&format!("insert into val.t values ({row}, {})", values.join(", ")));
    }
    let table = read("val", "t").unwrap();
    let codec = Arc::new(Texts(table.clone(), KeyCodec::new(&table).unwrap(), Mutex::default()));
    let tables = [(table.clone(), vec![true; table.columns.len()])];
    let mut reader = PageReader::new(connect(shared()), dialect(), codec.clone(), &tables, 1024).unwrap();
    let chunk = Chunk {
        table: table.name.clone(),
        range: KeyRange::ALL,
    };
    let limit = PageLimit {
        rows: 100,
        bytes: 1 << 20,
    };
    assert_eq!(reader.select(&chunk, limit, &mut PageRows::default()).unwrap(), None);
    let found = codec.2.lock().unwrap();
    assert_eq!(found.len(), rows);
    for (column, (kind, values)) in VALUES.iter().enumerate() {
        for row in 0..rows {
            let found = found[row][column + 1].as_str();
            let expected = match (*kind, values.get(row)) {
                ("bool", Some(value)) => {
                    if *value == "t" {
                        "1"
                    } else {
                        "0"
                    }
                }
                // Blanks that pad it are no part of it; the codec leaves them out.
                ("char(4)", Some(value)) => {
                    assert_eq!(found.trim_end_matches(' '), *value);
                    continue;
                }
                (_, value) => value.unwrap_or(&"NULL"),
            };
            assert_eq!(found, expected, "{kind}");
        }
    }
}

/// A value of any length is read whole, and many of them do not pile up.
#[test]
fn long_texts_come_whole() {
    psql(
        "create schema long; create table long.t (id int primary key, a text, b bytea, c jsonb); \
         insert into long.t select g, repeat(g::text, g * 1000), decode(repeat('0f', g * 500), 'hex'), \
         jsonb_build_object('a', repeat('x', g * 900)) from generate_series(1, 40) g",
    );
    let table = read("long", "t").unwrap();
    let codec = Arc::new(Texts(table.clone(), KeyCodec::new(&table).unwrap(), Mutex::default()));
    let tables = [(table.clone(), vec![true; 4])];
    let mut reader = PageReader::new(connect(shared()), dialect(), codec.clone(), &tables, 1024).unwrap();
    let chunk = Chunk {
        table: table.name.clone(),
        range: KeyRange::ALL,
    };
    let limit = PageLimit {
        rows: 100,
        bytes: 1 << 30,
    };
    assert_eq!(reader.select(&chunk, limit, &mut PageRows::default()).unwrap(), None);
    for (row, g) in codec.2.lock().unwrap().iter().zip(1_usize..) {
        assert_eq!(row[1], g.to_string().repeat(g * 1000));
        assert_eq!(row[2].len(), 2 + g * 1000);
        assert_eq!(row[3], format!("{{\"a\": \"{}\"}}", "x".repeat(g * 900)));
    }
}
