//! From the rows of a mining call to records: what becomes of each operation, texts put together again, changes into the
//! transaction buffer, begins and ends into a list in log order.

use std::collections::HashMap;

use crate::catalog::Table;
use crate::dialect::mining::Operation;
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::faults::Faults;
use crate::log::logminer::rules::{Bound, Rule, rule};
use crate::log::logminer::source::ContentsRow;
use crate::log::logminer::windows::{Identity, Sieve};
use crate::log::transactions::{Action, Incoming, Record, Transactions};
use crate::position::{RecordSet, Scn, Xid};
use crate::row::zone::Zone;

/// A record that begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Where it stands.
    pub scn: Scn,
    /// Which transaction.
    pub xid: Xid,
    /// What it does.
    pub bound: Bound,
    /// When, in microseconds since the epoch; zero where a record other than a COMMIT does not say.
    pub micros: i64,
}

/// Which tables are captured, by the names that the log gives them.
#[derive(Debug, Default)]
pub struct TableIndex {
    by_name: HashMap<Vec<u8>, u32>,
    last: (Vec<u8>, u32),
    name: Vec<u8>,
    /// By the table's place: which of its shapes the dictionary has now.
    shapes: Vec<u32>,
}

impl TableIndex {
    /// An index of tables, and of their partitions as if they were they, by the tables' places in the list.
    pub fn new<'a>(tables: impl Iterator<Item = &'a Table>) -> Self {
        let mut index = TableIndex::default();
        for (table, number) in tables.zip(0..) {
            let partitions = table.partitions.iter().map(|partition| partition.name.as_str());
            for name in partitions.chain([table.name.name.as_str()]) {
                let key = [table.name.schema.as_bytes(), b"\0", name.as_bytes()].concat();
                index.by_name.insert(key, number);
            }
            index.shapes.push(0);
        }
        index
    }

    /// The dictionary has a table in this shape now.
    pub fn set_shape(&mut self, table: u32, shape: u32) {
        if let Some(place) = self.shapes.get_mut(table as usize) {
            *place = shape;
        }
    }

    fn shape(&self, table: u32) -> u32 {
        self.shapes.get(table as usize).copied().unwrap_or_default()
    }

    fn find(&mut self, owner: &[u8], table: &[u8]) -> Option<u32> {
        if table.is_empty() {
            return None;
        }
        self.name.clear();
        self.name.extend_from_slice(owner);
        self.name.push(0);
        self.name.extend_from_slice(table);
        if self.name != self.last.0 {
            let number = *self.by_name.get(&self.name)?;
            self.last.0.clone_from(&self.name);
            self.last.1 = number;
        }
        Some(self.last.1)
    }
}

/// A text of which more pieces are to come.
#[derive(Clone, Copy, Debug)]
struct Unfinished {
    scn: Scn,
    /// What it is where it is buffered; the pieces of other records pass.
    buffered: Option<Identity>,
}

/// Takes in the rows of one mining call.
#[derive(Debug)]
pub struct Contents<'z> {
    zone: &'z Zone,
    sieve: Sieve,
    controls: Vec<Control>,
    unsorted: bool,
    unfinished: HashMap<Xid, Unfinished>,
    rows: u64,
    captured: u64,
    /// Transactions with statements that change a captured table.
    altering: Vec<Xid>,
}

impl<'z> Contents<'z> {
    /// For the rows that a sieve lets through, of a server in a zone.
    pub fn new(sieve: Sieve, zone: &'z Zone) -> Self {
        Contents {
            zone,
            sieve,
            controls: Vec::new(),
            unsorted: false,
            unfinished: HashMap::new(),
            rows: 0,
            captured: 0,
            altering: Vec::new(),
        }
    }

    /// How many rows are of captured tables.
    pub fn captured(&self) -> u64 {
        self.captured
    }

    /// Transactions with new records of statements that change a captured table.
    pub fn altering(&self) -> &[Xid] {
        &self.altering
    }

    /// How many rows came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes one row.
    ///
    /// # Errors
    /// The faults of design 3.1.8, with where they are.
    pub fn take(
        &mut self,
        row: &ContentsRow<'_>,
        tables: &mut TableIndex,
        transactions: &mut Transactions,
        faults: &mut Faults,
    ) -> Result<()> {
        self.rows += 1;
        self.sort_in(row, tables, transactions, faults)
            .map_err(|error| named(error, row))
    }

    /// Takes one row if it is of a statement; others are only known to have been there.
    ///
    /// # Errors
    /// As above.
    pub fn take_statement(
        &mut self,
        row: &ContentsRow<'_>,
        tables: &mut TableIndex,
        transactions: &mut Transactions,
        faults: &mut Faults,
    ) -> Result<()> {
        let Some(operation) = row.operation else {
            return Ok(());
        };
        if operation == Operation::Schema || self.unfinished.contains_key(&row.xid) {
            return self.take(row, tables, transactions, faults);
        }
        self.sieve
            .is_new(row.scn, || identity(row, operation))
            .map(drop)
            .map_err(|error| named(error, row))
    }

    fn sort_in(
        &mut self,
        row: &ContentsRow<'_>,
        tables: &mut TableIndex,
        transactions: &mut Transactions,
        faults: &mut Faults,
    ) -> Result<()> {
        if !self.unfinished.is_empty() {
            if let Some(unfinished) = self.unfinished.remove(&row.xid) {
                return self.go_on(unfinished, row, transactions);
            }
        }
        let operation = row.operation.ok_or_else(|| {
            Error::from(ErrorKind::CorruptLog(format!(
                "operation code {} is not known, its meaning cannot be guessed",
                row.code
            )))
        })?;
        let mut buffered = None;
        if let Some(identity) = self.sieve.is_new(row.scn, || identity(row, operation))? {
            if faults.lets_pass(row.status, |error| named(error, row))? {
                match rule(operation) {
                    Rule::Buffer(action) => {
                        if let Some(table) = tables.find(row.owner, row.table) {
                            let shape = tables.shape(table);
                            let record = record(row, (table, shape), action, &identity);
                            let incoming = Incoming {
                                record,
                                row_id: row.row_id,
                                text: row.redo,
                                continued: row.continued,
                            };
                            transactions.push(row.xid, &incoming)?;
                            self.captured += 1;
                            if action == Action::Schema {
                                self.altering.push(row.xid);
                            }
                            buffered = Some(identity);
                        }
                    }
                    Rule::Bound(bound) => self.bound(row, bound)?,
                    Rule::Pass => faults.pass(operation),
                }
            }
        }
        if row.continued {
            self.unfinished.insert(row.xid, Unfinished { scn: row.scn, buffered });
        }
        Ok(())
    }

    fn bound(&mut self, row: &ContentsRow<'_>, bound: Bound) -> Result<()> {
        let micros = match (bound, row.time) {
            (Bound::Commit | Bound::Start, Some(time)) => self.zone.epoch_micros(time)?,
            (Bound::Commit, None) => return Err(ErrorKind::CorruptLog("a COMMIT record has no time".into()).into()),
            _ => 0,
        };
        self.unsorted |= self.controls.last().is_some_and(|last| last.scn > row.scn);
        self.controls.push(Control {
            scn: row.scn,
            xid: row.xid,
            bound,
            micros,
        });
        Ok(())
    }

    fn go_on(&mut self, unfinished: Unfinished, row: &ContentsRow<'_>, transactions: &mut Transactions) -> Result<()> {
        if row.scn != unfinished.scn {
            return Err(ErrorKind::CorruptLog(format!(
                "the text of the record at scn {} is not continued: another record of its transaction follows",
                unfinished.scn
            ))
            .into());
        }
        if unfinished.buffered.is_some() {
            let piece = row.redo.unwrap_or_default();
            if !transactions.extend(row.xid, piece, row.continued)? {
                return Err(ErrorKind::Redo("the text is longer than 4 GiB".into()).into());
            }
        }
        if row.continued {
            self.unfinished.insert(row.xid, unfinished);
        }
        Ok(())
    }

    /// Ends the call: a record of which the log's end has cut pieces off counts as not read.
    ///
    /// # Errors
    /// Corrupt log where pieces are missing before the end.
    pub fn finish(mut self, transactions: &mut Transactions) -> Result<(Vec<Control>, Sieve)> {
        for (xid, unfinished) in self.unfinished {
            let Some(identity) = unfinished.buffered else {
                continue;
            };
            if unfinished.scn != self.sieve.highest() {
                return Err(
                    Error::from(ErrorKind::CorruptLog("the text of a record is not continued".into()))
                        .at(format!("scn {}, transaction {xid}", unfinished.scn)),
                );
            }
            transactions.pop(xid);
            self.sieve.forget(unfinished.scn, &identity);
        }
        if self.unsorted {
            self.controls.sort_by_key(|control| control.scn);
        }
        Ok((self.controls, self.sieve))
    }
}

fn identity(row: &ContentsRow<'_>, operation: Operation) -> Result<Identity> {
    let rs_id = RecordSet::new(row.rs_id)
        .ok_or_else(|| Error::from(ErrorKind::CorruptLog("the name of a record set is too long".into())))?;
    Ok(Identity {
        xid: row.xid,
        operation,
        object: row.object_id,
        rs_id,
        ssn: row.ssn,
    })
}

fn record(row: &ContentsRow<'_>, (table, shape): (u32, u32), action: Action, identity: &Identity) -> Record {
    Record {
        scn: row.scn,
        table,
        object: row.object_id,
        version: row.object_version,
        shape,
        action,
        roll_back: row.roll_back,
        rs_id: identity.rs_id,
        ssn: row.ssn,
        status: row.status,
    }
}

fn named(error: Error, row: &ContentsRow<'_>) -> Error {
    let error = error.at(format!("scn {}, transaction {}", row.scn, row.xid));
    if row.table.is_empty() {
        return error;
    }
    error.on(format!(
        "{}.{}",
        String::from_utf8_lossy(row.owner),
        String::from_utf8_lossy(row.table)
    ))
}
