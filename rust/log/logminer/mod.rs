//! The LogMiner implementation of the log reader: all records are mined in raw mode, and commit order and wholeness are
//! made here.
//!
//! ```text
//! source       what is asked of a database: files, ends, open transactions, a mining call
//! session      the same over a connection
//! ahead        statements that stand behind what was read
//! archives     which files cover a range of the log, and whether they are kept
//! windows      which files a mining call reads, and which records are new
//! contents     rows to records: operation codes, texts put together, bounds of transactions
//! rules        what becomes of a record, by its operation
//! history      what statements did to a table, and so which texts can be trusted
//! shape        one shape of a table: its columns in a redo text
//! faults       what to do about records that cannot be read
//! changes      redo texts to changes
//! values       one value of a redo text
//! dictionary   which shapes the captured tables have now
//! delivery     a committed transaction in fragments
//! mine_back    the START of a transaction that began before mining did
//! missing      files that should be there and are not
//! reader       the log reader over all of them
//! opener       opens log readers
//! redo_sql     the parser of redo texts
//! ```

mod ahead;
pub mod archives;
pub mod changes;
pub mod contents;
pub mod delivery;
mod dictionary;
pub mod faults;
#[cfg(test)]
pub(crate) mod fuzz;
mod history;
mod max_age;
mod mine_back;
mod missing;
pub mod opener;
pub mod reader;
pub mod redo_sql;
pub mod rules;
pub mod session;
mod shape;
pub mod source;
mod values;
pub mod windows;
