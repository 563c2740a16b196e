//! The records of one transaction, in memory and, as far as they were spilled, in a file.

mod blocks;

pub use blocks::Blocks;

use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::log::records::{Action, Block, Incoming, Record};
use crate::log::spill::{self, SpillFile, Spilling, Want, merge};
use crate::log::undo::{self, Form, Step, Steps, Undone};
use crate::position::{Scn, Xid};

/// The records of one transaction, in log order once it is committed.
#[derive(Debug)]
pub struct Transaction {
    xid: Xid,
    spilling: Arc<Spilling>,
    start: Option<Scn>,
    pub(super) start_micros: i64,
    pub(super) prepared: bool,
    /// The mining call that its first record came with.
    call: u64,
    /// What was spilled, in front of what is in memory.
    files: Vec<SpillFile>,
    /// Records of statements that were spilled, with their texts.
    statements: Vec<(Record, Vec<u8>)>,
    /// A record of each table and shape that was spilled.
    alike: Vec<Record>,
    full: Vec<Block>,
    current: Block,
    /// Memory of all this but `current`.
    kept: usize,
    /// Whether pieces of the last record's text are to come.
    unfinished: bool,
    /// How many records there are, how many of them are spilled, how many are marked as undone or undoing.
    records: u64,
    spilled: u64,
    marked: u64,
    newest: Scn,
    unsorted: bool,
    /// What it was before the mining call at hand.
    before: Before,
}

/// A transaction's extent at the beginning of a mining call.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    call: u64,
    records: u64,
    marked: u64,
    newest: Scn,
    unsorted: bool,
    statements: usize,
    alike: usize,
}

impl Transaction {
    /// One without records, whose first one comes with a mining call.
    pub fn new(xid: Xid, spilling: Arc<Spilling>, call: u64) -> Self {
        Transaction {
            xid,
            spilling,
            start: None,
            start_micros: 0,
            prepared: false,
            call,
            files: Vec::new(),
            statements: Vec::new(),
            alike: Vec::new(),
            full: Vec::new(),
            current: Block::default(),
            kept: 0,
            unfinished: false,
            records: 0,
            spilled: 0,
            marked: 0,
            newest: Scn(0),
            unsorted: false,
            before: Before::default(),
        }
    }

    /// Where its START record stands, if that was read.
    pub fn start(&self) -> Option<Scn> {
        self.start
    }

    /// When it began, in microseconds since the epoch; zero where that is not known.
    pub fn start_micros(&self) -> i64 {
        self.start_micros
    }

    /// Says where its START record stands.
    pub fn set_start(&mut self, scn: Scn) {
        self.start = Some(scn);
    }

    /// The mining call that its first record came with.
    pub fn call(&self) -> u64 {
        self.call
    }

    /// How many records it has.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many of its records are marked as undone or undoing.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Memory that the transaction takes.
    pub fn size(&self) -> usize {
        self.kept + self.current.size()
    }

    /// Its statements that change a captured table, with their texts.
    pub fn statements(&self) -> impl DoubleEndedIterator<Item = (&Record, &[u8])> {
        let spilled = self.statements.iter().map(|(record, text)| (record, &text[..]));
        let held = self.held().flat_map(|block| {
            let entries = block.entries().iter();
            let statements = entries.filter(|entry| entry.record.action == Action::Schema);
            statements.map(|entry| (&entry.record, block.text(entry)))
        });
        spilled.chain(held)
    }

    /// Records of every table and shape of a table that it has a record of.
    pub fn kinds(&self) -> impl Iterator<Item = &Record> {
        let held = self.held().flat_map(Block::entries).map(|entry| &entry.record);
        self.alike.iter().chain(held)
    }

    fn held(&self) -> impl DoubleEndedIterator<Item = &Block> {
        self.full.iter().chain([&self.current])
    }

    /// Appends a record; its text may be continued by [`Transaction::extend`].
    pub(super) fn push(&mut self, incoming: &Incoming<'_>) {
        self.close_full();
        let record = incoming.record;
        self.unsorted |= self.newest > record.scn;
        self.newest = record.scn;
        self.marked += u64::from(record.roll_back);
        self.records += 1;
        self.unfinished = incoming.continued;
        self.current.push(record, incoming.row_id, incoming.text);
    }

    fn close(&mut self) {
        if self.current.is_empty() {
            return;
        }
        let block = std::mem::take(&mut self.current);
        self.kept += kept_size(&block);
        self.full.push(block);
    }

    fn close_full(&mut self) {
        if self.current.used() >= self.spilling.block() {
            self.close();
        }
    }

    /// Appends a piece to the text of the last record; `false` if that grows beyond what a record can be.
    pub(super) fn extend(&mut self, piece: &[u8], continued: bool) -> bool {
        self.unfinished = continued;
        self.current.extend(piece)
    }

    /// Notes which mining call it is part of from here on.
    pub(super) fn enter(&mut self, call: u64) {
        if self.before.call != call {
            self.before = Before {
                call,
                records: self.records,
                marked: self.marked,
                newest: self.newest,
                unsorted: self.unsorted,
                statements: self.statements.len(),
                alike: self.alike.len(),
            };
        }
    }

    /// Takes everything back that came with a mining call.
    pub(super) fn leave(&mut self, call: u64) -> Result<()> {
        let before = self.before;
        if before.call != call {
            return Ok(());
        }
        while self.records > before.records {
            let excess = self.records - before.records;
            let held = self.current.len() as u64;
            if held > 0 {
                self.current.truncate(held.saturating_sub(excess) as usize);
                self.records -= held.min(excess);
            } else if let Some(block) = self.full.pop() {
                self.kept -= kept_size(&block);
                self.current = block;
            } else {
                self.pop_frame(excess)?;
            }
        }
        (self.marked, self.newest, self.unsorted) = (before.marked, before.newest, before.unsorted);
        self.unfinished = false;
        self.forget_statements(before.statements);
        self.alike.truncate(before.alike);
        Ok(())
    }

    /// A frame never has records of two mining calls of which the later one may be taken back.
    fn pop_frame(&mut self, excess: u64) -> Result<()> {
        let wrong = || ErrorKind::Internal("what a mining call has spilled cannot be taken back".into());
        let file = self.files.last_mut().ok_or_else(wrong)?;
        match file.pop() {
            Some(frame) if u64::from(frame.records) <= excess => {
                self.records -= u64::from(frame.records);
                self.spilled -= u64::from(frame.records);
            }
            Some(_) => return Err(wrong().into()),
            None => {
                self.kept -= file.size();
                self.files.pop();
            }
        }
        Ok(())
    }

    fn forget_statements(&mut self, len: usize) {
        for (_, text) in self.statements.drain(len.min(self.statements.len())..) {
            self.kept -= text.capacity();
        }
    }

    /// Takes the last record back: it did not come whole.
    pub(super) fn pop(&mut self) {
        if let Some(entry) = self.current.entries().last() {
            self.marked -= u64::from(entry.record.roll_back);
            self.records -= 1;
            self.current.truncate(self.current.len() - 1);
            self.unfinished = false;
        }
    }

    /// Whether anything in memory can go to a file.
    pub(super) fn can_spill(&self) -> bool {
        !self.full.is_empty() || self.current.len() > usize::from(self.unfinished)
    }

    /// Writes what is in memory to a file, but for a record whose text goes on.
    ///
    /// # Errors
    /// `Spill`.
    pub(super) fn spill(&mut self) -> Result<()> {
        let whole = self.current.len() - usize::from(self.unfinished);
        let rest = match self.unfinished {
            true => self.current.split_off(whole),
            false => Block::default(),
        };
        self.close();
        self.current = rest;
        if self.files.is_empty() {
            self.spilling.count_transaction();
        }
        self.kept -= sizes(&self.files);
        let mut written = Ok(());
        for block in std::mem::take(&mut self.full) {
            self.kept -= kept_size(&block);
            // After an error nothing of the transaction is used any more.
            written = written.and_then(|()| self.write(block));
        }
        self.kept += sizes(&self.files);
        written
    }

    fn write(&mut self, mut block: Block) -> Result<()> {
        // What may be taken back must stand in frames of its own.
        let boundary = self.before.records.saturating_sub(self.spilled);
        let later = match usize::try_from(boundary) {
            Ok(at) if (1..block.len()).contains(&at) => Some(block.split_off(at)),
            _ => None,
        };
        for mut block in [Some(block), later].into_iter().flatten() {
            if self.unsorted {
                block.sort();
            }
            for entry in block.entries() {
                self.note(&entry.record, block.text(entry));
            }
            spill::append(&mut self.files, &self.spilling, self.xid, &block)?;
            self.spilled += block.len() as u64;
            if self.spilled <= self.before.records {
                self.before.statements = self.statements.len();
                self.before.alike = self.alike.len();
            }
        }
        Ok(())
    }

    fn note(&mut self, record: &Record, text: &[u8]) {
        if record.action == Action::Schema {
            self.kept += text.len();
            self.statements.push((*record, text.to_vec()));
        }
        let is_known = |known: &Record| known.is_alike(record) && known.action == record.action;
        if !self.alike.iter().rev().any(is_known) {
            self.alike.push(*record);
        }
    }

    /// Puts the records of an earlier part of the log in front.
    ///
    /// # Errors
    /// `Spill`.
    pub(super) fn prepend(&mut self, mut earlier: Transaction) -> Result<()> {
        if !self.files.is_empty() && earlier.can_spill() {
            earlier.spill()?;
        }
        self.start = earlier.start.or(self.start);
        if earlier.start.is_some() {
            self.start_micros = earlier.start_micros;
        }
        if self.files.is_empty() {
            earlier.close();
            earlier.full.append(&mut self.full);
            self.full = earlier.full;
        }
        earlier.files.append(&mut self.files);
        self.files = earlier.files;
        earlier.statements.append(&mut self.statements);
        self.statements = earlier.statements;
        self.alike.extend(earlier.alike);
        self.kept += earlier.kept;
        self.records += earlier.records;
        self.spilled += earlier.spilled;
        self.marked += earlier.marked;
        self.unsorted |= earlier.unsorted;
        self.before = Before::default();
        Ok(())
    }

    /// Drops the records in front of a place.
    ///
    /// # Errors
    /// `Spill`, `SpillCorrupt`.
    pub(super) fn drop_before(&mut self, scn: Scn) -> Result<()> {
        let mut kept = Transaction::new(self.xid, self.spilling.clone(), self.call);
        let rest = Transaction::new(self.xid, self.spilling.clone(), self.call);
        let (start, micros, prepared) = (self.start, self.start_micros, self.prepared);
        let mut blocks = std::mem::replace(self, rest).into_blocks();
        let mut block = Block::default();
        while blocks.next(&mut block)? {
            for entry in block.entries().iter().filter(|entry| entry.record.scn >= scn) {
                kept.push(&Incoming {
                    record: entry.record,
                    row_id: block.row_id(entry),
                    text: (!entry.no_text).then(|| block.text(entry)),
                    continued: false,
                });
                if kept.size() > kept.spilling.rest() {
                    kept.spill()?;
                }
            }
        }
        (kept.start, kept.start_micros, kept.prepared) = (start, micros, prepared);
        *self = kept;
        Ok(())
    }

    /// Brings the records into log order; what is in memory may have to go to a file for that.
    ///
    /// # Errors
    /// `Spill`, `SpillCorrupt`.
    pub(super) fn sort(&mut self) -> Result<()> {
        if !self.unsorted {
            return Ok(());
        }
        if self.files.is_empty() && self.full.is_empty() {
            self.current.sort();
        } else {
            if !self.files.is_empty() || self.size() > self.spilling.rest() {
                self.unfinished = false;
                self.spill()?;
                let files = std::mem::take(&mut self.files);
                self.kept -= sizes(&files);
                self.files = merge::sorted(files, &self.spilling, self.xid)?;
                self.kept += sizes(&self.files);
            } else {
                self.sort_held();
            }
        }
        self.unsorted = false;
        Ok(())
    }

    fn sort_held(&mut self) {
        self.close();
        let blocks = std::mem::take(&mut self.full);
        self.kept -= blocks.iter().map(kept_size).sum::<usize>();
        let entries = blocks.iter().enumerate();
        let mut order: Vec<(Scn, usize, usize)> = entries
            .flat_map(|(number, block)| {
                let entries = block.entries().iter().enumerate();
                entries.map(move |(nth, entry)| (entry.record.scn, number, nth))
            })
            .collect();
        order.sort_unstable();
        for (_, number, nth) in order {
            let block = &blocks[number];
            self.close_full();
            self.current.push_from(block, &block.entries()[nth]);
        }
    }

    /// Which records were undone before the COMMIT, and which only say so; `None` if nothing was undone. The records
    /// must be sorted.
    ///
    /// # Errors
    /// Those of [`undo::resolve`].
    pub(super) fn undone(&self, form: &mut Form, memory: usize) -> Result<Option<Undone>> {
        if self.marked == 0 {
            return Ok(None);
        }
        undo::resolve(self, form, memory).map(Some)
    }

    /// Its blocks one after the other; what was handed out takes no memory any more.
    pub(super) fn into_blocks(mut self) -> Blocks {
        self.close();
        Blocks::new(self.files, self.full)
    }
}

/// Memory that files take.
fn sizes<'a>(files: impl IntoIterator<Item = &'a SpillFile>) -> usize {
    files.into_iter().map(SpillFile::size).sum()
}

/// Memory of a block that is full.
fn kept_size(block: &Block) -> usize {
    block.size() + size_of::<Block>()
}

impl Steps for Transaction {
    fn count(&self) -> u64 {
        self.records
    }

    fn walk_back(&self, step: &mut dyn FnMut(u64, Step<'_>) -> bool) -> Result<()> {
        let mut nth = self.records;
        let mut of_block = |block: &Block| {
            block.entries().iter().rev().all(|entry| {
                nth -= 1;
                let row = (entry.record.table, block.row_id(entry));
                let (action, roll_back) = (entry.record.action, entry.record.roll_back);
                step(nth, Step { row, action, roll_back })
            })
        };
        if !self.held().rev().all(&mut of_block) {
            return Ok(());
        }
        let (mut block, mut buffer) = (Block::default(), Vec::new());
        for file in self.files.iter().rev() {
            let opened = file.open()?;
            for frame in file.frames().iter().rev() {
                opened.read(frame, Want::Heads, &mut block, &mut buffer)?;
                if !of_block(&block) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
