//! What a statement means, owned and plain: what rows are rendered from and what parsers are compared by.

use tidemark::log::logminer::redo_sql::{Name, Statement, Value};

pub type Bytes = Vec<u8>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Null,
    /// The text itself.
    Text(Bytes),
    /// A number, TRUE or FALSE.
    Bare(Bytes),
    /// DATE, TIME, TIMESTAMP, HEX with what is between the quotes or after `0x`; INTERVAL with the whole literal.
    Typed(&'static str, Bytes),
    Call(Bytes, Vec<Meaning>),
    /// Whether it is binary, and its handle.
    OutOfRow(bool, Option<Bytes>),
    Unsupported,
}

impl Meaning {
    pub fn text(text: &str) -> Meaning {
        Meaning::Text(text.as_bytes().to_vec())
    }
}

/// A column list with its values.
pub type List = Vec<(Bytes, Meaning)>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    pub owner: Option<Bytes>,
    pub table: Bytes,
    pub values: List,
    pub set: List,
    pub conditions: List,
    pub row_id: Option<Meaning>,
}

/// What the parser's value means; an expression with half of a surrogate pair means nothing.
pub fn meaning(value: &Value<'_>) -> Option<Meaning> {
    let typed = |name, raw: &[u8]| Some(Meaning::Typed(name, raw.to_vec()));
    match value {
        Value::Null => Some(Meaning::Null),
        Value::Text(_) | Value::Expression(_) => {
            let mut text = vec![];
            value.decode_text(&mut text).ok()?;
            Some(Meaning::Text(text))
        }
        Value::Number(raw) => Some(Meaning::Bare(raw.to_vec())),
        Value::Boolean(truth) => Some(Meaning::Bare(if *truth { b"TRUE".to_vec() } else { b"FALSE".to_vec() })),
        Value::Date(raw) => typed("DATE", raw),
        Value::Time(raw) => typed("TIME", raw),
        Value::Timestamp(raw) => typed("TIMESTAMP", raw),
        Value::Interval(raw) => typed("INTERVAL", raw),
        Value::Hex(raw) => typed("HEX", raw),
        Value::Call(call) => {
            let mut name = vec![];
            call.name_into(&mut name);
            let args: Option<Vec<Meaning>> = call.args().map(|value| meaning(&value)).collect();
            Some(Meaning::Call(name, args?))
        }
        Value::OutOfRow(out) => Some(Meaning::OutOfRow(out.binary, out.handle.map(<[u8]>::to_vec))),
        Value::Unsupported => Some(Meaning::Unsupported),
    }
}

pub fn name(name: &Name<'_>) -> Bytes {
    let mut bytes = vec![];
    name.decode_into(&mut bytes);
    assert!(name.is(&bytes));
    bytes
}

fn list(list: &[(Name<'_>, Value<'_>)]) -> Option<List> {
    list.iter()
        .map(|(column, value)| Some((name(column), meaning(value)?)))
        .collect()
}

/// What the parser's statement means.
pub fn change(statement: &Statement<'_>) -> Option<Change> {
    Some(Change {
        owner: statement.owner.as_ref().map(name),
        table: statement.table.as_ref().map(name)?,
        values: list(&statement.values)?,
        set: list(&statement.set)?,
        conditions: list(&statement.conditions)?,
        row_id: match &statement.row_id {
            Some(value) => Some(meaning(value)?),
            None => None,
        },
    })
}
