//! Records of the log as they are buffered: what each is, and their bytes in blocks of bounded size.

use crate::position::{RecordSet, Scn};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Record {
    /// Whether another record is of the same table in the same shapes.
    pub(super) fn is_alike(&self, other: &Record) -> bool {
        let of = |record: &Record| (record.table, record.object, record.version, record.shape);
        of(self) == of(other)
    }
}

/// A record with its bytes, as it comes.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// The record.
    pub record: Record,
    /// Identifies the row inside its transaction.
    pub row_id: &'a [u8],
    /// The text, or its first piece; `None` where the log has NULL.
    pub text: Option<&'a [u8]>,
    /// Whether further pieces of the text are to come.
    pub continued: bool,
}

/// A record and where its bytes lie: first the row id, then the text.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The record.
    pub record: Record,
    pub(super) start: usize,
    pub(super) row_id: u32,
    pub(super) text: u32,
    /// Whether the log had NULL instead of a text.
    pub no_text: bool,
}

/// Some records of one transaction, in the order in which they came or, of a transaction that goes out, of the log.
#[derive(Debug, Default)]
pub struct Block {
    pub(super) entries: Vec<Entry>,
    pub(super) bytes: Vec<u8>,
}

impl Block {
    /// Its records.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Identifies the row of a record inside the transaction. Not known of records that were read back for their texts
    /// alone.
    pub fn row_id(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..][..entry.row_id as usize]
    }

    /// The text of a record.
    pub fn text(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start + entry.row_id as usize..][..entry.text as usize]
    }

    /// How many records it has.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Memory that is in use.
    pub(super) fn used(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    pub(super) fn push(&mut self, record: Record, row_id: &[u8], text: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row_id);
        self.bytes.extend_from_slice(text.unwrap_or_default());
        self.entries.push(Entry {
            record,
            start,
            row_id: row_id.len() as u32,
            text: text.map_or(0, <[u8]>::len) as u32,
            no_text: text.is_none(),
        });
    }

    pub(super) fn push_from(&mut self, other: &Block, entry: &Entry) {
        self.push(entry.record, other.row_id(entry), Some(other.text(entry)));
        if let Some(last) = self.entries.last_mut() {
            last.no_text = entry.no_text;
        }
    }

    /// Appends a piece to the text of the last record; `false` if that grows beyond what a record can be.
    pub(super) fn extend(&mut self, piece: &[u8]) -> bool {
        let Some(last) = self.entries.last_mut() else {
            return false;
        };
        let length = u32::try_from(piece.len()).ok();
        let Some(length) = length.and_then(|length| last.text.checked_add(length)) else {
            return false;
        };
        last.text = length;
        self.bytes.extend_from_slice(piece);
        true
    }

    /// Keeps the first records. They must be in the order in which they came.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(entry) = self.entries.get(len) {
            self.bytes.truncate(entry.start);
            self.entries.truncate(len);
        }
    }

    /// Moves the records from a place on into a block of their own. They must be in the order in which they came.
    pub(super) fn split_off(&mut self, len: usize) -> Block {
        let mut rest = Block::default();
        for entry in self.entries.get(len..).unwrap_or_default() {
            rest.push_from(self, entry);
        }
        self.truncate(len);
        rest
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }

    /// Brings the records into log order; those of one scn stay as they came.
    pub(super) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.record.scn);
    }

    pub(super) fn first(&self) -> Scn {
        self.entries.first().map_or(Scn(0), |entry| entry.record.scn)
    }

    pub(super) fn last(&self) -> Scn {
        self.entries.last().map_or(Scn(0), |entry| entry.record.scn)
    }
}
