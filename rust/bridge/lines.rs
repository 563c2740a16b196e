//! Log lines on their way to SLF4J: a bounded queue that Java drains on its own threads. A full queue drops lines and
//! counts them; logging never waits.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ::log::{Level, LevelFilter, Log, Metadata, Record};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::bridge::frame;

const MOST_LINES: usize = 4096;

static LINES: LazyLock<Lines> = LazyLock::new(|| Lines::new(MOST_LINES));

struct Lines {
    sender: Sender<Line>,
    receiver: Receiver<Line>,
    dropped: AtomicU64,
}

struct Line {
    level: Level,
    target: String,
    text: String,
}

impl Lines {
    fn new(most: usize) -> Self {
        let (sender, receiver) = bounded(most);
        Lines {
            sender,
            receiver,
            dropped: AtomicU64::new(0),
        }
    }

    fn push(&self, line: Line) {
        if self.sender.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.receiver.try_iter().take(MOST_LINES).collect();
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            lines.push(Line {
                level: Level::Warn,
                target: module_path!().to_owned(),
                text: format!("{dropped} log lines were dropped: they came faster than they were written"),
            });
        }
        lines
    }
}

struct Queue;

/// Lines of libraries are for debugging: what their warnings are about is handled, and reported, here.
fn level(metadata: &Metadata<'_>) -> Level {
    let own = metadata.target().starts_with(env!("CARGO_CRATE_NAME"));
    if own {
        metadata.level()
    } else {
        metadata.level().max(Level::Debug)
    }
}

impl Log for Queue {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        level(metadata) <= ::log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.push(Line {
                level: level(record.metadata()),
                target: record.target().to_owned(),
                text: record.args().to_string(),
            });
        }
    }

    fn flush(&self) {}
}

/// Sends what is logged from now on to the queue: lines up to a level, 0 (none) to 5 (trace).
pub(super) fn install(level: u32) {
    let levels = LevelFilter::iter();
    ::log::set_max_level(levels.take(level as usize + 1).last().unwrap_or(LevelFilter::Info));
    // A second call finds the queue installed; the level is what may change.
    let _ = ::log::set_logger(&Queue);
}

/// The waiting lines as a frame for Java: level (1 error to 5 trace), target, text of each.
pub(super) fn drain() -> Vec<u8> {
    frame::list(&LINES.take(), |out, line| {
        out.u8(line.level as u8);
        out.bytes(line.target.as_bytes());
        out.bytes(line.text.as_bytes());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line {
            level: Level::Info,
            target: "t".into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_full_queue_drops_counts_and_goes_on() {
        let lines = Lines::new(2);
        for text in ["a", "b", "c", "d"] {
            lines.push(line(text));
        }
        let taken: Vec<String> = lines.take().into_iter().map(|line| line.text).collect();
        assert_eq!(taken[..2], ["a", "b"]);
        assert!(taken[2].starts_with("2 log lines were dropped"));
        lines.push(line("e"));
        assert_eq!(lines.take().len(), 1);
        assert!(lines.take().is_empty());
    }

    #[test]
    fn lines_of_libraries_are_for_debugging() {
        let of = |target, level| super::level(&Metadata::builder().target(target).level(level).build());
        assert_eq!(of("tidemark::odbc", Level::Warn), Level::Warn);
        assert_eq!(of("odbc_api::handles", Level::Warn), Level::Debug);
        assert_eq!(of("odbc_api::handles", Level::Trace), Level::Trace);
    }

    #[test]
    fn levels_have_the_numbers_that_java_gives_them() {
        let levels: Vec<LevelFilter> = LevelFilter::iter().collect();
        assert_eq!((levels[0], levels[5]), (LevelFilter::Off, LevelFilter::Trace));
        assert_eq!((Level::Error as u8, Level::Trace as u8), (1, 5));
    }
}
