//! What the log writes about large values and XML documents: blocks and lines of their own form, over the same tokenizer.

use super::cursor::{Cursor, Place, is_word};
use super::error::{Failed, Fault};
use super::grammar::{self, Column};
use super::statement::{Operation, Statement};
use super::value::{Name, Value};

/// What is done to a large value or a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Large<'a> {
    /// The value of a column is selected for the writes that follow; `kind` is the type of the locator (CLOB, BLOB, NCLOB).
    Locator {
        /// The column that holds the value.
        column: Name<'a>,
        /// The type, as the block declares the variable; empty where it declares none.
        kind: &'a [u8],
    },
    /// A piece is written.
    Write {
        /// Where, from zero, in characters or bytes.
        offset: u64,
        /// How many characters or bytes, as the log says.
        length: u64,
        /// The piece: a text, an expression or a call of HEXTORAW.
        data: Value<'a>,
    },
    /// The value is cut.
    Trim {
        /// To how many characters or bytes.
        length: u64,
    },
    /// A part is overwritten with blanks or zero bytes.
    Erase {
        /// From where, from zero.
        offset: u64,
        /// How many characters or bytes.
        length: u64,
    },
    /// The XML document of a column begins.
    Document {
        /// The column that holds the document.
        column: Name<'a>,
    },
    /// A piece of the document.
    DocumentPiece {
        /// Its length, as the log says; a document set to NULL has none.
        length: Option<u64>,
        /// A text, NULL, or bytes ([`Value::Hex`]).
        data: Value<'a>,
    },
}

/// Reads the text of a record about large values.
pub(super) fn parse<'a>(cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
    match statement.operation {
        Operation::XmlBegin => document(cursor, statement),
        Operation::XmlWrite => document_piece(cursor, statement),
        _ => Block {
            buffer: None,
            length: None,
            declared: b"",
        }
        .parse(cursor, statement),
    }
}

/// A PL/SQL block, whole or a part of one: declarations, a SELECT of the locator, assignments, calls of dbms_lob.
struct Block<'a> {
    /// The variable last assigned, with its value.
    buffer: Option<(&'a [u8], Value<'a>)>,
    /// As `buffer`, for a variable that holds a number.
    length: Option<(&'a [u8], u64)>,
    declared: &'a [u8],
}

impl<'a> Block<'a> {
    fn parse(mut self, cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
        if cursor.take_keyword("DECLARE") {
            let start = cursor.at;
            let mut end = start;
            while !cursor.take_keyword("BEGIN") {
                declaration(cursor)?;
                end = cursor.at;
            }
            self.declared = cursor.sql.get(start..end).unwrap_or_default();
        } else {
            cursor.take_keyword("BEGIN");
        }
        loop {
            cursor.skip_blank();
            if cursor.at == cursor.sql.len() {
                break;
            }
            if cursor.take_keyword("END") {
                cursor.end()?;
                break;
            }
            self.step(cursor, statement)?;
            cursor.expect(b';', ";")?;
        }
        let wanted = |large: &Large<'_>| match statement.operation {
            Operation::SelectLobLocator => matches!(large, Large::Locator { .. }),
            Operation::LobTrim => matches!(large, Large::Trim { .. }),
            Operation::LobErase => matches!(large, Large::Erase { .. }),
            _ => matches!(large, Large::Write { .. }),
        };
        if statement.large.iter().any(wanted) {
            Ok(())
        } else {
            cursor.fail(Fault::Expected("what the operation code announces"))
        }
    }

    fn step(&mut self, cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
        let word = cursor.word();
        if word.eq_ignore_ascii_case(b"SELECT") {
            return self.select(cursor, statement);
        }
        if word.eq_ignore_ascii_case(b"DBMS_LOB") {
            let large = self.call(cursor)?;
            statement.large.push(large);
            return Ok(());
        }
        if word.is_empty() {
            return cursor.fail(Fault::Expected("a statement of the block"));
        }
        cursor.skip_blank();
        if !cursor.take(b":=") {
            return cursor.fail(Fault::Expected(":="));
        }
        cursor.skip_blank();
        let start = cursor.at;
        match plain(cursor)? {
            Value::Number(digits) => {
                self.length = Some((word, number(digits).or_else(|fault| cursor.fail_at(fault, start))?))
            }
            value @ (Value::Text(_) | Value::Expression(_) | Value::Call(_)) => self.buffer = Some((word, value)),
            _ => return cursor.fail(Fault::UnknownValue),
        }
        Ok(())
    }

    /// `select "COLUMN" into variable from "OWNER"."TABLE" where … for update`
    fn select(&mut self, cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
        let column = cursor.name("a column")?;
        cursor.keyword("INTO")?;
        cursor.skip_blank();
        let variable = cursor.word();
        cursor.keyword("FROM")?;
        source(cursor, statement)?;
        cursor.keyword("FOR")?;
        cursor.keyword("UPDATE")?;
        statement.large.push(Large::Locator {
            column,
            kind: self.kind(variable),
        });
        Ok(())
    }

    /// The declared type of a variable.
    fn kind(&self, variable: &[u8]) -> &'a [u8] {
        let mut cursor = Cursor::new(self.declared, false);
        while let Ok((name, kind)) = declaration(&mut cursor) {
            if name.eq_ignore_ascii_case(variable) {
                return kind;
            }
        }
        b""
    }

    /// `.write(locator, length, offset, buffer)`, `.trim(locator, length)`, `.erase(locator, length, offset)`
    fn call(&mut self, cursor: &mut Cursor<'a>) -> Result<Large<'a>, Failed> {
        cursor.expect(b'.', ".")?;
        let name = cursor.word();
        cursor.expect(b'(', "(")?;
        cursor.skip_blank();
        if cursor.word().is_empty() {
            return cursor.fail(Fault::Expected("a locator"));
        }
        cursor.expect(b',', ",")?;
        let length = self.number(cursor)?;
        let large = if name.eq_ignore_ascii_case(b"TRIM") {
            Large::Trim { length }
        } else {
            cursor.expect(b',', ",")?;
            let Some(offset) = self.number(cursor)?.checked_sub(1) else {
                return cursor.fail(Fault::BadOffset);
            };
            if name.eq_ignore_ascii_case(b"ERASE") {
                Large::Erase { offset, length }
            } else if name.eq_ignore_ascii_case(b"WRITE") {
                cursor.expect(b',', ",")?;
                Large::Write {
                    offset,
                    length,
                    data: self.data(cursor)?,
                }
            } else {
                return cursor.fail(Fault::Expected("write, trim or erase"));
            }
        };
        cursor.expect(b')', ")")?;
        Ok(large)
    }

    fn data(&self, cursor: &mut Cursor<'a>) -> Result<Value<'a>, Failed> {
        cursor.skip_blank();
        if cursor.peek() == Some(b'\'') {
            return plain(cursor);
        }
        let word = cursor.word();
        match self.buffer {
            Some((name, value)) if name.eq_ignore_ascii_case(word) => Ok(value),
            _ => cursor.fail(Fault::Expected("the variable assigned before")),
        }
    }

    /// A number, or the variable that holds one.
    fn number(&self, cursor: &mut Cursor<'a>) -> Result<u64, Failed> {
        cursor.skip_blank();
        let start = cursor.at;
        let word = cursor.word();
        if let Some((name, length)) = self.length
            && name.eq_ignore_ascii_case(word)
        {
            return Ok(length);
        }
        number(word).or_else(|fault| cursor.fail_at(fault, start))
    }
}

/// `name TYPE[(n)];`
fn declaration<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], &'a [u8]), Failed> {
    cursor.skip_blank();
    let name = cursor.word();
    cursor.skip_blank();
    let kind = cursor.word();
    if name.is_empty() || kind.is_empty() {
        return cursor.fail(Fault::Expected("a declaration"));
    }
    if cursor.take_byte(b'(') {
        cursor.skip_blank();
        number(cursor.word()).or_else(|fault| cursor.fail_at(fault, cursor.at))?;
        cursor.expect(b')', ")")?;
    }
    cursor.expect(b';', ";")?;
    Ok((name, kind))
}

fn plain<'a>(cursor: &mut Cursor<'a>) -> Result<Value<'a>, Failed> {
    let token = cursor.value()?;
    Ok(token.value(cursor.sql).unwrap_or(Value::Null))
}

/// The table and the conditions after FROM.
fn source<'a>(cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
    grammar::table(cursor, statement)?;
    let alias = grammar::alias(cursor);
    grammar::conditions(cursor, statement, alias)
}

fn number(word: &[u8]) -> Result<u64, Fault> {
    let text = std::str::from_utf8(word).map_err(|_| Fault::BadNumber)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| Fault::BadNumber)
    } else {
        Err(Fault::BadNumber)
    }
}

/// `XML DOC BEGIN:` and then either a SELECT of the column or, where the document is stored as text, an UPDATE of it.
fn document<'a>(cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
    cursor.keyword("XML")?;
    cursor.keyword("DOC")?;
    cursor.keyword("BEGIN")?;
    cursor.expect(b':', ":")?;
    let column = if cursor.take_keyword("SELECT") {
        let column = cursor.name("a column")?;
        cursor.keyword("FROM")?;
        source(cursor, statement)?;
        column
    } else {
        cursor.keyword("UPDATE")?;
        grammar::table(cursor, statement)?;
        let alias = grammar::alias(cursor);
        cursor.keyword("SET")?;
        let (Column::Named(column) | Column::Aliased(column)) = grammar::column(cursor, alias)? else {
            return cursor.fail(Fault::Expected("a column"));
        };
        cursor.expect(b'=', "=")?;
        placeholder(cursor)?;
        grammar::conditions(cursor, statement, alias)?;
        column
    };
    statement.large.push(Large::Document { column });
    cursor.end()
}

/// What stands for the document that follows: `:NAME`, `XMLType(:1)`.
fn placeholder(cursor: &mut Cursor<'_>) -> Result<(), Failed> {
    cursor.skip_blank();
    let call = cursor.peek() != Some(b':');
    if call && cursor.word().is_empty() {
        return cursor.fail(Fault::Expected("a placeholder"));
    }
    if call {
        cursor.expect(b'(', "(")?;
    }
    cursor.expect(b':', "a placeholder")?;
    if cursor.word().is_empty() {
        return cursor.fail(Fault::Expected("a placeholder"));
    }
    if call { cursor.expect(b')', ")") } else { Ok(()) }
}

/// `XML_REDO := '…' : length`, `XML_REDO := HEXTORAW('…'):length` (its last piece without the second quote), `XML_REDO := NULL`.
fn document_piece<'a>(cursor: &mut Cursor<'a>, statement: &mut Statement<'a>) -> Result<(), Failed> {
    cursor.keyword("XML_REDO")?;
    cursor.skip_blank();
    if !cursor.take(b":=") {
        return cursor.fail(Fault::Expected(":="));
    }
    cursor.enter(Place::Document);
    let data = if cursor.take_keyword("HEXTORAW") {
        hexadecimal(cursor)?
    } else {
        plain(cursor)?
    };
    if !matches!(
        data,
        Value::Hex(_) | Value::Text(_) | Value::Expression(_) | Value::Null
    ) {
        return cursor.fail(Fault::UnknownValue);
    }
    cursor.take_keyword("AMOUNT");
    let length = if cursor.take_byte(b':') {
        cursor.skip_blank();
        let start = cursor.at;
        Some(number(cursor.word()).or_else(|fault| cursor.fail_at(fault, start))?)
    } else if data == Value::Null {
        None
    } else {
        return cursor.fail(Fault::Expected("the length"));
    };
    statement.large.push(Large::DocumentPiece { length, data });
    cursor.end()
}

fn hexadecimal<'a>(cursor: &mut Cursor<'a>) -> Result<Value<'a>, Failed> {
    cursor.expect(b'(', "(")?;
    cursor.expect(b'\'', "a text literal")?;
    let start = cursor.at;
    while cursor.peek().is_some_and(is_word) {
        cursor.at += 1;
    }
    let digits = cursor.since(start);
    if digits.len() % 2 != 0 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return cursor.fail(Fault::BadHex);
    }
    cursor.take_byte(b'\'');
    cursor.expect(b')', ")")?;
    Ok(Value::Hex(digits))
}
