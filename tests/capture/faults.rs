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
    source.run("insert into T values (500, 'x'); select pg_switch_wal(); insert into T values (501, 'x')");
    expire(source)
}

/// Deletes all but the newest file, and commits nothing. Returns the first scn that is left.
pub fn expire(source: &Source) -> Scn {
    let kept = source.run("checkpoint; select pg_walfile_name(pg_current_wal_insert_lsn())");
    let kept = kept.trim().to_owned();
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

/// F21: under 1 an UPDATE names the key alone, under 3 the ROWID alone: what it does not say is not NULL.
#[test]
fn rows_logged_in_part_while_the_job_runs_end_it_with_the_setting_and_become_no_null() {
    let source = Source::of(
        Arc::new(crate::source::start()),
        "IN_PART",
        r#""ID" bigint primary key, "V" varchar(200), "W" varchar(200)"#,
    );
    let set = |logic: u32| {
        source.run(&format!(
            "call \"SYS\".sp_set_para_value(1, 'RLOG_APPEND_LOGIC', {logic})"
        ))
    };
    for (logic, change) in [
        (1, r#"update T set "W" = 'x' where "ID" = 1"#),
        (1, r#"update T set "ID" = 3 where "ID" = 1"#),
        (1, r#"delete from T where "ID" = 1"#),
        (3, r#"update T set "V" = 'x' where "ID" = 1"#),
        (3, r#"delete from T where "ID" = 1"#),
    ] {
        source.run("truncate T ");
        source.run("insert into T values (1, 'b', 'a')");
        let mut job = job_with(&source, &[]).unwrap();
        job.catch_up(&source).unwrap();
        set(logic);
        // An INSERT is whole under both.
        source.run("insert into T values (2, 'whole', 'w')");
        job.run(|job| job.sink.table.contains_key(&2)).unwrap();
        source.run(change);
        set(2);
        let rows = job.sink.log.clone();
        let error = job.run(Job::has_ended).unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        assert!(
            matches!(error.kind(), ErrorKind::LoggingMode(_)),
            "{logic}, {change}: {error}"
        );
        for part in ["IN_PART.T", "RLOG_APPEND_LOGIC', 2"] {
            assert!(error.to_string().contains(part), "{part} is missing in {error}");
        }
        assert_eq!(job.sink.log, rows, "{logic}, {change}: nothing of the row goes out");
    }
}

/// F19: in the midst of a transaction of good rows.
#[test]
fn rows_of_the_view_without_a_readable_text_are_skipped_and_counted_or_end_the_job_by_name() {
    let source = Source::shared("UNREADABLE", 1);
    let skipping = [
        ("log.on-dictionary-mismatch", json!("skip")),
        ("log.on-corruption", json!("skip")),
    ];
    let append = |op: u32, text: &str, status: u32| {
        format!(
            r#"select logminer.append({op}, $r${text}$r$, 'UNREADABLE', 'T', status => {status},
               table_oid => '"UNREADABLE"."T"'::regclass);"#
        )
    };
    let insert = |value: &str| format!(r#"INSERT INTO "UNREADABLE"."T"("ID", "V") VALUES(50, {value})"#);
    let among = |record: &str, first: i64| {
        source.run(&format!(
            "begin; insert into T values ({first}, 'before'); {record} insert into T values ({}, 'behind'); commit",
            first + 1
        ));
    };
    let mut skips = job_with(&source, &skipping).unwrap();
    skips.catch_up(&source).unwrap();
    for (n, record) in [
        append(1, "", 0),
        append(1, &insert("'x'"), 2),
        append(255, "Unsupported", 0),
        append(1, &insert("'x"), 0),
        append(3, "UPDATE of something", 0),
        append(1, &insert("'x'"), 1343),
    ]
    .iter()
    .enumerate()
    {
        among(record, 10 * (n as i64 + 1));
    }
    skips.catch_up(&source).unwrap();
    assert_eq!(skips.sink.table, source.table());
    let skipped = |job: &Job| -> i64 {
        let metrics = (0..2).flat_map(|subtask| job.reader(subtask).metrics());
        metrics
            .filter(|metric| metric.name == "recordsSkipped")
            .map(|metric| metric.value)
            .sum()
    };
    assert_eq!(skipped(&skips), 6);
    // Those behind the restart are skipped by it too, wherever it is.
    skips.checkpoint().unwrap();
    skips = skips.restart(2).unwrap();
    among(&append(2, "DELETE", 0), 90);
    skips.catch_up(&source).unwrap();
    assert_eq!(skips.sink.table, source.table());
    assert_eq!(skipped(&skips), 1);
    drop(skips);
    let long = "x".repeat(60_000);
    for (n, (record, code)) in [
        (append(1, "", 0), "TM-3005"),
        (append(1, &insert("'x"), 0), "TM-3007"),
        (append(1, &insert("UNISTR('\\12G')"), 0), "TM-3007"),
        (append(1, &insert(&format!("'{long}")), 0), "TM-3007"),
    ]
    .iter()
    .enumerate()
    {
        let mut job = job_with(&source, &[]).unwrap();
        job.catch_up(&source).unwrap();
        among(record, 100 + 10 * n as i64);
        let error = failure(Ok(job));
        let text = error.to_string();
        for part in [code, "UNREADABLE.T", "scn ", "transaction "] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(text.len() < 1000, "{} bytes", text.len());
    }
}

/// F19
#[test]
fn a_binary_of_an_odd_number_of_digits_is_an_error_by_name() {
    let stand_in = Source::shared("ODD_SERVER", 0).stand_in;
    let source = Source::of(stand_in, "ODD", r#""ID" bigint primary key, "V" varbinary"#);
    let columns = json!([{"name": "ID", "type": "BIGINT", "nullable": false}, {"name": "V", "type": "BYTES"}]);
    let mut job = Job::start(source.config_of(&[], columns), Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    source.run(
        r#"begin; select logminer.append(1, $r$INSERT INTO "ODD"."T"("ID", "V") VALUES(7, HEXTORAW('abc'))$r$, 'ODD', 'T',
           table_oid => '"ODD"."T"'::regclass); commit"#,
    );
    let error = failure(Ok(job));
    for part in ["ODD.T", "'V'", "7", "odd number of digits", "scn "] {
        assert!(error.to_string().contains(part), "{part} is missing in {error}");
    }
}
