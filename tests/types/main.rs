//! Every type of DM8, through the driver and through the log of the stand-in: both must give the same bytes.

#[path = "../row/reader.rs"]
mod binary_row;
#[path = "../support/mod.rs"]
mod support;

mod columns;
mod documented;
mod phases;
mod texts;
mod times;
mod values;
