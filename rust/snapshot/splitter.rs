//! Where to cut: a table's chunks, found by walking its key's index in steps of a chunk's size, a few chunks a call.

use crate::catalog::Table;
use crate::catalog::key::KeyCodec;
use crate::dialect::page::{Bounds, cut};
use crate::dialect::{Dialect, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{ColumnSpec, Connection};
use crate::row::value::Value;
use crate::snapshot::fetch;
use crate::split::{Chunk, Key, KeyRange};

/// Cuts one table. Keeps no place of its own: every call goes on from the bound that it is given, so that what was cut
/// before a restart stays as it is.
pub struct Splitter<'t> {
    dialect: &'t dyn Dialect,
    table: &'t Table,
    keys: KeyCodec,
    specs: Vec<ColumnSpec>,
    /// `scan.incremental.snapshot.chunk.size`.
    rows: usize,
}

impl<'t> Splitter<'t> {
    /// A splitter into chunks of `rows` rows, as far as the table does not change meanwhile.
    ///
    /// # Errors
    /// `Catalog`: the table cannot be cut.
    pub fn new(dialect: &'t dyn Dialect, table: &'t Table, rows: usize) -> Result<Self> {
        let specs = table.key.iter().map(|&number| fetch::spec(&table.columns[number]));
        Ok(Splitter {
            dialect,
            table,
            keys: KeyCodec::new(table)?,
            specs: specs
                .collect::<Result<_>>()
                .map_err(|error: Error| error.on(&table.name))?,
            rows: rows.max(1),
        })
    }

    /// The next `chunks` chunks at most, from the one that begins at `from` on (the first without); the one without an
    /// upper bound is the table's last.
    ///
    /// # Errors
    /// Database errors.
    pub fn cut(&self, connection: &mut Connection, from: Option<&Key>, chunks: usize) -> Result<Vec<Chunk>> {
        let mut cut = Vec::new();
        let mut lower = from.cloned();
        while cut.len() < chunks {
            let upper = self
                .next_bound(connection, lower.as_ref())
                .map_err(|error| error.doing("looking where to cut").on(&self.table.name))?;
            let last = upper.is_none();
            cut.push(Chunk {
                table: self.table.name.clone(),
                range: KeyRange {
                    lower: std::mem::replace(&mut lower, upper.clone()),
                    upper,
                },
            });
            if last {
                break;
            }
        }
        Ok(cut)
    }

    /// The key of the row that stands a chunk's rows behind `lower`.
    fn next_bound(&self, connection: &mut Connection, lower: Option<&Key>) -> Result<Option<Key>> {
        let lower_values: Option<Vec<Literal>> = lower.map(|key| self.keys.literals(&key.0)).transpose()?;
        let bounds = Bounds {
            lower: lower_values.as_deref(),
            upper: None,
        };
        let sql = cut(self.dialect, &self.table.name, &self.keys.names(), &bounds, self.rows);
        let mut cursor = connection.query(&sql, &self.specs, 1)?;
        let Some(batch) = cursor.next()?.filter(|batch| batch.rows() > 0) else {
            return Ok(None);
        };
        let value = |number: usize| {
            let place = self.table.key.iter().position(|&key| key == number);
            place.map_or(Value::Absent, |place| {
                fetch::value(&self.table.columns[number].kind, &batch.column(place), 0)
            })
        };
        let mut key = Vec::new();
        self.keys.encode(&value, &mut key)?;
        let key = Key(key.into());
        if lower.is_some_and(|lower| *lower >= key) {
            return Err(ErrorKind::Catalog(format!(
                "the database orders the key otherwise than expected: {key:?} came behind {lower:?}"
            ))
            .into());
        }
        Ok(Some(key))
    }
}
