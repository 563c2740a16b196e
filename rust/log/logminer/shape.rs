//! One shape of a captured table: which of its columns a row needs, and where they stand in a redo text.

use std::fmt::Display;
use std::sync::Arc;

use crate::catalog::{Column, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::faults::mismatch;
use crate::log::logminer::history::{Between, History, column, means_the_same};
use crate::log::logminer::redo_sql::{Fault, Layout, Operation, Parser, Row, Value as Redo};
use crate::log::logminer::values::{put, shortened};
use crate::log::transactions::Record;
use crate::row::codec::Needed;
use crate::row::value::{Image, Value, ValueBuffer};

/// A shape.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) table: Arc<Table>,
    /// The numbers of the columns that are read, ascending.
    wanted: Vec<usize>,
    is_wanted: Vec<bool>,
    /// What goes downstream and the table has not.
    gone: Vec<String>,
    /// All columns go downstream, and so does each that the table had when a row was written.
    whole: bool,
    layout: Layout,
}

impl Shape {
    pub(super) fn new(table: Arc<Table>, needed: Needed) -> Self {
        let Needed {
            columns: mut is_wanted,
            gone,
            whole,
        } = needed;
        is_wanted.resize(table.columns.len(), false);
        let wanted = (0..is_wanted.len()).filter(|&column| is_wanted[column]).collect();
        let layout = Layout::new(
            Some(table.name.schema.as_bytes()),
            table.name.name.as_bytes(),
            table.columns.iter().map(|column| column.name.as_bytes()),
        )
        .also_named(table.partitions.iter().map(|partition| partition.name.as_bytes()));
        Shape {
            table,
            wanted,
            is_wanted,
            gone,
            whole,
            layout,
        }
    }

    /// Whether rows go out with all columns that they have.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The table as it was before statements that only added columns; `None` if they added none, or did more.
    pub(super) fn before(&self, between: Between<'_>, version: u32) -> Option<Table> {
        let stays: Vec<bool> = self
            .table
            .columns
            .iter()
            .map(|column| !between.added(&column.name))
            .collect();
        let number = |column: usize| stays[..column].iter().filter(|&&stays| stays).count();
        let is_moved = |column: &Column| between.moved(&column.name).is_some();
        let did_more = between.dropped().is_some() || self.table.columns.iter().any(is_moved);
        let has_key = self.table.key.iter().all(|&column| stays[column]);
        (has_key && !did_more && stays.contains(&false)).then(|| Table {
            version,
            columns: self
                .table
                .columns
                .iter()
                .zip(&stays)
                .filter(|(_, stays)| **stays)
                .map(|(column, _)| column.clone())
                .collect(),
            key: self.table.key.iter().map(|&column| number(column)).collect(),
            ..(*self.table).clone()
        })
    }

    pub(super) fn wants(&self, column: usize) -> bool {
        self.is_wanted.get(column).copied().unwrap_or(false)
    }

    /// Whether the server computes the column, so that a record may lack it: its value then is unavailable, not NULL.
    fn is_virtual(&self, column: usize) -> bool {
        self.table.columns.get(column).is_some_and(|column| column.is_virtual)
    }

    /// Whether a number is that of one of the table's partitions.
    pub(super) fn has_partition(&self, object: u64) -> bool {
        self.table
            .partitions
            .iter()
            .any(|partition| partition.object_id == object)
    }

    fn name(&self, column: usize) -> &str {
        self.table.columns.get(column).map_or("?", |column| &column.name)
    }

    pub(super) fn parse<'t>(
        &mut self,
        parser: &Parser,
        operation: Operation,
        text: &'t [u8],
        row: &mut Row<'t>,
    ) -> Result<()> {
        parser
            .parse_row(operation, text, &mut self.layout, row)
            .map_err(|error| match error.fault {
                Fault::OtherTable => Error::from(ErrorKind::DictionaryMismatch(format!(
                    "the text is of another table: {}",
                    shortened(text)
                ))),
                _ => ErrorKind::Redo(format!("{error}: {}", shortened(text))).into(),
            })?;
        match row.is_skipped() {
            true => mismatch("the record has an empty redo text"),
            false => Ok(()),
        }
    }

    /// Whether a text names all columns of this shape and no other: it was put into words by it, or by one that has the
    /// same names.
    pub(super) fn fits(&self, row: &Row<'_>, operation: Operation) -> bool {
        row.unknown() == 0
            && (0..self.table.columns.len()).all(|column| self.has(row, operation, column) || self.is_virtual(column))
    }

    /// A row of which a wanted column is missing must not go out: what is missing would look like NULL. Columns that
    /// this shape has not take nothing away and pass, unless rows go out whole. `older`: what was done to the table since
    /// the record was written.
    pub(super) fn check_whole(
        &self,
        row: &Row<'_>,
        operation: Operation,
        older: Option<Between<'_>>,
        logging_hint: &str,
    ) -> Result<()> {
        if self.whole && row.unknown() > 0 {
            return mismatch(format!(
                "the redo text has {} columns that the table has not, of those that were captured",
                row.unknown()
            ));
        }
        let added = |column: usize| older.is_some_and(|between| between.added(self.name(column)));
        let may_lack = |column: usize| self.is_virtual(column) || added(column);
        let missing = self
            .wanted
            .iter()
            .find(|&&column| !self.has(row, operation, column) && !may_lack(column));
        let Some(&missing) = missing else {
            return Ok(());
        };
        let name = self.name(missing);
        if operation == Operation::Insert || row.unknown() > 0 || older.is_some() {
            return mismatch(format!(
                "the redo text lacks column '{name}' and has {} that the table had not when it was captured",
                row.unknown()
            ));
        }
        Err(ErrorKind::LoggingMode(format!(
            "the record lacks the old value of column '{name}', so the log does not hold whole rows; {logging_hint}"
        ))
        .into())
    }

    /// Whether values that a text has by the names of this shape are those of an older record: none of the columns is
    /// another than it was. `was`: the record's own shape, where it is known.
    pub(super) fn check_unmoved(&self, record: &Record, was: Option<&Table>, history: &History) -> Result<()> {
        let between = history.between(self.table.object_id, record.version, self.table.version);
        for &number in &self.wanted {
            let Some(statement) = between.moved(self.name(number)) else {
                continue;
            };
            let now = &self.table.columns[number];
            let same = was
                .and_then(|was| column(was, &now.name))
                .is_some_and(|was| means_the_same(was, now));
            if !(same && is_only_of_type(statement)) {
                return mismatch(altered(&now.name, statement));
            }
        }
        if self.whole {
            self.check_kept(between, was)?;
        }
        for name in &self.gone {
            match (between.moved(name), was) {
                (Some(statement), _) => return mismatch(altered(name, statement)),
                (None, Some(was)) if column(was, name).is_some() => return mismatch(left(name)),
                (None, None) if !between.is_known => return mismatch(left(name)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether this shape still has all columns that an older one had.
    fn check_kept(&self, between: Between<'_>, was: Option<&Table>) -> Result<()> {
        let lost = match was {
            Some(was) => was.columns.iter().find(|was| column(&self.table, &was.name).is_none()),
            None => None,
        };
        match (lost, between.dropped()) {
            (Some(lost), _) => mismatch(match between.moved(&lost.name) {
                Some(statement) => altered(&lost.name, statement),
                None => left(&lost.name),
            }),
            (None, Some(statement)) if was.is_none() => mismatch(format!(
                "the record was written before a column left the table ({}), and its text was made after it",
                shortened(statement.as_bytes())
            )),
            _ => Ok(()),
        }
    }

    /// Whether statements left everything that is read of this shape as it was.
    pub(super) fn is_same_after(&self, between: Between<'_>) -> bool {
        let wanted = self.wanted.iter().map(|&number| self.name(number));
        between.is_known
            && wanted.into_iter().all(|name| between.moved(name).is_none())
            && self
                .gone
                .iter()
                .all(|name| between.moved(name).is_none() && !between.added(name))
    }

    /// Sets what a row has; a column that it may lack is NULL.
    pub(super) fn fill<'v>(
        &self,
        values: &mut ValueBuffer,
        image: Image,
        of: impl Fn(usize) -> Option<Redo<'v>>,
        text: &[u8],
    ) -> Result<()> {
        for &column in &self.wanted {
            match of(column) {
                Some(value) => put(values, image, column, &value).map_err(|error| self.named(column, error, text))?,
                None if self.is_virtual(column) => values.set(image, column, Value::Unavailable),
                None => values.set(image, column, Value::Null),
            }
        }
        Ok(())
    }

    /// A log may find the row without its large objects; nothing is known of their values then.
    pub(super) fn note_missing(&self, row: &Row<'_>, values: &mut ValueBuffer, image: Image) {
        for &column in &self.wanted {
            if self.is_large(column) && row.before(column).is_none() {
                values.set(image, column, Value::Unavailable);
            }
        }
    }

    fn is_large(&self, column: usize) -> bool {
        self.table
            .columns
            .get(column)
            .is_some_and(|column| column.kind.is_large())
    }

    /// Whether a text says the value that the row has or had; it may find a row without its large objects.
    fn has(&self, row: &Row<'_>, operation: Operation, column: usize) -> bool {
        match operation {
            Operation::Insert => row.after(column).is_some(),
            _ => row.before(column).is_some() || self.is_large(column),
        }
    }

    #[cold]
    pub(super) fn named(&self, column: usize, error: impl Display, text: &[u8]) -> Error {
        ErrorKind::Redo(format!("column '{}': {error}: {}", self.name(column), shortened(text))).into()
    }
}

/// `ALTER TABLE … MODIFY …`, `… ALTER COLUMN … TYPE …`: no column leaves, comes or takes another's name.
fn is_only_of_type(statement: &str) -> bool {
    use crate::catalog::statement::{Word, Words};
    let renames = |word: Word<'_>| matches!(word, Word::Bare(word) if ["RENAME", "DROP", "TO"].iter().any(|other| word.eq_ignore_ascii_case(other)));
    !Words::of(statement).any(renames)
}

fn altered(column: &str, statement: &str) -> String {
    format!(
        "the record was written before column '{column}' was altered ({}), and its text was made after it",
        shortened(statement.as_bytes())
    )
}

fn left(column: &str) -> String {
    format!("the record was written before column '{column}' left the table, and its text was made after it")
}
