//! A statement with its columns by name.

use super::cursor::Place;
use super::error::Fault;
use super::grammar::{Column, Sink};
use super::large::Large;
use super::token::Token;
use super::value::{Name, Value};

/// What a log record does, as its operation code says. The text must agree: the code decides, not the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Operation {
    /// No statement: an empty text or nothing but a comment. Given back for any record that has none; count it.
    #[default]
    Skip,
    /// A row inserted.
    Insert,
    /// A row updated.
    Update,
    /// A row deleted.
    Delete,
    /// A statement as its user typed it: not parsed here.
    Ddl,
    /// The locator of a large value is selected, for writes that follow.
    SelectLobLocator,
    /// A piece of a large value.
    LobWrite,
    /// A large value cut.
    LobTrim,
    /// A part of a large value erased.
    LobErase,
    /// An XML document begins.
    XmlBegin,
    /// A piece of an XML document.
    XmlWrite,
    /// An XML document ends.
    XmlEnd,
}

/// A statement: names and values in the order of the text.
///
/// Made once and filled again for each statement of a batch ([`super::Parser::parse_into`]), it allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Statement<'a> {
    /// What it does; [`Operation::Skip`] if the text holds no statement.
    pub operation: Operation,
    /// The table's owner, where the text names one.
    pub owner: Option<Name<'a>>,
    /// The table, where the text names one.
    pub table: Option<Name<'a>>,
    /// Of INSERT: each column with its value.
    pub values: Vec<(Name<'a>, Value<'a>)>,
    /// Of UPDATE: the columns of SET with their new values.
    pub set: Vec<(Name<'a>, Value<'a>)>,
    /// Of UPDATE and DELETE, and where a locator is selected: the columns of WHERE with their old values.
    pub conditions: Vec<(Name<'a>, Value<'a>)>,
    /// The pseudo column ROWID in WHERE: it identifies a row inside its transaction, and is no key.
    pub row_id: Option<Value<'a>>,
    /// What is done to large values and documents, in the order of the text.
    pub large: Vec<Large<'a>>,
    pub(super) sql: &'a [u8],
    pub(super) picked: Option<Name<'a>>,
    pub(super) order: Vec<&'a [u8]>,
}

impl<'a> Statement<'a> {
    pub(super) fn clear(&mut self, operation: Operation, sql: &'a [u8]) {
        self.sql = sql;
        self.operation = operation;
        self.owner = None;
        self.table = None;
        self.values.clear();
        self.set.clear();
        self.conditions.clear();
        self.row_id = None;
        self.large.clear();
        self.picked = None;
    }

    /// Whether a column stands twice in one of the lists. Raw bytes tell names apart: a quote inside is always doubled.
    pub(super) fn check_names(&mut self) -> Result<(), Fault> {
        for list in [&self.values, &self.set, &self.conditions] {
            self.order.clear();
            self.order.extend(list.iter().map(|(name, _)| name.raw));
            self.order.sort_unstable();
            if self.order.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Fault::DuplicateColumn);
            }
        }
        Ok(())
    }
}

impl<'a> Sink<'a> for Statement<'a> {
    fn table(&mut self, owner: Option<Name<'a>>, table: Name<'a>) -> Result<(), Fault> {
        self.owner = owner;
        self.table = Some(table);
        Ok(())
    }

    fn column(&mut self, name: Name<'a>) -> Result<(), Fault> {
        self.values.push((name, Value::Null));
        Ok(())
    }

    fn insert(&mut self, nth: usize, value: Token) {
        if let Some((_, slot)) = self.values.get_mut(nth) {
            *slot = value.value(self.sql).unwrap_or(Value::Null);
        }
    }

    fn pick(&mut self, _place: Place, _nth: usize, column: Column<'a>, _piece: &'a [u8]) -> Result<(), Fault> {
        self.picked = match column {
            Column::Named(name) | Column::Aliased(name) => Some(name),
            Column::RowId => None,
        };
        Ok(())
    }

    fn set(&mut self, value: Token) -> Result<(), Fault> {
        self.set.extend(self.picked.zip(value.value(self.sql)));
        Ok(())
    }

    fn condition(&mut self, value: Token) -> Result<(), Fault> {
        match self.picked {
            Some(name) => self.conditions.extend(value.value(self.sql).map(|value| (name, value))),
            None if self.row_id.is_some() => return Err(Fault::DuplicateColumn),
            None => self.row_id = value.value(self.sql),
        }
        Ok(())
    }
}
