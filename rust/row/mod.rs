//! Rows: values as the database gives them, and the layouts in which they go downstream.

pub mod batch;
pub mod binary_row;
mod change;
pub mod codec;
mod convert;
pub mod debezium_json;
mod envelope;
mod fields;
#[cfg(test)]
pub(crate) mod fuzz;
mod interval;
pub mod layout;
mod number;
mod text;
mod time;
mod time_text;
pub mod value;
pub mod zone;

use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::SchemaChange;
use crate::error::{ErrorKind, Result};
use crate::position::{Scn, Xid};
use crate::row::value::{Image, ValueBuffer};

/// What a row does downstream; the numbers are those of Flink's `RowKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RowKind {
    /// `+I`
    Insert = 0,
    /// `-U`
    UpdateBefore = 1,
    /// `+U`
    UpdateAfter = 2,
    /// `-D`
    Delete = 3,
}

impl RowKind {
    /// As Flink writes it: `+I`, `-U`, `+U`, `-D`.
    pub fn symbol(self) -> &'static str {
        match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        }
    }
}

/// What metadata columns say of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowOrigin {
    /// Commit time of the transaction in microseconds since the epoch; 0 in snapshot rows.
    pub commit_micros: i64,
    /// Where the transaction committed; `None` in snapshot rows.
    pub scn: Option<Scn>,
    /// The transaction; `None` in snapshot rows.
    pub xid: Option<Xid>,
    /// Where its record stands in the log; `None` in snapshot rows.
    pub record: Option<Scn>,
    /// The how-manieth event of its transaction this is, counted from 1 among those that go out; 0 in snapshot rows.
    pub total_order: u64,
    /// The same among the events of its table.
    pub table_order: u64,
    /// Which part of its transaction it is in; `None` in snapshot rows and events of a table's shape.
    pub part: Option<Part>,
}

/// A part of a transaction that goes out in several (`transaction.fragment.rows`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Counted from 1 among the parts of which something goes out.
    pub number: u32,
    /// Nothing of the transaction comes behind it.
    pub last: bool,
}

/// In which rows an update goes out whose key stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Updates {
    /// `-U` and `+U`.
    #[default]
    Halves,
    /// `+U` alone, for who keeps rows by their key (`changelog-mode = upsert`).
    After,
    /// One row that has both images.
    Joined,
}

/// Turns images of the captured tables into keys and into rows for downstream. Tables go by their number in the
/// reader's table list.
pub trait RowCodec: Send + Sync {
    /// Appends the key of an image, in the form that compares bytewise as the database orders it.
    ///
    /// # Errors
    /// A key column is absent, NULL or not of its type.
    fn key(&self, table: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()>;

    /// Whether a key that was kept is one of the table as it is captured now.
    ///
    /// # Errors
    /// `State`: it is not.
    fn check_key(&self, _table: u32, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Appends a row as it goes downstream.
    ///
    /// # Errors
    /// A value does not fit the declared type.
    fn row(
        &self,
        table: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// In which rows an update goes out.
    fn updates(&self) -> Updates {
        Updates::Halves
    }

    /// Appends an update as one row; asked only where [`RowCodec::updates`] says [`Updates::Joined`].
    ///
    /// # Errors
    /// A value does not fit; `Internal` where updates are not joined.
    fn update(
        &self,
        _table: u32,
        _values: &ValueBuffer,
        _before_and_after: (Image, Image),
        _origin: &RowOrigin,
        _out: &mut Vec<u8>,
    ) -> Result<()> {
        Err(ErrorKind::Internal("updates are not joined here".into()).into())
    }

    /// Appends a change of a table's shape as it goes downstream, in front of the first row of the new shape; `false`,
    /// and nothing, in a form that does not carry such changes. What it appends is a unit of its own: it goes out
    /// exactly once, as rows do.
    ///
    /// # Errors
    /// None of its own.
    fn schema_change(
        &self,
        _table: u32,
        _change: &SchemaChange,
        _origin: &RowOrigin,
        _out: &mut Vec<u8>,
    ) -> Result<bool> {
        Ok(false)
    }

    /// From here on values of a table come by the column numbers of this shape. Called in front of whatever needs it,
    /// perhaps often with the shape at hand.
    ///
    /// # Errors
    /// `DictionaryMismatch` if rows of this shape cannot go where those of the captured one went.
    fn reshape(&self, _table: u32, _shape: &Arc<Table>) -> Result<()> {
        Ok(())
    }

    /// The shape of a table whose column numbers count now; `None` for a codec of one shape.
    fn shape(&self, _table: u32) -> Option<Arc<Table>> {
        None
    }

    /// How many values went out as NULL because they did not fit (`value.on-error = null`).
    fn nulled_values(&self) -> u64 {
        0
    }
}
