//! Tables without a key (`table-without-key`).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::job::Job;
use crate::source::Source;
use crate::watch::{Watch, once};

const REREAD: (&str, &str) = ("table-without-key", "reread");

/// A table `BARE` of rows 1 to 7 and three times row 8.
fn bare(schema: &str) -> Source {
    let source = Source::shared(schema, 4);
    source.run(&format!(
        r#"create table "{schema}"."BARE" ("V" varchar(200), "ID" bigint);
           insert into "{schema}"."BARE" select 'b', least(g, 8) from generate_series(1, 10) g"#
    ));
    source
}

fn job(source: &Source, options: &[(&str, Value)], watch: Watch, parallelism: u32) -> Job {
    let mut all = vec![("table-name", json!("BARE")), (REREAD.0, json!(REREAD.1))];
    all.extend(options.iter().cloned());
    let mut job = Job::start(source.config(&all), Arc::new(watch), parallelism).unwrap();
    job.sink.keyless = true;
    job
}

/// How often a row came by a kind of change.
fn count(job: &Job, kind: &str, id: i64) -> usize {
    let rows = job.sink.log.iter();
    rows.filter(|row| row.table == "BARE" && (row.kind, row.id) == (kind, id))
        .count()
}

fn counts(job: &Job) -> Vec<usize> {
    (1..=8).map(|id| count(job, "+I", id)).collect()
}

/// F36
#[test]
fn identical_rows_are_all_read_and_one_delete_takes_one() {
    let source = bare("IDENTICAL");
    let mut job = job(&source, &[], Watch::default(), 2);
    job.run_to_stream().unwrap();
    assert_eq!(counts(&job), [1, 1, 1, 1, 1, 1, 1, 3]);
    let one = r#"ctid = (select min(ctid) from "IDENTICAL"."BARE" where "ID" = 8)"#;
    source.run(&format!(r#"delete from "IDENTICAL"."BARE" where {one}"#));
    source.run(&format!(r#"update "IDENTICAL"."BARE" set "V" = 'c' where {one}"#));
    source.run(r#"update "IDENTICAL"."BARE" set "ID" = 70 where "ID" = 7"#);
    job.run(|job| count(job, "+U", 70) > 0).unwrap();
    let expected = [
        ("-D", 8, "b"),
        ("-U", 8, "b"),
        ("+U", 8, "c"),
        ("-U", 7, "b"),
        ("+U", 70, "b"),
    ];
    assert_eq!(job.sink.streamed(), expected);
}

/// The point is where the log stood before the SELECT: what it may have missed comes in the log phase, what it has seen comes
/// again.
#[test]
fn what_commits_while_the_rows_are_read_comes_at_least_once() {
    let source = bare("MEANWHILE");
    let (mut first, mut second) = (source.writer(), source.writer());
    let before = once(move || first.run(r#"insert into "MEANWHILE"."BARE" values ('before', 20)"#));
    let after = once(move || {
        second.run(
            r#"insert into "MEANWHILE"."BARE" values ('after', 30); delete from "MEANWHILE"."BARE" where "ID" = 8"#,
        );
    });
    let watch = Watch {
        before_select: Some(Box::new(move |_, _| before())),
        after_select: Some(Box::new(move |_, _| after())),
        ..Watch::default()
    };
    let mut job = job(&source, &[], watch, 1);
    job.run(|job| count(job, "-D", 8) == 3).unwrap();
    assert_eq!(counts(&job), [1, 1, 1, 1, 1, 1, 1, 3]);
    assert_eq!((count(&job, "+I", 20), count(&job, "+I", 30)), (2, 1));
}

/// A restart while rows go out: nothing says which of them were out, so all come again; those of a table with a key
/// beside it come once.
#[test]
fn all_rows_are_read_again_after_a_restart() {
    let source = bare("AGAIN");
    let options = [("table-name", json!("BARE|T"))];
    let mut job = job(&source, &options, Watch::default(), 1);
    job.run(|job| counts(job).iter().sum::<usize>() == 5).unwrap();
    job.checkpoint().unwrap();
    job = job.restart(2).unwrap();
    job.run_to_stream().unwrap();
    let all = counts(&job);
    assert_eq!(all.iter().sum::<usize>(), 15, "{all:?}");
    assert!(
        all.iter()
            .zip([1, 1, 1, 1, 1, 1, 1, 3])
            .all(|(came, there)| *came >= there),
        "{all:?}"
    );
    let keyed = job.sink.log.iter().filter(|row| row.table == "T");
    assert_eq!(keyed.count(), 4);
    // Ranges of both attempts are there; the stream goes by the earlier one.
    source.run(r#"insert into "AGAIN"."BARE" values ('new', 40)"#);
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    job.run(|job| count(job, "+I", 40) == 1).unwrap();
}

/// Without rows to read no key is needed.
#[test]
fn the_log_phase_alone_needs_no_key() {
    let source = bare("LOG_ALONE");
    let options = [
        ("scan.startup.mode", json!("latest-offset")),
        ("table-without-key", json!("fail")),
    ];
    let mut job = job(&source, &options, Watch::default(), 1);
    job.run_to_stream().unwrap();
    source.run(r#"delete from "LOG_ALONE"."BARE" where "ID" = 8"#);
    job.run(|job| count(job, "-D", 8) == 3).unwrap();
    assert_eq!(job.sink.log.len(), 3);
}
