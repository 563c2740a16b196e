//! Pages in rounds and the log phase over a log that a test writes down: the cases that have names.

mod docs;
mod mined;
#[path = "../support/scripted_log.rs"]
mod mined_log;
mod parts;
mod rounds;
mod scripted;
mod stream;
mod unavailable;
mod updates;
