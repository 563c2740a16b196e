//! Rows on their way to Flink: one byte array that Java points its rows into.
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 | 1, which tells rows from other messages |
//! | 4..8 | number of rows, u32 |
//! | 8..16 | number of the batch, u64, counted from 1 |
//! | 16..20 | where the table begins, u32 |
//! | 20..24 | where the commit times begin, u32; 0 without: rows of the snapshot |
//! | 24.. | the rows, each in Flink's `BinaryRowData` layout |
//! | table | where each row begins, u32, and where the last one ends |
//! | behind the table | a byte a row: 1 if it goes out in one piece with the row before it (a *unit*: both halves of an update) |
//! | commit times | of each row, in milliseconds since the epoch, i64 |

use std::fmt;

use crate::error::{ErrorKind, Result};

/// First byte of a batch.
pub const TAG: u8 = 1;
const HEADER: usize = 24;
/// Java arrays and Flink's segments count in i32.
const MOST_BYTES: usize = i32::MAX as usize - 1024;

/// A finished batch.
pub struct Batch {
    number: u64,
    rows: u32,
    bytes: Vec<u8>,
}

impl Batch {
    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many rows it has.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// What Java gets.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "batch {} of {} rows, {} bytes",
            self.number,
            self.rows,
            self.bytes.len()
        )
    }
}

/// Collects the rows of a batch.
pub struct BatchBuilder {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    joined: Vec<u8>,
    /// None in a batch of the snapshot, else one a row.
    commits: Vec<i64>,
}

impl BatchBuilder {
    /// An empty batch with room for so many bytes of rows.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut all = Vec::with_capacity(HEADER + bytes);
        all.resize(HEADER, 0);
        BatchBuilder {
            bytes: all,
            starts: Vec::new(),
            joined: Vec::new(),
            commits: Vec::new(),
        }
    }

    /// Appends a row, which is what `write` appends; `joined` if it goes out in one piece with the row before it.
    ///
    /// # Errors
    /// Those of `write`, and a batch beyond what a Java array holds; the row is not there then.
    pub fn row(&mut self, joined: bool, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes).and_then(|()| self.check_size());
        if written.is_err() {
            self.bytes.truncate(start);
            return written;
        }
        self.starts.push(start as u32);
        self.joined.push(u8::from(joined && self.starts.len() > 1));
        Ok(())
    }

    /// The row that was appended last is of a transaction that committed then (milliseconds since the epoch). All rows of a
    /// batch have a time, or none.
    pub fn commit_time(&mut self, millis: i64) {
        self.commits.push(millis);
    }

    /// How many rows there are.
    pub fn rows(&self) -> u32 {
        self.starts.len() as u32
    }

    /// Bytes that the rows take.
    pub fn size(&self) -> usize {
        self.bytes.len() - HEADER
    }

    /// Closes the batch.
    pub fn finish(self, number: u64) -> Batch {
        let BatchBuilder {
            mut bytes,
            starts,
            joined,
            commits,
        } = self;
        let (rows, table) = (starts.len() as u32, bytes.len() as u32);
        bytes.reserve_exact(4 * (starts.len() + 1) + joined.len() + 8 * commits.len());
        for start in starts.iter().chain([&table]) {
            bytes.extend_from_slice(&start.to_le_bytes());
        }
        bytes.extend_from_slice(&joined);
        debug_assert!(commits.is_empty() || commits.len() == starts.len());
        if !commits.is_empty() {
            let times = bytes.len() as u32;
            bytes[20..24].copy_from_slice(&times.to_le_bytes());
            commits
                .iter()
                .for_each(|millis| bytes.extend_from_slice(&millis.to_le_bytes()));
        }
        bytes[0] = TAG;
        bytes[4..8].copy_from_slice(&rows.to_le_bytes());
        bytes[8..16].copy_from_slice(&number.to_le_bytes());
        bytes[16..20].copy_from_slice(&table.to_le_bytes());
        Batch { number, rows, bytes }
    }

    fn check_size(&self) -> Result<()> {
        let table = (4 + 1 + 8) * (self.starts.len() + 2);
        if self.bytes.len() + table > MOST_BYTES {
            return Err(ErrorKind::Internal(format!(
                "a batch of {} rows takes more than {MOST_BYTES} bytes",
                self.rows() + 1
            ))
            .into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_the_layout_that_java_reads() {
        let mut builder = BatchBuilder::with_capacity(64);
        let row = |byte: u8, length: usize| {
            move |out: &mut Vec<u8>| {
                out.resize(out.len() + length, byte);
                Ok(())
            }
        };
        builder.row(true, row(7, 16)).unwrap();
        builder.row(false, row(8, 8)).unwrap();
        builder.row(true, row(9, 24)).unwrap();
        let failed = builder.row(false, |out| {
            out.push(1);
            Err(ErrorKind::Truncated.into())
        });
        assert!(failed.is_err());
        assert_eq!((builder.rows(), builder.size()), (3, 48));

        let batch = builder.finish(12);
        let bytes = batch.bytes();
        let int = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((bytes[0], int(4), int(8), int(16)), (TAG, 3, 12, 72));
        assert_eq!([72, 76, 80, 84].map(int), [24, 40, 48, 72]);
        // A first row has nothing before it to go out with.
        assert_eq!(bytes[88..], [0, 0, 1]);
        assert!(bytes[24..40].iter().all(|&byte| byte == 7));
        assert!(bytes[48..72].iter().all(|&byte| byte == 9));
        assert_eq!(int(20), 0);
    }

    #[test]
    fn rows_of_the_log_have_their_commit_times_behind_them() {
        let mut builder = BatchBuilder::with_capacity(64);
        for millis in [-1, 1_700_000_000_000] {
            builder
                .row(false, |out| {
                    out.push(7);
                    Ok(())
                })
                .unwrap();
            builder.commit_time(millis);
        }
        let batch = builder.finish(1);
        let bytes = batch.bytes();
        let at = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
        let times: Vec<i64> = bytes[at..]
            .chunks_exact(8)
            .map(|time| i64::from_le_bytes(time.try_into().unwrap()))
            .collect();
        assert_eq!(times, [-1, 1_700_000_000_000]);
    }
}
