//! Publications that are not the job's own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tidemark::error::ErrorKind;

use crate::job::{Job, PATIENCE};
use crate::source::{Place, Source};
use crate::support::Server;
use crate::support::postgres::LOGICAL;
use crate::watch::Watch;

/// A server of one's own: FOR ALL TABLES meddles with everybody's.
fn source(schema: &str, table: &str) -> Source {
    let server: &'static Server = Box::leak(Box::new(Server::start_with(LOGICAL)));
    let source = Source {
        place: Place::Postgres(server),
        schema: schema.into(),
        plugin: "pgoutput",
    };
    source.run(&format!(
        "create schema {schema}; {table}; alter table T replica identity full"
    ));
    source
}

#[test]
fn a_wider_publication_brings_no_row_of_other_tables_whatever_becomes_of_them() {
    let source = source(
        "wider",
        r#"create table T ("ID" bigint primary key, "V" text); insert into T values (1, 'v')"#,
    );
    for (number, of) in [
        "for all tables",
        "for tables in schema wider",
        "for table T , wider.other",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("p{number}");
        source.run("create table wider.other (a bigint primary key, b text)");
        source.run(&format!("create publication {name} {of} "));
        let options = [("publication.name", json!(name)), ("slot.name", json!(name))];
        let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
        job.catch_up(&source).unwrap();
        source.run("insert into wider.other values (1, 'a'); insert into T values (5, 'w')");
        job.behind_its_back(|| {
            source.run("insert into wider.other values (2, 'b'); update T set \"V\" = 'x' where \"ID\" = 5");
            source.run("drop table wider.other; delete from T where \"ID\" = 5");
        });
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table(), "{of}");
        assert_eq!(job.sink.streamed().iter().filter(|row| row.1 == 5).count(), 4);
        drop(job);
        source.run("truncate T ; insert into T values (1, 'v')");
        source.run(&format!("drop publication {name}"));
    }
}

/// What was dropped may have been a partition: in one's own publication it was, in a wider one that cannot be told.
#[test]
fn a_dropped_table_of_a_partitions_columns_is_no_partition_for_sure_in_a_wider_publication() {
    let source = source(
        "parts",
        r#"create table T ("ID" bigint primary key, "V" text) partition by range ("ID");
           create table parts.low partition of T for values from (0) to (10); alter table parts.low replica identity full;
           create table parts.high partition of T default; alter table parts.high replica identity full"#,
    );
    let other = r#"create table parts.other ("ID" bigint primary key, "V" text)"#;
    for (publication, fails) in [(json!(null), false), (json!("of_both"), true)] {
        source.run(other);
        if fails {
            source.run("create publication of_both for table T , parts.other");
        } else {
            source.run("create table parts.ten partition of T for values from (10) to (11); alter table parts.ten replica identity full");
        }
        let slot = format!("parts_{fails}");
        let options = [("publication.name", publication), ("slot.name", json!(slot))];
        let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
        job.catch_up(&source).unwrap();
        // Nobody has read a row of it before it is gone.
        let completed = {
            job.checkpoint().unwrap();
            job.completed().clone()
        };
        drop(job);
        let gone = if fails { "parts.other" } else { "parts.ten" };
        source.run(&format!(
            "insert into {gone} values (10, 'gone'); delete from {gone}; drop table {gone}"
        ));
        let mut job = Job::open(source.config(&options), Arc::new(Watch::default()), 1, completed).unwrap();
        let caught = job.catch_up(&source);
        match fails {
            false => {
                caught.unwrap();
                assert_eq!(job.sink.table, source.table());
                assert!(job.sink.streamed().contains(&("+I", 10, "gone")));
            }
            true => {
                let error = caught.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
                assert!(error.to_string().contains("parts.other"), "{error}");
            }
        }
        drop(job);
        source.run("drop table if exists parts.other");
    }
}

/// What a publication leaves out would be missing from the log alone.
#[test]
fn a_publication_that_leaves_out_rows_columns_or_kinds_of_changes_is_refused() {
    let source = Source::shared("parts_of", "pgoutput", 3);
    for (number, (of, words)) in [
        ("for table T where (\"ID\" > 2)", "publishes some of its rows only"),
        ("for table T (\"ID\")", "publishes some of its columns only"),
        (
            "for table T with (publish = 'insert, update')",
            "does not publish delete",
        ),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("part_{number}");
        source.run(&format!("create publication {name} {of}"));
        let config = source.config(&[("publication.name", json!(name))]);
        let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
        let error = job.run_to_stream().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Setup(_)) && !error.is_retryable(),
            "{error}"
        );
        assert!(
            error.to_string().contains(words) && error.to_string().contains(&name),
            "{error}"
        );
    }
    let slots = format!(
        "select count(*) from pg_replication_slots where slot_name = '{}'",
        source.slot()
    );
    assert_eq!(source.ask(&slots), "0", "nothing is made for a job that cannot start");
}

#[test]
fn a_publication_that_is_gone_is_said_by_its_name() {
    let source = Source::shared("unpublished", "pgoutput", 3);
    let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    source.run(&format!("drop publication tidemark_{}", source.slot()));
    let mut job = job.restart(1).unwrap();
    let error = job.catch_up(&source).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Setup(_)) && !error.is_retryable(),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("publication 'tidemark_unpublished_pgoutput' is not there any more"),
        "{error}"
    );
}

/// A job that starts while its publication cannot be changed; what is done meanwhile, and what is done once it can be. Its
/// table in the end.
fn started_while_publishing(
    source: &Source,
    options: &[(&str, serde_json::Value)],
    statement: &str,
    meanwhile: impl FnOnce(),
    behind: impl FnOnce(&dyn Fn() -> bool),
) -> BTreeMap<i64, String> {
    let mut holder = source.connect();
    for statement in ["begin", "lock table T in share update exclusive mode"] {
        holder.execute(&source.named(statement)).unwrap();
    }
    let config = source.config(options);
    let until = |what: &str, condition: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !condition() {
            assert!(since.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        // Let go where the test fails, so that the job comes to its end.
        let mut holder = holder;
        let job = scope.spawn(|| {
            let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
            job.run_to_stream().unwrap();
            job.catch_up(source).unwrap();
            job.sink.table.clone()
        });
        let waits = format!(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '{statement}%{}%'",
            source.schema
        );
        until("the publication is not changed", &|| source.ask(&waits) == "1");
        meanwhile();
        holder.execute("commit").unwrap();
        behind(&|| job.is_finished());
        job.join().unwrap()
    })
}

/// The log has rows of a table from where it is published on. What a transaction wrote before that and commits behind it is
/// in pages, since they wait for it.
#[test]
fn rows_of_a_transaction_that_is_open_while_its_table_is_published_are_in_pages() {
    let source = Source::shared("opened", "pgoutput", 5);
    source.run(&format!(
        "create table {0}.other (a int primary key); create publication {0} for table {0}.other",
        source.schema
    ));
    source.run(&format!(
        "select pg_create_logical_replication_slot('{}', 'pgoutput')",
        source.slot()
    ));
    let options = [("publication.name", json!(source.schema))];
    let mut writer = source.connect();
    let written = RefCell::new(&mut writer);
    let execute = |statement: &str| written.borrow_mut().execute(&source.named(statement)).unwrap();
    let table = started_while_publishing(
        &source,
        &options,
        "ALTER PUBLICATION",
        || {
            execute("begin");
            execute("insert into T values (60, 'open')");
        },
        |is_finished| {
            let since = Instant::now();
            let published = format!(
                "select count(*) from pg_publication_tables where schemaname = '{}' and tablename = 't'",
                source.schema
            );
            while source.ask(&published) == "0" {
                assert!(since.elapsed() < PATIENCE, "it is not published");
            }
            let now = source.ask("select clock_timestamp()");
            let asked = format!(
                "select count(*) from pg_stat_activity where query like '%txid_snapshot_xmin%' and query_start > '{now}' and pid <> pg_backend_pid()"
            );
            while source.ask(&asked) == "0" && !is_finished() {
                assert!(since.elapsed() < PATIENCE, "nobody waits and nothing is read");
                std::thread::sleep(Duration::from_millis(5));
            }
            execute("commit");
        },
    );
    assert_eq!(table, source.table());
}

/// A slot sees no publication that is younger than itself: what was written between the two could never be read.
#[test]
fn the_publication_is_made_before_the_slot() {
    let source = Source::shared("sooner", "pgoutput", 5);
    let slots = format!(
        "select count(*) from pg_replication_slots where slot_name = '{}'",
        source.slot()
    );
    let table = started_while_publishing(
        &source,
        &[],
        "CREATE PUBLICATION",
        || {
            source.run("insert into T values (60, 'between')");
            assert_eq!(source.ask(&slots), "0");
        },
        |_| (),
    );
    assert_eq!(table, source.table());
}

/// Of a slot that is there what stands in front of a publication's change cannot be asked for.
#[test]
fn no_job_starts_in_log_that_is_older_than_its_publication() {
    let source = Source::shared("older", "pgoutput", 5);
    source.run(&format!(
        "select pg_create_logical_replication_slot('{}', 'pgoutput')",
        source.slot()
    ));
    let place = source.ask("select pg_current_wal_insert_lsn()");
    source.run("insert into T values (60, 'before')");
    let options = [
        ("scan.startup.mode", json!("specific-offset")),
        ("scan.startup.specific-offset.lsn", json!(place)),
    ];
    let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
    let error = job.catch_up(&source).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Option { .. }), "{error}");
    assert!(error.to_string().contains("lies in front of where slot"), "{error}");
}

/// Tables that inherit are tables of their own: neither read nor published with their parent.
#[test]
fn a_parents_rows_are_its_own_and_its_children_are_captured_by_themselves_alone() {
    for source in Source::of_each_kind("heirs", 3) {
        let schema = &source.schema;
        source.run(&format!(
            r#"create table {schema}.child (primary key ("ID")) inherits ( T ); alter table {schema}.child replica identity full;
               insert into {schema}.child values (1, 'of the child'), (70, 'of the child')"#
        ));
        let own = || source.ask(r#"select string_agg("ID" || ' ' || "V", ', ' order by "ID") from only T "#);
        let captured = |job: &Job| {
            let rows: Vec<String> = job.sink.table.iter().map(|(id, v)| format!("{id} {v}")).collect();
            rows.join(", ")
        };
        let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
        job.run_to_stream().unwrap();
        assert_eq!(captured(&job), own());
        source.run(&format!(
            r#"update T set "V" = 'w' where "ID" in (1, 70); delete from {schema}.child where "ID" = 70;
               insert into {schema}.child values (2, 'of the child')"#
        ));
        job.catch_up(&source).unwrap();
        assert_eq!(captured(&job), own());
    }
}
