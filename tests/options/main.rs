//! Every option of reading, proved where it shows: in the rows that come out, in the SQL that the server gets, or in a
//! gauge.

#[path = "../row/reader.rs"]
mod binary_row;
mod connecting;
mod footprint;
mod gauges;
mod grants;
mod job;
mod log;
mod server;
mod sessions;
mod setup;
mod snapshot;
#[path = "../support/mod.rs"]
mod support;
mod unavailable;
