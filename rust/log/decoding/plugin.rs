//! What output plugins say, in one set of words: the events of a transaction, their values borrowed from the row that the
//! slot gave.

use crate::dialect::slots::PluginCall;
use crate::error::{ErrorKind, Result};

/// Reads the rows of one output plugin.
pub trait Plugin: Send {
    /// Its name, as the server knows it.
    fn name(&self) -> &'static str;

    /// Reads the row of the slot that `data` begins with, and moves `data` behind it; where rows do not tell their end, `data`
    /// is one. `row` is memory to work in; of an event that has columns it has them afterwards.
    ///
    /// # Errors
    /// `Decoding`: the row does not follow the plugin's format. Nothing of the kind is ever passed over.
    fn next<'a>(&mut self, data: &mut &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>>;

    /// Reads a row of the slot that stands alone.
    ///
    /// # Errors
    /// As for [`Plugin::next`]; something stands behind it.
    fn read<'a>(&mut self, data: &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>> {
        let mut rest = data;
        let event = self.next(&mut rest, row)?;
        match rest.is_empty() {
            true => Ok(event),
            false => malformed(format!(
                "a {} message goes on for {} bytes behind its end: {}",
                self.name(),
                rest.len(),
                shortened(data)
            )),
        }
    }

    /// How it is called, where the rows of these publications are wanted.
    fn call<'p>(&self, publications: &'p str) -> PluginCall<'p>;
}

/// What a row of a slot says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A transaction begins; all of its rows follow, then its end.
    Begin(Begin),
    /// It ends.
    Commit(Commit),
    /// What the columns of a table are from here on; the columns are in the row.
    Relation(Relation<'a>),
    /// A row comes; its values are the row's new ones.
    Insert(TableRef<'a>),
    /// A row changes; where the plugin says what it was, its old values are in the row.
    Update(TableRef<'a>, Option<Old>),
    /// A row goes; its old values are in the row, as far as the plugin has any.
    Delete(TableRef<'a>, Option<Old>),
    /// All rows of the row's tables go.
    Truncate,
    /// A message.
    Message(Message<'a>),
    /// Nothing about rows: a type, an origin.
    Other,
}

/// The beginning of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Which one, 32 bits; `None` where the plugin does not say.
    pub xid: Option<u32>,
    /// Where its COMMIT record begins; `None` where the plugin does not say.
    pub commit: Option<u64>,
    /// When it committed, in microseconds since the epoch; `None` where the plugin does not say.
    pub micros: Option<i64>,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Which one, 32 bits; `None` where the plugin does not say.
    pub xid: Option<u32>,
    /// When it committed, in microseconds since the epoch; `None` where the plugin does not say.
    pub micros: Option<i64>,
}

/// A table as a plugin names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableRef<'a> {
    /// By its number, after its relation was described.
    Number(u32),
    /// By its qualified name, quoted as in SQL.
    Name(&'a [u8]),
    /// By schema and name as they are.
    Plain(&'a [u8], &'a [u8]),
}

/// A table's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation<'a> {
    /// Its number.
    pub number: u32,
    /// Its schema; empty for the system's own.
    pub schema: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its replica identity: `d`efault, `n`othing, `f`ull, `i`ndex.
    pub identity: u8,
}

/// A column of a described table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationColumn<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The number of its type.
    pub kind: u32,
    /// The type's modifier; -1 for none.
    pub modifier: i32,
    /// Whether it is part of the replica identity.
    pub in_identity: bool,
}

/// What a plugin has of a row that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// The columns of the replica identity; NULL in any other column says nothing.
    Identity,
    /// The whole row.
    Whole,
    /// Either, and NULLs are left out: the table's replica identity decides.
    WithoutNulls,
}

/// A message in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Whether it belongs to the transaction that it stands in.
    pub transactional: bool,
    /// What it is about.
    pub prefix: &'a [u8],
    /// What it says.
    pub content: &'a [u8],
}

/// One value as a plugin gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL.
    Null,
    /// A large value that did not change and is not in the log.
    Unchanged,
    /// The text that the type's output function makes of it.
    Text(&'a [u8]),
    /// The same, with quotes doubled.
    Doubled(&'a [u8]),
    /// Bytes that are no text: those of a binary column.
    Bytes(&'a [u8]),
    /// What the type's send function makes of it.
    Binary(&'a [u8]),
    /// An integer; of a date days, of a time microseconds since midnight, of a timestamp microseconds, since the epoch.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A floating-point number of 32 bits.
    Single(f32),
    /// A truth value.
    Bool(bool),
    /// A point of a plane.
    Point(f64, f64),
}

/// A value and the column that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell<'a> {
    /// The column's name, as the plugin writes it (quoted as in SQL where the event's table is); empty where values come in
    /// the order of the table's description.
    pub name: &'a [u8],
    /// The name of its type, where the plugin gives it.
    pub kind: &'a [u8],
    /// The value.
    pub datum: Datum<'a>,
}

/// The columns of an event: memory that is used again from row to row.
#[derive(Debug, Default)]
pub struct Row<'a> {
    /// The row that was.
    pub old: Vec<Cell<'a>>,
    /// The row that is.
    pub new: Vec<Cell<'a>>,
    /// The described columns.
    pub columns: Vec<RelationColumn<'a>>,
    /// The tables that were truncated.
    pub tables: Vec<TableRef<'a>>,
}

impl<'a> Row<'a> {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.old.clear();
        self.new.clear();
        self.columns.clear();
        self.tables.clear();
    }

    /// The same memory for a row that lives elsewhere.
    pub fn recycle<'b>(self) -> Row<'b> {
        Row {
            old: emptied(self.old),
            new: emptied(self.new),
            columns: emptied(self.columns),
            tables: emptied(self.tables),
        }
    }
}

/// A vector of nothing in the memory of another one: collecting from a vector's own elements reuses its memory.
fn emptied<T, U>(mut vector: Vec<T>) -> Vec<U> {
    vector.clear();
    vector.into_iter().filter_map(|_| None).collect()
}

/// An error of a row that does not follow its format.
pub(super) fn malformed<T>(what: impl Into<String>) -> Result<T> {
    Err(ErrorKind::Decoding(what.into()).into())
}

/// A row for a message: its head, so that no message grows with the data.
pub(super) fn shortened(data: &[u8]) -> String {
    const LONGEST: usize = 120;
    let head = data.get(..LONGEST).unwrap_or(data);
    let more = match data.len() > LONGEST {
        true => format!("… ({} bytes)", data.len()),
        false => String::new(),
    };
    format!("{}{more}", head.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let text = b"id".to_vec();
        let mut row = Row::default();
        row.new.reserve(100);
        row.new.push(Cell {
            name: &text,
            kind: b"",
            datum: Datum::Null,
        });
        let (memory, capacity) = (row.new.as_ptr() as usize, row.new.capacity());
        let row = row.recycle();
        drop(text);
        assert!(row.new.is_empty());
        assert_eq!((row.new.as_ptr() as usize, row.new.capacity()), (memory, capacity));
    }
}
