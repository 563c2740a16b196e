//! From the bytes of a literal to the text that it means.

use super::cursor::Cursor;
use super::error::{Failed, Fault, RedoError};
use super::token::{Kind, Token};

/// Appends `raw` with each doubled `quote` made one.
pub(super) fn undouble(raw: &[u8], quote: u8, doubled: bool, out: &mut Vec<u8>) {
    if !doubled {
        out.extend_from_slice(raw);
        return;
    }
    let mut rest = raw;
    while let Some(place) = memchr::memchr(quote, rest) {
        let (head, tail) = rest.split_at(place + 1);
        out.extend_from_slice(head);
        rest = tail.strip_prefix(&[quote]).unwrap_or(tail);
    }
    out.extend_from_slice(rest);
}

/// The bytes of `raw` with each doubled `quote` made one.
pub(super) fn undoubled(raw: &[u8], quote: u8) -> impl Iterator<Item = u8> + '_ {
    let mut skip = false;
    raw.iter().copied().filter(move |&byte| {
        let second = skip && byte == quote;
        skip = byte == quote && !second;
        !second
    })
}

/// Checks the escapes of a UNISTR argument; fails with the place of the first that is malformed.
pub(super) fn check_unistr(raw: &[u8]) -> Result<(), usize> {
    let mut at = 0;
    while let Some(place) = memchr::memchr(b'\\', raw.get(at..).unwrap_or_default()) {
        let escape = at + place;
        match escaped(raw, escape) {
            Some(Escape::Backslash) => at = escape + 2,
            Some(Escape::Unit(_)) => at = escape + 5,
            None => return Err(escape),
        }
    }
    Ok(())
}

enum Escape {
    Backslash,
    Unit(u16),
}

/// The escape whose backslash is at `at`.
fn escaped(raw: &[u8], at: usize) -> Option<Escape> {
    if raw.get(at + 1) == Some(&b'\\') {
        return Some(Escape::Backslash);
    }
    let mut unit = 0_u16;
    for &digit in raw.get(at + 1..at + 5)? {
        unit = unit << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some(Escape::Unit(unit))
}

/// Appends the text of an expression that the tokenizer has taken whole.
pub(super) fn expression(raw: &[u8], out: &mut Vec<u8>) -> Result<(), RedoError> {
    let mut cursor = Cursor::new(raw, false);
    operands(&mut cursor, out).map_err(|Failed| cursor.error())
}

fn operands(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
    let mut text = Joined { out, high: None };
    loop {
        cursor.skip_blank();
        let start = cursor.at;
        if cursor.peek() == Some(b'\'') {
            let literal = cursor.strict_text()?;
            let (raw, doubled) = content(cursor.sql, literal);
            text.plain(raw, doubled).or_else(|fault| cursor.fail_at(fault, start))?;
        } else {
            cursor.keyword("UNISTR")?;
            cursor.expect(b'(', "(")?;
            cursor.skip_blank();
            let literal = cursor.strict_text()?;
            cursor.expect(b')', ")")?;
            let (raw, doubled) = content(cursor.sql, literal);
            text.unistr(raw, doubled)
                .or_else(|fault| cursor.fail_at(fault, start))?;
        }
        cursor.skip_blank();
        if !cursor.take(b"||") {
            return text.finish().or_else(|fault| cursor.fail_at(fault, start));
        }
    }
}

/// The bytes of a text literal, and whether quotes are doubled in them.
fn content(sql: &[u8], literal: Token) -> (&[u8], bool) {
    let raw = literal.raw(sql);
    (raw, literal.kind() == Kind::DOUBLED_TEXT)
}

/// The pieces of an expression put together: a surrogate pair may be cut between two of them.
struct Joined<'o> {
    out: &'o mut Vec<u8>,
    high: Option<u16>,
}

impl Joined<'_> {
    fn plain(&mut self, raw: &[u8], doubled: bool) -> Result<(), Fault> {
        if !raw.is_empty() {
            self.finish()?;
            undouble(raw, b'\'', doubled, self.out);
        }
        Ok(())
    }

    fn unistr(&mut self, raw: &[u8], doubled: bool) -> Result<(), Fault> {
        let mut rest = raw;
        while let Some(place) = memchr::memchr(b'\\', rest) {
            self.plain(rest.get(..place).unwrap_or_default(), doubled)?;
            let length = match escaped(rest, place).ok_or(Fault::BadEscape)? {
                Escape::Backslash => {
                    self.plain(b"\\", false)?;
                    2
                }
                Escape::Unit(unit) => {
                    self.unit(unit)?;
                    5
                }
            };
            rest = rest.get(place + length..).unwrap_or_default();
        }
        self.plain(rest, doubled)
    }

    fn unit(&mut self, unit: u16) -> Result<(), Fault> {
        let character = match (self.high.take(), unit) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(unit);
                return Ok(());
            }
            (None, _) => char::from_u32(u32::from(unit)),
            (Some(high), _) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
        };
        let character = character.ok_or(Fault::LoneSurrogate)?;
        self.out
            .extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if self.high.is_some() {
            Err(Fault::LoneSurrogate)
        } else {
            Ok(())
        }
    }
}
