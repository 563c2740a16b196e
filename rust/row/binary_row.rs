//! Flink's `BinaryRowData` layout, byte for byte as `RowDataSerializer.toBinaryRow` writes it (the same from Flink 1.9 to
//! 2.3): `BinaryRowData.equals` compares bytes, so equal rows must be equal bytes, whoever wrote them.
//!
//! A row is its null bits, one slot of 8 bytes a field, and a part of variable length that slots point into. The first
//! byte is the row kind; the null bit of field `i` is bit `i + 8`. All numbers are little endian; offsets count from the
//! row's first byte.

use crate::row::RowKind;

#[cfg(target_endian = "big")]
compile_error!("Flink reads a BinaryRowData in the machine's byte order; only little-endian machines are supported");

/// The greatest size of a row: Flink holds sizes and offsets in an `int`.
pub const MAX_ROW_SIZE: usize = i32::MAX as usize;

/// Writes one row behind what a buffer holds already. Every field not written is 0, not NULL.
#[derive(Debug)]
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    slots: usize,
}

/// Bytes that the row kind and the null bits of `arity` fields take.
pub const fn null_bits_size(arity: usize) -> usize {
    (arity + 8).div_ceil(64) * 8
}

impl<'a> BinaryRow<'a> {
    /// Begins a row of `arity` fields.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>, arity: usize, kind: RowKind) -> Self {
        let start = out.len();
        let slots = start + null_bits_size(arity);
        let words = null_bits_size(arity) / 8 + arity;
        out.reserve(8 * words);
        out.extend_from_slice(&[kind as u8, 0, 0, 0, 0, 0, 0, 0]);
        for _ in 1..words {
            out.extend_from_slice(&[0; 8]);
        }
        BinaryRow { out, start, slots }
    }

    /// Bytes written so far.
    pub fn size(&self) -> usize {
        self.out.len() - self.start
    }

    /// Makes a field NULL.
    #[inline]
    pub fn put_null(&mut self, field: usize) {
        let bit = field + 8;
        self.out[self.start + (bit >> 3)] |= 1 << (bit & 7);
        self.slot(field, 0);
    }

    /// `BOOLEAN`.
    pub fn put_bool(&mut self, field: usize, value: bool) {
        self.slot(field, u64::from(value));
    }

    /// `TINYINT`.
    pub fn put_i8(&mut self, field: usize, value: i8) {
        self.slot(field, u64::from(value as u8));
    }

    /// `SMALLINT`.
    pub fn put_i16(&mut self, field: usize, value: i16) {
        self.slot(field, u64::from(value as u16));
    }

    /// `INT`, days of a `DATE`, milliseconds of a `TIME`.
    pub fn put_i32(&mut self, field: usize, value: i32) {
        self.slot(field, u64::from(value as u32));
    }

    /// `BIGINT`, the unscaled value of a `DECIMAL` of at most 18 digits.
    pub fn put_i64(&mut self, field: usize, value: i64) {
        self.slot(field, value as u64);
    }

    /// `FLOAT`.
    pub fn put_f32(&mut self, field: usize, value: f32) {
        self.slot(field, u64::from(value.to_bits()));
    }

    /// `DOUBLE`.
    pub fn put_f64(&mut self, field: usize, value: f64) {
        self.slot(field, value.to_bits());
    }

    /// A `DECIMAL` by its unscaled value: in the slot up to 18 digits of precision, else as `BigInteger.toByteArray`
    /// gives it, in 16 bytes of the variable part.
    #[inline]
    pub fn put_decimal(&mut self, field: usize, unscaled: i128, precision: u8) {
        if precision <= 18 {
            return self.slot(field, unscaled as u64);
        }
        let at = self.out.len();
        let bytes = unscaled.to_be_bytes();
        let sign = if unscaled < 0 { 0xff } else { 0 };
        let mut first = 0;
        while first < 15 && bytes[first] == sign && (bytes[first + 1] ^ sign) & 0x80 == 0 {
            first += 1;
        }
        self.out.extend_from_slice(&bytes[first..]);
        self.out.resize(at + 16, 0);
        self.point(field, at, 16 - first);
    }

    /// A `TIMESTAMP` or `TIMESTAMP_LTZ` by its milliseconds since 1970-01-01 and the nanoseconds (0 to 999,999) beyond
    /// them: in the slot up to 3 digits of precision, else in 8 bytes of the variable part.
    #[inline]
    pub fn put_timestamp(&mut self, field: usize, millis: i64, nanos: u32, precision: u8) {
        if precision <= 3 {
            return self.slot(field, millis as u64);
        }
        let at = self.out.len();
        self.out.extend_from_slice(&millis.to_le_bytes());
        self.point(field, at, nanos as usize);
    }

    /// `CHAR`, `VARCHAR`, `BINARY` or `VARBINARY`: in the slot up to 7 bytes, else in the variable part, padded to a
    /// multiple of 8 bytes.
    #[inline]
    pub fn put_bytes(&mut self, field: usize, bytes: &[u8]) {
        if bytes.len() <= 7 {
            return self.inline(field, bytes);
        }
        let at = self.out.len();
        self.out.extend_from_slice(bytes);
        self.pad(bytes.len());
        self.point(field, at, bytes.len());
    }

    /// As [`BinaryRow::put_bytes`], with bytes that `write` appends.
    ///
    /// # Errors
    /// Those of `write`; the field is as it was then.
    pub fn put_written<E>(&mut self, field: usize, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let at = self.out.len();
        if let Err(error) = write(self.out) {
            self.out.truncate(at);
            return Err(error);
        }
        let length = self.out.len() - at;
        if length <= 7 {
            let mut inline = [0; 7];
            inline[..length].copy_from_slice(&self.out[at..]);
            self.out.truncate(at);
            self.inline(field, &inline[..length]);
        } else {
            self.pad(length);
            self.point(field, at, length);
        }
        Ok(())
    }

    #[inline]
    fn inline(&mut self, field: usize, bytes: &[u8]) {
        let mut slot = [0; 8];
        slot[..bytes.len()].copy_from_slice(bytes);
        slot[7] = 0x80 | bytes.len() as u8;
        self.slot(field, u64::from_le_bytes(slot));
    }

    #[inline]
    fn pad(&mut self, length: usize) {
        let end = self.out.len() + length.wrapping_neg() % 8;
        // A store of eight bytes is cheaper than a call that counts them.
        self.out.extend_from_slice(&[0; 8]);
        self.out.truncate(end);
    }

    /// Offset and length do not fit a slot if the row outgrows [`MAX_ROW_SIZE`]; its writer checks that at the end.
    #[inline]
    fn point(&mut self, field: usize, at: usize, length: usize) {
        let offset = (at - self.start) as u64;
        self.slot(field, (offset << 32) | (length as u64 & 0xffff_ffff));
    }

    #[inline]
    fn slot(&mut self, field: usize, value: u64) {
        let at = self.slots + 8 * field;
        self.out[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(arity: usize, kind: RowKind, write: impl FnOnce(&mut BinaryRow)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut BinaryRow::begin(&mut out, arity, kind));
        out
    }

    #[test]
    fn null_bits_grow_in_words_of_64_with_8_for_the_kind() {
        assert_eq!(null_bits_size(0), 8);
        assert_eq!(null_bits_size(56), 8);
        assert_eq!(null_bits_size(57), 16);
        assert_eq!(null_bits_size(120), 16);
        assert_eq!(null_bits_size(121), 24);
    }

    #[test]
    fn fixed_fields_lie_in_their_slots() {
        let bytes = row(4, RowKind::Delete, |row| {
            row.put_i32(0, -2);
            row.put_bool(1, true);
            row.put_null(2);
            row.put_f32(3, 1.0);
        });
        let expected: [u8; 40] = [
            3, 0b100, 0, 0, 0, 0, 0, 0, //
            0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, //
            1, 0, 0, 0, 0, 0, 0, 0, //
            0, 0, 0, 0, 0, 0, 0, 0, //
            0, 0, 0x80, 0x3f, 0, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn seven_bytes_lie_in_the_slot_and_eight_do_not() {
        let bytes = row(2, RowKind::Insert, |row| {
            row.put_bytes(0, b"1234567");
            row.put_bytes(1, b"123456789");
        });
        let mut expected = vec![0; 8];
        expected.extend_from_slice(b"1234567\x87");
        expected.extend_from_slice(&[9, 0, 0, 0, 24, 0, 0, 0]);
        expected.extend_from_slice(b"123456789\0\0\0\0\0\0\0");
        assert_eq!(bytes, expected);
    }

    #[test]
    fn written_bytes_are_as_put_ones_and_a_failure_leaves_no_trace() {
        for length in 0..20 {
            let value = vec![b'x'; length];
            let put = row(1, RowKind::Insert, |row| row.put_bytes(0, &value));
            let written = row(1, RowKind::Insert, |row| {
                let failed = row.put_written(0, |out| {
                    out.extend_from_slice(b"half a value");
                    Err(())
                });
                assert_eq!(failed, Err(()));
                let done: Result<(), ()> = row.put_written(0, |out| {
                    out.extend_from_slice(&value);
                    Ok(())
                });
                assert_eq!(done, Ok(()));
            });
            assert_eq!(put, written, "length {length}");
        }
    }

    #[test]
    fn wide_decimals_are_minimal_big_endian_in_sixteen_bytes() {
        for (unscaled, expected) in [
            (0_i128, &[0_u8][..]),
            (-1, &[0xff]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (1 << 64, &[1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let bytes = row(1, RowKind::Insert, |row| row.put_decimal(0, unscaled, 19));
            assert_eq!(bytes.len(), 32);
            assert_eq!(&bytes[8..16], [expected.len() as u8, 0, 0, 0, 16, 0, 0, 0]);
            assert_eq!(&bytes[16..16 + expected.len()], expected);
            assert!(bytes[16 + expected.len()..].iter().all(|byte| *byte == 0));
        }
        let compact = row(1, RowKind::Insert, |row| row.put_decimal(0, -5, 18));
        assert_eq!(compact[8..], (-5_i64).to_le_bytes());
    }

    #[test]
    fn timestamps_of_more_than_three_digits_point_behind_the_slots() {
        let compact = row(1, RowKind::Insert, |row| row.put_timestamp(0, -1, 0, 3));
        assert_eq!(compact[8..], (-1_i64).to_le_bytes());
        let wide = row(1, RowKind::Insert, |row| row.put_timestamp(0, -1, 999_999, 6));
        assert_eq!(&wide[8..16], &[0x3f, 0x42, 0x0f, 0, 16, 0, 0, 0]);
        assert_eq!(wide[16..], (-1_i64).to_le_bytes());
    }
}
