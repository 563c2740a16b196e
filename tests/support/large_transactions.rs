//! Reading a generated log with one large transaction, and what that costs.

#![allow(dead_code)]

use std::path::PathBuf;

use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::reader::{LogMinerReader, Settings};
use tidemark::log::spill::{Spilled, Spilling};
use tidemark::log::{LogEvent, LogReader, Opening};
use tidemark::position::{Position, Scn, Xid};
use tidemark::row::value::Value;

use crate::generated_log::{GeneratedLog, LARGE, Plan};
use crate::plain_table::table;

/// What a run gave.
#[derive(Debug, Default)]
pub struct Read {
    /// Rows of the large transaction, the keys of which came in order from one on.
    pub large: u64,
    pub small: u64,
    pub fragments: u64,
    pub spilled: Spilled,
    /// Most memory that the reader said it takes for changes.
    pub buffered: u64,
}

/// Reads the whole log under a budget.
pub fn read(plan: Plan, memory: usize, folders: Vec<PathBuf>) -> Read {
    let spilling = Spilling::new(memory, folders);
    let settings = Settings {
        spilling: spilling.clone(),
        fragment: FragmentLimit {
            rows: 1_000,
            bytes: 1 << 20,
        },
        ..Settings::default()
    };
    let opening = Opening {
        mine_from: Scn(0),
        position: Position::before(Scn(0)),
    };
    let mut reader = LogMinerReader::open(GeneratedLog::new(plan), vec![table(2000)], settings, opening).unwrap();
    let mut out = Read::default();
    while let Some(event) = reader.poll().unwrap() {
        out.buffered = out.buffered.max(reader.figures().buffered_bytes);
        let LogEvent::Fragment(fragment) = event else { continue };
        if fragment.head.xid != Xid(LARGE) {
            out.small += fragment.changes.rows.len() as u64;
            continue;
        }
        out.fragments += 1;
        for change in &fragment.changes.rows {
            let Value::Number(id) = fragment.changes.values.get(change.after.unwrap(), 0) else {
                panic!("no number")
            };
            out.large += 1;
            assert_eq!(std::str::from_utf8(id).unwrap().parse::<u64>().unwrap(), out.large);
        }
    }
    out.spilled = spilling.figures();
    out
}
