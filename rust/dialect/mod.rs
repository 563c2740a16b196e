//! What differs between databases: the words of every statement, what their errors mean, how to connect. The only room
//! that knows a database's name; all SQL text stands here, in one place a database.

pub mod by_key;
mod column_type;
pub mod dameng;
pub mod ddl_capture;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod kingbase;
mod literal;
pub mod mining;
pub mod page;
pub mod postgres;
pub mod slots;
pub mod visibility;

pub use column_type::{ColumnType, IntervalField};
pub use literal::Literal;
pub(crate) use literal::{date_of, days};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::mining::Mining;
use crate::dialect::postgres::Brand;
use crate::odbc::{ColumnSpec, ConnectionSettings, Diagnostic, Names, Secret, Verdict};
use crate::split::TableName;

/// What belongs to a connector, by how its database's log is read.
#[derive(Clone, Debug)]
pub enum Family {
    /// Log files are mined.
    Mining(Arc<dyn Mining>),
    /// A slot is read; the dialect is that of a server, once it is connected to.
    Slots(&'static Brand),
}

/// What belongs to a connector, by the name that users give it; `None` for a name of no connector.
pub fn of_connector(name: &str) -> Option<Family> {
    match name {
        "dameng-cdc" => Some(Family::Mining(Arc::new(dameng::Dameng))),
        "postgres-slot-cdc" => Some(Family::Slots(&postgres::POSTGRES)),
        "kingbase-cdc" => Some(Family::Slots(&kingbase::KINGBASE)),
        _ => None,
    }
}

/// A SELECT, and how its columns are fetched: both belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The text.
    pub sql: String,
    /// Its columns.
    pub columns: Vec<ColumnSpec>,
}

/// Where a database is and how to log in.
#[derive(Clone)]
pub struct Endpoint {
    /// `hostname`.
    pub hostname: String,
    /// `port`.
    pub port: u16,
    /// `database-name`; `None` takes the one that every server has, or there are none.
    pub database: Option<String>,
    /// `username`.
    pub username: String,
    /// `password`.
    pub password: Secret,
    /// `connect.timeout`.
    pub connect_timeout: Duration,
    /// `socket.timeout`: the longest a statement may take.
    pub statement_timeout: Option<Duration>,
    /// `odbc.driver`; `None` takes the name under which the vendor's driver installs itself.
    pub driver: Option<String>,
    /// `odbc.*`: keys of the connection string that replace the dialect's own or come beside them.
    pub attributes: Vec<(String, String)>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("hostname", &self.hostname)
            .field("port", &self.port)
            .field("database", &self.database)
            .field("username", &self.username)
            .field("driver", &self.driver)
            .field("attributes", &Names(&self.attributes))
            .finish_non_exhaustive()
    }
}

/// A column as the dictionary describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryColumn {
    /// Name of its type.
    pub type_name: String,
    /// Length in bytes.
    pub length: Option<i64>,
    /// Digits in all.
    pub precision: Option<i64>,
    /// Digits behind the point or the second.
    pub scale: Option<i64>,
    /// What [`Dialect::column_marks`] says of it; 0 for nothing.
    pub marks: i64,
}

/// What differs between databases, apart from their logs.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// How to connect.
    fn connection(&self, endpoint: &Endpoint) -> ConnectionSettings;

    /// What a driver's message means.
    fn classify(&self, diagnostic: &Diagnostic) -> Verdict;

    /// Appends a name as a quoted identifier, case and all.
    fn push_name(&self, name: &str, out: &mut String) {
        out.push('"');
        out.push_str(&name.replace('"', "\"\""));
        out.push('"');
    }

    /// Appends a table's name with its schema's, both quoted.
    fn push_table(&self, table: &TableName, out: &mut String) {
        self.push_name(&table.schema, out);
        out.push('.');
        self.push_name(&table.name, out);
    }

    /// Appends a table as its rows are read: those of tables that inherit from it are not its own.
    fn push_rows(&self, table: page::TableRows<'_>, out: &mut String) {
        self.push_table(table.name, out);
    }

    /// Appends a literal.
    fn push_literal(&self, literal: &Literal, out: &mut String);

    /// Appends what cuts a result to `rows` rows behind the first `skip` ones.
    fn push_limit(&self, rows: usize, skip: usize, out: &mut String);

    /// Appends a column of a key as rows are compared and ordered by it: bytewise where it is text. The table is the
    /// statement's only one.
    fn push_key(&self, table: &TableName, column: &page::KeyColumn<'_>, out: &mut String) {
        let _ = table;
        self.push_name(column.name, out);
    }

    /// The index that has a table's rows in the order of a key, by the table's number; `None` where every key has one, or
    /// the server can do without.
    fn key_index(&self, table: &TableName, object_id: u64, key: &[page::KeyColumn<'_>]) -> Option<page::KeyIndex> {
        let _ = (table, object_id, key);
        None
    }

    /// The schemas whose operators a table's columns are compared by, where a statement has to name them: the column's name and
    /// the schema, texts. By the table's number; `None` where none has to be named.
    fn operators(&self, object_id: u64) -> Option<Query> {
        let _ = object_id;
        None
    }

    /// The database's name, for the metadata column of that name: text.
    fn database_name(&self) -> Query;

    /// Schema and name of every table that can be captured, whether or not the user may read it: ordinary and
    /// partitioned tables of users' schemas; no views, no temporary tables, no partitions.
    fn tables(&self) -> Query;

    /// The partitions that lie directly below these tables, by the tables' numbers, one at least: number and name.
    fn partitions(&self, of: &[u64]) -> Query;

    /// One integer: 1 if names are told apart by case, and those without quotes mean upper-case ones; 2 if they mean
    /// lower-case ones; else no case counts.
    fn names_have_case(&self) -> Query;

    /// The tables' schema and name, the number that the log names each of them by, and a number whose low four bytes
    /// count its shapes, for one exact table: text, text, integer, integer. No row if there is no such table or the user
    /// may not see it.
    fn table(&self, table: &TableName) -> Query;

    /// Whether the last number of [`Dialect::table`] says that the table's rows lie in its partitions alone; no where that
    /// makes no difference.
    fn is_partitioned(&self, described: i64) -> bool {
        let _ = described;
        false
    }

    /// The last two numbers of [`Dialect::table`] for those of the tables with these numbers that there are.
    fn versions(&self, object_ids: &[u64]) -> Query;

    /// A table's columns in their order: name, type name, length, precision, scale, nullable ('Y' or 'N').
    fn columns(&self, table: &TableName) -> Query;

    /// The columns of a table's primary and unique keys that are in force: constraint's kind ('P' or 'U'), its name,
    /// column, position in the key. Ordered by kind, name, position.
    fn keys(&self, table: &TableName) -> Query;

    /// Texts as the server sorts VARCHAR columns, a row each: the text's number in the list, how many of them are less, and
    /// 0 where the server says that it compares without case; integers.
    fn sorted(&self, texts: &[&str]) -> Query;

    /// What the dictionary says of a table's columns elsewhere: name, marks (an integer whose bits the dialect knows). Not
    /// every column has a row. `None` if there is no such place.
    fn column_marks(&self, object_id: u64) -> Option<Query> {
        let _ = object_id;
        None
    }

    /// Whether a column is computed from others, so that its value need not stand in the log.
    fn is_virtual(&self, column: &DictionaryColumn) -> bool {
        let _ = column;
        false
    }

    /// Whether the database orders a column's texts otherwise than by their bytes, unless it is told to.
    fn is_collated(&self, column: &DictionaryColumn) -> bool {
        let _ = column;
        false
    }

    /// Appends a column as it is selected, so that its text is the same in every session. Not its name where more than that
    /// is needed: an ORDER BY must still mean the column.
    fn push_selected(&self, name: &str, kind: &ColumnType, out: &mut String) {
        let _ = kind;
        self.push_name(name, out);
    }

    /// The type of a column.
    fn column_type(&self, column: &DictionaryColumn) -> ColumnType;
}
