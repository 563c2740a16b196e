//! Partitions that go while nobody looks: what they had is the root's all the same.

use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// Partitions `low` for 0 to 9, `high` for 10 to 99 and `rest`, with rows 1 and 2.
pub fn partitioned(source: &Source) {
    let schema = &source.schema;
    source.run(&format!(
        r#"drop table T ; create table T ("ID" bigint primary key, "V" text not null) partition by range ("ID");
           create table {schema}.low partition of T for values from (0) to (10);
           create table {schema}.high partition of T for values from (10) to (100);
           create table {schema}.rest partition of T default;
           alter table {schema}.low replica identity full; alter table {schema}.high replica identity full;
           alter table {schema}.rest replica identity full; insert into T values (1, 'v'), (2, 'v')"#
    ));
}

fn source(name: &str, plugin: &'static str) -> Source {
    let source = Source::shared(name, plugin, 1);
    partitioned(&source);
    source
}

fn start(source: &Source, options: &[(&str, Value)]) -> Job {
    Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap()
}

/// A job that has read all and is down, and goes on once something was done.
fn around(source: &Source, options: &[(&str, Value)], what: impl FnOnce()) -> Job {
    let mut job = start(source, options);
    job.run_to_stream().unwrap();
    // So that the log was opened, and partitions were looked up.
    source.run("insert into T values (7, 'first')");
    job.run(|job| job.sink.table.contains_key(&7)).unwrap();
    job.checkpoint().unwrap();
    let completed = job.completed().clone();
    drop(job);
    what();
    Job::open(source.config(options), Arc::new(Watch::default()), 1, completed).unwrap()
}

/// What stands in the log of a partition before it goes, and of the others behind it.
const BEFORE: &str = r#"insert into T values (11, 'a'), (12, 'b'); update T set "V" = 'c' where "ID" = 11; delete from T where "ID" = 12"#;
const BEHIND: &str = "insert into T values (5, 'other')";
const EXPECTED: [(&str, i64, &str); 7] = [
    ("+I", 7, "first"),
    ("+I", 11, "a"),
    ("+I", 12, "b"),
    ("-U", 11, "a"),
    ("+U", 11, "c"),
    ("-D", 12, "b"),
    ("+I", 5, "other"),
];

/// Each row is a place to go on from, however long the partition is gone by then.
fn expect(mut job: Job, case: &str) {
    while job.sink.streamed().len() < EXPECTED.len() {
        job.unit().unwrap();
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
    }
    assert_eq!(job.sink.streamed(), EXPECTED, "{case}");
}

/// A partition has become another table's name, or nobody's, while the job was down.
const WAYS: [(&str, &str); 4] = [
    ("detached", "alter table T detach partition S.high"),
    ("dropped", "drop table S.high"),
    ("renamed", "alter table S.high rename to higher"),
    (
        "made anew",
        "drop table S.high; create table S.high partition of T for values from (10) to (50); alter table S.high replica identity full",
    ),
];

#[test]
fn rows_of_a_partition_that_goes_while_the_job_is_down_are_the_roots() {
    for plugin in PLUGINS {
        for (number, (how, statement)) in WAYS.into_iter().enumerate() {
            let source = source(&format!("went_{number}"), plugin);
            let job = around(&source, &[], || {
                source.run(BEFORE);
                source.run(&statement.replace("S.", &format!("{}.", source.schema)));
                source.run(BEHIND);
            });
            expect(job, &format!("{plugin}, {how}"));
        }
    }
}

/// The publication has other tables too: what was a partition is told from them by what the job remembers.
#[test]
fn in_a_wider_publication_too() {
    for (number, (how, statement)) in WAYS.into_iter().enumerate() {
        let source = source(&format!("wider_{number}"), "pgoutput");
        let schema = &source.schema;
        let name = format!("of_{schema}");
        source.run(&format!(
            r#"create table {schema}.archive (like T including all); alter table {schema}.archive replica identity full;
               create publication {name} for table T , {schema}.archive"#
        ));
        let options = [("publication.name", json!(name))];
        let job = around(&source, &options, || {
            source.run(BEFORE);
            source.run(&format!("insert into {schema}.archive values (11, 'z')"));
            source.run(&statement.replace("S.", &format!("{schema}.")));
            source.run(BEHIND);
        });
        expect(job, how);
    }
}

/// The log phase begins where the snapshot does, and is read behind it.
#[test]
fn rows_of_a_partition_that_goes_during_the_snapshot_are_the_roots() {
    for plugin in PLUGINS {
        for (number, (how, statement)) in WAYS.into_iter().enumerate() {
            let source = source(&format!("early_{number}"), plugin);
            let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 2).unwrap();
            job.unit().unwrap();
            // The enumerator's state remembers.
            job.checkpoint().unwrap();
            job = job.restart(2).unwrap();
            job.run(|job| job.sink.snapshot_rows() == 2).unwrap();
            // The rows are in no completed checkpoint: the log phase waits.
            assert!(!job.streams);
            source.run(r#"insert into T values (11, 'a'); update T set "V" = 'c' where "ID" = 11"#);
            source.run(&statement.replace("S.", &format!("{}.", source.schema)));
            job.catch_up(&source).unwrap();
            assert_eq!(job.sink.table[&11], "c", "{plugin}, {how}");
        }
    }
}

/// Nobody can say whose rows they were: the log has names only, and the name is another table's now.
#[test]
fn a_partitions_name_that_is_another_tables_now_is_an_error_where_the_log_has_names_only() {
    for plugin in PLUGINS {
        let source = source("taken", plugin);
        let schema = &source.schema;
        let mut job = around(&source, &[], || {
            source.run(BEFORE);
            source.run(&format!(
                r#"drop table {schema}.high; create table {schema}.high ("ID" bigint primary key, "V" text not null);
                   insert into {schema}.high values (13, 'x')"#
            ));
            source.run(BEHIND);
        });
        if plugin == "pgoutput" {
            expect(job, plugin);
            continue;
        }
        let error = job.catch_up(&source).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
        let words = format!("a partition of {schema}.t had this name, another table has it now");
        assert!(error.to_string().contains(&words), "{error}");
    }
}
