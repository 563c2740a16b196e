//! Downstream: takes nothing twice and takes nothing back that is not there.

use std::collections::BTreeMap;

use tidemark::row::RowKind;

use crate::codec::Out as Row;
use crate::database::{RowChange, RowKey};
use crate::outcome::{Failure, Outcome};

type Out = (RowKind, RowKey, u64);

#[derive(Clone, Default)]
pub struct Sink {
    rows: BTreeMap<RowKey, u64>,
    bodies: BTreeMap<RowKey, u64>,
    /// Rows of transactions behind the largest point.
    journal: Vec<Out>,
}

impl Sink {
    pub fn put(&mut self, kind: RowKind, row: Row) -> Outcome<()> {
        let Row { key, version, body } = row;
        let had = match kind {
            RowKind::Insert | RowKind::UpdateAfter => match self.rows.insert(key, version) {
                // A body may be of a later state, never of an earlier one.
                None if body < version => {
                    return Err(Failure(format!("lost: {key:?} version {version} has body {body}")));
                }
                None => {
                    self.bodies.insert(key, body);
                    return Ok(());
                }
                had => had,
            },
            RowKind::Delete | RowKind::UpdateBefore => match self.rows.remove(&key) {
                Some(had) if had == version => {
                    self.bodies.remove(&key);
                    return Ok(());
                }
                had => had,
            },
        };
        Err(Failure(format!(
            "twice or lost: {kind:?} of {key:?} version {version}, it had {had:?}"
        )))
    }

    pub fn note(&mut self, kind: RowKind, key: RowKey, version: u64) {
        self.journal.push((kind, key, version));
    }

    /// In the end each body must be that of its row: what was read too late is set right by what made it so.
    pub fn check_bodies(&self) -> Outcome<()> {
        match self.bodies == self.rows {
            true => Ok(()),
            false => Err(Failure(format!("lost: bodies {:?} of {:?}", self.bodies, self.rows))),
        }
    }

    /// The rows must be the table's, and behind the largest point every transaction must stand whole and in commit
    /// order.
    pub fn check(&self, table: &BTreeMap<RowKey, u64>, behind: &[RowChange]) -> Outcome<()> {
        if self.rows != *table {
            return Err(Failure(format!("lost: {:?} instead of {table:?}", self.rows)));
        }
        let expected: Vec<Out> = behind.iter().flat_map(rows_of).collect();
        if self.journal != expected {
            return Err(Failure(format!("order: {:?} instead of {expected:?}", self.journal)));
        }
        Ok(())
    }
}

fn rows_of(change: &RowChange) -> impl Iterator<Item = Out> {
    let update = change.before.map(|row| row.0) == change.after.map(|row| row.0);
    let (leaves, comes) = if update {
        (RowKind::UpdateBefore, RowKind::UpdateAfter)
    } else {
        (RowKind::Delete, RowKind::Insert)
    };
    let table = change.table;
    let row = move |kind, row: Option<(u64, u64)>| row.map(|(key, version)| (kind, (table, key), version));
    [row(leaves, change.before), row(comes, change.after)]
        .into_iter()
        .flatten()
}
