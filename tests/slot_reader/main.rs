//! The log reader over the slots of a PostgreSQL server.

mod ddl;
mod faults;
mod identity;
mod partitions;
mod random;
mod shapes;
mod slots;
#[path = "../support/mod.rs"]
mod support;
mod transactions;
mod values;
