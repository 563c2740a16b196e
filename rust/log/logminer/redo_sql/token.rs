//! A value as the grammar passes it on: flat and small, so that it stays in registers. It becomes a [`Value`] when asked for.

use super::value::{Call, OutOfRow, Text, Value};

/// The forms of a value; those of [`Value`], with their flags spelt out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The statement does not name the column.
    Absent,
    Null,
    Text,
    /// A text with doubled quotes inside.
    DoubledText,
    Number,
    True,
    False,
    Date,
    Time,
    Timestamp,
    Interval,
    Hex,
    Expression,
    Call,
    OutClob,
    OutClobHandle,
    OutBlob,
    OutBlobHandle,
    Unsupported,
}

/// A value's form and its place in the statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Of a call: how long its name is.
    pub(super) name_len: u32,
    pub(super) kind: Kind,
}

impl Token {
    pub(super) const ABSENT: Token = Token {
        start: 0,
        end: 0,
        name_len: 0,
        kind: Kind::Absent,
    };

    /// A token of the bytes from `start` to `end`. Statements are shorter than 4 GiB: the parser refuses others.
    #[inline(always)]
    pub(super) fn new(kind: Kind, start: usize, end: usize) -> Token {
        Token {
            start: start as u32,
            end: end as u32,
            name_len: 0,
            kind,
        }
    }

    /// What the token stands for in its statement.
    #[inline(always)]
    pub(super) fn value(self, sql: &[u8]) -> Option<Value<'_>> {
        let raw = sql.get(self.start as usize..self.end as usize).unwrap_or_default();
        Some(match self.kind {
            Kind::Absent => return None,
            Kind::Null => Value::Null,
            Kind::Text => Value::Text(Text { raw, doubled: false }),
            Kind::DoubledText => Value::Text(Text { raw, doubled: true }),
            Kind::Number => Value::Number(raw),
            Kind::True => Value::Boolean(true),
            Kind::False => Value::Boolean(false),
            Kind::Date => Value::Date(raw),
            Kind::Time => Value::Time(raw),
            Kind::Timestamp => Value::Timestamp(raw),
            Kind::Interval => Value::Interval(raw),
            Kind::Hex => Value::Hex(raw),
            Kind::Expression => Value::Expression(raw),
            Kind::Call => Value::Call(Call {
                raw,
                name_len: self.name_len,
            }),
            Kind::OutClob => Value::OutOfRow(OutOfRow {
                binary: false,
                handle: None,
            }),
            Kind::OutClobHandle => Value::OutOfRow(OutOfRow {
                binary: false,
                handle: Some(raw),
            }),
            Kind::OutBlob => Value::OutOfRow(OutOfRow {
                binary: true,
                handle: None,
            }),
            Kind::OutBlobHandle => Value::OutOfRow(OutOfRow {
                binary: true,
                handle: Some(raw),
            }),
            Kind::Unsupported => Value::Unsupported,
        })
    }
}
