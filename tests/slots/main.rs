//! The whole chain over the slots of a PostgreSQL server: enumerator, readers, checkpoints and restores, driven as Flink
//! drives them, into a sink that takes nothing twice and misses nothing.

#[path = "../row/reader.rs"]
mod binary_row;
// What these have beside is for the tests over the stand-in for DM8.
#[allow(dead_code)]
#[path = "../capture/checkpoint.rs"]
mod checkpoint;
#[path = "../capture/gated.rs"]
mod gated;
#[allow(dead_code)]
#[path = "../capture/job.rs"]
mod job;
#[path = "../support/postgres_keys.rs"]
mod key_kinds;
#[path = "../capture/resnapshot.rs"]
mod resnapshot;
#[path = "../support/secrets.rs"]
mod secrets;
#[path = "../capture/sink.rs"]
mod sink;
mod source;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code)]
#[path = "../support/warnings.rs"]
mod warnings;
#[allow(dead_code)]
#[path = "../capture/watch.rs"]
mod watch;

mod altered;
mod ddl;
mod faults;
mod hostile;
mod identity;
mod keyed;
mod keyless;
mod order;
mod partitions;
mod publications;
mod restarts;
mod secured;
mod setup;
mod startup;
mod stopping;
mod times;
mod workload;
