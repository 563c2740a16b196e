//! A connection with one statement at a time.

use std::time::Duration;

use odbc_api::handles::{self, SqlResult, Statement, StatementImpl};
use odbc_api::sys::{HandleType, InfoType, Pointer, SQLFreeHandle, SQLGetInfo, SqlReturn};
use odbc_api::{ConnectionOptions, environment};

use crate::error::{Error, ErrorKind, Result};
use crate::odbc::cancel::CancelToken;
use crate::odbc::columns::{ColumnBuffer, ColumnSpec};
use crate::odbc::diagnostic::{Classify, Diagnostic, collect, connect_error, statement_error};
use crate::odbc::long::LongValues;
use crate::odbc::settings::ConnectionSettings;

/// A connection. It runs one statement at a time; the statement's rows live in its buffers, so that a half-read result
/// can be kept beside its connection, in any struct and on any thread.
pub struct Connection {
    /// `None` only while it is being dropped.
    pub(super) handles: Option<Handles>,
    cancel: CancelToken,
    pub(super) classify: Classify,
    statement_timeout: Option<Duration>,
    /// What the settings say.
    usual_timeout: Option<Duration>,
    /// Whether bound columns of any row of a batch can be read again (`SQL_GETDATA_EXTENSIONS`).
    pub(super) rereads: bool,
    pub(super) specs: Vec<ColumnSpec>,
    pub(super) columns: Vec<ColumnBuffer>,
    /// How many rows the buffers hold.
    pub(super) batch_rows: usize,
    /// How many the next fetch is to bring at most.
    pub(super) asked_rows: usize,
    /// How many rows the last fetch brought.
    pub(super) fetched: Box<usize>,
    /// The first of them that was not handed out.
    pub(super) next_row: usize,
    pub(super) long: LongValues,
    pub(super) open: bool,
}

pub(super) struct Handles {
    pub(super) statement: StatementImpl<'static>,
    connection: handles::Connection<'static>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// `Connect`, without the connection string and the password; `Statement` for one that the connection begins with.
    pub fn open(settings: &ConnectionSettings) -> Result<Self> {
        let text = settings.connection_string();
        let own = settings.secrets();
        let secrets: Vec<&str> = std::iter::once(&text).chain(&own).map(String::as_str).collect();
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
            rereads: !settings.stream_long_values && rereads_bound_columns(&connection),
            handles: Some(Handles { statement, connection }),
            cancel,
            classify: settings.classify,
            statement_timeout: settings.statement_timeout,
            usual_timeout: settings.statement_timeout,
            specs: Vec::new(),
            columns: Vec::new(),
            batch_rows: 0,
            asked_rows: 0,
            fetched: Box::new(0),
            next_row: 0,
            long: LongValues::default(),
            open: false,
        };
        if let Some(limit) = settings.statement_timeout {
            let set = opened.statement()?.set_query_timeout_sec(seconds(limit) as usize);
            if set.is_err() {
                log::warn!("the driver does not know statement timeouts; a call that hangs has to be cancelled");
            }
        }
        for statement in &settings.session {
            opened.execute(statement)?;
        }
        Ok(opened)
    }

    /// Lets the calls from now on take so many times as long as the settings say, where these limit them.
    ///
    /// # Errors
    /// `Closed`.
    pub fn allow_longer(&mut self, times: u32) -> Result<()> {
        let Some(usual) = self.usual_timeout else { return Ok(()) };
        let limit = usual * times.max(1);
        self.statement_timeout = Some(limit);
        self.cancel.allow(limit - usual);
        // A driver that does not know timeouts was warned of.
        let _ = self.statement()?.set_query_timeout_sec(seconds(limit) as usize);
        Ok(())
    }

    /// What cancels this connection's calls from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
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

    /// Makes a call that may wait for the server.
    pub(super) fn call(
        &mut self,
        call: impl FnOnce(&mut StatementImpl<'static>) -> SqlResult<()>,
    ) -> Result<SqlOutcome> {
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

    pub(super) fn statement(&mut self) -> Result<&mut StatementImpl<'static>> {
        match &mut self.handles {
            Some(handles) => Ok(&mut handles.statement),
            None => Err(ErrorKind::Closed.into()),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cancel.forget();
        // A driver may ask the server once more, and hang with it.
        self.cancel.begin();
        if let Some(Handles { statement, connection }) = self.handles.take() {
            // SAFETY: The handle is owned here, nobody cancels through it any more, and it is not used again.
            let _ = unsafe { SQLFreeHandle(HandleType::Stmt, statement.into_sys().as_handle()) };
            release_connection(connection);
        }
        self.cancel.end();
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

pub(super) enum SqlOutcome {
    Success,
    NoData,
}
