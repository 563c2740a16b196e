//! Column buffers, and the rows of one batch in them.

use std::ops::Range;

use odbc_api::buffers::{BinColumn, BoxColumnBuffer, BufferDesc, Indicator, Slice, TextColumn};
use odbc_api::handles::{CDataMut, SqlResult, Statement, StatementImpl};
use odbc_api::sys::NULL_DATA;

use crate::error::{ErrorKind, Result};
use crate::odbc::long::{LongValue, LongValues};

/// How a column of a result is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSpec {
    /// As a 64-bit integer.
    Int,
    /// As text in UTF-8.
    Text {
        /// The longest value in bytes. A longer one costs a call of its own where the driver can read bound columns
        /// again, and is an error where it cannot; it is never cut.
        bytes: usize,
    },
    /// As bytes.
    Binary {
        /// The longest value; as for text.
        bytes: usize,
    },
    /// As text of any length. Long columns stand behind all others.
    LongText,
    /// As bytes of any length. Long columns stand behind all others.
    LongBinary,
    /// As text of any length that is nearly always too long for a buffer: each is read by a call of its own, and only one
    /// row comes at a time. As a long column's a driver would make it twice. Such columns stand behind all others.
    Streamed {
        /// How long most are, in bytes.
        usual: usize,
    },
}

/// What a row's value has in its buffer where bound columns can be read again; longer ones are read by calls of their
/// own.
const INLINE: usize = 4096;

impl ColumnSpec {
    /// Whether it takes values of any length.
    pub fn is_long(self) -> bool {
        matches!(
            self,
            ColumnSpec::LongText | ColumnSpec::LongBinary | ColumnSpec::Streamed { .. }
        )
    }

    pub(super) fn is_text(self) -> bool {
        matches!(
            self,
            ColumnSpec::Text { .. } | ColumnSpec::LongText | ColumnSpec::Streamed { .. }
        )
    }

    /// Whether it is not bound, and its values are read by calls of their own.
    pub(super) fn is_streamed(self, rereads: bool) -> bool {
        matches!(self, ColumnSpec::Streamed { .. }) || self.is_long() && !rereads
    }

    /// The bytes of a value in this column's buffer; `rereads`: longer ones can be read again.
    fn inline(self, rereads: bool) -> usize {
        match self {
            ColumnSpec::Int => size_of::<i64>(),
            ColumnSpec::Text { bytes } | ColumnSpec::Binary { bytes } if rereads => bytes.min(INLINE),
            ColumnSpec::Text { bytes } | ColumnSpec::Binary { bytes } => bytes,
            ColumnSpec::LongText | ColumnSpec::LongBinary if rereads => INLINE,
            ColumnSpec::LongText | ColumnSpec::LongBinary | ColumnSpec::Streamed { .. } => 0,
        }
    }

    /// Bytes that a row takes in this column's buffer, its end and its length among them.
    pub(super) fn width(self, rereads: bool) -> usize {
        self.inline(rereads) + 1 + size_of::<isize>()
    }
}

/// One bound column.
pub(super) enum ColumnBuffer {
    /// Always a nullable column of `i64`.
    Int(BoxColumnBuffer),
    Text(TextColumn<u8>),
    Binary(BinColumn),
    /// Not bound: read row by row.
    Streamed,
}

impl ColumnBuffer {
    pub(super) fn new(spec: ColumnSpec, rows: usize, rereads: bool) -> Result<Self> {
        let too_large = |_| ErrorKind::Internal(format!("no memory for a column buffer of {rows} rows of {spec:?}"));
        let bytes = spec.inline(rereads);
        Ok(match spec {
            ColumnSpec::Int => ColumnBuffer::Int(BufferDesc::I64 { nullable: true }.column_buffer(rows)),
            spec if spec.is_streamed(rereads) => ColumnBuffer::Streamed,
            spec if spec.is_text() => ColumnBuffer::Text(TextColumn::try_new(rows, bytes).map_err(too_large)?),
            _ => ColumnBuffer::Binary(BinColumn::try_new(rows, bytes).map_err(too_large)?),
        })
    }

    /// Binds the column to a statement.
    ///
    /// # Safety
    /// The buffer must live, and its heap memory stay where it is, until the statement's columns are unbound or the
    /// statement is freed.
    pub(super) unsafe fn bind(&mut self, statement: &mut StatementImpl<'_>, number: u16) -> SqlResult<()> {
        // SAFETY: Passed on to the caller.
        unsafe {
            match self {
                ColumnBuffer::Int(column) => bind(statement, number, column),
                ColumnBuffer::Text(column) => bind(statement, number, column),
                ColumnBuffer::Binary(column) => bind(statement, number, column),
                ColumnBuffer::Streamed => SqlResult::Success(()),
            }
        }
    }

    /// Those of the rows whose value did not fit.
    pub(super) fn truncated(&self, rows: Range<usize>) -> Vec<usize> {
        match self {
            ColumnBuffer::Text(_) | ColumnBuffer::Binary(_) => rows.filter(|&row| self.is_truncated(row)).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a row's value did not fit.
    pub(super) fn is_truncated(&self, row: usize) -> bool {
        match self {
            ColumnBuffer::Text(column) => column.indicator_at(row).is_truncated(column.max_len()),
            ColumnBuffer::Binary(column) => column.indicator_at(row).is_truncated(column.max_len()),
            ColumnBuffer::Int(_) | ColumnBuffer::Streamed => false,
        }
    }

    pub(super) fn is_streamed(&self) -> bool {
        matches!(self, ColumnBuffer::Streamed)
    }

    /// How long a value is, whether or not it has fitted, where the driver tells; NULL has no length.
    pub(super) fn length(&self, row: usize) -> Option<usize> {
        let indicator = match self {
            ColumnBuffer::Text(column) => column.indicator_at(row),
            ColumnBuffer::Binary(column) => column.indicator_at(row),
            ColumnBuffer::Int(_) | ColumnBuffer::Streamed => return None,
        };
        match indicator {
            Indicator::Null => Some(0),
            indicator => indicator.length(),
        }
    }
}

/// # Safety
/// As for [`ColumnBuffer::bind`].
unsafe fn bind(statement: &mut StatementImpl<'_>, number: u16, column: &mut impl CDataMut) -> SqlResult<()> {
    // SAFETY: Passed on to the caller.
    unsafe { statement.bind_col(number, column) }
}

/// Rows that a fetch brought: all of them, or one where long values are among them.
#[derive(Clone, Copy)]
pub struct Batch<'b> {
    /// Its first row among those in the buffers.
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) columns: &'b [ColumnBuffer],
    pub(super) long: &'b LongValues,
}

impl<'b> Batch<'b> {
    /// How many.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn arity(&self) -> usize {
        self.columns.len()
    }

    /// One column of all rows; take it once a batch, not once a value.
    pub fn column(&self, number: usize) -> Column<'b> {
        let kind = match &self.columns[number] {
            ColumnBuffer::Int(column) => {
                column
                    .slice(self.first + self.rows)
                    .as_nullable_slice::<i64>()
                    .map_or(Kind::Streamed, |slice| {
                        let (values, indicators) = slice.raw_values();
                        Kind::Int(values, indicators)
                    })
            }
            ColumnBuffer::Text(column) => Kind::Text(column),
            ColumnBuffer::Binary(column) => Kind::Binary(column),
            ColumnBuffer::Streamed => Kind::Streamed,
        };
        Column {
            first: self.first,
            rows: self.rows,
            kind,
            long: self.long.of_column(number),
            bytes: &self.long.bytes,
        }
    }
}

/// One column of a batch. Rows beyond the batch's are not to be asked for.
#[derive(Clone, Copy)]
pub struct Column<'b> {
    first: usize,
    rows: usize,
    kind: Kind<'b>,
    long: &'b [LongValue],
    bytes: &'b [u8],
}

#[derive(Clone, Copy)]
enum Kind<'b> {
    Int(&'b [i64], &'b [isize]),
    Text(&'b TextColumn<u8>),
    Binary(&'b BinColumn),
    Streamed,
}

impl<'b> Column<'b> {
    /// An integer; `None` for NULL, and for columns that were not fetched as integers.
    pub fn int(&self, row: usize) -> Option<i64> {
        match self.kind {
            Kind::Int(values, indicators) => {
                let row = self.first + row;
                (indicators[row] != NULL_DATA).then(|| values[row])
            }
            _ => None,
        }
    }

    /// Text or bytes, whole; `None` for NULL, and for columns that were fetched as integers.
    pub fn bytes(&self, row: usize) -> Option<&'b [u8]> {
        debug_assert!(row < self.rows);
        let row = self.first + row;
        if !self.long.is_empty() {
            if let Ok(found) = self.long.binary_search_by_key(&row, |value| value.row) {
                return self.long[found].range.map(|(start, end)| &self.bytes[start..end]);
            }
        }
        match self.kind {
            Kind::Text(column) => column.value_at(row),
            Kind::Binary(column) => column.value_at(row),
            Kind::Int(..) | Kind::Streamed => None,
        }
    }

    /// Whether the value is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        let at = self.first + row;
        match self.kind {
            Kind::Int(_, indicators) => indicators[at] == NULL_DATA,
            Kind::Text(column) => column.indicator_at(at) == Indicator::Null,
            Kind::Binary(column) => column.indicator_at(at) == Indicator::Null,
            Kind::Streamed => self.bytes(row).is_none(),
        }
    }

    /// Text; `None` for NULL.
    ///
    /// # Errors
    /// It is not UTF-8: the driver does not give the character set that it was asked for.
    pub fn text(&self, row: usize) -> Result<Option<&'b str>> {
        self.bytes(row)
            .map(|bytes| {
                std::str::from_utf8(bytes).map_err(|_| {
                    ErrorKind::Setup("the driver gives text that is not UTF-8; check its character set".into()).into()
                })
            })
            .transpose()
    }
}
