//! The tokenizer: a place in the bytes of one statement, and how each token is taken from it.

use super::error::{Failed, Fault, RedoError};
use super::scan;
use super::token::{Kind, Token};
use super::value::Name;

/// Where a text literal stands, which tells the lenient mode what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the list of VALUES.
    Values,
    /// In SET.
    Set,
    /// In WHERE.
    Where,
    /// The text of an XML document.
    Document,
    /// Anywhere else: no apostrophe is tolerated there.
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    pub(super) sql: &'a [u8],
    pub(super) at: usize,
    /// Whether apostrophes that were not doubled are tolerated.
    pub(super) lenient: bool,
    pub(super) place: Place,
    error: RedoError,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(sql: &'a [u8], lenient: bool) -> Self {
        let error = Fault::Expected("a statement").at(0);
        Cursor {
            sql,
            at: 0,
            lenient,
            place: Place::Other,
            error,
        }
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.sql.get(self.at).copied()
    }

    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.sql.get(self.at..).unwrap_or_default()
    }

    /// The bytes from `start` to here.
    #[inline(always)]
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        self.sql.get(start..self.at).unwrap_or_default()
    }

    /// Fails here.
    #[cold]
    pub(super) fn fail<T>(&mut self, fault: Fault) -> Result<T, Failed> {
        self.fail_at(fault, self.at)
    }

    #[cold]
    pub(super) fn fail_at<T>(&mut self, fault: Fault, offset: usize) -> Result<T, Failed> {
        self.error = fault.at(offset);
        Err(Failed)
    }

    /// What the last failure was.
    pub(super) fn error(&self) -> RedoError {
        self.error
    }

    /// Takes `token` if it stands here, without skipping anything first.
    #[inline(always)]
    pub(super) fn take(&mut self, token: &[u8]) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips blanks, line ends and comments. A comment without end is left standing, so that what comes next fails on it.
    #[inline(always)]
    pub(super) fn skip_blank(&mut self) {
        // Most often there is nothing to skip, or one blank.
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r' | b'/')) {
            self.skip_blanks();
        }
    }

    #[cold]
    #[inline(never)]
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(b'/') if self.rest().starts_with(b"/*") => {
                    match memchr::memmem::find(self.sql.get(self.at + 2..).unwrap_or_default(), b"*/") {
                        Some(length) => self.at += length + 4,
                        None => return,
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and takes one byte.
    #[inline]
    pub(super) fn expect(&mut self, token: u8, what: &'static str) -> Result<(), Failed> {
        if self.peek() != Some(token) {
            self.skip_blank();
            if self.peek() != Some(token) {
                return self.fail(Fault::Expected(what));
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Skips blanks and takes one byte if it stands there.
    #[inline]
    pub(super) fn take_byte(&mut self, token: u8) -> bool {
        self.skip_blank();
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    /// Skips blanks and takes a keyword, in capitals or not, if it stands there as a whole word.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        self.skip_blank();
        let rest = self.rest();
        let found = rest
            .get(..keyword.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(keyword.as_bytes()))
            && !rest.get(keyword.len()).is_some_and(|&byte| is_word(byte));
        if found {
            self.at += keyword.len();
        }
        found
    }

    /// Skips blanks and takes a keyword.
    pub(super) fn keyword(&mut self, keyword: &'static str) -> Result<(), Failed> {
        if self.take_keyword(keyword) {
            Ok(())
        } else {
            self.fail(Fault::Expected(keyword))
        }
    }

    /// A word that is not quoted, possibly empty. A byte beyond ASCII belongs to it: identifiers may have letters of any script.
    #[inline(always)]
    pub(super) fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Skips blanks and takes a name in double quotes.
    pub(super) fn name(&mut self, what: &'static str) -> Result<Name<'a>, Failed> {
        self.expect(b'"', what)?;
        let start = self.at;
        let mut doubled = false;
        let mut at = start;
        loop {
            let Some(quote) = scan::find(self.sql, at, b'"') else {
                return self.fail(Fault::UnclosedName);
            };
            if self.sql.get(quote + 1) != Some(&b'"') {
                self.at = quote;
                break;
            }
            doubled = true;
            at = quote + 2;
        }
        let raw = self.since(start);
        if raw.is_empty() {
            return self.fail(Fault::EmptyName);
        }
        self.at += 1;
        Ok(Name { raw, doubled })
    }

    /// A text literal whose opening quote stands here. Backslashes escape nothing, line ends are text.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Result<Token, Failed> {
        if self.lenient {
            return self.lenient_text();
        }
        self.strict_text()
    }

    /// A text literal whose quotes inside are doubled.
    #[inline(always)]
    pub(super) fn strict_text(&mut self) -> Result<Token, Failed> {
        let start = self.at + 1;
        let mut doubled = false;
        let mut at = start;
        loop {
            let Some(quote) = scan::find(self.sql, at, b'\'') else {
                return self.fail(Fault::UnclosedText);
            };
            if self.sql.get(quote + 1) != Some(&b'\'') {
                self.at = quote + 1;
                let kind = if doubled { Kind::DOUBLED_TEXT } else { Kind::TEXT };
                return Ok(Token::new(kind, start, quote));
            }
            doubled = true;
            at = quote + 2;
        }
    }

    /// The end of a statement: at most one delimiter, then nothing.
    pub(super) fn end(&mut self) -> Result<(), Failed> {
        self.take_byte(b';');
        self.skip_blank();
        if self.at == self.sql.len() {
            Ok(())
        } else {
            self.fail(Fault::Expected("the end of the statement"))
        }
    }
}

/// Whether a byte may stand in a word that is not quoted.
#[inline(always)]
pub(super) fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let this = byte as u8;
        word[byte] = this.is_ascii_alphanumeric() || matches!(this, b'_' | b'$' | b'#') || this >= 0x80;
        byte += 1;
    }
    word
};
