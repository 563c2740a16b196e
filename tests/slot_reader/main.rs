//! The log reader over the slots of a PostgreSQL server.

#[path = "../row/reader.rs"]
mod binary_row;
mod calls;
mod ddl;
mod faults;
mod identity;
mod partitions;
// What it has beside is for the tests over the stand-in for DM8.
#[allow(dead_code)]
#[path = "../types/phases.rs"]
mod phases;
mod properties;
mod random;
mod shapes;
mod slots;
#[path = "../support/mod.rs"]
mod support;
mod transactions;
mod values;
#[allow(dead_code)]
#[path = "../support/warnings.rs"]
mod warnings;
