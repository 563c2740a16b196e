//! The folders of spill files: one of this process in each temporary folder, locked for as long as it is used, so that
//! whoever starts later can tell what dead processes have left from what living ones still need.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::position::Xid;

/// How the name of each folder begins; process, its start and a number follow.
pub(crate) const PREFIX: &str = "tidemark-spill-";

/// A locked folder. It is gone with this.
#[derive(Debug)]
pub(super) struct Room {
    path: PathBuf,
    /// Its lock, which the system lets go of when the process dies.
    _lock: File,
    files: AtomicU64,
}

impl Room {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A name for the file of a transaction.
    pub(super) fn file(&self, xid: Xid) -> PathBuf {
        let number = self.files.fetch_add(1, Relaxed);
        self.path.join(format!("{xid}-{number}.spill"))
    }

    fn make(directory: &Path) -> io::Result<Self> {
        loop {
            let path = directory.join(name());
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let made = File::open(&path).and_then(|lock| {
                flock(&lock, FlockOperation::LockExclusive)?;
                Ok(lock)
            });
            match made {
                // Whoever sweeps may have been faster, and have taken it for one that a dead process has left.
                Ok(lock) if is_there(&lock, &path) => {
                    return Ok(Room {
                        path,
                        _lock: lock,
                        files: AtomicU64::new(0),
                    });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            log::warn!(
                "the folder '{}' of spill files cannot be deleted, the next start does it: {error}",
                self.path.display()
            );
        }
    }
}

fn is_there(lock: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let there = std::fs::symlink_metadata(path).map(identity).ok();
    there.is_some() && lock.metadata().map(identity).ok() == there
}

/// Process, its start in milliseconds since the epoch, and a number: containers that share a folder may share process ids.
fn name() -> String {
    static START: OnceLock<u128> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_millis())
    });
    let number = NUMBER.fetch_add(1, Relaxed);
    format!("{PREFIX}{}-{start}-{number}", process::id())
}

/// The folders of one reader, made when they are needed, used in turn.
#[derive(Debug)]
pub(super) struct Rooms {
    directories: Vec<PathBuf>,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    rooms: Vec<Option<Arc<Room>>>,
    next: usize,
}

impl Rooms {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        let rooms = directories.iter().map(|_| None).collect();
        Rooms {
            directories,
            made: Mutex::new(Made { rooms, next: 0 }),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.directories.len()
    }

    /// The next one, in turn; or which folder does not take it, and why.
    pub(super) fn next(&self) -> Result<Arc<Room>, (PathBuf, io::Error)> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.next % self.directories.len();
        made.next = at + 1;
        if let Some(room) = &made.rooms[at] {
            return Ok(room.clone());
        }
        let directory = &self.directories[at];
        let room = Room::make(directory).map_err(|error| (directory.clone(), error))?;
        let room = Arc::new(room);
        made.rooms[at] = Some(room.clone());
        Ok(room)
    }

    /// Deletes the folders that nobody has locked: their processes are dead.
    pub(super) fn sweep(&self) {
        for directory in &self.directories {
            let Ok(entries) = std::fs::read_dir(directory) else {
                continue;
            };
            for entry in entries.flatten() {
                let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
                if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    sweep(&entry.path());
                }
            }
        }
    }
}

fn sweep(path: &Path) {
    // What belongs to another user cannot be opened, and is that user's affair.
    let Ok(lock) = File::open(path) else { return };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if is_there(&lock, path) => match std::fs::remove_dir_all(path) {
            Ok(()) => log::info!("spill files of a dead process are deleted: '{}'", path.display()),
            Err(error) => log::warn!(
                "spill files of a dead process cannot be deleted: '{}': {error}",
                path.display()
            ),
        },
        Ok(()) | Err(Errno::WOULDBLOCK) => {}
        Err(error) => log::debug!("'{}' cannot be locked: {error}", path.display()),
    }
}
