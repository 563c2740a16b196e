//! What to do about records that cannot be read, and the count of those passed over: nothing is skipped in silence.

use crate::dialect::mining::Operation;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;

/// The STATUS of a record that its dictionary no longer fits.
pub const STATUS_DICTIONARY: i32 = 2;
/// The STATUS values of a corrupt block.
const STATUS_CORRUPT: [i32; 2] = [1343, 1234];

/// The dictionary does not fit a record.
pub(super) fn mismatch<T>(what: impl Into<String>) -> Result<T> {
    Err(ErrorKind::DictionaryMismatch(what.into()).into())
}

/// How many records were passed over, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Corrupt ones, and those with a text that cannot be read (`log.on-corruption`).
    pub corrupt: u64,
    /// Those that the dictionary does not fit (`log.on-dictionary-mismatch`).
    pub mismatched: u64,
    /// Transactions that began before the log that is kept, or were open for too long.
    pub transactions: u64,
    /// Pieces of large values; their rows say that the value is not there.
    pub large_values: u64,
}

/// The rules and the counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// `log.on-corruption`
    pub on_corruption: OnFault,
    /// `log.on-dictionary-mismatch`
    pub on_mismatch: OnFault,
    /// What was passed over.
    pub skipped: Skipped,
}

impl Faults {
    /// Whether a record with this STATUS may be looked at; one that the dictionary does not fit may, since only its
    /// COMMIT says whether it matters. `named` says which record it is.
    ///
    /// # Errors
    /// Corrupt log where that fails the job.
    pub fn lets_pass(&mut self, status: i32, named: impl FnOnce(Error) -> Error) -> Result<bool> {
        if status == 0 || status == STATUS_DICTIONARY {
            return Ok(true);
        }
        let what = if STATUS_CORRUPT.contains(&status) {
            "a block is corrupt"
        } else {
            "the meaning is not known"
        };
        let error = ErrorKind::CorruptLog(format!("status {status}, {what}")).into();
        self.rule(named(error)).map(|()| false)
    }

    /// Fails with an error or, where the job is told to go on without such records, counts it.
    ///
    /// # Errors
    /// The one given.
    pub fn rule(&mut self, error: Error) -> Result<()> {
        let (rule, count) = match error.kind() {
            ErrorKind::CorruptLog(_) | ErrorKind::Redo(_) => (self.on_corruption, &mut self.skipped.corrupt),
            ErrorKind::DictionaryMismatch(_) => (self.on_mismatch, &mut self.skipped.mismatched),
            _ => return Err(error),
        };
        if rule == OnFault::Fail {
            return Err(error);
        }
        *count += 1;
        log::warn!("a record is skipped, {count} by now: {error}");
        Ok(())
    }

    /// Counts a transaction that does not go out.
    pub fn leave_out(&mut self, error: &Error) {
        self.skipped.transactions += 1;
        let count = self.skipped.transactions;
        log::warn!("a transaction is left out, {count} by now: {error}");
    }

    /// Counts a record that says nothing about a row.
    pub fn pass(&mut self, operation: Operation) {
        if matches!(operation, Operation::LobBegin | Operation::LobData) {
            if self.skipped.large_values == 0 {
                log::warn!("the log shows pieces of large values; they are not read, their rows say 'not available'");
            }
            self.skipped.large_values += 1;
        }
    }
}
