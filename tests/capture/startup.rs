//! `scan.startup.mode`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

/// Every transaction gives all rows one value, so that rows of two moments would show: the job ends by itself, at one of
/// them.
#[test]
fn snapshot_ends_as_the_table_was_at_the_largest_point() {
    let source = Source::shared("BOUNDED", 20);
    let config = source.config(&[("scan.startup.mode", json!("snapshot"))]);
    let stop = AtomicBool::new(false);
    let stopped = &stop;
    for parallelism in [1, 3] {
        stop.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let mut writer = source.writer();
            let writing = scope.spawn(move || {
                let mut n = 0;
                while !stopped.load(Ordering::SeqCst) {
                    n += 1;
                    writer.run(&format!(r#"update T set "V" = '{n}'"#));
                }
            });
            let ran = std::panic::catch_unwind(|| {
                let mut job = Job::start(config.clone(), Arc::new(Watch::default()), parallelism).unwrap();
                job.run(|job| job.streams || job.has_ended()).unwrap();
                job.checkpoint().unwrap();
                job = job.restart(parallelism).unwrap();
                job.run(Job::has_ended).unwrap();
                let values: Vec<_> = job.sink.table.values().collect();
                assert_eq!(values.len(), 20);
                assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", job.sink.table);
            });
            stop.store(true, Ordering::SeqCst);
            writing.join().unwrap();
            ran.unwrap_or_else(|failure| std::panic::resume_unwind(failure));
        });
    }
}

/// Rows that are there are not read; what commits from the start on comes, a transaction that began before it whole.
#[test]
fn latest_offset_takes_what_commits_afterwards() {
    let source = Source::shared("LATEST", 3);
    let mut open = source.writer();
    open.run(r#"begin; insert into T values (10, 'open'); update T set "V" = 'open' where "ID" = 1"#);
    source.run(r#"update T set "V" = 'before' where "ID" = 2"#);
    let config = source.config(&[("scan.startup.mode", json!("latest-offset"))]);
    let mut job = Job::start(config, Arc::new(Watch::default()), 2).unwrap();
    // What the stream changes is there downstream already.
    job.sink.table = source.table();
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.log.len(), 1, "the marker alone");
    open.run(r#"delete from T where "ID" = 3"#);
    job.checkpoint().unwrap();
    job = job.restart(2).unwrap();
    open.run("commit");
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let whole = [("+I", 10, "open"), ("-U", 1, "v"), ("+U", 1, "open"), ("-D", 3, "v")];
    assert_eq!(job.sink.streamed()[1..5], whole);
    assert_eq!(job.sink.transactions().len(), 3);
}
