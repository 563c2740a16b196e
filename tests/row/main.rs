//! Rows as Flink reads them: layout, values, errors, and that snapshot and log give the same bytes.

mod captured;
mod datum;
mod errors;
mod events;
mod fixture;
mod json;
mod metadata;
mod properties;
mod reader;
