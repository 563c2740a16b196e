//! The call that hands out what a slot has.
//!
//! Its rows come in blocks: many rows of the slot as one row of the result, the values of a column as one. A driver
//! then has some hundred values to make instead of some hundred thousand, which cost more than all that is done with them. They
//! come in base64: a driver takes a text as it is, but bytes digit by digit (psqlODBC, measured: half a microsecond a row of
//! 130 bytes).
//!
//! The values of a block are an array in its binary form; or they stand one behind another, where what the plugin says
//! tells its end, which costs the server less (measured: a twentieth of a call).
//!
//! A block has the rows of so many numbers, whatever their size: blocks that end at a size would have to be cut by a window
//! over all rows (measured: a sixth of what a call costs beside the decoding). So that they are small all the same, large rows
//! are blocks of their own, behind the block that they are missing in.

use std::fmt::Write;

use crate::dialect::Query;
use crate::dialect::slots::{Statements, text};
use crate::odbc::ColumnSpec;

/// How a block is made: [`AGAIN`], [`ARRAYS`] or [`RUNS`]; integer.
pub const FORM: usize = 0;
/// Which block it is, an integer; [`Block::of_key`] reads it.
pub const BLOCK: usize = 1;
/// Where the rows stand: LSNs, in base64 as `encode` gives it: lines of 76 characters.
pub const LSNS: usize = 2;
/// Their transactions: 32-bit numbers, or NULL where the plugin says so itself.
pub const XIDS: usize = 3;
/// What the plugin says: texts or bytes.
pub const DATA: usize = 4;

/// Arrays as `array_send` gives them, of rows that end transactions and come first once more.
pub const AGAIN: i64 = 0;
/// Arrays as `array_send` gives them.
pub const ARRAYS: i64 = 1;
/// LSNs of eight bytes, and what the plugin says, each one behind another.
pub const RUNS: i64 = 2;

/// The rows of a call are numbered from 1 on. A block begins at each multiple of this, a power of two.
const BLOCK_ROWS: u64 = 256;
/// The same of the blocks of rows that end transactions: these are short and far apart.
const BLOCK_ENDS: u64 = 16_384;
/// A longer row is a block of its own.
const LARGE_BYTES: u64 = 8 << 10;

/// Which rows of a call a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Those from this number on, except large ones.
    From(u64),
    /// The large one of this number alone.
    Large(u64),
}

impl Block {
    /// The block of a key: twice its first number; of a large row, that of the block which it is missing in, and one more
    /// than its place there. So keys ascend as blocks come.
    pub fn of_key(key: i64) -> Option<Self> {
        let key = u64::try_from(key).ok()?;
        let (first, rest) = (key / (2 * BLOCK_ROWS) * BLOCK_ROWS, key % (2 * BLOCK_ROWS));
        match rest.checked_sub(1) {
            None => Some(Block::From(first)),
            Some(place) if place < BLOCK_ROWS => Some(Block::Large(first + place)),
            Some(_) => None,
        }
    }
}

/// How a plugin is called.
#[derive(Clone, Debug, Default)]
pub struct PluginCall<'a> {
    /// Names and values of its options.
    pub options: Vec<(&'static str, &'a str)>,
    /// Whether its output is bytes; else text, which the server brings into the client's character set.
    pub binary: bool,
    /// Whether what begins a transaction says which one; else each row's transaction is asked for.
    pub says_xid: bool,
    /// Whether what it says tells where it ends. It is bytes then, and says its transactions.
    pub says_end: bool,
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
        let form = if call.says_end { RUNS } else { ARRAYS };
        let sql = match call.with_ends {
            None => self.blocks(form, &key(), &format!("{source} AS {columns}"), call),
            // UNION ALL of two scans of one materialised result gives one after the other.
            Some(ends) => format!(
                "WITH {columns} AS (SELECT * FROM {source}) ({}) UNION ALL ({})",
                self.blocks(AGAIN, &format!("nth & -{BLOCK_ENDS}"), &format!("c WHERE {ends}"), call),
                self.blocks(form, &key(), "c", call)
            ),
        };
        Query {
            sql,
            columns: vec![
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Streamed { usual: 8 << 10 },
                ColumnSpec::Streamed { usual: 8 << 10 },
                ColumnSpec::Streamed { usual: 112 << 10 },
            ],
        }
    }

    /// The rows of a source in blocks of a key. Sorted by their number in the source: a sort that spills to disk keeps no
    /// other order, and what is sorted costs next to nothing to sort.
    fn blocks(&self, form: i64, key: &str, source: &str, call: &PluginCall<'_>) -> String {
        let array = |column: &str| format!("array_send(array_agg({column}))");
        let (lsns, data) = match form {
            RUNS => {
                let lsns = format!("string_agg({}(lsn), '')", self.of("lsn_send"));
                (lsns, "string_agg(data, '')".to_owned())
            }
            _ => (array("lsn"), array("data")),
        };
        let xids = match call.says_xid {
            true => "NULL::text".to_owned(),
            false => format!("encode({}, 'base64')", array("xid")),
        };
        format!(
            "SELECT {form}, block, encode({lsns}, 'base64'), {xids}, encode({data}, 'base64') FROM \
             (SELECT lsn, xid, {key} AS block, nth, data FROM {source} ORDER BY block, nth) AS r GROUP BY block ORDER BY block"
        )
    }
}

/// The key of the block that a row belongs to.
fn key() -> String {
    let first = format!("(nth & -{BLOCK_ROWS})");
    format!("{first} + CASE WHEN octet_length(data) > {LARGE_BYTES} THEN nth + 1 ELSE {first} END")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key as the server computes it.
    fn key(nth: u64, large: bool) -> i64 {
        let first = nth as i64 & -(BLOCK_ROWS as i64);
        first + if large { nth as i64 + 1 } else { first }
    }

    #[test]
    fn keys_tell_blocks_and_ascend_with_them() {
        let mut last = -1;
        for nth in (1..5_000).chain((1 << 40)..(1 << 40) + 1_000) {
            let first = nth / BLOCK_ROWS * BLOCK_ROWS;
            assert_eq!(Block::of_key(key(nth, false)), Some(Block::From(first)));
            assert_eq!(Block::of_key(key(nth, true)), Some(Block::Large(nth)));
            assert!(key(nth, false) < key(nth, true) && key(nth, true) > last);
            assert!(key(nth, true) < key(first + BLOCK_ROWS, false));
            last = key(nth, true);
        }
        for wrong in [-1, i64::MIN, BLOCK_ROWS as i64 + 1, 2 * BLOCK_ROWS as i64 - 1] {
            assert_eq!(Block::of_key(wrong), None, "{wrong}");
        }
    }
}
