//! Tables that are altered, emptied, dropped and renamed while they are captured and while the job is down: right values or
//! an error by name, never a shifted or an invented value.

use std::sync::Arc;

use serde_json::json;
use tidemark::error::{Error, ErrorKind};

use crate::archives::{active, fault};
use crate::job::Job;
use crate::source::Source;
use crate::watch::{Watch, once};

type Row<'a> = (&'a str, i64, &'a str);

fn job_with(source: &Source, options: &[(&str, serde_json::Value)]) -> Job {
    Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap()
}

fn started(source: &Source) -> Job {
    let mut job = job_with(source, &[]);
    job.run_to_stream().unwrap();
    job
}

/// Runs until the key is out, or to the job's error.
fn run_to(job: &mut Job, key: i64) -> Result<(), Error> {
    job.run(|job| job.sink.log.iter().any(|row| row.id == key))
}

fn streamed(job: &Job) -> Vec<Row<'_>> {
    job.sink.streamed()
}

/// What a job fails with that must not go on.
fn mismatch(job: &mut Job, parts: &[&str]) {
    let error = run_to(job, i64::MAX).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
    assert!(!error.is_retryable());
    let text = error.to_string();
    assert!(text.starts_with("TM-3005"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Statements that are all in the log, and in the dictionary, before the job reads the first of them.
fn at_once(job: &Job, source: &Source, statements: &[&str]) {
    let mut writer = source.writer();
    job.behind_its_back(|| statements.iter().for_each(|statement| writer.run(statement)));
}

const F30: [&str; 7] = [
    "insert into T values (11, 'a')",
    r#"alter table T add "B" varchar(10) default 'd' not null"#,
    "insert into T values (12, 'a', 'b')",
    r#"alter table T drop column "V""#,
    "insert into T values (13, 'c')",
    r#"alter table T rename column "B" to "BB""#,
    "insert into T values (14, 'e')",
];

const F30_ROWS: [Row<'_>; 4] = [("+I", 11, "a"), ("+I", 12, "a"), ("+I", 13, "NULL"), ("+I", 14, "NULL")];

/// F30. The log is read up to each statement before the next one is made.
#[test]
fn columns_that_come_and_go_take_no_value_into_another_column() {
    for of_today in [false, true] {
        let source = Source::with_ddl("F30", 2, of_today);
        let mut writer = source.writer();
        let mut job = started(&source);
        for (nth, statement) in F30.iter().enumerate() {
            writer.run(statement);
            if nth % 2 == 0 {
                run_to(&mut job, 11 + nth as i64 / 2).unwrap();
            }
        }
        assert_eq!(streamed(&job), F30_ROWS);
        // Rows of before the column left are told by their key alone.
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
        writer.run("insert into T values (15, 'f')");
        run_to(&mut job, 15).unwrap();
        assert_eq!(streamed(&job)[4..], [("+I", 15, "NULL")]);
    }
}

/// F30, F10. All of it is done before the first row is read: a text that is as it was written has the row's own values; one
/// that was made with today's dictionary lacks them, and nothing takes their place.
#[test]
fn rows_older_than_the_dictionary_are_right_or_an_error_by_name() {
    let source = Source::with_ddl("F30_AT_ONCE", 2, false);
    let mut job = started(&source);
    at_once(&job, &source, &F30);
    run_to(&mut job, 14).unwrap();
    assert_eq!(streamed(&job), F30_ROWS);

    let source = Source::with_ddl("F30_AT_ONCE", 2, true);
    let mut job = started(&source);
    at_once(&job, &source, &F30);
    mismatch(&mut job, &["F30_AT_ONCE.T", "column 'V'", "drop column", "scn"]);
    assert_eq!(job.sink.log.len(), 2, "nothing of it is out");
}

/// F46, F10.
#[test]
fn a_column_added_while_the_job_is_down_is_null_in_older_rows() {
    for of_today in [false, true] {
        let source = Source::with_ddl("F46", 2, of_today);
        let mut writer = source.writer();
        let mut job = started(&source);
        job.checkpoint().unwrap();
        let savepoint = job.completed().clone();
        drop(job);
        writer.run("insert into T values (11, 'x')");
        writer.run(r#"update T set "V" = 'y' where "ID" = 11"#);
        writer.run(r#"alter table T add "NOTE" varchar(20)"#);
        writer.run("insert into T values (12, 'z', 'note')");
        writer.run(r#"update T set "NOTE" = 'more' where "ID" in (11, 12)"#);
        let config = source.config_with("NOTE", &[]);
        let mut job = Job::open(config, Arc::new(Watch::default()), 1, savepoint).unwrap();
        job.run(|job| job.sink.log.len() == 10).unwrap();
        assert_eq!(
            streamed(&job),
            [
                ("+I", 11, "NULL"),
                ("-U", 11, "NULL"),
                ("+U", 11, "NULL"),
                ("+I", 12, "note"),
                ("-U", 11, "NULL"),
                ("+U", 11, "more"),
                ("-U", 12, "note"),
                ("+U", 12, "more"),
            ]
        );
    }
}

/// The first start says so; a job whose table lost the column since goes on, with NULL.
#[test]
fn a_declared_column_that_is_not_there_is_refused_at_the_start_and_null_after_a_restart() {
    let source = Source::with_ddl("LEFT", 2, true);
    let mut writer = source.writer();
    let mut job = started(&source);
    job.checkpoint().unwrap();
    let savepoint = job.completed().clone();
    drop(job);
    writer.run(r#"alter table T drop column "V""#);
    writer.run("insert into T values (11)");
    let mut job = Job::open(source.config(&[]), Arc::new(Watch::default()), 1, savepoint).unwrap();
    run_to(&mut job, 11).unwrap();
    // It comes back: from then on it has values again.
    writer.run(r#"alter table T add "V" varchar(9)"#);
    writer.run("insert into T values (12, 'back')");
    run_to(&mut job, 12).unwrap();
    assert_eq!(streamed(&job), [("+I", 11, "NULL"), ("+I", 12, "back")]);
    drop(job);

    let error = Job::start(source.config_with("NEVER", &[]), Arc::new(Watch::default()), 1)
        .and_then(|mut job| run_to(&mut job, 1))
        .unwrap_err();
    assert!(error.to_string().starts_with("TM-1004"), "{error}");
    assert!(error.to_string().contains("no column 'NEVER'"), "{error}");
}

/// By name alone these would be shifted, invented or read as another type's.
#[test]
fn a_declared_column_that_is_another_one_today_is_an_error_for_older_rows() {
    let insert = "insert into T values (11, 'a', 'w')";
    for (schema, statements) in [
        (
            "SWAP",
            &[
                r#"alter table T rename column "V" to "X""#,
                r#"alter table T rename column "W" to "V""#,
                r#"alter table T rename column "X" to "W""#,
            ][..],
        ),
        (
            "AGAIN",
            &[
                r#"alter table T drop column "V""#,
                r#"alter table T add "V" varchar(200)"#,
            ],
        ),
        ("RETYPE", &[r#"alter table T alter column "V" type int using 5"#]),
    ] {
        for stopped in [false, true] {
            let source = Source::with_ddl(
                &format!("{schema}_{}", if stopped { "STOPPED" } else { "RUNNING" }),
                2,
                true,
            );
            source.run(r#"alter table T add "W" varchar(200)"#);
            let mut job = started(&source);
            job.checkpoint().unwrap();
            let statements: Vec<&str> = [insert].into_iter().chain(statements.iter().copied()).collect();
            at_once(&job, &source, &statements);
            if stopped {
                job = job.restart(1).unwrap();
            }
            mismatch(&mut job, &["column 'V'", "alter table", "T"]);
            assert_eq!(streamed(&job), []);
        }
    }
}

/// The statement stands in an archive that is mined later, or that is not there yet, when rows of before it are read in
/// today's words: they wait until it is known what it did.
#[test]
fn rows_older_than_a_statement_that_has_not_been_read_wait_for_it() {
    let swap = [
        r#"alter table T rename column "V" to "X""#,
        r#"alter table T rename column "W" to "V""#,
        r#"alter table T rename column "X" to "W""#,
    ];
    let add = [
        r#"alter table T add "MORE" int"#,
        r#"alter table T alter column "V" type varchar(300)"#,
    ];
    let source = Source::alone("AHEAD", 2);
    source.run(r#"call logminer.as_dm8(); alter table T add "W" varchar(200)"#);
    let mut id = 10;
    for (statements, passes) in [(&add[..], true), (&swap, false)] {
        for is_late in [false, true] {
            id += 1;
            let mut job = job_with(&source, &[("log.window.bytes", json!(1 << 20))]);
            job.run_to_stream().unwrap();
            let mut late = None;
            job.behind_its_back(|| {
                source.run(&format!("insert into T values ({id}, 'a', 'w')"));
                source.run("call logminer.switch()");
                if is_late {
                    late = Some(active(&source));
                    fault(&source, late.as_ref().unwrap(), "unlisted");
                }
                statements.iter().for_each(|statement| drop(source.run(statement)));
            });
            if let Some(late) = late {
                for _ in 0..100 {
                    job.turn(0).unwrap();
                }
                assert_eq!(streamed(&job), []);
                fault(&source, &late, "none");
            }
            if passes {
                run_to(&mut job, id).unwrap();
                assert_eq!(streamed(&job), [("+I", id, "a")]);
                source.run(r#"alter table T drop column "MORE""#);
            } else {
                mismatch(&mut job, &["column 'V'", "rename column", "AHEAD.T"]);
                assert_eq!(streamed(&job), []);
            }
        }
    }
}

/// What is done to other columns, or adds to the table, or only widens a column, touches no value.
#[test]
fn older_rows_are_right_where_their_columns_are_the_same() {
    for of_today in [false, true] {
        let source = Source::with_ddl("TOUCHED", 2, of_today);
        source.run(r#"alter table T add "W" varchar(200), add "N" int"#);
        let mut job = started(&source);
        at_once(
            &job,
            &source,
            &[
                "insert into T values (11, 'a', 'w', 1)",
                r#"alter table T alter column "V" type varchar(300)"#,
                "insert into T values (12, 'b', 'w', 2)",
                r#"alter table T rename column "W" to "WW""#,
                r#"update T set "V" = 'c' where "ID" = 11"#,
                r#"alter table T drop column "N""#,
                r#"alter table T add constraint "C" check ("V" <> 'x')"#,
                r#"update T set "V" = 'd' where "ID" = 11"#,
                r#"create index on T ("V")"#,
                r#"delete from T where "ID" = 12"#,
                r#"insert into T values (13, 'e', 'w')"#,
            ],
        );
        run_to(&mut job, 13).unwrap();
        assert_eq!(
            streamed(&job),
            [
                ("+I", 11, "a"),
                ("+I", 12, "b"),
                ("-U", 11, "a"),
                ("+U", 11, "c"),
                ("-U", 11, "c"),
                ("+U", 11, "d"),
                ("-D", 12, "b"),
                ("+I", 13, "e"),
            ]
        );
    }
}

/// The log is read up to each: the new type's values are as the new type has them, and names mean what they mean then.
#[test]
fn a_running_job_follows_each_change_of_shape() {
    for of_today in [false, true] {
        let source = Source::with_ddl("FOLLOWED", 2, of_today);
        let mut writer = source.writer();
        let mut job = started(&source);
        for (key, statements) in [
            (
                11,
                &[
                    r#"alter table T add "W" varchar(9)"#,
                    "insert into T values (11, 'v', 'w')",
                ][..],
            ),
            (
                12,
                &[
                    r#"alter table T rename column "V" to "X""#,
                    r#"alter table T rename column "W" to "V""#,
                    "insert into T values (12, 'x', 'v')",
                ],
            ),
            (
                13,
                &[
                    r#"alter table T alter column "V" type int using 7"#,
                    "insert into T values (13, 'x', 8)",
                ],
            ),
            (
                14,
                &[r#"alter table T drop column "V""#, "insert into T values (14, 'x')"],
            ),
            (
                15,
                &[
                    r#"alter table T add "V" char(9)"#,
                    "insert into T values (15, 'x', 'y')",
                ],
            ),
        ] {
            for statement in statements {
                writer.run(statement);
            }
            run_to(&mut job, key).unwrap();
        }
        let expected = [
            ("+I", 11, "v"),
            ("+I", 12, "v"),
            ("+I", 13, "8"),
            ("+I", 14, "NULL"),
            ("+I", 15, "y"),
        ];
        assert_eq!(streamed(&job), expected);
        // What cannot become the declared type, or has another key, is not read on.
        writer.run(r#"alter table T alter column "V" type date using '2020-02-29'"#);
        writer.run("insert into T values (16, 'x', '2020-02-29')");
        mismatch(&mut job, &["column 'V' is a date", "FOLLOWED.T"]);
    }
}

/// PostgreSQL can; DM8 only where DDL_AUTO_COMMIT is off.
#[test]
fn rows_on_both_sides_of_a_change_in_one_transaction() {
    let source = Source::with_ddl("INSIDE", 2, false);
    let mut job = started(&source);
    let mut writer = source.writer();
    writer.run("begin");
    for statement in F30 {
        writer.run(statement);
    }
    writer.run("commit");
    run_to(&mut job, 14).unwrap();
    assert_eq!(streamed(&job), F30_ROWS);
}

#[test]
fn a_table_that_is_dropped_or_renamed_is_an_error_whoever_takes_its_name() {
    let made = r#"create table T ("ID" bigint primary key, "V" varchar(200) not null)"#;
    for (schema, statements, what) in [
        ("DROPPED", &["drop table T "][..], "was dropped"),
        (
            "MADE_ANEW",
            &["drop table T ", made, "insert into T values (11, 'new')"],
            "was dropped",
        ),
        ("RENAMED", &[r#"alter table T rename to "OTHER""#], "was renamed"),
        (
            "REPLACED",
            &[
                r#"alter table T rename to "OTHER""#,
                made,
                "insert into T values (11, 'new')",
            ],
            "was renamed",
        ),
    ] {
        for stopped in [false, true] {
            let source = Source::with_ddl(
                &format!("{schema}_{}", if stopped { "STOPPED" } else { "RUNNING" }),
                2,
                true,
            );
            let mut job = started(&source);
            job.checkpoint().unwrap();
            at_once(&job, &source, statements);
            if stopped {
                // A table that is not there is an error before anything is read.
                if let Err(error) = job.restart(1).and_then(|mut again| run_to(&mut again, i64::MAX)) {
                    let text = error.to_string();
                    let found = statements.len() > 1;
                    assert!(text.contains(if found { what } else { "TM-1002" }), "{text}");
                }
            } else {
                mismatch(
                    &mut job,
                    &[
                        what,
                        ".T",
                        if what.ends_with("dropped") {
                            "drop table"
                        } else {
                            "rename to"
                        },
                    ],
                );
            }
        }
    }
}

/// `log.on-dictionary-mismatch = skip`: the old rows stay downstream, the new table's come.
#[test]
fn a_table_made_anew_goes_on_where_the_job_is_told_to() {
    let source = Source::with_ddl("GOES_ON", 2, true);
    let mut job = job_with(&source, &[("log.on-dictionary-mismatch", json!("skip"))]);
    job.run_to_stream().unwrap();
    at_once(
        &job,
        &source,
        &[
            "drop table T ",
            r#"create table T ("V" varchar(9), "N" int, "ID" bigint primary key)"#,
            "insert into T values ('new', 5, 11)",
        ],
    );
    run_to(&mut job, 11).unwrap();
    assert_eq!(streamed(&job), [("+I", 11, "new")]);
    assert_eq!(job.sink.table.len(), 3);
}

/// A log that cannot put rows into words whose column has gone.
#[test]
fn rows_that_the_server_cannot_put_into_words_are_an_error_by_name_or_counted() {
    let source = Source::alone("UNSUPPORTED", 2);
    source
        .run("call logminer.as_dm8(); update logminer.setting set value = 'unsupported' where name = 'dropped_column'");
    source.run(r#"alter table T add "W" int"#);
    let statements = [
        "insert into T values (11, 'a', 1)",
        r#"alter table T drop column "W""#,
        "insert into T values (12, 'b')",
    ];
    let mut job = started(&source);
    at_once(&job, &source, &statements);
    mismatch(&mut job, &["UNSUPPORTED", ".T"]);
    drop(job);
    source.run(r#"delete from T where "ID" > 10; alter table T add "W" int"#);
    let mut job = job_with(&source, &[("log.on-dictionary-mismatch", json!("skip"))]);
    job.run_to_stream().unwrap();
    at_once(&job, &source, &statements);
    run_to(&mut job, 12).unwrap();
    assert_eq!(streamed(&job), [("+I", 12, "b")]);
}

#[test]
fn a_table_with_another_key_is_an_error() {
    let source = Source::with_ddl("OTHER_KEY", 2, true);
    let mut job = started(&source);
    at_once(
        &job,
        &source,
        &[
            r#"alter table T drop constraint "T_pkey""#,
            r#"alter table T add primary key ("V", "ID")"#,
            "insert into T values (11, 'x')",
        ],
    );
    mismatch(&mut job, &["key was (ID) and is (V, ID)", "OTHER_KEY.T"]);
}

/// How a table is emptied, whole or in part: `T` is the table. PostgreSQL does not have the last ones' statements.
const EMPTIED: [&str; 4] = [
    "truncate T ",
    "select logminer.append(5, 'ALTER TABLE S.T TRUNCATE PARTITION P1', 'SCHEMA', 'T')",
    "select logminer.append(5, 'alter table T drop partition P1', 'SCHEMA', 'T')",
    "select logminer.append(5, 'ALTER TABLE \"S\".\"T\" EXCHANGE PARTITION P1 WITH TABLE X', 'SCHEMA', 'T')",
];

fn assert_truncated(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Truncated), "{error}");
    assert!(
        error.to_string().starts_with("TM-3008") && error.to_string().contains("on-truncate"),
        "{error}"
    );
    assert!(!error.is_retryable());
}

#[test]
fn a_table_emptied_while_its_rows_are_downstream_is_an_error_unless_ignored() {
    for (nth, statement) in EMPTIED.into_iter().enumerate() {
        let schema = format!("EMPTIED_{nth}");
        let source = Source::with_ddl(&schema, 2, true);
        let statement = statement.replace("SCHEMA", &schema);
        let mut job = started(&source);
        job.checkpoint().unwrap();
        let stopped = job.completed().clone();
        source.run(&statement);
        let error = run_to(&mut job, i64::MAX).unwrap_err();
        assert_truncated(&error);
        assert!(error.to_string().contains(&schema), "{error}");
        drop(job);
        // While the job was down it is no other.
        let watch = || Arc::new(Watch::default());
        let mut job = Job::open(source.config(&[]), watch(), 1, stopped.clone()).unwrap();
        assert_truncated(&run_to(&mut job, i64::MAX).unwrap_err());
        drop(job);
        let config = source.config(&[("on-truncate", json!("ignore"))]);
        let mut job = Job::open(config, watch(), 1, stopped).unwrap();
        source.run("insert into T values (11, 'behind')");
        run_to(&mut job, 11).unwrap();
        assert_eq!(job.sink.table.len(), 3, "the rows stay downstream");
        assert_eq!(gauge(&job, "truncatesIgnored"), 1);
        // Not once more after a restart behind it.
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
        source.run("insert into T values (12, 'behind')");
        run_to(&mut job, 12).unwrap();
        assert_eq!(gauge(&job, "truncatesIgnored"), 0);
    }
}

fn gauge(job: &Job, name: &str) -> i64 {
    let metrics = job.reader(0).metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap().value
}

/// Before a row of it is out: the page is read again, and nothing was lost or kept that should not be.
#[test]
fn a_table_that_changes_while_its_page_is_corrected_is_read_again() {
    for (schema, statement, v) in [
        ("PAGE_EMPTIED", "truncate T ", "new"),
        ("PAGE_ADDED", r#"alter table T add "W" int default 5"#, "new"),
        ("PAGE_RENAMED", r#"alter table T rename column "V" to "W""#, "NULL"),
        (
            "PAGE_RETYPED",
            r#"alter table T alter column "V" type int using 7"#,
            "7",
        ),
    ] {
        let source = Source::with_ddl(schema, 4, true);
        let mut writer = source.writer();
        let insert = if v == "7" {
            "insert into T values (9, 7)"
        } else {
            r#"insert into T ("ID", "V") values (9, 'new')"#
        };
        let insert = if v == "NULL" {
            r#"insert into T ("ID", "W") values (9, 'new')"#
        } else {
            insert
        };
        let change = once(move || {
            writer.run(statement);
            writer.run(insert);
        });
        let watch = Watch {
            after_select: Some(Box::new(move |_, _| change())),
            ..Watch::default()
        };
        let config = source.config(&[("scan.incremental.snapshot.chunk.size", json!(100))]);
        let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
        job.run_to_stream().unwrap();
        let keys: Vec<i64> = job.sink.table.keys().copied().collect();
        let expected: &[i64] = if schema == "PAGE_EMPTIED" {
            &[9]
        } else {
            &[1, 2, 3, 4, 9]
        };
        assert_eq!(keys, expected, "{schema}");
        assert_eq!(job.sink.table[&9], v, "{schema}");
        source.run(r#"update T set "ID" = 10 where "ID" = 9"#);
        run_to(&mut job, 10).unwrap();
        assert_eq!(streamed(&job), [("-D", 9, v), ("+I", 10, v)]);
    }
}

/// Some pages are out, in the old shape; the others are read in the new one.
#[test]
fn a_column_that_leaves_during_the_snapshot_is_null_from_there_on() {
    let source = Source::with_ddl("LEAVES", 6, true);
    let mut writer = source.writer();
    let config = source.config(&[
        ("scan.snapshot.round.bytes", json!(1 << 20)),
        ("scan.snapshot.connections", json!(1)),
    ]);
    let change = once(move || writer.run(r#"alter table T drop column "V""#));
    let watch = Watch {
        before_select: Some(Box::new(move |_, chunk| {
            if chunk.range.lower.is_some() {
                change();
            }
        })),
        ..Watch::default()
    };
    let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(job.sink.table[&6], "NULL");
    source.run("insert into T values (11)");
    run_to(&mut job, 11).unwrap();
    assert_eq!(streamed(&job), [("+I", 11, "NULL")]);
}

/// Rows of it are out already.
#[test]
fn a_table_emptied_between_two_pages_is_an_error() {
    let source = Source::with_ddl("BETWEEN_PAGES", 6, true);
    let mut job = job_with(&source, &[]);
    job.run(|job| job.sink.log.len() == 1).unwrap();
    job.checkpoint().unwrap();
    drop(job.restart(1).map(|mut job| {
        source.run("truncate T ; insert into T values (6, 'new')");
        let error = run_to(&mut job, i64::MAX).unwrap_err();
        assert_truncated(&error);
    }));
}
