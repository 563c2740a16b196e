//! Keys and rows of the model's tables, and the SELECT that reads them.

use std::sync::{Arc, OnceLock};

use tidemark::error::{ErrorKind, Result};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, Key, TableName};

use crate::database::{Row, RowKey, Shared};

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

/// A row's image: key, version, and the key that a faulty filter judges it by.
pub fn image(values: &mut ValueBuffer, row: Row, judged: u64) -> Image {
    let image = values.begin(3);
    for (column, value) in [row.0, row.1, judged].into_iter().enumerate() {
        values.set(image, column, Value::Int(value as i64));
    }
    image
}

fn number(values: &ValueBuffer, image: Image, column: usize) -> Result<u64> {
    match values.get(image, column) {
        Value::Int(value) => Ok(value as u64),
        Value::Number(digits) => Ok(digits
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))),
        other => Err(ErrorKind::Internal(format!("{other:?} is no number")).into()),
    }
}

/// Rows are the table, the key and the version, their kind is told beside them.
pub struct ModelCodec {
    pub judges_once: bool,
}

impl RowCodec for ModelCodec {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        let column = if self.judges_once { 2 } else { 0 };
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
        encode((table, number(values, image, 0)?), number(values, image, 1)?, out);
        Ok(())
    }
}

fn encode(key: RowKey, version: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&key.0.to_be_bytes());
    out.extend_from_slice(&key.1.to_be_bytes());
    out.extend_from_slice(&version.to_be_bytes());
}

/// A row as it came out.
pub fn decode(row: &[u8]) -> (RowKey, u64) {
    let table = u32::from_be_bytes(row[..4].try_into().unwrap());
    ((table, key_number(&row[4..12])), key_number(&row[12..]))
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
            encode(at, version, &mut row);
            into.push_encoded(&key_bytes(at.1), &row);
        }
        Ok(None)
    }
}
