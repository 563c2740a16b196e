//! Long values: those that did not fit into their column's buffer, read whole by calls of their own.

use std::ops::Range;

use odbc_api::handles::{SqlResult, Statement};
use odbc_api::sys::{
    CDataType, Lock, NO_TOTAL, NULL_DATA, Operation, Pointer, SQLGetData, SQLSetPos, SetPosIRow, SqlReturn,
};

use crate::error::{ErrorKind, Result};
use crate::odbc::columns::ColumnSpec;
use crate::odbc::connection::{Connection, SqlOutcome};

/// First piece of a long value whose length the driver does not tell.
const PIECE: usize = 64 << 10;

/// What is kept of the memory that long values took.
const KEPT: usize = 1 << 20;

/// Values of one batch that did not fit into their buffers, or of streamed columns.
#[derive(Default)]
pub(super) struct LongValues {
    pub(super) bytes: Vec<u8>,
    /// Ascending by column and row.
    entries: Vec<LongValue>,
}

/// Where a long value stands among the batch's.
pub(super) struct LongValue {
    column: usize,
    pub(super) row: usize,
    /// `None` for NULL.
    pub(super) range: Option<(usize, usize)>,
}

impl LongValues {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.entries.clear();
    }

    /// Notes that the bytes from `start` on are a value; `None` for NULL.
    fn note(&mut self, column: usize, row: usize, start: Option<usize>) {
        let range = start.map(|start| (start, self.bytes.len()));
        self.entries.push(LongValue { column, row, range });
    }

    pub(super) fn of_column(&self, column: usize) -> &[LongValue] {
        let first = self.entries.partition_point(|entry| entry.column < column);
        let end = self.entries.partition_point(|entry| entry.column <= column);
        &self.entries[first..end]
    }
}

impl Connection {
    /// Reads the values of fetched rows that are longer than their buffers, and those of streamed columns.
    pub(super) fn read_long_values(&mut self, rows: Range<usize>) -> Result<()> {
        for column in 0..self.columns.len() {
            if self.columns[column].is_streamed() {
                let piece = match self.specs[column] {
                    ColumnSpec::Streamed { usual } => usual,
                    _ => PIECE,
                };
                for row in rows.clone() {
                    self.read_long_value(column, row, piece)?;
                }
                continue;
            }
            for row in self.columns[column].truncated(rows.clone()) {
                let length = self.columns[column].length(row);
                if !self.rereads {
                    return Err(too_long(column, length));
                }
                self.go_to_row(row)?;
                self.read_long_value(column, row, length.unwrap_or(PIECE))?;
            }
        }
        Ok(())
    }

    fn go_to_row(&mut self, row: usize) -> Result<()> {
        let number = (row + 1) as SetPosIRow;
        self.call(|statement| {
            // SAFETY: The row is one of the batch that was just fetched into bound buffers.
            match unsafe { SQLSetPos(statement.as_sys(), number, Operation::POSITION, Lock::NO_CHANGE) } {
                SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO => SqlResult::Success(()),
                _ => SqlResult::Error { function: "SQLSetPos" },
            }
        })?;
        Ok(())
    }

    /// Reads one value of the current row to its end, piece by piece.
    fn read_long_value(&mut self, column: usize, row: usize, expected: usize) -> Result<()> {
        let text = self.specs[column].is_text();
        let start = self.long.bytes.len();
        let mut room = expected.max(1);
        loop {
            let at = self.long.bytes.len();
            let mut bytes = std::mem::take(&mut self.long.bytes);
            // A text's piece ends with a zero byte.
            bytes.resize(at + room + usize::from(text), 0);
            let read = self.read_piece(column, text, &mut bytes[at..]);
            self.long.bytes = bytes;
            let Some(indicator) = read? else {
                self.long.bytes.truncate(at);
                break;
            };
            if indicator == NULL_DATA {
                self.long.bytes.truncate(start);
                self.long.note(column, row, None);
                return Ok(());
            }
            let remaining = usize::try_from(indicator).ok();
            if let Some(remaining) = remaining.filter(|&remaining| remaining <= room) {
                self.long.bytes.truncate(at + remaining);
                break;
            }
            debug_assert!(remaining.is_some() || indicator == NO_TOTAL);
            // A driver that does not split characters leaves up to three bytes of a text's piece unused.
            let mut got = room;
            while text && got + 3 > room && got > 0 && self.long.bytes[at + got - 1] == 0 {
                got -= 1;
            }
            self.long.bytes.truncate(at + got);
            room = remaining.map_or(PIECE, |remaining| remaining - got);
        }
        self.long.note(column, row, Some(start));
        Ok(())
    }

    /// One SQLGetData: the indicator, or `None` where nothing was left.
    fn read_piece(&mut self, column: usize, text: bool, target: &mut [u8]) -> Result<Option<isize>> {
        let mut indicator = 0isize;
        let outcome = self.call(|statement| {
            let kind = if text { CDataType::Char } else { CDataType::Binary };
            // SAFETY: `target` is as long as is said and outlives the call, and so does `indicator`.
            match unsafe {
                SQLGetData(
                    statement.as_sys(),
                    (column + 1) as u16,
                    kind,
                    target.as_mut_ptr() as Pointer,
                    target.len() as isize,
                    &mut indicator,
                )
            } {
                SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO => SqlResult::Success(()),
                SqlReturn::NO_DATA => SqlResult::NoData,
                _ => SqlResult::Error { function: "SQLGetData" },
            }
        })?;
        Ok(match outcome {
            SqlOutcome::Success => Some(indicator),
            SqlOutcome::NoData => None,
        })
    }
}

/// The driver cannot read a bound column again, and a buffer as long as the dictionary says did not do.
fn too_long(column: usize, length: Option<usize>) -> crate::error::Error {
    let length = length.map_or_else(|| "unknown".to_owned(), |length| length.to_string());
    ErrorKind::Statement {
        message: format!(
            "a value of {length} bytes in column {} is longer than was expected",
            column + 1
        ),
        state: "22001".into(),
        native: 0,
        retryable: false,
    }
    .into()
}
