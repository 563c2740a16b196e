//! Where a job starts, and what the slot is told.

use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use tidemark::database::Database;
use tidemark::enumerator;
use tidemark::enumerator::api::Action;
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

fn start(source: &Source, mode: &str) -> Job {
    Job::start(
        source.config(&[("scan.startup.mode", json!(mode))]),
        Arc::new(Watch::default()),
        1,
    )
    .unwrap()
}

#[test]
fn rows_and_changes_come_once_with_every_plugin_and_where_nothing_begins_with_pg() {
    for source in Source::of_each_kind("first", 35) {
        let mut job = start(&source, "initial");
        job.run_to_stream().unwrap();
        assert_eq!(job.sink.snapshot_rows(), 35);
        source.run(r#"update T set "V" = 'w' where "ID" < 4; delete from T where "ID" = 9; update T set "ID" = 99 where "ID" = 5"#);
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        let kinds: Vec<_> = job.sink.streamed().iter().map(|row| row.0).collect();
        assert_eq!(kinds, ["-U", "+U", "-U", "+U", "-U", "+U", "-D", "-D", "+I", "+I"]);
    }
}

#[test]
fn a_bounded_job_has_the_rows_of_its_points_and_ends() {
    let source = Source::shared("bounded", "pgoutput", 35);
    let mut job = start(&source, "snapshot");
    job.run(|job| job.has_ended()).unwrap();
    assert_eq!(job.sink.table, source.table());
}

/// Where the process has no locale, psqlODBC would have the server send text in SQL_ASCII.
#[test]
fn text_is_utf8_whatever_the_locale_of_the_process() {
    let other = "startup::a_bounded_job_has_the_rows_of_its_points_and_ends";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", other])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_log_alone_from_now_from_the_slot_or_from_a_place() {
    for source in Source::of_each_kind("starts", 3) {
        starts_in_the_log(&source);
    }
}

fn starts_in_the_log(source: &Source) {
    let mut latest = start(source, "latest-offset");
    latest.run_to_stream().unwrap();
    let place = source.ask("select pg_current_wal_insert_lsn()");
    source.run("insert into T values (10, 'a')");
    latest.run(|job| !job.sink.log.is_empty()).unwrap();
    assert_eq!(latest.sink.streamed(), [("+I", 10, "a")]);
    drop(latest);
    source.run("insert into T values (11, 'b')");
    let mut committed = start(source, "committed-offset");
    committed.run(|job| job.sink.log.len() == 2).unwrap();
    assert_eq!(committed.sink.streamed(), [("+I", 10, "a"), ("+I", 11, "b")]);
    drop(committed);
    let at = |lsn: &str| {
        let options = [
            ("scan.startup.mode", json!("specific-offset")),
            ("scan.startup.specific-offset.lsn", json!(lsn)),
        ];
        Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap()
    };
    let mut specific = at(&place);
    specific.run(|job| job.sink.log.len() == 2).unwrap();
    drop(specific);
    let error = at("0/1").run_to_stream().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Option { .. }), "{error}");
    assert!(error.to_string().contains("lies in front of where slot"), "{error}");
}

/// F35: what a checkpoint needs is kept, and no more than the delay asks for.
#[test]
fn the_slot_follows_completed_checkpoints_late_and_a_state_that_it_left_behind_is_refused() {
    for source in Source::of_each_kind("late", 3) {
        follows(&source);
    }
}

fn follows(source: &Source) {
    let delay = [("scan.lsn-commit.checkpoints-num-delay", json!(1))];
    let mut job = Job::start(source.config(&delay), Arc::new(Watch::default()), 1).unwrap();
    job.catch_up(source).unwrap();
    job.checkpoint().unwrap();
    let old = job.completed().clone();
    let confirmed = || {
        source.ask(&format!(
            "select confirmed_flush_lsn from pg_replication_slots where slot_name = '{}'",
            source.slot()
        ))
    };
    let first = confirmed();
    for _ in 0..3 {
        job.catch_up(source).unwrap();
        job.checkpoint().unwrap();
    }
    let waited = std::time::Instant::now();
    while confirmed() == first {
        assert!(waited.elapsed() < crate::job::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    job = job.restart(1).unwrap();
    job.catch_up(source).unwrap();
    assert_eq!(job.sink.table, source.table());
    drop(job);
    let mut job = Job::open(source.config(&delay), Arc::new(Watch::default()), 1, old).unwrap();
    let error = job.unit().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotAhead { .. }) && !error.is_retryable(),
        "{error}"
    );
}

/// Before a row is read: in the snapshot no reader opens the slot's log.
#[test]
fn the_enumerator_refuses_a_snapshot_whose_log_the_slot_has_left_behind() {
    for source in Source::of_each_kind("left_behind", 3) {
        let config = source.config(&[]);
        let mut job = Job::start(config.clone(), Arc::new(Watch::default()), 1).unwrap();
        job.unit().unwrap();
        job.checkpoint().unwrap();
        let state = job.completed().enumerator.clone();
        drop(job);
        source.run("insert into T values (10, 'a')");
        source.ask(&format!(
            "select pg_replication_slot_advance('{}', pg_current_wal_insert_lsn())",
            source.slot()
        ));
        let surveyor = Arc::new(Database::new(config.clone()).unwrap());
        let enumerator = enumerator::open(&config, surveyor, 1, state.as_deref()).unwrap();
        assert_eq!(enumerator.start().unwrap(), [Action::Cut]);
        let error = enumerator.cut().unwrap_err();
        enumerator.close();
        assert!(
            matches!(error.kind(), ErrorKind::SlotAhead { .. }) && !error.is_retryable(),
            "{error}"
        );
    }
}
