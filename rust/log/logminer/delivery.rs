//! A committed transaction on its way out, fragment by fragment.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::changes::{CapturedTable, Decoder};
use crate::log::logminer::faults::Faults;
use crate::log::logminer::redo_sql::Row;
use crate::log::transactions::{Action, Entry, Transaction};
use crate::log::undo::{Form, Undone};
use crate::log::{Changes, Fragment, LogEvent, SchemaChange, TransactionHead};

/// Where a fragment ends, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimit {
    /// `transaction.fragment.rows`
    pub rows: usize,
    /// Bytes of its values.
    pub bytes: usize,
}

/// A committed transaction, handed out in parts.
#[derive(Debug)]
pub struct Delivery {
    head: TransactionHead,
    transaction: Transaction,
    undone: Option<Undone>,
    next: usize,
    number: u32,
    /// Whether the last fragment is out.
    ended: bool,
}

impl Delivery {
    /// Prepares a transaction; `None` if nothing of it goes out.
    ///
    /// # Errors
    /// Corrupt log, when undone changes are marked otherwise than before.
    pub fn new(
        head: TransactionHead,
        mut transaction: Transaction,
        form: &mut Form,
        decoder: &mut Decoder,
    ) -> Result<Option<Self>> {
        transaction.sort();
        let undone = transaction.undone(form).map_err(|error| {
            Error::from(ErrorKind::CorruptLog(error.to_string()))
                .doing("working out what the transaction has undone")
                .at(format!("{}, transaction {}", head.commit, head.xid))
        })?;
        decoder.begin();
        let delivery = Delivery {
            head,
            transaction,
            undone,
            next: 0,
            number: 0,
            ended: false,
        };
        let goes_out = delivery.rest().any(|nth| delivery.goes_out(nth));
        Ok(goes_out.then_some(delivery))
    }

    /// What is known of the transaction.
    pub fn head(&self) -> &TransactionHead {
        &self.head
    }

    /// The next part, or `None` when all of it is out.
    ///
    /// # Errors
    /// Those of decoding.
    pub fn next(
        &mut self,
        decoder: &mut Decoder,
        tables: &[CapturedTable],
        limit: FragmentLimit,
        faults: &mut Faults,
    ) -> Result<Option<LogEvent>> {
        let mut changes = Changes::default();
        let mut row = Row::default();
        let mut next = self.next;
        while let Some(entry) = self.transaction.entries().get(next) {
            let goes_out = self.goes_out(next);
            let is_schema = entry.record.action == Action::Schema;
            if changes.rows.len() >= limit.rows
                || changes.values.size() >= limit.bytes
                || (is_schema && goes_out && !changes.rows.is_empty())
            {
                break;
            }
            // Undone records are counted like any other, so that a place does not depend on what becomes of them.
            let place = decoder.place(entry);
            next += 1;
            if is_schema && goes_out {
                let change = self.schema_change(entry, tables)?;
                self.next = next;
                return Ok(Some(LogEvent::Schema(change)));
            }
            if goes_out {
                let decoded = decoder.decode(&self.transaction, entry, place, &mut row, &mut changes, faults);
                decoded
                    .map_err(|error| error.at(format!("scn {}, transaction {}", entry.record.scn, self.head.xid)))?;
            }
        }
        self.next = next;
        if self.ended || (changes.rows.is_empty() && self.number == 0) {
            return Ok(None);
        }
        let last = !self.rest().any(|nth| self.goes_out(nth) && !self.is_schema(nth));
        self.ended = last;
        self.number += 1;
        Ok(Some(LogEvent::Fragment(Fragment {
            head: self.head,
            number: self.number - 1,
            last,
            changes,
        })))
    }

    /// Whether all of it is out.
    pub fn is_over(&self) -> bool {
        !self.rest().any(|nth| self.goes_out(nth))
    }

    fn rest(&self) -> Range<usize> {
        self.next..self.transaction.entries().len()
    }

    fn goes_out(&self, nth: usize) -> bool {
        !self.undone.as_ref().is_some_and(|undone| undone.contains(nth))
    }

    fn is_schema(&self, nth: usize) -> bool {
        let entry = self.transaction.entries().get(nth);
        entry.is_some_and(|entry| entry.record.action == Action::Schema)
    }

    fn schema_change(&self, entry: &Entry, tables: &[CapturedTable]) -> Result<SchemaChange> {
        let captured = tables
            .get(entry.record.table as usize)
            .ok_or_else(|| Error::from(ErrorKind::Internal("a schema change of no table".into())))?;
        let statement = String::from_utf8_lossy(self.transaction.text(entry)).into_owned();
        Ok(SchemaChange {
            table: captured.table.name.clone(),
            scn: entry.record.scn,
            truncates: truncates(&statement),
            statement,
            micros: self.head.commit_micros,
        })
    }
}

/// Whether a statement empties its table: its first word, behind blanks and comments.
fn truncates(statement: &str) -> bool {
    let mut rest = statement.trim_start();
    loop {
        let after = match rest.get(..2) {
            Some("--") => rest.split_once('\n').map(|(_, after)| after),
            Some("/*") => rest.split_once("*/").map(|(_, after)| after),
            _ => break,
        };
        rest = after.unwrap_or_default().trim_start();
    }
    let word = rest.split(|byte: char| !byte.is_ascii_alphabetic()).next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("truncate"))
}

#[cfg(test)]
mod tests {
    use super::truncates;

    #[test]
    fn truncate_is_told_by_its_first_word() {
        for statement in [
            "TRUNCATE TABLE A.B",
            " \n-- now\ntruncate table b",
            "/* TABLE */ Truncate\tTABLE b",
        ] {
            assert!(truncates(statement), "{statement}");
        }
        for statement in [
            "ALTER TABLE A TRUNCATE PARTITION P",
            "",
            "-- TRUNCATE",
            "/* TRUNCATE",
            "TRUNCATED",
        ] {
            assert!(!truncates(statement), "{statement}");
        }
    }
}
