//! The text of `test_decoding` (PostgreSQL `contrib/test_decoding/test_decoding.c`).
//!
//! ```text
//! BEGIN 735
//! table public."Ord.Line": UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 "Sel ect"[text]:'it''s'
//! COMMIT 735 (at 2024-01-31 12:00:00.123456+00)
//! ```
//! Names are quoted as in SQL where they need it; numbers and truth values stand bare, bit strings as `B'101'`, all else in
//! quotes that are doubled inside. `null` and `unchanged-toast-datum` stand bare. NULLs of old rows are left out, so that
//! an old row of a key alone and a whole one look alike.

use crate::dialect::slots::PluginCall;
use crate::error::Result;
use crate::log::decoding::plugin::{
    Begin, Cell, Commit, Datum, Event, Message, Old, Plugin, Row, TableRef, malformed, shortened,
};
use crate::row::zone::Zone;

/// The plugin that comes with the server's own extensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestDecoding;

impl Plugin for TestDecoding {
    fn name(&self) -> &'static str {
        "test_decoding"
    }

    fn next<'a>(&mut self, data: &mut &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>> {
        row.clear();
        let data = std::mem::take(data);
        let mut text = Text(data);
        match event(&mut text, row) {
            Some(event) if text.0.is_empty() => Ok(event),
            _ => malformed(format!(
                "not a row of test_decoding, at byte {}: {}",
                data.len() - text.0.len(),
                shortened(data)
            )),
        }
    }

    fn call<'p>(&self, _publications: &'p str) -> PluginCall<'p> {
        PluginCall {
            options: vec![
                ("include-xids", "1"),
                ("include-timestamp", "1"),
                ("skip-empty-xacts", "1"),
            ],
            binary: false,
            says_xid: true,
            says_end: false,
            with_ends: Some("data LIKE 'COMMIT%'"),
        }
    }
}

fn event<'a>(text: &mut Text<'a>, row: &mut Row<'a>) -> Option<Event<'a>> {
    if text.eat(b"table ") {
        return change(text, row);
    }
    if text.eat(b"BEGIN") {
        return Some(Event::Begin(Begin {
            xid: text.xid()?,
            commit: None,
            micros: None,
        }));
    }
    if text.eat(b"COMMIT") {
        let xid = text.xid()?;
        let micros = match text.eat(b" (at ") {
            true => Some(text.time()?),
            false => None,
        };
        return Some(Event::Commit(Commit { xid, micros }));
    }
    match text.eat(b"message: transactional: ") {
        true => message(text),
        false => None,
    }
}

fn message<'a>(text: &mut Text<'a>) -> Option<Event<'a>> {
    let transactional = text.until(b' ')? == b"1";
    if !text.eat(b"prefix: ") {
        return None;
    }
    // The prefix may have anything in it; the size, which comes last, says where the content begins.
    let rest = text.0;
    let mut from = 0;
    loop {
        let at = from + memchr::memmem::find(&rest[from..], b", sz: ")?;
        let mut after = Text(&rest[at + b", sz: ".len()..]);
        if let Some(size) = after.number() {
            if after.eat(b" content:") && after.0.len() as u64 == size {
                text.0 = &[];
                return Some(Event::Message(Message {
                    transactional,
                    prefix: &rest[..at],
                    content: after.0,
                }));
            }
        }
        from = at + 1;
    }
}

fn change<'a>(text: &mut Text<'a>, row: &mut Row<'a>) -> Option<Event<'a>> {
    loop {
        row.tables.push(TableRef::Name(text.qualified()?));
        if !text.eat(b", ") {
            break;
        }
    }
    let &[table, ..] = row.tables.as_slice() else {
        return None;
    };
    if !text.eat(b": ") {
        return None;
    }
    if text.eat(b"TRUNCATE:") {
        let flags = std::mem::take(&mut text.0);
        let known = matches!(
            flags,
            b" (no-flags)" | b" restart_seqs" | b" cascade" | b" restart_seqs cascade"
        );
        return known.then_some(Event::Truncate);
    }
    if row.tables.len() > 1 {
        return None;
    }
    row.tables.clear();
    if text.eat(b"INSERT:") {
        cells(text, &mut row.new)?;
        return Some(Event::Insert(table));
    }
    if text.eat(b"UPDATE:") {
        let old = text.eat(b" old-key:");
        if old {
            cells(text, &mut row.old)?;
            if !text.eat(b" new-tuple:") {
                return None;
            }
        }
        cells(text, &mut row.new)?;
        return Some(Event::Update(table, old.then_some(Old::WithoutNulls)));
    }
    if text.eat(b"DELETE:") {
        let any = text.0 != b" (no-tuple-data)";
        cells(text, &mut row.old)?;
        return Some(Event::Delete(table, any.then_some(Old::WithoutNulls)));
    }
    None
}

/// `name[type]:value`, a blank before each, up to the end of the row or to `new-tuple:`.
fn cells<'a>(text: &mut Text<'a>, cells: &mut Vec<Cell<'a>>) -> Option<()> {
    if text.eat(b" (no-tuple-data)") {
        return Some(());
    }
    while !text.0.is_empty() && !text.0.starts_with(b" new-tuple:") {
        if !text.eat(b" ") {
            return None;
        }
        let name = text.identifier()?;
        let kind = text.kind()?;
        let datum = text.datum()?;
        cells.push(Cell { name, kind, datum });
    }
    Some(())
}

struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    fn eat(&mut self, word: &[u8]) -> bool {
        match self.0.strip_prefix(word) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        head
    }

    /// What stands in front of a byte, which is passed over too.
    fn until(&mut self, byte: u8) -> Option<&'a [u8]> {
        let head = self.take(memchr::memchr(byte, self.0)?);
        self.0 = &self.0[1..];
        Some(head)
    }

    fn number(&mut self) -> Option<u64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(self.take(digits)).ok()?.parse().ok()
    }

    /// A transaction's number, where it is there.
    fn xid(&mut self) -> Option<Option<u32>> {
        match self.0 {
            [b' ', digit, ..] if digit.is_ascii_digit() => {
                self.take(1);
                Some(Some(u32::try_from(self.number()?).ok()?))
            }
            _ => Some(None),
        }
    }

    /// A time in UTC and the bracket behind it.
    fn time(&mut self) -> Option<i64> {
        let time = self.until(b')')?;
        Zone::UTC.epoch_micros(time).ok()
    }

    /// How long what is quoted is, from its first quote to its last; doubled quotes do not end it.
    fn quoted(&self, from: usize) -> Option<usize> {
        let quote = *self.0.get(from)?;
        let mut at = from + 1;
        loop {
            at += memchr::memchr(quote, self.0.get(at..)?)? + 1;
            if self.0.get(at) != Some(&quote) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// A name as it stands, its quotes included.
    fn identifier(&mut self) -> Option<&'a [u8]> {
        let length = match self.0.first()? {
            b'"' => self.quoted(0)?,
            _ => self.0.iter().position(|byte| b".:,[ \"".contains(byte))?,
        };
        (length > 0).then(|| self.take(length))
    }

    /// `schema.name`, as it stands.
    fn qualified(&mut self) -> Option<&'a [u8]> {
        let whole = self.0;
        self.identifier()?;
        if !self.eat(b".") {
            return None;
        }
        self.identifier()?;
        Some(&whole[..whole.len() - self.0.len()])
    }

    /// `[type]:`; the type's name may have brackets and quoted names in it.
    fn kind(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b"[") {
            return None;
        }
        let (mut depth, mut at) = (1, 0);
        loop {
            match self.0.get(at)? {
                b'"' => {
                    at = self.quoted(at)?;
                    continue;
                }
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            at += 1;
        }
        let kind = self.take(at);
        self.eat(b"]:").then_some(kind)
    }

    fn datum(&mut self) -> Option<Datum<'a>> {
        Some(match self.0.first()? {
            b'\'' => self.text(0)?,
            b'B' if self.0.get(1) == Some(&b'\'') => self.text(1)?,
            _ => {
                let length = memchr::memchr(b' ', self.0).unwrap_or(self.0.len());
                match self.take(length) {
                    b"null" => Datum::Null,
                    b"unchanged-toast-datum" => Datum::Unchanged,
                    b"" => return None,
                    bare => Datum::Text(bare),
                }
            }
        })
    }

    /// A text in quotes that begin at a place; what stands before it is left out.
    fn text(&mut self, quote: usize) -> Option<Datum<'a>> {
        let end = self.quoted(quote)?;
        let inside = &self.take(end)[quote + 1..end - 1];
        Some(match memchr::memchr(b'\'', inside) {
            Some(_) => Datum::Doubled(inside),
            None => Datum::Text(inside),
        })
    }
}

/// A name without its quotes.
pub fn unquoted(name: &[u8]) -> Vec<u8> {
    match name {
        [b'"', inside @ .., b'"'] => {
            let mut out = Vec::with_capacity(inside.len());
            push_undoubled(inside, b'"', &mut out);
            out
        }
        _ => name.to_vec(),
    }
}

/// Schema and name of a qualified name, both without quotes.
pub fn split_name(qualified: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut text = Text(qualified);
    let schema = text.identifier()?;
    if !text.eat(b".") {
        return None;
    }
    // A name that goes to the end of the text has no sign behind it.
    Some((unquoted(schema), unquoted(text.0)))
}

/// Appends a text whose quotes are doubled, with single ones.
pub fn push_undoubled(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(quote, rest) {
        out.extend_from_slice(&rest[..=at]);
        let doubled = rest.get(at + 1) == Some(&quote);
        rest = &rest[at + 1 + usize::from(doubled)..];
    }
    out.extend_from_slice(rest);
}
