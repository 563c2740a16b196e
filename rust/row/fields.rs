//! What takes the fields of a row, whatever form the row has downstream.

use crate::row::binary_row::BinaryRow;
use crate::row::convert::Refusal;
use crate::row::{text, time};

/// Takes the fields of one row in their order, each once, as values of their declared types.
pub(super) trait Fields {
    /// NULL.
    fn put_null(&mut self, field: usize);

    /// `BOOLEAN`.
    fn put_bool(&mut self, field: usize, value: bool);

    /// `TINYINT`.
    fn put_i8(&mut self, field: usize, value: i8);

    /// `SMALLINT`.
    fn put_i16(&mut self, field: usize, value: i16);

    /// `INT`.
    fn put_i32(&mut self, field: usize, value: i32);

    /// `BIGINT`.
    fn put_i64(&mut self, field: usize, value: i64);

    /// `FLOAT`.
    fn put_f32(&mut self, field: usize, value: f32);

    /// `DOUBLE`.
    fn put_f64(&mut self, field: usize, value: f64);

    /// `DECIMAL` by its unscaled value.
    fn put_decimal(&mut self, field: usize, unscaled: i128, precision: u8, scale: u8) -> Result<(), Refusal>;

    /// A number of a column without a precision: `write` appends its plain text.
    fn put_number(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal>;

    /// `CHAR` or `VARCHAR`.
    fn put_text(&mut self, field: usize, text: &str);

    /// `CHAR` or `VARCHAR` from bytes. If they are no characters the row is as it was.
    fn put_characters(&mut self, field: usize, text: &[u8]) -> Result<(), Refusal> {
        text::characters(text).map(|text| self.put_text(field, text))
    }

    /// `BINARY` or `VARBINARY`.
    fn put_binary(&mut self, field: usize, bytes: &[u8]);

    /// The same with bytes that `write` appends. If that fails the row is as it was.
    fn put_decoded(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal>;

    /// `DATE` by its days since 1970-01-01.
    fn put_date(&mut self, field: usize, days: i32);

    /// `TIME` by its seconds since midnight and nanoseconds beyond them, of which `precision` digits are declared.
    fn put_time(&mut self, field: usize, seconds: u32, nanos: u32, precision: u8);

    /// `TIMESTAMP` by its seconds since 1970-01-01 00:00:00 on the same clock and nanoseconds beyond them, of which
    /// `precision` digits are declared.
    fn put_timestamp(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8);

    /// `TIMESTAMP_LTZ` by its seconds since the epoch, as above.
    fn put_instant(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8);
}

impl Fields for BinaryRow<'_> {
    fn put_null(&mut self, field: usize) {
        BinaryRow::put_null(self, field);
    }

    fn put_bool(&mut self, field: usize, value: bool) {
        BinaryRow::put_bool(self, field, value);
    }

    fn put_i8(&mut self, field: usize, value: i8) {
        BinaryRow::put_i8(self, field, value);
    }

    fn put_i16(&mut self, field: usize, value: i16) {
        BinaryRow::put_i16(self, field, value);
    }

    fn put_i32(&mut self, field: usize, value: i32) {
        BinaryRow::put_i32(self, field, value);
    }

    fn put_i64(&mut self, field: usize, value: i64) {
        BinaryRow::put_i64(self, field, value);
    }

    fn put_f32(&mut self, field: usize, value: f32) {
        BinaryRow::put_f32(self, field, value);
    }

    fn put_f64(&mut self, field: usize, value: f64) {
        BinaryRow::put_f64(self, field, value);
    }

    fn put_decimal(&mut self, field: usize, unscaled: i128, precision: u8, _scale: u8) -> Result<(), Refusal> {
        BinaryRow::put_decimal(self, field, unscaled, precision);
        Ok(())
    }

    fn put_number(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.put_written(field, write)
    }

    fn put_text(&mut self, field: usize, text: &str) {
        self.put_bytes(field, text.as_bytes());
    }

    #[inline]
    fn put_characters(&mut self, field: usize, text: &[u8]) -> Result<(), Refusal> {
        // Most are, and to see that costs less.
        if !text.is_ascii() {
            text::characters(text)?;
        }
        self.put_bytes(field, text);
        Ok(())
    }

    fn put_binary(&mut self, field: usize, bytes: &[u8]) {
        self.put_bytes(field, bytes);
    }

    fn put_decoded(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.put_written(field, write)
    }

    fn put_date(&mut self, field: usize, days: i32) {
        BinaryRow::put_i32(self, field, days);
    }

    /// Milliseconds of the day: Flink keeps no more of a TIME, whatever its precision.
    fn put_time(&mut self, field: usize, seconds: u32, nanos: u32, precision: u8) {
        let millis = seconds * 1_000 + time::cut(nanos, precision) / 1_000_000;
        BinaryRow::put_i32(self, field, millis as i32);
    }

    fn put_timestamp(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8) {
        let nanos = time::cut(nanos, precision);
        let millis = seconds * 1_000 + i64::from(nanos / 1_000_000);
        BinaryRow::put_timestamp(self, field, millis, nanos % 1_000_000, precision);
    }

    fn put_instant(&mut self, field: usize, seconds: i64, nanos: u32, precision: u8) {
        Fields::put_timestamp(self, field, seconds, nanos, precision);
    }
}
