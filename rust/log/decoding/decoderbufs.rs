//! The messages of `decoderbufs`: protocol buffers, one message a row. Read are two forms, told apart by the message
//! itself: that of Debezium's plugin, and the one that a connector for KingbaseES describes, whose numbers are shifted.
//!
//! | | Debezium's | the other one |
//! | --- | --- | --- |
//! | row | 1 transaction, 2 commit time, 3 `schema.table`, 4 operation, 5 new, 6 old, 7 types | 1, 2, 3 schema, 4 table, 5 operation, 6 new, 7 old, 8 types |
//! | value | 1 name, 2 type, 3 int32, 4 int64, 5 float, 6 double, 7 bool, 8 string, 9 bytes, 10 point, 11 missing | 1, 2, 3 null, 4 int32, 5 int64, 6 float, 7 double, 8 bool, 9 string, 10 bytes, 11 point, 12 missing |
//!
//! The second form was never seen by a test of ours: it is built after that description. Neither form has truncations.
//! A column without a value is NULL in new rows; in old rows it is either NULL or not logged, which the form does not tell
//! apart. A message that is in neither form is an error.

use crate::dialect::slots::PluginCall;
use crate::error::Result;
use crate::log::decoding::plugin::{
    Begin, Cell, Commit, Datum, Event, Old, Plugin, Row, TableRef, malformed, shortened,
};

/// The plugin that hands out protocol buffers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoderbufs {
    /// The form, once a message has told it.
    form: Option<Form>,
}

/// Which of the forms a server writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Debezium,
    /// Schema and table apart: everything behind them has a number that is greater by one.
    Apart,
}

impl Plugin for Decoderbufs {
    fn name(&self) -> &'static str {
        "decoderbufs"
    }

    fn next<'a>(&mut self, data: &mut &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>> {
        row.clear();
        let data = std::mem::take(data);
        let form = form(data).map(|told| told.or(self.form));
        let Some(form) = form else {
            return malformed(format!("not a message of decoderbufs: {}", shortened(data)));
        };
        let Some(form) = form else {
            return malformed(format!(
                "a message of decoderbufs that tells neither its table nor its operation: {}",
                shortened(data)
            ));
        };
        self.form = Some(form);
        match message(data, form, row) {
            Some(event) => Ok(event),
            None => malformed(format!(
                "not a message of decoderbufs in the form {form:?}: {}",
                shortened(data)
            )),
        }
    }

    fn call<'p>(&self, _publications: &'p str) -> PluginCall<'p> {
        PluginCall {
            options: Vec::new(),
            binary: true,
            says_xid: false,
            says_end: false,
            // Transaction, time and operation alone, and the operation is that of an end.
            with_ends: Some(
                r"octet_length(data) <= 24 AND substring(data FROM octet_length(data) - 1) IN ('\x2004'::bytea, '\x2804'::bytea)",
            ),
        }
    }
}

/// What the fields of a message say of its form: `None` if it is no message, `Some(None)` if they do not say.
fn form(data: &[u8]) -> Option<Option<Form>> {
    let mut fields = Fields(data);
    let mut told = None;
    while let Some(field) = fields.next()? {
        match field {
            (4, Wire::Varint(_)) => told = Some(Form::Debezium),
            (4, Wire::Bytes(_)) | (5, Wire::Varint(_)) => told = Some(Form::Apart),
            _ => {}
        }
    }
    Some(told)
}

/// `Op` of the plugin's definitions.
mod operation {
    pub const INSERT: u64 = 0;
    pub const UPDATE: u64 = 1;
    pub const DELETE: u64 = 2;
    pub const BEGIN: u64 = 3;
    pub const COMMIT: u64 = 4;
}

fn message<'a>(data: &'a [u8], form: Form, row: &mut Row<'a>) -> Option<Event<'a>> {
    let shift = match form {
        Form::Debezium => 0,
        Form::Apart => 1,
    };
    let (mut xid, mut micros, mut op) = (None, None, None);
    let (mut schema, mut table): (&[u8], Option<&[u8]>) = (b"", None);
    let mut fields = Fields(data);
    while let Some((number, wire)) = fields.next()? {
        match (number, wire) {
            (1, Wire::Varint(value)) => xid = Some(u32::try_from(value).ok()?),
            (2, Wire::Varint(value)) => micros = Some(value as i64),
            (3, Wire::Bytes(name)) if form == Form::Apart => schema = name,
            (number, Wire::Bytes(name)) if number == 3 + shift => table = Some(name),
            (number, Wire::Varint(value)) if number == 4 + shift => op = Some(value),
            (number, Wire::Bytes(value)) if number == 5 + shift => row.new.push(datum(value, shift)?),
            (number, Wire::Bytes(value)) if number == 6 + shift => row.old.push(datum(value, shift)?),
            (number, Wire::Bytes(_)) if number == 7 + shift => {}
            _ => return None,
        }
    }
    // An absent operation would be the first one of the enumeration in version 3 of the protocol, and no operation at all
    // in version 2.
    let table = match (form, table) {
        (Form::Debezium, Some(name)) => Some(TableRef::Name(name)),
        (Form::Apart, Some(name)) => Some(TableRef::Plain(schema, name)),
        (_, None) => None,
    };
    let old = (!row.old.is_empty()).then_some(Old::WithoutNulls);
    Some(match (op?, table) {
        (operation::BEGIN, None) => Event::Begin(Begin {
            xid,
            commit: None,
            micros,
        }),
        (operation::COMMIT, None) => Event::Commit(Commit { xid, micros }),
        (operation::INSERT, Some(table)) => Event::Insert(table),
        (operation::UPDATE, Some(table)) => Event::Update(table, old),
        (operation::DELETE, Some(table)) => Event::Delete(table, old),
        _ => return None,
    })
}

/// A column and its value.
fn datum<'a>(data: &'a [u8], shift: u64) -> Option<Cell<'a>> {
    let (mut name, mut datum) = (None, None);
    let mut fields = Fields(data);
    while let Some((number, wire)) = fields.next()? {
        let value = match (number, wire) {
            (1, Wire::Bytes(bytes)) => {
                name = Some(bytes);
                continue;
            }
            (2, Wire::Varint(_)) => continue,
            (3, Wire::Varint(_) | Wire::Bytes(_)) if shift == 1 => Datum::Null,
            (number, wire) => match (number.checked_sub(shift)?, wire) {
                (3, Wire::Varint(value)) => Datum::Int(i64::from(value as i32)),
                (4, Wire::Varint(value)) => Datum::Int(value as i64),
                (5, Wire::Four(bytes)) => Datum::Single(f32::from_le_bytes(bytes)),
                (6, Wire::Eight(bytes)) => Datum::Float(f64::from_le_bytes(bytes)),
                (7, Wire::Varint(value)) => Datum::Bool(value != 0),
                (8, Wire::Bytes(text)) => Datum::Text(text),
                (9, Wire::Bytes(bytes)) => Datum::Bytes(bytes),
                (10, Wire::Bytes(bytes)) => point(bytes)?,
                (11, Wire::Varint(_)) => Datum::Unchanged,
                _ => return None,
            },
        };
        datum = Some(value);
    }
    Some(Cell {
        name: name?,
        kind: b"",
        datum: datum.unwrap_or(Datum::Null),
    })
}

fn point<'a>(data: &[u8]) -> Option<Datum<'a>> {
    let (mut x, mut y) = (0.0, 0.0);
    let mut fields = Fields(data);
    while let Some(field) = fields.next()? {
        match field {
            (1, Wire::Eight(bytes)) => x = f64::from_le_bytes(bytes),
            (2, Wire::Eight(bytes)) => y = f64::from_le_bytes(bytes),
            _ => return None,
        }
    }
    Some(Datum::Point(x, y))
}

/// A field of a message (protocol buffers, "Encoding").
#[derive(Clone, Copy, Debug)]
enum Wire<'a> {
    Varint(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    Four([u8; 4]),
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next field and its number: `None` if it is none, `Some(None)` at the end.
    #[allow(clippy::should_implement_trait)]
    fn next(&mut self) -> Option<Option<(u64, Wire<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Eight(self.take()?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Wire::Bytes(bytes)
            }
            5 => Wire::Four(self.take()?),
            _ => return None,
        };
        Some(Some((tag >> 3, wire)))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// Seven bits a byte, the lowest first, at most ten bytes.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (place, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * place as u32);
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Some(value);
            }
        }
        None
    }
}
