//! A restart at every row.

use std::sync::Arc;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

/// A checkpoint after each unit, one more unit, and a kill: rows of a page, of a transaction, updates and key changes.
/// What is out is never sent again, nothing is left out.
fn restart_behind_every_unit(schema: &str, parallelism: u32) {
    let source = Source::shared(schema, 7);
    let config = source.config(&[("scan.incremental.snapshot.chunk.size", 3.into())]);
    let mut job = Job::start(config, Arc::new(Watch::default()), parallelism).unwrap();
    let step = |mut job: Job| {
        job.unit().unwrap();
        job.checkpoint().unwrap();
        let kept = job.sink.log.clone();
        // Whatever goes on behind the checkpoint is forgotten.
        for _ in 0..3 {
            for subtask in 0..parallelism as usize {
                job.turn(subtask).unwrap();
            }
        }
        job = job.restart(parallelism).unwrap();
        assert_eq!(job.sink.log, kept);
        job
    };
    while job.sink.log.len() < 7 {
        job = step(job);
    }
    assert_eq!(job.sink.table, source.table());
    job.run_to_stream().unwrap();
    source.run(
        r#"begin; insert into T values (8, 'a'), (9, 'a'); update T set "V" = 'b' where "ID" in (1, 8); commit;
           begin; update T set "ID" = 20 where "ID" = 2; delete from T where "ID" = 3; commit;
           begin; insert into T values (30, 'c'); commit"#,
    );
    let mut restarts = 0;
    while !job.sink.table.contains_key(&30) {
        job = step(job);
        restarts += 1;
    }
    assert_eq!(restarts, 7);
    assert_eq!(job.sink.table, source.table());
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let transactions: Vec<_> = job.sink.transactions().iter().map(|(_, rows)| *rows).collect();
    assert_eq!(transactions, [6, 3, 1, 1]);
}

/// F32: a chunk goes on in its middle.
#[test]
fn restart_at_every_row_of_one_reader() {
    restart_behind_every_unit("EVERY_ROW", 1);
}

#[test]
fn restart_at_every_row_of_two_readers() {
    restart_behind_every_unit("EVERY_ROW_OF_TWO", 2);
}
