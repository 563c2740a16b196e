//! A second parser of INSERT, UPDATE and DELETE: slow, a byte at a time, without memory of earlier statements, and written from the
//! grammar alone. What it refuses the real one must refuse, and what it reads the real one must read as the same.
//!
//! ```text
//! insert    = INSERT INTO table "(" name {"," name} ")" VALUES "(" value {"," value} ")" [";"]
//! update    = UPDATE table [alias] SET column "=" value {"," column "=" value} [where] [";"]
//! delete    = DELETE FROM table [alias] [where] [";"]
//! where     = WHERE condition {AND condition};  condition = column ("=" value | IS NULL)
//! table     = [name "."] name;                  column = [alias "."] (name | ROWID)
//! value     = see reference_values
//! ```

use tidemark::log::logminer::redo_sql::Operation;

use crate::model::{Bytes, Change, List, Meaning};

pub fn parse(operation: Operation, text: &[u8]) -> Option<Change> {
    let mut at = Reference { text, at: 0 };
    let mut change = Change::default();
    match operation {
        Operation::Insert => at.insert(&mut change)?,
        Operation::Update => at.update(&mut change)?,
        Operation::Delete => at.delete(&mut change)?,
        _ => return None,
    }
    at.blanks();
    if at.now() == Some(b';') {
        at.at += 1;
        at.blanks();
    }
    let whole = at.at == text.len();
    let unique = [&change.values, &change.set, &change.conditions]
        .into_iter()
        .all(no_name_twice);
    (whole && unique).then_some(change)
}

fn no_name_twice(list: &List) -> bool {
    (0..list.len()).all(|one| (0..one).all(|other| list[one].0 != list[other].0))
}

pub struct Reference<'t> {
    pub text: &'t [u8],
    pub at: usize,
}

pub fn is_word(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#' | 128..)
}

impl Reference<'_> {
    pub fn now(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub fn blanks(&mut self) {
        while let Some(byte) = self.now() {
            if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                self.at += 1;
            } else if self.text[self.at..].starts_with(b"/*") {
                let mut end = self.at + 2;
                while end < self.text.len() && !self.text[end..].starts_with(b"*/") {
                    end += 1;
                }
                if end == self.text.len() {
                    return;
                }
                self.at = end + 2;
            } else {
                return;
            }
        }
    }

    /// Blanks and then this byte.
    pub fn mark(&mut self, mark: u8) -> Option<()> {
        let start = self.at;
        self.blanks();
        if self.now() == Some(mark) {
            self.at += 1;
            return Some(());
        }
        self.at = start;
        None
    }

    pub fn word(&mut self) -> Bytes {
        let mut word = vec![];
        while let Some(byte) = self.now().filter(|&byte| is_word(byte)) {
            word.push(byte.to_ascii_uppercase());
            self.at += 1;
        }
        word
    }

    pub fn keyword(&mut self, keyword: &str) -> Option<()> {
        let start = self.at;
        self.blanks();
        if self.word() == keyword.as_bytes() {
            return Some(());
        }
        self.at = start;
        None
    }

    /// What stands between two marks, in which the mark itself is written twice.
    pub fn quoted(&mut self, mark: u8) -> Option<Bytes> {
        if self.now()? != mark {
            return None;
        }
        self.at += 1;
        let mut inside = vec![];
        loop {
            let byte = self.now()?;
            self.at += 1;
            if byte == mark {
                if self.now() != Some(mark) {
                    return Some(inside);
                }
                self.at += 1;
            }
            inside.push(byte);
        }
    }

    pub fn name(&mut self) -> Option<Bytes> {
        self.blanks();
        self.quoted(b'"').filter(|name| !name.is_empty())
    }

    fn table(&mut self, change: &mut Change) -> Option<()> {
        change.table = self.name()?;
        if self.now() == Some(b'.') {
            self.at += 1;
            change.owner = Some(std::mem::take(&mut change.table));
            change.table = self.name()?;
        }
        Some(())
    }

    fn alias(&mut self) -> Option<Bytes> {
        let start = self.at;
        self.blanks();
        let word = self.word();
        // The beginning of WHERE is no alias: a statement may be cut there.
        let known = [b"SET".as_slice(), b"FOR", b"W", b"WH", b"WHE", b"WHER", b"WHERE"];
        let none = word.is_empty() || word[0].is_ascii_digit() || known.contains(&word.as_slice());
        if none {
            self.at = start;
            return None;
        }
        Some(word)
    }

    fn insert(&mut self, change: &mut Change) -> Option<()> {
        self.keyword("INSERT")?;
        self.keyword("INTO")?;
        self.table(change)?;
        self.mark(b'(')?;
        loop {
            change.values.push((self.name()?, Meaning::Null));
            if self.mark(b',').is_none() {
                break;
            }
        }
        self.mark(b')')?;
        self.keyword("VALUES")?;
        self.mark(b'(')?;
        for nth in 0..change.values.len() {
            if nth > 0 {
                self.mark(b',')?;
            }
            change.values[nth].1 = self.value(0)?;
        }
        self.mark(b')')
    }

    fn update(&mut self, change: &mut Change) -> Option<()> {
        self.keyword("UPDATE")?;
        self.table(change)?;
        let alias = self.alias();
        self.keyword("SET")?;
        loop {
            let column = self.column(&alias)??;
            self.mark(b'=')?;
            change.set.push((column, self.value(0)?));
            if self.mark(b',').is_none() {
                break;
            }
        }
        self.conditions(&alias, change)
    }

    fn delete(&mut self, change: &mut Change) -> Option<()> {
        self.keyword("DELETE")?;
        self.keyword("FROM")?;
        self.table(change)?;
        let alias = self.alias();
        self.conditions(&alias, change)
    }

    /// A column; `Some(None)` is ROWID.
    fn column(&mut self, alias: &Option<Bytes>) -> Option<Option<Bytes>> {
        self.blanks();
        if self.now() == Some(b'"') {
            return self.name().map(Some);
        }
        let mut word = self.word();
        if self.now() == Some(b'.') && alias.as_ref() == Some(&word) {
            self.at += 1;
            if self.now() == Some(b'"') {
                return self.name().map(Some);
            }
            word = self.word();
        }
        (word == b"ROWID").then_some(None)
    }

    fn conditions(&mut self, alias: &Option<Bytes>, change: &mut Change) -> Option<()> {
        if self.keyword("WHERE").is_none() {
            return Some(());
        }
        loop {
            let column = self.column(alias)?;
            let value = if self.mark(b'=').is_some() {
                self.value(0)?
            } else {
                self.keyword("IS")?;
                self.keyword("NULL")?;
                Meaning::Null
            };
            match column {
                Some(name) => change.conditions.push((name, value)),
                None if change.row_id.is_some() => return None,
                None => change.row_id = Some(value),
            }
            if self.keyword("AND").is_none() {
                return Some(());
            }
        }
    }
}
