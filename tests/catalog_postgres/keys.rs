//! Keys: which one is taken, and that chunks and pages have every row once, whatever the key is made of.

use std::sync::Arc;

use tidemark::catalog::Table;
use tidemark::catalog::key::KeyCodec;
use tidemark::error::Result;
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::splitter::Splitter;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};

use crate::support::postgres::{connect, dialect, shared};
use crate::{psql, read};

fn key(schema: &str, table: &str) -> Vec<String> {
    let table = read(schema, table).unwrap();
    table
        .key
        .iter()
        .map(|&column| table.columns[column].name.clone())
        .collect()
}

#[test]
fn the_key_is_the_one_whose_old_values_the_log_has_and_that_tells_rows_apart() {
    psql(
        "create schema k; create table k.p (a int, b int, c int, primary key (c, a) include (b)); \
         create table k.u (a int, b int not null, c int not null, d int not null, e int not null unique deferrable); \
         create unique index k0 on k.u (b) where d > 0; create unique index k1 on k.u (a); create unique index k2 on k.u ((b + 1)); \
         create unique index k3 on k.u (d, c); create unique index k4 on k.u (b); \
         create table k.i (a int primary key, b int not null, c int not null); create unique index k5 on k.i (c, b); \
         alter table k.i replica identity using index k5; create table k.none (a int unique, b json); \
         create table k.f (f float8 primary key, n int not null unique); create table k.part (a int, b int, primary key (b, a)) partition by hash (a)",
    );
    assert_eq!(key("k", "p"), ["c", "a"]);
    assert_eq!(key("k", "u"), ["d", "c"]);
    assert_eq!(
        key("k", "i"),
        ["c", "b"],
        "of the primary key the log does not have the old values"
    );
    assert!(key("k", "none").is_empty());
    assert_eq!(key("k", "f"), ["n"], "a floating-point number is passed over");
    assert_eq!(key("k", "part"), ["b", "a"]);
}

/// Keys as the product makes them, rows as the one text column `v`.
struct Plain(Arc<Table>, KeyCodec);

impl RowCodec for Plain {
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
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match values.get(image, self.0.columns.len() - 1) {
            Value::Text(text) => out.extend_from_slice(text),
            other => panic!("{other:?}"),
        }
        Ok(())
    }
}

/// Columns with their key, and expressions over `g`, each of whose values gives another key.
const KINDS: &[(&str, &str)] = &[
    (
        "a smallint, b bigint, primary key (a, b)",
        "g % 7 - 3, (g::bigint - 75) * 100000000000",
    ),
    ("a numeric(20, 4) primary key", "(g - 75) * 1.25"),
    ("a numeric primary key", "((g - 75) || 'e' || (g % 60 - 30))::numeric"),
    (
        "a text primary key",
        "(array['a', 'B', 'ä', 'Z', '中', '-', ' '])[g % 7 + 1] || g || repeat('x', g % 3)",
    ),
    (
        "a varchar(40) collate \"en-x-icu\" primary key",
        "(array['a', 'B', 'ä', 'Z', '_', '-', ' '])[g % 7 + 1] || g",
    ),
    (
        "a text collate \"C\", b int, primary key (a, b)",
        "(array['a', 'B', 'ä'])[g % 3 + 1], g",
    ),
    (
        "a text collate \"und-x-icu\", b int, primary key (b, a)",
        "(array['a', 'B', 'ä'])[g % 3 + 1], g / 2",
    ),
    (
        "a char(12) collate \"en-x-icu\" primary key",
        "(array['a', 'B', 'ä', 'a b'])[g % 4 + 1] || g",
    ),
    ("a name primary key", "'n' || g"),
    (
        "a bytea primary key",
        "decode(lpad(to_hex(g * 7 % 256), 2, '0') || '00ff' || lpad(to_hex(g), 4, '0'), 'hex')",
    ),
    ("a boolean, b int, primary key (a, b)", "g % 2 = 0, g"),
    ("a date primary key", "date '1900-02-27' + g * 97"),
    (
        "a time primary key",
        "time '00:00:00.000001' + g * interval '9 min 59.1 s'",
    ),
    (
        "a timestamp primary key",
        "timestamp '1969-12-31 23:59:00.5' + g * interval '1.000001 s'",
    ),
    (
        "a timestamptz(3) primary key",
        "timestamptz '1969-12-31 23:59:00.5+08' + g * interval '37 min'",
    ),
    ("a uuid primary key", "md5(g::text)::uuid"),
    ("a oid primary key", "(4294967295 - g)::oid"),
];

const ROWS: usize = 150;

#[test]
fn chunks_and_pages_of_every_kind_of_key_have_each_row_once_and_in_order() {
    psql("create schema kinds");
    let dialect = dialect();
    for (number, (columns, values)) in KINDS.iter().enumerate() {
        println!("{columns}");
        let name = format!("t{number}");
        psql(&format!(
            "create table kinds.{name} ({columns}, v text); insert into kinds.{name} select {values}, g from generate_series(1, {ROWS}) g"
        ));
        let table = read("kinds", &name).unwrap();
        let splitter = Splitter::new(&*dialect, &table, 40).unwrap();
        let mut connection = connect(shared());
        let mut chunks = splitter.cut(&mut connection, None, 2).unwrap();
        while let Some(upper) = chunks.last().unwrap().range.upper.clone() {
            chunks.extend(splitter.cut(&mut connection, Some(&upper), 2).unwrap());
        }
        assert_eq!(chunks.len(), 4);
        let needed = vec![true; table.columns.len()];
        let codec = Arc::new(Plain(table.clone(), KeyCodec::new(&table).unwrap()));
        let tables = [(table.clone(), needed)];
        let mut reader = PageReader::new(connection, dialect.clone(), codec, &tables, 1024).unwrap();
        let mut rows = Vec::new();
        for chunk in chunks {
            let mut rest = chunk;
            loop {
                let limit = PageLimit {
                    rows: 17,
                    bytes: 1 << 20,
                };
                let mut page = PageRows::default();
                let next = reader.select(&rest, limit, &mut page).unwrap();
                rows.extend((0..page.len()).map(|row| String::from_utf8(page.row(row).to_vec()).unwrap()));
                let Some(next) = next else { break };
                rest.range.lower = Some(next);
            }
        }
        let order: Vec<String> = (table.key.iter())
            .map(|&column| {
                let column = &table.columns[column];
                let text = matches!(column.kind, tidemark::catalog::ColumnType::Text { .. });
                format!("{}{}", column.name, if text { " collate \"C\"" } else { "" })
            })
            .collect();
        let expected = psql(&format!("select v from kinds.{name} order by {}", order.join(", ")));
        assert_eq!(rows.join("\n"), expected.trim(), "{columns}");
    }
}

#[test]
fn an_index_that_is_in_the_order_of_bytes_serves_as_it_is() {
    psql(
        "create schema idx; create table idx.c (a text primary key, v text); create table idx.u (a text collate \"en-x-icu\" primary key, v text)",
    );
    for (table, collated) in [("c", false), ("u", true)] {
        let table = read("idx", table).unwrap();
        assert_eq!(table.columns[0].collated, collated);
        let columns = table.key_columns();
        let request = tidemark::dialect::page::PageRequest {
            table: &table.name,
            columns: &["a".to_owned()],
            key: &columns,
            segment: tidemark::dialect::page::Bounds::default().segments()[0],
            rows: 10,
        };
        let sql = tidemark::dialect::page::page(&*dialect(), &request);
        let plan = psql(&format!("set enable_seqscan = off; explain {sql}"));
        assert_eq!(plan.contains("Sort"), collated, "{plan}");
    }
}
