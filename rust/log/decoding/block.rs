//! Rows of a slot as a call's result has them: many in a block, the values of each of their columns as one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::dialect::slots::changes::{self, Block as Rows};
use crate::error::{ErrorKind, Result};
use crate::odbc::Batch;

/// A row of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRow<'a> {
    /// It is one that ends a transaction and comes first, once more.
    pub(super) is_end: bool,
    pub(super) lsn: u64,
    /// Its transaction, where that was asked for.
    pub(super) xid: Option<u32>,
    /// What the plugin says; where it tells where that ends, also what stands behind it.
    pub(super) data: &'a [u8],
}

/// A row of a call's result: its block as it came. The thread that fetches leaves the rest to who reads.
#[derive(Debug)]
pub(super) struct Encoded {
    /// As in [`Block`].
    rows: Option<Rows>,
    /// Values stand one behind another.
    are_runs: bool,
    lsns: Vec<u8>,
    xids: Vec<u8>,
    data: Vec<u8>,
}

impl Encoded {
    /// A row of a call's result.
    ///
    /// # Errors
    /// `Decoding`: there is no such block.
    pub(super) fn of(batch: &Batch<'_>, row: usize) -> Result<Encoded> {
        let bytes = |column: usize| batch.column(column).bytes(row).unwrap_or_default().to_vec();
        let form = batch.column(changes::FORM).int(row);
        let rows = match (form, batch.column(changes::BLOCK).int(row)) {
            (Some(changes::AGAIN), _) => None,
            (Some(changes::ARRAYS | changes::RUNS), Some(key)) => match Rows::of_key(key) {
                Some(rows) => Some(rows),
                None => return malformed(),
            },
            _ => return malformed(),
        };
        Ok(Encoded {
            rows,
            are_runs: form == Some(changes::RUNS),
            lsns: bytes(changes::LSNS),
            xids: bytes(changes::XIDS),
            data: bytes(changes::DATA),
        })
    }

    /// Memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.lsns.len() + self.xids.len() + self.data.len()
    }

    /// How many rows there are, those that come once more not among them.
    ///
    /// # Errors
    /// `Decoding`: this is no array.
    pub(super) fn count(&self) -> Result<u64> {
        if self.rows.is_none() {
            return Ok(0);
        }
        if self.are_runs {
            return Ok(decoded(&self.lsns) / LSN as u64);
        }
        let head = self.lsns.get(..HEAD.div_ceil(3) * 4).unwrap_or(&self.lsns);
        Ok(Elements::of(of_base64(head)?)?.left as u64)
    }

    /// The block.
    ///
    /// # Errors
    /// `Decoding`: these are no values of as many rows each.
    pub(super) fn block(&self) -> Result<Block> {
        let (lsns, data) = (of_base64(&self.lsns)?, of_base64(&self.data)?);
        match self.are_runs {
            true => Block::runs(self.rows, lsns, data),
            false => Block::arrays(self.rows, lsns, of_base64(&self.xids)?, data),
        }
    }
}

/// Rows of a slot that are yet to be read.
#[derive(Debug)]
pub(super) struct Block {
    /// Which rows; `None`: those that end transactions and come first, once more.
    pub(super) rows: Option<Rows>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Arrays {
        lsns: Elements,
        xids: Option<Elements>,
        data: Elements,
    },
    /// One behind another; the numbers are where the next row's stand.
    Runs {
        lsns: (Vec<u8>, usize),
        data: (Vec<u8>, usize),
    },
}

/// Bytes of an LSN.
const LSN: usize = 8;

impl Block {
    /// Of arrays. `xids` may be empty.
    pub(super) fn arrays(rows: Option<Rows>, lsns: Vec<u8>, xids: Vec<u8>, data: Vec<u8>) -> Result<Block> {
        let (lsns, data) = (Elements::of(lsns)?, Elements::of(data)?);
        let xids = match xids.is_empty() {
            true => None,
            false => Some(Elements::of(xids)?),
        };
        let same = lsns.left == data.left && xids.as_ref().is_none_or(|xids| xids.left == data.left);
        match same {
            true => Ok(Block {
                rows,
                values: Values::Arrays { lsns, xids, data },
            }),
            false => malformed(),
        }
    }

    /// Of values that stand one behind another.
    fn runs(rows: Option<Rows>, lsns: Vec<u8>, data: Vec<u8>) -> Result<Block> {
        match lsns.len() % LSN == 0 && !lsns.is_empty() {
            true => Ok(Block {
                rows,
                values: Values::Runs {
                    lsns: (lsns, 0),
                    data: (data, 0),
                },
            }),
            false => malformed(),
        }
    }

    /// Memory that it takes.
    pub(super) fn size(&self) -> usize {
        match &self.values {
            Values::Arrays { lsns, xids, data } => {
                lsns.bytes.len() + xids.as_ref().map_or(0, |xids| xids.bytes.len()) + data.bytes.len()
            }
            Values::Runs { lsns, data } => lsns.0.len() + data.0.len(),
        }
    }

    /// How many rows are left.
    pub(super) fn left(&self) -> u64 {
        match &self.values {
            Values::Arrays { data, .. } => data.left as u64,
            Values::Runs { lsns: (lsns, at), .. } => ((lsns.len() - at) / LSN) as u64,
        }
    }

    /// Hands the next rows on, so many at most. `take` says how long a row is.
    ///
    /// # Errors
    /// `Decoding`: a row is not there, or more stands there than the rows. Whatever `take` returns.
    pub(super) fn read(&mut self, most: u64, take: &mut impl FnMut(SlotRow<'_>) -> Result<usize>) -> Result<()> {
        let is_end = self.rows.is_none();
        for _ in 0..most.min(self.left()) {
            match &mut self.values {
                Values::Arrays { lsns, xids, data } => {
                    let xid = xids.as_mut().map(Elements::number).transpose()?;
                    let data = data.next()?;
                    let taken = take(SlotRow {
                        is_end,
                        lsn: u64::from_be_bytes(lsns.number()?),
                        xid: xid.map(u32::from_be_bytes),
                        data,
                    })?;
                    if taken != data.len() {
                        return malformed();
                    }
                }
                Values::Runs {
                    lsns: (lsns, next),
                    data: (data, at),
                } => {
                    let lsn = lsns.get(*next..).and_then(|rest| rest.first_chunk());
                    let (Some(lsn), Some(rest)) = (lsn, data.get(*at..)) else {
                        return malformed();
                    };
                    let taken = take(SlotRow {
                        is_end,
                        lsn: u64::from_be_bytes(*lsn),
                        xid: None,
                        data: rest,
                    })?;
                    (*next, *at) = (*next + LSN, *at + taken);
                    if *next == lsns.len() && *at != data.len() {
                        return malformed();
                    }
                }
            }
        }
        Ok(())
    }
}

/// What an array begins with, in bytes.
const HEAD: usize = 20;

/// The elements of an array of one dimension as `array_send` writes it (PostgreSQL's `arrayfuncs.c`): number of dimensions,
/// whether there are NULLs, the elements' type, how many there are, the first one's number, then each one's length in front of it.
#[derive(Debug)]
struct Elements {
    bytes: Vec<u8>,
    /// Where the next one stands.
    at: usize,
    left: usize,
}

impl Elements {
    fn of(array: Vec<u8>) -> Result<Self> {
        const ONE_DIMENSION: [u8; 4] = [0, 0, 0, 1];
        let count = array.get(12..16).and_then(|count| count.try_into().ok());
        match count.map(u32::from_be_bytes) {
            Some(count) if array.len() >= HEAD && array.starts_with(&ONE_DIMENSION) => Ok(Elements {
                bytes: array,
                at: HEAD,
                left: count as usize,
            }),
            _ => malformed(),
        }
    }

    fn next(&mut self) -> Result<&[u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let next = rest.split_first_chunk().and_then(|(length, rest)| {
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (element, rest) = rest.split_at_checked(length)?;
            // Nothing stands behind the last one.
            (self.left > 1 || rest.is_empty()).then_some(element)
        });
        let Some(element) = next else {
            return malformed();
        };
        self.at += size_of::<i32>() + element.len();
        self.left -= 1;
        Ok(element)
    }

    fn number<const BYTES: usize>(&mut self) -> Result<[u8; BYTES]> {
        self.next()?.try_into().or_else(|_| malformed())
    }
}

/// Digits of a line of base64.
const LINE: usize = 76;

/// How many bytes lines of base64 stand for, if they are such.
fn decoded(text: &[u8]) -> u64 {
    let digits = text.len() - text.len() / (LINE + 1);
    let padding = text.iter().rev().take_while(|digit| **digit == b'=').count();
    (digits / 4 * 3).saturating_sub(padding) as u64
}

/// The bytes that lines of base64 stand for.
fn of_base64(text: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for line in text.chunks(LINE + 1) {
        let (digits, end) = line.split_at(line.len().min(LINE));
        if !matches!(end, [] | [b'\n']) || BASE64.decode_vec(digits, &mut bytes).is_err() {
            return malformed();
        }
    }
    Ok(bytes)
}

pub(super) fn malformed<T>() -> Result<T> {
    Err(ErrorKind::Decoding("the rows of the slot are not in the form that was asked for".into()).into())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::log::decoding) fn array(elements: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [1, 0, 17, elements.len() as i32, 1] {
            bytes.extend(i32::to_be_bytes(word));
        }
        for element in elements {
            bytes.extend((element.len() as i32).to_be_bytes());
            bytes.extend(*element);
        }
        bytes
    }

    /// LSNs, transactions and data of two rows.
    fn parts(xids: &[&[u8]]) -> [Vec<u8>; 3] {
        let xids = match xids {
            [] => Vec::new(),
            xids => array(xids),
        };
        let lsns = array(&[&7u64.to_be_bytes(), &u64::MAX.to_be_bytes()]);
        [lsns, xids, array(&[b"", b"row"])]
    }

    type Seen = (u64, Option<u32>, Vec<u8>);

    /// What is read of a block, some rows at a time.
    fn read([lsns, xids, data]: [Vec<u8>; 3], most: u64) -> Result<Vec<Seen>> {
        let mut block = Block::arrays(Some(Rows::From(0)), lsns, xids, data)?;
        let mut rows = Vec::new();
        while block.left() > 0 {
            block.read(most, &mut |row| {
                assert!(!row.is_end);
                rows.push((row.lsn, row.xid, row.data.to_vec()));
                Ok(row.data.len())
            })?;
        }
        Ok(rows)
    }

    #[test]
    fn base64_comes_in_lines() {
        for length in [0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 1_000] {
            let bytes: Vec<u8> = (0..length).map(|byte: u32| (byte * 7) as u8).collect();
            assert_eq!(decoded(&lines(&bytes)), u64::from(length), "{length}");
            assert_eq!(of_base64(&lines(&bytes)).ok(), Some(bytes), "{length}");
        }
        let long = "A".repeat(80);
        for wrong in ["A", "AAA*", "\nAAAA", "AAAA\nAAAA", &long] {
            assert!(of_base64(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    /// As the server encodes it.
    fn lines(bytes: &[u8]) -> Vec<u8> {
        let lines: Vec<String> = bytes.chunks(57).map(|line| BASE64.encode(line)).collect();
        lines.join("\n").into_bytes()
    }

    #[test]
    fn how_many_rows_there_are_is_known_before_they_are_decoded() {
        for count in [1, 2, 3, 255, 256] {
            let elements = vec![&[7u8; 8][..]; count];
            let encoded = |rows| Encoded {
                rows,
                are_runs: false,
                lsns: lines(&array(&elements)),
                xids: Vec::new(),
                data: lines(&array(&elements)),
            };
            assert_eq!(encoded(Some(Rows::From(0))).count().ok(), Some(count as u64));
            assert_eq!(encoded(Some(Rows::From(0))).block().unwrap().left(), count as u64);
            assert_eq!(encoded(None).count().ok(), Some(0));
            let mut damaged = encoded(Some(Rows::From(0)));
            damaged.lsns.truncate(23);
            assert!(damaged.count().is_err() && damaged.block().is_err());
            let runs = Encoded {
                are_runs: true,
                lsns: lines(&vec![7; LSN * count]),
                ..encoded(Some(Rows::From(0)))
            };
            assert_eq!(runs.count().ok(), Some(count as u64));
            assert_eq!(runs.block().unwrap().left(), count as u64);
        }
    }

    #[test]
    fn rows_are_those_of_the_arrays() {
        for most in [1, 2, 3] {
            let rows = vec![(7, None, b"".to_vec()), (u64::MAX, None, b"row".to_vec())];
            assert_eq!(read(parts(&[]), most).ok(), Some(rows));
            let with_xids = parts(&[&1u32.to_be_bytes(), &u32::MAX.to_be_bytes()]);
            let rows = vec![(7, Some(1), b"".to_vec()), (u64::MAX, Some(u32::MAX), b"row".to_vec())];
            assert_eq!(read(with_xids, most).ok(), Some(rows));
        }
    }

    #[test]
    fn what_is_no_such_array_is_an_error_wherever_it_ends() {
        let whole = parts(&[&1u32.to_be_bytes(), &2u32.to_be_bytes()]);
        for column in 0..3 {
            for cut in 0..whole[column].len() {
                let mut parts = whole.clone();
                parts[column].truncate(cut);
                // Without transactions it is whole.
                assert_eq!(read(parts, 2).is_ok(), column == 1 && cut == 0, "{column} {cut}");
            }
        }
        assert!(read(parts(&[&1u32.to_be_bytes()]), 2).is_err());
        for column in 0..3 {
            let mut longer = whole.clone();
            longer[column].push(0);
            assert!(read(longer, 2).is_err(), "{column}");
        }
        // A NULL.
        let mut other = parts(&[]);
        other[2][20..24].copy_from_slice(&(-1i32).to_be_bytes());
        assert!(read(other, 2).is_err());
    }

    /// What is read of rows one behind another, whose first byte says how long they are.
    fn read_runs(lsns: &[u64], data: &[u8], most: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        let lsns = lsns.iter().flat_map(|lsn| lsn.to_be_bytes()).collect();
        let mut block = Block::runs(Some(Rows::From(0)), lsns, data.to_vec())?;
        let mut rows = Vec::new();
        while block.left() > 0 {
            block.read(most, &mut |row| {
                let row_end = row.data.first().map_or(1, |length| usize::from(*length));
                let Some(data) = row.data.get(..row_end) else {
                    return malformed();
                };
                rows.push((row.lsn, data.to_vec()));
                Ok(row_end)
            })?;
        }
        Ok(rows)
    }

    #[test]
    fn rows_that_tell_their_end_stand_one_behind_another() {
        for most in [1, 2, 3] {
            let rows = vec![(5, vec![1]), (6, vec![3, 0, 9]), (u64::MAX, vec![2, 7])];
            assert_eq!(read_runs(&[5, 6, u64::MAX], &[1, 3, 0, 9, 2, 7], most).ok(), Some(rows));
        }
        // A row less, a row more, none, and one that goes on behind the end.
        for (lsns, data) in [
            (&[5, 6][..], &[1u8, 3, 0, 9, 2, 7][..]),
            (&[5, 6, 7, 8], &[1, 3, 0, 9, 2, 7]),
            (&[], &[]),
            (&[5, 6, 7], &[1, 3, 0, 9, 3, 7]),
        ] {
            assert!(read_runs(lsns, data, 2).is_err(), "{data:?}");
        }
        assert!(Block::runs(None, vec![0; 7], vec![1]).is_err());
    }

    #[test]
    fn no_bytes_are_read_beyond_their_end() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let mut parts = parts(&[&1u32.to_be_bytes(), &2u32.to_be_bytes()]);
            for _ in 0..random.usize(1..4) {
                let part = random.choice(&mut parts).unwrap();
                let at = random.usize(..part.len());
                part[at] = random.u8(..);
            }
            // As many as it says, or an error.
            let _ = read(parts, random.u64(1..3));
        }
    }
}
