//! Every kind of key: chunks tile the table, have their rows, and pages bring each row once, in the key's order.

use std::fmt::Write;
use std::sync::Arc;

use tidemark::catalog::{Table, load};
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::{ColumnType, Dialect, DictionaryColumn, Endpoint, Literal, Query};
use tidemark::odbc::{ConnectionSettings, Diagnostic, Verdict};
use tidemark::snapshot::PageLimit;
use tidemark::split::TableName;

use crate::support::key_kinds::{KeyKind, all};
use crate::support::stand_in::StandIn;
use crate::{WHOLE, cut_with, read, reader_with};

const ROWS: usize = 150;

/// DM8's words, but for binary literals: the stand-in's parser knows no `0x41`.
#[derive(Debug)]
struct OverStandIn;

impl Dialect for OverStandIn {
    fn connection(&self, endpoint: &Endpoint) -> ConnectionSettings {
        Dameng.connection(endpoint)
    }

    fn classify(&self, diagnostic: &Diagnostic) -> Verdict {
        Dameng.classify(diagnostic)
    }

    fn push_literal(&self, literal: &Literal, out: &mut String) {
        let Literal::Bytes(bytes) = literal else {
            return Dameng.push_literal(literal, out);
        };
        out.push_str("'\\x");
        bytes.iter().for_each(|byte| write!(out, "{byte:02x}").unwrap());
        out.push_str("'::bytea");
    }

    fn push_limit(&self, rows: usize, skip: usize, out: &mut String) {
        Dameng.push_limit(rows, skip, out);
    }

    fn database_name(&self) -> Query {
        Dameng.database_name()
    }

    fn tables(&self) -> Query {
        Dameng.tables()
    }

    fn partitions(&self, of: &[u64]) -> Query {
        Dameng.partitions(of)
    }

    fn names_have_case(&self) -> Query {
        Dameng.names_have_case()
    }

    fn table(&self, table: &TableName) -> Query {
        Dameng.table(table)
    }

    fn versions(&self, object_ids: &[u64]) -> Query {
        Dameng.versions(object_ids)
    }

    fn columns(&self, table: &TableName) -> Query {
        Dameng.columns(table)
    }

    fn keys(&self, table: &TableName) -> Query {
        Dameng.keys(table)
    }

    fn sorted(&self, texts: &[&str]) -> Query {
        Dameng.sorted(texts)
    }

    fn push_selected(&self, name: &str, kind: &ColumnType, out: &mut String) {
        Dameng.push_selected(name, kind, out);
    }

    fn column_type(&self, column: &DictionaryColumn) -> ColumnType {
        Dameng.column_type(column)
    }
}

fn table(kind: &KeyKind) -> Arc<Table> {
    let (schema, columns) = (format!("KIND_{}", kind.name), kind.columns);
    StandIn::shared().psql(&format!(
        r#"create schema "{schema}"; create table "{schema}"."T" ({columns}, "V" varchar(200));
           insert into "{schema}"."T" select {}, g from generate_series(1, {ROWS}) g"#,
        kind.values
    ));
    let name = TableName {
        schema,
        name: "T".into(),
    };
    Arc::new(load(&mut StandIn::shared().connect(), &Dameng, &name).unwrap())
}

fn every_row_stands_once_in_its_chunk_and_in_order(kind: &KeyKind) {
    println!("{}", kind.name);
    let table = table(kind);
    let key: Vec<&str> = table.key.iter().map(|&column| &*table.columns[column].name).collect();
    assert_eq!(key.join(","), kind.key);
    let expected = StandIn::shared().psql(&format!(
        r#"select "V" from "KIND_{}"."T" order by {}"#,
        kind.name,
        kind.order()
    ));
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(expected.len(), ROWS);
    let mut needed = vec![false; table.columns.len()];
    table.key.iter().for_each(|&column| needed[column] = true);
    *needed.last_mut().unwrap() = true;
    let mut reader = reader_with(Arc::new(OverStandIn), &table, &needed);
    for size in [1, 40, ROWS - 1] {
        let chunks = cut_with(&OverStandIn, &table, size, 16);
        assert_eq!(chunks.len(), ROWS.div_ceil(size));
        assert!(chunks.windows(2).all(|pair| pair[0].range.upper == pair[1].range.lower));
        let ends = (&chunks[0].range.lower, &chunks[chunks.len() - 1].range.upper);
        assert_eq!(ends, (&None, &None));
        let limit = PageLimit {
            rows: size / 2 + 1,
            ..WHOLE
        };
        let mut rows = Vec::new();
        for chunk in &chunks {
            let read = read(&mut reader, chunk, limit);
            assert!(chunk.range.upper.is_none() || read.len() == size);
            rows.extend(read);
        }
        assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let values: Vec<&str> = rows
            .iter()
            .map(|(_, row)| row[row.rfind('<').unwrap() + 1..].trim_end_matches('>'))
            .collect();
        assert_eq!(values, expected);
    }
}

#[test]
fn every_kind_of_key_cuts_its_table_and_reads_it_in_order() {
    for kind in all() {
        every_row_stands_once_in_its_chunk_and_in_order(&kind);
    }
}
