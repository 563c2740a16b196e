//! Rows as Flink reads them: layout, values, errors, and that snapshot and log give the same bytes.

mod captured;
mod datum;
mod errors;
mod fixture;
mod metadata;
mod properties;
mod reader;
