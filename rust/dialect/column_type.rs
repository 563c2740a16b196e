//! Types of columns in words that no single database owns.

/// A column's type, as far as reading, comparing and converting its values needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// True or false.
    Boolean,
    /// An integer of 8, 16, 32 or 64 bits.
    Integer {
        /// Its size.
        bits: u8,
    },
    /// An exact number. Without a precision the column holds any.
    Decimal {
        /// Digits in all.
        precision: Option<u8>,
        /// Digits behind the point.
        scale: i8,
    },
    /// A binary floating-point number of 32 or 64 bits.
    Float {
        /// Its size.
        bits: u8,
    },
    /// Text. `padded`: blanks at its end do not count.
    Text {
        /// Greatest length in bytes; `None` for a large object.
        length: Option<u32>,
        /// CHAR as opposed to VARCHAR.
        padded: bool,
    },
    /// Bytes.
    Binary {
        /// Greatest length in bytes; `None` for a large object.
        length: Option<u32>,
    },
    /// A day.
    Date,
    /// A time of day.
    Time {
        /// Digits behind the second.
        precision: u8,
    },
    /// A day and a time of day without a zone.
    Timestamp {
        /// Digits behind the second.
        precision: u8,
    },
    /// A point in time with the zone it was given in.
    TimestampZoned {
        /// Digits behind the second.
        precision: u8,
    },
    /// A type that is not captured, by its name in the dictionary.
    Unsupported(String),
}
