//! The grammar of a value: one function for each form, all over the one tokenizer.

use super::cursor::{Cursor, is_word};
use super::decode;
use super::error::{Failed, Fault};
use super::scan;
use super::token::{Kind, Token};

/// Calls nest a few levels (object types in object types); far more is no redo text.
const DEEPEST: u32 = 32;

impl<'a> Cursor<'a> {
    /// Skips blanks and comments and takes one value.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Token, Failed> {
        if self.peek() == Some(b'\'') {
            return self.text_or_expression(0);
        }
        if self.rest().starts_with(b"NULL")
            && !self
                .sql
                .get(self.at + 4)
                .is_some_and(|&byte| is_word(byte) || byte == b'(')
        {
            self.at += 4;
            return Ok(Token::new(Kind::NULL, self.at, self.at));
        }
        self.nested_value(0)
    }

    #[inline]
    fn nested_value(&mut self, depth: u32) -> Result<Token, Failed> {
        match self.peek() {
            Some(b'\'') => return self.text_or_expression(depth),
            Some(b' ' | b'\n' | b'\t' | b'\r' | b'/') => self.skip_blank(),
            _ => {}
        }
        match self.peek() {
            Some(b'\'') => self.text_or_expression(depth),
            Some(b'0'..=b'9' | b'+' | b'-' | b'.') => self.number(),
            Some(b'"') => self.call(self.at, depth),
            Some(byte) if is_word(byte) => self.named(depth),
            _ => self.fail(Fault::UnknownValue),
        }
    }

    #[inline(always)]
    fn text_or_expression(&mut self, depth: u32) -> Result<Token, Failed> {
        let start = self.at;
        // Only a text of the row itself is ever printed without doubling: arguments stay strict.
        let text = if depth == 0 { self.text()? } else { self.strict_text()? };
        match self.peek() {
            Some(b' ' | b'|' | b'/' | b'\n' | b'\t' | b'\r') => self.joined(start, text),
            _ => Ok(text),
        }
    }

    /// Whether `||` follows; if so, this and all further operands are one expression.
    #[inline]
    fn joined(&mut self, start: usize, first: Token) -> Result<Token, Failed> {
        // What follows most often, after a blank, is a keyword.
        if self.peek() == Some(b' ') && self.sql.get(self.at + 1).is_some_and(u8::is_ascii_alphabetic) {
            return Ok(first);
        }
        let end = self.at;
        self.skip_blank();
        if !self.rest().starts_with(b"||") {
            self.at = end;
            return Ok(first);
        }
        let raw = first.raw(self.sql);
        if first.kind() == Kind::TEXT && memchr::memchr(b'\'', raw).is_some() {
            return self.fail(Fault::Expected("doubled quotes in an operand of ||"));
        }
        self.operands(start)
    }

    fn operands(&mut self, start: usize) -> Result<Token, Failed> {
        loop {
            let end = self.at;
            self.skip_blank();
            if !self.take(b"||") {
                self.at = end;
                return Ok(Token::new(Kind::EXPRESSION, start, end));
            }
            self.skip_blank();
            if self.peek() == Some(b'\'') {
                self.strict_text()?;
            } else {
                self.keyword("UNISTR")?;
                self.unistr_argument()?;
            }
        }
    }

    fn unistr_argument(&mut self) -> Result<(), Failed> {
        self.expect(b'(', "(")?;
        self.skip_blank();
        if self.peek() != Some(b'\'') {
            return self.fail(Fault::Expected("a text literal"));
        }
        let start = self.at + 1;
        let text = self.strict_text()?;
        let raw = text.raw(self.sql);
        if let Err(escape) = decode::check_unistr(raw) {
            return self.fail_at(Fault::BadEscape, start + escape);
        }
        self.expect(b')', ")")
    }

    #[inline]
    fn number(&mut self) -> Result<Token, Failed> {
        let start = self.at;
        if self.peek() == Some(b'0') && matches!(self.sql.get(start + 1), Some(b'x' | b'X')) {
            return self.hex();
        }
        if matches!(self.peek(), Some(b'+' | b'-')) {
            self.at += 1;
            if self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
                return self.infinite(start);
            }
        }
        let mut digits = self.digits();
        if self.peek() == Some(b'.') {
            self.at += 1;
            digits += self.digits();
        }
        let mut good = digits > 0;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            good &= self.digits() > 0;
        }
        if !good || self.peek().is_some_and(|byte| is_word(byte) || byte == b'.') {
            return self.fail(Fault::BadNumber);
        }
        Ok(Token::new(Kind::NUMBER, start, self.at))
    }

    /// What binary floating-point columns hold beside numbers, behind its sign.
    #[cold]
    fn infinite(&mut self, start: usize) -> Result<Token, Failed> {
        if !is_infinite(self.word()) {
            self.at = start;
            return self.fail(Fault::BadNumber);
        }
        Ok(Token::new(Kind::NUMBER, start, self.at))
    }

    #[inline(always)]
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn hex(&mut self) -> Result<Token, Failed> {
        self.at += 2;
        let start = self.at;
        let digits = self.word();
        if digits.len() % 2 != 0 || !digits.iter().all(u8::is_ascii_hexdigit) {
            self.at = start;
            return self.fail(Fault::BadHex);
        }
        Ok(Token::new(Kind::HEX, start, self.at))
    }

    /// What begins with a word that is not quoted.
    #[inline]
    fn named(&mut self, depth: u32) -> Result<Token, Failed> {
        let start = self.at;
        let word = self.word();
        match self.peek() {
            Some(b'(') if !is_special(word) && depth < DEEPEST => match self.text_arguments() {
                Some(end) => {
                    self.at = end;
                    Ok(Token::call(start, end, word.len()))
                }
                None => self.arguments(start, depth),
            },
            Some(b'.') => self.call(start, depth),
            _ => self.special(start, word, depth),
        }
    }

    fn special(&mut self, start: usize, word: &'a [u8], depth: u32) -> Result<Token, Failed> {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        if is("NULL") {
            return Ok(Token::new(Kind::NULL, start, start));
        }
        if is("DATE") {
            return self.typed(Kind::DATE);
        }
        if is("TIMESTAMP") || is("DATETIME") {
            return self.typed(Kind::TIMESTAMP);
        }
        if is("TIME") {
            return self.typed(Kind::TIME);
        }
        if is("INTERVAL") {
            return self.interval(start);
        }
        if is("UNISTR") {
            self.unistr_argument()?;
            return self.operands(start);
        }
        if is("OUT_CLOB") || is("OUT_BLOB") {
            return self.out_of_row(is("OUT_BLOB"));
        }
        if is("UNSUPPORTED") {
            self.keyword("TYPE")?;
            return Ok(Token::new(Kind::UNSUPPORTED, start, start));
        }
        if is("TRUE") || is("FALSE") {
            return Ok(Token::new(
                if is("TRUE") { Kind::TRUE } else { Kind::FALSE },
                start,
                start,
            ));
        }
        if is_infinite(word) {
            return Ok(Token::new(Kind::NUMBER, start, self.at));
        }
        let end = self.at;
        self.skip_blank();
        if self.peek() != Some(b'(') {
            return self.fail_at(Fault::UnknownValue, start);
        }
        self.at = end;
        self.arguments(start, depth)
    }

    /// The text of a literal with a type before it.
    fn typed(&mut self, kind: Kind) -> Result<Token, Failed> {
        self.skip_blank();
        if self.peek() != Some(b'\'') {
            return self.fail(Fault::UnknownValue);
        }
        let start = self.at;
        let text = self.strict_text()?;
        if text.raw(self.sql).is_empty() || text.kind() != Kind::TEXT {
            self.at = start;
            return self.fail(Fault::BadTyped);
        }
        Ok(text.with_kind(kind))
    }

    /// `INTERVAL [-]'…' FIELD[(p[,p])] [TO FIELD[(p)]]`.
    fn interval(&mut self, start: usize) -> Result<Token, Failed> {
        self.skip_blank();
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        self.typed(Kind::INTERVAL)?;
        self.interval_field()?;
        let end = self.at;
        if self.take_keyword("TO") {
            self.interval_field()?;
        } else {
            self.at = end;
        }
        Ok(Token::new(Kind::INTERVAL, start, self.at))
    }

    fn interval_field(&mut self) -> Result<(), Failed> {
        const FIELDS: [&str; 6] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"];
        if !FIELDS.into_iter().any(|field| self.take_keyword(field)) {
            return self.fail(Fault::BadTyped);
        }
        let end = self.at;
        if !self.take_byte(b'(') {
            self.at = end;
            return Ok(());
        }
        loop {
            self.skip_blank();
            if self.digits() == 0 {
                return self.fail(Fault::BadTyped);
            }
            if !self.take_byte(b',') {
                return self.expect(b')', ")");
            }
        }
    }

    fn out_of_row(&mut self, binary: bool) -> Result<Token, Failed> {
        let end = self.at;
        if !self.take_byte(b'(') {
            self.at = end;
            return Ok(Token::new(
                if binary { Kind::OUT_BLOB } else { Kind::OUT_CLOB },
                end,
                end,
            ));
        }
        self.skip_blank();
        let start = self.at;
        // `LOB_ID: 525301`: words, digits, colons and blanks, nothing that could be text or syntax.
        while self
            .peek()
            .is_some_and(|byte| is_word(byte) || matches!(byte, b':' | b' ' | b'.' | b'-'))
        {
            self.at += 1;
        }
        let length = self.since(start).trim_ascii_end().len();
        if length == 0 {
            return self.fail(Fault::Expected("a handle"));
        }
        self.expect(b')', ")")?;
        let kind = if binary {
            Kind::OUT_BLOB_HANDLE
        } else {
            Kind::OUT_CLOB_HANDLE
        };
        Ok(Token::new(kind, start, start + length))
    }

    /// A call whose name has quotes or an owner, or both.
    fn call(&mut self, start: usize, depth: u32) -> Result<Token, Failed> {
        if self.peek() == Some(b'"') {
            self.name("a name")?;
        }
        while self.peek() == Some(b'.') {
            self.at += 1;
            if self.peek() == Some(b'"') {
                self.name("a name")?;
            } else if self.word().is_empty() {
                return self.fail(Fault::Expected("a name"));
            }
        }
        self.arguments(start, depth)
    }

    /// The end of the arguments whose parenthesis stands here, if they are texts written as servers write them: most calls are.
    #[inline(always)]
    fn text_arguments(&self) -> Option<usize> {
        let mut at = self.at;
        loop {
            at += 1;
            at += usize::from(self.sql.get(at) == Some(&b' '));
            if self.sql.get(at) != Some(&b'\'') {
                return None;
            }
            at = scan::find(self.sql, at + 1, b'\'')? + 1;
            match self.sql.get(at) {
                Some(b',') => {}
                Some(b')') => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// The arguments of the call whose name stands from `start` to here.
    fn arguments(&mut self, start: usize, depth: u32) -> Result<Token, Failed> {
        if depth == DEEPEST {
            return self.fail(Fault::TooDeep);
        }
        let name_len = self.at - start;
        self.expect(b'(', "(")?;
        if !self.take_byte(b')') {
            loop {
                self.skip_blank();
                if self.peek() == Some(b'\'') {
                    self.text_or_expression(depth + 1)?;
                } else {
                    self.nested_value(depth + 1)?;
                }
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b')') => {
                        self.at += 1;
                        break;
                    }
                    _ => {
                        if !self.take_byte(b',') {
                            self.expect(b')', ", or )")?;
                            break;
                        }
                    }
                }
            }
        }
        Ok(Token::call(start, self.at, name_len))
    }
}

fn is_infinite(word: &[u8]) -> bool {
    ["NAN", "INF", "INFINITY"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Words that may stand before a parenthesis and still are no plain call.
#[inline]
fn is_special(word: &[u8]) -> bool {
    match word.len() {
        6 => word.eq_ignore_ascii_case(b"UNISTR"),
        8 => word.eq_ignore_ascii_case(b"OUT_CLOB") || word.eq_ignore_ascii_case(b"OUT_BLOB"),
        _ => false,
    }
}
