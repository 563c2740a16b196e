//! The whole chain over the stand-in for DM8: enumerator, readers, checkpoints, restores and faults, driven as Flink
//! drives them, into a sink that takes nothing twice and misses nothing.

#[path = "../row/reader.rs"]
mod binary_row;
#[path = "../support/secrets.rs"]
mod secrets;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code)]
#[path = "../support/warnings.rs"]
mod warnings;

mod archives;
mod checkpoint;
mod ddl;
mod ddl_events;
mod faults;
mod gated;
mod hostile;
mod hung;
mod job;
mod keyless;
mod keys;
mod kinds;
mod lob;
mod offsets;
mod partitions;
mod resnapshot;
mod restarts;
mod secured;
mod sink;
mod snapshot;
mod source;
mod startup;
mod stream;
mod tables;
mod visibility;
mod watch;
mod workload;
