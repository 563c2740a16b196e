//! Kinds of keys: tables for the tests that must hold whatever the key is made of. The Java tests read the same file.

/// A kind of key.
#[derive(Clone, Copy, Debug)]
pub struct KeyKind {
    /// Its name, which can name a schema.
    pub name: &'static str,
    /// The columns, with the key, for `CREATE TABLE`.
    pub columns: &'static str,
    /// The key's columns in the key's order, parted by commas.
    pub key: &'static str,
    /// The columns as a Flink DDL declares them, in the table's order.
    pub flink: &'static str,
    /// Expressions for the columns in the table's order, over an integer `g`: each `g` from 1 to 20,000 gives another key.
    pub values: &'static str,
}

/// All kinds.
pub fn all() -> Vec<KeyKind> {
    let lines = include_str!("../fixtures/key_kinds.tsv").lines();
    let kinds = lines.filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let [name, columns, key, flink, values] = fields[..] else {
            panic!("{line}");
        };
        KeyKind {
            name,
            columns,
            key,
            flink,
            values,
        }
    });
    kinds.collect()
}

impl KeyKind {
    /// The key's columns, quoted, as `ORDER BY` wants them.
    pub fn order(&self) -> String {
        let quoted: Vec<String> = self.key.split(',').map(|name| format!("\"{name}\"")).collect();
        quoted.join(", ")
    }

    /// Columns and types as a job's configuration has them: name and `TYPE`, with its numbers, nullable.
    pub fn declared(&self) -> Vec<(&'static str, &'static str, bool)> {
        // A comma inside of a type is followed by a blank and a digit, one between columns by a name.
        let mut rest = self.flink;
        let mut columns = Vec::new();
        while !rest.is_empty() {
            let end = rest
                .match_indices(", ")
                .map(|(at, _)| at)
                .find(|at| !rest.as_bytes()[at + 2].is_ascii_digit())
                .unwrap_or(rest.len());
            let column = &rest[..end];
            rest = rest[end..].trim_start_matches(", ");
            let (name, kind) = column.split_once(' ').unwrap();
            let nullable = !kind.ends_with(" NOT NULL");
            columns.push((name, kind.trim_end_matches(" NOT NULL"), nullable));
        }
        columns
    }
}
