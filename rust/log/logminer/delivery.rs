//! A committed transaction on its way out, fragment by fragment.

use crate::error::{ErrorKind, Result};
pub use crate::log::FragmentLimit;
use crate::log::logminer::changes::Decoder;
use crate::log::logminer::faults::Faults;
use crate::log::logminer::redo_sql::Row;
use crate::log::transactions::{Action, Block, Blocks, Transaction};
use crate::log::undo::{Form, Undone};
use crate::log::{Changes, Fragment, LogEvent, SchemaEvent, TransactionHead};
use crate::position::Place;

/// A committed transaction, handed out in parts.
#[derive(Debug)]
pub struct Delivery {
    head: TransactionHead,
    blocks: Blocks,
    /// The records at hand, and the next one of them.
    block: Block,
    at: usize,
    /// The number of the next record in the transaction.
    next: u64,
    undone: Option<Undone>,
    /// The last record that goes out.
    last: u64,
    number: u32,
    /// Whether anything of it is out.
    begun: bool,
    /// The place of the next record, where that has been asked for.
    place: Option<Place>,
    /// Whether the last fragment is out.
    ended: bool,
}

impl Delivery {
    /// Prepares a transaction; `None` if nothing of it goes out. What it has undone may take about `memory` to find out.
    ///
    /// # Errors
    /// Corrupt log, when undone changes are marked otherwise than before; those of files.
    pub fn new(
        head: TransactionHead,
        mut transaction: Transaction,
        form: &mut Form,
        memory: usize,
    ) -> Result<Option<Self>> {
        transaction.sort()?;
        let undone = transaction.undone(form, memory).map_err(|error| match error.kind() {
            ErrorKind::CorruptLog(_) => error
                .doing("working out what the transaction has undone")
                .at(format!("{}, transaction {}", head.commit, head.xid)),
            _ => error,
        })?;
        let records = transaction.records();
        let last = match &undone {
            Some(undone) => undone.last_out(records),
            None => records.checked_sub(1),
        };
        Ok(last.map(|last| Delivery {
            head,
            blocks: transaction.into_blocks(),
            block: Block::default(),
            at: 0,
            next: 0,
            undone,
            last,
            number: 0,
            begun: false,
            place: None,
            ended: false,
        }))
    }

    /// What is known of the transaction.
    pub fn head(&self) -> &TransactionHead {
        &self.head
    }

    /// The next part, or `None` when all of it is out.
    ///
    /// # Errors
    /// Those of decoding, and of files.
    pub fn next(
        &mut self,
        decoder: &mut Decoder,
        limit: FragmentLimit,
        faults: &mut Faults,
    ) -> Result<Option<LogEvent>> {
        let mut changes = Changes::default();
        decoder.begin_fragment();
        loop {
            match self.take(decoder, limit, faults, &mut changes)? {
                Taken::Schema(event) => return Ok(Some(LogEvent::Schema(event))),
                Taken::Full => break,
                Taken::Block => {
                    self.at = 0;
                    if !self.goes_on() || !self.blocks.next(&mut self.block)? {
                        break;
                    }
                }
            }
        }
        if self.ended || (changes.rows.is_empty() && !self.begun) {
            return Ok(None);
        }
        self.begun = true;
        self.ended = !self.goes_on();
        self.number += 1;
        Ok(Some(LogEvent::Fragment(Fragment {
            head: self.head,
            number: self.number - 1,
            last: self.ended,
            changes,
        })))
    }

    /// Takes records of the block at hand.
    fn take(
        &mut self,
        decoder: &mut Decoder,
        limit: FragmentLimit,
        faults: &mut Faults,
        changes: &mut Changes,
    ) -> Result<Taken> {
        let mut row = Row::default();
        while let Some(entry) = self.block.entries().get(self.at) {
            let goes_out = !self.undone.as_ref().is_some_and(|undone| undone.contains(self.next));
            let is_schema = entry.record.action == Action::Schema;
            if changes.rows.len() >= limit.rows
                || changes.values.size() >= limit.bytes
                || (is_schema && goes_out && !changes.rows.is_empty())
            {
                return Ok(Taken::Full);
            }
            // Undone records are counted like any other, so that a place does not depend on what becomes of them.
            let place = self.place.take().unwrap_or_else(|| decoder.place(entry));
            if is_schema && goes_out {
                let change = decoder.schema_change(&entry.record, self.block.text(entry))?;
                let table = entry.record.table;
                self.at += 1;
                self.next += 1;
                self.begun = true;
                return Ok(Taken::Schema(SchemaEvent {
                    head: self.head,
                    table,
                    place,
                    change,
                }));
            }
            if goes_out {
                let decoded = decoder.decode(&self.block, entry, place, &mut row, changes);
                let belongs_here = decoded.or_else(|error| {
                    let at = format!("scn {}, transaction {}", entry.record.scn, self.head.xid);
                    faults.rule(error.at(at)).map(|()| true)
                })?;
                if !belongs_here {
                    self.place = Some(place);
                    return Ok(Taken::Full);
                }
            }
            self.at += 1;
            self.next += 1;
        }
        Ok(Taken::Block)
    }

    /// Memory that the transaction takes.
    pub fn size(&self) -> usize {
        let undone = self.undone.as_ref().map_or(0, Undone::size);
        self.blocks.size() + self.block.size() + undone
    }

    /// Whether all of it is out, its end too.
    pub fn is_over(&self) -> bool {
        (self.ended || !self.begun) && !self.goes_on()
    }

    /// Whether any of the records that are left goes out.
    fn goes_on(&self) -> bool {
        self.next <= self.last
    }
}

/// Why no more records of a block were taken.
enum Taken {
    /// A change of a table's shape is an event of its own.
    Schema(SchemaEvent),
    /// The fragment ends here.
    Full,
    /// All of the block is out.
    Block,
}
