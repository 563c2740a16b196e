//! From a committed transaction's records to changes: redo texts parsed, values by the column numbers of their table.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::{ChangeKind, SchemaChange};
use crate::error::{Error, ErrorKind, Result};
use crate::log::captured::needed;
pub use crate::log::captured::{CapturedTable, Selection};
use crate::log::logminer::faults::STATUS_DICTIONARY;
use crate::log::logminer::history::History;
use crate::log::logminer::redo_sql::{Call, Operation, Parser, Row, Text, Value as Redo};
use crate::log::logminer::shape::Shape;
use crate::log::transactions::{Action, Block, Entry, Record, Transaction};
use crate::log::{Change, Changes};
use crate::position::{Place, RecordSet};
use crate::row::value::{Image, Value, ValueBuffer};

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

#[derive(Debug)]
struct Captured {
    /// Every shape that the dictionary had while the log was read, and those before them that records were found in; never
    /// empty.
    shapes: Vec<Shape>,
    /// The place of the one that the dictionary had last.
    newest: usize,
    history: History,
    /// So many of the first shapes are explained: all statements are noted that the log has of what led to them.
    explained: usize,
    /// Whose records come now.
    object_id: u64,
    /// The table was dropped: what comes next may be one made anew.
    dropped: bool,
    /// The shape of its rows in the fragment of this number.
    said: (u64, u32),
}

/// A text to be read.
struct Reading<'a, 't> {
    parser: &'a Parser,
    operation: Operation,
    text: &'t [u8],
    /// What to set so that the log holds whole rows.
    hint: &'a str,
    selection: Option<&'a dyn Selection>,
}

/// Counts the records of one transaction that only their order tells apart.
#[derive(Debug, Default)]
struct Places {
    last: Option<Place>,
    /// The records at the scn of `last`, once it has two of one table.
    at: HashMap<(u64, RecordSet, u32), u32>,
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
            captured.push(Captured {
                object_id: table.object_id,
                shapes: vec![Shape::new(table.clone(), needed)],
                newest: 0,
                history: History::default(),
                explained: 0,
                dropped: false,
                said: (0, 0),
            });
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
        let captured = self.tables.get(table as usize)?;
        Some(&captured.shapes[captured.newest].table)
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
        captured.newest = captured.shapes.len();
        captured.shapes.push(Shape::new(Arc::new(shape), needed));
        Ok(captured.newest as u32)
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
        let own = captured.own(record, captured.newest, self.selection.as_deref())?;
        let table = &captured.shapes[own.unwrap_or(captured.newest)].table;
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

impl Captured {
    /// Refuses records of a table of the same name that is another one.
    fn check_object(&mut self, record: &Record) -> Result<()> {
        if record.object == 0 || record.object == self.object_id {
            return Ok(());
        }
        let is_part = |shape: &Shape| shape.table.object_id == self.object_id && shape.has_partition(record.object);
        if self.shapes.iter().rev().any(is_part) {
            return Ok(());
        }
        if self.dropped && self.shapes[self.newest].table.object_id == record.object {
            (self.object_id, self.dropped) = (record.object, false);
            return Ok(());
        }
        mismatch(format!(
            "the record is of table number {}, the table has number {}: it was made anew",
            record.object, self.object_id
        ))
    }

    /// The place of the shape that a record was written in, if it is known.
    fn exact(&self, record: &Record) -> Option<usize> {
        self.shapes
            .iter()
            .rposition(|shape| shape.table.object_id == record.object && shape.table.version == record.version)
    }

    /// The same, or what it must have been where nothing was done since but adding columns, for rows that go out whole.
    fn own(&mut self, record: &Record, newer: usize, selection: Option<&dyn Selection>) -> Result<Option<usize>> {
        if let Some(exact) = self.exact(record) {
            return Ok(Some(exact));
        }
        let shape = &self.shapes[newer];
        let between = self
            .history
            .between(shape.table.object_id, record.version, shape.table.version);
        let is_older = record.object == shape.table.object_id && between.is_known;
        let Some(before) = shape
            .before(between, record.version)
            .filter(|_| is_older && shape.is_whole())
        else {
            return Ok(None);
        };
        let needed = needed(selection, record.table, &before)?;
        self.shapes.push(Shape::new(Arc::new(before), needed));
        Ok(Some(self.shapes.len() - 1))
    }

    fn explains(&self, record: &Record) -> bool {
        let Some(Shape { table, .. }) = self.shapes.get(record.shape as usize) else {
            return true;
        };
        let is_older = record.object == table.object_id && (1..table.version).contains(&record.version);
        !is_older
            || (record.shape as usize) < self.explained
            || self
                .history
                .between(record.object, record.version, table.version)
                .is_known
    }

    /// The place of the last known shape before a record's own, if what is read of it was the same in both.
    fn last_before(&self, record: &Record) -> Option<usize> {
        let before = self.shapes.iter().rposition(|shape| {
            shape.table.object_id == record.object && (1..record.version).contains(&shape.table.version)
        })?;
        let shape = &self.shapes[before];
        let between = self.history.between(record.object, shape.table.version, record.version);
        shape.is_same_after(between).then_some(before)
    }

    /// Reads a text by the shape that it was put into words by: the dictionary's at that time or, should the server use
    /// it, the record's own. Returns the place of the shape that the row goes out in.
    fn read<'t>(&mut self, record: &Record, reading: &Reading<'_, 't>, row: &mut Row<'t>) -> Result<usize> {
        let Reading { operation, hint, .. } = *reading;
        let current = (record.shape as usize).min(self.shapes.len() - 1);
        let (object_id, version) = {
            let table = &self.shapes[current].table;
            (table.object_id, table.version)
        };
        // How a partition's own versions count is not known.
        let is_part = record.object != object_id && self.shapes[current].has_partition(record.object);
        let is_known = record.version != 0 && version != 0 && record.object != 0 && !is_part;
        if !is_known || (record.object, record.version) == (object_id, version) {
            self.parse(current, reading, row)?;
            self.shapes[current].check_whole(row, operation, None, hint)?;
            return Ok(current);
        }
        let exact = self.exact(record).filter(|&exact| exact != current);
        let is_older = record.object == object_id && record.version < version;
        let parsed = self.parse(current, reading, row);
        if parsed.is_ok() && record.object == object_id && self.shapes[current].fits(row, operation) {
            return match is_older {
                true => self.read_older(current, record, reading, row),
                false => Ok(current),
            };
        }
        // It names other columns, so it is as it was written.
        if let Some(exact) = exact {
            self.parse(exact, reading, row)?;
            if self.shapes[exact].fits(row, operation) {
                return Ok(exact);
            }
        } else if let Some(before) = self.last_before(record) {
            self.parse(before, reading, row)?;
            if self.shapes[before].check_whole(row, operation, None, hint).is_ok() {
                return Ok(before);
            }
        }
        if record.object != object_id {
            return mismatch(format!(
                "the record is of table number {}, which was dropped before it was read",
                record.object
            ));
        }
        self.parse(current, reading, row)?;
        let between = is_older.then(|| self.history.between(object_id, record.version, version));
        self.shapes[current].check_whole(row, operation, between, hint)?;
        match is_older {
            true => self.read_older(current, record, reading, row),
            false => Ok(current),
        }
    }

    /// An older row in the words of a later shape: right if its columns are the same. Where rows go out whole it has its
    /// own shape, without what was added since.
    fn read_older<'t>(
        &mut self,
        later: usize,
        record: &Record,
        reading: &Reading<'_, 't>,
        row: &mut Row<'t>,
    ) -> Result<usize> {
        let was = self.exact(record).map(|exact| &*self.shapes[exact].table);
        self.shapes[later].check_unmoved(record, was, &self.history)?;
        if !self.shapes[later].is_whole() {
            return Ok(later);
        }
        let own = self.own(record, later, reading.selection)?.unwrap_or(later);
        self.parse(own, reading, row)?;
        Ok(own)
    }

    fn parse<'t>(&mut self, shape: usize, reading: &Reading<'_, 't>, row: &mut Row<'t>) -> Result<()> {
        self.shapes[shape].parse(reading.parser, reading.operation, reading.text, row)
    }

    /// Says the shape of a table's rows in a fragment; `false` if it has another one there already.
    fn say(&mut self, fragment: u64, number: u32, shape: usize, out: &mut Changes) -> bool {
        let said = (fragment, shape as u32);
        if self.said.0 == fragment {
            return self.said == said;
        }
        self.said = said;
        out.shapes.push((number, self.shapes[shape].table.clone()));
        true
    }
}

/// Sets a value as the redo text has it.
pub(super) fn put(
    values: &mut ValueBuffer,
    image: Image,
    column: usize,
    value: &Redo<'_>,
) -> std::result::Result<(), String> {
    let plain = match *value {
        Redo::Null => Value::Null,
        Redo::Text(Text { raw, doubled: false }) => Value::Text(raw),
        Redo::Text(text) => {
            values.set_text(image, column, |out| text.decode_into(out));
            return Ok(());
        }
        Redo::Number(raw) => Value::Number(raw),
        Redo::Boolean(value) => Value::Int(i64::from(value)),
        Redo::Date(raw) => Value::Date(raw),
        Redo::Time(raw) => Value::Time(raw),
        Redo::Timestamp(raw) => Value::Timestamp(raw),
        Redo::Interval(raw) => Value::Text(raw),
        Redo::Hex(raw) => Value::Hex(raw),
        Redo::OutOfRow(_) => Value::Unavailable,
        Redo::Unsupported => return Err("the log could not render the value".into()),
        Redo::Expression(_) => {
            let mut decoded = Ok(());
            values.set_text(image, column, |out| decoded = value.decode_text(out));
            return decoded.map_err(|error| error.to_string());
        }
        Redo::Call(call) => call_value(&call)?,
    };
    values.set(image, column, plain);
    Ok(())
}

/// The value of a call, as far as logs render values by calls.
fn call_value<'a>(call: &Call<'a>) -> std::result::Result<Value<'a>, String> {
    if call.is("EMPTY_CLOB") {
        return Ok(Value::Text(b""));
    }
    if call.is("EMPTY_BLOB") {
        return Ok(Value::Hex(b""));
    }
    match call.args().next() {
        Some(Redo::Text(Text { raw, doubled: false })) => {
            if call.is("HEXTORAW") {
                return Ok(Value::Hex(raw));
            }
            if call.is("TO_TIMESTAMP") || call.is("TO_TIMESTAMP_TZ") || call.is("TO_DATE") {
                return Ok(Value::Timestamp(raw));
            }
            unknown(call)
        }
        _ => unknown(call),
    }
}

fn unknown<T>(call: &Call<'_>) -> std::result::Result<T, String> {
    Err(format!("call {} is not known", shortened(call.raw)))
}

pub(super) fn mismatch<T>(what: impl Into<String>) -> Result<T> {
    Err(ErrorKind::DictionaryMismatch(what.into()).into())
}

/// A text for a message: its head, so that neither a message nor a log of messages grows with the data.
pub(super) fn shortened(text: &[u8]) -> String {
    const LONGEST: usize = 200;
    let head = String::from_utf8_lossy(text.get(..LONGEST).unwrap_or(text));
    if text.len() > LONGEST {
        format!("{head}… ({} bytes)", text.len())
    } else {
        head.into_owned()
    }
}

impl Places {
    fn clear(&mut self) {
        self.last = None;
        self.at.clear();
    }

    /// Counts each record among those of its transaction and table at its scn that have the same name. A scn with one
    /// record needs no count.
    fn next(&mut self, entry: &Entry) -> Place {
        let record = &entry.record;
        let mut place = Place {
            scn: record.scn,
            table: record.object,
            rs_id: record.rs_id,
            ssn: record.ssn,
            nth: 0,
        };
        match self.last {
            Some(last) if last.scn == place.scn => {
                if self.at.is_empty() {
                    self.at.insert(key(&last), 1);
                }
                let count = self.at.entry(key(&place)).or_default();
                place.nth = *count;
                *count += 1;
            }
            _ => self.at.clear(),
        }
        self.last = Some(place);
        place
    }
}

fn key(place: &Place) -> (u64, RecordSet, u32) {
    (place.table, place.rs_id, place.ssn)
}
