//! The transaction buffer: changes wait here, as the log gave them, until the COMMIT of their transaction is read.
//!
//! Nothing is parsed before that, and nothing is ever dropped but by a ROLLBACK. A transaction keeps its records in one
//! run of bytes and one entry a record; the buffer knows how many bytes all of them take.

use std::collections::{BTreeSet, HashMap};

use crate::log::undo;
use crate::position::{RecordSet, Scn, Xid};

/// What a buffered record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A row inserted.
    Insert,
    /// A row updated.
    Update,
    /// A row deleted.
    Delete,
    /// The table's shape changed.
    Schema,
    /// A change that the log cannot show.
    Unsupported,
}

/// A buffered record without its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Where it stands.
    pub scn: Scn,
    /// The captured table's number in the reader's table list.
    pub table: u32,
    /// The database's number of the table.
    pub object: u64,
    /// The table's version, as the database counts its shapes.
    pub version: u32,
    /// Which of the shapes that the reader knows of the table was the dictionary's when the record was put into words.
    pub shape: u32,
    /// What it does.
    pub action: Action,
    /// Whether it is, or belongs to, an undone change.
    pub roll_back: bool,
    /// Name of its record set.
    pub rs_id: RecordSet,
    /// Number inside the record set.
    pub ssn: u32,
    /// Zero, or why the log could not show it whole.
    pub status: i32,
}

/// A record and where its bytes lie: first the row id, then the text.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The record.
    pub record: Record,
    start: usize,
    row_id: u32,
    text: u32,
    /// Whether the log had NULL instead of a text.
    pub no_text: bool,
}

/// The records of one transaction, in log order once it is committed.
#[derive(Debug, Default)]
pub struct Transaction {
    start: Option<Scn>,
    start_micros: i64,
    prepared: bool,
    /// The mining call that its first record came with.
    call: u64,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// Records that are, or belong to, an undone change.
    undo: usize,
    unsorted: bool,
    /// What it was before the mining call at hand.
    before: Before,
}

/// A transaction's extent at the beginning of a mining call.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    call: u64,
    entries: usize,
    bytes: usize,
    undo: usize,
    unsorted: bool,
}

impl Transaction {
    /// Where its START record stands, if that was read.
    pub fn start(&self) -> Option<Scn> {
        self.start
    }

    /// Says where its START record stands.
    pub fn set_start(&mut self, scn: Scn) {
        self.start = Some(scn);
    }

    /// Whether it is prepared, so that its end may come from another session.
    pub fn is_prepared(&self) -> bool {
        self.prepared
    }

    /// The mining call that its first record came with.
    pub fn call(&self) -> u64 {
        self.call
    }

    /// How many of its records are marked as undone or undoing.
    pub fn marked(&self) -> usize {
        self.undo
    }

    /// Its records.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Identifies the row of a record inside the transaction.
    pub fn row_id(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..][..entry.row_id as usize]
    }

    /// The text of a record.
    pub fn text(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start + entry.row_id as usize..][..entry.text as usize]
    }

    /// Memory that the transaction takes.
    pub fn size(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Appends a record; its text may be continued by [`Transaction::extend`].
    pub fn push(&mut self, record: Record, row_id: &[u8], text: Option<&[u8]>) {
        self.unsorted |= self.entries.last().is_some_and(|last| last.record.scn > record.scn);
        self.undo += usize::from(record.roll_back);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row_id);
        let mut entry = Entry {
            record,
            start,
            row_id: row_id.len() as u32,
            text: 0,
            no_text: text.is_none(),
        };
        if let Some(text) = text {
            self.bytes.extend_from_slice(text);
            entry.text = text.len() as u32;
        }
        self.entries.push(entry);
    }

    /// Appends a piece to the text of the last record; `false` if that grows beyond what a record can be.
    pub fn extend(&mut self, piece: &[u8]) -> bool {
        let Some(last) = self.entries.last_mut() else {
            return false;
        };
        let Some(length) = u32::try_from(piece.len())
            .ok()
            .and_then(|length| last.text.checked_add(length))
        else {
            return false;
        };
        last.text = length;
        self.bytes.extend_from_slice(piece);
        true
    }

    /// Notes which mining call it is part of from here on.
    fn enter(&mut self, call: u64) {
        if self.before.call != call {
            self.before = Before {
                call,
                entries: self.entries.len(),
                bytes: self.bytes.len(),
                undo: self.undo,
                unsorted: self.unsorted,
            };
        }
    }

    /// Takes everything back that came with a mining call.
    fn leave(&mut self, call: u64) {
        let before = self.before;
        if before.call == call {
            self.entries.truncate(before.entries);
            self.bytes.truncate(before.bytes);
            (self.undo, self.unsorted) = (before.undo, before.unsorted);
        }
    }

    /// Takes the last record back: it did not come whole.
    pub fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.bytes.truncate(entry.start);
            self.undo -= usize::from(entry.record.roll_back);
        }
    }

    /// Puts the records of an earlier part of the log in front.
    pub fn prepend(&mut self, mut earlier: Transaction) {
        self.start = earlier.start.or(self.start);
        let shift = earlier.bytes.len();
        earlier.bytes.append(&mut self.bytes);
        earlier.entries.extend(self.entries.iter().map(|entry| Entry {
            start: entry.start + shift,
            ..*entry
        }));
        self.bytes = earlier.bytes;
        self.entries = earlier.entries;
        self.undo += earlier.undo;
        self.unsorted |= earlier.unsorted;
    }

    /// Brings the records into log order.
    pub fn sort(&mut self) {
        if self.unsorted {
            self.entries.sort_by_key(|entry| entry.record.scn);
            self.unsorted = false;
        }
    }

    /// Which records were undone before the COMMIT, and which only say so; `None` if nothing was undone. The records
    /// must be sorted.
    pub fn undone(&self, form: &mut undo::Form) -> Result<Option<undo::Undone>, undo::Contradiction> {
        if self.undo == 0 {
            return Ok(None);
        }
        undo::resolve(
            self.entries.iter().map(|entry| undo::Step {
                row: (entry.record.table, self.row_id(entry)),
                action: entry.record.action,
                roll_back: entry.record.roll_back,
            }),
            form,
        )
        .map(Some)
    }
}

/// All transactions whose end has not been read.
#[derive(Debug, Default)]
pub struct Transactions {
    open: HashMap<Xid, Transaction>,
    starts: BTreeSet<(Scn, Xid)>,
    bytes: usize,
    call: u64,
}

impl Transactions {
    /// Begins a mining call and numbers it.
    pub fn begin_call(&mut self) {
        self.call += 1;
    }

    /// The number of the last mining call.
    pub fn call(&self) -> u64 {
        self.call
    }

    fn of(&mut self, xid: Xid) -> &mut Transaction {
        let call = self.call;
        let transaction = self.open.entry(xid).or_insert_with(|| Transaction {
            call,
            ..Transaction::default()
        });
        transaction.enter(call);
        transaction
    }

    /// Takes back what was buffered since the mining call began; nothing of it may have been applied.
    pub fn forget_call(&mut self) {
        let call = self.call;
        self.open.retain(|_, transaction| {
            transaction.leave(call);
            transaction.call != call
        });
        self.bytes = self.open.values().map(Transaction::size).sum();
    }

    /// The records of a transaction that is open.
    pub fn get(&self, xid: Xid) -> Option<&Transaction> {
        self.open.get(&xid)
    }

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.open.values()
    }

    /// Notes a START record. What was buffered of an earlier transaction of that number is dropped: the log would have
    /// its end if it had one.
    pub fn start(&mut self, xid: Xid, scn: Scn, micros: i64) {
        let transaction = self.of(xid);
        transaction.start_micros = micros;
        if let Some(earlier) = transaction.start.replace(scn) {
            let before = transaction.size();
            transaction.entries.retain(|entry| entry.record.scn >= scn);
            transaction.entries.shrink_to_fit();
            transaction.undo = transaction
                .entries
                .iter()
                .filter(|entry| entry.record.roll_back)
                .count();
            let freed = before - transaction.size();
            self.bytes -= freed;
            self.starts.remove(&(earlier, xid));
        }
        self.starts.insert((scn, xid));
    }

    /// Notes that a transaction is prepared.
    pub fn prepare(&mut self, xid: Xid) {
        self.of(xid).prepared = true;
    }

    /// Buffers a record.
    pub fn push(&mut self, xid: Xid, record: Record, row_id: &[u8], text: Option<&[u8]>) {
        let transaction = self.of(xid);
        let before = transaction.size();
        transaction.push(record, row_id, text);
        let grown = transaction.size() - before;
        self.bytes += grown;
    }

    /// Continues the text of a transaction's last record; `false` if there is none or it grows too long.
    pub fn extend(&mut self, xid: Xid, piece: &[u8]) -> bool {
        let Some(transaction) = self.open.get_mut(&xid) else {
            return false;
        };
        let before = transaction.size();
        let fits = transaction.extend(piece);
        self.bytes += transaction.size() - before;
        fits
    }

    /// Takes a transaction's last record back.
    pub fn pop(&mut self, xid: Xid) {
        if let Some(transaction) = self.open.get_mut(&xid) {
            transaction.pop();
        }
    }

    /// Ends a transaction and takes it out of the buffer; `None` if no record of it was read.
    pub fn end(&mut self, xid: Xid) -> Option<Transaction> {
        let transaction = self.open.remove(&xid)?;
        self.bytes -= transaction.size();
        if let Some(start) = transaction.start {
            self.starts.remove(&(start, xid));
        }
        Some(transaction)
    }

    /// The oldest START among the transactions whose end has not been read.
    pub fn oldest_start(&self) -> Option<Scn> {
        self.starts.first().map(|(scn, _)| *scn)
    }

    /// The oldest START and its time, in microseconds since the epoch.
    pub fn oldest(&self) -> Option<(Scn, i64)> {
        let (scn, xid) = self.starts.first()?;
        Some((*scn, self.open.get(xid)?.start_micros))
    }

    /// How many transactions are buffered.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Memory that all of them take: what a budget is held against.
    pub fn size(&self) -> usize {
        self.bytes
    }
}
