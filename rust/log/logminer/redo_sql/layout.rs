//! A table's columns by index, with what its statements repeat: no name is compared twice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::cursor::{Place, is_word};
use super::error::Fault;
use super::grammar::{Column, Dml, KnownHead, Sink};
use super::scan;
use super::token::{Kind, Token};
use super::value::{Name, Value};

/// Marks a column that the statement names and the layout does not have.
const UNKNOWN: u32 = u32::MAX;
/// Marks the pseudo column.
const ROW_ID: u32 = u32::MAX - 1;

/// The columns of one captured table, in the order that rows shall have, and the heads of its last statements.
///
/// Statements of one table repeat their bytes but for the values, so each part is first compared with the last one met at its
/// place, and only what differs is parsed.
#[derive(Debug, Clone)]
pub struct Layout {
    owner: Option<Box<[u8]>>,
    table: Box<[u8]>,
    /// Other names under which the same owner's statements mean this table: its partitions'.
    others: Vec<Box<[u8]>>,
    columns: usize,
    index: HashMap<Box<[u8]>, u32, BuildHasherDefault<NameHasher>>,
    insert: Head,
    /// Where each value of the last INSERT head goes.
    insert_to: Vec<u32>,
    insert_unknown: u32,
    update: Head,
    delete: Head,
    set: Vec<Piece>,
    conditions: Vec<Piece>,
}

#[derive(Debug, Clone, Default)]
struct Head {
    bytes: Vec<u8>,
    /// Where the alias stands in `bytes`.
    alias: Option<Range<usize>>,
}

/// How a text led to a column: `, "QTY"` or ` AND "QTY"`.
#[derive(Debug, Clone, Default)]
struct Piece {
    bytes: Vec<u8>,
    column: u32,
}

impl Layout {
    /// A layout for the statements of one table, whose columns are numbered as given. Names are as the dictionary has them.
    pub fn new<N: AsRef<[u8]>>(owner: Option<&[u8]>, table: &[u8], columns: impl IntoIterator<Item = N>) -> Layout {
        let mut index = HashMap::default();
        let mut count = 0;
        for name in columns {
            index.insert(doubled(name.as_ref()), count);
            count += 1;
        }
        Layout {
            owner: owner.map(doubled),
            table: doubled(table),
            others: Vec::new(),
            columns: count as usize,
            index,
            insert: Head::default(),
            insert_to: Vec::new(),
            insert_unknown: 0,
            update: Head::default(),
            delete: Head::default(),
            set: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// Reads statements of tables with these names of the same owner as well.
    #[must_use]
    pub fn also_named<N: AsRef<[u8]>>(mut self, names: impl IntoIterator<Item = N>) -> Layout {
        self.others = names.into_iter().map(|name| doubled(name.as_ref())).collect();
        self
    }

    /// How many columns the layout has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn find(&self, name: Name<'_>) -> u32 {
        self.index.get(name.raw).copied().unwrap_or(UNKNOWN)
    }
}

/// A name as it stands between quotes: raw bytes then are equal exactly where names are.
fn doubled(name: &[u8]) -> Box<[u8]> {
    let mut out = Vec::with_capacity(name.len());
    for &byte in name {
        out.push(byte);
        if byte == b'"' {
            out.push(byte);
        }
    }
    out.into_boxed_slice()
}

/// One change of a table, by column index.
///
/// Made once and filled again for each statement of a batch, it allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Row<'a> {
    sql: &'a [u8],
    before: Vec<Token>,
    after: Vec<Token>,
    set: Vec<u32>,
    row_id: Option<Token>,
    unknown: u32,
    skipped: bool,
}

impl<'a> Row<'a> {
    /// The old value of a column: of UPDATE and DELETE what WHERE says. `None` where the statement does not name the column, which
    /// is not NULL; an INSERT has no old values.
    #[inline(always)]
    pub fn before(&self, column: usize) -> Option<Value<'a>> {
        self.before.get(column)?.value(self.sql)
    }

    /// The new value of a column: of INSERT its value, of UPDATE what SET says laid over WHERE. `None` as in [`Row::before`]; a DELETE
    /// has no new values.
    #[inline(always)]
    pub fn after(&self, column: usize) -> Option<Value<'a>> {
        self.after.get(column)?.value(self.sql)
    }

    /// Of UPDATE: the columns that SET names, in the order of the text.
    pub fn set(&self) -> &[u32] {
        &self.set
    }

    /// The pseudo column ROWID in WHERE: it identifies a row inside its transaction, and is no key.
    pub fn row_id(&self) -> Option<Value<'a>> {
        self.row_id?.value(self.sql)
    }

    /// How many columns the statement names that the layout does not have: the table has changed, or the layout is of another version.
    pub fn unknown(&self) -> u32 {
        self.unknown
    }

    /// Whether the text held no statement ([`super::Operation::Skip`]); there are no values then.
    pub fn is_skipped(&self) -> bool {
        self.skipped
    }

    pub(super) fn clear(&mut self, sql: &'a [u8], before: usize, after: usize) {
        self.sql = sql;
        self.before.clear();
        self.before.resize(before, Token::ABSENT);
        self.after.clear();
        self.after.resize(after, Token::ABSENT);
        self.set.clear();
        self.row_id = None;
        self.unknown = 0;
        self.skipped = false;
    }

    pub(super) fn skip(&mut self) {
        self.clear(b"", 0, 0);
        self.skipped = true;
    }
}

/// Puts a value into its place, which must be free.
#[inline(always)]
fn fill(slot: &mut Token, value: Token) -> Result<(), Fault> {
    if slot.kind() != Kind::ABSENT {
        return Err(Fault::DuplicateColumn);
    }
    *slot = value;
    Ok(())
}

/// Puts what the grammar finds into a [`Row`].
pub(super) struct RowSink<'r, 'a> {
    layout: &'r mut Layout,
    row: &'r mut Row<'a>,
    picked: u32,
}

impl<'r, 'a> RowSink<'r, 'a> {
    pub(super) fn new(layout: &'r mut Layout, row: &'r mut Row<'a>) -> Self {
        RowSink {
            layout,
            row,
            picked: UNKNOWN,
        }
    }
}

impl<'a> Sink<'a> for RowSink<'_, 'a> {
    #[inline(always)]
    fn known_head(&mut self, dml: Dml, rest: &'a [u8]) -> Option<KnownHead<'a>> {
        let head = match dml {
            Dml::Insert => &self.layout.insert,
            Dml::Update => &self.layout.update,
            Dml::Delete => &self.layout.delete,
        };
        let known = !head.bytes.is_empty() && rest.starts_with(&head.bytes);
        if !known || !may_follow(dml, rest.get(head.bytes.len()..).unwrap_or_default()) {
            if dml == Dml::Insert {
                self.layout.insert.bytes.clear();
                self.layout.insert_to.clear();
                self.layout.insert_unknown = 0;
            }
            return None;
        }
        if dml == Dml::Insert {
            self.row.unknown = self.layout.insert_unknown;
        }
        let alias = head.alias.clone().and_then(|place| rest.get(place));
        Some(KnownHead {
            length: head.bytes.len(),
            columns: self.layout.insert_to.len(),
            alias,
        })
    }

    fn learn_head(&mut self, dml: Dml, bytes: &'a [u8], alias: Option<Range<usize>>) {
        let head = match dml {
            Dml::Insert => &mut self.layout.insert,
            Dml::Update => &mut self.layout.update,
            Dml::Delete => &mut self.layout.delete,
        };
        head.bytes.clear();
        head.bytes.extend_from_slice(bytes);
        head.alias = alias;
    }

    fn table(&mut self, owner: Option<Name<'a>>, table: Name<'a>) -> Result<(), Fault> {
        let layout = &self.layout;
        let is_named = *table.raw == *layout.table || layout.others.iter().any(|other| *table.raw == **other);
        if owner.map(|name| name.raw) == layout.owner.as_deref() && is_named {
            Ok(())
        } else {
            Err(Fault::OtherTable)
        }
    }

    fn column(&mut self, name: Name<'a>) -> Result<(), Fault> {
        let column = self.layout.find(name);
        match self.row.after.get_mut(column as usize) {
            // The values overwrite this mark, which only tells a column that stands twice.
            Some(slot) => fill(slot, Token::new(Kind::NULL, 0, 0))?,
            None => {
                self.layout.insert_unknown += 1;
                self.row.unknown += 1;
            }
        }
        self.layout.insert_to.push(column);
        Ok(())
    }

    #[inline(always)]
    fn insert(&mut self, nth: usize, value: Token) {
        let column = self.layout.insert_to.get(nth).copied().unwrap_or(UNKNOWN);
        if let Some(slot) = self.row.after.get_mut(column as usize) {
            *slot = value;
        }
    }

    #[inline(always)]
    fn known_piece(&mut self, place: Place, nth: usize, rest: &'a [u8]) -> Option<usize> {
        let pieces = if place == Place::Set {
            &self.layout.set
        } else {
            &self.layout.conditions
        };
        let piece = pieces.get(nth)?;
        // Another quote after it, and the name is longer: `"A""B"`.
        if !scan::starts_with(rest, &piece.bytes) || rest.get(piece.bytes.len()) == Some(&b'"') {
            return None;
        }
        self.picked = piece.column;
        Some(piece.bytes.len())
    }

    fn pick(&mut self, place: Place, nth: usize, column: Column<'a>, bytes: &'a [u8]) -> Result<(), Fault> {
        self.picked = match column {
            Column::Named(name) | Column::Aliased(name) => self.layout.find(name),
            Column::RowId => ROW_ID,
        };
        // A piece with an alias is right only in a statement that declares it.
        if !matches!(column, Column::Named(_)) {
            return Ok(());
        }
        let pieces = if place == Place::Set {
            &mut self.layout.set
        } else {
            &mut self.layout.conditions
        };
        if pieces.len() == nth {
            pieces.push(Piece::default());
        }
        if let Some(piece) = pieces.get_mut(nth) {
            piece.bytes.clear();
            piece.bytes.extend_from_slice(bytes);
            piece.column = self.picked;
        }
        Ok(())
    }

    #[inline(always)]
    fn set(&mut self, value: Token) -> Result<(), Fault> {
        match self.row.after.get_mut(self.picked as usize) {
            Some(slot) => {
                fill(slot, value)?;
                self.row.set.push(self.picked);
            }
            None => self.row.unknown += 1,
        }
        Ok(())
    }

    #[inline(always)]
    fn condition(&mut self, value: Token) -> Result<(), Fault> {
        match self.row.before.get_mut(self.picked as usize) {
            Some(slot) => {
                fill(slot, value)?;
                if let Some(slot) = self.row.after.get_mut(self.picked as usize)
                    && slot.kind() == Kind::ABSENT
                {
                    *slot = value;
                }
                Ok(())
            }
            None if self.picked == ROW_ID => fill(self.row.row_id.get_or_insert(Token::ABSENT), value),
            None => {
                self.row.unknown += 1;
                Ok(())
            }
        }
    }
}

/// Whether a head ends where the known one does: what follows must not belong to its last token, nor be an alias.
#[inline(always)]
fn may_follow(dml: Dml, rest: &[u8]) -> bool {
    match (dml, rest) {
        (Dml::Insert, _) | (_, []) => true,
        (Dml::Update, [next, ..]) => !is_word(*next),
        (Dml::Delete, [b';', ..]) => true,
        (Dml::Delete, [b' ', word @ ..]) => {
            word.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"WHERE"))
                && !word.get(5).is_some_and(|&next| is_word(next))
        }
        (Dml::Delete, _) => false,
    }
}

/// A fast hash of names, which come from the database's dictionary, not from an adversary.
#[derive(Debug, Clone, Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
