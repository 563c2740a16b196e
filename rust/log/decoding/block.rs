//! Rows of a slot as a call's result has them: many in a block, their columns as arrays in binary form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::dialect::slots::changes;
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

/// Rows of a slot.
#[derive(Debug, Default)]
pub(super) struct Block {
    is_end: bool,
    lsns: Vec<u8>,
    xids: Vec<u8>,
    data: Vec<u8>,
}

impl Block {
    /// A row of a call's result.
    pub(super) fn of(batch: &Batch<'_>, row: usize) -> Result<Block> {
        let bytes = |column: usize| of_base64(batch.column(column).bytes(row).unwrap_or_default());
        Ok(Block {
            is_end: batch.column(changes::PART).int(row) == Some(0),
            lsns: bytes(changes::LSNS)?,
            xids: bytes(changes::XIDS)?,
            data: bytes(changes::DATA)?,
        })
    }

    /// Memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.lsns.len() + self.xids.len() + self.data.len()
    }

    /// How many rows there are, those that come once more not among them.
    pub(super) fn count(&self) -> Result<u64> {
        match self.is_end {
            true => Ok(0),
            false => Ok(Elements::of(&self.data)?.left as u64),
        }
    }

    /// Hands the rows on.
    ///
    /// # Errors
    /// `Decoding`: these are no arrays of one length. Whatever `take` returns.
    pub(super) fn rows<'a>(&'a self, mut take: impl FnMut(SlotRow<'a>) -> Result<()>) -> Result<()> {
        let (mut lsns, mut data) = (Elements::of(&self.lsns)?, Elements::of(&self.data)?);
        let mut xids = match self.xids.is_empty() {
            true => None,
            false => Some(Elements::of(&self.xids)?),
        };
        let same = lsns.left == data.left && xids.as_ref().is_none_or(|xids| xids.left == data.left);
        if !same {
            return malformed();
        }
        while data.left > 0 {
            let xid = xids.as_mut().map(|xids| xids.number()).transpose()?;
            take(SlotRow {
                is_end: self.is_end,
                lsn: u64::from_be_bytes(lsns.number()?),
                xid: xid.map(u32::from_be_bytes),
                data: data.next()?,
            })?;
        }
        Ok(())
    }
}

/// The elements of an array of one dimension as `array_send` writes it (PostgreSQL's `arrayfuncs.c`): number of dimensions,
/// whether there are NULLs, the elements' type, how many there are, the first one's number, then each one's length in front of it.
struct Elements<'a> {
    left: usize,
    bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    fn of(array: &'a [u8]) -> Result<Self> {
        const ONE_DIMENSION: [u8; 4] = [0, 0, 0, 1];
        const HEAD: usize = 20;
        let (Some((head, bytes)), Some(count)) = (array.split_first_chunk::<HEAD>(), array.get(12..16)) else {
            return malformed();
        };
        let count = count.try_into().map(u32::from_be_bytes).unwrap_or_default();
        match head.starts_with(&ONE_DIMENSION) {
            true => Ok(Elements {
                left: count as usize,
                bytes,
            }),
            false => malformed(),
        }
    }

    fn next(&mut self) -> Result<&'a [u8]> {
        let next = self.bytes.split_first_chunk().and_then(|(length, bytes)| {
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            bytes.split_at_checked(length)
        });
        let Some((element, bytes)) = next else {
            return malformed();
        };
        self.bytes = bytes;
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

fn malformed<T>() -> Result<T> {
    Err(ErrorKind::Decoding("the rows of the slot are not in the arrays that were asked for".into()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(elements: &[&[u8]]) -> Vec<u8> {
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

    fn block(xids: &[&[u8]]) -> Block {
        Block {
            is_end: false,
            lsns: array(&[&7u64.to_be_bytes(), &u64::MAX.to_be_bytes()]),
            xids: match xids {
                [] => Vec::new(),
                xids => array(xids),
            },
            data: array(&[b"", b"row"]),
        }
    }

    fn read(block: &Block) -> Result<Vec<SlotRow<'_>>> {
        let mut rows = Vec::new();
        block.rows(|row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn base64_comes_in_lines() {
        for length in [0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 1_000] {
            let bytes: Vec<u8> = (0..length).map(|byte: u32| (byte * 7) as u8).collect();
            let lines: Vec<String> = bytes.chunks(57).map(|line| BASE64.encode(line)).collect();
            assert_eq!(of_base64(lines.join("\n").as_bytes()).ok(), Some(bytes), "{length}");
        }
        let long = "A".repeat(80);
        for wrong in ["A", "AAA*", "\nAAAA", "AAAA\nAAAA", &long] {
            assert!(of_base64(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_are_those_of_the_arrays() {
        let row = |lsn, xid, data| SlotRow {
            is_end: false,
            lsn,
            xid,
            data,
        };
        assert_eq!(block(&[]).count().ok(), Some(2));
        let rows = [row(7, None, &b""[..]), row(u64::MAX, None, b"row")];
        assert_eq!(read(&block(&[])).ok(), Some(rows.into()));
        let with_xids = block(&[&1u32.to_be_bytes(), &u32::MAX.to_be_bytes()]);
        let rows = [row(7, Some(1), &b""[..]), row(u64::MAX, Some(u32::MAX), b"row")];
        assert_eq!(read(&with_xids).ok(), Some(rows.into()));
    }

    #[test]
    fn what_is_no_such_array_is_an_error_wherever_it_ends() {
        let whole = block(&[&1u32.to_be_bytes(), &2u32.to_be_bytes()]);
        for column in 0..3 {
            let length = [&whole.lsns, &whole.xids, &whole.data][column].len();
            for cut in 0..length {
                let mut block = block(&[&1u32.to_be_bytes(), &2u32.to_be_bytes()]);
                [&mut block.lsns, &mut block.xids, &mut block.data][column].truncate(cut);
                // Without transactions it is whole.
                assert_eq!(read(&block).is_ok(), column == 1 && cut == 0, "{column} {cut}");
            }
        }
        let mut other = block(&[&1u32.to_be_bytes()]);
        assert!(read(&other).is_err());
        // A NULL.
        other = block(&[]);
        other.data[20..24].copy_from_slice(&(-1i32).to_be_bytes());
        assert!(read(&other).is_err());
    }
}
