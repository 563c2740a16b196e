//! Tidemark: change data capture for Apache Flink from databases whose log is read through SQL.
//!
//! The map of the house, one line a room; dependencies point downwards only.

pub mod assigner;
mod bridge;
pub mod catalog;
pub mod config;
pub mod database;
pub mod dialect;
pub mod enumerator;
pub mod error;
#[cfg(test)]
mod fuzz;
pub mod gauges;
pub mod log;
pub mod odbc;
pub mod offset;
pub mod position;
pub mod reader;
pub mod row;
pub mod snapshot;
pub mod split;
mod stop;
pub mod stream;
pub mod unavailable;
mod wire;
