//! Options of the snapshot phase.

use std::collections::BTreeSet;

use serde_json::Value;
use tidemark::error::ErrorKind;

use crate::job::{Job, Row};
use crate::server::{count, shared, statements, table, until};

fn whole(rows: usize) -> Vec<Row> {
    (1..=rows as i64).map(|id| (0, id, Some(id as i32))).collect()
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable();
    rows
}

/// A session of the tables' owner in a transaction, which ends when it is dropped.
pub fn session() -> tidemark::odbc::Connection {
    let mut endpoint = shared().endpoint();
    endpoint.username = shared().value("ADMIN").into();
    endpoint.password = tidemark::odbc::Secret::new(shared().value("ADMIN_PASSWORD"));
    let settings = tidemark::dialect::Dialect::connection(&tidemark::dialect::dameng::Dameng, &endpoint);
    let mut connection = tidemark::odbc::Connection::open(&settings).unwrap();
    connection.execute("begin").unwrap();
    connection
}

/// A session that holds a lock which no reader gets past, until it is dropped.
pub fn locked(schema: &str) -> tidemark::odbc::Connection {
    let mut connection = session();
    connection
        .execute(&format!(r#"lock table "{schema}"."T" in access exclusive mode"#))
        .unwrap();
    connection
}

pub fn waiting(schema: &str, sessions: usize) -> String {
    format!(r#"select count(*) = {sessions} from pg_locks where not granted and relation = '"{schema}"."T"'::regclass"#)
}

#[test]
fn pages_are_read_over_so_many_connections_at_once() {
    table("CONNECTIONS", 600);
    let options = [
        ("scan.snapshot.connections", 3.into()),
        ("scan.incremental.snapshot.chunk.size", 50.into()),
    ];
    let job = Job::new(shared(), "CONNECTIONS", &options);
    let chunks = job.start_snapshot();
    assert!(chunks.len() >= 10);
    let lock = locked("CONNECTIONS");
    let rows = std::thread::scope(|scope| {
        let rows = scope.spawn(|| job.rest_of_snapshot(chunks).unwrap());
        until(&waiting("CONNECTIONS", 3));
        drop(lock);
        rows.join().unwrap()
    });
    assert_eq!(sorted(rows), whole(600));
    let pages = statements("CONNECTIONS");
    let sessions: BTreeSet<u32> = pages
        .iter()
        .filter(|(_, statement)| statement.contains(r#"FROM "CONNECTIONS"."T""#) && statement.contains("LIMIT 51"))
        .map(|(process, _)| *process)
        .collect();
    assert_eq!(sessions.len(), 3, "{pages:?}");
}

#[test]
fn closing_ends_the_selects_of_all_connections() {
    table("CLOSING", 600);
    let options = [
        ("scan.snapshot.connections", 3.into()),
        ("scan.incremental.snapshot.chunk.size", 50.into()),
    ];
    let job = Job::new(shared(), "CLOSING", &options);
    let chunks = job.start_snapshot();
    let lock = locked("CLOSING");
    std::thread::scope(|scope| {
        let rows = scope.spawn(|| job.rest_of_snapshot(chunks));
        until(&waiting("CLOSING", 3));
        job.reader.cancel();
        job.reader.close();
        assert!(matches!(rows.join().unwrap().unwrap_err().kind(), ErrorKind::Closed));
    });
    until(&waiting("CLOSING", 0));
    drop(lock);
}

#[test]
fn rows_of_a_fetch_are_what_is_asked_for() {
    table("FETCH", 300);
    for size in [7, 70] {
        let options = [("scan.snapshot.fetch.size", Value::from(size))];
        let rows = Job::new(shared(), "FETCH", &options).snapshot().unwrap();
        assert_eq!(sorted(rows), whole(300));
        assert!(
            count("FETCH", &format!("fetch {size} in ")) >= 300 / size,
            "{:#?}",
            statements("FETCH")
        );
    }
}

/// Pages and rounds of a snapshot of 600 rows of some 130 bytes each.
fn pages_and_rounds(schema: &str, options: &[(&str, Value)]) -> (i64, i64) {
    let job = Job::new(shared(), schema, options);
    let chunks = job.start_snapshot();
    let rows = job.rest_of_snapshot(chunks).unwrap();
    assert_eq!(sorted(rows), whole(600));
    (job.metric("pagesRead"), job.metric("roundsClosed"))
}

#[test]
fn a_page_ends_at_its_bytes() {
    table("PAGE", 600);
    assert_eq!(pages_and_rounds("PAGE", &[]), (1, 1));
    let (pages, _) = pages_and_rounds("PAGE", &[("scan.snapshot.page.bytes", 8192.into())]);
    assert!((8..=20).contains(&pages), "{pages} pages");
    // One SELECT a page, two of them of the first snapshot and of the grants' check.
    let selects = count("PAGE", r#"FROM "PAGE"."T" "#);
    assert!(selects >= pages as usize, "{selects} SELECTs");
}

/// The numbers behind a word in the statements of those connections that read a table's `V`, in order.
fn numbers_behind(word: &str, schema: &str) -> Vec<usize> {
    let reads = format!(r#""V" FROM "{schema}"."T""#);
    let all = statements(schema);
    let reading: BTreeSet<u32> = (all.iter().filter(|(_, statement)| statement.contains(&reads)))
        .map(|(process, _)| *process)
        .collect();
    let number = |statement: &str| {
        let (_, rest) = statement.split_once(word)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let statements = all.iter().filter(|(process, statement)| {
        reading.contains(process) && (statement.contains(&reads) || statement.starts_with("fetch"))
    });
    statements.filter_map(|(_, statement)| number(statement)).collect()
}

/// What a SELECT gives a driver may take at once: no more large rows are asked for than a page has room for, as far as
/// the rows before tell, and of small ones soon a page's.
#[test]
fn large_rows_are_asked_for_as_a_page_has_room_for_them() {
    shared().psql(
        r#"create schema "LARGE"; create table "LARGE"."T" ("ID" bigint primary key, "N" decimal(20), "V" clob);
           insert into "LARGE"."T" select g, g, repeat('x', case when g <= 100 then 10 else 60000 end) from generate_series(1, 140) g"#,
    );
    let rows = Job::new(
        shared(),
        "LARGE",
        &[("scan.snapshot.page.bytes", Value::from(256 << 10))],
    );
    assert_eq!(sorted(rows.snapshot().unwrap()), whole(140));
    let limits = numbers_behind("LIMIT ", "LARGE");
    assert_eq!(limits[..7], [1, 2, 4, 8, 16, 32, 64]);
    assert!(limits[7..].iter().all(|&rows| rows <= 4), "{limits:?}");
    assert!(limits[7..].len() < 40, "{limits:?}");
}

/// Nothing limits the SELECT that reads a table without a key: a driver is asked for no more large rows at a time than
/// make some megabytes.
#[test]
fn a_fetch_of_large_rows_is_small() {
    for (schema, bytes, expected) in [
        ("FETCHED_LARGE", 1_500_000, &[1, 2, 2][..]),
        ("FETCHED_HUGE", 5_000_000, &[1, 1, 1]),
        ("FETCHED_SMALL", 1000, &[1, 2, 4, 8, 16]),
    ] {
        let count = expected.iter().sum::<usize>();
        shared().psql(&format!(
            r#"create schema "{schema}"; create table "{schema}"."T" ("ID" bigint, "N" decimal(20), "V" clob);
               insert into "{schema}"."T" select g, g, repeat('x', {bytes}) from generate_series(1, {count}) g"#
        ));
        let options = [
            ("table-without-key", "reread".into()),
            ("value.unavailable", "placeholder".into()),
        ];
        let rows = Job::new(shared(), schema, &options).snapshot().unwrap();
        assert_eq!(sorted(rows), whole(count));
        let fetches = numbers_behind("fetch ", schema);
        assert_eq!(fetches[..expected.len()], *expected, "{schema}: {fetches:?}");
    }
}

#[test]
fn a_round_ends_at_its_bytes() {
    table("ROUND", 600);
    let chunk = ("scan.incremental.snapshot.chunk.size", Value::from(50));
    let one = ("scan.snapshot.connections", Value::from(1));
    let (pages, rounds) = pages_and_rounds("ROUND", &[chunk.clone(), one.clone()]);
    assert!(pages >= 12 && rounds < pages / 2, "{pages} pages in {rounds} rounds");
    let bytes = ("scan.snapshot.round.bytes", Value::from(1024));
    let (pages, rounds) = pages_and_rounds("ROUND", &[chunk, one, bytes]);
    assert_eq!(pages, rounds);
}

#[test]
fn a_value_that_does_not_fit_fails_or_goes_out_as_null() {
    table("VALUES", 3);
    shared().psql(r#"update "VALUES"."T" set "N" = 12345678901 where "ID" = 2"#);
    let error = Job::new(shared(), "VALUES", &[]).snapshot().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Value { column, .. } if column == "N"),
        "{error}"
    );

    let job = Job::new(shared(), "VALUES", &[("value.on-error", "null".into())]);
    let chunks = job.start_snapshot();
    let rows = job.rest_of_snapshot(chunks).unwrap();
    assert_eq!(rows, [(0, 1, Some(1)), (0, 2, None), (0, 3, Some(3))]);
    assert_eq!(job.metric("valuesNulled"), 1);

    let job = Job::new(shared(), "VALUES", &[("value.on-error", "null".into())]);
    job.start_stream();
    shared().psql(r#"insert into "VALUES"."T" values (4, 4, ''), (5, 99999999999, '')"#);
    assert_eq!(job.stream(2).unwrap(), [(0, 4, Some(4)), (0, 5, None)]);
    assert_eq!(job.metric("valuesNulled"), 1);
}
