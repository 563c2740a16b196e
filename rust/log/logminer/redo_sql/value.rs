//! What a redo text says: names and values, borrowed from its bytes as they stand there.

use super::cursor::Cursor;
use super::decode;
use super::error::{Failed, RedoError};

/// A quoted name: owner, table or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name<'a> {
    /// The bytes between the outer quotes, as they stand in the text.
    pub raw: &'a [u8],
    /// Whether quotes inside are doubled in `raw`.
    pub doubled: bool,
}

impl Name<'_> {
    /// Whether this is the name `other`, which is given as the dictionary has it.
    pub fn is(&self, other: &[u8]) -> bool {
        if !self.doubled {
            return self.raw == other;
        }
        decode::undoubled(self.raw, b'"').eq(other.iter().copied())
    }

    /// Appends the name as the dictionary has it.
    pub fn decode_into(&self, out: &mut Vec<u8>) {
        decode::undouble(self.raw, b'"', self.doubled, out);
    }
}

/// A text literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// The bytes between the outer quotes, as they stand in the text.
    pub raw: &'a [u8],
    /// Whether quotes inside are doubled in `raw`.
    pub doubled: bool,
}

impl Text<'_> {
    /// Appends the text itself.
    pub fn decode_into(&self, out: &mut Vec<u8>) {
        decode::undouble(self.raw, b'\'', self.doubled, out);
    }
}

/// A value as the redo text gives it, not yet converted to the type of its column.
///
/// Text and the words that look like it stay apart: `'OUT_CLOB'` is [`Value::Text`], `OUT_CLOB` is [`Value::OutOfRow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// `NULL`, or `IS NULL` in a condition.
    Null,
    /// `'…'`: texts, and numbers too where the log quotes them.
    Text(Text<'a>),
    /// A bare number: sign, digits, point, exponent as written.
    Number(&'a [u8]),
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// `DATE'…'`: what is between the quotes.
    Date(&'a [u8]),
    /// `TIME'…'`.
    Time(&'a [u8]),
    /// `TIMESTAMP'…'` and `DATETIME'…'`, with or without a zone.
    Timestamp(&'a [u8]),
    /// `INTERVAL'…' qualifier`: the whole literal.
    Interval(&'a [u8]),
    /// `0x…`: the digits, an even count of them, possibly none.
    Hex(&'a [u8]),
    /// An expression of `UNISTR('…')`, `'…'` and `||`: the text that [`Value::decode_text`] gives.
    Expression(&'a [u8]),
    /// Any other call.
    Call(Call<'a>),
    /// A large value that the log does not hold: neither NULL nor a text.
    OutOfRow(OutOfRow<'a>),
    /// `Unsupported Type`: the log could not render it. Not NULL.
    Unsupported,
}

impl<'a> Value<'a> {
    /// Appends the text of a [`Value::Text`] or [`Value::Expression`]; of any other form, the bytes that stand for it (nothing for
    /// those without any). Fails on an expression that holds half of a surrogate pair, which no UTF-8 text can.
    pub fn decode_text(&self, out: &mut Vec<u8>) -> Result<(), RedoError> {
        match self {
            Value::Text(text) => text.decode_into(out),
            Value::Expression(raw) => return decode::expression(raw, out),
            _ => out.extend_from_slice(self.bytes()),
        }
        Ok(())
    }

    /// The bytes of the value as they stand in the redo text, without outer quotes and prefixes.
    pub fn bytes(&self) -> &'a [u8] {
        match *self {
            Value::Null | Value::Unsupported => b"",
            Value::Text(text) => text.raw,
            Value::Number(raw)
            | Value::Date(raw)
            | Value::Time(raw)
            | Value::Timestamp(raw)
            | Value::Interval(raw)
            | Value::Hex(raw)
            | Value::Expression(raw) => raw,
            Value::Boolean(true) => b"TRUE",
            Value::Boolean(false) => b"FALSE",
            Value::Call(call) => call.raw,
            Value::OutOfRow(out_of_row) => out_of_row.handle.unwrap_or_default(),
        }
    }
}

/// A large value that stands outside the row, so that the log has no content for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRow<'a> {
    /// Whether it is a binary value (`OUT_BLOB`) or a text (`OUT_CLOB`).
    pub binary: bool,
    /// What stands in parentheses after the word, if the server writes a handle.
    pub handle: Option<&'a [u8]>,
}

/// A call: `TO_DATE('…', '…')`, `HEXTORAW('…')`, `EMPTY_CLOB()`, `"OWNER"."TYPE"(…)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The whole call as it stands in the text.
    pub raw: &'a [u8],
    /// How many bytes of `raw` are the name, which may be quoted and have an owner.
    pub(super) name_len: u32,
}

impl<'a> Call<'a> {
    /// The name as it stands in the text.
    pub fn name(&self) -> &'a [u8] {
        self.raw.get(..self.name_len as usize).unwrap_or_default()
    }

    /// Whether this is a call of the function `name`, in capitals or not.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }

    /// Appends the name without quotes, its parts joined by dots.
    pub fn name_into(&self, out: &mut Vec<u8>) {
        let mut cursor = Cursor::new(self.name(), false);
        while let Some(byte) = cursor.peek() {
            match byte {
                b'"' => match cursor.name("a name") {
                    Ok(name) => name.decode_into(out),
                    Err(Failed) => return,
                },
                _ => {
                    out.push(byte);
                    cursor.at += 1;
                }
            }
        }
    }

    /// The arguments in order. They were checked when the call was read; they are cut again on demand.
    pub fn args(&self) -> Args<'a> {
        let mut cursor = Cursor::new(self.raw, false);
        cursor.at = self.name_len as usize;
        let open = cursor.take_byte(b'(') && !cursor.take_byte(b')');
        Args { cursor, open }
    }
}

/// The arguments of a [`Call`].
#[derive(Debug, Clone)]
pub struct Args<'a> {
    cursor: Cursor<'a>,
    open: bool,
}

impl<'a> Iterator for Args<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if !self.open {
            return None;
        }
        let value = self.cursor.value().ok().and_then(|token| token.value(self.cursor.sql));
        self.open = value.is_some() && self.cursor.take_byte(b',');
        value
    }
}
