//! Gauges of the log, compared with what the server was told.

use std::time::{Duration, Instant};

use crate::job::{Job, PATIENCE};
use crate::server::{count, shared, table};

/// Waits until a condition holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to it that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mining_calls_and_their_files_are_counted_in_both_phases() {
    table("MINED", 30);
    let starts = || count("MINED", "START_LOGMNR") as i64;
    let job = Job::new(
        shared(),
        "MINED",
        &[("scan.incremental.snapshot.chunk.size", 10.into())],
    );
    let chunks = job.start_snapshot();
    assert_eq!(job.rest_of_snapshot(chunks).unwrap().len(), 30);
    let calls = job.metric("miningCalls");
    assert!(calls > 0);
    assert_eq!(calls, starts());
    // A file here has at most a megabyte.
    let files = count("MINED", "ADD_LOGFILE") as i64;
    let bytes = job.metric("minedBytes");
    assert!(bytes > 0 && bytes <= files << 20, "{bytes} bytes in {files} files");

    let before = starts();
    let job = Job::new(shared(), "MINED", &[]);
    job.start_stream();
    for id in 100..103 {
        shared().psql(&format!(r#"insert into "MINED"."T" values ({id}, 0, '')"#));
        assert_eq!(job.stream(1).unwrap(), [(0, id, Some(0))]);
    }
    assert!(job.metric("miningCalls") >= 3 && job.metric("minedBytes") > 0);
    until("the gauge is what the server was told", || {
        job.metric("miningCalls") == starts() - before
    });
}
