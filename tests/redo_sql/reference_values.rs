//! The values of the reference parser.
//!
//! ```text
//! value      = NULL | TRUE | FALSE | [sign] (NAN | INF | INFINITY) | Unsupported Type | text | number | "0x" hex | type text | INTERVAL … | OUT_CLOB … | expression | call
//! type       = DATE | TIME | TIMESTAMP | DATETIME
//! expression = operand {"||" operand};  operand = text | UNISTR "(" text ")"
//! call       = name {"." name} "(" [value {"," value}] ")"
//! ```

use crate::model::{Bytes, Meaning};
use crate::reference::{Reference, is_word};

const DEEPEST: usize = 32;

impl Reference<'_> {
    pub fn value(&mut self, depth: usize) -> Option<Meaning> {
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
        let is_signed = unsigned.len() < literal.len();
        let infinite = ["NAN", "INF", "INFINITY"]
            .iter()
            .any(|word| unsigned.eq_ignore_ascii_case(word.as_bytes()));
        if is_signed && infinite {
            return Some(Meaning::Bare(literal.to_vec()));
        }
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
            "NAN" | "INF" | "INFINITY" if !plain_call => Some(Meaning::Bare(self.text[start..self.at].to_vec())),
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
