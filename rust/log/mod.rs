//! What turns a database's log into transactions in commit order.

pub mod logminer;
