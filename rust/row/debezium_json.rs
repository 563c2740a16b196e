//! Debezium's envelope as JSON, a record a change: `before`, `after`, `source`, `op`, `ts_ms`, `transaction`, as the
//! documentation of Debezium's relational connectors has it (with `schemas.enable = false`).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::change::{ChangeKind, SchemaChange};
use crate::row::RowOrigin;
use crate::row::convert::Refusal;
use crate::row::envelope::{Described, Envelope, Event, Operation, Side};
use crate::row::fields::Fields;
use crate::row::layout::natural;
use crate::row::number;
use crate::row::time::cut;
use crate::row::time_text::{write_date, write_time, write_timestamp};

/// How exact numbers are written: `decimal.handling.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimals {
    /// As a text, which no reader of JSON rounds.
    #[default]
    String,
    /// As a number with all its digits.
    Precise,
    /// As the nearest DOUBLE.
    Double,
}

/// How dates and times are written: `time.precision.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `2024-01-31 09:30:00.000`, with a `Z` behind an instant: `timestamp-format.standard = SQL` of Flink's formats.
    #[default]
    Sql,
    /// `2024-01-31T09:30:00.000`, with a `Z` behind an instant: `timestamp-format.standard = ISO-8601`.
    Iso8601,
    /// Debezium's numbers: days, and milli-, micro- or nanoseconds by the column's precision; an instant as above.
    Adaptive,
}

/// What a job asks of the JSON form.
#[derive(Clone, Debug)]
pub struct JsonSettings {
    /// `decimal.handling.mode`
    pub decimals: Decimals,
    /// `time.precision.mode`
    pub times: Times,
    /// What `source.name` says; `source.connector` is its part in front of the first hyphen.
    pub connector: String,
    /// `include.schema.changes`
    pub schema_changes: bool,
    /// The clock of the outer `ts_ms`, in milliseconds since the epoch.
    pub clock: fn() -> i64,
}

impl JsonSettings {
    /// The defaults, for a connector.
    pub fn new(connector: &str) -> Self {
        JsonSettings {
            decimals: Decimals::default(),
            times: Times::default(),
            connector: connector.to_owned(),
            schema_changes: false,
            clock: now_millis,
        }
    }
}

fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

/// Writes the envelopes.
pub(super) struct DebeziumJson {
    settings: JsonSettings,
    /// `"version":…,"connector":…,"name":…`
    connector: Vec<u8>,
}

/// A table's names in JSON.
pub(super) struct TableNames {
    /// `"ID":`, escaped, for each column.
    names: Vec<Vec<u8>>,
    /// `"db":…,"schema":…,"table":…`
    name: Vec<u8>,
}

impl DebeziumJson {
    pub(super) fn new(settings: JsonSettings) -> Self {
        let mut connector = Vec::new();
        let name = settings.connector.as_str();
        member("version", env!("CARGO_PKG_VERSION"), &mut connector);
        connector.push(b',');
        member("connector", name.split('-').next().unwrap_or(name), &mut connector);
        connector.push(b',');
        member("name", name, &mut connector);
        DebeziumJson { connector, settings }
    }

    /// Appends a change of a table's shape as Debezium's schema change topic has it, if the job asks for these; whether it
    /// does. Types of columns are those of Flink.
    pub(super) fn schema_change(
        &self,
        table: &TableNames,
        change: &SchemaChange,
        database: &str,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> bool {
        if !self.settings.schema_changes {
            return false;
        }
        out.extend_from_slice(b"{\"source\":");
        self.source(table, origin, out);
        out.extend_from_slice(b",\"ts_ms\":");
        append(&(self.settings.clock)(), out);
        out.push(b',');
        member("databaseName", database, out);
        out.push(b',');
        member("schemaName", &change.table.schema, out);
        out.push(b',');
        member("ddl", &change.statement, out);
        out.extend_from_slice(b",\"tableChanges\":");
        append(&table_changes(change, database), out);
        out.push(b'}');
        true
    }

    fn source(&self, table: &TableNames, origin: &RowOrigin, out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(&self.connector);
        out.extend_from_slice(b",\"ts_ms\":");
        append(&origin.commit_micros.div_euclid(1_000), out);
        out.push(b',');
        member("snapshot", if origin.xid.is_none() { "true" } else { "false" }, out);
        out.push(b',');
        out.extend_from_slice(&table.name);
        identity(",\"txId\":", origin.xid.map(|xid| xid.0), out);
        identity(",\"scn\":", origin.record.map(|scn| scn.0), out);
        identity(",\"commit_scn\":", origin.scn.map(|scn| scn.0), out);
        out.push(b'}');
    }
}

impl TableNames {
    pub(super) fn new(table: &Described<'_>) -> Self {
        let names = table.columns.iter().map(|column| {
            let mut name = Vec::new();
            append(column, &mut name);
            name.push(b':');
            name
        });
        let mut name = Vec::new();
        member("db", table.database, &mut name);
        name.push(b',');
        member("schema", table.schema, &mut name);
        name.push(b',');
        member("table", table.table, &mut name);
        TableNames {
            names: names.collect(),
            name,
        }
    }
}

impl Envelope for DebeziumJson {
    type Table = TableNames;
    type Image<'o> = JsonImage<'o>;

    fn begin(&self, _: &TableNames, _: &Event<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
    }

    fn no_image(&self, side: Side, out: &mut Vec<u8>) {
        side_name(side, out);
        out.extend_from_slice(b"null");
    }

    fn image<'o>(&'o self, table: &'o TableNames, side: Side, out: &'o mut Vec<u8>) -> JsonImage<'o> {
        side_name(side, out);
        out.push(b'{');
        JsonImage {
            names: &table.names,
            settings: &self.settings,
            out,
        }
    }

    fn end_image(&self, out: &mut Vec<u8>) {
        out.push(b'}');
    }

    fn end(&self, table: &TableNames, event: &Event<'_>, out: &mut Vec<u8>) {
        let origin = event.origin;
        out.extend_from_slice(b",\"source\":");
        self.source(table, origin, out);
        out.extend_from_slice(match event.operation {
            Operation::Read => b",\"op\":\"r\",\"ts_ms\":",
            Operation::Create => b",\"op\":\"c\",\"ts_ms\":",
            Operation::Update => b",\"op\":\"u\",\"ts_ms\":",
            Operation::Delete => b",\"op\":\"d\",\"ts_ms\":",
        });
        append(&(self.settings.clock)(), out);
        out.extend_from_slice(b",\"transaction\":");
        match origin.xid {
            None => out.extend_from_slice(b"null"),
            Some(xid) => {
                identity("{\"id\":", Some(xid.0), out);
                out.extend_from_slice(b",\"total_order\":");
                append(&origin.total_order, out);
                out.extend_from_slice(b",\"data_collection_order\":");
                append(&origin.table_order, out);
                out.push(b'}');
            }
        }
        out.push(b'}');
    }
}

/// What became of the table; nothing if it only lost its rows.
fn table_changes(change: &SchemaChange, database: &str) -> Value {
    let kind = match change.kind {
        ChangeKind::Create => "CREATE",
        ChangeKind::Alter | ChangeKind::Rename => "ALTER",
        ChangeKind::Drop => "DROP",
        ChangeKind::Truncate | ChangeKind::Other => return json!([]),
    };
    let name = change.shape.as_ref().map_or(&change.table, |shape| &shape.name);
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let id = [database, &name.schema, &name.name].map(quoted).join(".");
    let table = change.shape.as_ref().map(|shape| {
        let key: Vec<&str> = shape
            .key
            .iter()
            .map(|&column| shape.columns[column].name.as_str())
            .collect();
        let columns: Vec<Value> = shape
            .columns
            .iter()
            .zip(1..)
            .map(|(column, position)| {
                let kind = natural(&column.kind).map(|kind| kind.to_string());
                json!({"name": column.name, "typeName": kind, "position": position, "optional": column.nullable})
            })
            .collect();
        json!({"primaryKeyColumnNames": key, "columns": columns})
    });
    json!([{"type": kind, "id": id, "table": table}])
}

fn side_name(side: Side, out: &mut Vec<u8>) {
    out.extend_from_slice(match side {
        Side::Before => b"\"before\":",
        Side::After => b",\"after\":",
    });
}

/// Numbers of the log are texts, as with Debezium: they may be beyond what a reader of JSON keeps of a number.
fn identity(name: &str, number: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    match number {
        None => out.extend_from_slice(b"null"),
        Some(number) => {
            out.push(b'"');
            append(&number, out);
            out.push(b'"');
        }
    }
}

fn member(name: &str, value: &str, out: &mut Vec<u8>) {
    append(name, out);
    out.push(b':');
    append(value, out);
}

/// Appends a value of JSON.
fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Numbers and texts have no way to fail, and a vector takes everything.
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok());
}

/// The object of an image.
pub(super) struct JsonImage<'o> {
    names: &'o [Vec<u8>],
    settings: &'o JsonSettings,
    out: &'o mut Vec<u8>,
}

impl JsonImage<'_> {
    fn name(&mut self, field: usize) {
        if field > 0 {
            self.out.push(b',');
        }
        if let Some(name) = self.names.get(field) {
            self.out.extend_from_slice(name);
        }
    }

    fn value<T: Serialize + ?Sized>(&mut self, field: usize, value: &T) {
        self.name(field);
        append(value, self.out);
    }

    /// A text without anything to escape.
    fn quoted(&mut self, field: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.name(field);
        self.out.push(b'"');
        write(self.out);
        self.out.push(b'"');
    }

    /// JSON has no number for it: a text then, as Kafka's converter writes and Flink's format reads it.
    fn not_finite(&mut self, field: usize, value: f64) {
        let text: &[u8] = match value {
            value if value.is_nan() => b"NaN",
            value if value > 0.0 => b"Infinity",
            _ => b"-Infinity",
        };
        self.quoted(field, |out| out.extend_from_slice(text));
    }

    /// An exact number whose digits `write` appends.
    fn exact(&mut self, field: usize, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let start = self.out.len();
        self.name(field);
        let quote = self.settings.decimals == Decimals::String;
        if quote {
            self.out.push(b'"');
        }
        let digits = self.out.len();
        if let Err(refusal) = write(self.out) {
            self.out.truncate(start);
            return Err(refusal);
        }
        match self.settings.decimals {
            Decimals::String => self.out.push(b'"'),
            Decimals::Precise => {}
            Decimals::Double => match number::double(&self.out[digits..]) {
                Ok(value) => {
                    self.out.truncate(digits);
                    append(&value, self.out);
                }
                Err(refusal) => {
                    self.out.truncate(start);
                    return Err(refusal);
                }
            },
        }
        Ok(())
    }

    /// A number of units of a second's part, by the declared precision: milli-, micro- or nanoseconds.
    fn adaptive(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8) {
        let (a_second, nanos_each) = match precision {
            0..=3 => (1_000, 1_000_000),
            4..=6 => (1_000_000, 1_000),
            _ => (1_000_000_000, 1),
        };
        let part = i128::from(cut(nanos, precision) / nanos_each);
        self.value(field, &(i128::from(seconds) * a_second + part));
    }
}

impl Fields for JsonImage<'_> {
    fn put_null(&mut self, field: usize) {
        self.value(field, &());
    }

    fn put_bool(&mut self, field: usize, value: bool) {
        self.value(field, &value);
    }

    fn put_i8(&mut self, field: usize, value: i8) {
        self.value(field, &value);
    }

    fn put_i16(&mut self, field: usize, value: i16) {
        self.value(field, &value);
    }

    fn put_i32(&mut self, field: usize, value: i32) {
        self.value(field, &value);
    }

    fn put_i64(&mut self, field: usize, value: i64) {
        self.value(field, &value);
    }

    fn put_f32(&mut self, field: usize, value: f32) {
        if value.is_finite() {
            self.value(field, &value);
        } else {
            self.not_finite(field, value.into());
        }
    }

    fn put_f64(&mut self, field: usize, value: f64) {
        if value.is_finite() {
            self.value(field, &value);
        } else {
            self.not_finite(field, value);
        }
    }

    fn put_decimal(&mut self, field: usize, unscaled: i128, _precision: u8, scale: u8) -> Result<(), Refusal> {
        self.exact(field, |out| {
            write_unscaled(unscaled, scale, out);
            Ok(())
        })
    }

    fn put_number(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.exact(field, write)
    }

    fn put_text(&mut self, field: usize, text: &str) {
        self.value(field, text);
    }

    fn put_binary(&mut self, field: usize, bytes: &[u8]) {
        self.quoted(field, |out| {
            let text = out.len();
            out.resize(text + base64_length(bytes.len()), 0);
            encode_base64(bytes, &mut out[text..]);
        });
    }

    fn put_decoded(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let start = self.out.len();
        if let Err(refusal) = write(self.out) {
            self.out.truncate(start);
            return Err(refusal);
        }
        // The bytes stand where their text will: it is written behind them, then they go.
        let end = self.out.len();
        self.name(field);
        self.out.push(b'"');
        let text = self.out.len();
        self.out.resize(text + base64_length(end - start), 0);
        let (bytes, behind) = self.out.split_at_mut(end);
        encode_base64(&bytes[start..], &mut behind[text - end..]);
        self.out.push(b'"');
        self.out.drain(start..end);
        Ok(())
    }

    fn put_date(&mut self, field: usize, days: i32) {
        match self.settings.times {
            Times::Sql | Times::Iso8601 => self.quoted(field, |out| write_date(days.into(), out)),
            Times::Adaptive => self.value(field, &days),
        }
    }

    fn put_time(&mut self, field: usize, seconds: u32, nanos: u32, precision: u8) {
        match self.settings.times {
            Times::Sql | Times::Iso8601 => self.quoted(field, |out| write_time(seconds, nanos, precision, out)),
            Times::Adaptive => self.adaptive(field, seconds.into(), nanos, precision),
        }
    }

    fn put_timestamp(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8) {
        let separator = match self.settings.times {
            Times::Sql => b' ',
            Times::Iso8601 => b'T',
            Times::Adaptive => return self.adaptive(field, seconds, nanos, precision),
        };
        self.quoted(field, |out| write_timestamp(seconds, nanos, precision, separator, out));
    }

    fn put_instant(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8) {
        let separator = if self.settings.times == Times::Sql { b' ' } else { b'T' };
        self.quoted(field, |out| {
            write_timestamp(seconds, nanos, precision, separator, out);
            out.push(b'Z');
        });
    }
}

/// Four characters for each three bytes begun.
fn base64_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Fills `text`, which is as long as [`base64_length`] says.
fn encode_base64(bytes: &[u8], text: &mut [u8]) {
    let written = BASE64.encode_slice(bytes, text);
    debug_assert!(written.is_ok());
}

/// Appends a decimal with as many digits behind the point as its scale says.
fn write_unscaled(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let start = out.len();
    append(&unscaled.unsigned_abs(), out);
    let scale = usize::from(scale);
    if scale > 0 {
        let missing = (scale + 1).saturating_sub(out.len() - start);
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
        out.insert(out.len() - scale, b'.');
    }
}
