//! What databases have in common that say which transactions a SELECT saw: the statements of exact pages (design 4.5).
//! Places in the log are numbers of bytes.

use crate::dialect::{Dialect, Query};
use crate::position::Xid;
use crate::split::TableName;

/// The statements by which a page is exact, and its snapshot phase with it.
pub trait Visibility: Dialect {
    /// 1 where the server follows another one, so that it does not know which transactions are open; else 0.
    fn is_standby(&self) -> Query;

    /// Where the next record of the log will stand, written or not: one integer.
    fn log_end(&self) -> Query;

    /// Up to where the log would outlive a crash: one integer.
    fn durable_end(&self) -> Query;

    /// Begins a transaction that changes nothing: its number, an integer.
    fn own_transaction(&self) -> Query;

    /// Below which number every transaction is over: one integer.
    fn oldest_open(&self) -> Query;

    /// Who holds transactions open that began before this one, a text each.
    fn open_before(&self, xid: Xid) -> Query;

    /// Begins a transaction whose SELECTs all see the same rows of these tables, in their shapes of now, by statements one
    /// after the other. What they see is not decided yet.
    fn begin_snapshot(&self, table: &TableName) -> Vec<String>;

    /// What the SELECTs of this transaction see, a text for [`crate::position::TransactionSnapshot::parse`], and [`Visibility::log_end`] behind it.
    fn seen(&self) -> Query;

    /// Ends that transaction.
    fn end_snapshot(&self) -> String;

    /// Has the server keep the result of a SELECT for the session beyond its transaction, under a name of its own: statements
    /// in place of [`Visibility::end_snapshot`], the last of which sorts.
    fn keep_result(&self, select: &str) -> Vec<String>;

    /// The next rows of the kept result.
    fn kept_rows(&self, rows: usize) -> String;

    /// Drops the kept result.
    fn drop_kept(&self) -> String;

    /// Writes a record that takes the log's durable end along.
    fn push_log(&self) -> Query;
}
