//! One value as a log record or a SELECT gives it: borrowed bytes, not yet of the type that the job declared.

/// A value in the database's own words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// The record does not mention the column.
    Absent,
    /// SQL NULL.
    Null,
    /// There is a value, but the record does not hold it (a LOB out of its row, an unchanged TOAST value).
    Unavailable,
    /// An integer from a typed column buffer.
    Int(i64),
    /// A number as text: sign, digits, point, exponent; also `Inf`, `-Inf`, `NaN`.
    Number(&'a [u8]),
    /// Characters in UTF-8, quotes undone.
    Text(&'a [u8]),
    /// Binary data.
    Bytes(&'a [u8]),
    /// Binary data as pairs of hexadecimal digits.
    Hex(&'a [u8]),
    /// `YYYY-MM-DD`.
    Date(&'a [u8]),
    /// `hh:mm:ss[.f{1,9}]`.
    Time(&'a [u8]),
    /// `YYYY-MM-DD hh:mm:ss[.f{1,9}][ ±hh:mm]`.
    Timestamp(&'a [u8]),
}

/// What is kept of the memory that values took.
const KEPT: usize = 1 << 20;

/// What is made room for at once, in bytes.
const ROOM: usize = 64 << 10;

/// Values by column number, their bytes in one buffer: what a transaction's changes are kept in, without an
/// allocation a value.
#[derive(Clone, Debug, Default)]
pub struct ValueBuffer {
    bytes: Vec<u8>,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    tag: Tag,
    start: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Absent,
    Null,
    Unavailable,
    Int,
    Number,
    Text,
    Bytes,
    Hex,
    Date,
    Time,
    Timestamp,
}

/// A row image: consecutive cells of a [`ValueBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    first: u32,
    arity: u32,
}

impl ValueBuffer {
    /// An empty buffer with room for what this one holds, but not for large values.
    #[must_use]
    pub fn like(&self) -> Self {
        ValueBuffer {
            bytes: Vec::with_capacity(self.bytes.len().min(ROOM)),
            cells: Vec::with_capacity(self.cells.len().min(ROOM / size_of::<Cell>())),
        }
    }

    /// Drops all values and keeps the memory, but not that of large ones.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.cells.clear();
    }

    /// Bytes that the values take.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.cells.len() * size_of::<Cell>()
    }

    /// Begins an image of `arity` values, all absent.
    #[inline]
    pub fn begin(&mut self, arity: usize) -> Image {
        let first = self.cells.len() as u32;
        self.cells.resize(
            self.cells.len() + arity,
            Cell {
                tag: Tag::Absent,
                start: 0,
                length: 0,
            },
        );
        Image {
            first,
            arity: arity as u32,
        }
    }

    /// Begins an image that starts as a copy of another one; the bytes are shared, not copied.
    pub fn begin_copy(&mut self, of: Image) -> Image {
        let first = self.cells.len() as u32;
        self.cells
            .extend_from_within(of.first as usize..(of.first + of.arity) as usize);
        Image { first, arity: of.arity }
    }

    /// Sets one value of an image.
    #[inline]
    pub fn set(&mut self, image: Image, column: usize, value: Value<'_>) {
        let (tag, bytes): (Tag, &[u8]) = match value {
            Value::Absent => (Tag::Absent, b""),
            Value::Null => (Tag::Null, b""),
            // A byte, so that no two of them stand at one place: see `shares`.
            Value::Unavailable => (Tag::Unavailable, b"?"),
            Value::Int(value) => {
                return self.put(image, column, Tag::Int, |out| {
                    out.extend_from_slice(&value.to_le_bytes())
                });
            }
            Value::Number(bytes) => (Tag::Number, bytes),
            Value::Text(bytes) => (Tag::Text, bytes),
            Value::Bytes(bytes) => (Tag::Bytes, bytes),
            Value::Hex(bytes) => (Tag::Hex, bytes),
            Value::Date(bytes) => (Tag::Date, bytes),
            Value::Time(bytes) => (Tag::Time, bytes),
            Value::Timestamp(bytes) => (Tag::Timestamp, bytes),
        };
        self.put(image, column, tag, |out| out.extend_from_slice(bytes));
    }

    /// Sets a text that has to be decoded: `write` appends its bytes to the buffer.
    pub fn set_text(&mut self, image: Image, column: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.put(image, column, Tag::Text, write);
    }

    /// Sets a number whose text has to be made: `write` appends it to the buffer.
    pub fn set_number(&mut self, image: Image, column: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.put(image, column, Tag::Number, write);
    }

    #[inline]
    fn put(&mut self, image: Image, column: usize, tag: Tag, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let length = self.bytes.len() - start;
        self.cells[image.first as usize + column] = Cell {
            tag,
            start: start as u32,
            length: length as u32,
        };
    }

    /// One value of an image.
    #[inline]
    pub fn get(&self, image: Image, column: usize) -> Value<'_> {
        let cell = self.cells[image.first as usize + column];
        let bytes = &self.bytes[cell.start as usize..(cell.start + cell.length) as usize];
        match cell.tag {
            Tag::Absent => Value::Absent,
            Tag::Null => Value::Null,
            Tag::Unavailable => Value::Unavailable,
            Tag::Int => Value::Int(bytes.try_into().map_or(0, i64::from_le_bytes)),
            Tag::Number => Value::Number(bytes),
            Tag::Text => Value::Text(bytes),
            Tag::Bytes => Value::Bytes(bytes),
            Tag::Hex => Value::Hex(bytes),
            Tag::Date => Value::Date(bytes),
            Tag::Time => Value::Time(bytes),
            Tag::Timestamp => Value::Timestamp(bytes),
        }
    }

    /// Whether a column of an image that began as a copy of another one still is that one's, though it may be that nobody
    /// knows the value.
    pub fn shares(&self, a: Image, b: Image, column: usize) -> bool {
        let [a, b] = [a, b].map(|image| self.cells[image.first as usize + column]);
        (a.tag, a.start, a.length) == (b.tag, b.start, b.length)
    }

    /// Gives a column of an image the value that it has in another one; the bytes are shared, not copied.
    pub fn share(&mut self, from: Image, to: Image, column: usize) {
        self.cells[to.first as usize + column] = self.cells[from.first as usize + column];
    }

    /// How many values an image has.
    pub fn arity(&self, image: Image) -> usize {
        image.arity as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were_set() {
        let mut buffer = ValueBuffer::default();
        let before = buffer.begin(4);
        buffer.set(before, 0, Value::Int(-7));
        buffer.set(before, 1, Value::Text(b"grain"));
        buffer.set(before, 2, Value::Null);
        let after = buffer.begin_copy(before);
        buffer.set(after, 1, Value::Number(b"12.50"));
        buffer.set_text(after, 3, |out| out.extend_from_slice(b"it's"));
        assert_eq!(buffer.get(before, 0), Value::Int(-7));
        assert_eq!(buffer.get(before, 1), Value::Text(b"grain"));
        assert_eq!(buffer.get(before, 3), Value::Absent);
        assert_eq!(buffer.get(after, 0), Value::Int(-7));
        assert_eq!(buffer.get(after, 1), Value::Number(b"12.50"));
        assert_eq!(buffer.get(after, 2), Value::Null);
        assert_eq!(buffer.get(after, 3), Value::Text(b"it's"));
    }

    #[test]
    fn a_copy_shares_what_was_not_set_again() {
        let mut buffer = ValueBuffer::default();
        let before = buffer.begin(3);
        for column in 0..3 {
            buffer.set(before, column, Value::Unavailable);
        }
        let after = buffer.begin_copy(before);
        buffer.set(after, 1, Value::Unavailable);
        buffer.set(after, 2, Value::Text(b""));
        let shares = |buffer: &ValueBuffer| [0, 1, 2].map(|column| buffer.shares(before, after, column));
        assert_eq!(shares(&buffer), [true, false, false]);
        buffer.share(before, after, 1);
        assert_eq!(shares(&buffer), [true, true, false]);
    }
}
