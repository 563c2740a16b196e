//! Several tables in one job.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tidemark::database::Database;
use tidemark::error::ErrorKind;
use tidemark::reader::capture::Connector;

use crate::job::Job;
use crate::source::Source;
use crate::watch::{Watch, once};

/// All rows of tables whose `ID`s are their own.
pub fn rows(source: &Source, tables: &[&str]) -> BTreeMap<i64, String> {
    let mut all = BTreeMap::new();
    for table in tables {
        let rows = source.run(&format!(r#"select "ID" || '|' || "V" from {table}"#));
        for (id, v) in rows.lines().filter_map(|line| line.split_once('|')) {
            assert_eq!(
                all.insert(id.parse().unwrap(), v.to_owned()),
                None,
                "{id} is in two tables"
            );
        }
    }
    all
}

/// Keys of other types and columns, other columns and places, one transaction over all of them: rows of each table stand
/// to its own key, points and filter, through restarts in both phases.
#[test]
fn tables_of_different_keys_and_columns_are_captured_together() {
    let source = Source::shared("MANY", 9);
    source.run(
        r#"create table "MANY"."U_1" ("N" int, "V" varchar(200) not null, "ID" bigint not null, "K" varchar(10) not null, primary key ("K", "ID"));
           create table "MANY"."U_2" ("C" varchar(100) primary key, "A" date, "ID" bigint, "V" varchar(20) not null);
           create table "MANY"."X_U_1" ("OTHER" int primary key);
           insert into "MANY"."U_1" select 1, 'u', 100 + g, 'k' || g % 3 from generate_series(1, 9) g;
           insert into "MANY"."U_2" select 'c' || g, null, 200 + g, 'v' from generate_series(1, 9) g"#,
    );
    let tables = [r#""MANY"."T""#, r#""MANY"."U_1""#, r#""MANY"."U_2""#];
    let config = source.config(&[("table-name", json!("T|u_\\d"))]);
    let change = |n: i64| {
        format!(
            r#"begin; insert into T values ({}, 'new'); update "MANY"."U_1" set "V" = 'u{n}'{} where "ID" = {};
               update "MANY"."U_2" set "V" = 'w{n}' where "ID" = {}; insert into "MANY"."X_U_1" values ({n});
               delete from T where "ID" = {}; insert into "MANY"."U_2" values ('n{n}', date '2020-01-01', {}, 'n'); commit"#,
            20 + n,
            // While pages are read a row may be in two chunks for a while, under its old key and its new one.
            if n < 3 { "" } else { r#", "K" = 'm'"# },
            100 + n,
            200 + n,
            n,
            220 + n
        )
    };
    let (mut first, mut second) = (source.writer(), source.writer());
    let (early, late) = (change(1), change(2));
    let (early, late) = (once(move || first.run(&early)), once(move || second.run(&late)));
    let watch = Watch {
        before_select: Some(Box::new(move |_, _| early())),
        after_select: Some(Box::new(move |_, _| late())),
        ..Watch::default()
    };
    let mut job = Job::start(config, Arc::new(watch), 3).unwrap();
    for units in [3, 10] {
        job.run(|job| job.sink.log.len() >= units || job.streams).unwrap();
        job.checkpoint().unwrap();
        job = job.restart(2).unwrap();
    }
    job.run_to_stream().unwrap();
    source.run(&change(3));
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, rows(&source, &tables));
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    source.run(&change(4));
    source.run(&change(5));
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, rows(&source, &tables));
    let transactions = job.sink.transactions();
    let whole = transactions.iter().filter(|(_, rows)| *rows == 7);
    assert!(whole.count() >= 2, "{transactions:?}");
    for row in &job.sink.log {
        let expected = match row.id {
            100..200 => "U_1",
            200..300 => "U_2",
            _ => "T",
        };
        assert_eq!(row.table, expected, "{row:?}");
    }
}

/// Each table must have what the job declares.
#[test]
fn a_table_without_a_declared_column_is_named_with_it() {
    let source = Source::shared("LACKS", 1);
    source.run(r#"create table "LACKS"."U" ("ID" bigint primary key, "W" int)"#);
    let error = Job::start(
        source.config(&[("table-name", json!(".*"))]),
        Arc::new(Watch::default()),
        1,
    )
    .and_then(|mut job| job.run_to_stream())
    .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Declaration(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("no column 'V'") && text.contains("LACKS.U"), "{text}");
}

/// A table that comes to match while the job is down has no rows downstream: its changes stay out, and so they do after one
/// that left comes back.
#[test]
fn tables_that_come_and_go_between_restarts_are_not_captured_by_halves() {
    let source = Source::shared("COME_GO", 2);
    source.run(r#"create table "COME_GO"."T2" ("ID" bigint primary key, "V" varchar(20)); insert into "COME_GO"."T2" values (50, 'v')"#);
    let both = source.config(&[("table-name", json!("T.*"))]);
    let one = source.config(&[("table-name", json!("T"))]);
    let mut job = Job::start(both.clone(), Arc::new(Watch::default()), 2).unwrap();
    job.catch_up(&source).unwrap();
    let rows_of = |job: &Job, table: &str| job.sink.log.iter().filter(|row| row.table == table).count();
    assert_eq!(rows_of(&job, "T2"), 1);
    job.checkpoint().unwrap();
    let change = |n: i64| {
        source.run(&format!(
            r#"insert into "COME_GO"."T2" values ({}, 'v'); insert into "COME_GO"."T3" values ({}, 'v')"#,
            50 + n,
            80 + n
        ));
    };
    let mut capture = Connector::connect(&Database::new(both.clone()).unwrap()).unwrap();
    assert!(capture.newcomers().unwrap().is_empty());
    // The second could not be captured; that is no concern of this job.
    source.run(
        r#"create table "COME_GO"."T3" ("ID" bigint primary key, "V" varchar(20)); create table "COME_GO"."T4" ("X" int)"#,
    );
    let new: Vec<String> = capture.newcomers().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(new, ["COME_GO.T3", "COME_GO.T4"]);
    assert!(capture.newcomers().unwrap().is_empty(), "each is told of once");
    change(1);
    job = job.restart(2).unwrap();
    job.catch_up(&source).unwrap();
    assert_eq!(
        (rows_of(&job, "T2"), rows_of(&job, "T3")),
        (2, 0),
        "a newcomer's rows were never read"
    );
    for (config, expected) in [(one, 2), (both, 2)] {
        job.checkpoint().unwrap();
        let completed = job.completed().clone();
        drop(job);
        change(expected);
        source.run(r#"delete from "COME_GO"."T2"; delete from "COME_GO"."T3""#);
        job = Job::open(config, Arc::new(Watch::default()), 1, completed).unwrap();
        job.catch_up(&source).unwrap();
        assert_eq!(
            (rows_of(&job, "T2"), rows_of(&job, "T3")),
            (2, 0),
            "one that left stays out"
        );
    }
}

/// The same where no rows were read: the stream's state alone knows its tables.
#[test]
fn a_table_that_comes_later_is_no_concern_of_a_job_without_a_snapshot() {
    let source = Source::shared("LATER", 0);
    let options = [
        ("table-name", json!("T.*")),
        ("scan.startup.mode", json!("latest-offset")),
    ];
    let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 2).unwrap();
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    source.run(
        r#"create table "LATER"."T2" ("ID" bigint primary key, "V" varchar(20)); create table "LATER"."T3" ("X" int);
           insert into "LATER"."T2" values (7, 'v'); insert into "LATER"."T3" values (7)"#,
    );
    job = job.restart(1).unwrap();
    job.catch_up(&source).unwrap();
    assert!(job.sink.log.iter().all(|row| row.table == "T"), "{:?}", job.sink.log);
    // A job that is started anew must have all that match.
    let error = Job::start(source.config(&options), Arc::new(Watch::default()), 1)
        .and_then(|mut job| job.run_to_stream())
        .unwrap_err();
    assert!(error.to_string().contains("LATER.T3"), "{error}");
}

/// What is half read cannot be left.
#[test]
fn a_table_that_leaves_before_its_rows_are_read_is_named() {
    let source = Source::shared("LEAVES", 2);
    source.run(r#"create table "LEAVES"."T2" ("ID" bigint primary key, "V" varchar(20)); insert into "LEAVES"."T2" values (50, 'v')"#);
    let both = source.config(&[("table-name", json!("T.*"))]);
    let mut job = Job::start(both, Arc::new(Watch::default()), 1).unwrap();
    job.unit().unwrap();
    job.checkpoint().unwrap();
    let completed = job.completed().clone();
    drop(job);
    let one = source.config(&[("table-name", json!("T"))]);
    let error = Job::open(one, Arc::new(Watch::default()), 1, completed)
        .and_then(|mut job| job.run_to_stream())
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
    assert!(error.to_string().contains("table LEAVES.T2"), "{error}");
}

/// F27, F51, F54: names that patterns, quotes and dots could be read into, in two schemas, of the greatest length that the
/// stand-in has; only what is meant is captured, under one name in both phases.
#[test]
fn names_are_taken_as_they_are() {
    let source = Source::shared("NAMES", 2);
    let long = "LONG_".repeat(12) + "ABC";
    let (one, two) = (r#""NAMES""#, r#""na""me.s%_""#);
    source.run(&format!(r#"create schema {two}"#));
    // What is captured, and what is like it.
    let meant = [
        format!(r#"{one}."it.e_m""#),
        format!(r#"{two}."it.e_m""#),
        format!(r#"{one}."qu""o'te%""#),
        format!(r#"{two}."{long}""#),
    ];
    let others = [
        format!(r#"{one}."it.exm""#),
        format!(r#"{one}."IT.E_M""#),
        format!(r#"{two}."itxe_m""#),
        format!(r#"{two}."qu""o'te""#),
        format!(r#"{one}."{}""#, &long[..62]),
    ];
    for (number, table) in (1..).zip(meant.iter().chain(&others)) {
        let long_column = "N".repeat(63);
        source.run(&format!(
            r#"create table {table} ("{long_column}" int, "ID" bigint primary key, "V" varchar(20) not null);
               insert into {table} select 0, {number}00 + g, 'v' from generate_series(1, 3) g"#
        ));
    }
    let change = |n: i64| {
        for (number, table) in (1..).zip(meant.iter().chain(&others)) {
            source.run(&format!(
                r#"insert into {table} values (null, {number}{n}0, 'n'); update {table} set "V" = '{n}' where "ID" = {number}01"#
            ));
        }
    };
    let config = source.config(&[
        ("schema-name", json!(r#"names|"na""me.s%_""#)),
        (
            "table-name",
            json!(format!(r#"t|"it.e_m"|"qu""o'te%"|{}"#, long.to_lowercase())),
        ),
    ]);
    let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    change(5);
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    change(6);
    job.catch_up(&source).unwrap();
    let mut all: Vec<&str> = meant.iter().map(String::as_str).collect();
    all.push(r#""NAMES"."T""#);
    assert_eq!(job.sink.table, rows(&source, &all));
    for (number, name) in ["it.e_m", "it.e_m", "qu\"o'te%", &long].into_iter().enumerate() {
        let ids = 100 * (number as i64 + 1)..100 * (number as i64 + 2);
        let of_it = job
            .sink
            .log
            .iter()
            .filter(|row| ids.contains(&row.id) && row.table != "T");
        let names: Vec<_> = of_it.map(|row| row.table.as_str()).collect();
        assert!(
            names.len() == 3 + 2 * 3 && names.iter().all(|found| *found == name),
            "{names:?}"
        );
    }
}
