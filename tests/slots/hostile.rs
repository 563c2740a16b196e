//! Names and values that are SQL, in every encoding that a server can have: captured as they are, and never executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::job::Job;
use crate::source::{PLUGINS, Place, Source};
use crate::support::postgres::shared;
use crate::watch::Watch;

/// Databases by their encoding, and texts that each can hold.
const ENCODINGS: [(&str, &[&str]); 4] = [
    (
        "UTF8",
        &[
            "\u{4e2d}\u{6587}\u{8ba2}\u{5355}",
            "\u{1f4a5}\u{202e}\u{2028}\u{85}\u{feff}",
            "e\u{301}\u{e9}",
        ],
    ),
    ("LATIN1", &["\u{a0}\u{e9}\u{ff}\u{a3}\u{d7}", "\u{85}\u{9f}"]),
    (
        "EUC_CN",
        &["\u{4e2d}\u{6587}\u{8ba2}\u{5355}", "\u{3000}\u{ff07}\u{ff1b}"],
    ),
    ("SQL_ASCII", &["~"]),
];

/// What every database can hold.
const TEXTS: [&str; 12] = [
    "x'; DROP TABLE canary; --",
    "\"quoted\"\"name\"",
    "back\\slash\\' OR 1=1",
    "$$; DROP TABLE canary; $$",
    "{fn now()} ? :x ${y} %s",
    "\u{1}\t\n\r\u{1b}[31m\u{7f}",
    "null",
    "unchanged-toast-datum",
    " new-tuple: a[text]:'b'",
    "'",
    "\\",
    "",
];

const SCHEMA: &str = "x'; DROP TABLE canary; --";
const KEY: &str = "k'e\"y\\ {fn now()}?";
const VALUE: &str = "v'a\"l; --\\$$";

/// A database of the shared server.
struct Database {
    name: String,
    encoding: &'static str,
    plugin: &'static str,
}

fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Database {
    fn made(encoding: &'static str) -> String {
        let name = format!("hostile_{}", encoding.to_lowercase());
        shared().psql(&format!(
            "create database {name} encoding '{encoding}' template template0 lc_collate 'C' lc_ctype 'C'"
        ));
        let canary = "create table canary(v text); insert into canary values ('alive')";
        shared().psql_in(&name, canary);
        name
    }

    fn run(&self, sql: &str) -> String {
        shared().psql_in(&self.name, sql)
    }

    /// As long as a name can be, in what the encoding has.
    fn long(&self) -> String {
        match self.encoding {
            "UTF8" => format!("{}abc", "\u{8ba2}".repeat(20)),
            "EUC_CN" => format!("{}a", "\u{8ba2}".repeat(31)),
            "LATIN1" => "\u{e9}".repeat(63),
            _ => "'".repeat(63),
        }
    }

    fn tables(&self) -> [String; 3] {
        [
            "q\"uoted'; DROP TABLE canary; --".into(),
            self.long(),
            "tab\tline\nreturn\r\u{1}".into(),
        ]
    }

    /// The texts, each in a row of a table: an id, a key, a value.
    fn texts(&self) -> Vec<&'static str> {
        let own = ENCODINGS.iter().find(|(encoding, _)| *encoding == self.encoding);
        TEXTS.iter().chain(own.unwrap().1).copied().collect()
    }

    fn options(&self, source: &Source, more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
        let tables = self.tables().map(|table| name(&table)).join("|");
        let slot = format!("{}_{}", self.name, self.plugin);
        let mut options = vec![
            ("database-name", json!(self.name)),
            ("schema-name", json!(name(SCHEMA))),
            ("table-name", json!(tables)),
            ("slot.name", json!(slot)),
        ];
        if source.plugin == "pgoutput" {
            options.push(("publication.name", json!("Pub\"'; DROP TABLE canary; --,\\")));
        }
        options.extend(more.iter().cloned());
        options
    }
}

fn columns() -> Value {
    json!([
        {"name": "ID", "type": "BIGINT", "nullable": false},
        {"name": KEY, "type": "STRING", "nullable": false},
        {"name": VALUE, "type": "STRING"},
        {"name": "at", "type": "BIGINT", "metadata": "scn"},
        {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
        {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
    ])
}

/// Snapshot, log, restarts; keys and values, each of them once before and after.
#[test]
fn names_and_values_that_are_sql_come_as_they_are_in_every_encoding() {
    for (encoding, _) in ENCODINGS {
        let made = Database::made(encoding);
        for plugin in PLUGINS {
            let source = Source {
                place: Place::Postgres(shared()),
                schema: format!("hostile_{plugin}"),
                plugin,
            };
            let database = Database {
                name: made.clone(),
                encoding,
                plugin,
            };
            let expected = captured(&database, &source);
            let slot = format!("{}_{plugin}", database.name);
            database.run(&format!("select pg_drop_replication_slot('{slot}')"));
            // Nothing that stood in a name or a value was run.
            assert_eq!(database.run("select v from canary"), "alive\n", "{encoding} {plugin}");
            assert!(expected > 40);
        }
    }
}

fn captured(database: &Database, source: &Source) -> usize {
    let texts = database.texts();
    let mut expected = BTreeMap::new();
    database.run(&format!(
        "drop schema if exists {0} cascade; create schema {0}",
        name(SCHEMA)
    ));
    let tables = database.tables();
    let qualified: Vec<String> = tables
        .iter()
        .map(|table| format!("{}.{}", name(SCHEMA), name(table)))
        .collect();
    for (number, table) in (0..).zip(&qualified) {
        database.run(&format!(
            "create table {table} (\"ID\" bigint not null, {} text not null, {} text, primary key ({0}, \"ID\"))",
            name(KEY),
            name(VALUE)
        ));
        database.run(&format!("alter table {table} replica identity full"));
        for (id, text) in (1..).zip(&texts) {
            let id = number * 1_000 + id;
            database.run(&format!("insert into {table} values ({id}, {0}, {0})", literal(text)));
            expected.insert(id, (*text).to_owned());
        }
    }
    let options = database.options(source, &[]);
    let mut job = Job::start(source.config_of(&options, columns()), Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, expected);
    for table in tables.iter() {
        let rows = job.sink.log.iter().filter(|row| row.table == *table);
        assert_eq!(rows.count(), texts.len(), "{table}");
    }
    job.checkpoint().unwrap();
    for (number, table) in (0..).zip(&qualified) {
        let mut statements = Vec::new();
        for (id, text) in (1..).zip(&texts) {
            let next = texts[id as usize % texts.len()];
            let (old, new) = (number * 1_000 + id, number * 1_000 + 500 + id);
            // A value changed, a key changed, a row that comes and one that goes.
            let set = format!("update {table} set {} = {}", name(VALUE), literal(next));
            statements.push(format!("{set} where \"ID\" = {old}"));
            statements.push(format!(
                "update {table} set {} = {} where \"ID\" = {old}",
                name(KEY),
                literal(next)
            ));
            statements.push(format!("insert into {table} values ({new}, {0}, {0})", literal(text)));
            expected.insert(old, next.to_owned());
            expected.insert(new, (*text).to_owned());
            if id % 3 == 0 {
                statements.push(format!("delete from {table} where \"ID\" = {old}"));
                expected.remove(&old);
            }
        }
        database.run(&statements.join("; "));
    }
    let marker = 900_000;
    expected.insert(marker, "marker".into());
    let insert = format!("insert into {} values ({marker}, '', 'marker')", qualified[0]);
    database.run(&insert);
    job.run(|job| job.sink.log.len() > expected.len()).unwrap();
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    job.run(|job| job.sink.table.contains_key(&marker)).unwrap();
    assert_eq!(job.sink.table, expected, "{} {}", database.encoding, database.plugin);
    // As keys they are what they are as values.
    for row in job.sink.log.iter().filter(|row| row.kind == "+I" && row.xid.is_none()) {
        assert!(row.key.contains(&format!("{:?}", row.v.as_bytes())), "{row:?}");
    }
    expected.len()
}

/// Large values that the log leaves out are read back by keys that are SQL.
#[test]
fn a_row_is_read_back_by_a_key_that_is_sql() {
    for source in Source::of_each_kind("hostile_keys", 0) {
        source.run("create table if not exists canary(v text); truncate canary; insert into canary values ('alive')");
        let texts: Vec<&str> = TEXTS
            .iter()
            .chain(ENCODINGS[0].1)
            .copied()
            .filter(|text| !text.is_empty())
            .collect();
        source.run(&format!(
            "alter table T drop constraint t_pkey, add {} varchar(200) not null, add \"N\" int",
            name(KEY)
        ));
        source.run(&format!(
            "alter table T add primary key ({}, \"ID\"), alter \"V\" set storage external",
            name(KEY)
        ));
        source.run("alter table T replica identity default");
        for (id, text) in (1..).zip(&texts) {
            source.run(&format!(
                "insert into T values ({id}, {0} || repeat('x', 5000), {0})",
                literal(text)
            ));
        }
        let columns = json!([
            {"name": "ID", "type": "BIGINT", "nullable": false},
            {"name": KEY, "type": "STRING", "nullable": false},
            {"name": "N", "type": "INT"},
            {"name": "V", "type": "STRING"},
            {"name": "at", "type": "BIGINT", "metadata": "scn"},
            {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
            {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
        ]);
        let options = [("changelog-mode", json!("upsert")), ("primary-key", json!([KEY, "ID"]))];
        let mut job = Job::start(source.config_of(&options, columns), Arc::new(Watch::default()), 1).unwrap();
        job.sink.keyless = true;
        job.run_to_stream().unwrap();
        source.run("update T set \"N\" = 1");
        let streamed = |job: &Job| job.sink.log.iter().filter(|row| row.xid.is_some()).count();
        job.run(|job| streamed(job) >= texts.len()).unwrap();
        for row in job.sink.log.iter().filter(|row| row.xid.is_some()) {
            assert_eq!(
                row.v,
                format!("{}{}", texts[row.id as usize - 1], "x".repeat(5000)),
                "{row:?}"
            );
        }
        let metrics = job.reader(0).metrics();
        let read_back = metrics
            .iter()
            .find(|metric| metric.name == "valuesReadBack")
            .unwrap()
            .value;
        assert_eq!(read_back, texts.len() as i64);
        assert_eq!(source.run("select v from canary"), "alive\n");
    }
}

/// What a slot cannot be called is refused before anything is asked of a server.
#[test]
fn a_slot_whose_name_is_sql_is_refused() {
    let source = Source::shared("hostile_slot", "pgoutput", 0);
    for wrong in [
        "x'; DROP TABLE canary; --",
        "\"s\"",
        "S",
        "\u{4e2d}",
        "s\\",
        &"s".repeat(64),
    ] {
        let error = source.try_config(&[("slot.name", json!(wrong))]).unwrap_err();
        assert!(error.to_string().contains("slot.name"), "{wrong}: {error}");
    }
}
