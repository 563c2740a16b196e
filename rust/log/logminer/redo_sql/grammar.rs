//! The grammar of INSERT, UPDATE and DELETE: written once, for whoever takes the columns and values.

use std::ops::Range;

use super::cursor::{Cursor, Place, is_word};
use super::error::{Failed, Fault};
use super::token::{Kind, Token};
use super::value::Name;

/// The kinds of change that have a grammar here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dml {
    Insert,
    Update,
    Delete,
}

/// A column as a list names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column<'a> {
    Named(Name<'a>),
    /// With the table's alias before it.
    Aliased(Name<'a>),
    /// The pseudo column, which is not quoted.
    RowId,
}

/// A head that was known byte for byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownHead<'a> {
    pub(super) length: usize,
    /// Of INSERT: how many columns it names.
    pub(super) columns: usize,
    /// Of UPDATE and DELETE: the table's alias.
    pub(super) alias: Option<&'a [u8]>,
}

/// Takes what the grammar finds, in order. The `known_*` questions let it save the grammar the parsing of bytes that it has met
/// before at the same place; whoever remembers nothing leaves them as they are.
pub(super) trait Sink<'a> {
    /// A head that this statement begins with; the columns of an INSERT's are then those of the last `column` calls.
    fn known_head(&mut self, _dml: Dml, _rest: &'a [u8]) -> Option<KnownHead<'a>> {
        None
    }
    /// The head that was just parsed: an INSERT's up to `VALUES (`, an UPDATE's up to SET, a DELETE's up to the table or alias.
    /// `alias` is where in it the table's alias stands.
    fn learn_head(&mut self, _dml: Dml, _head: &'a [u8], _alias: Option<Range<usize>>) {}
    fn table(&mut self, owner: Option<Name<'a>>, table: Name<'a>) -> Result<(), Fault>;
    /// The next column in the list of an INSERT.
    fn column(&mut self, name: Name<'a>) -> Result<(), Fault>;
    /// The value of the nth column of an INSERT.
    fn insert(&mut self, nth: usize, value: Token);
    /// The length of the piece `, "COLUMN"` or ` AND "COLUMN"` that stands here, if it is the one met at this place before.
    fn known_piece(&mut self, _place: Place, _nth: usize, _rest: &'a [u8]) -> Option<usize> {
        None
    }
    /// The nth column of SET or WHERE; `piece` is how the text leads to it.
    fn pick(&mut self, place: Place, nth: usize, column: Column<'a>, piece: &'a [u8]) -> Result<(), Fault>;
    /// The value of the column last known or picked.
    fn set(&mut self, value: Token) -> Result<(), Fault>;
    /// As `set`, of a condition.
    fn condition(&mut self, value: Token) -> Result<(), Fault>;
}

#[inline(always)]
pub(super) fn insert<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S) -> Result<(), Failed> {
    let columns = match sink.known_head(Dml::Insert, cursor.rest()) {
        Some(head) => {
            cursor.at += head.length;
            head.columns
        }
        None => insert_head(cursor, sink)?,
    };
    cursor.enter(Place::Values);
    for nth in 0..columns {
        if nth > 0 {
            cursor.expect(b',', "as many values as columns")?;
            if cursor.peek() == Some(b' ') {
                cursor.at += 1;
            }
        }
        let value = cursor.value()?;
        sink.insert(nth, value);
    }
    cursor.expect(b')', "as many values as columns")?;
    cursor.end()
}

#[inline(never)]
fn insert_head<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S) -> Result<usize, Failed> {
    let start = cursor.at;
    cursor.keyword("INSERT")?;
    cursor.keyword("INTO")?;
    table(cursor, sink)?;
    cursor.expect(b'(', "the list of columns")?;
    let mut columns = 0;
    loop {
        let name = cursor.name("a column")?;
        sink.column(name).or_else(|fault| cursor.fail(fault))?;
        columns += 1;
        if !cursor.take_byte(b',') {
            break;
        }
    }
    cursor.expect(b')', ", or )")?;
    cursor.keyword("VALUES")?;
    cursor.expect(b'(', "(")?;
    sink.learn_head(Dml::Insert, cursor.since(start), None);
    Ok(columns)
}

#[inline(always)]
pub(super) fn update<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S) -> Result<(), Failed> {
    let alias = head(cursor, sink, Dml::Update)?;
    cursor.enter(Place::Set);
    let mut nth = 0;
    loop {
        let start = cursor.at;
        match sink.known_piece(Place::Set, nth, cursor.rest()) {
            Some(length) => cursor.at += length,
            None => {
                if nth > 0 && !cursor.take_byte(b',') {
                    break;
                }
                let column = column(cursor, alias)?;
                if matches!(column, Column::RowId) {
                    return cursor.fail(Fault::Expected("a column"));
                }
                sink.pick(Place::Set, nth, column, cursor.since(start))
                    .or_else(|fault| cursor.fail(fault))?;
            }
        }
        let value = cursor.assignment()?;
        sink.set(value).or_else(|fault| cursor.fail(fault))?;
        nth += 1;
    }
    conditions(cursor, sink, alias)?;
    cursor.end()
}

#[inline(always)]
pub(super) fn delete<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S) -> Result<(), Failed> {
    let alias = head(cursor, sink, Dml::Delete)?;
    conditions(cursor, sink, alias)?;
    cursor.end()
}

/// WHERE and its conditions, if there are any.
#[inline(always)]
pub(super) fn conditions<'a, S: Sink<'a>>(
    cursor: &mut Cursor<'a>,
    sink: &mut S,
    alias: Option<&'a [u8]>,
) -> Result<(), Failed> {
    cursor.enter(Place::Where);
    let mut nth = 0;
    loop {
        let start = cursor.at;
        match sink.known_piece(Place::Where, nth, cursor.rest()) {
            Some(length) => cursor.at += length,
            None => {
                if !cursor.take_keyword(if nth == 0 { "WHERE" } else { "AND" }) {
                    return Ok(());
                }
                let column = column(cursor, alias)?;
                sink.pick(Place::Where, nth, column, cursor.since(start))
                    .or_else(|fault| cursor.fail(fault))?;
            }
        }
        let value = cursor.condition()?;
        sink.condition(value).or_else(|fault| cursor.fail(fault))?;
        nth += 1;
    }
}

/// The head of an UPDATE or a DELETE; gives the table's alias.
#[inline(always)]
fn head<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S, dml: Dml) -> Result<Option<&'a [u8]>, Failed> {
    match sink.known_head(dml, cursor.rest()) {
        Some(head) => {
            cursor.at += head.length;
            Ok(head.alias)
        }
        None => new_head(cursor, sink, dml),
    }
}

#[inline(never)]
fn new_head<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S, dml: Dml) -> Result<Option<&'a [u8]>, Failed> {
    let start = cursor.at;
    if dml == Dml::Delete {
        cursor.keyword("DELETE")?;
        cursor.keyword("FROM")?;
    } else {
        cursor.keyword("UPDATE")?;
    }
    table(cursor, sink)?;
    let alias = self::alias(cursor);
    let place = alias.map(|alias| cursor.at - start - alias.len()..cursor.at - start);
    if dml == Dml::Update {
        cursor.keyword("SET")?;
    }
    sink.learn_head(dml, cursor.since(start), place);
    Ok(alias)
}

/// `"OWNER"."TABLE"` or `"TABLE"`.
pub(super) fn table<'a, S: Sink<'a>>(cursor: &mut Cursor<'a>, sink: &mut S) -> Result<(), Failed> {
    let first = cursor.name("a table")?;
    let (owner, table) = if cursor.take(b".") {
        (Some(first), cursor.name("a table")?)
    } else {
        (None, first)
    };
    sink.table(owner, table).or_else(|fault| cursor.fail(fault))
}

/// A word after the table that is no keyword, nor the beginning of WHERE: a statement cut there must not pass for one without conditions.
pub(super) fn alias<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let end = cursor.at;
    cursor.skip_blank();
    let word = cursor.word();
    let is_keyword = word.eq_ignore_ascii_case(b"SET")
        || word.eq_ignore_ascii_case(b"FOR")
        || b"WHERE"
            .get(..word.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    if is_keyword || word.first().is_none_or(u8::is_ascii_digit) {
        cursor.at = end;
        return None;
    }
    Some(word)
}

/// A column, with the alias before it if the table has one.
pub(super) fn column<'a>(cursor: &mut Cursor<'a>, alias: Option<&'a [u8]>) -> Result<Column<'a>, Failed> {
    cursor.skip_blank();
    if cursor.peek() == Some(b'"') {
        return cursor.name("a column").map(Column::Named);
    }
    let start = cursor.at;
    let mut word = cursor.word();
    if cursor.peek() == Some(b'.') && alias.is_some_and(|alias| alias.eq_ignore_ascii_case(word)) {
        cursor.at += 1;
        if cursor.peek() == Some(b'"') {
            return cursor.name("a column").map(Column::Aliased);
        }
        word = cursor.word();
    }
    if word.eq_ignore_ascii_case(b"ROWID") {
        return Ok(Column::RowId);
    }
    cursor.at = start;
    cursor.fail(Fault::Expected("a column"))
}

impl Cursor<'_> {
    /// A condition on a column whose name has just been taken: `= value` or `IS NULL`.
    #[inline(always)]
    fn condition(&mut self) -> Result<Token, Failed> {
        if self.take(b" = ") {
            return self.value();
        }
        if self.take(b" IS NULL") {
            return if self.peek().is_some_and(is_word) {
                self.fail(Fault::Expected("NULL"))
            } else {
                Ok(Token::new(Kind::NULL, self.at, self.at))
            };
        }
        self.condition_slowly()
    }

    #[cold]
    fn condition_slowly(&mut self) -> Result<Token, Failed> {
        if self.take_byte(b'=') {
            return self.value();
        }
        if !self.take_keyword("IS") {
            return self.fail(Fault::Expected("= or IS NULL"));
        }
        self.keyword("NULL")?;
        Ok(Token::new(Kind::NULL, self.at, self.at))
    }

    /// An assignment to a column whose name has just been taken.
    #[inline(always)]
    fn assignment(&mut self) -> Result<Token, Failed> {
        if !self.take(b" = ") {
            self.expect(b'=', "=")?;
        }
        self.value()
    }

    pub(super) fn enter(&mut self, place: Place) {
        self.place = place;
    }
}
