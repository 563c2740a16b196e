//! A committed transaction on its way out, fragment by fragment.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
pub use crate::log::FragmentLimit;
use crate::log::logminer::changes::Decoder;
use crate::log::logminer::faults::Faults;
use crate::log::logminer::redo_sql::Row;
use crate::log::transactions::{Action, Transaction};
use crate::log::undo::{Form, Undone};
use crate::log::{Changes, Fragment, LogEvent, SchemaEvent, TransactionHead};
use crate::position::Place;

/// A committed transaction, handed out in parts.
#[derive(Debug)]
pub struct Delivery {
    head: TransactionHead,
    transaction: Transaction,
    undone: Option<Undone>,
    next: usize,
    number: u32,
    /// Whether anything of it is out.
    begun: bool,
    /// The place of the next record, where that has been asked for.
    place: Option<Place>,
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
            begun: false,
            place: None,
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
        limit: FragmentLimit,
        faults: &mut Faults,
    ) -> Result<Option<LogEvent>> {
        let mut changes = Changes::default();
        let mut row = Row::default();
        let mut next = self.next;
        decoder.begin_fragment();
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
            let place = self.place.take().unwrap_or_else(|| decoder.place(entry));
            if is_schema && goes_out {
                let change = decoder.schema_change(&entry.record, self.transaction.text(entry))?;
                self.next = next + 1;
                self.begun = true;
                return Ok(Some(LogEvent::Schema(SchemaEvent {
                    head: self.head,
                    table: entry.record.table,
                    place,
                    change,
                })));
            }
            if goes_out {
                let decoded = decoder.decode(&self.transaction, entry, place, &mut row, &mut changes);
                let belongs_here = decoded.or_else(|error| {
                    let at = format!("scn {}, transaction {}", entry.record.scn, self.head.xid);
                    faults.rule(error.at(at)).map(|()| true)
                })?;
                if !belongs_here {
                    self.place = Some(place);
                    break;
                }
            }
            next += 1;
        }
        self.next = next;
        if self.ended || (changes.rows.is_empty() && !self.begun) {
            return Ok(None);
        }
        let last = !self.rest().any(|nth| self.goes_out(nth));
        self.begun = true;
        self.ended = last;
        self.number += 1;
        Ok(Some(LogEvent::Fragment(Fragment {
            head: self.head,
            number: self.number - 1,
            last,
            changes,
        })))
    }

    /// Memory that the transaction takes.
    pub fn size(&self) -> usize {
        self.transaction.size()
    }

    /// Whether all of it is out, its end too.
    pub fn is_over(&self) -> bool {
        (self.ended || !self.begun) && !self.rest().any(|nth| self.goes_out(nth))
    }

    fn rest(&self) -> Range<usize> {
        self.next..self.transaction.entries().len()
    }

    fn goes_out(&self, nth: usize) -> bool {
        !self.undone.as_ref().is_some_and(|undone| undone.contains(nth))
    }
}
