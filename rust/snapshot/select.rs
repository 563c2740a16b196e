//! Pages over a connection: the SELECT, its columns by their types, and the rows in the form in which they go out.

mod large;
mod sorted;
mod whole;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::key::KeyCodec;
use crate::catalog::{self, Table, TableVersion, fetch};
use crate::dialect::page::{Bounds, PageRequest, Segment, page, whole};
use crate::dialect::{Dialect, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{self, ColumnSpec, Connection};
use crate::row::value::{Image, ValueBuffer};
use crate::row::{RowCodec, RowKind, RowOrigin};
use crate::snapshot::select::large::{Expected, LargeReading};
use crate::snapshot::{PageLimit, PageRows, PageSource, Piece};
use crate::split::{Chunk, Key, TableName};

/// Rows a fetch where values of any length are among them: the driver may hold all of them whole, and no row before need
/// tell how long they are.
const LONG_BATCH_ROWS: usize = 128;

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
    /// Of rows with values of any length; `None` where no column has such.
    large: Option<Cell<Expected>>,
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
        tables: &[(Arc<Table>, Vec<bool>)],
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

    /// The connection, for statements around the SELECTs.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Whether the table of a chunk has the columns that its rows are read in. A transaction may be under way.
    ///
    /// # Errors
    /// `Altered`; database errors.
    pub fn check_shape(&mut self, chunk: &Chunk) -> Result<()> {
        let known = TableVersion::of(&plan_of(&self.tables, chunk)?.table);
        let now = catalog::versions(&mut self.connection, &*self.dialect, &[known.object_id])?;
        match now.contains(&known) {
            true => Ok(()),
            false => Err(ErrorKind::Altered.into()),
        }
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
        let spec = |&column: &usize| fetch::spec_in(&table, column);
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
            large: any_long.then(Cell::default),
            batch_rows: if any_long {
                fetch_rows.min(LONG_BATCH_ROWS)
            } else {
                fetch_rows
            },
        })
    }

    fn keys(&self) -> Result<&KeyCodec> {
        self.keys.as_ref().ok_or_else(|| {
            let kind = ErrorKind::Internal("rows of a table without a key are to be read by it".into());
            Error::from(kind)
        })
    }

    fn sql(&self, dialect: &dyn Dialect, segment: Segment<'_>, rows: usize) -> String {
        let request = PageRequest {
            table: self.table.rows(),
            columns: &self.selected(dialect),
            key: &self.table.key_columns(),
            segment,
            rows,
        };
        page(dialect, &request)
    }

    /// The columns as they are selected.
    fn selected(&self, dialect: &dyn Dialect) -> Vec<String> {
        let selected = |&column: &usize| fetch::selected(dialect, &self.table.columns[column]);
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
        let plan = plan_of(&self.tables, chunk)?;
        let keys = plan.keys()?;
        let reading = Reading {
            plan,
            codec: &*self.codec,
            chunk,
            limit,
        };
        let (lower, upper) = literals(keys, chunk)?;
        if !keys.is_ordered() {
            let sql = whole(&*self.dialect, plan.table.rows(), &plan.selected(&*self.dialect));
            reading.unordered(&mut self.connection, &sql, &mut self.values, into)?;
            return Ok(None);
        }
        if let Some(expected) = &plan.large {
            let large = LargeReading {
                reading,
                dialect: &*self.dialect,
                keys,
                expected,
            };
            return large.page(&mut self.connection, lower, upper, &mut self.values, into);
        }
        let bounds = Bounds {
            lower: lower.as_deref(),
            upper: upper.as_deref(),
        };
        for segment in bounds.segments() {
            // The row behind the page's last one says whether the chunk goes on.
            let missing = limit.rows.max(1).saturating_add(1) - into.len();
            let sql = plan.sql(&*self.dialect, segment, missing);
            let next = reading.segment(&mut self.connection, &sql, missing, &mut self.values, into)?;
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }
}

fn plan_of<'a>(tables: &'a HashMap<Arc<TableName>, PageTable>, chunk: &Chunk) -> Result<&'a PageTable> {
    let gone = || ErrorKind::State("the table is not among the captured ones any more".into());
    Ok(tables.get(&chunk.table).ok_or_else(gone)?)
}

/// The bounds of a chunk, as a statement has them.
type Edges = (Option<Vec<Literal>>, Option<Vec<Literal>>);

fn literals(keys: &KeyCodec, chunk: &Chunk) -> Result<Edges> {
    let literals = |key: &Option<Key>| key.as_ref().map(|key| keys.literals(&key.0)).transpose();
    Ok((literals(&chunk.range.lower)?, literals(&chunk.range.upper)?))
}

/// A page on its way.
#[derive(Clone, Copy)]
struct Reading<'a> {
    plan: &'a PageTable,
    codec: &'a dyn RowCodec,
    chunk: &'a Chunk,
    limit: PageLimit,
}

impl Reading<'_> {
    /// Reads rows of a segment until the page is full: then the first key that is not in it any more.
    fn segment(
        &self,
        connection: &mut Connection,
        sql: &str,
        rows: usize,
        values: &mut ValueBuffer,
        into: &mut PageRows,
    ) -> Result<Option<Key>> {
        let most = self.limit.rows.max(1);
        let mut cursor = connection.query(sql, &self.plan.specs, self.plan.batch_rows.min(rows))?;
        loop {
            // Of the row behind a full page only the key is wanted.
            let full = !into.is_empty() && (into.len() >= most || into.size() >= self.limit.bytes);
            let batch = if full { cursor.next_short()? } else { cursor.next()? };
            let Some(batch) = batch else { return Ok(None) };
            let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
            for row in 0..batch.rows() {
                let image = self.plan.image(&columns, row, values);
                let before = into.len();
                self.push(values, image, !full && before < most, into)?;
                require_order(self.chunk, into)?;
                if before > 0 && (full || before == most || into.size() > self.limit.bytes) {
                    let key = Key(into.key(before).into());
                    into.truncate(before);
                    values.clear();
                    return Ok(Some(key));
                }
            }
        }
    }

    /// Reads the table and keeps what of it is in the chunk, in the order of its keys here: what the database has for an
    /// order is not known.
    fn unordered(
        &self,
        connection: &mut Connection,
        sql: &str,
        values: &mut ValueBuffer,
        into: &mut PageRows,
    ) -> Result<()> {
        let mut found = PageRows::default();
        let mut cursor = connection.query(sql, &self.plan.specs, self.plan.batch_rows)?;
        while let Some(batch) = cursor.next()? {
            let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
            for row in 0..batch.rows() {
                let image = self.plan.image(&columns, row, values);
                self.push(values, image, true, &mut found)?;
                let last = found.len() - 1;
                if !self.chunk.range.contains(found.key(last)) {
                    found.truncate(last);
                }
                if found.size() > self.limit.bytes {
                    return Err(too_large(self.plan).into());
                }
            }
        }
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_unstable_by(|&a, &b| found.key(a).cmp(found.key(b)));
        for row in order {
            into.push_encoded(found.key(row), found.row(row));
            require_order(self.chunk, into)?;
        }
        Ok(())
    }

    fn push(&self, values: &ValueBuffer, image: Image, with_row: bool, into: &mut PageRows) -> Result<()> {
        let number = self.plan.number;
        into.push(
            |out| self.codec.key(number, values, image, out),
            |out| match with_row {
                true => (self.codec).row(number, RowKind::Insert, values, image, &RowOrigin::default(), out),
                false => Ok(()),
            },
        )
    }
}

fn too_large(plan: &PageTable) -> ErrorKind {
    ErrorKind::Catalog(format!(
        "the server orders the text of its key ({}) in a way that is not known here, so that the table is one page, and it \
         is larger than 'scan.snapshot.page.bytes' says",
        plan.keys
            .iter()
            .flat_map(KeyCodec::names)
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

/// Refuses a page's last key that is not behind the one before it or not in the chunk: by such an order rows would be lost.
fn require_order(chunk: &Chunk, page: &PageRows) -> Result<()> {
    let last = page.len() - 1;
    require_behind(
        chunk,
        last.checked_sub(1).map(|before| page.key(before)),
        page.key(last),
    )
}

fn require_behind(chunk: &Chunk, before: Option<&[u8]>, key: &[u8]) -> Result<()> {
    if chunk.range.contains(key) && before.is_none_or(|before| before < key) {
        return Ok(());
    }
    Err(ErrorKind::Catalog(format!(
        "the database orders the key otherwise than expected: {:?} came inside {:?}",
        Key(key.into()),
        chunk.range
    ))
    .into())
}
