//! COMMIT records that stand in the log before anybody sees their rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

/// The page waits: read now it would miss the row, and the log in front of it would not be read again.
#[test]
fn a_commit_in_the_log_but_not_yet_visible() {
    let source = Source::alone("HELD", 3);
    let read = Arc::new(AtomicBool::new(false));
    let reads = read.clone();
    let watch = Arc::new(Watch {
        before_select: Some(Box::new(move |_, _| reads.store(true, Ordering::SeqCst))),
        ..Watch::default()
    });
    let mut writer = source.writer();
    writer.run(r#"begin; insert into T values (4, 'held'); update T set "V" = 'held' where "ID" = 1"#);
    std::thread::scope(|scope| {
        let held = source.hold_commits();
        let commit = scope.spawn(move || writer.run("commit"));
        while !source
            .run("select wait_event from pg_stat_activity")
            .contains("SyncRep")
        {
            assert!(!commit.is_finished());
        }
        let mut job = Job::start(source.config(&[]), watch.clone(), 1).unwrap();
        job.run(|_| watch.still_open.load(Ordering::SeqCst) > 1 || read.load(Ordering::SeqCst))
            .unwrap();
        assert!(
            !read.load(Ordering::SeqCst),
            "a page was read while a noted transaction was not visible"
        );
        assert!(job.sink.log.is_empty());
        assert_eq!(source.table().len(), 3);
        drop(held);
        commit.join().unwrap();
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        assert_eq!(job.sink.snapshot_rows(), 4);
        assert_eq!(job.sink.streamed(), [("+I", 1_000_000, "marker")]);
    });
}

/// F03: its records are older than every page, its COMMIT is younger.
#[test]
fn a_transaction_that_is_open_over_the_whole_snapshot_comes_once() {
    let source = Source::shared("OPEN_ACROSS", 100);
    let mut writer = source.writer();
    writer.run(r#"begin; update T set "V" = '777' where "ID" = 50; insert into T values (101, '1')"#);
    let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.snapshot_rows(), 100);
    writer.run("commit");
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let rows = [
        ("-U", 50, "v"),
        ("+U", 50, "777"),
        ("+I", 101, "1"),
        ("+I", 1_000_000, "marker"),
    ];
    assert_eq!(job.sink.streamed(), rows);
}
