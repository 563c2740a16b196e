//! The table that event triggers write DDL statements into (`sql/kingbase/ddl_capture.sql`), read back from the log.
//!
//! Its columns are `exe_time, tg_tag, search_path, command` and, where ours wrote it, `obj`. Only rows that come are read:
//! old ones may be deleted at any time.

use serde::Deserialize;

use crate::catalog::change::ChangeKind;
use crate::catalog::statement::{Word, Words};
use crate::error::{ErrorKind, Result};
use crate::log::decoding::binary::Form;
use crate::log::decoding::plugin::{Cell, Datum};
use crate::log::decoding::tables::{DdlColumn, Identity};
use crate::log::decoding::test_decoding::{push_undoubled, unquoted};

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) tag: String,
    pub(super) search_path: String,
    pub(super) command: String,
    /// What the statement did to each of its tables, where that was written down.
    pub(super) objects: Option<Vec<Object>>,
}

/// A table that was made, altered or dropped.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) oid: u64,
    #[serde(rename = "type")]
    kind: String,
    pub(super) schema: Option<String>,
    pub(super) name: Option<String>,
    persistence: Option<String>,
    replica_identity: Option<String>,
    /// The numbers of the primary key's columns.
    #[serde(default)]
    key: Vec<i64>,
    /// Number, name and what else is said of each column; there are none for a table that is gone.
    columns: Option<Vec<Vec<serde_json::Value>>>,
    /// The topmost table of a partition.
    pub(super) root: Option<u64>,
    /// All partitions of a partitioned table.
    pub(super) partitions: Option<Vec<(u64, String, String)>>,
}

impl Object {
    /// Whether it is a table that lasts.
    pub(super) fn is_table(&self) -> bool {
        self.kind == "table" && self.persistence.as_deref().is_none_or(|persistence| persistence != "t")
    }

    /// What of old rows its changes have in the log from here on, as far as that is said.
    pub(super) fn identity(&self) -> Identity {
        let of_key = |column: &Vec<serde_json::Value>| {
            let number = column.first()?.as_i64()?;
            let name = column.get(1)?.as_str()?;
            self.key.contains(&number).then(|| name.to_owned())
        };
        match self.replica_identity.as_deref() {
            Some("f") => Identity::Whole,
            Some("n") => Identity::Columns(Vec::new()),
            _ => Identity::Columns(self.columns.iter().flatten().filter_map(of_key).collect()),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.columns.is_none()
    }
}

impl Record {
    /// Reads a row; `columns` are those of the table where the row does not name them.
    pub(super) fn read(cells: &[Cell<'_>], columns: &[DdlColumn]) -> Result<Self> {
        let mut record = Record::default();
        for (number, cell) in cells.iter().enumerate() {
            let name = match cell.name {
                b"" => columns
                    .get(number)
                    .map(|column| column.name.to_vec())
                    .unwrap_or_default(),
                name => unquoted(name),
            };
            let text = match cell.datum {
                Datum::Text(text) => text.to_vec(),
                Datum::Doubled(text) => {
                    let mut plain = Vec::with_capacity(text.len());
                    push_undoubled(text, b'\'', &mut plain);
                    plain
                }
                // When it was.
                Datum::Binary(bytes) => match columns.get(number).and_then(|column| column.form) {
                    Some(form @ (Form::Text | Form::VersionedText)) => {
                        let text = form.text(bytes).map_err(|error| {
                            let name = String::from_utf8_lossy(&name);
                            ErrorKind::Decoding(format!("column {name} of the table of DDL statements: {error}"))
                        });
                        text?.to_vec()
                    }
                    _ => continue,
                },
                _ => continue,
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            match name.to_ascii_lowercase().as_slice() {
                b"tg_tag" => record.tag = text,
                b"search_path" => record.search_path = text,
                b"command" => record.command = text,
                b"obj" => {
                    let objects: Vec<Object> = serde_json::from_str(&text).map_err(|error| {
                        ErrorKind::Decoding(format!("column obj of the table of DDL statements: {error}"))
                    })?;
                    record.objects = Some(objects);
                }
                _ => {}
            }
        }
        Ok(record)
    }

    /// What the text says, for a table that has no column for what was done: the statements about tables; `None` if there
    /// must be some, and the text has them not.
    pub(super) fn statements(&self) -> Option<Vec<Statement>> {
        let wanted = match self.tag.as_str() {
            "CREATE TABLE" => "CREATE",
            "ALTER TABLE" => "ALTER",
            "DROP TABLE" => "DROP",
            _ => return Some(Vec::new()),
        };
        let mut found = Vec::new();
        for text in split(&self.command) {
            let mut kind = ChangeKind::of(text);
            let mut words = Words::of(text);
            if kind == ChangeKind::Other || words.keyword().as_deref() != Some(wanted) {
                continue;
            }
            words = behind_table(words);
            let mut tables = vec![self.name(&mut words)];
            let mut rest = words.clone();
            while kind == ChangeKind::Drop && rest.next() == Some(Word::Other(",")) {
                tables.push(self.name(&mut rest));
            }
            let mut becomes = Becomes::default();
            let (mut detached, mut attached) = (Vec::new(), None);
            let next: [Option<String>; 2] = [words.keyword(), words.keyword()];
            match [next[0].as_deref(), next[1].as_deref()] {
                [Some("PARTITION"), Some("OF")] => attached = Some((self.name(&mut words), tables[0].clone())),
                [Some("ATTACH"), Some("PARTITION")] => attached = Some((tables[0].clone(), self.name(&mut words))),
                [Some("RENAME"), Some("TO" | "AS")] => becomes.name = words.next().as_ref().and_then(folded),
                [Some("SET"), Some("SCHEMA")] => {
                    becomes.schema = words.next().as_ref().and_then(folded);
                    kind = ChangeKind::Rename;
                }
                [Some("DETACH"), Some("PARTITION")] => detached = self.name(&mut words),
                _ => {}
            }
            found.push(Statement {
                text: text.trim().to_owned(),
                kind,
                tables,
                becomes,
                detached,
                attached,
            });
        }
        (!found.is_empty()).then_some(found)
    }

    /// The names that a name at hand may mean.
    fn name(&self, words: &mut Words<'_>) -> Vec<Named> {
        let mut parts: Vec<String> = Vec::new();
        while let Some(part) = words.next().as_ref().and_then(folded) {
            parts.push(part);
            let mut ahead = words.clone();
            if ahead.next() != Some(Word::Other(".")) {
                break;
            }
            *words = ahead;
        }
        let Some(name) = parts.pop() else { return Vec::new() };
        if let Some(schema) = parts.pop() {
            return vec![(schema, name)];
        }
        let path = Words::of(&self.search_path).filter_map(|word| folded(&word));
        path.map(|schema| (schema, name.clone())).collect()
    }
}

/// A bare name is folded one way or the other.
fn folded(word: &Word<'_>) -> Option<String> {
    match word {
        Word::Bare(word) => Some(word.to_lowercase()),
        Word::Quoted(word) => Some(word.to_string()),
        Word::Other(_) => None,
    }
}

/// Passes over what stands between a statement's first word and the table's name.
fn behind_table(mut words: Words<'_>) -> Words<'_> {
    const PASSED: [&str; 12] = [
        "TABLE",
        "IF",
        "NOT",
        "EXISTS",
        "ONLY",
        "OR",
        "REPLACE",
        "GLOBAL",
        "LOCAL",
        "TEMPORARY",
        "TEMP",
        "UNLOGGED",
    ];
    loop {
        let mut ahead = words.clone();
        match ahead.keyword() {
            Some(word) if PASSED.contains(&&*word) => words = ahead,
            _ => return words,
        }
    }
}

/// Schema and name.
pub(super) type Named = (String, String);

/// A statement about tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) kind: ChangeKind,
    /// For each table the names that it may have, the likeliest first.
    pub(super) tables: Vec<Vec<Named>>,
    /// What the table is called behind it.
    pub(super) becomes: Becomes,
    /// The names that a partition may have that is one no more.
    pub(super) detached: Vec<Named>,
    /// The names that a table may have that has another partition from here on, and those of the partition.
    pub(super) attached: Option<(Vec<Named>, Vec<Named>)>,
}

/// What of a table's name is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Becomes {
    pub(super) schema: Option<String>,
    pub(super) name: Option<String>,
}

/// The statements of a text that was sent at once.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut rest = text;
    loop {
        // A semicolon inside of quotes or a comment is none: words know.
        let mut words = Words::of(rest);
        let mut end = None;
        loop {
            let before = words.clone();
            match words.next() {
                None => break,
                Some(Word::Other(";")) => {
                    let left = before.rest().len();
                    end = Some(rest.len() - left);
                    break;
                }
                Some(_) => {}
            }
        }
        match end {
            Some(end) => {
                statements.push(&rest[..end]);
                rest = words.rest();
            }
            None => {
                statements.push(rest);
                return statements;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tag: &str, path: &str, command: &str) -> Record {
        Record {
            tag: tag.into(),
            search_path: path.into(),
            command: command.into(),
            objects: None,
        }
    }

    #[test]
    fn a_text_names_tables_by_itself_or_by_the_search_path() {
        let of = |tag, path, command| {
            let statements = record(tag, path, command).statements().into_iter().flatten();
            let named = statements.map(|statement| {
                let join = |names: &Vec<Named>| {
                    let names = names.iter().map(|(schema, name)| format!("{schema}.{name}"));
                    names.collect::<Vec<_>>().join(" ")
                };
                let tables: Vec<String> = statement.tables.iter().map(join).collect();
                let Becomes { schema, name } = &statement.becomes;
                let attached = statement.attached.as_ref();
                let attached = attached.map(|(root, part)| format!("{} <- {}", join(root), join(part)));
                let further = [schema.clone(), name.clone(), Some(join(&statement.detached)), attached];
                let further: Vec<String> = further.into_iter().flatten().filter(|text| !text.is_empty()).collect();
                let (tables, further) = (tables.join(", "), further.join(" "));
                format!("{:?} {tables} [{further}] {}", statement.kind, statement.text)
            });
            named.collect::<Vec<_>>()
        };
        assert_eq!(
            of(
                "ALTER TABLE",
                "\"My Sch\", public",
                "alter table IF EXISTS ONLY Orders add c text"
            ),
            ["Alter My Sch.orders public.orders [] alter table IF EXISTS ONLY Orders add c text"]
        );
        assert_eq!(
            of(
                "ALTER TABLE",
                "x",
                "create table a(b text default ';'); alter table s.\"T;1\" rename to u; /* ; */"
            ),
            ["Rename s.T;1 [u] alter table s.\"T;1\" rename to u"]
        );
        let drop = "drop table if exists b, \"B c\".d cascade";
        assert_eq!(of("DROP TABLE", "a", drop), [format!("Drop a.b, B c.d [] {drop}")]);
        let set = "alter table a.b set schema \"C\"";
        assert_eq!(of("ALTER TABLE", "", set), [format!("Rename a.b [C] {set}")]);
        let detach = "alter table a.b detach partition b_1 concurrently";
        assert_eq!(of("ALTER TABLE", "x", detach), [format!("Alter a.b [x.b_1] {detach}")]);
        let attach = "alter table a.b attach partition b_1 for values in (1)";
        let expected = format!("Alter a.b [a.b <- x.b_1] {attach}");
        assert_eq!(of("ALTER TABLE", "x", attach), [expected]);
        let create = "create table b_1 partition of a.b default";
        let expected = format!("Create x.b_1 [a.b <- x.b_1] {create}");
        assert_eq!(of("CREATE TABLE", "x", create), [expected]);
        let create = "create unlogged table if not exists a.b (c int)";
        assert_eq!(of("CREATE TABLE", "x", create), [format!("Create a.b [] {create}")]);
        for (tag, command) in [
            ("CREATE INDEX", "create index i on t(a)"),
            ("GRANT", "grant select on t to u"),
        ] {
            assert_eq!(record(tag, "a", command).statements(), Some(Vec::new()), "{command}");
        }
        for command in ["do $$ begin perform 1; end $$", "select change()", ""] {
            assert_eq!(record("ALTER TABLE", "a", command).statements(), None, "{command}");
        }
    }

    #[test]
    fn objects_are_read_and_what_does_not_last_is_told() {
        let row = r#"[{"oid": 7, "type": "table", "schema": "s", "name": "t", "columns": [[1, "id", "integer", true, ""]],
            "persistence": "p", "partitions": [[9, "s", "t_1"]]}, {"oid": 8, "type": "table", "persistence": "t", "columns": []},
            {"oid": 5, "type": "schema", "name": "x"}]"#;
        let cell = |name: &'static [u8], text| Cell {
            name,
            kind: b"",
            datum: Datum::Text(text),
        };
        let record = Record::read(&[cell(b"tg_tag", b"ALTER TABLE"), cell(b"obj", row.as_bytes())], &[]).unwrap();
        let objects = record.objects.unwrap();
        let tables: Vec<(u64, bool)> = objects
            .iter()
            .filter(|object| object.is_table())
            .map(|object| (object.oid, object.is_gone()))
            .collect();
        assert_eq!(tables, [(7, false)]);
        assert_eq!(objects[0].partitions.as_deref().unwrap()[0].2, "t_1");
        assert!(Record::read(&[cell(b"obj", b"{")], &[]).is_err());
    }
}
