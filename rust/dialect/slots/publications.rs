//! The SQL of publications.

use std::fmt::Write;

use crate::dialect::slots::{NAME, Statements, text};
use crate::dialect::{Dialect, Query};
use crate::odbc::ColumnSpec;
use crate::split::TableName;

impl Statements {
    /// The tables of a publication as its owner listed them or their schemas (partitions only where they were named): schema,
    /// name, 1 if some of the rows are left out, 1 if some of the columns are; no row if there is no such publication or it is
    /// empty.
    pub fn publication_tables(&self, publication: &str) -> Query {
        let part = |name: &str| format!("CASE WHEN row_to_json(r)->>'{name}' IS NULL THEN 0 ELSE 1 END");
        let (of, class, namespace) = (self.of("publication"), self.of("class"), self.of("namespace"));
        let mut sql = format!(
            "SELECT n.nspname::text, c.relname::text, {}, {} FROM {of} p JOIN {} r ON r.prpubid = p.oid \
             JOIN {class} c ON c.oid = r.prrelid JOIN {namespace} n ON n.oid = c.relnamespace WHERE p.pubname = {}",
            part("prqual"),
            part("prattrs"),
            self.of("publication_rel"),
            text(publication)
        );
        if self.names.has("publication_namespace") {
            let _ = write!(
                sql,
                " UNION ALL SELECT n.nspname::text, c.relname::text, 0, 0 FROM {of} p JOIN {} s ON s.pnpubid = p.oid \
                 JOIN {namespace} n ON n.oid = s.pnnspid JOIN {class} c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p') \
                 WHERE p.pubname = {}",
                self.of("publication_namespace"),
                text(publication)
            );
        }
        Query {
            sql,
            columns: vec![NAME, NAME, ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    /// A publication: 1 if it is for all tables; 1 each if it publishes inserts, updates, deletes, truncates; 1 if changes
    /// of partitions come under their root; integers. No row if it is not there.
    pub fn publication(&self, publication: &str) -> Query {
        let flag = |name: &str| format!("CASE WHEN (row_to_json(p)->>'{name}')::boolean THEN 1 ELSE 0 END");
        let flags = [
            "puballtables",
            "pubinsert",
            "pubupdate",
            "pubdelete",
            "pubtruncate",
            "pubviaroot",
        ]
        .map(flag);
        Query {
            sql: format!(
                "SELECT {} FROM {} p WHERE p.pubname = {}",
                flags.join(", "),
                self.of("publication"),
                text(publication)
            ),
            columns: vec![ColumnSpec::Int; 6],
        }
    }

    /// Makes a publication for these tables; never for all, since that makes users' own UPDATE and DELETE fail on tables
    /// without a replica identity.
    pub fn create_publication(&self, dialect: &dyn Dialect, publication: &str, tables: &[TableName]) -> String {
        let mut sql = "CREATE PUBLICATION ".to_owned();
        dialect.push_name(publication, &mut sql);
        sql.push_str(" FOR TABLE ");
        push_tables(dialect, tables, &mut sql);
        sql
    }

    /// Adds tables to a publication.
    pub fn extend_publication(&self, dialect: &dyn Dialect, publication: &str, tables: &[TableName]) -> String {
        let mut sql = "ALTER PUBLICATION ".to_owned();
        dialect.push_name(publication, &mut sql);
        sql.push_str(" ADD TABLE ");
        push_tables(dialect, tables, &mut sql);
        sql
    }

    /// Drops a publication.
    pub fn drop_publication(&self, dialect: &dyn Dialect, publication: &str) -> String {
        let mut sql = "DROP PUBLICATION ".to_owned();
        dialect.push_name(publication, &mut sql);
        sql
    }
}

fn push_tables(dialect: &dyn Dialect, tables: &[TableName], sql: &mut String) {
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            sql.push_str(", ");
        }
        // Tables that inherit from it are not captured by it; a partitioned one brings its partitions all the same.
        sql.push_str("ONLY ");
        dialect.push_table(table, sql);
    }
}
