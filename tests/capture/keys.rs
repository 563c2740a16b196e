//! Every kind of key through the whole chain: rows come and go, move from chunk to chunk and beyond the last one while the
//! table is cut and read, readers are killed, and the end is the table, each row once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use serde_json::Value;
use tidemark::error::{ErrorKind, Result};

use crate::job::Job;
use crate::source::{Source, Writer};
use crate::support::key_kinds::{KeyKind, all};
use crate::watch::{AtPage, Watch, once};

/// Keys that rows begin with, and those that they may have.
const ROWS: u64 = 40;
const KEYS: u64 = 60;
const CHUNK: &str = "scan.incremental.snapshot.chunk.size";
const KEY_COLUMN: &str = "scan.incremental.snapshot.chunk.key-column";

/// Random transactions on rows that are known by the `g` in front of their value.
struct Changes {
    kind: KeyKind,
    writer: Writer,
    rng: Rng,
    written: u64,
}

impl Changes {
    fn transaction(&mut self) {
        self.writer.run("begin");
        for _ in 0..self.rng.u32(1..4) {
            let (g, other) = (self.rng.u64(1..=KEYS), self.rng.u64(1..=KEYS));
            self.written += 1;
            let (values, version) = (self.kind.values, self.written);
            let columns: Vec<String> = self
                .kind
                .declared()
                .iter()
                .map(|(name, ..)| format!("\"{name}\""))
                .collect();
            let columns = columns.join(", ");
            let statement = match self.rng.u32(0..10) {
                0..=2 => format!(
                    "insert into T select {values}, '{g}.{version}' from (select {g} as g) s on conflict do nothing"
                ),
                3..=4 => format!(r#"update T set "V" = '{g}.{version}' where "V" like '{g}.%'"#),
                5 => format!(r#"delete from T where "V" like '{g}.%'"#),
                6..=8 => format!(
                    r#"update T set ({columns}, "V") = (select {values}, '{other}.{version}' from (select {other} as g) s)
                       where "V" like '{g}.%' and not exists (select 1 from T where "V" like '{other}.%')"#
                ),
                _ => {
                    self.writer.run("savepoint s");
                    self.writer.run(&format!(r#"delete from T where "V" like '{g}%'"#));
                    "rollback to s".to_owned()
                }
            };
            self.writer.run(&statement);
        }
        let end = if self.rng.u32(0..6) == 0 { "rollback" } else { "commit" };
        self.writer.run(end);
    }
}

fn changing(changes: &Arc<Mutex<Changes>>) -> Option<AtPage> {
    let changes = changes.clone();
    Some(Box::new(move |_, _| changes.lock().unwrap().transaction()))
}

/// Each row has one key, whatever phase it came from, and no other row has it.
fn require_one_key_a_row(job: &Job) {
    let mut keys: BTreeMap<i64, &str> = BTreeMap::new();
    for row in &job.sink.log {
        let known = keys.entry(row.id).or_insert(&row.key);
        assert_eq!(*known, row.key, "the key of {} in snapshot and log", row.id);
    }
    let distinct: std::collections::BTreeSet<&&str> = keys.values().collect();
    assert_eq!(distinct.len(), keys.len());
}

fn catch_up(job: &mut Job, source: &Source, kind: &KeyKind, marker: u64) -> Result<()> {
    source.run(&format!(
        "insert into T select {}, '{marker}.marker' from (select {marker} as g) s",
        kind.values
    ));
    job.run_to_stream()?;
    job.run(|job| job.sink.table.contains_key(&(marker as i64)))
}

fn run(kind: &KeyKind, options: &[(&str, Value)], seed: u64) {
    println!("{} {options:?} seed {seed}", kind.name);
    let source = Source::of_kind(&format!("KEY_{}_{seed}", kind.name), kind, ROWS);
    let mut rng = Rng::with_seed(seed);
    let changes = Arc::new(Mutex::new(Changes {
        kind: *kind,
        writer: source.writer(),
        rng: rng.fork(),
        written: 0,
    }));
    let watch = Watch {
        before_select: changing(&changes),
        after_select: changing(&changes),
        ..Watch::default()
    };
    // A server that takes no binary literals can be asked for the whole table only.
    let bounded = kind.name != "VARBINARY";
    let mut all: Vec<(&str, Value)> = options.to_vec();
    all.push((CHUNK, if bounded { 2.into() } else { 1000.into() }));
    let mut job = Job::start(source.config(&all), Arc::new(watch), 2).unwrap();
    for _ in 0..2 {
        for _ in 0..rng.usize(1..20) {
            job.unit().unwrap();
        }
        if bounded {
            job.checkpoint().unwrap();
            job.unit().unwrap();
            job = job.restart(2).unwrap();
        }
    }
    catch_up(&mut job, &source, kind, KEYS + 1).unwrap();
    changes.lock().unwrap().transaction();
    job.checkpoint().unwrap();
    job = job.restart(2).unwrap();
    changes.lock().unwrap().transaction();
    catch_up(&mut job, &source, kind, KEYS + 2).unwrap();
    assert_eq!(job.sink.table, source.table());
    job.sink.transactions();
    require_one_key_a_row(&job);
}

/// F12, F13, F32, F43 and F07 for every kind of key.
#[test]
fn tables_of_every_kind_of_key_come_out_whole() {
    for (kind, seed) in all().iter().zip(1..) {
        run(kind, &[], seed);
    }
}

/// Every column of a key of several may come first.
#[test]
fn any_column_of_the_key_may_come_first() {
    for kind in all().iter().filter(|kind| kind.key.contains(',')) {
        for (column, seed) in kind.key.split(',').skip(1).zip(100..) {
            run(kind, &[(KEY_COLUMN, column.into())], seed);
        }
    }
}

fn kind(name: &str) -> KeyKind {
    *all().iter().find(|kind| kind.name == name).unwrap()
}

/// Rows come in the order of the column that was asked for, and the chunks of the state are in that order.
#[test]
fn a_key_column_that_changed_since_the_checkpoint_is_refused_by_name() {
    let kind = kind("SMALL_INTS");
    let source = Source::of_kind("KEY_COLUMN", &kind, 700);
    let config = |column: &str| source.config(&[(CHUNK, 50.into()), (KEY_COLUMN, column.into())]);
    let mut job = Job::start(config("B"), Arc::new(Watch::default()), 1).unwrap();
    job.run(|job| job.sink.log.len() >= 120).unwrap();
    // B is g / 250 - 200: all rows of one B come before the next one's.
    let of = |id: i64| id / 250;
    assert!(job.sink.log.windows(2).all(|pair| of(pair[0].id) <= of(pair[1].id)));
    job.checkpoint().unwrap();
    let in_the_snapshot = job.completed().clone();
    job.run_to_stream().unwrap();
    job.checkpoint().unwrap();
    let in_the_log = job.completed().clone();
    drop(job);
    for state in [in_the_snapshot, in_the_log] {
        let mut job = Job::open(config("A"), Arc::new(Watch::default()), 1, state.clone()).unwrap();
        let units = job.sink.log.len();
        let error = job.run(|_| false).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::State(_)), "{error}");
        assert!(error.to_string().contains(KEY_COLUMN), "{error}");
        assert_eq!(job.sink.log.len(), units, "no row went out");
        drop(job);
        let mut job = Job::open(config("B"), Arc::new(Watch::default()), 1, state).unwrap();
        catch_up(&mut job, &source, &kind, 800).unwrap();
        assert_eq!(job.sink.table, source.table());
        source.run(r#"delete from T where "V" like '800.%'"#);
    }
}

#[test]
fn a_column_that_is_not_in_the_key_is_refused_by_name() {
    let kind = kind("UNIQUE_NOT_NULL");
    let source = Source::of_kind("KEY_COLUMN_OTHER", &kind, 3);
    for (column, reason) in [
        ("V", "is 'V', which is not in the key (B, C)"),
        ("A", "is 'A', which is not"),
    ] {
        let config = source.config(&[(KEY_COLUMN, column.into())]);
        let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
        let error = job.run(|_| false).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Option { option, .. } if option == KEY_COLUMN),
            "{error}"
        );
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// A kind of its own for a test; rows stand in the order of `g`.
fn own_kind(name: &'static str, columns: &'static str, flink: &'static str, values: &'static str) -> KeyKind {
    KeyKind {
        name,
        columns,
        key: "K",
        flink,
        values,
    }
}

/// A snapshot of rows 1 to 6, of which some change behind its SELECTs, then changes of all of them in the log.
fn changed_in_both_phases(kind: &KeyKind, chunk: u32) {
    let source = Source::of_kind(&format!("PHASES_{}", kind.name), kind, 6);
    let mut writer = source.writer();
    let watch = Watch {
        after_select: Some(at_once(move || {
            writer.run(r#"update T set "V" = '1.updated' where "V" = '1.0'"#);
            writer.run(r#"update T set "V" = '6.updated' where "V" = '6.0'"#);
            writer.run(r#"delete from T where "V" = '2.0'"#);
        })),
        ..Watch::default()
    };
    let mut job = Job::start(source.config(&[(CHUNK, chunk.into())]), Arc::new(watch), 1).unwrap();
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(job.sink.snapshot_rows(), 5, "{}: the page is corrected", kind.name);
    source.run(&format!(
        r#"update T set "V" = "V" || 'x'; insert into T select {}, g || '.1' from generate_series(7, 12) g;
           delete from T where "V" in ('3.0x', '8.1'); update T set "V" = "V" || 'y' "#,
        kind.values
    ));
    catch_up(&mut job, &source, kind, 13).unwrap();
    assert_eq!(job.sink.table, source.table());
    require_one_key_a_row(&job);
}

fn at_once(what: impl FnOnce() + Send + 'static) -> AtPage {
    let what = once(what);
    Box::new(move |_, _| what())
}

/// F07
#[test]
fn a_row_is_one_row_however_select_and_log_write_its_key() {
    let numbers = "CASE g WHEN 1 THEN 1.50 WHEN 2 THEN 100 WHEN 3 THEN 1E+3 ELSE g * -0.10 END";
    changed_in_both_phases(
        &own_kind(
            "NUMBER",
            r#""K" DECIMAL PRIMARY KEY"#,
            "K DECIMAL(20, 4) NOT NULL",
            numbers,
        ),
        2,
    );
    let codes = "CASE g WHEN 1 THEN 'A1' ELSE 'B' || g END";
    changed_in_both_phases(
        &own_kind("CODE", r#""K" CHAR(6) PRIMARY KEY"#, "K STRING NOT NULL", codes),
        2,
    );
    let times = "timestamp '2026-01-02 03:04:05.100000' + g * interval '1.01 second'";
    changed_in_both_phases(
        &own_kind(
            "FRACTION",
            r#""K" TIMESTAMP(6) PRIMARY KEY"#,
            "K TIMESTAMP(6) NOT NULL",
            times,
        ),
        2,
    );
    // The stand-in's parser knows no binary literal: one chunk.
    let bytes = "decode(lpad(to_hex(g * 7919), 16, '0'), 'hex')";
    changed_in_both_phases(
        &own_kind("RAW", r#""K" VARBINARY PRIMARY KEY"#, "K BYTES NOT NULL", bytes),
        100,
    );
}

/// F07 on servers for which texts are equal that differ: in case, in blanks at the end.
#[test]
fn keys_that_the_server_takes_for_equal_are_one_row() {
    let case = "CASE g % 3 WHEN 0 THEN 'K_' WHEN 1 THEN 'kB' ELSE '漢k' END || g";
    let blanks = "CASE g % 3 WHEN 0 THEN '阿' WHEN 1 THEN '一' ELSE 'a' END || g || repeat(' ', g % 2)";
    for (schema, making, values, other) in [
        ("CASE", &[("CASE_SENSITIVE", "0")][..], case, r#"upper("K"::text)"#),
        (
            "BLANKS",
            &[("BLANK_PAD_MODE", "0"), ("ENCODING", "EUC_CN")],
            blanks,
            r#"format('%s  ', "K")"#,
        ),
    ] {
        let kind = own_kind(schema, r#""K" VARCHAR2 PRIMARY KEY"#, "K STRING NOT NULL", values);
        let source = Source::of_kind_alone(making, schema, &kind, 12);
        let mut writer = source.writer();
        let update = format!(r#"update T set "K" = {other}, "V" = '7.other' where "V" = '7.0'"#);
        let watch = Watch {
            after_select: Some(at_once(move || {
                writer.run(&update);
                writer.run(r#"delete from T where "V" = '2.0'"#);
            })),
            ..Watch::default()
        };
        let mut job = Job::start(source.config(&[(CHUNK, 3.into())]), Arc::new(watch), 1).unwrap();
        job.run_to_stream().unwrap();
        assert_eq!(job.sink.table, source.table());
        assert_eq!(job.sink.snapshot_rows(), 11, "{schema}: the page is corrected");
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
        source.run(&format!(r#"update T set "K" = {other}, "V" = "V" || 'x' "#));
        catch_up(&mut job, &source, &kind, 13).unwrap();
        assert_eq!(job.sink.table, source.table());
    }
}

/// F45
#[test]
fn days_where_calendars_part_are_one_key_in_both_phases() {
    let times = "(array['0001-01-01 00:00:00', '1582-10-04 00:00:00', '1582-10-10 00:00:00', '1582-10-15 00:00:00', \
                 '1900-12-31 23:59:59', '1986-05-04 02:30:00', '9999-12-31 23:59:59.999999'])[(g - 1) / 2 + 1]::timestamp \
                 + (g + 1) % 2 * interval '1 day'";
    changed_in_both_phases(
        &own_kind(
            "CALENDARS",
            r#""K" TIMESTAMP(6) PRIMARY KEY"#,
            "K TIMESTAMP(6) NOT NULL",
            times,
        ),
        2,
    );
}

/// F13: behind `high` and in front of the end of what corrects the page; once on one of its two sides.
#[test]
fn changes_behind_the_high_watermark_come_once() {
    for mode in ["initial", "snapshot"] {
        let source = Source::shared(&format!("BEHIND_HIGH_{}", mode.to_uppercase()), 100);
        let mut writer = source.writer();
        let after_high = once(move || {
            writer.run("begin");
            writer.run("insert into T values (9001, 'behind')");
            writer.run(r#"update T set "V" = 'behind' where "ID" = 1"#);
            writer.run(r#"delete from T where "ID" = 2"#);
            writer.run("commit");
        });
        let watch = Watch {
            after_high: Some(Box::new(after_high)),
            ..Watch::default()
        };
        let config = source.config(&[(CHUNK, 1000.into()), ("scan.startup.mode", mode.into())]);
        let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
        if mode == "snapshot" {
            job.run(Job::has_ended).unwrap();
            assert_eq!(
                job.sink.table.contains_key(&9001),
                !job.sink.table.contains_key(&2),
                "the transaction is there whole or not at all"
            );
        } else {
            job.catch_up(&source).unwrap();
            assert_eq!(job.sink.table, source.table());
        }
    }
}
