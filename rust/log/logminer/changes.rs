//! From a committed transaction's records to changes: redo texts parsed, values by the column numbers of their table.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use crate::catalog::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::faults::{Faults, STATUS_DICTIONARY};
use crate::log::logminer::redo_sql::{Call, Fault, Layout, Operation, Parser, Row, Text, Value as Redo};
use crate::log::transactions::{Action, Entry, Transaction};
use crate::log::{Change, Changes};
use crate::position::{Place, RecordSet};
use crate::row::value::{Image, Value, ValueBuffer};

/// A captured table, and which of its columns are wanted.
#[derive(Clone, Debug)]
pub struct CapturedTable {
    /// The table.
    pub table: Arc<Table>,
    /// For each column whether it is read; the others stay absent. `None` means all.
    pub wanted: Option<Vec<bool>>,
}

impl CapturedTable {
    /// A table with all its columns.
    pub fn whole(table: Arc<Table>) -> Self {
        CapturedTable { table, wanted: None }
    }
}

/// Turns records into changes.
#[derive(Debug)]
pub struct Decoder {
    parser: Parser,
    tables: Vec<Captured>,
    places: Places,
    logging_hint: String,
}

#[derive(Debug)]
struct Captured {
    table: Arc<Table>,
    /// The numbers of the columns that are read, ascending.
    wanted: Vec<usize>,
    is_wanted: Vec<bool>,
    layout: Layout,
    version: Option<u32>,
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
    pub fn new(tables: &[CapturedTable], lenient: bool, logging_hint: String) -> Self {
        Decoder {
            parser: Parser::new(lenient),
            tables: tables.iter().map(captured).collect(),
            places: Places::default(),
            logging_hint,
        }
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.places.clear();
    }

    /// Where a record stands in its transaction. Every record must be asked for, in log order, undone ones too.
    pub fn place(&mut self, entry: &Entry) -> Place {
        self.places.next(entry)
    }

    /// Appends the change of a record; `row` is memory to work in. Nothing is appended for one that cannot be read and may be skipped.
    ///
    /// # Errors
    /// The faults of design 3.1.8; redo texts that do not follow their grammar.
    pub fn decode<'t>(
        &mut self,
        transaction: &'t Transaction,
        entry: &Entry,
        place: Place,
        row: &mut Row<'t>,
        out: &mut Changes,
        faults: &mut Faults,
    ) -> Result<()> {
        let record = &entry.record;
        let decoded = self.change(transaction, entry, row, out);
        match decoded {
            Ok((before, after)) => {
                out.rows.push(Change {
                    table: record.table,
                    before,
                    after,
                    place,
                });
                Ok(())
            }
            Err(error) => {
                let error = match self.tables.get(record.table as usize) {
                    Some(captured) => error.on(&captured.table.name),
                    None => error,
                };
                faults.rule(error.at(format!("scn {}", record.scn)))
            }
        }
    }

    fn change<'t>(
        &mut self,
        transaction: &'t Transaction,
        entry: &Entry,
        row: &mut Row<'t>,
        out: &mut Changes,
    ) -> Result<(Option<Image>, Option<Image>)> {
        let record = &entry.record;
        let captured = self
            .tables
            .get_mut(record.table as usize)
            .ok_or_else(|| Error::from(ErrorKind::Internal("a record of no table".into())))?;
        if record.object != 0 && !captured.is_known_as(record.object) {
            return mismatch(format!(
                "the record is of table number {}, the table has number {} today: it was made anew",
                record.object, captured.table.object_id
            ));
        }
        if record.action == Action::Unsupported {
            return mismatch("the log cannot show the change row by row (operation UNSUPPORTED or BATCH_UPDATE)");
        }
        if record.status == STATUS_DICTIONARY {
            return mismatch("the log could not rebuild the statement (STATUS 2)");
        }
        if entry.no_text {
            return mismatch("the record has no redo text: today's dictionary does not know its table");
        }
        if record.object == captured.table.object_id {
            captured.note_version(record.version);
        }
        let text = transaction.text(entry);
        let operation = match record.action {
            Action::Insert => Operation::Insert,
            Action::Delete => Operation::Delete,
            _ => Operation::Update,
        };
        self.parser
            .parse_row(operation, text, &mut captured.layout, row)
            .map_err(|error| match error.fault {
                Fault::OtherTable => Error::from(ErrorKind::DictionaryMismatch(format!(
                    "the text is of another table: {}",
                    shortened(text)
                ))),
                _ => ErrorKind::Redo(format!("{error}: {}", shortened(text))).into(),
            })?;
        if row.is_skipped() {
            return mismatch("the record has an empty redo text");
        }
        captured.check_whole(row, operation, &self.logging_hint)?;
        let values = &mut out.values;
        let columns = captured.table.columns.len();
        Ok(match operation {
            Operation::Insert => {
                let after = values.begin(columns);
                captured.fill(values, after, |column| row.after(column), text)?;
                (None, Some(after))
            }
            Operation::Delete => {
                let before = values.begin(columns);
                captured.fill(values, before, |column| row.before(column), text)?;
                captured.note_missing(values, before);
                (Some(before), None)
            }
            _ => {
                let before = values.begin(columns);
                captured.fill(values, before, |column| row.before(column), text)?;
                captured.note_missing(values, before);
                // What SET does not name is the same: its bytes are shared.
                let after = values.begin_copy(before);
                for &column in row.set() {
                    let column = column as usize;
                    if let (true, Some(value)) = (captured.wants(column), row.after(column)) {
                        put(values, after, column, &value).map_err(|error| captured.named(column, error, text))?;
                    }
                }
                (Some(before), Some(after))
            }
        })
    }
}

fn captured(captured: &CapturedTable) -> Captured {
    let table = Arc::clone(&captured.table);
    let mut is_wanted = captured
        .wanted
        .clone()
        .unwrap_or_else(|| vec![true; table.columns.len()]);
    is_wanted.resize(table.columns.len(), false);
    let wanted = (0..is_wanted.len()).filter(|&column| is_wanted[column]).collect();
    let layout = Layout::new(
        Some(table.name.schema.as_bytes()),
        table.name.name.as_bytes(),
        table.columns.iter().map(|column| column.name.as_bytes()),
    )
    .also_named(table.partitions.iter().map(|partition| partition.name.as_bytes()));
    Captured {
        table,
        wanted,
        is_wanted,
        layout,
        version: None,
    }
}

impl Captured {
    /// Whether the server computes the column, so that a record may lack it: its value then is unavailable, not NULL.
    fn is_virtual(&self, column: usize) -> bool {
        self.table.columns.get(column).is_some_and(|column| column.is_virtual)
    }

    /// Whether a number is the table's or that of one of its partitions.
    fn is_known_as(&self, object: u64) -> bool {
        let partitions = &self.table.partitions;
        object == self.table.object_id || partitions.iter().any(|partition| partition.object_id == object)
    }

    fn wants(&self, column: usize) -> bool {
        self.is_wanted.get(column).copied().unwrap_or(false)
    }

    fn note_version(&mut self, version: u32) {
        if self.version.replace(version).is_some_and(|before| before != version) {
            log::warn!(
                "records of table {} are now of its version {version}; columns are taken by name",
                self.table.name
            );
        }
    }

    /// A row of which a wanted column is missing must not go out: what is missing would look like NULL. Columns that
    /// the table did not have when it was captured take nothing away and pass.
    fn check_whole(&self, row: &Row<'_>, operation: Operation, logging_hint: &str) -> Result<()> {
        let is_missing = |column: usize| match operation {
            Operation::Insert => row.after(column).is_none(),
            _ => row.before(column).is_none() && !self.is_large(column),
        };
        let missing = self
            .wanted
            .iter()
            .find(|&&column| is_missing(column) && !self.is_virtual(column));
        let Some(&missing) = missing else {
            return Ok(());
        };
        let name = self
            .table
            .columns
            .get(missing)
            .map_or("?", |column| column.name.as_str());
        if operation == Operation::Insert || row.unknown() > 0 {
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

    fn fill<'v>(
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
                None => {}
            }
        }
        Ok(())
    }

    /// A log may find the row without its large objects; nothing is known of their values then.
    fn note_missing(&self, values: &mut ValueBuffer, image: Image) {
        for &column in &self.wanted {
            if values.get(image, column) == Value::Absent && self.is_large(column) {
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

    #[cold]
    fn named(&self, column: usize, error: impl Display, text: &[u8]) -> Error {
        let name = self
            .table
            .columns
            .get(column)
            .map_or("?", |column| column.name.as_str());
        ErrorKind::Redo(format!("column '{name}': {error}: {}", shortened(text))).into()
    }
}

/// Sets a value as the redo text has it.
fn put(values: &mut ValueBuffer, image: Image, column: usize, value: &Redo<'_>) -> std::result::Result<(), String> {
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

fn mismatch<T>(what: impl Into<String>) -> Result<T> {
    Err(ErrorKind::DictionaryMismatch(what.into()).into())
}

/// A text for a message: its head, so that neither a message nor a log of messages grows with the data.
fn shortened(text: &[u8]) -> String {
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
