//! Cutting tables and reading their pages, over the stand-in for DM8.

mod kinds;
#[path = "../support/mod.rs"]
mod support;
mod text;
mod walk;

use std::sync::Arc;

use support::stand_in::StandIn;
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{Table, load};
use tidemark::dialect::Dialect;
use tidemark::dialect::dameng::Dameng;
use tidemark::error::Result;
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::splitter::Splitter;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, Key, TableName};

/// Keys as the product makes them, rows as text: `1|<a>|NULL`.
struct Plain(Arc<Table>, KeyCodec);

impl RowCodec for Plain {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        self.1.encode(&|column| values.get(image, column), out)
    }

    fn row(
        &self,
        _: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        assert_eq!((kind, origin), (RowKind::Insert, &RowOrigin::default()));
        for column in 0..self.0.columns.len() {
            if column > 0 {
                out.push(b'|');
            }
            match values.get(image, column) {
                Value::Absent => out.extend_from_slice(b"-"),
                Value::Null => out.extend_from_slice(b"NULL"),
                Value::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
                Value::Text(text) => out.extend_from_slice(&[b"<", text, b">"].concat()),
                Value::Number(text) | Value::Bytes(text) => out.extend_from_slice(text),
                Value::Date(text) => out.extend_from_slice(&[b"D", text].concat()),
                Value::Time(text) => out.extend_from_slice(&[b"T", text].concat()),
                Value::Timestamp(text) => out.extend_from_slice(&[b"S", text].concat()),
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    }
}

/// A table of its own with these columns and rows.
fn table(schema: &str, columns: &str, rows: &str) -> Arc<Table> {
    StandIn::shared().psql(&format!(
        r#"create schema "{schema}"; create table "{schema}"."T" ({columns}); insert into "{schema}"."T" {rows}; analyze "{schema}"."T""#
    ));
    let name = TableName {
        schema: schema.into(),
        name: "T".into(),
    };
    Arc::new(load(&mut StandIn::shared().connect(), &Dameng, &name).unwrap())
}

fn reader(table: &Arc<Table>, needed: &[bool]) -> PageReader {
    reader_with(Arc::new(Dameng), table, needed)
}

/// Of all columns, on any server.
fn reader_on(stand_in: &StandIn, table: &Arc<Table>) -> PageReader {
    let needed = vec![true; table.columns.len()];
    reader_over(stand_in, Arc::new(Dameng), table, &needed)
}

fn reader_with(dialect: Arc<dyn Dialect>, table: &Arc<Table>, needed: &[bool]) -> PageReader {
    reader_over(StandIn::shared(), dialect, table, needed)
}

fn reader_over(stand_in: &StandIn, dialect: Arc<dyn Dialect>, table: &Arc<Table>, needed: &[bool]) -> PageReader {
    let codec = Plain(table.clone(), KeyCodec::new(table).unwrap());
    let connection = stand_in.connect();
    let tables = [(table.clone(), needed.to_vec())];
    PageReader::new(connection, dialect, Arc::new(codec), &tables, 1024).unwrap()
}

/// All chunks, cut `at_once` a call.
fn cut(table: &Table, rows: usize, at_once: usize) -> Vec<Chunk> {
    cut_with(&Dameng, table, rows, at_once)
}

fn cut_with(dialect: &dyn Dialect, table: &Table, rows: usize, at_once: usize) -> Vec<Chunk> {
    cut_over(StandIn::shared(), dialect, table, rows, at_once)
}

fn cut_on(stand_in: &StandIn, table: &Table, rows: usize) -> Vec<Chunk> {
    cut_over(stand_in, &Dameng, table, rows, 16)
}

fn cut_over(stand_in: &StandIn, dialect: &dyn Dialect, table: &Table, rows: usize, at_once: usize) -> Vec<Chunk> {
    let mut connection = stand_in.connect();
    let splitter = Splitter::new(dialect, table, rows).unwrap();
    let mut chunks: Vec<Chunk> = Vec::new();
    loop {
        let from = chunks.last().and_then(|chunk| chunk.range.upper.clone());
        let next = splitter.cut(&mut connection, from.as_ref(), at_once).unwrap();
        assert!(!next.is_empty() && next.len() <= at_once);
        chunks.extend(next);
        if chunks.last().unwrap().range.upper.is_none() {
            return chunks;
        }
    }
}

/// The rows of a chunk, page by page, with the keys; pages obey the limit.
fn read(reader: &mut PageReader, chunk: &Chunk, limit: PageLimit) -> Vec<(Vec<u8>, String)> {
    let mut rest = chunk.clone();
    let mut all = Vec::new();
    loop {
        let mut page = PageRows::default();
        let next = reader.select(&rest, limit, &mut page).unwrap();
        assert!(page.len() <= limit.rows && (page.size() <= limit.bytes || page.len() == 1));
        for row in 0..page.len() {
            assert!(rest.range.contains(page.key(row)));
            all.push((
                page.key(row).to_vec(),
                String::from_utf8_lossy(page.row(row)).into_owned(),
            ));
        }
        let Some(next) = next else {
            return all;
        };
        assert!(!page.is_empty() && page.key(page.len() - 1) < &next.0[..]);
        rest.range.lower = Some(next);
    }
}

const WHOLE: PageLimit = PageLimit {
    rows: 100_000,
    bytes: 100 << 20,
};

/// Chunks tile the table, each but the last has its rows, and all pages together are the table, in key order.
fn chunks_and_pages_are_the_table(table: &Arc<Table>, order: &str, sizes: &[usize]) {
    let name = format!("\"{}\".\"T\"", table.name.schema);
    let expected = StandIn::shared().psql(&format!("select * from {name} order by {order}"));
    let expected: Vec<&str> = expected.lines().collect();
    let mut reader = reader(table, &vec![true; table.columns.len()]);
    for &size in sizes {
        let chunks = cut(table, size, 3);
        assert_eq!(
            chunks,
            cut(table, size, 1000),
            "what was cut before a restart stays as it is"
        );
        assert_eq!(chunks.len(), expected.len().div_ceil(size).max(1));
        assert_eq!(
            (&chunks[0].range.lower, &chunks[chunks.len() - 1].range.upper),
            (&None, &None)
        );
        assert!(chunks.windows(2).all(|pair| pair[0].range.upper == pair[1].range.lower));
        for limit in [
            WHOLE,
            PageLimit {
                rows: size / 3 + 1,
                ..WHOLE
            },
            PageLimit { bytes: 64, ..WHOLE },
        ] {
            let mut rows = Vec::new();
            for chunk in &chunks {
                let read = read(&mut reader, chunk, limit);
                assert!(chunk.range.upper.is_none() || read.len() == size);
                rows.extend(read);
            }
            assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let texts: Vec<String> = rows.iter().map(|row| row.1.replace(['<', '>'], "")).collect();
            assert_eq!(texts.len(), expected.len());
            for (row, expected) in texts.iter().zip(&expected) {
                assert_eq!(row, expected);
            }
        }
    }
}

#[test]
fn dense_sparse_and_skewed_integers() {
    let columns = r#""ID" bigint primary key, "V" varchar(20)"#;
    let dense = table("DENSE", columns, "select i, 'v' || i from generate_series(1, 1000) i");
    chunks_and_pages_are_the_table(&dense, "\"ID\"", &[7, 100, 999, 1000, 1001]);
    let gap = "select i, 'a' from generate_series(1, 50) i union all \
               select 9223372036854775807 - i, 'b' from generate_series(0, 49) i union all \
               select -9223372036854775808 + i, 'c' from generate_series(0, 9) i";
    chunks_and_pages_are_the_table(&table("GAP", columns, gap), "\"ID\"", &[3, 40, 109, 110]);
    let skewed = "select distinct (power(1.17, i))::bigint, 's' from generate_series(0, 250) i";
    chunks_and_pages_are_the_table(&table("SKEWED", columns, skewed), "\"ID\"", &[5, 64]);
}

#[test]
fn a_table_smaller_than_a_chunk_is_one_chunk() {
    let columns = r#""ID" int primary key"#;
    chunks_and_pages_are_the_table(&table("EMPTY", columns, "select 1 where false"), "\"ID\"", &[1, 8096]);
    chunks_and_pages_are_the_table(
        &table("SMALL", columns, "select generate_series(1, 5)"),
        "\"ID\"",
        &[5, 8096],
    );
}

#[test]
fn numbers_beyond_64_bits_and_fractions() {
    let rows =
        "select (i::numeric * 18446744073709551616.125 + i / 7.0)::decimal(38,10) from generate_series(-150, 150) i";
    let table = table("WIDE", r#""ID" decimal(38,10) primary key"#, rows);
    chunks_and_pages_are_the_table(&table, "\"ID\"", &[1, 11, 300]);
}

/// The key's order is the constraint's, not the table's; its columns take part in every bound.
#[test]
fn composite_keys() {
    let rows = "select i % 5 - 2, 'it''s ' || chr(945 + i % 7), i / 35 from generate_series(0, 349) i";
    let columns = r#""C" int, "B" varchar(20), "A" bigint, primary key ("B", "C", "A")"#;
    let table = table("COMPOSITE", columns, rows);
    chunks_and_pages_are_the_table(&table, r#""B", "C", "A""#, &[1, 13, 70, 349]);
}

/// Pages that take several SELECTs: each goes on behind the last key of the one before.
#[test]
fn composite_keys_of_rows_with_large_values() {
    let rows = "select i % 3, chr(97 + i / 90), i / 3 % 30, repeat('w', (i * i) % 97) from generate_series(0, 269) i";
    let columns = r#""A" int, "B" varchar(20), "C" bigint, "V" clob, primary key ("A", "B", "C")"#;
    let table = table("COMPOSITE_LARGE", columns, rows);
    chunks_and_pages_are_the_table(&table, r#""A", "B", "C""#, &[1, 13, 90, 269]);
}

#[test]
fn text_and_time_keys() {
    let text = "select x from unnest(array['', 'A', 'Z', 'a', 'a b', 'ab', 'z''', 'ä', '漢字', 'a\\b', '%']) x";
    chunks_and_pages_are_the_table(
        &table("TEXTS", r#""ID" varchar(20) primary key"#, text),
        r#""ID""#,
        &[1, 3],
    );
    let stamps = "select timestamp '1969-12-31 23:59:58' + i * interval '0.3 second' from generate_series(0, 20) i";
    let stamps = table("STAMPS", r#""ID" timestamp(6) primary key"#, stamps);
    let rows = read(&mut reader(&stamps, &[true]), &cut(&stamps, 4, 10)[1], WHOLE);
    assert_eq!(
        rows.iter().map(|row| row.1.as_str()).collect::<Vec<_>>(),
        [
            "S1969-12-31 23:59:59.2",
            "S1969-12-31 23:59:59.5",
            "S1969-12-31 23:59:59.8",
            "S1970-01-01 00:00:00.1",
        ]
    );
}

#[test]
fn padded_keys_go_on_behind_their_blanks() {
    let table = table(
        "PADDED",
        r#""ID" char(6) primary key"#,
        "values ('a'), ('a b'), ('ab'), ('b'), (''), ('a!')",
    );
    let chunks = cut(&table, 2, 10);
    assert_eq!(chunks.len(), 3);
    let mut reader = reader(&table, &[true]);
    let rows: Vec<String> = chunks
        .iter()
        .flat_map(|chunk| read(&mut reader, chunk, WHOLE))
        .map(|row| row.1)
        .collect();
    assert_eq!(
        rows,
        ["<      >", "<a     >", "<a b   >", "<a!    >", "<ab    >", "<b     >"]
    );
}

#[test]
fn values_come_by_their_types_and_only_the_columns_that_are_wanted() {
    let columns = r#""ID" int primary key, "T" tinyint, "D" decimal(20,4), "V" varchar(100), "C" char(5), "DAY" date,
                     "TIM" time(6), "TS" timestamp(6), "F" double, "L" clob, "X" blob"#;
    let rows = "values (1, -128, 12345678.9, 'ein ''Wort''', 'ab', '2024-02-29', '10:20:30.5', '2026-01-02 10:20:30.123456', 0.1, 'clob', 'xyz'),
                       (2, null, null, null, null, null, null, null, null, null, null), (3, 1, 0, '', '', '1969-12-31', '00:00:00', '1969-12-31 23:59:59', 1e300, '', '')";
    let table = table("TYPES", columns, rows);
    let all = read(&mut reader(&table, &[true; 11]), &cut(&table, 10, 1)[0], WHOLE);
    assert_eq!(
        all.iter().map(|row| row.1.as_str()).collect::<Vec<_>>(),
        [
            "1|-128|12345678.9000|<ein 'Wort'>|<ab   >|D2024-02-29|T10:20:30.5|S2026-01-02 10:20:30.123456|0.1|<clob>|xyz",
            "2|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
            "3|1|0.0000|<>|<     >|D1969-12-31|T00:00:00|S1969-12-31 23:59:59|1e+300|<>|",
        ]
    );
    let mut needed = [false; 11];
    (needed[0], needed[3], needed[9]) = (true, true, true);
    let some = read(&mut reader(&table, &needed), &cut(&table, 10, 1)[0], WHOLE);
    assert_eq!(some[0].1, "1|-|-|<ein 'Wort'>|-|-|-|-|-|<clob>|-");
}

#[test]
fn long_values_come_whole_and_end_pages_by_their_bytes() {
    let rows = "select i, repeat('ж', i * 20000), repeat('ab', i * 300) from generate_series(0, 40) i";
    let table = table("LONG", r#""ID" int primary key, "L" clob, "V" varchar(30000)"#, rows);
    let mut reader = reader(&table, &[true; 3]);
    let limit = PageLimit {
        rows: 1000,
        bytes: 5 << 20,
    };
    let all = read(&mut reader, &cut(&table, 1000, 1)[0], limit);
    assert_eq!(all.len(), 41);
    for (number, (_, row)) in all.iter().enumerate() {
        assert_eq!(
            *row,
            format!(
                "{number}|<{}>|<{}>",
                "ж".repeat(number * 20_000),
                "ab".repeat(number * 300)
            )
        );
    }
}

/// Rows that come while the table is read: cut or read again, nothing stands twice and nothing is left out.
#[test]
fn bounds_stay_when_rows_come_and_go() {
    let stand_in = StandIn::shared();
    let table = table(
        "MOVING",
        r#""ID" bigint primary key"#,
        "select i * 10 from generate_series(1, 300) i",
    );
    let mut connection = stand_in.connect();
    let splitter = Splitter::new(&Dameng, &table, 100).unwrap();
    let first = splitter.cut(&mut connection, None, 1).unwrap();
    stand_in.psql(r#"delete from "MOVING"."T" where "ID" <= 1500; insert into "MOVING"."T" select i from generate_series(5001, 5100) i"#);
    let from: Option<&Key> = first[0].range.upper.as_ref();
    let rest = splitter.cut(&mut connection, from, 100).unwrap();
    let mut reader = reader(&table, &[true]);
    let chunks: Vec<&Chunk> = first.iter().chain(&rest).collect();
    assert!(chunks.windows(2).all(|pair| pair[0].range.upper == pair[1].range.lower));
    let rows: Vec<i64> = chunks
        .iter()
        .flat_map(|chunk| read(&mut reader, chunk, PageLimit { rows: 17, ..WHOLE }))
        .map(|row| row.1.parse().unwrap())
        .collect();
    let expected: Vec<i64> = (151..=300).map(|i| i * 10).chain(5001..=5100).collect();
    assert_eq!(rows, expected);
}

/// Where the database's order is not the bytes', changes would be looked for in the wrong chunk: better no page at all.
#[test]
fn an_order_that_is_not_the_bytes_is_refused() {
    StandIn::shared().psql("create collation us (provider = libc, locale = 'en_US.UTF-8')");
    for (schema, collation, more, values) in [
        ("OTHERWISE", "und-x-icu", "", "('a'), ('b'), ('C'), ('d')"),
        ("OTHERWISE_OF_LIBC", "us", "", "('a'), ('b'), ('C'), ('d')"),
        (
            "OTHERWISE_LARGE",
            "und-x-icu",
            r#", "V" clob"#,
            "('a', '-'), ('b', '-'), ('C', '-'), ('d', '-')",
        ),
    ] {
        an_order_is_refused(schema, collation, more, values);
    }
}

fn an_order_is_refused(schema: &str, collation: &str, more: &str, values: &str) {
    let columns = format!(r#""ID" varchar(20) collate "{collation}" primary key{more}"#);
    let table = table(schema, &columns, &format!("values {values}"));
    let mut connection = StandIn::shared().connect();
    let splitter = Splitter::new(&Dameng, &table, 1).unwrap();
    let error = splitter.cut(&mut connection, None, 10).unwrap_err();
    assert!(error.to_string().contains("orders the key otherwise"), "{error}");
    let whole = Chunk {
        table: table.name.clone(),
        range: tidemark::split::KeyRange::ALL,
    };
    for rows in [2, 3, 10] {
        let limit = PageLimit { rows, ..WHOLE };
        let error = reader(&table, &vec![true; table.columns.len()])
            .select(&whole, limit, &mut PageRows::default())
            .unwrap_err();
        assert!(error.to_string().contains("orders the key otherwise"), "{error}");
        assert!(error.to_string().contains(&format!("{schema}.T")), "{error}");
    }
}
