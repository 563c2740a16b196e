//! Connections over ODBC: statements, bulk fetch into column buffers, long values, timeouts and cancelling. Knows no
//! database; the only room that knows ODBC.
//!
//! What a timeout can do: the statement timeout is asked of the server, and [`CancelToken`] asks the driver to cancel
//! from another thread. A call that waits for a network that is gone answers to neither: its thread and connection can
//! only be left behind ([`CancelToken::busy_for`] says how long a call has been running).

mod cancel;
mod columns;
mod connection;
mod diagnostic;
#[cfg(test)]
pub(crate) mod fuzz;
mod long;
mod query;
mod settings;

pub use cancel::CancelToken;
pub use columns::{Batch, Column, ColumnSpec};
pub use connection::Connection;
pub use diagnostic::{Classify, Diagnostic, Verdict, bracketed_number, by_sqlstate};
pub use query::{Cursor, Field};
pub(crate) use settings::Names;
pub use settings::{ConnectionSettings, Secret};
