//! What a job leaves on the server when it ends.

use std::sync::Arc;

use serde_json::json;
use tidemark::database::Database;
use tidemark::enumerator::survey::Surveyor;
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

fn job(source: &Source, options: &[(&str, serde_json::Value)]) -> Job {
    Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap()
}

/// How many slots and publications of a source's own there are.
fn left(source: &Source) -> String {
    let of = source.slot();
    source.ask(&format!(
        "select (select count(*) from pg_replication_slots where slot_name = '{of}') || ' ' || \
         (select count(*) from pg_publication where pubname = 'tidemark_{of}')"
    ))
}

/// F53: a job that ends by itself, or is cancelled half-way, leaves neither slot nor publication, unless it is told to.
#[test]
fn a_bounded_job_leaves_nothing_behind_whether_it_ends_or_is_cancelled() {
    for source in Source::of_each_kind("ended", 35) {
        let bounded = ("scan.startup.mode", json!("snapshot"));
        let mut ends = job(&source, std::slice::from_ref(&bounded));
        // Others are written meanwhile.
        source.run(&format!("create table {}.other (a int)", source.schema));
        ends.unit().unwrap();
        source.run(&format!(
            "insert into {}.other select generate_series(1, 1000)",
            source.schema
        ));
        assert!(left(&source).starts_with('1'));
        ends.run(|job| job.has_ended()).unwrap();
        assert_eq!(ends.sink.table, source.table());
        drop(ends);
        assert_eq!(left(&source), "0 0");
        let mut cancelled = job(&source, std::slice::from_ref(&bounded));
        cancelled.unit().unwrap();
        drop(cancelled);
        assert_eq!(left(&source), "0 0");
        let mut kept = job(&source, &[bounded, ("slot.drop-on-stop", json!(false))]);
        kept.unit().unwrap();
        drop(kept);
        assert!(left(&source).starts_with('1'));
    }
}

#[test]
fn a_streaming_job_leaves_its_slot_unless_it_is_told_to_drop_it() {
    let source = Source::shared("dropped", "pgoutput", 3);
    for (drops, slots) in [(false, "1 1"), (true, "0 0")] {
        let mut job = job(&source, &[("slot.drop-on-stop", json!(drops))]);
        job.run_to_stream().unwrap();
        drop(job);
        assert_eq!(left(&source), slots);
    }
}

/// A publication that the user named is the user's.
#[test]
fn a_publication_that_was_named_stays_when_the_slot_goes() {
    let source = Source::shared("named", "pgoutput", 3);
    let options = [
        ("slot.drop-on-stop", json!(true)),
        ("publication.name", json!("of_everybody")),
    ];
    job(&source, &options).run_to_stream().unwrap();
    let published = source.ask("select count(*) from pg_publication where pubname = 'of_everybody'");
    assert_eq!((left(&source).as_str(), published.as_str()), ("0 0", "1"));
}

/// Flink restarts the job behind such an error, from a state that needs the slot.
#[test]
fn the_slot_stays_where_the_job_ends_by_an_error_that_a_restart_may_help() {
    let source = Source::shared("restarts", "pgoutput", 35);
    let config = source.config(&[
        ("slot.drop-on-stop", json!(true)),
        ("odbc.pqopt", json!("application_name=restarts")),
    ]);
    for (killed, slots) in [(true, "1 1"), (false, "0 0")] {
        let database: Arc<dyn Surveyor> = Arc::new(Database::new(config.clone()).unwrap());
        let mut survey = database.connect(None).unwrap();
        if killed {
            source.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'restarts'");
        }
        let table = survey.tables().remove(0);
        let cut = survey.cut(&table, None);
        assert_eq!(cut.is_err_and(|error| error.is_retryable()), killed);
        drop(survey);
        assert_eq!(left(&source), slots);
    }
}

/// It is too late for a state: the error says which slot it was, and Flink does not try again.
#[test]
fn a_bounded_job_cannot_go_on_once_its_slot_is_gone() {
    let source = Source::shared("late_restore", "pgoutput", 35);
    let mut job = job(&source, &[("scan.startup.mode", json!("snapshot"))]);
    job.unit().unwrap();
    job.checkpoint().unwrap();
    let mut job = job.restart(1).unwrap();
    let error = job.run(|job| job.has_ended()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SlotLost { .. }), "{error}");
    assert!(
        !error.is_retryable() && error.to_string().contains("there is no such slot"),
        "{error}"
    );
}
