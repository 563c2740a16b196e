//! Runs the splits of one reader.

pub mod state;
