//! Keys and rows of the model's tables, and the SELECT that reads them.

use std::sync::{Arc, OnceLock};

use tidemark::error::{ErrorKind, Result};
use tidemark::log::Patience;
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, Key, TableName};
use tidemark::unavailable::look_up::{FoundRows, KeyedSource, LookUp};
use tidemark::unavailable::{Completion, OnUnavailable, PLACEHOLDER};

use crate::database::{Row, RowKey, Shared};
use crate::mined;

/// The reader's table list.
pub fn table_names() -> &'static [Arc<TableName>; 2] {
    static NAMES: OnceLock<[Arc<TableName>; 2]> = OnceLock::new();
    NAMES.get_or_init(|| {
        ["A", "B"].map(|name| {
            Arc::new(TableName {
                schema: "BIZ".into(),
                name: name.into(),
            })
        })
    })
}

pub fn table_number(name: &TableName) -> u32 {
    u32::from(name.name == "B")
}

pub fn key_bytes(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

pub fn key(key: u64) -> Key {
    Key(Box::new(key_bytes(key)))
}

pub fn key_number(key: &[u8]) -> u64 {
    key.try_into().map_or(u64::MAX, u64::from_be_bytes)
}

/// The column of the body: a large object that the log does not hold. Its value is the row's version.
pub const BODY: usize = 2;

/// What the body of a row is that was gone when it was read back: later than any.
const GONE: u64 = u64::MAX;

/// A row's image: key, version, body, and the key that a faulty filter judges it by.
pub fn image(values: &mut ValueBuffer, row: Row, judged: u64) -> Image {
    let image = values.begin(4);
    for (column, value) in [(0, row.0), (1, row.1), (3, judged)] {
        values.set(image, column, Value::Int(value as i64));
    }
    values.set(image, BODY, Value::Unavailable);
    image
}

fn number(values: &ValueBuffer, image: Image, column: usize) -> Result<u64> {
    match values.get(image, column) {
        Value::Int(value) => Ok(value as u64),
        Value::Text(placeholder) if placeholder == PLACEHOLDER.as_bytes() => Ok(GONE),
        Value::Number(digits) | Value::Text(digits) => Ok(digits
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))),
        other => Err(ErrorKind::Internal(format!("{other:?} is no number")).into()),
    }
}

/// Rows are the table, the key, the version and the body, their kind is told beside them.
pub struct ModelCodec {
    pub judges_once: bool,
}

impl RowCodec for ModelCodec {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        let column = if self.judges_once { 3 } else { 0 };
        out.extend_from_slice(&key_bytes(number(values, image, column)?));
        Ok(())
    }

    fn row(
        &self,
        table: u32,
        _: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let [key, version, body] = [0, 1, BODY].map(|column| number(values, image, column));
        encode((table, key?), version?, body?, out);
        Ok(())
    }
}

fn encode(key: RowKey, version: u64, body: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&key.0.to_be_bytes());
    out.extend_from_slice(&key.1.to_be_bytes());
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&body.to_be_bytes());
}

/// A row as it came out.
#[derive(Clone, Copy)]
pub struct Out {
    pub key: RowKey,
    pub version: u64,
    pub body: u64,
}

pub fn decode(row: &[u8]) -> Out {
    let table = u32::from_be_bytes(row[..4].try_into().unwrap());
    Out {
        key: (table, key_number(&row[4..12])),
        version: key_number(&row[12..20]),
        body: key_number(&row[20..]),
    }
}

/// SELECTs that see what is visible at one moment.
pub struct ModelSource {
    pub database: Shared,
}

impl PageSource for ModelSource {
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        let database = self.database.after_others();
        let table = table_number(&chunk.table);
        let lower = chunk.range.lower.as_ref().map_or(0, |key| key_number(&key.0));
        let upper = chunk.range.upper.as_ref().map_or(u64::MAX, |key| key_number(&key.0));
        let mut row = Vec::new();
        for (&at, &version) in database.table.range((table, lower)..(table, upper)) {
            if into.len() >= limit.rows || into.size() >= limit.bytes {
                return Ok(Some(key(at.1)));
            }
            row.clear();
            encode(at, version, version, &mut row);
            into.push_encoded(&key_bytes(at.1), &row);
        }
        Ok(None)
    }
}

/// Bodies of rows, looked up at one moment.
struct Bodies(Shared);

impl KeyedSource for Bodies {
    fn look_up(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool> {
        let LookUp {
            number: table, keys, ..
        } = *wanted;
        assert_eq!(wanted.columns, [BODY]);
        let mut database = self.0.after_others();
        for key in keys {
            if let Some(version) = database.table.get(&(table, key_number(key))) {
                let image = into.values.begin(4);
                into.values
                    .set(image, BODY, Value::Text(version.to_string().as_bytes()));
                into.add(table, key, image);
                // Full, as it were.
                if keys.len() > 1 && database.below(5) == 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Reads bodies back from a database.
pub fn completion(database: &Shared, patience: Patience) -> Completion {
    let tables = mined::captured().into_iter().map(|captured| captured.table).collect();
    let database = database.clone();
    let connect = move || -> Result<Box<dyn KeyedSource>> { Ok(Box::new(Bodies(database.clone()))) };
    Completion::new(OnUnavailable::ReadBack, tables, patience, Box::new(connect))
}
