//! `scan.startup.mode`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tidemark::config::Config;
use tidemark::error::{Error, ErrorKind};
use tidemark::position::Scn;

use crate::faults::failure;
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

/// What a start in the log gives, by transaction, up to row 9; a restart lies behind the first unit.
fn from_the_log(source: &Source, mode: &str, more: &[(&str, Value)]) -> Job {
    let mut job = Job::start(startup(source, mode, more), Arc::new(Watch::default()), 2).unwrap();
    job.unit().unwrap();
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    job.run(|job| job.sink.table.contains_key(&9)).unwrap();
    assert_eq!(job.sink.snapshot_rows(), 0);
    job
}

fn startup(source: &Source, mode: &str, more: &[(&str, Value)]) -> Arc<Config> {
    let mut options = vec![("scan.startup.mode", json!(mode))];
    options.extend(more.iter().cloned());
    source.config(&options)
}

/// Keys in the order in which they came, by transaction.
fn transactions(job: &Job) -> Vec<Vec<i64>> {
    let mut rows = job.sink.log.iter().map(|row| row.id);
    let sizes = job.sink.transactions().into_iter();
    sizes.map(|(_, size)| rows.by_ref().take(size).collect()).collect()
}

/// Milliseconds since the epoch on the server's clock: everything committed so far was before.
fn clock(source: &Source) -> i64 {
    let clock = source.run("select pg_sleep(0.01), ceil(extract(epoch from clock_timestamp()) * 1000)::bigint");
    clock.trim().trim_start_matches('|').parse().unwrap()
}

const SCN: &str = "scan.startup.specific-offset.scn";
const TIME: &str = "scan.startup.timestamp-millis";

#[test]
fn a_start_in_the_log_gives_whole_what_commits_from_there_on_or_says_why_not() {
    let source = Source::alone("FROM_LOG", 0);
    let until_noted = |seconds: i64| {
        source.until(&format!(
            r#"select coalesce(max("TIME_DP") - min("TIME_DP") > interval '{seconds} s', false) from "SYS"."V$LSN_TIME""#
        ));
    };
    until_noted(6);
    source.run("insert into T values (1, 'v')");
    let mut open = source.writer();
    open.run("begin; insert into T values (2, 'open')");
    source.run("call logminer.switch()");
    let (scn, time) = (source.log_end(), clock(&source));
    source.run("insert into T values (3, 'v')");
    source.run("call logminer.switch()");
    let (later_scn, later_time) = (source.log_end(), clock(&source));
    open.run("insert into T values (4, 'open'); commit");
    source.run("insert into T values (5, 'v'), (6, 'v'), (7, 'v')");
    source.run("call logminer.switch()");
    source.run("insert into T values (8, 'v')");
    source.run("insert into T values (9, 'v')");

    let run = |mode: &str, more: &[(&str, Value)]| transactions(&from_the_log(&source, mode, more));
    let all = [vec![1], vec![3], vec![2, 4], vec![5, 6, 7], vec![8], vec![9]];
    assert_eq!(run("earliest-offset", &[]), all);
    assert_eq!(run("specific-offset", &[(SCN, json!(scn))]), all[1..]);
    assert_eq!(run("specific-offset", &[(SCN, json!(later_scn))]), all[2..]);
    assert_eq!(run("timestamp", &[(TIME, json!(time))]), all[1..]);
    assert_eq!(run("timestamp", &[(TIME, json!(later_time))]), all[2..]);

    let refused = |mode: &str, more: &[(&str, Value)]| {
        failure(Job::start(startup(&source, mode, more), Arc::new(Watch::default()), 2))
    };
    let option = |error: Error, name: &str, words: &str| {
        assert!(
            matches!(error.kind(), ErrorKind::Option { option, .. } if option == name),
            "{error}"
        );
        assert!(error.to_string().contains(words), "{error}");
    };
    let beyond = json!(source.log_end() + 1_000_000_000);
    option(refused("specific-offset", &[(SCN, beyond)]), SCN, "the log ends at");
    let day = 86_400_000;
    option(refused("timestamp", &[(TIME, json!(time - day))]), TIME, "by time from");
    option(
        refused("timestamp", &[(TIME, json!(time + day))]),
        TIME,
        "the newest time that it has noted",
    );

    // The START of the second transaction goes.
    source.run(&format!("call logminer.purge({scn})"));
    let oldest = source.number(r#"select min("ARCH_LSN") from "SYS"."V$ARCH_FILE""#);
    let job = from_the_log(&source, "earliest-offset", &[]);
    assert_eq!(transactions(&job), [&all[1..2], &all[3..]].concat());
    let metrics = job.reader(0).metrics();
    let left_out = metrics.iter().find(|metric| metric.name == "transactionsSkipped");
    assert_eq!(left_out.unwrap().value, 1);
    let left_out = refused("specific-offset", &[(SCN, json!(later_scn))]);
    assert!(matches!(left_out.kind(), ErrorKind::LogGone { .. }), "{left_out}");
    assert!(
        left_out.to_string().contains("looking for the START of a transaction"),
        "{left_out}"
    );
    for error in [
        refused("specific-offset", &[(SCN, json!(oldest - 2))]),
        refused("specific-offset", &[(SCN, json!(1))]),
    ] {
        let ErrorKind::LogGone {
            oldest: kept, detail, ..
        } = error.kind()
        else {
            panic!("{error}");
        };
        assert_eq!(*kept, Some(Scn(oldest)));
        assert!(detail.contains("pg_wal") && error.to_string().contains(SCN), "{error}");
    }
    // A restart of the server empties what it knows of times.
    source.stand_in.restart();
    option(refused("timestamp", &[(TIME, json!(later_time))]), TIME, "the server");
}
