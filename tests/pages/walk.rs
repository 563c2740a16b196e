//! What cutting and reading costs: each entry of the index is read a fixed number of times, however the keys lie.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidemark::catalog::Table;
use tidemark::snapshot::PageLimit;

use crate::support::stand_in::StandIn;
use crate::{WHOLE, cut_on, read, reader_on, table};

const ROWS: u64 = 6_000;
const CHUNK: usize = 200;

/// Entries of the key's index that all sessions together have read. A session says so when it ends.
fn entries_read(schema: &str) -> u64 {
    let waited = Instant::now();
    let others = "select count(*) from pg_stat_activity where usename = 'TIDEMARK' and query like '%\"SCHEMA\".%'";
    while StandIn::shared().psql(&others.replace("SCHEMA", schema)).trim() != "0" {
        assert!(waited.elapsed() < Duration::from_secs(60));
    }
    let read = StandIn::shared().psql(&format!(
        "select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = '{schema}'"
    ));
    read.trim().parse().unwrap()
}

fn costs(schema: &str, table: &Arc<Table>) -> (u64, u64) {
    let before = entries_read(schema);
    let chunks = cut_on(StandIn::shared(), table, CHUNK);
    assert_eq!(chunks.len() as u64, ROWS.div_ceil(CHUNK as u64));
    let cut = entries_read(schema) - before;
    let mut reader = reader_on(StandIn::shared(), table);
    let limit = PageLimit {
        rows: CHUNK / 2,
        ..WHOLE
    };
    let rows: usize = chunks.iter().map(|chunk| read(&mut reader, chunk, limit).len()).sum();
    assert_eq!(rows as u64, ROWS);
    drop(reader);
    (cut, entries_read(schema) - before - cut)
}

/// F57: no giant last chunk; and no step or page that passes over what the ones before it had, also where the key's first
/// columns are one value for all rows.
#[test]
fn each_entry_of_the_index_is_read_a_fixed_number_of_times() {
    for (schema, key, rows) in [
        (
            "WALK_ONE",
            r#""A" bigint, "B" int, "C" int, primary key ("A")"#,
            "g, 1, 1",
        ),
        (
            "WALK_SKEWED",
            r#""A" bigint, "B" int, "C" int, primary key ("A", "B", "C")"#,
            "1, 1, g",
        ),
        (
            "WALK_EVEN",
            r#""A" bigint, "B" int, "C" int, primary key ("A", "B", "C")"#,
            "g / 70, g % 70 / 7, g % 7",
        ),
        (
            "WALK_LARGE",
            r#""A" bigint, "B" int, "C" int, "V" clob, primary key ("A", "B", "C")"#,
            "1, g / 70, g % 70, repeat('v', g % 100)",
        ),
    ] {
        let table = table(schema, key, &format!("select {rows} from generate_series(1, {ROWS}) g"));
        let (cut, read) = costs(schema, &table);
        println!("{schema}: {cut} entries to cut, {read} to read {ROWS} rows");
        assert!(cut <= 3 * ROWS, "{schema}: {cut} entries to cut {ROWS} rows");
        assert!(read <= 3 * ROWS, "{schema}: {read} entries to read {ROWS} rows");
    }
}
