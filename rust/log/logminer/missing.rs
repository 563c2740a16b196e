//! Files that are listed and cannot be read, or should be listed and are not: for a while they may still come.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::archives::Archives;
use crate::log::logminer::source::{LogSource, MissingFile};
use crate::log::logminer::windows::Window;
use crate::position::Scn;

/// What is known to be missing.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Paths that the server could not open. Only where there is another copy they are left out.
    pub unreadable: HashSet<String>,
    /// Since when nothing can be read.
    pub since: Option<Instant>,
}

impl Missing {
    /// Whether it was missed for so long; the first time counts as the beginning.
    pub fn is_over(&mut self, patience: Duration) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() >= patience
    }
}

/// Whether the log from a place on is listed without a hole, and the server can open all of it or can so within the patience.
pub(super) fn check_readable(source: &mut impl LogSource, needed: Scn, patience: Duration) -> Result<()> {
    let mut missing = Missing::default();
    loop {
        let archives = Archives::avoiding(source.archives()?, &missing.unreadable);
        let files = archives.from(needed)?.to_vec();
        let Err(error) = source.probe(&files) else {
            return Ok(());
        };
        let Some(file) = source.missing_file(&error) else {
            return Err(error);
        };
        // There may be another copy.
        if file.path.clone().is_some_and(|path| missing.unreadable.insert(path)) {
            continue;
        }
        if missing.is_over(patience) {
            let window = Window {
                files,
                from: needed,
                end: None,
                passes: false,
            };
            return Err(gone(&window, &archives, &file));
        }
        std::thread::sleep(PROBE_PAUSE);
    }
}

/// Pause between two looks at files that cannot be opened.
const PROBE_PAUSE: Duration = Duration::from_millis(100);

/// The error of a window that could not be read for want of a file.
pub(super) fn gone(window: &Window, archives: &Archives, file: &MissingFile) -> Error {
    let path = file.path.as_deref();
    let missing = path.and_then(|path| window.files.iter().find(|file| file.path == path));
    ErrorKind::LogGone {
        needed: missing.map_or(window.from, |missing| missing.first.max(window.from)),
        oldest: archives.files().first().map(|file| file.first),
        detail: match path {
            Some(path) => format!(
                "file '{path}' is listed, but the server cannot open it: {}",
                file.message
            ),
            None => format!("a listed file cannot be read: {}", file.message),
        },
    }
    .into()
}
