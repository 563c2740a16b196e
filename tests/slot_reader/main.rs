//! The log reader over the slots of a PostgreSQL server.

mod slots;
#[path = "../support/mod.rs"]
mod support;
mod transactions;
