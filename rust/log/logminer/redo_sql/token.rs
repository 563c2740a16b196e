//! A value as the grammar passes it on: two words, which stay in registers. It becomes a [`Value`] when asked for.

use std::num::NonZeroU64;

use super::value::{Call, OutOfRow, Text, Value};

/// The forms of a value; those of [`Value`], with their flags spelt out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// The statement does not name the column.
    pub(super) const ABSENT: Kind = Kind(0);
    pub(super) const NULL: Kind = Kind(1);
    pub(super) const TEXT: Kind = Kind(2);
    /// A text with doubled quotes inside.
    pub(super) const DOUBLED_TEXT: Kind = Kind(3);
    pub(super) const NUMBER: Kind = Kind(4);
    pub(super) const TRUE: Kind = Kind(5);
    pub(super) const FALSE: Kind = Kind(6);
    pub(super) const DATE: Kind = Kind(7);
    pub(super) const TIME: Kind = Kind(8);
    pub(super) const TIMESTAMP: Kind = Kind(9);
    pub(super) const INTERVAL: Kind = Kind(10);
    pub(super) const HEX: Kind = Kind(11);
    pub(super) const EXPRESSION: Kind = Kind(12);
    pub(super) const CALL: Kind = Kind(13);
    pub(super) const OUT_CLOB: Kind = Kind(14);
    pub(super) const OUT_CLOB_HANDLE: Kind = Kind(15);
    pub(super) const OUT_BLOB: Kind = Kind(16);
    pub(super) const OUT_BLOB_HANDLE: Kind = Kind(17);
    pub(super) const UNSUPPORTED: Kind = Kind(18);
}

/// A value's form and its place in the statement.
///
/// The fields are packed by hand: a struct of four small fields would be written in parts and read as a whole, which stalls the
/// processor longer than all else that is done for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// Start in the lower, end in the upper half.
    span: u64,
    /// A one, the kind in the rest of the lower half, of a call the length of its name in the upper half.
    tag: NonZeroU64,
}

impl Token {
    pub(super) const ABSENT: Token = Token {
        span: 0,
        tag: NonZeroU64::MIN,
    };

    /// A token of the bytes from `start` to `end`. Statements are shorter than 4 GiB: the parser refuses others.
    #[inline(always)]
    pub(super) fn new(kind: Kind, start: usize, end: usize) -> Token {
        let span = start as u64 | (end as u64) << 32;
        Token {
            span,
            tag: NonZeroU64::MIN | (u64::from(kind.0) << 1),
        }
    }

    /// A call that begins with its name.
    #[inline(always)]
    pub(super) fn call(start: usize, end: usize, name_len: usize) -> Token {
        let call = Token::new(Kind::CALL, start, end);
        Token {
            tag: call.tag | (name_len as u64) << 32,
            ..call
        }
    }

    /// The same place as another kind.
    pub(super) fn with_kind(self, kind: Kind) -> Token {
        Token {
            span: self.span,
            tag: NonZeroU64::MIN | (u64::from(kind.0) << 1),
        }
    }

    #[inline(always)]
    pub(super) fn kind(self) -> Kind {
        Kind((self.tag.get() >> 1) as u8)
    }

    /// The bytes of the token.
    #[inline(always)]
    pub(super) fn raw(self, sql: &[u8]) -> &[u8] {
        sql.get(self.span as u32 as usize..(self.span >> 32) as usize)
            .unwrap_or_default()
    }

    /// What the token stands for in its statement.
    #[inline(always)]
    pub(super) fn value(self, sql: &[u8]) -> Option<Value<'_>> {
        let raw = self.raw(sql);
        Some(match self.kind() {
            Kind::ABSENT => return None,
            Kind::NULL => Value::Null,
            Kind::TEXT => Value::Text(Text { raw, doubled: false }),
            Kind::DOUBLED_TEXT => Value::Text(Text { raw, doubled: true }),
            Kind::NUMBER => Value::Number(raw),
            Kind::TRUE => Value::Boolean(true),
            Kind::FALSE => Value::Boolean(false),
            Kind::DATE => Value::Date(raw),
            Kind::TIME => Value::Time(raw),
            Kind::TIMESTAMP => Value::Timestamp(raw),
            Kind::INTERVAL => Value::Interval(raw),
            Kind::HEX => Value::Hex(raw),
            Kind::EXPRESSION => Value::Expression(raw),
            Kind::CALL => Value::Call(Call {
                raw,
                name_len: (self.tag.get() >> 32) as u32,
            }),
            Kind::OUT_CLOB => Value::OutOfRow(OutOfRow {
                binary: false,
                handle: None,
            }),
            Kind::OUT_CLOB_HANDLE => Value::OutOfRow(OutOfRow {
                binary: false,
                handle: Some(raw),
            }),
            Kind::OUT_BLOB => Value::OutOfRow(OutOfRow {
                binary: true,
                handle: None,
            }),
            Kind::OUT_BLOB_HANDLE => Value::OutOfRow(OutOfRow {
                binary: true,
                handle: Some(raw),
            }),
            _ => Value::Unsupported,
        })
    }
}
