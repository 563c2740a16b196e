//! Tidemark: change data capture for Apache Flink from databases whose log is read through SQL.
//!
//! The map of the house, one line a room; dependencies point downwards only.

pub mod log;
