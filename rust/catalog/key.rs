//! Keys in a form that compares bytewise as the database orders them (numbers by value, text by the server's bytes), and
//! back from there into literals. Each column's bytes delimit themselves, so that those of a key's columns follow one
//! another. In front of them stands what tells keys of another make apart: the same for all keys of a table.

mod number;
mod text;
mod time;

use std::cmp::Ordering;

use crate::catalog::text_order::TextOrder;
use crate::catalog::{ColumnType, Table};
use crate::dialect::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::row::value::Value;

/// Encodes and decodes the keys of one table.
#[derive(Clone, Debug)]
pub struct KeyCodec {
    columns: Vec<KeyColumn>,
    make: [u8; 4],
    ordered: bool,
}

#[derive(Clone, Debug)]
struct KeyColumn {
    number: usize,
    name: String,
    kind: Kind,
}

/// The forms of a column's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Eight bytes.
    Integer,
    Decimal,
    Text(text::Form),
    Bytes,
    /// One byte.
    Boolean,
    Date,
    Time,
    Timestamp,
    /// The same, in UTC.
    TimestampZoned,
}

impl KeyCodec {
    /// The codec of a table's key.
    ///
    /// # Errors
    /// The table has no key, or a column's type has no order that is the same everywhere.
    pub fn new(table: &Table) -> Result<Self> {
        let columns = table.key.iter().map(|&number| {
            let column = table
                .columns
                .get(number)
                .ok_or_else(|| ErrorKind::Internal(format!("the key names column {number}, which is not there")))?;
            let kind = kind(&column.kind, &table.text_order).ok_or_else(|| {
                ErrorKind::Catalog(format!(
                    "key column '{}' has type {:?}, by which a table cannot be cut",
                    column.name, column.kind
                ))
            })?;
            Ok(KeyColumn {
                number,
                name: column.name.clone(),
                kind,
            })
        });
        let columns: Vec<KeyColumn> = columns
            .collect::<Result<_>>()
            .map_err(|error: Error| error.on(&table.name))?;
        if columns.is_empty() {
            let kind =
                ErrorKind::Catalog("the table has neither a primary key nor a unique key of NOT NULL columns".into());
            return Err(Error::from(kind).on(&table.name));
        }
        let is_text = |&column: &usize| matches!(table.columns[column].kind, ColumnType::Text { .. });
        let has_text = table.key.iter().any(is_text);
        Ok(KeyCodec {
            make: make(&columns),
            ordered: !has_text || table.text_order.charset.is_some(),
            columns,
        })
    }

    /// The names of the key's columns, in the key's order.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Whether the order of keys is the database's. Else only equal keys are the same on both sides.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether these bytes are a key of this make.
    ///
    /// # Errors
    /// `State`: they are not.
    pub fn check(&self, key: &[u8]) -> Result<()> {
        if key.starts_with(&self.make) {
            return Ok(());
        }
        Err(ErrorKind::State(format!(
            "its keys are not made of the columns ({}) in this order and of their types; was \
             'scan.incremental.snapshot.chunk.key-column' or the table's key changed since?",
            self.names().join(", ")
        ))
        .into())
    }

    /// Appends a key; `value` gives a column's value by its number in the table.
    ///
    /// # Errors
    /// A key column is absent, NULL or not of its type; the key is not appended then.
    pub fn encode<'v>(&self, value: &dyn Fn(usize) -> Value<'v>, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&self.make);
        for column in &self.columns {
            let value = value(column.number);
            if let Err(reason) = column.encode(value, out) {
                out.truncate(start);
                return Err(ErrorKind::Value {
                    column: column.name.clone(),
                    key: "?".into(),
                    reason: format!("{reason}: {value:?}"),
                }
                .into());
            }
        }
        Ok(())
    }

    /// The literals that a key consists of, in the key's order.
    ///
    /// # Errors
    /// `State`: the bytes are no key of this table.
    pub fn literals(&self, key: &[u8]) -> Result<Vec<Literal>> {
        self.check(key)?;
        let mut rest = &key[self.make.len()..];
        let literals = self.columns.iter().map(|column| column.decode(&mut rest));
        literals
            .collect::<Option<Vec<_>>>()
            .filter(|literals| rest.is_empty() && self.is_made_of(key, literals))
            .ok_or_else(|| {
                ErrorKind::State("a key does not fit the table's key columns; were they altered?".into()).into()
            })
    }

    /// Whether literals make these bytes: a damaged key may look like another one.
    fn is_made_of(&self, key: &[u8], literals: &[Literal]) -> bool {
        let mut made = self.make.to_vec();
        let mut columns = self.columns.iter().zip(literals);
        columns.all(|(column, literal)| column.encode(literal.value(), &mut made).is_ok()) && made == key
    }
}

impl KeyColumn {
    fn encode(&self, value: Value<'_>, out: &mut Vec<u8>) -> std::result::Result<(), &'static str> {
        match (self.kind, value) {
            (_, Value::Absent | Value::Unavailable) => Err("the record does not hold this key column"),
            (_, Value::Null) => Err("a key column is NULL"),
            (Kind::Integer, Value::Int(value)) => {
                number::push_integer(value, out);
                Ok(())
            }
            (Kind::Integer, Value::Number(text)) => {
                let value = number::parse_integer(text).ok_or("not an integer of 64 bits")?;
                number::push_integer(value, out);
                Ok(())
            }
            (Kind::Decimal, Value::Number(text)) => number::push_decimal(text, out).ok_or("not a number"),
            (Kind::Decimal, Value::Int(value)) => {
                let mut digits = [0; 20];
                number::push_decimal(number::digits(value, &mut digits), out).ok_or("not a number")
            }
            (Kind::Boolean, Value::Int(value @ (0 | 1))) => {
                out.push(value as u8);
                Ok(())
            }
            (Kind::Boolean, Value::Number(text @ (b"0" | b"1"))) => {
                out.push(text[0] - b'0');
                Ok(())
            }
            (Kind::Text(form), Value::Text(text)) => text::push_text(text, form, out),
            (Kind::Bytes, Value::Bytes(bytes)) => {
                text::push_bytes(bytes, out);
                Ok(())
            }
            (Kind::Bytes, Value::Hex(digits)) => text::push_hex(digits, out).ok_or("not hexadecimal"),
            (Kind::Date, Value::Date(text)) => time::push_date(text, out).ok_or("not a date"),
            (Kind::Time, Value::Time(text)) => time::push_time(text, out).ok_or("not a time"),
            (Kind::Timestamp, Value::Timestamp(text)) => time::push_timestamp(text, out).ok_or("not a timestamp"),
            (Kind::TimestampZoned, Value::Timestamp(text)) => {
                time::push_zoned(text, out).ok_or("not a timestamp with its offset")
            }
            _ => Err("not of the key column's type"),
        }
    }

    fn decode(&self, from: &mut &[u8]) -> Option<Literal> {
        Some(match self.kind {
            Kind::Integer => Literal::Number(number::take_integer(from)?.to_string()),
            Kind::Decimal => Literal::Number(number::take_decimal(from)?),
            Kind::Boolean => Literal::Boolean(take::<1>(from)? == [1]),
            Kind::Text(form) => Literal::Text(text::take_text(from, form)?),
            Kind::Bytes => Literal::Bytes(text::take_bytes(from)?),
            Kind::Date => Literal::Date(time::take_date(from)?),
            Kind::Time => Literal::Time(time::take_time(from)?),
            Kind::Timestamp => Literal::Timestamp(time::take_timestamp(from)?),
            Kind::TimestampZoned => Literal::TimestampZoned(time::take_zoned(from)?),
        })
    }
}

impl Kind {
    /// A number for each kind, for ever.
    fn number(self) -> u8 {
        match self {
            Kind::Integer => 1,
            Kind::Decimal => 2,
            Kind::Bytes => 3,
            Kind::Boolean => 4,
            Kind::Date => 5,
            Kind::Time => 6,
            Kind::Timestamp => 7,
            Kind::TimestampZoned => 8,
            Kind::Text(form) => 0x80 | form.number(),
        }
    }
}

/// FNV-1a over the columns' names and kinds, in the key's order.
fn make(columns: &[KeyColumn]) -> [u8; 4] {
    let bytes = columns
        .iter()
        .flat_map(|column| column.name.bytes().chain([0, column.kind.number()]));
    bytes
        .fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
        .to_be_bytes()
}

/// How a server that compares text so compares two of them; `None` where one of them cannot be in a key.
pub(crate) fn compare_texts(order: &TextOrder, a: &str, b: &str) -> Option<Ordering> {
    let bytes = |text: &str| {
        let mut out = Vec::new();
        text::push_text(text.as_bytes(), text::Form::new(order, false), &mut out).ok()?;
        Some(out)
    };
    Some(bytes(a)?.cmp(&bytes(b)?))
}

/// Whether a key may consist of columns of this type.
pub(crate) fn is_orderable(column: &ColumnType) -> bool {
    kind(column, &TextOrder::BYTES).is_some()
}

fn kind(column: &ColumnType, text: &TextOrder) -> Option<Kind> {
    Some(match column {
        ColumnType::Boolean => Kind::Boolean,
        ColumnType::Integer { .. } => Kind::Integer,
        ColumnType::Decimal { .. } => Kind::Decimal,
        ColumnType::Text {
            length: Some(_),
            padded,
        } => Kind::Text(text::Form::new(text, *padded)),
        ColumnType::Shown { .. } => Kind::Text(text::Form::new(&TextOrder::BYTES, false)),
        ColumnType::Binary { length: Some(_) } => Kind::Bytes,
        ColumnType::Date => Kind::Date,
        ColumnType::Time { .. } => Kind::Time,
        ColumnType::Timestamp { .. } => Kind::Timestamp,
        ColumnType::TimestampZoned { .. } => Kind::TimestampZoned,
        // Each session is shown another text, and a span has no one order of its own.
        ColumnType::TimestampLocal { .. } | ColumnType::TimeZoned { .. } | ColumnType::Interval { .. } => return None,
        // A floating-point number's text in the log need not be the number that the table holds.
        ColumnType::Float { .. }
        | ColumnType::Text { length: None, .. }
        | ColumnType::Binary { length: None }
        | ColumnType::Unsupported(_) => return None,
    })
}

/// The next bytes of a key.
fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*bytes)
}

#[cfg(test)]
mod tests;
