//! Where to cut: a table's chunks, found by walking its key's index in steps of a chunk's size, a few chunks a call. A step
//! reads a chunk's entries of the index and sends one key, the walk reads the index once: exact chunks, however the keys lie,
//! without statistics that may be old and without a key in memory.

use crate::catalog::Table;
use crate::catalog::fetch;
use crate::catalog::key::KeyCodec;
use crate::dialect::page::{Bounds, PageRequest, Segment, count, cut};
use crate::dialect::{Dialect, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{ColumnSpec, Connection, Field};
use crate::row::value::Value;
use crate::split::{Chunk, Key, KeyRange};

/// Cuts one table. Keeps no place of its own: every call goes on from the bound that it is given, so that what was cut
/// before a restart stays as it is.
pub struct Splitter<'t> {
    dialect: &'t dyn Dialect,
    table: &'t Table,
    keys: KeyCodec,
    specs: Vec<ColumnSpec>,
    /// The key's columns as they are selected.
    selected: Vec<String>,
    /// `scan.incremental.snapshot.chunk.size`.
    rows: usize,
}

impl<'t> Splitter<'t> {
    /// A splitter into chunks of `rows` rows, as far as the table does not change meanwhile.
    ///
    /// # Errors
    /// `Catalog`: the table cannot be cut.
    pub fn new(dialect: &'t dyn Dialect, table: &'t Table, rows: usize) -> Result<Self> {
        let columns = || table.key.iter().map(|&number| &table.columns[number]);
        let specs = columns().map(fetch::key_spec);
        let selected = columns().map(|column| fetch::selected(dialect, column));
        Ok(Splitter {
            selected: selected.collect(),
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
    /// upper bound is the table's last. A table whose order is not known is one chunk.
    ///
    /// # Errors
    /// Database errors.
    pub fn cut(&self, connection: &mut Connection, from: Option<&Key>, chunks: usize) -> Result<Vec<Chunk>> {
        if !self.keys.is_ordered() {
            return Ok(vec![Chunk {
                table: self.table.name.clone(),
                range: KeyRange::ALL,
            }]);
        }
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
        let mut segments = bounds.segments().into_iter().peekable();
        let mut skip = self.rows;
        while let Some(segment) = segments.next() {
            if let Some(key) = self.key_behind(connection, &segment, skip)? {
                if lower.is_some_and(|lower| *lower >= key) {
                    return Err(ErrorKind::Catalog(format!(
                        "the database orders the key otherwise than expected: {key:?} came behind {lower:?}"
                    ))
                    .into());
                }
                return Ok(Some(key));
            }
            // Fewer rows than a chunk's: they are counted once.
            if segments.peek().is_some() {
                skip = skip.saturating_sub(self.count(connection, &segment)?);
            }
        }
        Ok(None)
    }

    fn key_behind(&self, connection: &mut Connection, segment: &Segment<'_>, skip: usize) -> Result<Option<Key>> {
        let request = PageRequest {
            table: &self.table.name,
            columns: &self.selected,
            key: &self.table.key_columns(),
            segment: *segment,
            rows: 1,
        };
        let sql = cut(self.dialect, &request, skip);
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
        Ok(Some(Key(key.into())))
    }

    fn count(&self, connection: &mut Connection, segment: &Segment<'_>) -> Result<usize> {
        let sql = count(self.dialect, &self.table.name, &self.table.key_columns(), segment);
        let rows = connection.rows(&sql, &[ColumnSpec::Int])?;
        let count = rows.first().and_then(|row| row.first()).and_then(Field::int);
        count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| ErrorKind::Internal("the server counted no rows".into()).into())
    }
}
