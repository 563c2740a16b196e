//! The LogMiner implementation of the log reader: all records are mined in raw mode, and commit order and wholeness are
//! made here.
//!
//! ```text
//! source       what is asked of a database: files, ends, open transactions, a mining call
//! session      the same over a connection
//! archives     which files cover a range of the log, and whether they are kept
//! windows      which files a mining call reads, and which records are new
//! contents     rows to records: operation codes, texts put together, bounds of transactions
//! faults       what to do about records that cannot be read
//! changes      redo texts to changes
//! delivery     a committed transaction in fragments
//! mine_back    the START of a transaction that began before mining did
//! missing      files that should be there and are not
//! reader       the log reader over all of them
//! opener       opens log readers
//! redo_sql     the parser of redo texts
//! ```

pub mod archives;
pub mod changes;
pub mod contents;
pub mod delivery;
pub mod faults;
mod mine_back;
mod missing;
pub mod opener;
pub mod reader;
pub mod redo_sql;
pub mod session;
pub mod source;
pub mod windows;
