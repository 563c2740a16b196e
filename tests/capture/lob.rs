//! Large objects: in the row's text up to a limit, beyond it read back by key.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use tidemark::config::Config;
use tidemark::unavailable::PLACEHOLDER;

use crate::job::Job;
use crate::source::{Source, start};
use crate::support::stand_in::StandIn;
use crate::watch::{Watch, once};
use crate::workload;

/// A server that logs large objects as DM8 does.
fn server() -> Arc<StandIn> {
    static SERVER: OnceLock<Arc<StandIn>> = OnceLock::new();
    let started = || {
        let stand_in = start();
        stand_in.psql("update logminer.setting set value = 'out' where name = 'lob'");
        Arc::new(stand_in)
    };
    SERVER.get_or_init(started).clone()
}

fn table(schema: &str) -> Source {
    Source::of(server(), schema, r#""ID" bigint primary key, "V" clob, "N" bigint"#)
}

fn job(config: Arc<Config>, watch: Arc<Watch>) -> Job {
    let mut job = Job::start(config, watch, 1).unwrap();
    job.sink.later = true;
    job
}

fn restarted(job: Job) -> Job {
    let mut job = job.restart(1).unwrap();
    job.sink.later = true;
    job
}

fn metric(job: &Job, name: &str) -> i64 {
    let metrics = job.reader(0).metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap().value
}

/// The rows of the log phase, markers and long texts shortened.
fn streamed(job: &Job) -> Vec<(&str, i64, String)> {
    let rows = job.sink.streamed().into_iter();
    rows.filter(|(_, id, _)| *id < 1_000_000)
        .map(|(kind, id, v)| (kind, id, short(v)))
        .collect()
}

fn short(v: &str) -> String {
    match v {
        PLACEHOLDER => "!".into(),
        v if v.len() > 900 => v[..1].into(),
        v => v.into(),
    }
}

/// As `streamed` has them.
fn rows<'a>(rows: &[(&'a str, i64, &str)]) -> Vec<(&'a str, i64, String)> {
    rows.iter().map(|(kind, id, v)| (*kind, *id, (*v).to_owned())).collect()
}

/// Around the limit of what stands in the row's text, and around where texts are cut into pieces, of one and three bytes
/// a character; with every value in the log and with the large ones read back.
#[test]
fn values_of_every_size_are_whole_in_snapshot_and_log() {
    let sizes = "array[0, 1, 299, 300, 301, 899, 900, 901, 1333, 1334, 3999, 4000, 4001, 70000, 1048576]";
    for (schema, kind, lever) in [
        ("CLOB_OUT", "clob", "out"),
        ("CLOB_IN", "clob", "inline"),
        ("BLOB_OUT", "blob", "out"),
        ("BLOB_IN", "blob", "inline"),
    ] {
        let own = if lever == "inline" { Arc::new(start()) } else { server() };
        let source = Source::of(own, schema, &format!(r#""ID" bigint primary key, "V" {kind}"#));
        let value = |letter: &str| match kind {
            "clob" => format!("left(repeat('{letter}', n), greatest(n - 1, 0)) || left('x', n)"),
            _ => format!("convert_to(left(repeat('{letter}', n), greatest(n - 1, 0)) || left('x', n), 'UTF8')"),
        };
        let insert = |first: i64, letter: &str| {
            source.run(&format!(
                "insert into T select {first} + i, {} from unnest({sizes}) with ordinality s(n, i)",
                value(letter)
            ));
        };
        insert(100, "a");
        insert(200, "字");
        let type_name = if kind == "clob" { "STRING" } else { "BYTES" };
        let columns = json!([
            {"name": "ID", "type": "BIGINT", "nullable": false},
            {"name": "V", "type": type_name},
            {"name": "at", "type": "BIGINT", "metadata": "scn"},
            {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
            {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
        ]);
        let config = source.config_of(&[("scan.incremental.snapshot.chunk.size", 10.into())], columns);
        let mut job = job(config, Arc::default());
        job.run_to_stream().unwrap();
        let is_equal = |job: &Job| {
            let text = if kind == "clob" {
                r#""V""#
            } else {
                r#"convert_from("V", 'UTF8')"#
            };
            assert!(job.sink.table == source.table_of(text), "{schema}");
        };
        is_equal(&job);
        insert(300, "b");
        insert(400, "名");
        source.run(&format!(
            r#"update T set "V" = {} from unnest({sizes}) with ordinality s(n, i) where "ID" in (100 + i, 200 + i)"#,
            value("c")
        ));
        job.catch_up(&source).unwrap();
        is_equal(&job);
        let read_back = metric(&job, "valuesReadBack");
        assert_eq!(read_back > 0, lever == "out", "{read_back}");
        assert_eq!(metric(&job, "valuesGone"), 0);
    }
}

/// F04: several changes of one row, undone and done again in one transaction; a large value that is undone.
#[test]
fn a_change_that_a_savepoint_undoes_is_never_seen() {
    for form in ["compensating", "flagged"] {
        let own = Arc::new(start());
        own.psql(&format!(
            "update logminer.setting set value = 'out' where name = 'lob'; \
             update logminer.setting set value = '{form}' where name = 'undo_form'"
        ));
        let source = Source::of(own, "UNDONE", r#""ID" bigint primary key, "V" clob, "N" bigint"#);
        let columns = json!([
            {"name": "ID", "type": "BIGINT", "nullable": false},
            {"name": "V", "type": "STRING"},
            {"name": "N", "type": "BIGINT"},
            {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
            {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
        ]);
        let mut job = job(source.config_of(&[], columns), Arc::default());
        job.run_to_stream().unwrap();
        source.run(
            r#"begin; insert into T values (1, 'a', 1); savepoint s; update T set "N" = 2 where "ID" = 1;
               update T set "N" = 3 where "ID" = 1; rollback to s; update T set "N" = 4 where "ID" = 1; commit"#,
        );
        source.run(
            r#"begin; insert into T values (2, 'b', 1); savepoint s;
               update T set "V" = rpad('big', 3000, '+') where "ID" = 2; rollback to s; commit"#,
        );
        source.run(
            r#"begin; insert into T values (3, 'c', 1);
               savepoint s; update T set "V" = rpad('X', 3000, 'X') where "ID" = 3; rollback to s;
               savepoint s; update T set "V" = rpad('Y', 3000, 'Y'), "N" = 9 where "ID" = 3; rollback to s;
               update T set "V" = rpad('Z', 3000, 'Z') where "ID" = 3; commit"#,
        );
        source.run(r#"begin; update T set "V" = rpad('W', 3000, 'W') where "ID" = 2; rollback"#);
        job.catch_up(&source).unwrap();
        let seen: Vec<_> = job
            .sink
            .log
            .iter()
            .filter(|row| row.id < 1_000_000)
            .map(|row| (row.kind, row.id, short(&row.v), row.scn.unwrap()))
            .collect();
        let expected = [
            ("+I", 1, "a", 1),
            ("-U", 1, "a", 1),
            ("+U", 1, "a", 4),
            ("+I", 2, "b", 1),
            ("+I", 3, "c", 1),
            ("-U", 3, "c", 1),
            ("+U", 3, "Z", 1),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|&(kind, id, v, n)| (kind, id, v.to_owned(), n))
            .collect();
        assert_eq!(seen, expected, "{form}");
    }
}

/// What happens while nobody reads: at the end everything is right, and what was nowhere to be had says so.
#[test]
fn rows_that_changed_or_went_before_they_were_read_back() {
    let source = table("WENT");
    source.run(r#"insert into T values (1, rpad('A', 2000, 'A')), (2, rpad('B', 2000, 'B'))"#);
    let mut job = job(source.config(&[]), Arc::default());
    job.run_to_stream().unwrap();
    job.checkpoint().unwrap();
    source.run(
        r#"update T set "N" = 1 where "ID" = 1;
           update T set "V" = rpad('C', 2000, 'C') where "ID" = 1;
           update T set "V" = 'small' where "ID" = 2;
           update T set "V" = rpad('D', 2000, 'D') where "ID" = 2;
           insert into T values (3, rpad('E', 2000, 'E'));
           update T set "N" = 2 where "ID" = 3;
           delete from T where "ID" = 3;
           insert into T values (4, rpad('F', 2000, 'F'));
           update T set "ID" = 5 where "ID" = 4;
           insert into T values (6, rpad('G', 2000, 'G'));
           delete from T where "ID" = 6;
           insert into T values (6, rpad('H', 2000, 'H'))"#,
    );
    job = restarted(job);
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(
        streamed(&job),
        rows(&[
            ("-U", 1, "C"),
            ("+U", 1, "C"),
            ("-U", 1, "!"),
            ("+U", 1, "C"),
            ("-U", 2, "!"),
            ("+U", 2, "small"),
            ("-U", 2, "small"),
            ("+U", 2, "D"),
            ("+I", 3, "!"),
            ("-U", 3, "!"),
            ("+U", 3, "!"),
            ("-D", 3, "!"),
            ("+I", 4, "!"),
            ("-D", 4, "F"),
            ("+I", 5, "F"),
            ("+I", 6, "H"),
            ("-D", 6, "!"),
            ("+I", 6, "H"),
        ])
    );
    assert_eq!(metric(&job, "valuesReadBack"), 6);
    assert_eq!(metric(&job, "valuesGone"), 3);
}

/// A SELECT before the transaction shows would give the value that it replaced, for good.
#[test]
fn a_value_is_read_back_once_its_transaction_is_visible() {
    let own = Arc::new(start());
    own.psql("update logminer.setting set value = 'out' where name = 'lob'");
    let source = Source::of(own, "SEEN", r#""ID" bigint primary key, "V" clob"#);
    source.run("insert into T values (1, rpad('A', 2000, 'A'))");
    let watch = Arc::new(Watch::default());
    let mut job = job(source.config(&[]), watch.clone());
    job.run_to_stream().unwrap();
    let mut writer = source.writer();
    std::thread::scope(|scope| {
        let held = source.hold_commits();
        let commit = scope.spawn(move || writer.run(r#"update T set "V" = rpad('B', 2000, 'B') where "ID" = 1"#));
        job.run(|job| watch.still_open.load(Ordering::SeqCst) > 2 || !job.sink.streamed().is_empty())
            .unwrap();
        assert_eq!(streamed(&job), rows(&[]));
        drop(held);
        commit.join().unwrap();
        job.catch_up(&source).unwrap();
    });
    assert_eq!(streamed(&job), rows(&[("-U", 1, "!"), ("+U", 1, "B")]));
}

/// A change between a page's SELECT and its point brings the whole row into the page, with its large value.
#[test]
fn pages_are_corrected_with_large_values() {
    let source = table("PAGES");
    source.run("insert into T select g, rpad('A', 2000, 'A') from generate_series(1, 5) g");
    let mut writer = source.writer();
    let change = once(move || {
        for sql in [
            r#"update T set "V" = rpad('B', 2000, 'B') where "ID" = 1"#,
            r#"update T set "N" = 1 where "ID" = 2"#,
            r#"insert into T values (6, rpad('C', 2000, 'C'))"#,
            r#"update T set "ID" = 7 where "ID" = 3"#,
            r#"begin; update T set "N" = 1 where "ID" = 4; delete from T where "ID" = 4; commit"#,
        ] {
            writer.run(sql);
        }
    });
    let watch = Watch {
        after_select: Some(Box::new(move |_, _| change())),
        ..Watch::default()
    };
    let config = source.config(&[("scan.incremental.snapshot.chunk.size", 100.into())]);
    let mut job = job(config, Arc::new(watch));
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(job.sink.snapshot_rows(), 5);
    assert_eq!((metric(&job, "valuesReadBack"), metric(&job, "valuesGone")), (4, 1));
    job.catch_up(&source).unwrap();
    assert_eq!(streamed(&job), rows(&[]));
}

/// Many rows by keys of several columns, texts with quotes among them; handles in the log, and records of the large
/// objects themselves.
#[test]
fn values_are_read_back_by_keys_of_several_columns() {
    let own = Arc::new(start());
    own.psql(
        "update logminer.setting set value = 'out' where name = 'lob'; \
         call SP_SET_PARA_VALUE(1, 'LOGMNR_PARSE_LOB', 1)",
    );
    let source = Source::of(
        own,
        "KEYED",
        r#""ID" bigint, "V" clob, "A" varchar(20), "B" decimal(20, 3), "C" timestamp(6),
           primary key ("A", "B", "C")"#,
    );
    let mut job = job(source.config(&[]), Arc::default());
    job.run_to_stream().unwrap();
    source.run(
        r#"insert into T select g, rpad(g::text, 1000, '+'), chr(97 + g % 3) || '''"\ ', g % 7 - 3.125,
                  timestamp '2024-02-29 23:59:59.5' + g * interval '1 microsecond'
           from generate_series(1, 250) g"#,
    );
    source.run("select logminer.append(13, null, 'KEYED', 'T'), logminer.append(14, null, 'KEYED', 'T')");
    source.run("insert into T values (1000000, 'marker', 'm', 0, now())");
    job.run(|job| job.sink.table.contains_key(&1_000_000)).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(metric(&job, "valuesReadBack"), 250);
}

/// F39: rows of a table without a key stay apart, whatever they hold; large values of such a table cannot be read back.
#[test]
fn large_values_of_a_table_without_a_key_do_not_merge() {
    let source = Source::of(server(), "KEYLESS_LOB", r#""ID" bigint, "V" clob"#);
    let options = [
        ("table-without-key", "reread".into()),
        ("value.unavailable", "placeholder".into()),
    ];
    let refused = Job::start(source.config(&options[..1]), Arc::default(), 1).and_then(|mut job| job.run_to_stream());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("TM-1004") && refused.contains("value.unavailable"),
        "{refused}"
    );
    let mut job = job(source.config(&options), Arc::default());
    job.sink.keyless = true;
    job.run_to_stream().unwrap();
    source.run("begin; insert into T values (0, 'one'); insert into T values (0, 'two'); insert into T values (0, 'three'); commit");
    source.run(r#"update T set "V" = 'TWO' where "V" = 'two'"#);
    source.run("insert into T values (0, rpad('A', 2000, 'A'))");
    source.run("insert into T values (1, 'marker')");
    job.run(|job| job.sink.log.iter().any(|row| row.id == 1)).unwrap();
    assert_eq!(
        streamed(&job),
        rows(&[
            ("+I", 0, "one"),
            ("+I", 0, "two"),
            ("+I", 0, "three"),
            ("-U", 0, "two"),
            ("+U", 0, "TWO"),
            ("+I", 0, "!"),
            ("+I", 1, "marker"),
        ])
    );
}

/// Restarts and large values that change while they are read back: in the end all are right.
#[test]
fn restarts_under_a_random_workload_of_large_values() {
    let source = table("RANDOM_LOB");
    for seed in 1..3 {
        workload::run(
            &source,
            seed,
            |v| format!("rpad('{v}', 850 + hashtext('{v}') % 100, '+')"),
            true,
        );
    }
}
