//! Rows read by their keys.

use std::collections::HashMap;

use crate::catalog::Table;
use crate::error::Result;
use crate::row::value::{Image, ValueBuffer};

/// Rows to read.
#[derive(Clone, Copy, Debug)]
pub struct LookUp<'a> {
    /// The table's number in the reader's table list.
    pub number: u32,
    /// The table in the shape that numbers its columns.
    pub table: &'a Table,
    /// The columns that are wanted.
    pub columns: &'a [usize],
    /// Keys in the codec's form, each once.
    pub keys: &'a [&'a [u8]],
    /// How many bytes of rows may come; the one that goes beyond is the last.
    pub room: usize,
}

/// Reads rows by their keys over a connection of its own: a plain SELECT under read-committed.
pub trait KeyedSource: Send {
    /// Adds the rows that have one of the keys, of their columns those that are wanted and no others, until there is no
    /// room. Says whether that were all: then a key without a row has none in the table.
    ///
    /// # Errors
    /// Database errors.
    fn look_up(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool>;
}

/// Rows by table and key.
#[derive(Debug, Default)]
pub struct FoundRows {
    /// Their values.
    pub values: ValueBuffer,
    rows: HashMap<Box<[u8]>, Image>,
}

impl FoundRows {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.values.clear();
        self.rows.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes that a row has these values.
    pub fn add(&mut self, table: u32, key: &[u8], image: Image) {
        self.rows.insert(table_key(table, key).into(), image);
    }

    /// The values of a row, by what [`table_key`] makes of its table and key.
    pub fn get(&self, table_key: &[u8]) -> Option<Image> {
        self.rows.get(table_key).copied()
    }
}

/// A table's number and a key of it in one run of bytes.
pub fn table_key(table: u32, key: &[u8]) -> Vec<u8> {
    [&table.to_be_bytes(), key].concat()
}
