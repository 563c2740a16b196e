//! The lenient mode: apostrophes that the server printed without doubling them.
//!
//! With MAX_STRING_SIZE=EXTENDED some servers print a text as it is. Such a statement has no certain reading, so the strict mode
//! refuses it. The lenient mode reads a statement strictly first; only if that fails, a text whose strict end is followed by
//! nothing that may follow a value ends at the first quote after which the statement plausibly goes on. A text that holds an
//! apostrophe which is not doubled is taken as it stands; the count of values must still be right.

use super::cursor::{Cursor, Place, is_word};
use super::error::{Failed, Fault};
use super::scan;
use super::token::{Kind, Token};

impl<'a> Cursor<'a> {
    #[cold]
    pub(super) fn lenient_text(&mut self) -> Result<Token, Failed> {
        let start = self.at + 1;
        let mut probe = self.clone();
        if let Ok(text) = probe.strict_text()
            && (probe.goes_on() || probe.is_joined())
        {
            self.at = probe.at;
            return Ok(text);
        }
        let mut at = start;
        while let Some(quote) = scan::find(self.sql, at, b'\'') {
            probe.at = quote + 1;
            if probe.goes_on() {
                self.at = quote + 1;
                let raw = self.sql.get(start..quote).unwrap_or_default();
                let kind = if all_doubled(raw) {
                    Kind::DOUBLED_TEXT
                } else {
                    Kind::TEXT
                };
                return Ok(Token::new(kind, start, quote));
            }
            at = quote + 1;
        }
        self.fail(Fault::UnclosedText)
    }

    /// Whether the statement plausibly goes on after a value that ends here.
    fn goes_on(&self) -> bool {
        let mut next = self.clone();
        next.lenient = false;
        match self.place {
            Place::Values => {
                if next.take_byte(b',') {
                    next.skip_blank();
                    return next.begins_value();
                }
                next.take_byte(b')') && next.end().is_ok()
            }
            Place::Set => {
                if next.take_byte(b',') || next.take_keyword("WHERE") {
                    return next.is_condition();
                }
                next.end().is_ok()
            }
            Place::Where => {
                if next.take_keyword("AND") {
                    return next.is_condition();
                }
                next.end().is_ok()
            }
            Place::Document => next.take_byte(b':') || next.take_keyword("AMOUNT"),
            Place::Other => true,
        }
    }

    fn is_joined(&self) -> bool {
        let mut next = self.clone();
        next.skip_blank();
        next.take(b"||")
    }

    /// A literal, a word of one, or a name with its parenthesis.
    fn begins_value(&mut self) -> bool {
        match self.peek() {
            Some(b'\'' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'/') => true,
            Some(b'"') => self.name("a name").is_ok() && matches!(self.peek(), Some(b'.' | b'(')),
            Some(byte) if is_word(byte) => {
                const WORDS: [&[u8]; 6] = [b"NULL", b"OUT_CLOB", b"OUT_BLOB", b"TRUE", b"FALSE", b"UNSUPPORTED"];
                const TYPES: [&[u8]; 5] = [b"DATE", b"TIME", b"TIMESTAMP", b"DATETIME", b"INTERVAL"];
                let word = self.word();
                let is_one = |known: &[&[u8]]| known.iter().any(|known| word.eq_ignore_ascii_case(known));
                match self.peek() {
                    Some(b'(') => true,
                    Some(b'\'' | b' ') if is_one(&TYPES) => true,
                    _ => is_one(&WORDS),
                }
            }
            _ => false,
        }
    }

    /// A column with `=` or IS after it; an alias may stand before the column.
    fn is_condition(&mut self) -> bool {
        self.skip_blank();
        let word = self.word();
        let named = if word.eq_ignore_ascii_case(b"ROWID") {
            true
        } else if !word.is_empty() {
            self.take(b".") && (self.name("a column").is_ok() || self.word().eq_ignore_ascii_case(b"ROWID"))
        } else {
            self.name("a column").is_ok()
        };
        named && (self.take_byte(b'=') || self.take_keyword("IS"))
    }
}

/// Whether each quote in `raw` is doubled, and there is one.
fn all_doubled(raw: &[u8]) -> bool {
    let mut at = 0;
    let mut any = false;
    while let Some(quote) = scan::find(raw, at, b'\'') {
        if raw.get(quote + 1) != Some(&b'\'') {
            return false;
        }
        any = true;
        at = quote + 2;
    }
    any
}
