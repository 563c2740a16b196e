//! Pages over a connection: the SELECT, its columns by their types, and the rows in the form in which they go out.

mod whole;

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::key::KeyCodec;
use crate::dialect::page::{Bounds, PageRequest, page};
use crate::dialect::{Dialect, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{self, ColumnSpec, Connection};
use crate::row::value::{Image, ValueBuffer};
use crate::row::{RowCodec, RowKind, RowOrigin};
use crate::snapshot::{PageLimit, PageRows, PageSource, Piece, fetch};
use crate::split::{Chunk, Key, TableName};

/// Rows a fetch where values of any length are among them: all those of a batch are in memory at once.
const LONG_BATCH_ROWS: usize = 16;

/// Reads pages of the captured tables.
pub struct PageReader {
    connection: Connection,
    dialect: Arc<dyn Dialect>,
    codec: Arc<dyn RowCodec>,
    tables: HashMap<Arc<TableName>, PageTable>,
    values: ValueBuffer,
}

struct PageTable {
    /// Its number in the reader's table list.
    number: u32,
    table: Arc<Table>,
    /// `None` for a table without a key.
    keys: Option<KeyCodec>,
    /// The columns that are read, by number; long ones last.
    columns: Vec<usize>,
    specs: Vec<ColumnSpec>,
    batch_rows: usize,
}

impl PageReader {
    /// A reader over a connection of its own, `fetch_rows` at once. Tables stand at their numbers in the reader's table
    /// list, each with the columns that must be read, key columns among them.
    ///
    /// # Errors
    /// `Catalog`: a table or a column cannot be read.
    pub fn new(
        connection: Connection,
        dialect: Arc<dyn Dialect>,
        codec: Arc<dyn RowCodec>,
        tables: &[(Arc<Table>, &[bool])],
        fetch_rows: usize,
    ) -> Result<Self> {
        let tables = tables.iter().zip(0..).map(|((table, needed), number)| {
            let plan =
                PageTable::new(number, table.clone(), needed, fetch_rows).map_err(|error| error.on(&table.name))?;
            Ok((table.name.clone(), plan))
        });
        Ok(PageReader {
            connection,
            dialect,
            codec,
            tables: tables.collect::<Result<_>>()?,
            values: ValueBuffer::default(),
        })
    }

    /// The connection, to cancel what it is doing.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl PageTable {
    fn new(number: u32, table: Arc<Table>, needed: &[bool], fetch_rows: usize) -> Result<Self> {
        let mut columns: Vec<usize> = (0..table.columns.len())
            .filter(|column| needed.get(*column) == Some(&true))
            .collect();
        let spec = |&column: &usize| fetch::spec(&table.columns[column]);
        let long = |column: &usize| Ok::<_, Error>(spec(column)?.is_long());
        let any_long = columns.iter().map(long).collect::<Result<Vec<_>>>()?.contains(&true);
        columns.sort_by_key(|column| spec(column).is_ok_and(ColumnSpec::is_long));
        Ok(PageTable {
            number,
            keys: match table.key.is_empty() {
                true => None,
                false => Some(KeyCodec::new(&table)?),
            },
            specs: columns.iter().map(spec).collect::<Result<_>>()?,
            columns,
            table,
            batch_rows: if any_long {
                fetch_rows.min(LONG_BATCH_ROWS)
            } else {
                fetch_rows
            },
        })
    }

    fn sql(&self, dialect: &dyn Dialect, chunk: &Chunk, rows: usize) -> Result<String> {
        let keys = self.keys.as_ref().ok_or_else(|| {
            let kind = ErrorKind::Internal("a page of a table without a key is to be read".into());
            Error::from(kind)
        })?;
        let literals = |key: &Option<Key>| key.as_ref().map(|key| keys.literals(&key.0)).transpose();
        let (lower, upper): (Option<Vec<Literal>>, Option<Vec<Literal>>) =
            (literals(&chunk.range.lower)?, literals(&chunk.range.upper)?);
        Ok(page(
            dialect,
            &PageRequest {
                table: &self.table.name,
                columns: &self.selected(dialect),
                key: &keys.names(),
                bounds: Bounds {
                    lower: lower.as_deref(),
                    upper: upper.as_deref(),
                },
                rows,
            },
        ))
    }

    /// The columns as they are selected.
    fn selected(&self, dialect: &dyn Dialect) -> Vec<String> {
        let selected = |&column: &usize| {
            let column = &self.table.columns[column];
            let mut selected = String::new();
            dialect.push_selected(&column.name, &column.kind, &mut selected);
            selected
        };
        self.columns.iter().map(selected).collect()
    }

    fn image(&self, columns: &[odbc::Column<'_>], row: usize, values: &mut ValueBuffer) -> Image {
        values.clear();
        let image = values.begin(self.table.columns.len());
        for (column, &number) in columns.iter().zip(&self.columns) {
            values.set(
                image,
                number,
                fetch::value(&self.table.columns[number].kind, column, row),
            );
        }
        image
    }
}

impl PageSource for PageReader {
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        self.read(chunk, limit, into)
            .map_err(|error| error.doing("reading a page").on(&chunk.table))
    }

    fn select_whole(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        self.read_whole(chunk, limit, take)
            .map_err(|error| error.doing("reading a table without a key").on(&chunk.table))
    }
}

impl PageReader {
    fn read(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        let plan = self
            .tables
            .get(&chunk.table)
            .ok_or_else(|| ErrorKind::State("the table is not among the captured ones any more".into()))?;
        let rows = limit.rows.max(1);
        let sql = plan.sql(&*self.dialect, chunk, rows.saturating_add(1))?;
        let mut cursor = self
            .connection
            .query(&sql, &plan.specs, plan.batch_rows.min(rows.saturating_add(1)))?;
        while let Some(batch) = cursor.next()? {
            let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
            for row in 0..batch.rows() {
                let image = plan.image(&columns, row, &mut self.values);
                let (codec, values) = (&*self.codec, &self.values);
                let before = into.len();
                into.push(
                    |out| codec.key(plan.number, values, image, out),
                    |out| match before < rows {
                        true => codec.row(plan.number, RowKind::Insert, values, image, &RowOrigin::default(), out),
                        // Only its key is wanted.
                        false => Ok(()),
                    },
                )?;
                require_order(chunk, into)?;
                if before > 0 && (before == rows || into.size() > limit.bytes) {
                    let key = Key(into.key(before).into());
                    into.truncate(before);
                    return Ok(Some(key));
                }
            }
        }
        Ok(None)
    }
}

/// Refuses a last key that is not behind the one before it or not in the chunk: by such an order rows would be lost.
fn require_order(chunk: &Chunk, page: &PageRows) -> Result<()> {
    let last = page.len() - 1;
    let key = page.key(last);
    if chunk.range.contains(key) && (last == 0 || page.key(last - 1) < key) {
        return Ok(());
    }
    Err(ErrorKind::Catalog(format!(
        "the database orders the key otherwise than expected: {:?} came inside {:?}",
        Key(key.into()),
        chunk.range
    ))
    .into())
}
