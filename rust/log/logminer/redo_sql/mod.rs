//! The parser of redo texts: SQL as a log's view renders it, cut into names and values.
//!
//! One tokenizer and one grammar read both known forms: keywords in capitals, bare numbers and typed literals; and small letters,
//! quoted numbers and calls. Bytes go in, borrowed slices come out, and no value allocates. A text that is not understood to its last byte is
//! an error, never a guess.
//!
//! ```text
//! error       what is wrong, and where
//! scan        searching bytes
//! cursor      the tokenizer
//! token       a value on its way
//! value       what comes out: names, values, calls
//! decode      from a literal to the text that it means
//! literal     the grammar of a value
//! grammar     the grammar of INSERT, UPDATE and DELETE
//! large       the forms of large values and documents
//! lenient     apostrophes that were not doubled
//! statement   a statement with its columns by name
//! layout      a row by column index, remembering what a table's statements repeat
//! json        a statement as JSON
//! ```

mod cursor;
mod decode;
mod error;
mod grammar;
mod json;
mod large;
mod layout;
mod lenient;
mod literal;
mod scan;
mod statement;
mod token;
mod value;

pub use error::{Fault, RedoError};
pub use large::Large;
pub use layout::{Layout, Row};
pub use statement::{Operation, Statement};
pub use value::{Args, Call, Name, OutOfRow, Text, Value};

use cursor::Cursor;
use error::Failed;
use grammar::Sink;
use layout::RowSink;

/// Reads redo texts. The pieces of a text that its view has cut (CSF) must be joined before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parser {
    lenient: bool,
}

impl Parser {
    /// A parser; a `lenient` one reads statements too in which apostrophes were not doubled, by the best guess
    /// there is, and any other as the strict one does.
    pub fn new(lenient: bool) -> Parser {
        Parser { lenient }
    }

    /// Reads the text of one record.
    pub fn parse<'a>(&self, operation: Operation, sql: &'a [u8]) -> Result<Statement<'a>, RedoError> {
        let mut statement = Statement::default();
        self.parse_into(operation, sql, &mut statement)?;
        Ok(statement)
    }

    /// As [`Parser::parse`], into a statement whose memory is used again. After an error its content means nothing.
    pub fn parse_into<'a>(
        &self,
        operation: Operation,
        sql: &'a [u8],
        statement: &mut Statement<'a>,
    ) -> Result<(), RedoError> {
        if is_nothing(sql) {
            statement.clear(Operation::Skip, sql);
            return Ok(());
        }
        let strict = by_name(operation, sql, false, statement);
        if strict.is_ok() || !self.lenient {
            return strict;
        }
        by_name(operation, sql, true, statement).or(strict)
    }

    /// Reads the INSERT, UPDATE or DELETE of one row by the column indexes of its table. After an error the row's content means
    /// nothing; the layout stays good.
    #[inline]
    pub fn parse_row<'a>(
        &self,
        operation: Operation,
        sql: &'a [u8],
        layout: &mut Layout,
        row: &mut Row<'a>,
    ) -> Result<(), RedoError> {
        match by_index(operation, sql, false, layout, row) {
            Ok(()) => Ok(()),
            Err(strict) => self.parse_row_again(operation, sql, layout, row, strict),
        }
    }

    #[cold]
    fn parse_row_again<'a>(
        &self,
        operation: Operation,
        sql: &'a [u8],
        layout: &mut Layout,
        row: &mut Row<'a>,
        strict: RedoError,
    ) -> Result<(), RedoError> {
        if is_nothing(sql) {
            row.skip();
            return Ok(());
        }
        if !self.lenient {
            return Err(strict);
        }
        by_index(operation, sql, true, layout, row).map_err(|_| strict)
    }
}

fn by_name<'a>(
    operation: Operation,
    sql: &'a [u8],
    lenient: bool,
    statement: &mut Statement<'a>,
) -> Result<(), RedoError> {
    statement.clear(operation, sql);
    let mut cursor = Cursor::new(sql, lenient);
    let parsed = match operation {
        Operation::Ddl | Operation::XmlEnd => Ok(()),
        _ if is_too_long(sql) => cursor.fail(Fault::TooLong),
        Operation::Skip => cursor.fail(Fault::Expected("no statement")),
        Operation::Insert | Operation::Update | Operation::Delete => dml(operation, &mut cursor, statement),
        _ => large::parse(&mut cursor, statement),
    };
    parsed
        .and_then(|()| statement.check_names().or_else(|fault| cursor.fail(fault)))
        .map_err(|Failed| cursor.error())
}

#[inline]
fn by_index<'a>(
    operation: Operation,
    sql: &'a [u8],
    lenient: bool,
    layout: &mut Layout,
    row: &mut Row<'a>,
) -> Result<(), RedoError> {
    let columns = layout.columns();
    let (before, after) = match operation {
        Operation::Insert => (0, columns),
        Operation::Delete => (columns, 0),
        _ => (columns, columns),
    };
    if is_too_long(sql) {
        return Err(Fault::TooLong.at(0));
    }
    row.clear(sql, before, after);
    let mut cursor = Cursor::new(sql, lenient);
    dml(operation, &mut cursor, &mut RowSink::new(layout, row)).map_err(|Failed| cursor.error())
}

#[inline(always)]
fn dml<'a, S: Sink<'a>>(operation: Operation, cursor: &mut Cursor<'a>, sink: &mut S) -> Result<(), Failed> {
    match operation {
        Operation::Insert => grammar::insert(cursor, sink),
        Operation::Update => grammar::update(cursor, sink),
        Operation::Delete => grammar::delete(cursor, sink),
        _ => cursor.fail(Fault::Expected("INSERT, UPDATE or DELETE")),
    }
}

/// Whether places in the text do not fit the half word that a token has for them.
fn is_too_long(sql: &[u8]) -> bool {
    sql.len() > u32::MAX as usize
}

/// Whether a text holds no statement: nothing, blanks, or only a comment.
fn is_nothing(sql: &[u8]) -> bool {
    if sql.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    Cursor::new(sql, false).end().is_ok()
}
