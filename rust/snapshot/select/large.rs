//! Pages of tables with values of any length. What a driver holds of a result nobody says: one has a row at a time, another
//! all that the statement gives. So no SELECT asks for more rows than the page has room for, as far as the rows before tell.

use std::cell::Cell;

use crate::catalog::fetch;
use crate::catalog::key::KeyCodec;
use crate::dialect::page::{Bounds, PageRequest, Segment, page};
use crate::dialect::{Dialect, Literal};
use crate::error::Result;
use crate::odbc::{self, ColumnSpec, Connection};
use crate::row::value::{Value, ValueBuffer};
use crate::snapshot::select::{Reading, require_behind, require_order};
use crate::snapshot::{PageLimit, PageRows};
use crate::split::Key;

/// What is to be expected of a table's rows, by those that were read last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expected {
    /// Bytes of a row, with its key.
    row_bytes: usize,
    /// For how many rows a SELECT may ask before one was read that is larger than expected.
    rows: usize,
}

impl Expected {
    /// Whether another row is likely to find room in a page; in an empty one it does.
    fn has_room(self, limit: PageLimit, page: &PageRows) -> bool {
        page.is_empty() || (page.len() < limit.rows && page.size().saturating_add(self.row_bytes) <= limit.bytes)
    }

    /// For how many rows to ask next: twice as many as the last time at most, so that it shows early if they grow.
    fn to_ask(self, limit: PageLimit, page: &PageRows) -> usize {
        let fitting = limit.bytes.saturating_sub(page.size()) / self.row_bytes.max(1);
        let missing = limit.rows.saturating_sub(page.len());
        fitting.min(missing).min(2 * self.rows).max(1)
    }
}

/// The part of a chunk that is not read yet.
struct Unread {
    lower: Option<Vec<Literal>>,
    /// Whether the row at the lower bound is read already.
    behind: bool,
    upper: Option<Vec<Literal>>,
}

impl Unread {
    fn segments(&self) -> Vec<Segment<'_>> {
        let bounds = Bounds {
            lower: self.lower.as_deref(),
            upper: self.upper.as_deref(),
        };
        match self.behind {
            true => bounds.segments_behind(),
            false => bounds.segments(),
        }
    }
}

/// What came of reading the segments of what is unread.
enum Came {
    /// The page is read: the first key that is not in it, or none where the chunk has no more.
    Page(Option<Key>),
    /// As many rows as were asked for: there may be more behind them.
    Some,
}

/// A row that found no room in its page.
struct TooLarge {
    key: Key,
    bytes: usize,
}

/// A page on its way, some rows at a time.
pub(super) struct LargeReading<'a> {
    pub(super) reading: Reading<'a>,
    pub(super) dialect: &'a dyn Dialect,
    pub(super) keys: &'a KeyCodec,
    pub(super) expected: &'a Cell<Expected>,
}

impl LargeReading<'_> {
    /// Reads rows of a chunk between its bounds until the page is full: then the first key that is not in it any more.
    pub(super) fn page(
        &self,
        connection: &mut Connection,
        lower: Option<Vec<Literal>>,
        upper: Option<Vec<Literal>>,
        values: &mut ValueBuffer,
        into: &mut PageRows,
    ) -> Result<Option<Key>> {
        let mut unread = Unread {
            lower,
            behind: false,
            upper,
        };
        loop {
            let came = self.segments(connection, &unread.segments(), values, into)?;
            if let Came::Page(rest) = came {
                return Ok(rest);
            }
            unread.lower = Some(self.keys.literals(into.key(into.len() - 1))?);
            unread.behind = true;
        }
    }

    fn segments(
        &self,
        connection: &mut Connection,
        segments: &[Segment<'_>],
        values: &mut ValueBuffer,
        into: &mut PageRows,
    ) -> Result<Came> {
        let limit = self.reading.limit;
        for segment in segments {
            let expected = self.expected.get();
            if !expected.has_room(limit, into) {
                let Some(next) = self.first_key(connection, *segment)? else {
                    continue;
                };
                let last = into.len().checked_sub(1).map(|last| into.key(last));
                require_behind(self.reading.chunk, last, &next.0)?;
                return Ok(Came::Page(Some(next)));
            }
            let (rows, bytes) = (into.len(), into.size());
            let asked = expected.to_ask(limit, into);
            if let Some(TooLarge { key, bytes }) = self.rows(connection, *segment, asked, values, into)? {
                self.expected.set(Expected {
                    row_bytes: bytes,
                    rows: 1,
                });
                return Ok(Came::Page(Some(key)));
            }
            let came = into.len() - rows;
            if let Some(row_bytes) = (into.size() - bytes).checked_div(came) {
                self.expected.set(Expected { row_bytes, rows: asked });
            }
            if came == asked {
                return Ok(Came::Some);
            }
        }
        Ok(Came::Page(None))
    }

    /// Reads so many rows of a segment, or up to one that finds no room.
    fn rows(
        &self,
        connection: &mut Connection,
        segment: Segment<'_>,
        asked: usize,
        values: &mut ValueBuffer,
        into: &mut PageRows,
    ) -> Result<Option<TooLarge>> {
        let Reading { plan, chunk, limit, .. } = self.reading;
        let sql = plan.sql(self.dialect, segment, asked);
        let mut cursor = connection.query(&sql, &plan.specs, plan.batch_rows.min(asked))?;
        while let Some(batch) = cursor.next()? {
            let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
            for row in 0..batch.rows() {
                let image = plan.image(&columns, row, values);
                let (rows, bytes) = (into.len(), into.size());
                self.reading.push(values, image, true, into)?;
                values.clear();
                require_order(chunk, into)?;
                if rows > 0 && into.size() > limit.bytes {
                    let row = TooLarge {
                        key: Key(into.key(rows).into()),
                        bytes: into.size() - bytes,
                    };
                    into.truncate(rows);
                    return Ok(Some(row));
                }
            }
        }
        Ok(None)
    }

    /// The first key of a segment, without its row.
    fn first_key(&self, connection: &mut Connection, segment: Segment<'_>) -> Result<Option<Key>> {
        let table = &self.reading.plan.table;
        let columns = || table.key.iter().map(|&number| &table.columns[number]);
        let selected: Vec<String> = columns().map(|column| fetch::selected(self.dialect, column)).collect();
        let specs: Vec<ColumnSpec> = columns().map(fetch::key_spec).collect::<Result<_>>()?;
        let request = PageRequest {
            table: table.rows(),
            columns: &selected,
            key: &table.key_columns(),
            segment,
            rows: 1,
        };
        let mut cursor = connection.query(&page(self.dialect, &request), &specs, 1)?;
        let Some(batch) = cursor.next()?.filter(|batch| batch.rows() > 0) else {
            return Ok(None);
        };
        let value = |number: usize| {
            let place = table.key.iter().position(|&key| key == number);
            place.map_or(Value::Absent, |place| {
                fetch::value(&table.columns[number].kind, &batch.column(place), 0)
            })
        };
        let mut key = Vec::new();
        self.keys.encode(&value, &mut key)?;
        Ok(Some(Key(key.into())))
    }
}
