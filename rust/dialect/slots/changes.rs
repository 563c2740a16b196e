//! The call that hands out what a slot has.
//!
//! Its rows come in blocks: many rows of the slot as one row of the result, their columns as arrays in binary form. A driver
//! then has some hundred values to make instead of some hundred thousand, which cost more than all that is done with them. They
//! come in base64: a driver takes a text as it is, but bytes digit by digit (psqlODBC, measured: half a microsecond a row of
//! 130 bytes).

use std::fmt::Write;

use crate::dialect::Query;
use crate::dialect::slots::{Statements, text};
use crate::odbc::ColumnSpec;

/// 0 in the blocks of rows that end transactions and come first once more; integer.
pub const PART: usize = 0;
/// Where the rows stand: an array of LSNs as `array_send` gives it, in base64 as `encode` does: lines of 76 characters.
pub const LSNS: usize = 1;
/// Their transactions: an array of 32-bit numbers, or NULL where the plugin says so itself.
pub const XIDS: usize = 2;
/// What the plugin says: an array of texts or bytes.
pub const DATA: usize = 3;

/// A block ends with the row that brings what the plugin says to a multiple of so many bytes.
const BLOCK_BYTES: u64 = 64 << 10;

/// How a plugin is called.
#[derive(Clone, Debug, Default)]
pub struct PluginCall<'a> {
    /// Names and values of its options.
    pub options: Vec<(&'static str, &'a str)>,
    /// Whether its output is bytes; else text, which the server brings into the client's character set.
    pub binary: bool,
    /// Whether what begins a transaction says which one; else each row's transaction is asked for.
    pub says_xid: bool,
    /// A condition on `data` for the rows that end a transaction, for plugins whose rows that begin one do not say where it
    /// ends: these then come first, once more.
    pub with_ends: Option<&'a str>,
}

impl Statements {
    /// A call that hands out and consumes what a slot has, at most `changes` and what is left of the transaction that they
    /// end in; in the columns of this module. Where the call asks for ends, the rows that end transactions come first, once
    /// more.
    pub fn changes(&self, slot: &str, changes: u64, call: &PluginCall<'_>) -> Query {
        let mut arguments = format!("{}, NULL, {changes}", text(slot));
        for (name, value) in &call.options {
            let _ = write!(arguments, ", {}, {}", text(name), text(value));
        }
        let function = match call.binary {
            true => self.of("logical_slot_get_binary_changes"),
            false => self.of("logical_slot_get_changes"),
        };
        let source = format!("{function}({arguments}) WITH ORDINALITY");
        let columns = "c(lsn, xid, data, nth)";
        let sql = match call.with_ends {
            None => blocks(1, &format!("{source} AS {columns}"), call),
            // UNION ALL of two scans of one materialised result gives one after the other.
            Some(ends) => format!(
                "WITH {columns} AS (SELECT * FROM {source}) ({}) UNION ALL ({})",
                blocks(0, &format!("c WHERE {ends}"), call),
                blocks(1, "c", call)
            ),
        };
        Query {
            sql,
            columns: vec![
                ColumnSpec::Int,
                ColumnSpec::Streamed { usual: 32 << 10 },
                ColumnSpec::Streamed { usual: 16 << 10 },
                ColumnSpec::Streamed { usual: 128 << 10 },
            ],
        }
    }
}

/// The rows of a source in blocks. Sorted by their number in the source: a sort that spills to disk keeps no other order, and
/// what is sorted costs next to nothing to sort. `floor`, since some servers divide integers as fractions.
fn blocks(part: u8, source: &str, call: &PluginCall<'_>) -> String {
    let xids = match call.says_xid {
        true => "NULL::text",
        false => "encode(array_send(array_agg(xid)), 'base64')",
    };
    format!(
        "SELECT {part}, encode(array_send(array_agg(lsn)), 'base64'), {xids}, encode(array_send(array_agg(data)), 'base64') FROM \
         (SELECT lsn, xid, data, floor(sum(octet_length(data)) OVER (ROWS UNBOUNDED PRECEDING) / {BLOCK_BYTES}) AS block \
         FROM {source} ORDER BY block, nth) AS r GROUP BY block ORDER BY block"
    )
}
