//! A second parser of INSERT, UPDATE and DELETE: slow, a byte at a time, without memory of earlier statements, and written from the
//! grammar alone. What it refuses the real one must refuse, and what it reads the real one must read as the same.
//!
//! ```text
//! insert    = INSERT INTO table "(" name {"," name} ")" VALUES "(" value {"," value} ")" [";"]
//! update    = UPDATE table [alias] SET column "=" value {"," column "=" value} [where] [";"]
//! delete    = DELETE FROM table [alias] [where] [";"]
//! where     = WHERE condition {AND condition};  condition = column ("=" value | IS NULL)
//! table     = [name "."] name;                  column = [alias "."] (name | ROWID)
//! value     = NULL | TRUE | FALSE | Unsupported Type | text | number | 0x hex | type text | INTERVAL … | OUT_CLOB … | expression | call
//! ```

use tidemark::log::logminer::redo_sql::Operation;

use crate::model::{Bytes, Change, List, Meaning};

const DEEPEST: usize = 32;

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

struct Reference<'t> {
    text: &'t [u8],
    at: usize,
}

fn is_word(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#' | 128..)
}

impl Reference<'_> {
    fn now(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
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
    fn mark(&mut self, mark: u8) -> Option<()> {
        let start = self.at;
        self.blanks();
        if self.now() == Some(mark) {
            self.at += 1;
            return Some(());
        }
        self.at = start;
        None
    }

    fn word(&mut self) -> Bytes {
        let mut word = vec![];
        while let Some(byte) = self.now().filter(|&byte| is_word(byte)) {
            word.push(byte.to_ascii_uppercase());
            self.at += 1;
        }
        word
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        let start = self.at;
        self.blanks();
        if self.word() == keyword.as_bytes() {
            return Some(());
        }
        self.at = start;
        None
    }

    /// What stands between two marks, in which the mark itself is written twice.
    fn quoted(&mut self, mark: u8) -> Option<Bytes> {
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

    fn name(&mut self) -> Option<Bytes> {
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

    fn value(&mut self, depth: usize) -> Option<Meaning> {
        self.blanks();
        match self.now()? {
            b'\'' => self.expression(),
            b'+' | b'-' | b'.' | b'0'..=b'9' => self.number(),
            b'"' => self.call(depth),
            byte if is_word(byte) => self.named(depth),
            _ => None,
        }
    }

    /// Texts and UNISTR calls joined by `||`.
    fn expression(&mut self) -> Option<Meaning> {
        // Code units: a surrogate pair may be cut between two operands. Bytes of plain texts are kept apart from them.
        let mut text: Bytes = vec![];
        let mut units: Vec<u16> = vec![];
        loop {
            self.blanks();
            if self.now() == Some(b'\'') {
                let plain = self.quoted(b'\'')?;
                // A text between two halves of a pair leaves both alone; an empty one does not stand between them.
                if !plain.is_empty() {
                    text.extend(utf8(&units)?);
                    units.clear();
                    text.extend(plain);
                }
            } else {
                self.keyword("UNISTR")?;
                self.mark(b'(')?;
                self.blanks();
                let argument = self.quoted(b'\'')?;
                self.mark(b')')?;
                let mut rest = argument.as_slice();
                while let [first, tail @ ..] = rest {
                    rest = tail;
                    if *first != b'\\' {
                        text.extend(utf8(&units)?);
                        units.clear();
                        text.push(*first);
                    } else if tail.first() == Some(&b'\\') {
                        rest = &tail[1..];
                        units.push(u16::from(b'\\'));
                    } else {
                        let digits = std::str::from_utf8(tail.get(..4)?).ok()?;
                        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                            return None;
                        }
                        units.push(u16::from_str_radix(digits, 16).ok()?);
                        rest = &tail[4..];
                    }
                }
            }
            let end = self.at;
            self.blanks();
            if !self.text[self.at..].starts_with(b"||") {
                self.at = end;
                text.extend(utf8(&units)?);
                return Some(Meaning::Text(text));
            }
            self.at += 2;
        }
    }

    fn number(&mut self) -> Option<Meaning> {
        let start = self.at;
        while self
            .now()
            .is_some_and(|byte| is_word(byte) || matches!(byte, b'.' | b'+' | b'-'))
        {
            let byte = self.text[self.at];
            // A sign belongs to a number at its start and after the E alone.
            if matches!(byte, b'+' | b'-') && self.at > start && !matches!(self.text[self.at - 1], b'e' | b'E') {
                break;
            }
            self.at += 1;
        }
        let literal = &self.text[start..self.at];
        if let [b'0', b'x' | b'X', digits @ ..] = literal {
            let hex = digits.len() % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit);
            return hex.then(|| Meaning::Typed("HEX", digits.to_vec()));
        }
        let unsigned = literal
            .strip_prefix(b"-")
            .or(literal.strip_prefix(b"+"))
            .unwrap_or(literal);
        let mut parts = unsigned.splitn(2, |byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = (parts.next()?, parts.next());
        let all_digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
        let mut halves = mantissa.splitn(2, |&byte| byte == b'.');
        let (whole, fraction) = (halves.next()?, halves.next().unwrap_or_default());
        let good = all_digits(whole) && all_digits(fraction) && whole.len() + fraction.len() > 0;
        let good_exponent = exponent.is_none_or(|exponent| {
            let digits = exponent
                .strip_prefix(b"-")
                .or(exponent.strip_prefix(b"+"))
                .unwrap_or(exponent);
            !digits.is_empty() && all_digits(digits)
        });
        (good && good_exponent).then(|| Meaning::Bare(literal.to_vec()))
    }

    fn named(&mut self, depth: usize) -> Option<Meaning> {
        let start = self.at;
        let word = self.word();
        let next = self.now();
        let word = std::str::from_utf8(&word).unwrap_or_default();
        // A known word with a parenthesis at once is a call of that name, but for those that have a form of their own.
        let plain_call = matches!(next, Some(b'(' | b'.'));
        match word {
            "UNISTR" if next != Some(b'.') => {
                self.at = start;
                self.expression()
            }
            "OUT_CLOB" | "OUT_BLOB" if next != Some(b'.') => self.out_of_row(word == "OUT_BLOB"),
            "NULL" if !plain_call => Some(Meaning::Null),
            "TRUE" | "FALSE" if !plain_call => Some(Meaning::Bare(word.as_bytes().to_vec())),
            "UNSUPPORTED" if !plain_call => self.keyword("TYPE").map(|()| Meaning::Unsupported),
            "DATE" if !plain_call => self.typed("DATE"),
            "TIME" if !plain_call => self.typed("TIME"),
            "TIMESTAMP" | "DATETIME" if !plain_call => self.typed("TIMESTAMP"),
            "INTERVAL" if !plain_call => self.interval(start),
            _ => {
                self.at = start;
                self.call(depth)
            }
        }
    }

    fn typed(&mut self, name: &'static str) -> Option<Meaning> {
        self.blanks();
        let text = self.quoted(b'\'')?;
        (!text.is_empty() && !text.contains(&b'\'')).then_some(Meaning::Typed(name, text))
    }

    fn interval(&mut self, start: usize) -> Option<Meaning> {
        self.blanks();
        if matches!(self.now(), Some(b'+' | b'-')) {
            self.at += 1;
        }
        self.typed("INTERVAL")?;
        self.interval_field()?;
        if self.keyword("TO").is_some() {
            self.interval_field()?;
        }
        Some(Meaning::Typed("INTERVAL", self.text[start..self.at].to_vec()))
    }

    fn interval_field(&mut self) -> Option<()> {
        ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"]
            .into_iter()
            .find_map(|field| self.keyword(field))?;
        if self.mark(b'(').is_none() {
            return Some(());
        }
        loop {
            self.blanks();
            let digits = self.word();
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return None;
            }
            if self.mark(b',').is_none() {
                return self.mark(b')');
            }
        }
    }

    fn out_of_row(&mut self, binary: bool) -> Option<Meaning> {
        if self.mark(b'(').is_none() {
            return Some(Meaning::OutOfRow(binary, None));
        }
        self.blanks();
        let mut handle = vec![];
        while let Some(byte) = self
            .now()
            .filter(|&byte| is_word(byte) || matches!(byte, b':' | b' ' | b'.' | b'-'))
        {
            handle.push(byte);
            self.at += 1;
        }
        while handle.last() == Some(&b' ') {
            handle.pop();
        }
        self.mark(b')')?;
        (!handle.is_empty()).then_some(Meaning::OutOfRow(binary, Some(handle)))
    }

    fn call(&mut self, depth: usize) -> Option<Meaning> {
        let mut name = vec![];
        loop {
            let part = if self.now() == Some(b'"') {
                self.name()?
            } else {
                self.plain_word()
            };
            if part.is_empty() {
                return None;
            }
            name.extend(part);
            if self.now() != Some(b'.') {
                break;
            }
            name.push(b'.');
            self.at += 1;
        }
        if depth == DEEPEST {
            return None;
        }
        self.mark(b'(')?;
        let mut args = vec![];
        if self.mark(b')').is_some() {
            return Some(Meaning::Call(name, args));
        }
        loop {
            args.push(self.value(depth + 1)?);
            if self.mark(b',').is_none() {
                self.mark(b')')?;
                return Some(Meaning::Call(name, args));
            }
        }
    }

    /// A word as written.
    fn plain_word(&mut self) -> Bytes {
        let start = self.at;
        self.word();
        self.text[start..self.at].to_vec()
    }
}

fn utf8(units: &[u16]) -> Option<Bytes> {
    String::from_utf16(units).ok().map(String::into_bytes)
}
