//! Statements and their results.

use std::ops::Range;

use odbc_api::handles::{SqlResult, SqlText, Statement, StatementImpl};

use crate::error::{Error, ErrorKind, Result};
use crate::odbc::columns::{Batch, ColumnBuffer, ColumnSpec};
use crate::odbc::connection::{Connection, SqlOutcome};
use crate::odbc::diagnostic::{collect, statement_error};

/// Bytes that the column buffers of a connection may take; batches are cut accordingly.
const BUFFER_BYTES: usize = 16 << 20;

/// Bytes of long values that one call may bring into the driver, as far as the rows before tell.
const LONG_BYTES: usize = 4 << 20;

impl Connection {
    /// Runs a statement and drops its result, if it has one.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        self.run(sql)?;
        self.finish()
    }

    /// Runs a SELECT whose rows are then fetched in batches of at most `batch_rows`, while the cursor is there.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`.
    pub fn query(&mut self, sql: &str, columns: &[ColumnSpec], batch_rows: usize) -> Result<Cursor<'_>> {
        self.start(sql, columns, batch_rows)?;
        Ok(Cursor { connection: self })
    }

    /// Runs a SELECT and returns all its rows: for small results.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`.
    pub fn rows(&mut self, sql: &str, columns: &[ColumnSpec]) -> Result<Vec<Vec<Field>>> {
        let mut cursor = self.query(sql, columns, 64)?;
        let mut all = Vec::new();
        while let Some(batch) = cursor.next()? {
            for row in 0..batch.rows() {
                let fields = columns.iter().enumerate().map(|(number, spec)| {
                    let column = batch.column(number);
                    Ok(match spec {
                        ColumnSpec::Int => column.int(row).map_or(Field::Null, Field::Int),
                        spec if spec.is_text() => column
                            .text(row)?
                            .map_or(Field::Null, |text| Field::Text(text.to_owned())),
                        _ => column
                            .bytes(row)
                            .map_or(Field::Null, |bytes| Field::Bytes(bytes.into())),
                    })
                });
                all.push(fields.collect::<Result<_>>()?);
            }
        }
        Ok(all)
    }

    /// Runs a SELECT and returns the integer that its first row begins with, where there is one.
    ///
    /// # Errors
    /// As [`Connection::rows`].
    pub fn int(&mut self, sql: &str, columns: &[ColumnSpec]) -> Result<Option<i64>> {
        let rows = self.rows(sql, columns)?;
        Ok(rows.first().and_then(|row| row.first()).and_then(Field::int))
    }

    /// Runs a SELECT; [`Connection::fetch`] brings its rows. Serves those who keep a half-read result beside its
    /// connection; others take [`Connection::query`]. A former result is given up.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`.
    pub fn start(&mut self, sql: &str, columns: &[ColumnSpec], batch_rows: usize) -> Result<()> {
        self.run(sql)?;
        let bound = self.bind(columns, batch_rows);
        if bound.is_err() {
            self.finish()?;
        }
        bound
    }

    /// The next rows of the statement that was started, of which one at most has values that did not fit into their
    /// buffers, so that the long values of one row are in memory at once; `None` behind its last one. What the driver holds of long values stays bounded
    /// too, if it fetches no more rows than it is asked for: at first that is one, then more while they are small.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`; a value longer than its column's spec where the driver cannot read it
    /// again (SQLSTATE 22001).
    pub fn fetch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some(rows) = self.advance()? else { return Ok(None) };
        self.read_long_values(rows.clone())?;
        Ok(Some(self.batch(rows)))
    }

    /// As [`Connection::fetch`], but what does not fit into its column's buffer is not read and shows as NULL or cut:
    /// for those who want the short columns only.
    ///
    /// # Errors
    /// As for [`Connection::fetch`].
    pub fn fetch_short(&mut self) -> Result<Option<Batch<'_>>> {
        let rows = self.advance()?;
        Ok(rows.map(|rows| self.batch(rows)))
    }

    fn batch(&self, rows: Range<usize>) -> Batch<'_> {
        Batch {
            first: rows.start,
            rows: rows.len(),
            columns: &self.columns,
            long: &self.long,
        }
    }

    /// The next rows in the buffers.
    fn advance(&mut self) -> Result<Option<Range<usize>>> {
        if !self.open {
            return Ok(None);
        }
        self.long.clear();
        if self.next_row == *self.fetched {
            self.ask_for_fitting_rows()?;
            *self.fetched = 0;
            self.next_row = 0;
            // SAFETY: The bound columns and `fetched` are fields of this connection and on the heap; they are unbound
            // before they are replaced, and the statement is freed before they are.
            let result = self.call(|statement| unsafe { statement.fetch() })?;
            let SqlOutcome::Success = result else {
                self.finish()?;
                return Ok(None);
            };
        }
        let first = self.next_row;
        self.next_row = self.behind_long(first);
        Ok(Some(first..self.next_row))
    }

    /// The fetched rows from `first` on up to the next one whose long values did not fit.
    fn behind_long(&self, first: usize) -> usize {
        if !self.any_long() {
            return *self.fetched;
        }
        let long = |row: &usize| !self.rereads || self.columns.iter().any(|column| column.is_truncated(*row));
        (first + 1..*self.fetched).find(long).unwrap_or(*self.fetched)
    }

    fn any_long(&self) -> bool {
        self.specs.last().is_some_and(|spec| spec.is_long())
    }

    /// Has the next call bring as many rows as the long values of those that the last one brought allow.
    fn ask_for_fitting_rows(&mut self) -> Result<()> {
        if !self.any_long() || self.batch_rows == 1 || *self.fetched == 0 {
            return Ok(());
        }
        let largest = (0..*self.fetched).try_fold(0, |largest, row| Some(self.long_bytes(row)?.max(largest)));
        let fitting = largest.map_or(1, |largest| LONG_BYTES / largest.max(1));
        let rows = fitting.clamp(1, self.batch_rows).min(2 * self.asked_rows);
        if rows != self.asked_rows {
            self.ask_for_rows(rows)?;
        }
        Ok(())
    }

    /// Bytes of a fetched row's long values; `None` where the driver does not tell.
    fn long_bytes(&self, row: usize) -> Option<usize> {
        let columns = self.specs.iter().zip(&self.columns);
        let long = columns.filter(|(spec, _)| spec.is_long());
        long.map(|(_, column)| column.length(row)).sum()
    }

    fn ask_for_rows(&mut self, rows: usize) -> Result<()> {
        let classify = self.classify;
        let statement = self.statement()?;
        // SAFETY: The bound columns hold `batch_rows` values, and `rows` are no more than that.
        if unsafe { statement.set_row_array_size(rows) }.is_err() {
            return Err(statement_error(collect(statement, "SQLSetStmtAttr"), classify).into());
        }
        self.asked_rows = rows;
        Ok(())
    }

    /// Gives up what is left of the result.
    ///
    /// # Errors
    /// `Statement`.
    pub fn finish(&mut self) -> Result<()> {
        *self.fetched = 0;
        self.next_row = 0;
        self.long.clear();
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        let statement = self.statement()?;
        if statement.close_cursor().is_err() {
            let diagnostic = collect(statement, "SQLCloseCursor");
            // 24000: there is no cursor any more, as behind a statement that failed in the middle.
            if diagnostic.state != "24000" {
                return Err(statement_error(diagnostic, self.classify).into());
            }
        }
        Ok(())
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.finish()?;
        if self.any_long() && self.asked_rows > 1 {
            // A driver may fetch the first rows with the statement.
            self.ask_for_rows(1)?;
        }
        let text = SqlText::new(sql);
        // SAFETY: No parameters are ever bound to this statement.
        self.call(|statement| unsafe { statement.exec_direct(&text) })?;
        self.open = true;
        let columns = match self.statement()?.num_result_cols() {
            SqlResult::Success(columns) | SqlResult::SuccessWithInfo(columns) => columns,
            _ => 0,
        };
        // A statement without a result opens no cursor that could be closed.
        self.open = columns > 0;
        Ok(())
    }

    fn bind(&mut self, specs: &[ColumnSpec], batch_rows: usize) -> Result<()> {
        let have = match self.statement()?.num_result_cols() {
            SqlResult::Success(columns) | SqlResult::SuccessWithInfo(columns) => columns,
            _ => 0,
        };
        if usize::try_from(have) != Ok(specs.len()) {
            return Err(ErrorKind::Internal(format!(
                "a result has {have} columns where {} are expected",
                specs.len()
            ))
            .into());
        }
        let longs = specs.iter().skip_while(|spec| !spec.is_long());
        if longs.clone().any(|spec| !spec.is_long()) {
            return Err(ErrorKind::Internal("long columns must stand behind all others".into()).into());
        }
        let stream = longs.clone().any(|spec| spec.is_streamed(self.rereads));
        let width: usize = specs.iter().map(|spec| spec.width(self.rereads)).sum();
        let rows = if stream {
            1
        } else {
            batch_rows.min(BUFFER_BYTES / width.max(1)).max(1)
        };
        if self.specs != specs || self.batch_rows != rows {
            self.statement()?.unbind_cols();
            self.columns.clear();
            self.specs.clear();
            self.columns = specs
                .iter()
                .map(|&spec| ColumnBuffer::new(spec, rows, self.rereads))
                .collect::<Result<_>>()?;
            self.specs = specs.into();
            self.batch_rows = rows;
        }
        let first = if self.any_long() { 1 } else { rows };
        self.bind_columns(first)?;
        self.asked_rows = first;
        Ok(())
    }

    fn bind_columns(&mut self, rows: usize) -> Result<()> {
        let Some(handles) = &mut self.handles else {
            return Err(ErrorKind::Closed.into());
        };
        let statement = &mut handles.statement;
        let classify = self.classify;
        let check = |result: SqlResult<()>, statement: &StatementImpl<'_>, function| {
            if result.is_err() {
                return Err(Error::from(statement_error(collect(statement, function), classify)));
            }
            Ok(())
        };
        // SAFETY: Columnar binding of buffers that all hold `rows` values or more; a driver that fetches more rows than
        // asked for is refused below.
        let result = unsafe { statement.set_row_bind_type(0) };
        check(result, statement, "SQLSetStmtAttr")?;
        // SAFETY: As above.
        let result = unsafe { statement.set_row_array_size(rows) };
        check(result, statement, "SQLSetStmtAttr")?;
        match statement.row_array_size() {
            SqlResult::Success(actual) | SqlResult::SuccessWithInfo(actual) if actual > rows || actual == 0 => {
                return Err(
                    ErrorKind::Internal(format!("the driver wants to fetch {actual} rows instead of {rows}")).into(),
                );
            }
            _ => {}
        }
        // SAFETY: `fetched` is on the heap and freed after the statement.
        let result = unsafe { statement.set_num_rows_fetched(&mut self.fetched) };
        check(result, statement, "SQLSetStmtAttr")?;
        for (column, number) in self.columns.iter_mut().zip(1..) {
            // SAFETY: The buffers are on the heap, are unbound before they are replaced and freed after the statement.
            let result = unsafe { column.bind(statement, number) };
            check(result, statement, "SQLBindCol")?;
        }
        Ok(())
    }
}

/// A value of a small result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Field {
    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Field::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Field::Text(value) => Some(value),
            _ => None,
        }
    }
}

/// The rows of a running SELECT. What is left of them is given up when it is dropped.
pub struct Cursor<'c> {
    connection: &'c mut Connection,
}

impl Cursor<'_> {
    /// The next rows; `None` behind the last one.
    ///
    /// # Errors
    /// As for [`Connection::fetch`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Batch<'_>>> {
        self.connection.fetch()
    }

    /// The next rows without what does not fit into its column's buffer.
    ///
    /// # Errors
    /// As for [`Connection::fetch_short`].
    pub fn next_short(&mut self) -> Result<Option<Batch<'_>>> {
        self.connection.fetch_short()
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.connection.finish() {
            log::warn!("a cursor could not be closed: {error}");
        }
    }
}
