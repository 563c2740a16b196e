//! Tables that are altered while all their columns go out, as Debezium's events: a row has the columns that it had when it
//! was written, or there is an error by name; a change of shape stands in front of the first row of the new shape, once.

use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::error::{ErrorKind, Result};

use crate::archives::{active, fault};
use crate::job::Job;
use crate::source::Source;
use crate::watch::{Watch, once};

fn options(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    [&[("include.schema.changes", json!(true))], more].concat()
}

fn started_with(source: &Source, form: &str, more: &[(&'static str, Value)]) -> Job {
    let config = source.config_whole(form, &options(more));
    let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    job
}

fn started(source: &Source) -> Job {
    started_with(source, "json", &[])
}

fn events(job: &Job) -> Vec<(&str, &str)> {
    let streamed = job.sink.log.iter().filter(|row| row.xid.is_some());
    streamed.map(|row| (row.kind, row.v.as_str())).collect()
}

fn run_to(job: &mut Job, key: i64) -> Result<()> {
    job.run(|job| job.sink.log.iter().any(|row| row.id == key))
}

/// Runs to the key's row, with a checkpoint behind every event and a restart from it.
fn run_to_with_restarts(mut job: Job, key: i64) -> Job {
    while !job.sink.log.iter().any(|row| row.id == key) {
        job.unit().unwrap();
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
    }
    job
}

fn mismatch(job: &mut Job, parts: &[&str]) {
    let error = run_to(job, i64::MAX).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
    assert!(!error.is_retryable());
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Statements and, for each, the event that it makes.
const STEPS: [(&str, &str, &str); 9] = [
    ("insert into T values (11, 'a')", "c", r#"{"ID":11,"V":"a"}"#),
    (r#"alter table T add "B" varchar(10)"#, "ddl", ""),
    (
        "insert into T values (12, 'a', 'b')",
        "c",
        r#"{"ID":12,"V":"a","B":"b"}"#,
    ),
    (r#"alter table T drop column "V""#, "ddl", ""),
    ("insert into T values (13, 'c')", "c", r#"{"ID":13,"B":"c"}"#),
    (r#"alter table T rename column "B" to "BB""#, "ddl", ""),
    ("insert into T values (14, 'e')", "c", r#"{"ID":14,"BB":"e"}"#),
    (r#"alter table T alter column "BB" type int using 7"#, "ddl", ""),
    ("insert into T values (15, 8)", "c", r#"{"ID":15,"BB":8}"#),
];

fn expected(schema: &str, steps: &[(&str, &'static str, &str)]) -> Vec<(&'static str, String)> {
    let expected = steps.iter().map(|(statement, kind, row)| match *kind {
        "ddl" => ("ddl", statement.replace(" T ", &format!(r#" "{schema}"."T" "#))),
        kind => (kind, (*row).to_owned()),
    });
    expected.collect()
}

fn owned<'a>(events: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, String)> {
    events.into_iter().map(|(kind, v)| (kind, v.to_owned())).collect()
}

/// F30. The log is read up to each statement before the next one is made; a restart behind every event.
#[test]
fn a_row_has_the_columns_of_its_time_and_a_change_of_shape_stands_in_front_of_it() {
    for of_today in [false, true] {
        let source = Source::with_ddl("STEPS", 2, of_today);
        let mut job = started(&source);
        for (nth, (statement, ..)) in STEPS.iter().enumerate() {
            source.run(statement);
            job.run(|job| events(job).len() > nth).unwrap();
            job.checkpoint().unwrap();
            job = job.restart(1).unwrap();
        }
        assert_eq!(owned(events(&job)), expected("STEPS", &STEPS));
    }
}

const ADDED: [(&str, &str, &str); 8] = [
    ("insert into T values (11, 'a')", "c", r#"{"ID":11,"V":"a"}"#),
    (r#"alter table T add "B" int default 5"#, "ddl", ""),
    (
        r#"update T set "V" = 'b' where "ID" = 11"#,
        "u",
        r#"{"ID":11,"V":"a","B":5} -> {"ID":11,"V":"b","B":5}"#,
    ),
    ("insert into T values (12, 'c', 6)", "c", r#"{"ID":12,"V":"c","B":6}"#),
    (r#"alter table T add constraint "P" check ("B" > 0)"#, "ddl", ""),
    (r#"alter table T add "C" int, add "D" int check ("B" > 0)"#, "ddl", ""),
    (
        r#"delete from T where "ID" = 12"#,
        "d",
        r#"{"ID":12,"V":"c","B":6,"C":null,"D":null}"#,
    ),
    (
        "insert into T values (13, 'd', 7, 8, 9)",
        "c",
        r#"{"ID":13,"V":"d","B":7,"C":8,"D":9}"#,
    ),
];

/// F46, F10. All of it is done before the first of it is read, or while the job is down; a restart behind every event.
#[test]
fn rows_from_before_a_column_was_added_do_not_have_it() {
    for of_today in [false, true] {
        for stopped in [false, true] {
            let schema = format!("ADDED_{}", u8::from(stopped));
            let source = Source::with_ddl(&schema, 2, of_today);
            let mut job = started(&source);
            job.checkpoint().unwrap();
            job.behind_its_back(|| ADDED.iter().for_each(|(statement, ..)| drop(source.run(statement))));
            if stopped {
                job = job.restart(1).unwrap();
            }
            job = run_to_with_restarts(job, 13);
            let expected = expected(&schema, &ADDED);
            assert_eq!(
                owned(events(&job)),
                expected,
                "stopped: {stopped}, of today: {of_today}"
            );
        }
    }
}

/// All of it is done before the first of it is read: with today's words the value of a column that has gone is lost.
#[test]
fn rows_from_before_a_column_went_are_whole_or_an_error_by_name() {
    for (schema, statements) in [
        ("GONE", &[r#"alter table T drop column "W""#][..]),
        (
            "CAME_AND_WENT",
            &[r#"alter table T add "X" int"#, r#"alter table T drop column "W""#],
        ),
        ("AGAIN", &[r#"alter table T drop "W""#, r#"alter table T add "W" int"#]),
        ("OTHER_NAME", &[r#"alter table T rename "W" to "WW""#]),
        ("OTHER_TYPE", &[r#"alter table T alter "W" type int using 5"#]),
    ] {
        for (form, stopped) in [("json", false), ("json", true), ("changes", false)] {
            if (form, stopped) != ("json", false) && !["GONE", "AGAIN"].contains(&schema) {
                continue;
            }
            let schema = format!("{schema}_{form}_{}", u8::from(stopped)).to_uppercase();
            let source = Source::with_ddl(&schema, 2, true);
            source.run(r#"alter table T add "W" varchar(20)"#);
            let mut job = started_with(&source, form, &[]);
            job.checkpoint().unwrap();
            let insert = "insert into T values (11, 'a', 'w')";
            job.behind_its_back(|| {
                [insert]
                    .iter()
                    .chain(statements)
                    .for_each(|statement| drop(source.run(statement)));
            });
            if stopped {
                job = job.restart(1).unwrap();
            }
            mismatch(&mut job, &["alter table", &schema, "column"]);
            assert_eq!(events(&job), []);
        }
    }
    // As they were written they have it; where no shape of theirs was ever seen that cannot be told.
    let source = Source::with_ddl("AS_WRITTEN", 2, false);
    let mut job = started(&source);
    job.behind_its_back(|| {
        source.run("insert into T values (11, 'a')");
        source.run(r#"alter table T add "X" int; alter table T drop column "V""#);
        source.run("insert into T values (12, 5)");
    });
    run_to(&mut job, 12).unwrap();
    let rows: Vec<_> = events(&job).into_iter().filter(|(kind, _)| *kind != "ddl").collect();
    assert_eq!(rows, [("c", r#"{"ID":11,"V":"a"}"#), ("c", r#"{"ID":12,"X":5}"#)]);
    job.behind_its_back(|| {
        source.run(r#"alter table T add "Y" int"#);
        source.run("insert into T values (13, 5, 6)");
        source.run(r#"alter table T drop column "Y""#);
    });
    mismatch(&mut job, &["AS_WRITTEN.T", "column"]);
}

/// The statement stands in an archive that is not there yet when a row of before it is read in today's words.
#[test]
fn a_row_waits_for_the_statement_that_says_what_it_lacks() {
    let source = Source::alone("EVENTS_AHEAD", 2);
    source.run("call logminer.as_dm8()");
    let mut job = started_with(&source, "json", &[("log.window.bytes", json!(1 << 20))]);
    for (id, statement) in [
        (11, r#"alter table T add "B" int"#),
        (12, r#"alter table T drop column "B""#),
    ] {
        let mut late = String::new();
        job.behind_its_back(|| {
            source.run(&format!(r#"insert into T ("ID", "V") values ({id}, 'a')"#));
            source.run("call logminer.switch()");
            late = active(&source);
            fault(&source, &late, "unlisted");
            source.run(statement);
        });
        for _ in 0..100 {
            job.turn(0).unwrap();
        }
        assert!(job.sink.log.iter().all(|row| row.id != id));
        fault(&source, &late, "none");
        if id == 11 {
            run_to(&mut job, id).unwrap();
            assert_eq!(events(&job)[0], ("c", r#"{"ID":11,"V":"a"}"#));
            job.run(|job| events(job).len() == 2).unwrap();
        } else {
            mismatch(&mut job, &["drop column", "EVENTS_AHEAD.T"]);
        }
    }
}

/// A large value is read back by key when its row goes out, whatever was done to the other columns.
#[test]
fn large_values_are_read_back_over_a_change_of_shape() {
    let source = Source::alone("LARGE", 0);
    source.run(r#"call logminer.as_dm8(); drop table T ; create table T ("ID" bigint primary key, "V" clob, "A" int)"#);
    let mut job = started(&source);
    job.behind_its_back(|| {
        source.run("insert into T values (11, repeat('x', 2000), 5)");
        source.run(r#"alter table T add "B" int; create index on T ("A")"#);
        source.run(r#"update T set "B" = 6 where "ID" = 11"#);
    });
    job.run(|job| events(job).iter().any(|(kind, _)| *kind == "u")).unwrap();
    let large = "x".repeat(2000);
    let before = format!(r#"{{"ID":11,"V":"{large}","A":5,"B":null}}"#);
    let rows: Vec<_> = owned(events(&job))
        .into_iter()
        .filter(|(kind, _)| *kind != "ddl")
        .collect();
    assert_eq!(
        rows,
        [
            ("c", format!(r#"{{"ID":11,"V":"{large}","A":5}}"#)),
            ("u", format!("{before} -> {}", before.replace("null", "6"))),
        ]
    );
    job.checkpoint().unwrap();
    job.behind_its_back(|| {
        source.run("insert into T values (12, repeat('y', 2000), 5)");
        source.run(r#"alter table T drop column "V""#);
    });
    mismatch(&mut job, &["drop column", "LARGE.T"]);
}

/// Rows of pages that were read behind it must not be taken for older than it.
#[test]
fn a_truncate_goes_out_only_where_no_page_was_read_behind_it() {
    // In front of all pages: they are read again, and there is nothing to say.
    let source = Source::with_ddl("EMPTIED_FIRST", 4, true);
    let mut writer = source.writer();
    let change = once(move || writer.run("truncate T ; insert into T values (9, 'new')"));
    let watch = Watch {
        after_select: Some(Box::new(move |_, _| change())),
        ..Watch::default()
    };
    let chunk = ("scan.incremental.snapshot.chunk.size", json!(100));
    let config = source.config_whole("json", &options(&[chunk]));
    let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
    job.run_to_stream().unwrap();
    source.run("insert into T values (10, 'behind')");
    run_to(&mut job, 10).unwrap();
    assert_eq!(job.sink.table.keys().copied().collect::<Vec<_>>(), [9, 10]);
    assert_eq!(events(&job).len(), 1);
    source.run("truncate T ");
    job.run(|job| job.sink.table.is_empty()).unwrap();

    // Among them.
    let source = Source::with_ddl("EMPTIED_AMONG", 6, true);
    let mut job = Job::start(
        source.config_whole("json", &options(&[])),
        Arc::new(Watch::default()),
        1,
    )
    .unwrap();
    job.run(|job| job.sink.log.len() == 1).unwrap();
    job.checkpoint().unwrap();
    let mut job = job.restart(1).unwrap();
    source.run("truncate T ; insert into T values (6, 'new')");
    let error = run_to(&mut job, i64::MAX).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated), "{error}");
}

/// Some rows are out, in the old shape.
#[test]
fn columns_that_come_during_the_snapshot_are_in_the_rows_of_the_pages_behind_them() {
    let source = Source::with_ddl("ADDED_AMONG", 6, true);
    let config = source.config_whole("json", &options(&[("scan.snapshot.connections", json!(1))]));
    let watch = Arc::new(Watch::default());
    let mut job = Job::start(config, watch, 1).unwrap();
    job.run(|job| job.sink.log.len() == 1).unwrap();
    job.checkpoint().unwrap();
    let mut job = job.restart(1).unwrap();
    source.run(r#"alter table T add "B" int; insert into T values (7, 'new', 5)"#);
    job.run_to_stream().unwrap();
    source.run("insert into T values (11, 'x', 6)");
    run_to(&mut job, 11).unwrap();
    assert_eq!(job.sink.table[&1], r#"{"ID":1,"V":"v"}"#);
    assert_eq!(job.sink.table[&7], r#"{"ID":7,"V":"new","B":5}"#);
    let events = events(&job);
    assert_eq!(events.last().unwrap(), &("c", r#"{"ID":11,"V":"x","B":6}"#));
    assert_eq!(events.iter().filter(|(kind, _)| *kind == "ddl").count(), 1);
}

/// Between the look at the table and the place where the log is opened, no statement follows in the log; behind that it does, and
/// is passed before the first page is read.
#[test]
fn what_is_done_while_a_job_starts_is_seen_in_its_pages() {
    for (schema, statement, row) in [
        (
            "START_ADDED",
            r#"alter table T add "B" int; update T set "B" = 5 where "ID" = 1"#,
            r#"{"ID":1,"V":"v","B":5}"#,
        ),
        ("START_DROPPED", r#"alter table T drop "V""#, r#"{"ID":1}"#),
        (
            "START_RETYPED",
            r#"alter table T alter "V" type decimal(9, 3) using 1.125"#,
            r#"{"ID":1,"V":"1.125"}"#,
        ),
    ] {
        for (is_open, moment) in [(false, "BEFORE"), (true, "BEHIND")] {
            let source = Source::with_ddl(&format!("{schema}_{moment}"), 2, true);
            let mut writer = source.writer();
            let change: Box<dyn Fn() + Send + Sync> = Box::new(once(move || writer.run(statement)));
            let mut watch = Watch::default();
            match is_open {
                true => watch.after_log = Some(change),
                false => watch.before_log = Some(change),
            }
            let config = source.config_whole("json", &options(&[]));
            let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
            job.run_to_stream().unwrap();
            assert_eq!(job.sink.table[&1], row, "{schema} {moment}");
        }
    }
}
