//! Logs read through logical slots, over SQL (design 3.2).
//!
//! A durable slot keeps the log; rows come from a temporary copy of it, in calls that hand out and consume. What an output
//! plugin says is read by a [`plugin::Plugin`], one a format; [`pgoutput`], [`test_decoding`] and [`decoderbufs`] give the
//! same events.

mod assembly;
mod binary;
mod block;
pub mod confirm;
pub mod control;
mod ddl_table;
pub mod decoderbufs;
mod fetching;
mod float;
#[cfg(test)]
pub(crate) mod fuzz;
mod layout;
mod order;
pub mod pgoutput;
pub mod plugin;
pub mod plugins;
pub mod reader;
pub mod session;
pub mod settings;
mod shapes;
pub mod slot;
mod statements;
mod tables;
pub mod test_decoding;
mod values;
mod words;
