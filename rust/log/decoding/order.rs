//! A call's rows in their order: large ones come apart, behind the block that they are missing in.

use crate::dialect::slots::changes::Block as Rows;
use crate::error::{ErrorKind, Result};
use crate::log::decoding::block::{Block, SlotRow};

/// Puts the rows of a call in order.
#[derive(Debug)]
pub(super) struct Order {
    /// The number of the next row.
    next: u64,
    /// The block whose large rows may be yet to come.
    waiting: Option<Block>,
}

impl Default for Order {
    fn default() -> Self {
        Order { next: 1, waiting: None }
    }
}

impl Order {
    /// Takes the next block, and hands on what can be told to be next.
    ///
    /// # Errors
    /// `Decoding`: a row is missing, or another one is in its place. Whatever `take` returns.
    pub(super) fn take(&mut self, mut block: Block, take: &mut impl FnMut(SlotRow<'_>) -> Result<usize>) -> Result<()> {
        match block.rows {
            None => block.read(u64::MAX, take),
            Some(Rows::From(first)) => {
                self.finish(take)?;
                // There is no row 0.
                self.expect(first.max(1))?;
                self.waiting = Some(block);
                Ok(())
            }
            Some(Rows::Large(nth)) => {
                self.read_waiting(nth.saturating_sub(self.next), take)?;
                self.expect(nth)?;
                if block.left() != 1 {
                    return misplaced("large rows are not alone");
                }
                self.next += 1;
                block.read(1, take)
            }
        }
    }

    /// Hands on the rest: no block comes any more.
    ///
    /// # Errors
    /// As for [`Order::take`].
    pub(super) fn finish(&mut self, take: &mut impl FnMut(SlotRow<'_>) -> Result<usize>) -> Result<()> {
        self.read_waiting(u64::MAX, take)
    }

    /// Memory that the block takes which waits.
    pub(super) fn size(&self) -> usize {
        self.waiting.as_ref().map_or(0, Block::size)
    }

    fn read_waiting(&mut self, most: u64, take: &mut impl FnMut(SlotRow<'_>) -> Result<usize>) -> Result<()> {
        let Some(block) = &mut self.waiting else { return Ok(()) };
        self.next += most.min(block.left());
        block.read(most, take)?;
        if block.left() == 0 {
            self.waiting = None;
        }
        Ok(())
    }

    fn expect(&self, nth: u64) -> Result<()> {
        match nth == self.next {
            true => Ok(()),
            false => misplaced(&format!("row {nth} comes where row {} should", self.next)),
        }
    }
}

fn misplaced<T>(what: &str) -> Result<T> {
    Err(ErrorKind::Decoding(format!("the rows of the slot are not in their order: {what}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::decoding::block::tests::array;

    fn block(rows: Option<Rows>, numbers: &[u64]) -> Block {
        let bytes: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_be_bytes()).collect();
        let bytes: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        Block::arrays(rows, array(&bytes), Vec::new(), array(&bytes)).unwrap()
    }

    /// The blocks of a call for so many rows, some of them large.
    fn blocks(rows: u64, mut is_large: impl FnMut() -> bool) -> Vec<(Rows, Vec<u64>)> {
        let mut blocks = Vec::new();
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for nth in 1..=rows {
            match is_large() {
                true => large.push((Rows::Large(nth), vec![nth])),
                false => small.push(nth),
            }
            if nth % 256 == 255 || nth == rows {
                if !small.is_empty() {
                    blocks.push((Rows::From(nth / 256 * 256), std::mem::take(&mut small)));
                }
                blocks.append(&mut large);
            }
        }
        blocks
    }

    fn read(blocks: &[(Rows, Vec<u64>)]) -> Result<Vec<u64>> {
        let mut order = Order::default();
        let mut read = Vec::new();
        let mut take = |row: SlotRow<'_>| {
            read.push(row.lsn);
            Ok(row.data.len())
        };
        order.take(block(None, &[0]), &mut take)?;
        for (rows, numbers) in blocks {
            order.take(block(Some(*rows), numbers), &mut take)?;
        }
        order.finish(&mut take)?;
        assert_eq!(order.size(), 0);
        assert_eq!(read.remove(0), 0, "the rows that come once more are read at once");
        Ok(read)
    }

    #[test]
    fn rows_are_read_in_their_order_wherever_large_ones_stand() {
        let mut random = fastrand::Rng::with_seed(11);
        for case in 0..500 {
            let (rows, share) = (random.u64(0..1_100), [0.0, 0.003, 0.1, 0.9, 1.0][case % 5]);
            let blocks = blocks(rows, || random.f64() < share);
            assert_eq!(read(&blocks).unwrap(), (1..=rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_row_that_is_missing_or_in_anothers_place_is_an_error() {
        let mut random = fastrand::Rng::with_seed(12);
        for case in 0..2_000 {
            let mut blocks = blocks(1_000, || random.f64() < 0.02);
            // Not behind the beginning of the last one of many rows: nothing comes any more that would show it.
            let last = blocks.iter().rposition(|(rows, _)| matches!(rows, Rows::From(_)));
            let at = random.usize(..last.unwrap());
            match case % 4 {
                0 => drop(blocks.remove(at)),
                1 => blocks.swap(at, at + 1),
                2 => drop(blocks[at].1.pop()),
                _ => blocks[at].1.push(1),
            }
            assert!(read(&blocks).is_err(), "{case}: {blocks:?}");
        }
    }
}
