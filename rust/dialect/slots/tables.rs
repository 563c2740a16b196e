//! The SQL that says which tables and partitions there are now.

use crate::dialect::Query;
use crate::dialect::slots::{NAME, Statements, WORD, text};
use crate::odbc::ColumnSpec;

impl Statements {
    /// These tables, by their numbers, one at least, and the partitions of all levels below them: number of the partition, of
    /// the table, schema, name, kind (one letter, `p` is partitioned), replica identity (one letter), names of its columns as
    /// JSON or NULL.
    pub fn partitions_of(&self, roots: &[u64]) -> Query {
        let roots: Vec<String> = roots.iter().map(u64::to_string).collect();
        let (class, inherits) = (self.of("class"), self.of("inherits"));
        let identity = format!(
            "(SELECT json_agg(a.attname)::text FROM {} i JOIN {} a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident \
             ELSE false END)",
            self.of("index"),
            self.of("attribute")
        );
        Query {
            sql: format!(
                "WITH RECURSIVE t(id, root) AS (SELECT oid, oid FROM {class} WHERE oid IN ({}) \
                 UNION ALL SELECT c.oid, t.root FROM t JOIN {inherits} i ON i.inhparent = t.id \
                 JOIN {class} c ON c.oid = i.inhrelid WHERE c.relispartition) \
                 SELECT t.id::bigint, t.root::bigint, n.nspname::text, c.relname::text, c.relkind::text, \
                 c.relreplident::text, {identity} FROM t \
                 JOIN {class} c ON c.oid = t.id JOIN {} n ON n.oid = c.relnamespace",
                roots.join(", "),
                self.of("namespace")
            ),
            columns: vec![
                ColumnSpec::Int,
                ColumnSpec::Int,
                NAME,
                NAME,
                WORD,
                WORD,
                ColumnSpec::LongText,
            ],
        }
    }

    /// The number of a table by its name, and the name of one by its number: number, schema, name. No row where there is
    /// none now.
    pub fn relation(&self, relation: Relation<'_>) -> Query {
        let condition = match relation {
            Relation::Number(number) => format!("c.oid = {number}"),
            Relation::Name { schema, name } => {
                format!("n.nspname = {} AND c.relname = {}", text(schema), text(name))
            }
        };
        Query {
            sql: format!(
                "SELECT c.oid::bigint, n.nspname::text, c.relname::text FROM {} c JOIN {} n ON n.oid = c.relnamespace \
                 WHERE {condition}",
                self.of("class"),
                self.of("namespace")
            ),
            columns: vec![ColumnSpec::Int, NAME, NAME],
        }
    }
}

/// A table as a log may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation<'a> {
    /// By its number.
    Number(u64),
    /// By its name.
    Name {
        /// Its schema.
        schema: &'a str,
        /// Its name there.
        name: &'a str,
    },
}
