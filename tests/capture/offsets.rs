//! What checkpoints of the log phase say.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidemark::position::Scn;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

fn offset(job: &mut Job) -> tidemark::offset::Offset {
    job.checkpoint().unwrap();
    let mut offset = job.completed().stream().unwrap().offset;
    // Moves with completed checkpoints.
    offset.safe = offset.next_scn;
    offset
}

/// Files were read and the log grew, but no record of a transaction came: the position stays where it was. Files that are
/// closed and were read whole are not needed again.
#[test]
fn an_empty_result_moves_no_position() {
    let source = Source::alone("QUIET", 2);
    let watch = Arc::new(Watch::default());
    let mut job = Job::start(source.config(&[]), watch.clone(), 1).unwrap();
    job.catch_up(&source).unwrap();
    let before = offset(&mut job);
    for _ in 0..3 {
        source.run("select pg_switch_wal(); select pg_logical_emit_message(false, 'nothing', 'at all')");
        let end = source.log_end();
        job.run(|_| watch.complete_to.load(Ordering::SeqCst) >= end).unwrap();
        let after = offset(&mut job);
        let closed = source.run(r#"select max("PREV_LSN") from "SYS"."V$ARCH_FILE""#);
        assert!(before.next_scn <= after.next_scn && after.next_scn <= Scn(closed.trim().parse().unwrap()));
        assert_eq!(
            (after.commit, &after.xids, &after.partial),
            (before.commit, &before.xids, &before.partial)
        );
    }
    job = job.restart(1).unwrap();
    source.run("insert into T values (3, 'w')");
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
}

/// The log reader is far ahead of the rows that are out: the checkpoint must not be.
#[test]
fn next_scn_behind_transactions_in_the_channel() {
    let source = Source::alone("CHANNEL", 2);
    let watch = Arc::new(Watch::default());
    let mut job = Job::start(source.config(&[]), watch.clone(), 1).unwrap();
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    // The one in front begins first; the second begins in front of its COMMIT; the last ones stand alone.
    let (mut first, mut second) = (source.writer(), source.writer());
    first.run("begin; insert into T select g, 'first' from generate_series(1000, 1009) g");
    second.run("begin; insert into T select g, 'second' from generate_series(2000, 2009) g");
    let second_start = source.run(r#"select max("START_LSN") from "SYS"."V$TRX""#);
    let second_start = Scn(second_start.trim().parse().unwrap());
    first.run("commit");
    for n in 3000..3005 {
        source.run(&format!("insert into T values ({n}, 'alone')"));
    }
    second.run("commit");
    source.run("insert into T values (4000, 'last')");
    let end = source.log_end();
    job.fetch(0, || watch.complete_to.load(Ordering::SeqCst) >= end)
        .unwrap();
    // Everything is queued. Let the first transaction out and some rows behind it, with a restart after each.
    let mut seen = Vec::new();
    for _ in 0..18 {
        job.unit().unwrap();
        let offset = offset(&mut job);
        let second_is_out = job.sink.table.range(2000..3000).count() == 10;
        assert!(
            second_is_out || offset.next_scn <= second_start,
            "{offset:?} is past {second_start}"
        );
        seen.push(offset);
        job = job.restart(1).unwrap();
    }
    assert!(seen.windows(2).all(|pair| pair[0].next_scn <= pair[1].next_scn));
    assert!(seen.iter().any(|offset| offset.partial.is_some()));
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    job.sink.transactions();
}
