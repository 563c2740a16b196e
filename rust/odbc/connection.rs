//! A connection with one statement at a time.

use std::time::Duration;

use odbc_api::handles::{self, SqlResult, SqlText, Statement, StatementImpl};
use odbc_api::sys::{
    CDataType, HandleType, InfoType, Lock, NO_TOTAL, NULL_DATA, Operation, Pointer, SQLFreeHandle, SQLGetData,
    SQLGetInfo, SQLSetPos, SqlReturn,
};
use odbc_api::{ConnectionOptions, environment};

use crate::error::{Error, ErrorKind, Result};
use crate::odbc::cancel::CancelToken;
use crate::odbc::columns::{Batch, ColumnBuffer, ColumnSpec, LongValues};
use crate::odbc::diagnostic::{Classify, Diagnostic, collect, connect_error, statement_error};
use crate::odbc::settings::ConnectionSettings;

/// Bytes that the column buffers of a connection may take; batches are cut accordingly.
const BUFFER_BYTES: usize = 16 << 20;

/// First piece of a long value whose length the driver does not tell.
const PIECE: usize = 64 << 10;

/// A connection. It runs one statement at a time; the statement's rows live in its buffers, so that a half-read result
/// can be kept beside its connection, in any struct and on any thread.
pub struct Connection {
    /// `None` only while it is being dropped.
    handles: Option<Handles>,
    cancel: CancelToken,
    classify: Classify,
    statement_timeout: Option<Duration>,
    /// Whether bound columns of any row of a batch can be read again (`SQL_GETDATA_EXTENSIONS`).
    rereads: bool,
    specs: Vec<ColumnSpec>,
    columns: Vec<ColumnBuffer>,
    batch_rows: usize,
    fetched: Box<usize>,
    long: LongValues,
    open: bool,
}

struct Handles {
    statement: StatementImpl<'static>,
    connection: handles::Connection<'static>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// `Connect`, without the connection string and the password.
    pub fn open(settings: &ConnectionSettings) -> Result<Self> {
        let text = settings.connection_string();
        let braced = format!("{{{}}}", settings.password.reveal().replace('}', "}}"));
        let secrets = [&text, &braced, settings.password.reveal()];
        let failed = |diagnostic| Error::from(connect_error(diagnostic, settings.classify, &settings.driver, &secrets));
        let options = ConnectionOptions {
            login_timeout_sec: Some(seconds(settings.connect_timeout)),
            packet_size: None,
        };
        let connection = environment()
            .and_then(|environment| environment.connect_with_connection_string(&text, options))
            .map_err(|error| failed(diagnostic_of(error)))?
            .into_handle();
        let statement = match connection.allocate_statement() {
            SqlResult::Success(statement) | SqlResult::SuccessWithInfo(statement) => Some(statement.into_sys()),
            _ => None,
        };
        let Some(statement) = statement else {
            let diagnostic = collect(&connection, "SQLAllocHandle");
            release_connection(connection);
            return Err(failed(diagnostic));
        };
        // SAFETY: The handle was just allocated. Its bond to the connection is kept by `Connection::drop`, which frees
        // the statement before the connection.
        let statement = unsafe { StatementImpl::<'static>::new(statement) };
        let cancel = CancelToken::new(statement.as_sys());
        let mut opened = Connection {
            rereads: rereads_bound_columns(&connection),
            handles: Some(Handles { statement, connection }),
            cancel,
            classify: settings.classify,
            statement_timeout: settings.statement_timeout,
            specs: Vec::new(),
            columns: Vec::new(),
            batch_rows: 0,
            fetched: Box::new(0),
            long: LongValues::default(),
            open: false,
        };
        if let Some(limit) = settings.statement_timeout {
            let set = opened.statement()?.set_query_timeout_sec(seconds(limit) as usize);
            if set.is_err() {
                log::warn!("the driver does not know statement timeouts; a call that hangs has to be cancelled");
            }
        }
        Ok(opened)
    }

    /// What cancels this connection's calls from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

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

    /// The next rows of the statement that was started; `None` behind its last one.
    ///
    /// # Errors
    /// `Statement`, `Timeout`, or `Closed`; a value longer than its column's spec where the driver cannot read it
    /// again (SQLSTATE 22001).
    pub fn fetch(&mut self) -> Result<Option<Batch<'_>>> {
        if !self.open {
            return Ok(None);
        }
        *self.fetched = 0;
        self.long.clear();
        // SAFETY: The bound columns and `fetched` are fields of this connection and on the heap; they are unbound
        // before they are replaced, and the statement is freed before they are.
        let result = self.call(|statement| unsafe { statement.fetch() })?;
        let SqlOutcome::Success = result else {
            self.finish()?;
            return Ok(None);
        };
        let rows = *self.fetched;
        self.read_long_values(rows)?;
        Ok(Some(Batch {
            rows,
            columns: &self.columns,
            long: &self.long,
        }))
    }

    /// Gives up what is left of the result.
    ///
    /// # Errors
    /// `Statement`.
    pub fn finish(&mut self) -> Result<()> {
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

    /// Whether the driver knows that the connection is lost.
    pub fn is_dead(&self) -> bool {
        self.handles.as_ref().is_none_or(|handles| {
            matches!(
                handles.connection.is_dead(),
                SqlResult::Success(true) | SqlResult::SuccessWithInfo(true) | SqlResult::Error { .. }
            )
        })
    }

    /// Commits each statement (the state of a new connection), or leaves that to [`Connection::commit`].
    ///
    /// # Errors
    /// `Statement`.
    pub fn set_autocommit(&mut self, on: bool) -> Result<()> {
        self.finish()?;
        self.on_connection(|connection| connection.set_autocommit(on))
    }

    /// Ends a transaction.
    ///
    /// # Errors
    /// `Statement`.
    pub fn commit(&mut self) -> Result<()> {
        self.finish()?;
        self.on_connection(handles::Connection::commit)
    }

    /// Undoes a transaction.
    ///
    /// # Errors
    /// `Statement`.
    pub fn rollback(&mut self) -> Result<()> {
        self.finish()?;
        self.on_connection(handles::Connection::rollback)
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.finish()?;
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
        let stream = longs.count() > 0 && !self.rereads;
        let width: usize = specs.iter().map(|spec| spec.width()).sum();
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
                .map(|&spec| ColumnBuffer::new(spec, rows, stream))
                .collect::<Result<_>>()?;
            self.specs = specs.into();
            self.batch_rows = rows;
        }
        self.bind_columns(rows)
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
        // SAFETY: Columnar binding of buffers that all hold `rows` values; a driver that fetches more rows than asked
        // for is refused below.
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

    /// Reads the values that are longer than their buffers, and those of streamed columns.
    fn read_long_values(&mut self, rows: usize) -> Result<()> {
        for column in 0..self.columns.len() {
            if matches!(self.columns[column], ColumnBuffer::Streamed) {
                for row in 0..rows {
                    self.read_long_value(column, row, PIECE)?;
                }
                continue;
            }
            for row in self.columns[column].truncated(rows) {
                let length = self.columns[column].length(row);
                if !self.rereads {
                    return Err(ErrorKind::Statement {
                        message: format!(
                            "a value of {} bytes in column {} is longer than the dictionary allows",
                            length.map_or_else(|| "unknown".to_owned(), |length| length.to_string()),
                            column + 1
                        ),
                        state: "22001".into(),
                        native: 0,
                        retryable: false,
                    }
                    .into());
                }
                let number = row + 1;
                // SAFETY: The row is one of the batch that was just fetched into bound buffers.
                self.call(|statement| {
                    match unsafe { SQLSetPos(statement.as_sys(), number as _, Operation::POSITION, Lock::NO_CHANGE) } {
                        SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO => SqlResult::Success(()),
                        _ => SqlResult::Error { function: "SQLSetPos" },
                    }
                })?;
                self.read_long_value(column, row, length.unwrap_or(PIECE))?;
            }
        }
        Ok(())
    }

    /// Reads one value of the current row to its end, piece by piece.
    fn read_long_value(&mut self, column: usize, row: usize, expected: usize) -> Result<()> {
        let text = self.specs[column].is_text();
        let start = self.long.bytes.len();
        let mut room = expected.max(1);
        loop {
            let at = self.long.bytes.len();
            // A text's piece ends with a zero byte.
            let space = room + usize::from(text);
            let mut bytes = std::mem::take(&mut self.long.bytes);
            bytes.resize(at + space, 0);
            let mut indicator = 0isize;
            let target = &mut bytes[at..];
            let result = self.call(|statement| {
                let kind = if text { CDataType::Char } else { CDataType::Binary };
                // SAFETY: `target` is as long as is said and outlives the call, and so does `indicator`.
                match unsafe {
                    SQLGetData(
                        statement.as_sys(),
                        (column + 1) as u16,
                        kind,
                        target.as_mut_ptr() as Pointer,
                        space as isize,
                        &mut indicator,
                    )
                } {
                    SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO => SqlResult::Success(()),
                    SqlReturn::NO_DATA => SqlResult::NoData,
                    _ => SqlResult::Error { function: "SQLGetData" },
                }
            });
            self.long.bytes = bytes;
            match result {
                Err(error) => return Err(error),
                Ok(SqlOutcome::NoData) => {
                    self.long.bytes.truncate(at);
                    break;
                }
                Ok(SqlOutcome::Success) if indicator == NULL_DATA => {
                    self.long.bytes.truncate(start);
                    self.long.note(column, row, None);
                    return Ok(());
                }
                Ok(SqlOutcome::Success) => {}
            }
            let remaining = usize::try_from(indicator).ok();
            if let Some(remaining) = remaining.filter(|&remaining| remaining <= room) {
                self.long.bytes.truncate(at + remaining);
                break;
            }
            debug_assert!(remaining.is_some() || indicator == NO_TOTAL);
            // A driver that does not split characters leaves up to three bytes of a text's piece unused.
            let mut got = room;
            while text && got + 3 > room && got > 0 && self.long.bytes[at + got - 1] == 0 {
                got -= 1;
            }
            self.long.bytes.truncate(at + got);
            room = remaining.map_or(PIECE, |remaining| remaining - got);
        }
        self.long.note(column, row, Some(start));
        Ok(())
    }

    /// Makes a call that may wait for the server.
    fn call(&mut self, call: impl FnOnce(&mut StatementImpl<'static>) -> SqlResult<()>) -> Result<SqlOutcome> {
        let Some(handles) = &mut self.handles else {
            return Err(ErrorKind::Closed.into());
        };
        self.cancel.begin();
        // Asked after `begin`: who closes from now on finds a running call and cancels it.
        if self.cancel.is_closed() {
            self.cancel.end();
            return Err(ErrorKind::Closed.into());
        }
        let result = call(&mut handles.statement);
        let elapsed = self.cancel.end();
        match result {
            SqlResult::Success(()) | SqlResult::SuccessWithInfo(()) => Ok(SqlOutcome::Success),
            SqlResult::NoData => Ok(SqlOutcome::NoData),
            SqlResult::Error { function } => {
                let diagnostic = collect(&handles.statement, function);
                Err(self.failed(diagnostic, elapsed))
            }
            SqlResult::NeedData | SqlResult::StillExecuting => {
                Err(ErrorKind::Internal("the driver works in a mode that was not asked for".into()).into())
            }
        }
    }

    fn failed(&self, diagnostic: Diagnostic, elapsed: Duration) -> Error {
        let canceled = matches!(diagnostic.state.as_str(), "HY008" | "57014" | "HYT00" | "S1T00");
        if self.cancel.is_closed() {
            return ErrorKind::Closed.into();
        }
        match self.statement_timeout {
            // psqlODBC reports a statement timeout as it reports a cancelled statement.
            Some(limit) if canceled && elapsed.as_secs_f64() + 0.1 >= f64::from(seconds(limit)) => ErrorKind::Timeout {
                seconds: u64::from(seconds(limit)),
            }
            .into(),
            _ => statement_error(diagnostic, self.classify).into(),
        }
    }

    fn statement(&mut self) -> Result<&mut StatementImpl<'static>> {
        match &mut self.handles {
            Some(handles) => Ok(&mut handles.statement),
            None => Err(ErrorKind::Closed.into()),
        }
    }

    fn on_connection(&self, call: impl FnOnce(&handles::Connection<'static>) -> SqlResult<()>) -> Result<()> {
        let Some(handles) = &self.handles else {
            return Err(ErrorKind::Closed.into());
        };
        if call(&handles.connection).is_err() {
            return Err(statement_error(collect(&handles.connection, "SQLEndTran"), self.classify).into());
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cancel.forget();
        if let Some(Handles { statement, connection }) = self.handles.take() {
            // SAFETY: The handle is owned here, nobody cancels through it any more, and it is not used again.
            let _ = unsafe { SQLFreeHandle(HandleType::Stmt, statement.into_sys().as_handle()) };
            release_connection(connection);
        }
    }
}

/// Disconnects and frees. The crate's own way panics when a driver refuses, as some do on a lost connection.
fn release_connection(mut connection: handles::Connection<'static>) {
    if connection.disconnect().is_err() {
        // 25000: a transaction is open.
        let _ = connection.rollback();
        if connection.disconnect().is_err() {
            log::warn!(
                "a connection could not be closed: {:?}",
                collect(&connection, "SQLDisconnect")
            );
        }
    }
    let handle = connection.as_sys().as_handle();
    std::mem::forget(connection);
    // SAFETY: The handle is owned here and not used again.
    let _ = unsafe { SQLFreeHandle(HandleType::Dbc, handle) };
}

/// Whether bound columns of any row of a batch can be read again: SQL_GD_BLOCK and SQL_GD_BOUND.
fn rereads_bound_columns(connection: &handles::Connection<'_>) -> bool {
    const BLOCK: u32 = 4;
    const BOUND: u32 = 8;
    let mut extensions = 0u32;
    // SAFETY: This information is a 32-bit mask, which `extensions` holds.
    let result = unsafe {
        SQLGetInfo(
            connection.as_sys(),
            InfoType::GetDataExtensions,
            &mut extensions as *mut u32 as Pointer,
            size_of::<u32>() as i16,
            std::ptr::null_mut(),
        )
    };
    result == SqlReturn::SUCCESS && extensions & (BLOCK | BOUND) == BLOCK | BOUND
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX).max(1)
}

fn diagnostic_of(error: odbc_api::Error) -> Diagnostic {
    match error {
        odbc_api::Error::Diagnostics { record, .. } | odbc_api::Error::UnsupportedOdbcApiVersion(record) => {
            Diagnostic {
                state: String::from_utf8_lossy(&record.state.0).into(),
                native: record.native_error,
                message: String::from_utf8_lossy(&record.message).into(),
            }
        }
        other => Diagnostic {
            state: "HY000".into(),
            native: 0,
            message: other.to_string(),
        },
    }
}

enum SqlOutcome {
    Success,
    NoData,
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
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.connection.finish() {
            log::warn!("a cursor could not be closed: {error}");
        }
    }
}
