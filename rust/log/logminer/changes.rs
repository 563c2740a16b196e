//! From a committed transaction's records to changes: redo texts parsed, values by the column numbers of their table.

mod captured;
mod places;

use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::{ChangeKind, SchemaChange};
use crate::error::{Error, ErrorKind, Result};
use crate::log::captured::needed;
pub use crate::log::captured::{CapturedTable, Selection};
use crate::log::logminer::faults::{STATUS_DICTIONARY, mismatch};
use crate::log::logminer::redo_sql::{Operation, Parser, Row};
use crate::log::logminer::shape::Shape;
use crate::log::logminer::values::put;
use crate::log::transactions::{Action, Block, Entry, Record, Transaction};
use crate::log::{Change, Changes};
use crate::position::Place;
use crate::row::value::Image;

use captured::{Captured, Reading};
use places::Places;

/// Turns records into changes.
#[derive(Debug)]
pub struct Decoder {
    parser: Parser,
    tables: Vec<Captured>,
    places: Places,
    logging_hint: String,
    selection: Option<Arc<dyn Selection>>,
    /// Counts fragments.
    fragment: u64,
}

impl Decoder {
    /// A decoder for tables by their place in the list. `logging_hint` says what to set so that the log holds whole
    /// rows.
    ///
    /// # Errors
    /// Those of the selection.
    pub fn new(
        tables: &[CapturedTable],
        lenient: bool,
        logging_hint: String,
        selection: Option<Arc<dyn Selection>>,
    ) -> Result<Self> {
        let mut captured = Vec::with_capacity(tables.len());
        for (CapturedTable { table, wanted }, number) in tables.iter().zip(0..) {
            let mut needed = needed(selection.as_deref(), number, table)?;
            if let Some(wanted) = wanted {
                needed.columns.clone_from(wanted);
            }
            captured.push(Captured::new(table.clone(), needed));
        }
        Ok(Decoder {
            parser: Parser::new(lenient),
            tables: captured,
            places: Places::default(),
            logging_hint,
            selection,
            fragment: 0,
        })
    }

    /// The newest shape of a table that is known.
    pub fn newest(&self, table: u32) -> Option<&Arc<Table>> {
        self.tables.get(table as usize).map(Captured::newest)
    }

    /// Whether it is known what was done to the tables between a transaction's records and the dictionary that has put
    /// them into words: statements stand farther on in the log, perhaps where it was not read yet.
    pub fn explains(&self, transaction: &Transaction) -> bool {
        let mut records = transaction.kinds();
        records.all(|record| {
            let captured = self.tables.get(record.table as usize);
            record.action == Action::Schema || captured.is_none_or(|captured| captured.explains(record))
        })
    }

    /// How many shapes of each table are known.
    pub fn shapes(&self) -> Vec<usize> {
        self.tables.iter().map(|captured| captured.shapes.len()).collect()
    }

    /// All statements are noted that led to so many shapes of each table, as far as the log has them.
    pub fn explain(&mut self, shapes: &[usize]) {
        for (captured, &shapes) in self.tables.iter_mut().zip(shapes) {
            captured.explained = shapes;
        }
    }

    /// The dictionary has a table in this shape now. Returns the shape's place.
    ///
    /// # Errors
    /// Those of the selection.
    pub fn add_shape(&mut self, table: u32, mut shape: Table) -> Result<u32> {
        if let Some(selection) = &self.selection {
            selection.prepare(&mut shape)?;
        }
        let needed = needed(self.selection.as_deref(), table, &shape)?;
        let captured = self.tables.get_mut(table as usize).ok_or_else(of_no_table)?;
        Ok(captured.add(Shape::new(Arc::new(shape), needed)))
    }

    /// Notes a statement that changes a table, wherever it stands in what was read.
    pub fn note(&mut self, record: &Record, statement: &[u8]) {
        if let Some(captured) = self.tables.get_mut(record.table as usize) {
            let statement = String::from_utf8_lossy(statement);
            captured.history.add(record.object, record.version, &statement);
        }
    }

    /// What a statement does to its table; rows of the new shape come behind it.
    ///
    /// # Errors
    /// Those of the selection.
    pub fn schema_change(&mut self, record: &Record, statement: &[u8]) -> Result<SchemaChange> {
        let captured = self.tables.get_mut(record.table as usize).ok_or_else(of_no_table)?;
        let statement = String::from_utf8_lossy(statement).into_owned();
        let kind = ChangeKind::of(&statement);
        captured.dropped |= kind == ChangeKind::Drop;
        let table = captured.behind(record, self.selection.as_deref())?;
        Ok(SchemaChange {
            table: table.name.clone(),
            kind,
            statement,
            shape: (kind != ChangeKind::Drop).then(|| table.clone()),
        })
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.places.clear();
    }

    /// Begins a fragment.
    pub fn begin_fragment(&mut self) {
        self.fragment += 1;
    }

    /// Where a record stands in its transaction. Every record must be asked for, in log order, undone ones too.
    pub fn place(&mut self, entry: &Entry) -> Place {
        self.places.next(entry)
    }

    /// Appends the change of a record; `row` is memory to work in. Nothing is appended for one that cannot be read. `false`:
    /// its row has another shape than those of its table in this fragment, and belongs into the next.
    ///
    /// # Errors
    /// The faults of design 3.1.8; redo texts that do not follow their grammar.
    pub fn decode<'t>(
        &mut self,
        block: &'t Block,
        entry: &Entry,
        place: Place,
        row: &mut Row<'t>,
        out: &mut Changes,
    ) -> Result<bool> {
        let record = &entry.record;
        match self.change(block, entry, row, out) {
            Ok(None) => Ok(false),
            Ok(Some((before, after))) => {
                out.rows.push(Change {
                    table: record.table,
                    before,
                    after,
                    place,
                });
                Ok(true)
            }
            Err(error) => Err(match self.newest(record.table) {
                Some(table) => error.on(&table.name),
                None => error,
            }),
        }
    }

    fn change<'t>(
        &mut self,
        block: &'t Block,
        entry: &Entry,
        row: &mut Row<'t>,
        out: &mut Changes,
    ) -> Result<Option<Images>> {
        let record = &entry.record;
        let captured = self.tables.get_mut(record.table as usize).ok_or_else(of_no_table)?;
        captured.check_object(record)?;
        if record.action == Action::Unsupported {
            return mismatch("the log cannot show the change row by row (operation UNSUPPORTED or BATCH_UPDATE)");
        }
        if record.status == STATUS_DICTIONARY {
            return mismatch("the log could not rebuild the statement (STATUS 2)");
        }
        if entry.no_text {
            return mismatch("the record has no redo text: today's dictionary does not know its table");
        }
        let operation = match record.action {
            Action::Insert => Operation::Insert,
            Action::Delete => Operation::Delete,
            _ => Operation::Update,
        };
        let reading = Reading {
            parser: &self.parser,
            operation,
            text: block.text(entry),
            hint: &self.logging_hint,
            selection: self.selection.as_deref(),
        };
        let number = captured.read(record, &reading, row)?;
        if !captured.say(self.fragment, record.table, number, out) {
            return Ok(None);
        }
        let shape = &captured.shapes[number];
        let text = block.text(entry);
        let values = &mut out.values;
        let columns = shape.table.columns.len();
        Ok(Some(match operation {
            Operation::Insert => {
                let after = values.begin(columns);
                shape.fill(values, after, |column| row.after(column), text)?;
                (None, Some(after))
            }
            Operation::Delete => {
                let before = values.begin(columns);
                shape.fill(values, before, |column| row.before(column), text)?;
                shape.note_missing(row, values, before);
                (Some(before), None)
            }
            _ => {
                let before = values.begin(columns);
                shape.fill(values, before, |column| row.before(column), text)?;
                shape.note_missing(row, values, before);
                // What SET does not name is the same: its bytes are shared.
                let after = values.begin_copy(before);
                for &column in row.set() {
                    let column = column as usize;
                    if let (true, Some(value)) = (shape.wants(column), row.after(column)) {
                        put(values, after, column, &value).map_err(|error| shape.named(column, error, text))?;
                    }
                }
                (Some(before), Some(after))
            }
        }))
    }
}

/// A row before and after a change.
type Images = (Option<Image>, Option<Image>);

fn of_no_table() -> Error {
    ErrorKind::Internal("a record of no table".into()).into()
}
