//! Rows of a slot as a call's result has them: many in a block, their columns as arrays in binary form.

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
    pub(super) data: &'a [u8],
}

/// A row of a call's result: its block as it came. The thread that fetches leaves the rest to who reads.
#[derive(Debug)]
pub(super) struct Encoded {
    /// As in [`Block`].
    rows: Option<Rows>,
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
        let rows = match (
            batch.column(changes::PART).int(row),
            batch.column(changes::BLOCK).int(row),
        ) {
            (Some(0), _) => None,
            (_, Some(key)) => match Rows::of_key(key) {
                Some(rows) => Some(rows),
                None => return malformed(),
            },
            _ => return malformed(),
        };
        Ok(Encoded {
            rows,
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
        let head = self.lsns.get(..HEAD.div_ceil(3) * 4).unwrap_or(&self.lsns);
        Ok(Elements::of(of_base64(head)?)?.left as u64)
    }

    /// The block.
    ///
    /// # Errors
    /// `Decoding`: these are no arrays of one length.
    pub(super) fn block(&self) -> Result<Block> {
        Block::new(
            self.rows,
            of_base64(&self.lsns)?,
            of_base64(&self.xids)?,
            of_base64(&self.data)?,
        )
    }
}

/// Rows of a slot that are yet to be read.
#[derive(Debug)]
pub(super) struct Block {
    /// Which rows; `None`: those that end transactions and come first, once more.
    pub(super) rows: Option<Rows>,
    lsns: Elements,
    xids: Option<Elements>,
    data: Elements,
}

impl Block {
    /// `xids` may be empty.
    pub(super) fn new(rows: Option<Rows>, lsns: Vec<u8>, xids: Vec<u8>, data: Vec<u8>) -> Result<Block> {
        let (lsns, data) = (Elements::of(lsns)?, Elements::of(data)?);
        let xids = match xids.is_empty() {
            true => None,
            false => Some(Elements::of(xids)?),
        };
        let same = lsns.left == data.left && xids.as_ref().is_none_or(|xids| xids.left == data.left);
        match same {
            true => Ok(Block { rows, lsns, xids, data }),
            false => malformed(),
        }
    }

    /// Memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.lsns.bytes.len() + self.xids.as_ref().map_or(0, |xids| xids.bytes.len()) + self.data.bytes.len()
    }

    /// How many rows are left.
    pub(super) fn left(&self) -> u64 {
        self.data.left as u64
    }

    /// Hands the next rows on, so many at most.
    ///
    /// # Errors
    /// `Decoding`: a row is not there. Whatever `take` returns.
    pub(super) fn read(&mut self, most: u64, take: &mut impl FnMut(SlotRow<'_>) -> Result<()>) -> Result<()> {
        for _ in 0..most.min(self.left()) {
            let xid = self.xids.as_mut().map(Elements::number).transpose()?;
            take(SlotRow {
                is_end: self.rows.is_none(),
                lsn: u64::from_be_bytes(self.lsns.number()?),
                xid: xid.map(u32::from_be_bytes),
                data: self.data.next()?,
            })?;
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

/// The bytes that lines of base64 stand for.
fn of_base64(text: &[u8]) -> Result<Vec<u8>> {
    const LINE: usize = 76;
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
    Err(ErrorKind::Decoding("the rows of the slot are not in the arrays that were asked for".into()).into())
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
        let mut block = Block::new(Some(Rows::From(0)), lsns, xids, data)?;
        let mut rows = Vec::new();
        while block.left() > 0 {
            block.read(most, &mut |row| {
                assert!(!row.is_end);
                rows.push((row.lsn, row.xid, row.data.to_vec()));
                Ok(())
            })?;
        }
        Ok(rows)
    }

    #[test]
    fn base64_comes_in_lines() {
        for length in [0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 1_000] {
            let bytes: Vec<u8> = (0..length).map(|byte: u32| (byte * 7) as u8).collect();
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
