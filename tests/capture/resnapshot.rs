//! `log.gone` = `resnapshot`: a job whose log went while it was down reads everything again, once, whoever dies in between.

use std::sync::Arc;

use serde_json::json;
use tidemark::config::Config;

use crate::job::Job;
use crate::source::Source;
use crate::warnings;
use crate::watch::Watch;

fn again(source: &Source) -> Arc<Config> {
    source.config(&[("log.gone", json!("resnapshot"))])
}

fn start(config: &Arc<Config>, parallelism: u32) -> Job {
    Job::start(config.clone(), Arc::new(Watch::default()), parallelism).unwrap()
}

/// Rows come and go, and then their log goes too.
fn lose_log(source: &Source, gap: i64) {
    source.run(&format!(
        r#"delete from T where "ID" = {gap}; insert into T values ({}, 'in the gap')"#,
        100 + gap
    ));
    source.lose_log();
}

/// The job has the table, each row of it once since it began to read again.
fn assert_whole(job: &mut Job, source: &Source) {
    job.catch_up(source).unwrap();
    assert_eq!(job.sink.table, source.table());
}

#[test]
fn a_job_whose_log_is_gone_reads_everything_again_and_says_what_that_does_not_mend() {
    let source = Source::losing("stream", 7);
    let config = again(&source);
    let mut job = start(&config, 2);
    job.catch_up(&source).unwrap();
    // As long as the log is there nothing is read twice, which the sink would refuse.
    job.checkpoint().unwrap();
    job = job.restart(2).unwrap();
    source.run("insert into T values (50, 'kept')");
    assert_whole(&mut job, &source);
    for (run, parallelism) in [(1, 2), (2, 1), (3, 2)] {
        job.checkpoint().unwrap();
        let completed = job.completed().clone();
        drop(job);
        lose_log(&source, i64::from(run));
        let text = "all tables are read again. Rows that were deleted in the gap STAY downstream";
        let (restored, said) = warnings::with(text, || {
            let mut job = Job::open(config.clone(), Arc::default(), parallelism, completed).unwrap();
            job.run(|job| job.run == run).unwrap();
            job
        });
        let said: Vec<String> = said.into_iter().filter(|line| source.is_named_in(line)).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("TM-30"), "it says what is gone: {said:?}");
        job = restored;
        assert_whole(&mut job, &source);
        // The run goes on as any other.
        source.run(r#"update T set "V" = "V" || 'x' where "ID" > 3"#);
        job.checkpoint().unwrap();
        job = job.restart(parallelism).unwrap();
        assert_whole(&mut job, &source);
        assert_eq!(job.run, run);
    }
}

#[test]
fn a_job_that_dies_while_it_reads_again_begins_once_more_or_goes_on_from_where_it_was() {
    let server = Source::losing("dies", 1);
    for rows_out in [0, 1, 5] {
        for streamed in [false, true] {
            let source = server.beside(&format!("dies_{rows_out}_{streamed}"), 23);
            let config = again(&source);
            let mut job = start(&config, 2);
            match streamed {
                true => job.catch_up(&source).unwrap(),
                false => job.run(|job| job.sink.table.len() == 5).unwrap(),
            }
            job.checkpoint().unwrap();
            let old = job.completed().clone();
            drop(job);
            lose_log(&source, 3);
            // Nothing of it is in a checkpoint.
            let out = |job: &Job| job.run == 1 && job.sink.log.len() >= rows_out;
            let mut job = Job::open(config, Arc::default(), 2, old).unwrap();
            job.run(out).unwrap();
            job = job.restart(1).unwrap();
            job.run(out).unwrap();
            // Some of it is.
            job.checkpoint().unwrap();
            job = job.restart(3).unwrap();
            assert_whole(&mut job, &source);
            assert_eq!(job.run, 1);
        }
    }
}
