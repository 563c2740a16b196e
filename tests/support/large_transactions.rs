//! Reading a generated log with one large transaction, and what that costs.

#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;

use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::reader::{LogMinerReader, Settings};
use tidemark::log::spill::{Spilled, Spilling};
use tidemark::log::{Fragment, LogEvent, LogReader, Opening, Progress};
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

/// A reader under a budget, opened at the log's beginning or where another one stood.
pub fn open(log: GeneratedLog, spilling: Arc<Spilling>, from: Option<Progress>) -> LogMinerReader<GeneratedLog> {
    let settings = Settings {
        spilling,
        fragment: FragmentLimit {
            rows: 1_000,
            bytes: 1 << 20,
        },
        ..Settings::default()
    };
    let opening = Opening {
        mine_from: from.map_or(Scn(0), |from| from.next_scn),
        position: from.map_or(Position::before(Scn(0)), |from| from.position),
    };
    LogMinerReader::open(log, vec![table(2000)], settings, opening).unwrap()
}

/// The numbers of a fragment's rows.
pub fn ids(fragment: &Fragment) -> impl Iterator<Item = u64> {
    fragment.changes.rows.iter().map(|change| {
        let Value::Number(id) = fragment.changes.values.get(change.after.unwrap(), 0) else {
            panic!("no number")
        };
        std::str::from_utf8(id).unwrap().parse().unwrap()
    })
}

/// Reads the whole log under a budget.
pub fn read(plan: Plan, memory: usize, folders: Vec<PathBuf>) -> Read {
    let spilling = Spilling::new(memory, folders);
    let mut reader = open(GeneratedLog::new(plan), spilling.clone(), None);
    let mut out = Read::default();
    while let Some(event) = reader.poll().unwrap() {
        out.buffered = out.buffered.max(reader.figures().buffered_bytes);
        let LogEvent::Fragment(fragment) = event else { continue };
        if fragment.head.xid != Xid(LARGE) {
            out.small += fragment.changes.rows.len() as u64;
            continue;
        }
        out.fragments += 1;
        for id in ids(&fragment) {
            out.large += 1;
            assert_eq!(id, out.large);
        }
    }
    out.spilled = spilling.figures();
    out
}
