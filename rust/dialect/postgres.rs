//! PostgreSQL, and databases that grew out of it: one set of statements, with names, port and driver by brand. What is
//! said of versions is PostgreSQL's; docs/postgres.md and docs/kingbase.md have the sources.

mod keys;
mod types;
mod visibility;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use crate::dialect::page::{KeyColumn, KeyIndex, TableRows};
use crate::dialect::slots::{Names, Slots};
use crate::dialect::{ColumnType, Dialect, DictionaryColumn, Endpoint, Literal, Query};
use crate::odbc::{ColumnSpec, ConnectionSettings, Diagnostic, Verdict, by_sqlstate};
use crate::split::TableName;

/// What tells databases of this family apart before one is connected to.
#[derive(Debug, PartialEq, Eq)]
pub struct Brand {
    /// What users call it.
    pub name: &'static str,
    /// The name under which the vendor's driver stands in odbcinst.ini.
    pub driver: &'static str,
    /// The database that is there on every server.
    pub database: &'static str,
    /// What the names of the server's own functions and views may begin with, the preferred one first.
    pub prefixes: &'static [&'static str],
    /// The output plugins that can be read, the preferred one first.
    pub plugins: &'static [&'static str],
    /// Schemas of the server's own, beside those that its prefix and `information_schema` name.
    pub own_schemas: &'static [&'static str],
    /// Types of bytes beside `bytea`, which psqlODBC does not give to who asks for bytes.
    pub has_other_bytes: bool,
}

/// PostgreSQL itself; the driver is psqlODBC, as Debian installs it.
pub const POSTGRES: Brand = Brand {
    name: "PostgreSQL",
    driver: "PostgreSQL Unicode",
    database: "postgres",
    prefixes: &["pg_"],
    plugins: &["pgoutput", "test_decoding"],
    own_schemas: &[],
    has_other_bytes: false,
};

/// The dialect of one server.
#[derive(Clone, Debug)]
pub struct Postgres {
    brand: &'static Brand,
    names: Arc<Names>,
}

/// Behind a text: compared by its bytes.
const BYTEWISE: &str = " COLLATE \"C\"";

/// A name of the catalogue: 63 bytes, in other encodings than UTF-8 some more.
const NAME: ColumnSpec = ColumnSpec::Text { bytes: 256 };

/// What every session is set to, so that a value has one text in all of them: in pages, in rows that are read back, and
/// in the log, whose plugins write values as the session would. Row level security fails instead of hiding rows; a commit
/// of the connector's own never waits for a standby.
const SESSION: &[(&str, &str)] = &[
    ("datestyle", "ISO, YMD"),
    ("intervalstyle", "postgres"),
    ("timezone", "UTC"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "2"),
    ("lc_monetary", "C"),
    ("standard_conforming_strings", "on"),
    ("search_path", "pg_catalog, sys_catalog"),
    ("row_security", "off"),
    ("synchronous_commit", "local"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
];

impl Postgres {
    /// The dialect of a server that has these names.
    pub fn new(brand: &'static Brand, names: Names) -> Self {
        Postgres {
            brand,
            names: Arc::new(names),
        }
    }

    /// Which database of the family it is.
    pub fn brand(&self) -> &'static Brand {
        self.brand
    }

    /// The names of its own functions and views.
    pub fn names(&self) -> &Names {
        &self.names
    }

    fn system_schemas(&self) -> String {
        let own = self.brand.own_schemas.iter().map(|schema| text(schema));
        let all: Vec<String> = ["information_schema", "pg_catalog", "sys_catalog", "pg_toast"]
            .iter()
            .map(|schema| text(schema))
            .chain(own)
            .collect();
        all.join(", ")
    }
}

impl Dialect for Postgres {
    fn connection(&self, endpoint: &Endpoint) -> ConnectionSettings {
        connection(self.brand, endpoint)
    }

    fn classify(&self, diagnostic: &Diagnostic) -> Verdict {
        classify(diagnostic)
    }

    fn push_literal(&self, literal: &Literal, out: &mut String) {
        match literal {
            Literal::Number(digits) if digits.ends_with(['N', 'y']) => push_typed(digits, "numeric", out),
            Literal::Number(digits) => out.push_str(digits),
            Literal::Text(text) => push_text(text, out),
            Literal::Bytes(bytes) => {
                out.push_str("'\\x");
                for byte in bytes {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push_str("'::bytea");
            }
            Literal::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Literal::Date(text) => push_typed(&before_christ(text), "date", out),
            Literal::Time(text) => push_typed(text, "time", out),
            Literal::Timestamp(text) => push_typed(&before_christ(text), "timestamp", out),
            Literal::TimestampZoned(text) => push_typed(&before_christ(text), "timestamptz", out),
        }
    }

    fn push_limit(&self, rows: usize, skip: usize, out: &mut String) {
        let _ = write!(out, " LIMIT {rows}");
        if skip > 0 {
            let _ = write!(out, " OFFSET {skip}");
        }
    }

    /// With its table's name: a bare one in ORDER BY means a column of the result, which may be a text of it. Texts are
    /// compared by their bytes, whatever their collation; where that is their order anyway their index serves.
    fn push_key(&self, table: &TableName, column: &KeyColumn<'_>, out: &mut String) {
        // What the server writes for it, which a cast to text need not be (`inet`).
        out.push_str(if column.shown { "format('%s', " } else { "" });
        self.push_name(&table.name, out);
        out.push('.');
        self.push_name(column.name, out);
        out.push_str(if column.shown { ")" } else { "" });
        out.push_str(if column.collated || column.shown { BYTEWISE } else { "" });
    }

    fn key_index(&self, table: &TableName, object_id: u64, key: &[KeyColumn<'_>]) -> Option<KeyIndex> {
        Some(keys::index(self, table, object_id, key))
    }

    fn operators(&self, object_id: u64) -> Option<Query> {
        Some(keys::operators(self, object_id))
    }

    fn database_name(&self) -> Query {
        Query {
            sql: "SELECT current_database()".to_owned(),
            columns: vec![NAME],
        }
    }

    fn tables(&self) -> Query {
        let (class, namespace) = (self.names.of("class"), self.names.of("namespace"));
        Query {
            sql: format!(
                "SELECT n.nspname, c.relname FROM {class} c JOIN {namespace} n ON n.oid = c.relnamespace \
                 WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition \
                 AND n.nspname NOT IN ({}) AND n.nspname NOT LIKE 'pg\\_temp\\_%' AND n.nspname NOT LIKE 'pg\\_toast%'",
                self.system_schemas()
            ),
            columns: vec![NAME, NAME],
        }
    }

    fn partitions(&self, of: &[u64]) -> Query {
        let (class, inherits) = (self.names.of("class"), self.names.of("inherits"));
        Query {
            sql: format!(
                "SELECT c.oid::bigint, c.relname FROM {inherits} i JOIN {class} c ON c.oid = i.inhrelid \
                 WHERE c.relispartition AND c.relkind IN ('r', 'p', 'f') AND i.inhparent IN ({}) ORDER BY c.oid",
                numbers(of)
            ),
            columns: vec![ColumnSpec::Int, NAME],
        }
    }

    fn names_have_case(&self) -> Query {
        // Names without quotes mean lower-case ones.
        Query {
            sql: "SELECT 2".to_owned(),
            columns: vec![ColumnSpec::Int],
        }
    }

    fn is_partitioned(&self, described: i64) -> bool {
        described >> 32 & 1 == 1
    }

    fn push_rows(&self, table: TableRows<'_>, out: &mut String) {
        if !table.of_parts {
            out.push_str("ONLY ");
        }
        self.push_table(table.name, out);
    }

    fn table(&self, table: &TableName) -> Query {
        let (class, namespace) = (self.names.of("class"), self.names.of("namespace"));
        let (schema, name) = (text(&table.schema), text(&table.name));
        Query {
            sql: format!(
                "SELECT n.nspname, c.relname, c.oid::bigint, {} FROM {class} c JOIN {namespace} n ON n.oid = c.relnamespace \
                 WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname = {schema} AND c.relname = {name}",
                self.shape()
            ),
            columns: vec![NAME, NAME, ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    fn versions(&self, object_ids: &[u64]) -> Query {
        Query {
            sql: format!(
                "SELECT c.oid::bigint, {} FROM {} c WHERE c.relkind IN ('r', 'p') AND c.oid IN ({})",
                self.shape(),
                self.names.of("class"),
                numbers(object_ids)
            ),
            columns: vec![ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    fn columns(&self, table: &TableName) -> Query {
        types::columns(&self.names, &text(&table.schema), &text(&table.name))
    }

    fn keys(&self, table: &TableName) -> Query {
        let names = &self.names;
        let (schema, name) = (text(&table.schema), text(&table.name));
        // The index that tells old rows in the log apart comes first, since of no other key does the log hold the old
        // values; whole indexes of columns only, and none that is checked at the transaction's end.
        Query {
            sql: format!(
                "SELECT CASE WHEN i.indisprimary THEN 'P' ELSE 'U' END, x.relname, a.attname, k.n::bigint \
                 FROM {class} c JOIN {namespace} s ON s.oid = c.relnamespace \
                 JOIN {index} i ON i.indrelid = c.oid JOIN {class} x ON x.oid = i.indexrelid \
                 CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k(attnum, n) \
                 JOIN {attribute} a ON a.attrelid = c.oid AND a.attnum = k.attnum \
                 WHERE i.indisunique AND i.indisvalid AND i.indislive AND i.indpred IS NULL AND i.indexprs IS NULL \
                 AND (i.indisprimary OR i.indimmediate) AND k.n <= i.indnkeyatts \
                 AND s.nspname = {schema} AND c.relname = {name} \
                 ORDER BY i.indisreplident AND c.relreplident = 'i' DESC, i.indisprimary DESC, x.relname, k.n",
                class = names.of("class"),
                namespace = names.of("namespace"),
                index = names.of("index"),
                attribute = names.of("attribute"),
            ),
            columns: vec![ColumnSpec::Text { bytes: 8 }, NAME, NAME, ColumnSpec::Int],
        }
    }

    fn sorted(&self, texts: &[&str]) -> Query {
        // As keys are compared: by their bytes in the database's encoding.
        let list: Vec<String> = (texts.iter().enumerate())
            .map(|(number, word)| format!("({number}, {}::text)", text(word)))
            .collect();
        let list = format!("(VALUES {}) AS", list.join(", "));
        Query {
            sql: format!(
                "SELECT p.n, (SELECT count(*) FROM {list} q(n, c) WHERE q.c COLLATE \"C\" < p.c COLLATE \"C\"), 1 \
                 FROM {list} p(n, c) ORDER BY p.c COLLATE \"C\""
            ),
            columns: vec![ColumnSpec::Int; 3],
        }
    }

    fn column_marks(&self, object_id: u64) -> Option<Query> {
        Some(types::marks(&self.names, object_id))
    }

    fn is_virtual(&self, column: &DictionaryColumn) -> bool {
        types::is_generated(column)
    }

    fn is_collated(&self, column: &DictionaryColumn) -> bool {
        types::is_collated(column)
    }

    fn push_selected(&self, name: &str, kind: &ColumnType, out: &mut String) {
        self.push_name(name, out);
        if types::is_selected_as_text(kind) {
            out.push_str("::text");
        }
        if self.brand.has_other_bytes && matches!(kind, ColumnType::Binary { .. }) {
            out.push_str("::bytea");
        }
    }

    fn column_type(&self, column: &DictionaryColumn) -> ColumnType {
        types::column_type(column)
    }
}

impl Slots for Postgres {
    fn prefixes(&self) -> &'static [&'static str] {
        self.brand.prefixes
    }

    fn plugins(&self) -> &'static [&'static str] {
        self.brand.plugins
    }
}

impl Postgres {
    /// A number that is another one as soon as a column of `c` is: the catalogue counts no versions.
    fn shape(&self) -> String {
        format!(
            "(SELECT ('x' || substr(md5(coalesce(string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, a.atttypmod, \
             a.attnotnull), ',' ORDER BY a.attnum), '')), 1, 8))::bit(32)::bigint \
             | ((c.relkind = 'p')::int::bigint << 32) FROM {} a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)",
            self.names.of("attribute")
        )
    }
}

/// How to connect to a server of this brand. Nothing of it depends on the names of the server's catalogue.
pub fn connection(brand: &Brand, endpoint: &Endpoint) -> ConnectionSettings {
    let database = endpoint.database.as_deref().unwrap_or(brand.database);
    let own = [
        ("Servername", endpoint.hostname.as_str()),
        ("Port", &endpoint.port.to_string()),
        ("Database", database),
        // Else the driver keeps all rows of a result in memory.
        ("UseDeclareFetch", "1"),
        ("Fetch", &FETCH.to_string()),
        // Statements that fail end their transaction, without savepoints around each.
        ("Protocol", "7.4-1"),
        ("BoolsAsChar", "0"),
        // Else the driver asks the process's locale, which other threads may be asking too: text then comes as SQL_ASCII now
        // and then (seen with psqlODBC 13.02).
        ("ConnSettings", "SET client_encoding TO 'UTF8'"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    ConnectionSettings {
        driver: endpoint.driver.clone().unwrap_or_else(|| brand.driver.to_owned()),
        attributes: own.into_iter().chain(endpoint.attributes.iter().cloned()).collect(),
        username: endpoint.username.clone(),
        password: endpoint.password.clone(),
        connect_timeout: endpoint.connect_timeout,
        statement_timeout: endpoint.statement_timeout,
        stream_long_values: false,
        session: session(),
        classify,
    }
}

/// The statements that [`SESSION`] is.
fn session() -> Vec<String> {
    let settings: Vec<String> = SESSION
        .iter()
        .map(|(name, value)| format!("set_config({}, {}, false)", text(name), text(value)))
        .collect();
    vec![format!("SELECT {}", settings.join(", "))]
}

/// Rows that the driver has the server send at once, unless it is asked for more; it holds all of them.
const FETCH: u32 = 128;

/// What a driver's message means: SQLSTATE alone, which the server itself sets.
fn classify(diagnostic: &Diagnostic) -> Verdict {
    let verdict = by_sqlstate(diagnostic);
    // Too many connections, cannot connect now, shutdown, crash, terminated by idle limits; lock not available, deadlock,
    // serialization, a snapshot that is too old.
    let passes = matches!(
        diagnostic.state.as_str(),
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "55P03" | "40P01" | "40001" | "72000"
    );
    Verdict {
        retryable: verdict.retryable || passes,
        ..verdict
    }
}

fn push_text(text: &str, out: &mut String) {
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
}

/// A date or timestamp with the server's word for years before the year 1: `-0043-03-15` is `0044-03-15 BC`.
fn before_christ(text: &str) -> Cow<'_, str> {
    let year = match (text.strip_prefix('-'), text) {
        (Some(rest), _) => rest.split_once('-'),
        (None, text) => text.split_once('-').filter(|(year, _)| *year == "0000"),
    };
    match year.and_then(|(year, rest)| Some((year.parse::<u32>().ok()?, rest))) {
        Some((year, rest)) => Cow::Owned(format!("{:04}-{rest} BC", year + 1)),
        None => Cow::Borrowed(text),
    }
}

fn push_typed(text: &str, kind: &str, out: &mut String) {
    push_text(text, out);
    out.push_str("::");
    out.push_str(kind);
}

fn text(text: &str) -> String {
    let mut out = String::new();
    push_text(text, &mut out);
    out
}

fn numbers(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

impl Postgres {
    /// Whether the user may make and read slots: 1 or 0.
    pub fn may_replicate(&self) -> Query {
        Query {
            sql: format!(
                "SELECT CASE WHEN rolsuper OR rolreplication THEN 1 ELSE 0 END FROM {} WHERE rolname = current_user",
                self.names.of("roles")
            ),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// How the log tells old rows of a table apart, and of the partitions that its rows lie in: the identity's letter (full,
    /// default, index, nothing), 1 if there is an index for it, the quoted name.
    pub fn replica_identities(&self, object_id: u64) -> Query {
        let (class, inherits) = (self.names.of("class"), self.names.of("inherits"));
        Query {
            sql: format!(
                "WITH RECURSIVE t(id) AS (SELECT {object_id}::oid UNION ALL SELECT i.inhrelid FROM t \
                 JOIN {inherits} i ON i.inhparent = t.id JOIN {class} c ON c.oid = i.inhrelid AND c.relispartition) \
                 SELECT c.relreplident::text, CASE WHEN EXISTS (SELECT 1 FROM {index} x WHERE x.indrelid = c.oid \
                 AND (c.relreplident = 'd' AND x.indisprimary OR c.relreplident = 'i' AND x.indisreplident)) THEN 1 ELSE 0 END, \
                 quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM t JOIN {class} c ON c.oid = t.id \
                 JOIN {namespace} n ON n.oid = c.relnamespace WHERE c.relkind = 'r'",
                index = self.names.of("index"),
                namespace = self.names.of("namespace"),
            ),
            columns: vec![
                ColumnSpec::Text { bytes: 8 },
                ColumnSpec::Int,
                ColumnSpec::Text { bytes: 1024 },
            ],
        }
    }
}
