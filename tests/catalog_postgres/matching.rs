//! Which tables a job means.

use tidemark::catalog::pattern::{NamePattern, TablePatterns};
use tidemark::catalog::{Found, find};
use tidemark::error::{ErrorKind, Result};
use tidemark::split::TableName;

use crate::support::postgres::{connect, dialect, shared};
use crate::{psql, read};

fn look(schema: &str, table: &str) -> Result<Found> {
    let wanted = TablePatterns {
        schema: NamePattern::parse(schema).unwrap(),
        table: NamePattern::parse(table).unwrap(),
        but: Vec::new(),
    };
    find(&mut connect(shared()), &*dialect(), &wanted)
}

fn names(found: &[TableName]) -> Vec<String> {
    found.iter().map(TableName::to_string).collect()
}

/// Everything that a catalogue lists beside tables, under names that the pattern matches.
#[test]
fn views_partitions_unlogged_and_foreign_tables_and_the_servers_own_schemas_never_match() {
    psql(
        "create schema cat; create table cat.m_a (a int primary key); create view cat.m_v as select * from cat.m_a; \
         create materialized view cat.m_mv as select * from cat.m_a; create unlogged table cat.m_u (a int primary key); \
         create foreign data wrapper w; create server s foreign data wrapper w; create foreign table cat.m_f (a int) server s; \
         create table cat.m_p (a int primary key) partition by range (a); \
         create table cat.m_p1 partition of cat.m_p for values from (0) to (9); \
         create table cat.m_p2 partition of cat.m_p for values from (9) to (99) partition by range (a); \
         create table cat.m_p2_s partition of cat.m_p2 for values from (9) to (50)",
    );
    assert_eq!(names(&look(".*", "m_.*").unwrap().tables), ["cat.m_a", "cat.m_p"]);
    let parts: Vec<String> = read("cat", "m_p")
        .unwrap()
        .partitions
        .iter()
        .map(|part| part.name.clone())
        .collect();
    assert_eq!(parts, ["m_p1", "m_p2", "m_p2_s"], "of all levels");
    for (schema, table) in [
        ("cat", "m_v"),
        ("cat", "m_mv"),
        ("cat", "m_u"),
        ("cat", "m_f"),
        ("cat", "m_p1"),
        ("pg_catalog", ".*"),
        ("information_schema", ".*"),
        ("pg_toast", ".*"),
    ] {
        let error = look(schema, table).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
    }
}

/// F27 and F54, by PostgreSQL's rules.
#[test]
fn names_without_quotes_mean_lower_case_and_no_letter_is_a_wildcard() {
    psql(
        "create schema ord_er; create schema ordxer; create table ordxer.item (b int primary key); \
         create table ord_er.item (a int primary key); create table ord_er.\"Item\" (a int primary key); \
         create table ord_er.\"it%\\m\"\"s'\" (a int primary key)",
    );
    for (table, expected) in [
        ("item", &["ord_er.item"][..]),
        ("ITEM", &["ord_er.item"]),
        ("\"Item\"", &["ord_er.Item"]),
        ("(?-i)[A-Z]tem", &["ord_er.Item"]),
        ("\"it%\\m\"\"s'\"", &["ord_er.it%\\m\"s'"]),
    ] {
        assert_eq!(names(&look("ORD_ER", table).unwrap().tables), expected, "{table}");
    }
    assert_eq!(names(&look("ord_er", "item").unwrap().but_for_case), ["ord_er.Item"]);
    assert_eq!(read("ord_er", "it%\\m\"s'").unwrap().columns.len(), 1);
    psql("create table ord_er.\"Upper\" (a int)");
    let error = look("ord_er", "upper").unwrap_err().to_string();
    assert!(
        error.contains("case apart there is ord_er.Upper") && error.contains("lower-case"),
        "{error}"
    );
}
