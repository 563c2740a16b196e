//! What stands in the way of a start is said at once, with what is to be done.

use std::sync::Arc;

use serde_json::json;

use crate::job::Job;
use crate::source::{Place, Source};
use crate::support::Server;
use crate::support::postgres::LOGICAL;
use crate::warnings;
use crate::watch::Watch;

fn refusal(source: &Source, options: &[(&str, serde_json::Value)]) -> String {
    let mut job = Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap();
    let error = job.run_to_stream().unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    error.to_string()
}

#[test]
fn all_that_stands_in_the_way_is_in_one_report() {
    // A server that logs too little for slots.
    let server: &'static Server = Box::leak(Box::new(Server::start_with(&["max_replication_slots = 1"])));
    let source = Source {
        place: Place::Postgres(server),
        schema: "public".into(),
        plugin: "pgoutput",
    };
    source.run(
        r#"create role "reader" login; create table T ("ID" bigint primary key, "V" text); create table public."nokey" (a int); grant usage on schema public to "reader"; grant select on public."nokey" to "reader""#,
    );
    let report = refusal(
        &source,
        &[("username", json!("reader")), ("table-name", json!("t|nokey"))],
    );
    for part in [
        "things stand in the way",
        "wal_level is 'replica'; slots need 'logical'",
        "max_replication_slots is 1, and 0 slots are there: the job needs 2 more",
        "ALTER ROLE … REPLICATION is needed",
        "GRANT SELECT ON \"public\".\"t\" is needed",
        "neither a primary key nor a unique key",
    ] {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
}

#[test]
fn a_table_whose_old_rows_are_not_in_the_log_is_refused_with_the_statement() {
    let source = Source::shared("identity", "pgoutput", 3);
    source.run("alter table T replica identity default");
    let report = refusal(&source, &[]);
    let statement = format!("ALTER TABLE {}.t REPLICA IDENTITY FULL", source.schema);
    assert!(
        report.contains(&statement) && report.contains("changelog-mode = 'upsert'"),
        "{report}"
    );
    source.run("alter table T replica identity nothing");
    let report = refusal(&source, &[("changelog-mode", json!("upsert"))]);
    assert!(
        report.contains(&statement) && report.contains("fail for everybody"),
        "{report}"
    );
    source.run("alter table T replica identity default");
    let upsert = source.config(&[("changelog-mode", json!("upsert"))]);
    Job::start(upsert, Arc::new(Watch::default()), 1)
        .unwrap()
        .run_to_stream()
        .unwrap();
}

#[test]
fn a_slot_of_another_plugin_is_refused() {
    let source = Source::shared("other", "pgoutput", 3);
    source.run(&format!(
        "select pg_create_logical_replication_slot('{}', 'test_decoding')",
        source.slot()
    ));
    let report = refusal(&source, &[]);
    assert!(
        report.contains("option 'decoding.plugin.name'") && report.contains("has output plugin 'test_decoding'"),
        "{report}"
    );
}

/// F29
#[test]
fn a_plugin_that_the_server_lacks_is_refused_with_those_that_it_has() {
    let source = Source::face("lacks", 3);
    let report = refusal(&source, &[("decoding.plugin.name", json!("pgoutput"))]);
    assert!(
        report.contains(
            "option 'decoding.plugin.name': is 'pgoutput', which the server does not have; it has test_decoding"
        ),
        "{report}"
    );
    assert_eq!(
        source.ask("select count(*) from pg_replication_slots where slot_name like 'lacks%'"),
        "0"
    );
}

/// What the DBA's script gives is enough, and can be given twice.
#[test]
fn the_setup_script_is_all_that_a_job_needs() {
    let server: &'static Server = Box::leak(Box::new(Server::start_with(LOGICAL)));
    let source = Source {
        place: Place::Postgres(server),
        schema: "shop".into(),
        plugin: "pgoutput",
    };
    source.run(
        r#"create schema shop; create table T ("ID" bigint, "V" text, primary key ("ID")) partition by range ("ID");
           create table shop.low partition of T for values from (0) to (10); create table shop.high partition of T default;
           insert into T select g, 'v' from generate_series(1, 20) g"#,
    );
    let script = || {
        let variables = ["schema=shop", "table=t", "publication=of_shop", "password=x"];
        server.script("sql/setup/postgres.sql", &variables);
    };
    script();
    script();
    let options = [("username", json!("tidemark")), ("publication.name", json!("of_shop"))];
    let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
    job.catch_up(&source).unwrap();
    source
        .run(r#"update T set "ID" = 15, "V" = 'moved' where "ID" = 5 and not exists (select from T where "ID" = 15)"#);
    source.run(r#"delete from T where "ID" = 15; update T set "ID" = 15, "V" = 'moved' where "ID" = 5"#);
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert!(
        job.sink.log.iter().all(|row| row.table == "t"),
        "partitions come as their root"
    );
}

#[test]
fn a_database_that_is_not_there_is_named_with_its_option() {
    for source in Source::of_each_kind("nowhere", 1) {
        let options = [("database-name", json!("no_such_database"))];
        let report = refusal(&source, &options);
        for part in ["database-name", "no_such_database"] {
            assert!(report.contains(part), "{report}");
        }
    }
}

/// F35: whoever starts without checkpoints is told that the server keeps its log for ever.
#[test]
fn without_checkpoints_a_job_warns_that_the_slot_stays() {
    for (checkpointing, expected) in [("aligned", 0), ("disabled", 1)] {
        let source = Source::shared(&format!("kept_{checkpointing}"), "pgoutput", 3);
        let options = [("checkpointing", json!(checkpointing))];
        let text = format!("slot '{}' is never moved", source.slot());
        let ((), said) = warnings::with(&text, || {
            let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
            job.unit().unwrap();
        });
        assert_eq!(said.len(), expected, "{said:?}");
    }
}

/// What makes such an index is said, and is enough.
#[test]
fn a_table_that_has_to_be_sorted_is_warned_of_with_the_index_that_would_help() {
    let source = Source::shared("sorted_first", "pgoutput", 3);
    source.run(
        r#"alter table T drop constraint t_pkey, add "CODE" text collate "en-x-icu" not null default 'é', add primary key ("CODE", "ID")"#,
    );
    let start = || {
        let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
        job.unit().unwrap();
    };
    let text = format!("no index has table {}.t in the order of its key", source.schema);
    let ((), said) = warnings::with(&text, start);
    let from = said[0].find("CREATE INDEX").unwrap();
    let to = said[0].find(", or put").unwrap();
    source.run(&said[0][from..to]);
    let ((), said) = warnings::with(&text, start);
    assert!(said.is_empty(), "{said:?}");
}
