//! A dialect that stops in front of each statement of barrier and pages, so that others write in between.

use std::fmt;
use std::sync::Arc;

use tidemark::dialect::page::{KeyColumn, KeyIndex, TableRows};
use tidemark::dialect::postgres::Postgres;
use tidemark::dialect::visibility::Visibility;
use tidemark::dialect::{ColumnType, Dialect, DictionaryColumn, Endpoint, Literal, Query};
use tidemark::odbc::{ConnectionSettings, Diagnostic, Verdict};
use tidemark::position::Xid;
use tidemark::split::TableName;

/// What is about to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    LogEnd,
    OwnTransaction,
    OldestOpen,
    Begin,
    Seen,
    Select,
    Keep,
    End,
    DurableEnd,
    Kept,
}

/// Called in front of each statement.
pub type At = Box<dyn Fn(Step) + Send + Sync>;

/// PostgreSQL's dialect, watched.
pub struct Between {
    dialect: Arc<Postgres>,
    at: At,
    /// What must hold in the transaction of a page.
    condition: &'static str,
}

impl Between {
    pub fn new(dialect: Arc<Postgres>, at: At) -> Arc<Self> {
        let condition = "true";
        Arc::new(Between { dialect, at, condition })
    }

    /// A page is an error whose transaction does not fulfil a condition.
    pub fn with_condition(dialect: Arc<Postgres>, condition: &'static str) -> Arc<Self> {
        let at = Box::new(|_| ());
        Arc::new(Between { dialect, at, condition })
    }
}

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dialect.fmt(f)
    }
}

impl Dialect for Between {
    fn connection(&self, endpoint: &Endpoint) -> ConnectionSettings {
        self.dialect.connection(endpoint)
    }

    fn classify(&self, diagnostic: &Diagnostic) -> Verdict {
        self.dialect.classify(diagnostic)
    }

    fn push_name(&self, name: &str, out: &mut String) {
        self.dialect.push_name(name, out);
    }

    fn push_table(&self, table: &TableName, out: &mut String) {
        self.dialect.push_table(table, out);
    }

    fn push_rows(&self, table: TableRows<'_>, out: &mut String) {
        (self.at)(Step::Select);
        self.dialect.push_rows(table, out);
    }

    fn push_literal(&self, literal: &Literal, out: &mut String) {
        self.dialect.push_literal(literal, out);
    }

    fn push_limit(&self, rows: usize, skip: usize, out: &mut String) {
        self.dialect.push_limit(rows, skip, out);
    }

    fn push_key(&self, table: &TableName, column: &KeyColumn<'_>, out: &mut String) {
        self.dialect.push_key(table, column, out);
    }

    fn key_index(&self, table: &TableName, object_id: u64, key: &[KeyColumn<'_>]) -> Option<KeyIndex> {
        self.dialect.key_index(table, object_id, key)
    }

    fn database_name(&self) -> Query {
        self.dialect.database_name()
    }

    fn tables(&self) -> Query {
        self.dialect.tables()
    }

    fn partitions(&self, of: &[u64]) -> Query {
        self.dialect.partitions(of)
    }

    fn names_have_case(&self) -> Query {
        self.dialect.names_have_case()
    }

    fn table(&self, table: &TableName) -> Query {
        self.dialect.table(table)
    }

    fn is_partitioned(&self, described: i64) -> bool {
        self.dialect.is_partitioned(described)
    }

    fn versions(&self, object_ids: &[u64]) -> Query {
        self.dialect.versions(object_ids)
    }

    fn columns(&self, table: &TableName) -> Query {
        self.dialect.columns(table)
    }

    fn keys(&self, table: &TableName) -> Query {
        self.dialect.keys(table)
    }

    fn sorted(&self, texts: &[&str]) -> Query {
        self.dialect.sorted(texts)
    }

    fn push_selected(&self, name: &str, kind: &ColumnType, out: &mut String) {
        self.dialect.push_selected(name, kind, out);
    }

    fn column_type(&self, column: &DictionaryColumn) -> ColumnType {
        self.dialect.column_type(column)
    }
}

impl Visibility for Between {
    fn is_standby(&self) -> Query {
        self.dialect.is_standby()
    }

    fn log_end(&self) -> Query {
        (self.at)(Step::LogEnd);
        self.dialect.log_end()
    }

    fn durable_end(&self) -> Query {
        (self.at)(Step::DurableEnd);
        self.dialect.durable_end()
    }

    fn own_transaction(&self) -> Query {
        (self.at)(Step::OwnTransaction);
        self.dialect.own_transaction()
    }

    fn oldest_open(&self) -> Query {
        (self.at)(Step::OldestOpen);
        self.dialect.oldest_open()
    }

    fn open_before(&self, xid: Xid) -> Query {
        self.dialect.open_before(xid)
    }

    fn begin_snapshot(&self, table: &TableName) -> Vec<String> {
        (self.at)(Step::Begin);
        self.dialect.begin_snapshot(table)
    }

    fn seen(&self) -> Query {
        (self.at)(Step::Seen);
        let Query { sql, columns } = self.dialect.seen();
        let sql = format!("{sql} WHERE {}", self.condition);
        Query { sql, columns }
    }

    fn end_snapshot(&self) -> String {
        (self.at)(Step::End);
        self.dialect.end_snapshot()
    }

    fn keep_result(&self, select: &str) -> Vec<String> {
        (self.at)(Step::Keep);
        self.dialect.keep_result(select)
    }

    fn kept_rows(&self, rows: usize) -> String {
        (self.at)(Step::Kept);
        self.dialect.kept_rows(rows)
    }

    fn drop_kept(&self) -> String {
        self.dialect.drop_kept()
    }

    fn push_log(&self) -> Query {
        self.dialect.push_log()
    }
}
