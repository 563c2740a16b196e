//! The blocks of a transaction that is committed.

use std::collections::VecDeque;

use crate::error::Result;
use crate::log::records::Block;
use crate::log::spill::frame::Frame;
use crate::log::spill::{OpenFile, SpillFile, Want};
use crate::log::transaction::sizes;

/// The blocks of a transaction, on their way out.
#[derive(Debug)]
pub struct Blocks {
    files: VecDeque<SpillFile>,
    /// The next frame of the first file.
    frame: usize,
    opened: Option<OpenFile>,
    held: VecDeque<Block>,
    buffer: Vec<u8>,
}

impl Blocks {
    /// Those of files, and behind them those in memory.
    pub(super) fn new(files: Vec<SpillFile>, held: Vec<Block>) -> Self {
        Blocks {
            files: files.into(),
            frame: 0,
            opened: None,
            held: held.into(),
            buffer: Vec::new(),
        }
    }

    /// Memory that is taken.
    pub fn size(&self) -> usize {
        let held: usize = self.held.iter().map(Block::size).sum();
        held + sizes(&self.files) + self.buffer.capacity()
    }

    /// Puts the next block in the place of the last one; `false` if there is none.
    ///
    /// # Errors
    /// `Spill`, `SpillCorrupt`.
    pub fn next(&mut self, block: &mut Block) -> Result<bool> {
        while let Some(file) = self.files.front() {
            let frame: Option<&Frame> = file.frames().get(self.frame);
            let Some(frame) = frame else {
                self.files.pop_front();
                self.opened = None;
                self.frame = 0;
                continue;
            };
            let opened = match self.opened.take() {
                Some(opened) => opened,
                None => file.open()?,
            };
            opened.read(frame, Want::Whole, block, &mut self.buffer)?;
            self.opened = Some(opened);
            self.frame += 1;
            return Ok(true);
        }
        *block = match self.held.pop_front() {
            Some(next) => next,
            None => return Ok(false),
        };
        Ok(true)
    }
}
