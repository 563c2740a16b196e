//! Errors that no restart helps: each is fatal, says what is wrong and what to do, and tells no password.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::error::{Error, ErrorKind};
use tidemark::position::Scn;

use crate::job::Job;
use crate::source::{PASSWORD, Source};
use crate::watch::Watch;

/// What a job ends with.
pub fn failure(job: Result<Job, Error>) -> Error {
    let error = job.and_then(|mut job| job.run(Job::has_ended)).unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert!(error.to_string().starts_with("TM-"), "{error}");
    for text in [error.to_string(), format!("{error:?}"), format!("{:?}", error.kind())] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    error
}

fn job_with(source: &Source, options: &[(&str, Value)]) -> Result<Job, Error> {
    Job::start(source.config(options), Arc::new(Watch::default()), 2)
}

/// Ends the archive and deletes all but the newest files. Returns the first scn that is left.
fn lose_the_log(source: &Source) -> Scn {
    let kept = source.run(
        "insert into T values (500, 'x'); select pg_switch_wal(); insert into T values (501, 'x'); checkpoint;
         select pg_walfile_name(pg_current_wal_insert_lsn())",
    );
    let kept = kept.lines().last().unwrap().to_owned();
    let files = source.stand_in.directory().join("data/pg_wal");
    for file in std::fs::read_dir(Path::new(&files)).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.len() == 24 && name < kept {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    let oldest = source.run(r#"select min("ARCH_LSN") from "SYS"."V$ARCH_FILE""#);
    Scn(oldest.trim().parse().unwrap())
}

fn assert_log_gone(error: &Error, from: Scn, left: Scn) {
    let ErrorKind::LogGone { needed, oldest, detail } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!((*needed, *oldest), (from, Some(left)));
    assert!(detail.contains("pg_wal"), "no file is named: {detail}");
    assert!(error.to_string().contains("Restore the missing archives"), "{error}");
}

#[test]
fn the_log_is_gone_for_the_stream() {
    let source = Source::alone("GONE", 3);
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    let needed = job.completed().stream().unwrap().offset.next_scn;
    let left = lose_the_log(&source);
    let error = failure(job.restart(1));
    assert_log_gone(&error, needed, left);
}

#[test]
fn the_log_is_gone_for_ranges_of_the_snapshot() {
    let source = Source::alone("GONE_EARLY", 4);
    let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 2).unwrap();
    job.run(|job| job.sink.table.len() == 3).unwrap();
    job.checkpoint().unwrap();
    assert!(job.completed().stream().is_none());
    let needed = job.completed().smallest_mine_from();
    let left = lose_the_log(&source);
    let error = failure(job.restart(2));
    assert_log_gone(&error, needed, left);
    assert!(
        error.to_string().contains("checking that the log that the state needs"),
        "{error}: found before anything is read"
    );
}

#[test]
fn a_wrong_password() {
    let source = Source::shared("DENIED", 1);
    let wrong = "Wr0ng+secret%;}=x";
    let error = failure(job_with(&source, &[("password", json!(wrong))]));
    assert!(matches!(error.kind(), ErrorKind::Connect { .. }), "{error}");
    assert!(!error.to_string().contains("Wr0ng"), "{error}");
    assert!(
        error
            .to_string()
            .contains("Check hostname, port, username and password"),
        "{error}"
    );
}

#[test]
fn a_missing_table() {
    let source = Source::shared("PRESENT", 1);
    for (option, value, instead) in [
        ("table-name", "ABSENT", "in such a schema there is PRESENT.T"),
        (
            "table-name",
            "\"t\"",
            "case apart there is PRESENT.T: a name in double quotes is exact",
        ),
        ("table-name", "_", "in such a schema there is PRESENT.T"),
        ("table-name", "%", "in such a schema there is PRESENT.T"),
        ("schema-name", "ABSENT", "tables are in schema"),
    ] {
        let error = failure(job_with(&source, &[(option, json!(value))]));
        assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
        let text = error.to_string();
        for part in ["TM-1002", value, instead, "Check schema-name and table-name"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}

#[test]
fn a_missing_key() {
    let source = Source::shared("KEYLESS", 1);
    source.run(r#"create table "KEYLESS"."BARE" ("ID" bigint, "V" varchar(200), unique ("ID"))"#);
    let error = failure(job_with(&source, &[("table-name", json!("BARE"))]));
    assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("KEYLESS.BARE") && text.contains("neither a primary key") && text.contains("table-without-key"),
        "{text}"
    );
}

#[test]
fn a_wrong_logging_mode() {
    let source = Source::alone("UNLOGGED", 1);
    for (name, value, what) in [
        ("RLOG_APPEND_LOGIC", "0", "RLOG_APPEND_LOGIC is 0"),
        ("RLOG_APPEND_LOGIC", "1", "RLOG_APPEND_LOGIC is 1"),
        ("RLOG_IGNORE_TABLE_SET", "0", "RLOG_IGNORE_TABLE_SET is 0"),
        ("ARCH_INI", "0", "does not archive"),
    ] {
        let was = source.run(&format!(
            "select para_value from logminer.ini where para_name = '{name}'"
        ));
        let set = |value: &str| {
            source.run(&format!(
                "update logminer.ini set para_value = '{value}' where para_name = '{name}'"
            ));
        };
        set(value);
        let error = failure(job_with(&source, &[]));
        assert!(
            matches!(error.kind(), ErrorKind::LoggingMode(_) | ErrorKind::Setup(_)),
            "{error}"
        );
        assert!(
            error.to_string().contains(what) && error.to_string().contains("Ask the DBA"),
            "{error}"
        );
        set(was.trim());
    }
    // Changed while the job is down: found before anything is read.
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    source.run("update logminer.ini set para_value = '1' where para_name = 'RLOG_APPEND_LOGIC'");
    let error = failure(job.restart(1));
    assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
}
