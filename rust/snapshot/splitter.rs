//! Where to cut: a table's chunks, found by walking its key's index in steps of a chunk's size, a few chunks a call. A step
//! reads a chunk's entries of the index and sends one key, the walk reads the index once: exact chunks, however the keys lie,
//! without statistics that may be old and without a key in memory.

use crate::catalog::Table;
use crate::catalog::fetch;
use crate::catalog::key::KeyCodec;
use crate::dialect::page::{Bounds, PageRequest, Segment, SortRequest, count, cut, cuts};
use crate::dialect::{Dialect, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{Batch, ColumnSpec, Connection};
use crate::row::value::Value;
use crate::split::{Chunk, Key, KeyRange};

/// Chunks of a table of which no index has the key's order, at most: the server looks at the whole table for each, and
/// keeps the rows of one sorted.
const SORTED_CHUNKS: usize = 32;

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

    /// All chunks from the one that begins at `from` on (the first without), of a table of which no index has the key's
    /// order: found by sorting its keys once, and so few that reading each costs a look at the whole table.
    ///
    /// # Errors
    /// Database errors.
    pub fn cut_by_sorting(&self, connection: &mut Connection, from: Option<&Key>) -> Result<Vec<Chunk>> {
        let bounds = self
            .sorted_bounds(connection, from)
            .map_err(|error| error.doing("sorting where to cut").on(&self.table.name))?;
        let lowers = std::iter::once(from.cloned()).chain(bounds.iter().cloned().map(Some));
        let uppers = bounds.iter().cloned().map(Some).chain([None]);
        let chunk = |(lower, upper)| Chunk {
            table: self.table.name.clone(),
            range: KeyRange { lower, upper },
        };
        Ok(lowers.zip(uppers).map(chunk).collect())
    }

    fn sorted_bounds(&self, connection: &mut Connection, from: Option<&Key>) -> Result<Vec<Key>> {
        let lower: Option<Vec<Literal>> = from.map(|key| self.keys.literals(&key.0)).transpose()?;
        let bounds = Bounds {
            lower: lower.as_deref(),
            upper: None,
        };
        let request = SortRequest {
            table: self.table.rows(),
            columns: &self.selected,
            key: &self.table.key_columns(),
            segments: &bounds.segments(),
        };
        let sql = cuts(self.dialect, &request, self.rows, SORTED_CHUNKS);
        let mut cursor = connection.query(&sql, &self.specs, SORTED_CHUNKS)?;
        let mut bounds: Vec<Key> = Vec::new();
        while let Some(batch) = cursor.next()? {
            for row in 0..batch.rows() {
                let key = self.key(&batch, row)?;
                require_above(bounds.last().or(from), &key)?;
                bounds.push(key);
            }
        }
        Ok(bounds)
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
                require_above(lower, &key)?;
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
            table: self.table.rows(),
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
        self.key(&batch, 0).map(Some)
    }

    /// The key in a row of nothing else.
    fn key(&self, batch: &Batch<'_>, row: usize) -> Result<Key> {
        let value = |number: usize| {
            let place = self.table.key.iter().position(|&key| key == number);
            place.map_or(Value::Absent, |place| {
                fetch::value(&self.table.columns[number].kind, &batch.column(place), row)
            })
        };
        let mut key = Vec::new();
        self.keys.encode(&value, &mut key)?;
        Ok(Key(key.into()))
    }

    fn count(&self, connection: &mut Connection, segment: &Segment<'_>) -> Result<usize> {
        let sql = count(self.dialect, self.table.rows(), &self.table.key_columns(), segment);
        let count = connection.int(&sql, &[ColumnSpec::Int])?;
        count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| ErrorKind::Internal("the server counted no rows".into()).into())
    }
}

fn require_above(before: Option<&Key>, key: &Key) -> Result<()> {
    match before {
        Some(before) if before >= key => Err(ErrorKind::Catalog(format!(
            "the database orders the key otherwise than expected: {key:?} came behind {before:?}"
        ))
        .into()),
        _ => Ok(()),
    }
}
