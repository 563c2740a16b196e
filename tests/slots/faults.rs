//! What can become of a slot beside a job: each has its error, by name, through the whole chain.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tidemark::error::ErrorKind;

use crate::job::{Job, PATIENCE};
use crate::source::{Place, Source};
use crate::support::Server;
use crate::support::postgres::LOGICAL;
use crate::warnings;
use crate::watch::Watch;

fn start(source: &Source, options: &[(&str, serde_json::Value)]) -> Job {
    Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap()
}

fn of_its_own(schema: &str, settings: &[&str]) -> (&'static Server, Source) {
    let settings = [LOGICAL, settings].concat();
    let server: &'static Server = Box::leak(Box::new(Server::start_with(&settings)));
    let source = Source {
        place: Place::Postgres(server),
        schema: schema.into(),
        plugin: "pgoutput",
    };
    source.run(&format!("create schema {schema}"));
    source.run(r#"create table T ("ID" bigint primary key, "V" text); alter table T replica identity full"#);
    source.run("insert into T values (1, 'v')");
    (server, source)
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_second_job_is_told_who_has_the_slot_before_it_reads_anything() {
    let source = Source::shared("second", "pgoutput", 3);
    let mut first = start(&source, &[]);
    first.catch_up(&source).unwrap();
    let hasty = ("connect.timeout", json!(1000));
    let mut second = start(&source, std::slice::from_ref(&hasty));
    let error = second.run_to_stream().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotBusy { seconds: 1, .. }),
        "{error}"
    );
    let pid = source.ask("select active_pid from pg_replication_slots where slot_name = 'second_pgoutput_r'");
    assert!(
        error.to_string().contains(&format!("pid {pid}")) && second.sink.log.is_empty(),
        "{error}"
    );
    drop(second);
    // One with a state comes as far as the log.
    first.checkpoint().unwrap();
    let mut second = Job::open(
        source.config(&[hasty]),
        Arc::new(Watch::default()),
        1,
        first.completed().clone(),
    )
    .unwrap();
    let error = second.unit().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotBusy { .. }) && error.is_retryable(),
        "{error}"
    );
    // The first one is not hurt; once it is gone, another one waits no longer than that.
    first.catch_up(&source).unwrap();
    assert_eq!(first.sink.table, source.table());
    first.checkpoint().unwrap();
    let mut heir = first.restart(1).unwrap();
    heir.catch_up(&source).unwrap();
    assert_eq!(heir.sink.table, source.table());
}

#[test]
fn a_session_of_the_log_that_is_killed_is_replaced_and_no_row_comes_twice() {
    for source in Source::of_each_kind("killed", 3) {
        let mut job = start(&source, &[]);
        job.catch_up(&source).unwrap();
        for _ in 0..3 {
            source.run(&format!(
                "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = '{}_r' and active",
                source.slot()
            ));
            source.run(r#"update T set "V" = "V" || 'x' where "ID" < 3"#);
            job.catch_up(&source).unwrap();
        }
        assert_eq!(job.sink.table, source.table());
        assert_eq!(job.sink.streamed().len(), 4 + 3 * 4);
    }
}

/// F35: captured tables are idle, others are written: the slot follows, straight after a restart too, and the late row comes.
#[test]
fn an_idle_table_on_a_busy_server_does_not_hold_the_log() {
    for source in Source::of_each_kind("idle", 3) {
        let delay = [("scan.lsn-commit.checkpoints-num-delay", json!(1))];
        source.run(&format!("create table {}.busy (a int, b text)", source.schema));
        let mut job = start(&source, &delay);
        job.run_to_stream().unwrap();
        for round in 0..2 {
            source.run(&format!(
                "insert into {}.busy select g, repeat('x', 99) from generate_series(1, 500) g",
                source.schema
            ));
            let end = source.ask("select pg_current_wal_insert_lsn()");
            let behind = format!(
                "select confirmed_flush_lsn >= '{end}' from pg_replication_slots where slot_name = '{}'",
                source.slot()
            );
            let since = Instant::now();
            while source.ask(&behind) != "t" {
                assert!(
                    since.elapsed() < PATIENCE,
                    "the slot stays behind {end} in round {round}"
                );
                job.run(|job| job.streams).unwrap();
                job.turn(0).unwrap();
                job.checkpoint().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert!(job.sink.streamed().is_empty());
            job = job.restart(1).unwrap();
        }
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
    }
}

/// Each call decodes from where the server keeps the log for the slot.
fn no_call_is_made_for_a_log_that_has_not_grown(job: &mut Job, server: &Server, calls: &dyn Fn(&Job) -> i64) {
    let flushed = || server.psql("select pg_current_wal_flush_lsn()");
    until("the log comes to rest", || {
        let begin = flushed();
        let (first, since) = (calls(job), Instant::now());
        while since.elapsed() < std::time::Duration::from_millis(500) {
            job.turn(0).unwrap();
        }
        // The server writes of itself now and then; what was written before may be read in this time.
        let grew = calls(job) - first;
        let rested = flushed() == begin;
        assert!(!rested || grew <= 1, "{grew} calls for a log at rest");
        rested
    });
}

#[test]
fn log_that_is_taken_from_under_the_slot_ends_the_job_by_name_and_shows_before() {
    let (server, source) = of_its_own("lost", &["max_slot_wal_keep_size = 16MB", "min_wal_size = 32MB"]);
    let mut job = start(&source, &[("log.headroom.warn", json!(1 << 20))]);
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    let metric = |job: &Job, name: &str| {
        let all = job.reader(0).metrics();
        all.iter().find(|metric| metric.name == name).unwrap().value
    };
    no_call_is_made_for_a_log_that_has_not_grown(&mut job, server, &|job| metric(job, "miningCalls"));
    assert!((0..1 << 20).contains(&metric(&job, "slotRetainedBytes")));
    let room = metric(&job, "archiveHeadroomBytes");
    assert!((1..64 << 20).contains(&room), "{room}");
    let ((), said) = warnings::with("log.headroom.warn is 1048576", || {
        for _ in 0..4 {
            server.psql("select pg_logical_emit_message(true, 'x', 'y'); select pg_switch_wal()");
        }
        until("the gauges show it", || {
            job.turn(0).unwrap();
            metric(&job, "slotRetainedBytes") > 32 << 20 && metric(&job, "archiveHeadroomBytes") == 0
        });
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("raise max_slot_wal_keep_size"), "{said:?}");
    server.psql("checkpoint");
    source.run("insert into T values (9, 'late')");
    let error = job
        .run(|job| job.sink.table.contains_key(&9))
        .and_then(|()| job.catch_up(&source))
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotLost { .. }) && !error.is_retryable(),
        "{error}"
    );
    let completed = job.completed().clone();
    let needed = completed.stream().unwrap().offset.next_scn;
    let error = job.restart(1).unwrap().unit().unwrap_err();
    assert!(
        error.to_string().contains("TM-3011 slot 'lost'") && !error.is_retryable(),
        "{error}"
    );
    let place = server.psql(&format!("select '0/0'::pg_lsn + {needed}"));
    assert!(
        error.to_string().contains(&format!("LSN {}", place.trim())),
        "what is needed: {error}"
    );
    let error = start(&source, &[]).unit().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotLost { .. }),
        "a new job does not take it either: {error}"
    );
    // One that may read everything again makes another one.
    let again = source.config(&[("log.gone", json!("resnapshot"))]);
    let mut job = Job::open(again, Arc::new(Watch::default()), 1, completed).unwrap();
    job.run(|job| job.run == 1).unwrap();
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
}

/// A standby is refused; once it is the primary, the slot is not there.
#[test]
fn a_standby_is_refused_and_a_fail_over_without_the_slot_is_named() {
    let (primary, source) = of_its_own("moved", &[]);
    let mut job = start(&source, &[]);
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    let completed = job.completed().clone();
    drop(job);
    let standby: &'static Server = Box::leak(Box::new(primary.standby()));
    let moved = Source {
        place: Place::Postgres(standby),
        schema: "moved".into(),
        plugin: "pgoutput",
    };
    for from in [Default::default(), completed.clone()] {
        let mut job = Job::open(moved.config(&[]), Arc::new(Watch::default()), 1, from).unwrap();
        let error = job.unit().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Setup(_)) && !error.is_retryable(),
            "{error}"
        );
        assert!(error.to_string().contains("is a standby"), "{error}");
    }
    standby.psql("select pg_promote()");
    let mut job = Job::open(moved.config(&[]), Arc::new(Watch::default()), 1, completed).unwrap();
    let error = job.unit().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotLost { .. }) && !error.is_retryable(),
        "{error}"
    );
    assert!(
        error.to_string().contains("there is no such slot") && error.to_string().contains("standby"),
        "{error}"
    );
    // A start in its log is refused too, and leaves nothing.
    for (mode, more) in [("committed-offset", None), ("specific-offset", Some("0/1"))] {
        let place = more.map_or(json!(null), |lsn| json!(lsn));
        let options = [
            ("scan.startup.mode", json!(mode)),
            ("scan.startup.specific-offset.lsn", place),
        ];
        let error = start(&moved, &options).unit().unwrap_err();
        let words = format!("option 'scan.startup.mode': is '{mode}', but there is no slot 'moved'");
        assert!(error.to_string().contains(&words), "{error}");
        assert_eq!(standby.psql("select count(*) from pg_replication_slots").trim(), "0");
    }
}
