//! A job that stops inside a transaction goes on behind the row that was out last, whatever shares a place in the log with it.

use std::sync::Arc;

use serde_json::json;

use crate::job::Job;
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// All rows of a COPY, and of an INSERT of several, share an LSN or begin where the BEGIN does; COMMIT and the next BEGIN share one.
const TRANSACTIONS: &str = r#"
begin;
insert into T values (10, 'a'), (11, 'b'), (12, 'c');
copy T from program 'seq -f "%g,copied" 20 24' delimiter ',';
update T set "V" = 'd' where "ID" in (10, 20, 21);
savepoint s;
copy T from program 'seq -f "%g,lost" 30 33' delimiter ',';
rollback to s;
update T set "ID" = "ID" + 100 where "ID" in (11, 22);
delete from T where "ID" > 22 and "ID" < 30;
copy T from program 'seq -f "%g,again" 30 33' delimiter ',';
commit;
begin;
insert into T values (40, 'e');
commit;
"#;

/// Each row is a place to stop at: a checkpoint behind it, and a restart from there at once. Fragments end inside a COPY too.
#[test]
fn every_row_of_a_transaction_is_a_place_to_go_on_from() {
    for plugin in PLUGINS {
        for rows in [1, 4, 1_000] {
            let source = Source::shared(&format!("every_{rows}"), plugin, 2);
            let options = [
                ("scan.startup.mode", json!("latest-offset")),
                ("transaction.fragment.rows", json!(rows)),
            ];
            let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
            job.run_to_stream().unwrap();
            job.checkpoint().unwrap();
            source.run(TRANSACTIONS);
            let last = |job: &Job| job.sink.table.contains_key(&40);
            let mut restarts = 0;
            while !last(&job) {
                job.unit().unwrap();
                job.checkpoint().unwrap();
                restarts += 1;
                job = job.restart(1).unwrap();
            }
            // What comes twice, and an old row that never came, the sink refuses.
            assert_eq!(restarts, 3 + 5 + 3 + 2 + 2 + 4 + 1, "{plugin}, {rows}");
            let mut with_rows = source.table();
            with_rows.retain(|id, _| *id > 2);
            assert_eq!(job.sink.table, with_rows, "{plugin}, {rows}");
            job.sink.transactions();
        }
    }
}

/// F32: a chunk goes on in its middle.
#[test]
fn every_row_of_a_snapshot_is_a_place_to_go_on_from() {
    for source in Source::of_each_kind("middle", 23) {
        let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
        while job.sink.snapshot_rows() < 23 {
            job.unit().unwrap();
            job.checkpoint().unwrap();
            job = job.restart(1).unwrap();
        }
        job.catch_up(&source).unwrap();
        assert_eq!((job.sink.snapshot_rows(), &job.sink.table), (23, &source.table()));
    }
}
