//! Names and values that are SQL, on servers of two character sets: captured as they are, and never executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::job::Job;
use crate::source::{Source, start_as};
use crate::support::stand_in::StandIn;
use crate::watch::Watch;

/// What every server can hold.
const TEXTS: [&str; 13] = [
    "x'; DROP TABLE \"CANARY\"; --",
    "\"quoted\"\"name\"",
    "back\\slash\\' OR 1=1",
    "$$; DROP TABLE \"CANARY\"; $$",
    "{fn now()} ? :x ${y} %s",
    "\u{1}\t\n\r\u{1b}[31m\u{7f}",
    "NULL",
    "OUT_CLOB",
    "a', \"V\" = 'b",
    "'||CHR(65)||'",
    "'",
    "\\",
    "\u{4e2d}\u{6587}\u{8ba2}\u{5355}\u{3000}\u{ff07}",
];

const SCHEMA: &str = "x'; DROP TABLE \"CANARY\"; --";
const KEY: &str = "k'e\"y\\ {fn now()}?";
const VALUE: &str = "v'a\"l; --\\$$";

fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// As long as the server below the stand-in lets a name be, in characters of two or three bytes; the stand-in itself
/// writes U+0001 and U+0002 around names.
fn tables(longest: usize) -> [String; 3] {
    [
        "q\"uoted'; DROP TABLE \"CANARY\"; --".into(),
        "\u{8ba2}".repeat(longest),
        "tab\tline\nreturn\r\u{3}".into(),
    ]
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

/// Snapshot, log, restarts, statements in the log and large objects that are read back by such keys.
#[test]
fn names_and_values_that_are_sql_come_as_they_are_in_both_character_sets() {
    for (encoding, longest) in [("UTF8", 21), ("EUC_CN", 31)] {
        let stand_in = Arc::new(start_as(&[("ENCODING", encoding)]));
        for (setting, value) in [("ddl", "on"), ("lob", "out")] {
            stand_in.psql(&format!(
                "update logminer.setting set value = '{value}' where name = '{setting}'"
            ));
        }
        captured(&stand_in, longest);
    }
}

fn captured(stand_in: &Arc<StandIn>, longest: usize) {
    let source = Source::of(stand_in.clone(), "CANARIES", "\"ID\" bigint primary key, \"V\" clob");
    source.run("insert into T values (1, 'alive')");
    source.run(&format!(
        "create table \"CANARY\"(\"V\" text); insert into \"CANARY\" values ('alive'); create schema {}",
        name(SCHEMA)
    ));
    let mut expected = BTreeMap::new();
    let tables = tables(longest);
    let qualified: Vec<String> = tables
        .iter()
        .map(|table| format!("{}.{}", name(SCHEMA), name(table)))
        .collect();
    // Beyond what stands in the row's text.
    let long = |text: &str| format!("{text}{}", "\u{8ba2}".repeat(600));
    let value = |number: i64, text: &str| if number == 1 { long(text) } else { text.to_owned() };
    for (number, table) in (0..).zip(&qualified) {
        let kind = if number == 1 { "clob" } else { "varchar(2000)" };
        source.run(&format!(
            "create table {table} (\"ID\" bigint not null, {} varchar(200) not null, {} {kind}, primary key ({0}, \"ID\"))",
            name(KEY),
            name(VALUE)
        ));
        for (id, text) in (1..).zip(TEXTS) {
            let (id, value) = (number * 1_000 + id, value(number, text));
            source.run(&format!(
                "insert into {table} values ({id}, {}, {})",
                literal(text),
                literal(&value)
            ));
            expected.insert(id, value);
        }
    }
    let options = [
        ("schema-name", json!(name(SCHEMA))),
        ("table-name", json!(tables.clone().map(|table| name(&table)).join("|"))),
    ];
    let config = source.config_of(&options, columns());
    let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
    job.sink.later = true;
    job.run_to_stream().unwrap();
    assert_eq!(job.sink.table, expected);
    for table in &tables {
        let rows = job.sink.log.iter().filter(|row| row.table == *table);
        assert_eq!(rows.count(), TEXTS.len(), "{table}");
    }
    job.checkpoint().unwrap();
    for (number, table) in (0..).zip(&qualified) {
        let mut statements = Vec::new();
        for (id, text) in (1..).zip(TEXTS) {
            let next = TEXTS[id as usize % TEXTS.len()];
            let (old, new) = (number * 1_000 + id, number * 1_000 + 500 + id);
            let changed = literal(&value(number, next));
            statements.push(format!(
                "update {table} set {} = {changed} where \"ID\" = {old}",
                name(VALUE)
            ));
            statements.push(format!(
                "update {table} set {} = {} where \"ID\" = {old}",
                name(KEY),
                literal(next)
            ));
            let own = value(number, text);
            statements.push(format!(
                "insert into {table} values ({new}, {}, {})",
                literal(text),
                literal(&own)
            ));
            expected.insert(old, value(number, next));
            expected.insert(new, own);
            if id % 3 == 0 {
                statements.push(format!("delete from {table} where \"ID\" = {old}"));
                expected.remove(&old);
            }
        }
        source.run(&statements.join("; "));
        // What is added is not declared; the statement has quotes of every kind.
        source.run(&format!(
            "alter table {table} add {} varchar(200) default {}",
            name("n'\"; --"),
            literal(TEXTS[0])
        ));
        source.run(&format!("comment on table {table} is {}", literal(TEXTS[0])));
    }
    let marker = 900_000;
    expected.insert(marker, "marker".into());
    source.run(&format!(
        "insert into {} values ({marker}, 'm', 'marker')",
        qualified[0]
    ));
    job.run(|job| job.sink.table.contains_key(&1_513)).unwrap();
    let metrics = job.reader(0).metrics();
    let read_back = metrics
        .iter()
        .find(|metric| metric.name == "valuesReadBack")
        .unwrap()
        .value;
    assert!(read_back > 0);
    job.checkpoint().unwrap();
    job = job.restart(1).unwrap();
    job.sink.later = true;
    job.run(|job| job.sink.table.contains_key(&marker)).unwrap();
    assert_eq!(job.sink.table, expected);
    for row in job.sink.log.iter().filter(|row| row.kind == "+I" && row.xid.is_none()) {
        let text = row.v.trim_end_matches('\u{8ba2}');
        assert!(
            row.key.contains(&format!("{:?}", text.as_bytes())) || text.ends_with('\u{5355}'),
            "{row:?}"
        );
    }
    // Nothing that stood in a name or a value was run.
    assert_eq!(source.run("select \"V\" from \"CANARY\""), "alive\n");
    assert_eq!(source.run("select count(*) from T "), "1\n");
}
