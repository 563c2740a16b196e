//! Changes of a table's shape, and what a statement does to its table.

use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::statement::Words;
use crate::split::TableName;

/// A change of a table's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    /// The table, by the name that it had before.
    pub table: Arc<TableName>,
    /// What kind of change it is.
    pub kind: ChangeKind,
    /// The statement as the user typed it.
    pub statement: String,
    /// The table behind the change: names, types and key of its columns, as far as the dictionary still tells (of two
    /// changes that were made before the first was read, both have the later one's). `None` if it is gone.
    pub shape: Option<Arc<Table>>,
}

/// What a statement does to the table that its record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Makes it.
    Create,
    /// Alters it.
    Alter,
    /// Takes all rows of it, or of a part of it, without a record of their own.
    Truncate,
    /// Gives it another name.
    Rename,
    /// Drops it.
    Drop,
    /// Leaves its columns and rows as they are: an index, a comment, a grant.
    Other,
}

impl ChangeKind {
    /// What a statement does, by the words that it begins with; a name may be one of them only in quotes.
    pub fn of(statement: &str) -> Self {
        let mut words = Words::of(statement);
        match words.keyword().as_deref() {
            // CREATE [OR REPLACE] [GLOBAL TEMPORARY | EXTERNAL | …] TABLE, and whatever else can be made.
            Some("CREATE") => match words
                .keywords()
                .find(|word| matches!(&**word, "TABLE" | "INDEX" | "VIEW"))
            {
                Some(word) if word == "TABLE" => ChangeKind::Create,
                _ => ChangeKind::Other,
            },
            Some("TRUNCATE") => ChangeKind::Truncate,
            Some("DROP") => match words.keyword().as_deref() {
                Some("TABLE" | "SCHEMA" | "USER") => ChangeKind::Drop,
                _ => ChangeKind::Other,
            },
            Some("ALTER") => match words.keyword().as_deref() {
                Some("TABLE") => altered(&mut words),
                _ => ChangeKind::Other,
            },
            _ => ChangeKind::Other,
        }
    }
}

/// `ALTER TABLE [IF EXISTS] name …`
fn altered(words: &mut Words<'_>) -> ChangeKind {
    words.name_of_table();
    let (what, of) = (words.keyword(), words.keyword());
    match (what.as_deref(), of.as_deref()) {
        // Rows go with them, or come with what is exchanged.
        (Some("TRUNCATE" | "DROP" | "EXCHANGE"), Some("PARTITION" | "SUBPARTITION")) => ChangeKind::Truncate,
        (Some("RENAME"), Some("TO" | "AS")) => ChangeKind::Rename,
        _ => ChangeKind::Alter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_told_by_its_first_words() {
        for (statement, kind) in [
            ("TRUNCATE TABLE A.B", ChangeKind::Truncate),
            (" \n-- now\ntruncate table b", ChangeKind::Truncate),
            ("/* TABLE */ Truncate\tTABLE b", ChangeKind::Truncate),
            ("ALTER TABLE A TRUNCATE PARTITION P", ChangeKind::Truncate),
            ("alter table \"S\" . \"Drop\" drop subpartition p", ChangeKind::Truncate),
            (
                "alter table a.b exchange partition p with table c",
                ChangeKind::Truncate,
            ),
            ("ALTER TABLE A DROP PARTITION_NOTE", ChangeKind::Alter),
            ("ALTER TABLE A DROP \"PARTITION\"", ChangeKind::Alter),
            ("ALTER TABLE \"RENAME\" ADD \"TO\" INT", ChangeKind::Alter),
            ("alter table if exists a rename to b", ChangeKind::Rename),
            ("ALTER TABLE A RENAME COLUMN X TO Y", ChangeKind::Alter),
            ("ALTER TABLE A.B.C ADD (N INT, M INT)", ChangeKind::Alter),
            ("create  table t (a int)", ChangeKind::Create),
            ("CREATE OR REPLACE GLOBAL TEMPORARY TABLE T(A INT)", ChangeKind::Create),
            ("CREATE UNIQUE INDEX IX ON A(TABLE_NAME)", ChangeKind::Other),
            ("CREATE INDEX \"TABLE\" ON A(B)", ChangeKind::Other),
            ("DROP TABLE A.B", ChangeKind::Drop),
            ("DROP SCHEMA A CASCADE", ChangeKind::Drop),
            ("DROP INDEX IX", ChangeKind::Other),
            ("ALTER INDEX IX RENAME TO IY", ChangeKind::Other),
            ("COMMENT ON TABLE A IS 'DROP TABLE A'", ChangeKind::Other),
            ("", ChangeKind::Other),
            ("-- TRUNCATE", ChangeKind::Other),
            ("/* TRUNCATE", ChangeKind::Other),
            ("TRUNCATED", ChangeKind::Other),
            ("'TRUNCATE' x", ChangeKind::Other),
        ] {
            assert_eq!(ChangeKind::of(statement), kind, "{statement}");
        }
    }
}
