//! Transactions beside the snapshot: open before it, committed between its SELECTs, moving rows from chunk to chunk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tidemark::split::Chunk;

use crate::job::{Job, PATIENCE};
use crate::source::Source;
use crate::watch::{AtPage, Watch, once};

fn is_first(chunk: &Chunk) -> bool {
    chunk.range.lower.is_none()
}

/// Does something once, when the first chunk comes.
fn at_first_chunk(what: impl FnOnce() + Send + 'static) -> AtPage {
    let what = once(what);
    Box::new(move |_, chunk| {
        if is_first(chunk) {
            what();
        }
    })
}

/// Its rows are in the pages: the one that was read before the COMMIT is corrected, the others have seen it.
#[test]
fn a_transaction_open_before_the_job_and_committed_during_the_snapshot() {
    let source = Source::shared("OPEN_DURING", 6);
    let mut open = source.writer();
    open.run(
        r#"begin; update T set "V" = 'a' where "ID" in (1, 6); delete from T where "ID" = 2; insert into T values (7, 'b')"#,
    );
    let mut job = Job::of(
        &source,
        Watch {
            after_select: Some(at_first_chunk(move || open.run("commit"))),
            ..Watch::default()
        },
    );
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, source.table());
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(job.sink.streamed(), [("+I", 1_000_000, "marker")]);
}

/// Its records stand in front of every point, its COMMIT behind all of them: it comes whole, in the log phase, also after
/// a restart between the two.
#[test]
fn a_transaction_open_before_the_job_and_committed_after_the_snapshot() {
    for restart in [false, true] {
        let source = Source::shared(if restart { "OPEN_AFTER_RESTART" } else { "OPEN_AFTER" }, 100);
        let mut open = source.writer();
        open.run(r#"begin; update T set "V" = '777' where "ID" = 50; insert into T values (101, '1')"#);
        let mut job = Job::of(&source, Watch::default());
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.snapshot_rows(), 100);
        if restart {
            job.checkpoint().unwrap();
            let least = job.completed().stream().unwrap().offset;
            assert!(least.next_scn < least.commit.scn, "{least:?} forgets what is open");
            job = job.restart(1).unwrap();
        }
        open.run("commit");
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        assert_eq!(
            job.sink.streamed()[1..4],
            [("-U", 50, "v"), ("+U", 50, "777"), ("+I", 101, "1")]
        );
        assert_eq!(job.sink.transactions().len(), 3);
    }
}

/// A row leaves a page that has it and comes into one that was read without it, within a round.
#[test]
fn key_change_across_chunks_of_a_round() {
    for (schema, change) in [
        ("MOVE_UP", r#"update T set "ID" = 60, "V" = 'moved' where "ID" = 1"#),
        ("MOVE_DOWN", r#"update T set "ID" = 0, "V" = 'moved' where "ID" = 6"#),
    ] {
        let source = Source::shared(schema, 6);
        let mut writer = source.writer();
        let mut job = Job::of(
            &source,
            Watch {
                after_select: Some(at_first_chunk(move || writer.run(change))),
                ..Watch::default()
            },
        );
        job.run_to_stream().unwrap();
        assert_eq!(job.sink.table, source.table());
        assert_eq!(job.sink.snapshot_rows(), 6);
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.streamed(), [("+I", 1_000_000, "marker")]);
    }
}

/// The first chunk is out when a row moves; the other reader's page has seen it move. Each half is judged by the point of
/// its own chunk.
#[test]
fn key_change_across_chunks_of_two_readers() {
    for (schema, change, expected) in [
        (
            "FAR_UP",
            r#"update T set "ID" = 60, "V" = 'moved' where "ID" = 1"#,
            ("-D", 1, "v"),
        ),
        (
            "FAR_DOWN",
            r#"update T set "ID" = 0, "V" = 'moved' where "ID" = 4"#,
            ("+I", 0, "moved"),
        ),
    ] {
        let source = Source::shared(schema, 4);
        let first_is_out = Arc::new(AtomicBool::new(false));
        let seen = first_is_out.clone();
        let mut writer = source.writer();
        let change = once(move || writer.run(change));
        let watch = Watch {
            before_select: Some(Box::new(move |_, chunk| {
                if is_first(chunk) {
                    return;
                }
                let waited = Instant::now();
                while !seen.load(Ordering::SeqCst) && waited.elapsed() < PATIENCE {
                    std::thread::yield_now();
                }
                change();
            })),
            ..Watch::default()
        };
        let mut job = Job::start(source.config(&[]), Arc::new(watch), 2).unwrap();
        job.run(|job| job.sink.table.contains_key(&2)).unwrap();
        assert_eq!(job.sink.log.len(), 2, "the second chunk is not read yet");
        first_is_out.store(true, Ordering::SeqCst);
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        assert_eq!(job.sink.streamed(), [expected, ("+I", 1_000_000, "marker")]);
    }
}

/// F12: what commits behind `low` and in front of the SELECT is in its rows, what commits behind the SELECT and in front of
/// `high` is not: the correction makes both right, and the stream has nothing of it.
#[test]
fn change_between_low_and_high() {
    let source = Source::shared("LOW_HIGH", 8);
    let (mut before, mut after) = (source.writer(), source.writer());
    let mut job = Job::start(
        source.config(&[("scan.incremental.snapshot.chunk.size", 100.into())]),
        Arc::new(Watch {
            before_select: Some(at_first_chunk(move || {
                before.run(r#"update T set "V" = 'seen' where "ID" = 1"#);
                before.run(r#"delete from T where "ID" = 2"#);
                before.run("insert into T values (20, 'seen')");
            })),
            after_select: Some(at_first_chunk(move || {
                after.run(r#"update T set "V" = 'corrected' where "ID" in (1, 3)"#);
                after.run(r#"delete from T where "ID" in (4, 20)"#);
                after.run("insert into T values (0, 'corrected'), (2, 'corrected')");
                after.run(r#"update T set "ID" = 9 where "ID" = 5"#);
                after.run(r#"begin; delete from T where "ID" = 6; rollback"#);
            })),
            ..Watch::default()
        }),
        1,
    )
    .unwrap();
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, source.table());
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.streamed(), [("+I", 1_000_000, "marker")]);
}
