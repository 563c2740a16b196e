//! Large transactions on disk: the budget of a reader, and a file for each transaction that does not fit into it.
//!
//! A file holds blocks of records as frames with checksums ([`frame`]) and lies in a folder of this process
//! ([`rooms`]). It is written at its end alone, cut back where a mining call is taken back, read in order by a position,
//! and gone when the transaction is. Where a folder is full the transaction goes on in a file in another one.

pub(crate) mod frame;
#[cfg(test)]
pub(crate) mod fuzz;
pub(crate) mod merge;
pub(crate) mod rooms;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};
use crate::log::records::Block;
use crate::log::spill::frame::Frame;
use crate::log::spill::rooms::{Room, Rooms};
use crate::position::Xid;

/// A block of this many bytes goes into a frame, where the budget has room for a few.
const BLOCK: usize = 256 << 10;

/// `transaction.memory` of a reader: all its logs share it.
#[derive(Debug)]
pub struct Spilling {
    budget: usize,
    rooms: Rooms,
    spilled: AtomicU64,
    held: AtomicU64,
    transactions: AtomicU64,
}

/// What was spilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// Bytes that were written to files, those of merging and of files that are gone too.
    pub written: u64,
    /// Bytes of the files that are there.
    pub held: u64,
    /// Transactions that had a file.
    pub transactions: u64,
}

impl Spilling {
    /// A budget in bytes, and the folders in which files are made, in turn.
    pub fn new(budget: usize, directories: Vec<PathBuf>) -> Arc<Self> {
        let directories = match directories.is_empty() {
            true => vec![std::env::temp_dir()],
            false => directories,
        };
        Arc::new(Spilling {
            budget,
            rooms: Rooms::new(directories),
            spilled: AtomicU64::new(0),
            held: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
        })
    }

    /// Memory for everything.
    pub fn unlimited() -> Arc<Self> {
        Spilling::new(usize::MAX, Vec::new())
    }

    /// Deletes what dead processes have left in the folders.
    pub fn sweep(&self) {
        self.rooms.sweep();
    }

    /// What was spilled so far.
    pub fn figures(&self) -> Spilled {
        Spilled {
            written: self.spilled.load(Relaxed),
            held: self.held.load(Relaxed),
            transactions: self.transactions.load(Relaxed),
        }
    }

    /// Counts a transaction that has a file from now on.
    pub(super) fn count_transaction(&self) {
        self.transactions.fetch_add(1, Relaxed);
    }

    /// What open transactions may take. The rest is for what ends: its frames as they are read, what it has undone.
    pub(super) fn limit(&self) -> usize {
        self.budget - self.rest()
    }

    /// What is left beside open transactions, however much they take.
    pub(super) fn rest(&self) -> usize {
        self.budget / 8
    }

    /// What may be taken besides open transactions that take `used`.
    pub(super) fn beside(&self, used: usize) -> usize {
        self.budget.saturating_sub(used).max(self.rest())
    }

    /// When a block is full.
    pub(super) fn block(&self) -> usize {
        (self.budget / 64).min(BLOCK)
    }
}

/// A file of one transaction. It is gone with this.
#[derive(Debug)]
pub(crate) struct SpillFile {
    spilling: Arc<Spilling>,
    room: Arc<Room>,
    path: PathBuf,
    xid: Xid,
    frames: Vec<Frame>,
    length: u64,
}

impl SpillFile {
    /// A file that begins with a block of a transaction, in the next of the folders that takes it, but not in `full`.
    ///
    /// # Errors
    /// `Spill` if none does: what the last one said, `None` where there is no other.
    fn begin(
        spilling: &Arc<Spilling>,
        xid: Xid,
        block: &Block,
        full: Option<&Arc<Room>>,
    ) -> std::result::Result<Self, Option<Error>> {
        let mut refused = None;
        for _ in 0..spilling.rooms.count() {
            let made = match spilling.rooms.next() {
                Ok(room) if full.is_some_and(|full| Arc::ptr_eq(full, &room)) => continue,
                Ok(room) => SpillFile::make(spilling, room, xid),
                Err((directory, error)) => Err(refuse(&directory, xid, &format!("a file cannot be made: {error}"))),
            };
            match made.and_then(|mut file| file.append(block).map(|()| file)) {
                Ok(file) => return Ok(file),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused)
    }

    fn make(spilling: &Arc<Spilling>, room: Arc<Room>, xid: Xid) -> Result<Self> {
        let path = room.file(xid);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(|error| refuse(room.path(), xid, &format!("a file cannot be made: {error}")))?;
        Ok(SpillFile {
            spilling: spilling.clone(),
            room,
            path,
            xid,
            frames: Vec::new(),
            length: 0,
        })
    }

    /// The frames, in the order in which they were written.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Appends a block as a frame.
    ///
    /// # Errors
    /// `Spill`.
    fn append(&mut self, block: &Block) -> Result<()> {
        let (frame, heads) = frame::write(block, self.length);
        let write = || -> std::io::Result<()> {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            file.write_all_at(&heads, frame.at)?;
            file.write_all_at(&block.bytes, frame.data_at())
        };
        write().map_err(|error| {
            refuse(
                self.room.path(),
                self.xid,
                &format!("a file cannot be written: {error}"),
            )
        })?;
        self.length = frame.end();
        self.frames.push(frame);
        let bytes = frame.end() - frame.at;
        self.spilling.spilled.fetch_add(bytes, Relaxed);
        self.spilling.held.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Takes the last frame back.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.length = frame.at;
        self.spilling.held.fetch_sub(frame.end() - frame.at, Relaxed);
        Some(frame)
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// `Spill`.
    pub(crate) fn open(&self) -> Result<OpenFile> {
        let file = File::open(&self.path)
            .map_err(|error| refuse(self.room.path(), self.xid, &format!("a file cannot be opened: {error}")))?;
        Ok(OpenFile {
            file,
            path: self.path.clone(),
            xid: self.xid,
        })
    }

    /// Memory that it takes.
    pub(crate) fn size(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>()
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.spilling.held.fetch_sub(self.length, Relaxed);
        if let Err(error) = std::fs::remove_file(&self.path) {
            log::warn!(
                "the spill file '{}' cannot be deleted, the next start does it: {error}",
                self.path.display()
            );
        }
    }
}

/// Appends a block to the last of a transaction's files or, where its folder takes no more, goes on with another file in
/// another folder.
///
/// # Errors
/// `Spill` if no folder takes it: what the first one said.
pub(crate) fn append(files: &mut Vec<SpillFile>, spilling: &Arc<Spilling>, xid: Xid, block: &Block) -> Result<()> {
    let refused = match files.last_mut().map(|last| last.append(block)) {
        Some(Ok(())) => return Ok(()),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let full = files.last().map(|last| &last.room);
    match SpillFile::begin(spilling, xid, block, full) {
        Ok(file) => {
            if let Some(error) = refused {
                log::warn!("the transaction goes on in '{}': {error}", file.path.display());
            }
            files.push(file);
            Ok(())
        }
        Err(error) => Err(refused
            .or(error)
            .unwrap_or_else(|| refuse(Path::new(""), xid, "there is none"))),
    }
}

/// A file that is read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    path: PathBuf,
    xid: Xid,
}

/// What of a frame is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The records and their row ids, without texts.
    Heads,
    /// Everything.
    Whole,
}

impl OpenFile {
    /// Reads a frame into a block; `buffer` is memory to work in.
    ///
    /// # Errors
    /// `Spill`, `SpillCorrupt`.
    pub(crate) fn read(&self, frame: &Frame, want: Want, block: &mut Block, buffer: &mut Vec<u8>) -> Result<()> {
        block.clear();
        buffer.resize(frame.heads_end(), 0);
        self.read_at(buffer, frame.at)?;
        let heads = frame::read_heads(frame, buffer, want, block).map_err(|reason| self.corrupt(frame, reason))?;
        match want {
            Want::Heads => block.bytes.extend_from_slice(heads),
            Want::Whole => {
                block.bytes.resize(frame.data as usize, 0);
                self.read_at(&mut block.bytes, frame.data_at())?;
                frame::check_data(frame, block).map_err(|reason| self.corrupt(frame, reason))?;
            }
        }
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(bytes, at).map_err(|error| {
            let directory = self.path.parent().unwrap_or(&self.path);
            refuse(directory, self.xid, &format!("a file cannot be read: {error}"))
        })
    }

    fn corrupt(&self, frame: &Frame, reason: &str) -> Error {
        Error::from(ErrorKind::SpillCorrupt {
            file: self.path.display().to_string(),
            transaction: self.xid,
            reason: format!("{reason}, in the frame at byte {}", frame.at),
        })
    }
}

fn refuse(directory: &Path, xid: Xid, reason: &str) -> Error {
    ErrorKind::Spill {
        directory: directory.display().to_string(),
        transaction: xid,
        reason: reason.to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests;
