//! Events for Java's `Change`, which takes them apart as they are asked for: `java/…/Change.java` is the other side.
//!
//! All numbers are little endian; a text is its length in bytes, u32, and UTF-8.
//!
//! | bytes | what |
//! | --- | --- |
//! | u8 | 1, the version of this layout: changes stand in the state of jobs |
//! | u8 | operation: 0 read, 1 create, 2 update, 3 delete, 4 schema change |
//! | i64 | commit time in microseconds since the epoch; 0 in a snapshot |
//! | u8 | 1 if it comes of the log |
//! | 5 × u64 | then: commit scn, record scn, transaction, its order in the transaction, its order in the table there |
//! | u32 | length of what follows up to the images, which is the same for all changes of a table as it is |
//! | 3 texts | database, schema, table |
//! | u32, texts | the columns' names |
//! | image | before |
//! | image | after |
//! | text | of a schema change only: its statement |
//!
//! An image is u8, 0 if there is none, else 1 and a value for each column: a byte for its type, and its bytes.
//!
//! | type | bytes |
//! | --- | --- |
//! | 0 NULL | |
//! | 1 truth value | u8 |
//! | 2 integer | i64 |
//! | 3 FLOAT | f32 |
//! | 4 DOUBLE | f64 |
//! | 5 decimal | u8 scale, i128 unscaled |
//! | 6 number | text |
//! | 7 text | text |
//! | 8 binary | length, u32, and bytes |
//! | 9 day | i32 since 1970-01-01 |
//! | 10 time of day | u64 nanoseconds |
//! | 11 timestamp | i64 seconds since 1970-01-01 00:00:00 on the same clock, u32 nanoseconds |
//! | 12 instant | i64 seconds since the epoch, u32 nanoseconds |

use crate::catalog::change::SchemaChange;
use crate::row::RowOrigin;
use crate::row::convert::Refusal;
use crate::row::envelope::{Described, Envelope, Event, Operation, Side};
use crate::row::fields::Fields;
use crate::row::time::cut;

const VERSION: u8 = 1;

/// Writes the changes.
pub(super) struct ChangeBytes {
    /// `include.schema.changes`
    pub(super) schema_changes: bool,
}

impl ChangeBytes {
    /// Appends a change of a table's shape, if the job asks for these; whether it does.
    pub(super) fn schema_change(
        &self,
        table: &TableBytes,
        change: &SchemaChange,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.schema_changes {
            head(4, table, origin, out);
            out.extend_from_slice(&[0, 0]);
            text(change.statement.as_bytes(), out);
        }
        self.schema_changes
    }
}

fn head(operation: u8, table: &TableBytes, origin: &RowOrigin, out: &mut Vec<u8>) {
    out.extend_from_slice(&[VERSION, operation]);
    out.extend_from_slice(&origin.commit_micros.to_le_bytes());
    match (origin.scn, origin.xid) {
        (Some(scn), Some(xid)) => {
            out.push(1);
            let record = origin.record.unwrap_or(scn);
            for number in [scn.0, record.0, xid.0, origin.total_order, origin.table_order] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        _ => out.push(0),
    }
    out.extend_from_slice(&table.0);
}

/// A table's name and columns, behind their length.
pub(super) struct TableBytes(Vec<u8>);

impl TableBytes {
    pub(super) fn new(table: &Described<'_>) -> Self {
        let mut bytes = Vec::new();
        for name in [table.database, table.schema, table.table] {
            text(name.as_bytes(), &mut bytes);
        }
        bytes.extend_from_slice(&(table.columns.len() as u32).to_le_bytes());
        for name in &table.columns {
            text(name.as_bytes(), &mut bytes);
        }
        let mut all = Vec::with_capacity(4 + bytes.len());
        text(&bytes, &mut all);
        TableBytes(all)
    }
}

impl Envelope for ChangeBytes {
    type Table = TableBytes;
    type Image<'o> = ChangeImage<'o>;

    fn begin(&self, table: &TableBytes, event: &Event<'_>, out: &mut Vec<u8>) {
        let operation = match event.operation {
            Operation::Read => 0,
            Operation::Create => 1,
            Operation::Update => 2,
            Operation::Delete => 3,
        };
        head(operation, table, event.origin, out);
    }

    fn no_image(&self, _: Side, out: &mut Vec<u8>) {
        out.push(0);
    }

    fn image<'o>(&'o self, _: &'o TableBytes, _: Side, out: &'o mut Vec<u8>) -> ChangeImage<'o> {
        out.push(1);
        ChangeImage(out)
    }

    fn end_image(&self, _: &mut Vec<u8>) {}

    fn end(&self, _: &TableBytes, _: &Event<'_>, _: &mut Vec<u8>) {}
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The values of an image.
pub(super) struct ChangeImage<'o>(&'o mut Vec<u8>);

impl ChangeImage<'_> {
    fn put(&mut self, kind: u8, bytes: &[u8]) {
        self.0.push(kind);
        self.0.extend_from_slice(bytes);
    }

    /// What `write` appends, behind its length.
    fn written(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let start = self.0.len();
        self.put(kind, &[0; 4]);
        if let Err(refusal) = write(self.0) {
            self.0.truncate(start);
            return Err(refusal);
        }
        let length = (self.0.len() - start - 5) as u32;
        self.0[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    fn seconds(&mut self, kind: u8, seconds: i64, nanos: u32, precision: u8) {
        self.put(kind, &seconds.to_le_bytes());
        self.0.extend_from_slice(&cut(nanos, precision).to_le_bytes());
    }
}

impl Fields for ChangeImage<'_> {
    fn put_null(&mut self, _: usize) {
        self.put(0, &[]);
    }

    fn put_bool(&mut self, _: usize, value: bool) {
        self.put(1, &[u8::from(value)]);
    }

    fn put_i8(&mut self, field: usize, value: i8) {
        self.put_i64(field, value.into());
    }

    fn put_i16(&mut self, field: usize, value: i16) {
        self.put_i64(field, value.into());
    }

    fn put_i32(&mut self, field: usize, value: i32) {
        self.put_i64(field, value.into());
    }

    fn put_i64(&mut self, _: usize, value: i64) {
        self.put(2, &value.to_le_bytes());
    }

    fn put_f32(&mut self, _: usize, value: f32) {
        self.put(3, &value.to_le_bytes());
    }

    fn put_f64(&mut self, _: usize, value: f64) {
        self.put(4, &value.to_le_bytes());
    }

    fn put_decimal(&mut self, _: usize, unscaled: i128, _precision: u8, scale: u8) -> Result<(), Refusal> {
        self.put(5, &[scale]);
        self.0.extend_from_slice(&unscaled.to_le_bytes());
        Ok(())
    }

    fn put_number(&mut self, _: usize, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        self.written(6, write)
    }

    fn put_text(&mut self, _: usize, value: &str) {
        self.0.push(7);
        text(value.as_bytes(), self.0);
    }

    fn put_binary(&mut self, _: usize, bytes: &[u8]) {
        self.0.push(8);
        text(bytes, self.0);
    }

    fn put_decoded(
        &mut self,
        _: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.written(8, write)
    }

    fn put_date(&mut self, _: usize, days: i32) {
        self.put(9, &days.to_le_bytes());
    }

    fn put_time(&mut self, _: usize, seconds: u32, nanos: u32, precision: u8) {
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(cut(nanos, precision));
        self.put(10, &nanos.to_le_bytes());
    }

    fn put_timestamp(&mut self, _: usize, seconds: i64, nanos: u32, precision: u8) {
        self.seconds(11, seconds, nanos, precision);
    }

    fn put_instant(&mut self, _: usize, seconds: i64, nanos: u32, precision: u8) {
        self.seconds(12, seconds, nanos, precision);
    }
}
