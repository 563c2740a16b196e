//! Keys: which one is taken, and that chunks and pages have every row once, whatever the key is made of.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{ColumnType, Table};
use tidemark::dialect::Dialect;
use tidemark::dialect::page::{Bounds, PageRequest, page};
use tidemark::error::Result;
use tidemark::odbc::{ColumnSpec, Connection};
use tidemark::position::Point;
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::exact::ExactPages;
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::splitter::Splitter;
use tidemark::snapshot::{PageLimit, PageRows, PageSource, Piece};
use tidemark::split::{Chunk, Key, KeyRange};
use tidemark::unavailable::look_up::{FoundRows, KeyedSource, LookUp, table_key};
use tidemark::unavailable::select::KeyReader;

use crate::key_kinds::{KINDS, SETUP};
use crate::support::postgres::{clock, connect, dialect, patience, shared};
use crate::{psql, read, support};

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

const ROWS: usize = 150;

#[test]
fn chunks_and_pages_of_every_kind_of_key_have_each_row_once_and_in_order() {
    psql(SETUP);
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
        assert_eq!(splitter.cut_by_sorting(&mut connection, None).unwrap(), chunks);
        let behind = chunks[1].range.upper.clone();
        let rest = splitter.cut_by_sorting(&mut connection, behind.as_ref()).unwrap();
        assert_eq!(rest, chunks[2..]);
        let order: Vec<String> = (table.key.iter())
            .map(|&column| {
                let column = &table.columns[column];
                match column.kind {
                    ColumnType::Text { .. } => format!("{}::text collate \"C\"", column.name),
                    ColumnType::Shown { ordered: false } => format!("format('%s', {}) collate \"C\"", column.name),
                    _ => column.name.clone(),
                }
            })
            .collect();
        let expected = psql(&format!("select v from kinds.{name} order by {}", order.join(", ")));
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(by_pages(connection, &table, &chunks), expected, "{columns}");
        assert_eq!(by_sorting(&table, &chunks), expected, "{columns}");
        assert_eq!(by_keys(&table), expected, "{columns}");
    }
}

/// Each row looked up by the key that its page gave it, as values are that the log does not hold.
fn by_keys(table: &Arc<Table>) -> Vec<String> {
    let whole = Chunk {
        table: table.name.clone(),
        range: KeyRange::ALL,
    };
    let mut page = PageRows::default();
    let limit = PageLimit { rows: ROWS, ..LIMIT };
    reader(connect(shared()), table)
        .select(&whole, limit, &mut page)
        .unwrap();
    let keys: Vec<&[u8]> = (0..page.len()).map(|row| page.key(row)).collect();
    let found = looked_up(table, &keys);
    assert_eq!(found.len(), keys.len());
    keys.iter().map(|key| v_of(table, &found, key).unwrap()).collect()
}

fn looked_up(table: &Arc<Table>, keys: &[&[u8]]) -> FoundRows {
    let mut found = FoundRows::default();
    let wanted = LookUp {
        number: 0,
        table,
        columns: &[table.columns.len() - 1],
        keys,
        room: usize::MAX,
    };
    let mut reader = KeyReader::new(connect(shared()), dialect());
    assert!(reader.look_up(&wanted, &mut found).unwrap());
    found
}

fn v_of(table: &Table, found: &FoundRows, key: &[u8]) -> Option<String> {
    let image = found.get(&table_key(0, key))?;
    match found.values.get(image, table.columns.len() - 1) {
        Value::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// The server takes keys for equal that are others in the log: a row that is looked up is that key's or none.
#[test]
fn a_row_whose_key_the_server_takes_for_equal_is_not_the_one_that_is_looked_up() {
    psql(
        "create schema equals; create collation equals.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
         create extension if not exists citext",
    );
    for (number, kind) in [
        "text collate equals.ci",
        "varchar(9) collate equals.ci",
        "citext",
        "char(9) collate equals.ci",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("t{number}");
        psql(&format!(
            "create table equals.{name} (a {kind}, b int, v text, primary key (a, b)); insert into equals.{name} values ('a', 1, 'lower')"
        ));
        let table = read("equals", &name).unwrap();
        let key_now = || {
            let mut page = PageRows::default();
            let whole = Chunk {
                table: table.name.clone(),
                range: KeyRange::ALL,
            };
            reader(connect(shared()), &table)
                .select(&whole, LIMIT, &mut page)
                .unwrap();
            page.key(0).to_vec()
        };
        let lower = key_now();
        psql(&format!(
            "delete from equals.{name}; insert into equals.{name} values ('A', 1, 'upper')"
        ));
        let upper = key_now();
        let found = looked_up(&table, &[&lower, &upper]);
        let of = |key: &[u8]| v_of(&table, &found, key);
        assert_eq!((of(&lower), of(&upper).as_deref()), (None, Some("upper")), "{kind}");
    }
}

const LIMIT: PageLimit = PageLimit {
    rows: 17,
    bytes: 1 << 20,
};

fn reader(connection: Connection, table: &Arc<Table>) -> PageReader {
    let codec = Arc::new(Plain(table.clone(), KeyCodec::new(table).unwrap()));
    let tables = [(table.clone(), vec![true; table.columns.len()])];
    PageReader::new(connection, dialect(), codec, &tables, 1024).unwrap()
}

fn values(rows: &PageRows, len: usize) -> Vec<String> {
    let value = |row| String::from_utf8(rows.row(row).to_vec()).unwrap();
    (0..len).map(value).collect()
}

fn by_pages(connection: Connection, table: &Arc<Table>, chunks: &[Chunk]) -> Vec<String> {
    let mut reader = reader(connection, table);
    let mut all = Vec::new();
    for chunk in chunks {
        let mut rest = chunk.clone();
        loop {
            let mut page = PageRows::default();
            let next = reader.select(&rest, LIMIT, &mut page).unwrap();
            all.extend(values(&page, page.len()));
            let Some(next) = next else { break };
            rest.range.lower = Some(next);
        }
    }
    all
}

fn by_sorting(table: &Arc<Table>, chunks: &[Chunk]) -> Vec<String> {
    let patience = patience(Duration::from_secs(120));
    let reader = reader(connect(shared()), table);
    let mut pages = ExactPages::new(reader, dialect(), patience, Box::new(clock()));
    let mut all = Vec::new();
    for chunk in chunks {
        let point = pages.sort(chunk).unwrap();
        assert!(matches!(point, Point::Snapshot { .. }), "{point:?}");
        let mut next: Option<Key> = None;
        let take = &mut |piece: Piece| {
            assert!(piece.len <= LIMIT.rows);
            if let Some(next) = &next {
                assert_eq!(piece.rows.key(0), &*next.0, "each piece says what follows it");
            }
            all.extend(values(&piece.rows, piece.len));
            next = (piece.rows.len() > piece.len).then(|| Key(piece.rows.key(piece.len).into()));
            Ok(())
        };
        pages.select_sorted(chunk, LIMIT, take).unwrap();
        assert_eq!(next, None);
    }
    all
}

fn indexes(table: &Table) -> (i64, Option<String>) {
    let index = (dialect().key_index(&table.name, table.object_id, &table.key_columns())).unwrap();
    let rows = connect(shared()).rows(&index.there.sql, &index.there.columns).unwrap();
    (rows[0][0].int().unwrap(), index.create)
}

/// Whether the server reads a page of a table by an index alone.
fn is_served(table: &Table) -> bool {
    let columns = table.key_columns();
    let request = PageRequest {
        table: table.rows(),
        columns: &[columns[0].name.to_owned()],
        key: &columns,
        segment: Bounds::default().segments()[0],
        rows: 10,
    };
    let sql = page(&*dialect(), &request);
    let plan = psql(&format!(
        "set enable_seqscan = off; set enable_incremental_sort = off; explain {sql}"
    ));
    !plan.contains("Sort")
}

/// What is asked of the catalogue is what the server then does: with the primary key alone, and with the index that users
/// are told to make.
#[test]
fn an_index_in_the_order_of_the_key_is_known_where_the_server_takes_it() {
    psql(
        "create schema idx; create type idx.mood as enum ('b', 'a'); create domain idx.code as varchar(20) collate \"en-x-icu\"; \
         create collation idx.us (provider = libc, locale = 'en_US.UTF-8')",
    );
    let by_default = support::locale().starts_with('C');
    let cases = [
        ("a text, primary key (a)", "", by_default),
        ("a text collate idx.us, primary key (a)", "", false),
        ("a int, b varchar(9) collate idx.us, primary key (a, b)", "", false),
        ("a text collate \"POSIX\", primary key (a)", "", true),
        ("a int, b text, primary key (a, b)", "", by_default),
        ("a int, b text, primary key (b, a)", "", by_default),
        ("a text collate \"en-x-icu\", primary key (a)", "", false),
        ("a idx.code, b int, primary key (a, b)", "", false),
        ("a char(5) collate \"en-x-icu\", primary key (a)", "", false),
        ("a int, b text collate \"und-x-icu\", primary key (a, b)", "", false),
        ("a idx.mood, primary key (a)", "", false),
        ("a inet, primary key (a)", "", false),
        ("a int, b int, primary key (a, b)", "b", false),
        ("a int, b text collate \"en-x-icu\", primary key (b, a)", "a", false),
        (
            "a date, b timestamptz, c numeric, d uuid, e bytea, primary key (a, b, c, d, e)",
            "",
            true,
        ),
    ];
    for (number, (columns, first, expected)) in cases.into_iter().enumerate() {
        let name = format!("t{number}");
        psql(&format!("create table idx.{name} ({columns})"));
        let look = || {
            let mut table = Table::clone(&read("idx", &name).unwrap());
            if !first.is_empty() {
                table.lead_with(first).unwrap();
            }
            table
        };
        let table = look();
        let (there, create) = indexes(&table);
        assert_eq!((there > 0, is_served(&table)), (expected, expected), "{columns}");
        // Indexes that are none of it.
        let key = table.key_columns();
        let (first, collated) = (key[0].name, key.iter().any(|column| column.collated));
        psql(&format!(
            "create index on idx.{name} ({first} desc nulls last); create index on idx.{name} ({first}) where {first} is null; \
             create index on idx.{name} using hash ({first}); create index on idx.{name} (({first} is null), {first})"
        ));
        let (still, _) = indexes(&table);
        assert_eq!((still > 0, is_served(&table)), (expected, expected), "{columns}");
        let Some(create) = create else {
            assert!(key.iter().any(|column| column.shown));
            continue;
        };
        assert_eq!(create.contains("COLLATE"), collated, "{create}");
        psql(&create);
        let table = look();
        assert_eq!((indexes(&table).0, is_served(&table)), (there + 1, true), "{create}");
    }
}

/// A database's own collation is what most texts have: here it is a language's.
#[test]
fn the_same_holds_where_the_database_orders_text_by_a_language_of_libc() {
    const LOCALE: &str = "en_US.UTF-8";
    if support::locale() == LOCALE {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["keys::", "--nocapture"])
        .env("SERVER_LOCALE", LOCALE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("test keys::chunks_and_pages"),
        "{said}\n{errors}"
    );
}

/// Whatever the pages, the server looks at the whole table once for each chunk and once to find these, of which there are
/// no more however long the table is: told by its own counters.
#[test]
fn without_an_index_the_table_is_read_once_a_chunk_whatever_its_length() {
    psql("create schema sorted");
    for rows in [500, 2000] {
        psql(&format!(
            "create table sorted.t{rows} (a text collate \"en-x-icu\" primary key, v text); insert into sorted.t{rows} \
             select (array['a', 'B', 'ä', 'Z'])[g % 4 + 1] || g, g from generate_series(1, {rows}) g"
        ));
        psql(&format!("vacuum analyze sorted.t{rows}"));
        let counted = || {
            let counted = psql(&format!(
                "select seq_scan, seq_tup_read, coalesce(idx_scan, 0) from pg_stat_user_tables where schemaname = 'sorted' and relname = 't{rows}'"
            ));
            let counted: Vec<usize> = counted.trim().split('|').map(|count| count.parse().unwrap()).collect();
            counted
        };
        let before = counted();
        let table = read("sorted", &format!("t{rows}")).unwrap();
        let mut connection = connect(shared());
        let pid = connection.rows("select pg_backend_pid()", &[ColumnSpec::Int]).unwrap()[0][0]
            .int()
            .unwrap();
        let chunks = Splitter::new(&*dialect(), &table, 10)
            .unwrap()
            .cut_by_sorting(&mut connection, None)
            .unwrap();
        assert!((25..=32).contains(&chunks.len()), "{}", chunks.len());
        let patience = patience(Duration::from_secs(120));
        let mut pages = ExactPages::new(reader(connection, &table), dialect(), patience, Box::new(clock()));
        let mut came = 0;
        for chunk in &chunks {
            pages.sort(chunk).unwrap();
            let take = &mut |piece: Piece| {
                came += piece.len;
                Ok(())
            };
            let few = PageLimit {
                rows: 3,
                bytes: 1 << 20,
            };
            pages.select_sorted(chunk, few, take).unwrap();
        }
        assert_eq!(came, rows);
        drop(pages);
        // A session counts at its end.
        while psql(&format!("select count(*) from pg_stat_activity where pid = {pid}")).trim() != "0" {
            std::thread::sleep(Duration::from_millis(5));
        }
        let after = counted();
        let scans = chunks.len() + 1;
        let expected = [before[0] + scans, before[1] + scans * rows, before[2]];
        assert_eq!(after, expected, "scans, rows they read, scans of the index");
    }
}
