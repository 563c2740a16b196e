//! Brings a spilled transaction into log order where its records did not come in it: frames are sorted as they are
//! written, and runs of frames are merged, a few at a time, until one is left.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Result;
use crate::log::records::Block;
use crate::log::spill::frame::Frame;
use crate::log::spill::{self, OpenFile, SpillFile, Spilling, Want};
use crate::position::{Scn, Xid};

/// How many runs are merged at once: each needs a frame in memory.
const FAN_IN: usize = 8;

/// Frames that follow each other in log order.
type Run = VecDeque<(usize, Frame)>;

/// Files in log order, one if a folder takes it whole; records of one scn stay as they came. Works in a few blocks of memory.
///
/// # Errors
/// `Spill`, `SpillCorrupt`.
pub(crate) fn sorted(mut files: Vec<SpillFile>, spilling: &Arc<Spilling>, xid: Xid) -> Result<Vec<SpillFile>> {
    loop {
        let runs = runs(&files);
        if runs.len() <= 1 {
            return Ok(files);
        }
        let opened: Vec<OpenFile> = files.iter().map(SpillFile::open).collect::<Result<_>>()?;
        let mut merged = Vec::new();
        let mut runs = runs.into_iter().peekable();
        while runs.peek().is_some() {
            let few: Vec<Run> = runs.by_ref().take(FAN_IN).collect();
            let mut write = |block: &Block| spill::append(&mut merged, spilling, xid, block);
            merge(few, &opened, &mut write, spilling.block())?;
        }
        files = merged;
    }
}

fn runs(files: &[SpillFile]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let frames = files.iter().enumerate();
    for (number, frame) in frames.flat_map(|(number, file)| file.frames().iter().map(move |frame| (number, *frame))) {
        let follows = |run: &&mut Run| run.back().is_some_and(|(_, last)| last.last <= frame.first);
        match runs.last_mut().filter(follows) {
            Some(run) => run.push_back((number, frame)),
            None => runs.push(VecDeque::from([(number, frame)])),
        }
    }
    runs
}

/// A run as it is read.
struct Cursor {
    frames: Run,
    block: Block,
    at: usize,
}

impl Cursor {
    /// The scn of the record at hand; `None` at the end.
    fn scn(&mut self, files: &[OpenFile], buffer: &mut Vec<u8>) -> Result<Option<Scn>> {
        while self.at == self.block.len() {
            let Some((file, frame)) = self.frames.pop_front() else {
                return Ok(None);
            };
            files[file].read(&frame, Want::Whole, &mut self.block, buffer)?;
            self.at = 0;
        }
        Ok(Some(self.block.entries()[self.at].record.scn))
    }
}

fn merge(runs: Vec<Run>, files: &[OpenFile], write: &mut dyn FnMut(&Block) -> Result<()>, full: usize) -> Result<()> {
    let mut buffer = Vec::new();
    let mut block = Block::default();
    let cursor = |frames| Cursor {
        frames,
        block: Block::default(),
        at: 0,
    };
    let mut cursors: Vec<Cursor> = runs.into_iter().map(cursor).collect();
    loop {
        let mut least: Option<(Scn, usize)> = None;
        for (number, cursor) in cursors.iter_mut().enumerate() {
            if let Some(scn) = cursor.scn(files, &mut buffer)? {
                // Of equal ones the earlier run's comes first.
                if least.is_none_or(|(other, _)| scn < other) {
                    least = Some((scn, number));
                }
            }
        }
        let Some((_, number)) = least else { break };
        let cursor = &mut cursors[number];
        block.push_from(&cursor.block, &cursor.block.entries()[cursor.at]);
        cursor.at += 1;
        if block.used() >= full {
            write(&block)?;
            block.clear();
        }
    }
    match block.is_empty() {
        true => Ok(()),
        false => write(&block),
    }
}
