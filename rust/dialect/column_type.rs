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
    /// A time of day with the offset it was given in.
    TimeZoned {
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
    /// A point in time that each session is shown on its own clock.
    TimestampLocal {
        /// Digits behind the second.
        precision: u8,
    },
    /// A span of time, in the fields of its declaration.
    Interval {
        /// The field with the greatest unit.
        first: IntervalField,
        /// The one with the smallest; the same one if there is no other.
        last: IntervalField,
    },
    /// Another type, whose values are the texts that the database writes for them.
    Shown {
        /// Whether the database orders them by the bytes of that text, and takes only equal texts for equal.
        ordered: bool,
    },
    /// A type that is not captured: its name in the dictionary, and why.
    Unsupported(String),
}

impl ColumnType {
    /// Whether values may lie outside of their row, where the log does not have them: large objects, which are text or
    /// bytes.
    pub fn is_large(&self) -> bool {
        matches!(
            self,
            ColumnType::Text { length: None, .. } | ColumnType::Binary { length: None }
        )
    }
}

/// A field of an interval, greatest unit first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntervalField {
    /// Years.
    Year,
    /// Months.
    Month,
    /// Days.
    Day,
    /// Hours.
    Hour,
    /// Minutes.
    Minute,
    /// Seconds and what is behind them.
    Second,
}
