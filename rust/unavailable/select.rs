//! Rows by their keys over a connection: many keys a SELECT.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::key::KeyCodec;
use crate::catalog::{Table, fetch};
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
    /// Schemas of operators by columns, for the tables that were asked about, by their numbers in the dictionary.
    operators: HashMap<u64, HashMap<String, String>>,
}

impl KeyReader {
    /// A reader over a connection of its own.
    pub fn new(connection: Connection, dialect: Arc<dyn Dialect>) -> Self {
        KeyReader {
            connection,
            dialect,
            operators: HashMap::new(),
        }
    }

    /// Asks which schemas' operators compare a table's key, unless the server's own do.
    fn look_for_operators(&mut self, table: &Table) -> Result<()> {
        let number = table.object_id;
        if self.operators.contains_key(&number) {
            return Ok(());
        }
        let is_shown = table.key_columns().iter().any(|column| column.shown);
        let found = match self.dialect.operators(number).filter(|_| is_shown) {
            Some(query) => self.connection.rows(&query.sql, &query.columns)?,
            None => Vec::new(),
        };
        let operators = found
            .iter()
            .filter_map(|row| Some((row.first()?.text()?.to_owned(), row.get(1)?.text()?.to_owned())));
        self.operators.insert(number, operators.collect());
        Ok(())
    }

    fn read(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool> {
        let LookUp { number, table, .. } = *wanted;
        let codec = KeyCodec::new(table)?;
        self.look_for_operators(table)?;
        let operators = self.operators.get(&table.object_id);
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
        let key = codec.names().into_iter().map(|name| {
            let schema = operators.and_then(|operators| operators.get(name));
            (name, schema.map(String::as_str))
        });
        let sql = rows_with_keys(
            &*self.dialect,
            &KeyedRequest {
                table: table.rows(),
                columns: &selected,
                key: &key.collect::<Vec<_>>(),
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
