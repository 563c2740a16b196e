//! What a thread of a test was warned of, and what all of them say.

use std::cell::RefCell;
use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Those of all threads, since anybody listens.
static ALL: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Lines of every level, while anybody asks for them.
static EVERYTHING: Mutex<Option<Vec<String>>> = Mutex::new(None);

struct Lines;

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(lines) = &mut *EVERYTHING.lock().unwrap_or_else(PoisonError::into_inner) {
            lines.push(format!("{record:?}"));
        }
        if record.level() <= Level::Warn {
            let line = record.args().to_string();
            ALL.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
            LINES.with_borrow_mut(|lines| lines.push(line));
        }
    }

    fn flush(&self) {}
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Lines).unwrap();
        log::set_max_level(LevelFilter::Warn);
    });
}

/// All that any thread says, with whatever a line carries, while something was done.
pub fn everything<T>(what: impl FnOnce() -> T) -> (T, Vec<String>) {
    listen();
    let everything = || EVERYTHING.lock().unwrap_or_else(PoisonError::into_inner);
    *everything() = Some(Vec::new());
    log::set_max_level(LevelFilter::Trace);
    let done = what();
    log::set_max_level(LevelFilter::Warn);
    let said = everything().take();
    (done, said.unwrap_or_default())
}

/// The warnings of any thread that have a text in them, since something was begun.
pub fn with<T>(text: &str, what: impl FnOnce() -> T) -> (T, Vec<String>) {
    listen();
    let all = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let before = all().len();
    let done = what();
    let said = all()[before..]
        .iter()
        .filter(|line| line.contains(text))
        .cloned()
        .collect();
    (done, said)
}

/// The warnings of this thread while something was done.
pub fn of<T>(what: impl FnOnce() -> T) -> (T, Vec<String>) {
    listen();
    LINES.with_borrow_mut(Vec::clear);
    let done = what();
    (done, LINES.take())
}
