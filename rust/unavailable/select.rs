//! Rows by their keys over a connection: many keys a SELECT.

use std::sync::Arc;

use crate::catalog::fetch;
use crate::catalog::key::KeyCodec;
use crate::dialect::by_key::{KeyedRequest, rows_with_keys};
use crate::dialect::{Dialect, Literal};
use crate::error::Result;
use crate::odbc::{ColumnSpec, Connection};
use crate::row::value::Value;
use crate::unavailable::look_up::{FoundRows, KeyedSource, LookUp};

/// Rows a fetch: the driver may hold all of them whole.
const BATCH_ROWS: usize = 16;

/// Reads rows of the captured tables by their keys.
pub struct KeyReader {
    connection: Connection,
    dialect: Arc<dyn Dialect>,
}

impl KeyReader {
    /// A reader over a connection of its own.
    pub fn new(connection: Connection, dialect: Arc<dyn Dialect>) -> Self {
        KeyReader { connection, dialect }
    }

    fn read(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool> {
        let LookUp { number, table, .. } = *wanted;
        let codec = KeyCodec::new(table)?;
        let literals = wanted.keys.iter().map(|key| codec.literals(key));
        let literals: Vec<Vec<Literal>> = literals.collect::<Result<_>>()?;
        let mut columns: Vec<usize> = table.key.iter().chain(wanted.columns).copied().collect();
        let spec = |column: &usize| fetch::spec_in(table, *column);
        // Long ones behind all others.
        columns.sort_by_key(|column| spec(column).is_ok_and(ColumnSpec::is_long));
        let selected = columns
            .iter()
            .map(|&column| fetch::selected(&*self.dialect, &table.columns[column]));
        let selected: Vec<String> = selected.collect();
        let specs: Vec<ColumnSpec> = columns.iter().map(spec).collect::<Result<_>>()?;
        let sql = rows_with_keys(
            &*self.dialect,
            &KeyedRequest {
                table: table.rows(),
                columns: &selected,
                key: &codec.names(),
                keys: &literals,
            },
        );
        let mut cursor = self.connection.query(&sql, &specs, BATCH_ROWS.min(wanted.keys.len()))?;
        let mut key = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while let Some(batch) = cursor.next()? {
            for row in 0..batch.rows() {
                let value = |column: usize| {
                    let place = columns.iter().position(|&other| other == column);
                    place.map_or(Value::Absent, |place| {
                        fetch::value(&table.columns[column].kind, &batch.column(place), row)
                    })
                };
                key.clear();
                codec.encode(&value, &mut key)?;
                let before = into.values.size();
                let image = into.values.begin(table.columns.len());
                for &column in wanted.columns {
                    into.values.set(image, column, value(column));
                }
                into.add(number, &key, image);
                rows += 1;
                bytes += into.values.size() - before;
            }
            if bytes >= wanted.room && rows < wanted.keys.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl KeyedSource for KeyReader {
    fn look_up(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool> {
        self.read(wanted, into).map_err(|error| error.on(&wanted.table.name))
    }
}
