//! The LogMiner implementation of the log reader (Dameng, Oracle).

pub mod redo_sql;
