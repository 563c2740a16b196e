//! Which files one mining call reads, and which of its records are new.
//!
//! A window begins *at* the scn of the last record that came back, since the end of a log may fall inside an scn; the
//! records of that scn that were had already are told by what they are, and counted.

use std::collections::HashMap;

use crate::dialect::mining::Operation;
use crate::error::{ErrorKind, Result};
use crate::log::logminer::archives::Archives;
use crate::log::logminer::rules::{commits, is_bound};
use crate::log::logminer::source::{self, Archive};
use crate::position::{RecordSet, Scn, Xid};

/// What one mining call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The files, in log order.
    pub files: Vec<Archive>,
    /// The first scn, inclusive.
    pub from: Scn,
    /// How far the log is read once every row has come: `E` where the window reaches the end of the log, else `None`.
    pub end: Option<Scn>,
    /// Whether files between `from` and the first one are gone that were read before.
    pub passes: bool,
}

impl Window {
    /// Up to where its files are closed: another one follows them, so nothing joins them any more. Of the first one's
    /// predecessor that is not asked here.
    pub fn closed_to(&self) -> Option<Scn> {
        self.files.iter().skip(1).map(|file| file.previous).max()
    }
}

/// Lays windows over the log, from a position on. Moves only with records that came back.
#[derive(Debug)]
pub struct Windows {
    at: Scn,
    had: HashMap<Identity, u32>,
    /// Bytes of the files of the next window, and of any window at most.
    bytes: u64,
    most: u64,
    last: Vec<Archive>,
}

/// What tells the records of one scn apart; equal ones are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Transaction.
    pub xid: Xid,
    /// What the record does.
    pub operation: Operation,
    /// Number of its table.
    pub object: u64,
    /// Record set.
    pub rs_id: RecordSet,
    /// Number inside the record set.
    pub ssn: u32,
}

impl Windows {
    /// Windows of at most `bytes` of files each, from `at` on, inclusive.
    pub fn new(at: Scn, bytes: u64) -> Self {
        Windows {
            at,
            had: HashMap::new(),
            bytes,
            most: bytes,
            last: Vec::new(),
        }
    }

    /// Where the next window begins.
    pub fn at(&self) -> Scn {
        self.at
    }

    /// The next window, or `None` when nothing was written since the last one reached the end of the log. The log was
    /// read completely up to `read_to`: files before it are not missed, though no record has come to move behind.
    ///
    /// # Errors
    /// `LogGone`.
    pub fn plan(&self, archives: &Archives, read_to: Option<Scn>) -> Result<Option<Window>> {
        let (kept, passes) = match archives.from(self.at) {
            Ok(kept) => (kept, false),
            Err(gone) => match read_to.map(|scn| archives.from(scn)) {
                Some(Ok(kept)) => (kept, true),
                _ => return Err(gone),
            },
        };
        let mut size = 0;
        let mut count = 0;
        for file in kept {
            size += file.bytes;
            if count > 0 && size > self.bytes && !self.was_reached(file) {
                break;
            }
            count += 1;
        }
        if kept[..count] == self.last[..] {
            if count == kept.len() {
                return Ok(None);
            }
            count += 1;
        }
        let files = kept[..count].to_vec();
        let end = (count == kept.len()).then(|| archives.end());
        Ok(Some(Window {
            files,
            from: self.at,
            end,
            passes,
        }))
    }

    /// The upper bound never moves back: what was mined once is mined again, as long as its files are needed.
    fn was_reached(&self, file: &Archive) -> bool {
        let place = |file: &Archive| (file.previous, file.first, file.sequence);
        self.last.last().is_some_and(|last| place(file) <= place(last))
    }

    /// A window could not be read in the time that a call has: the next one has half its bytes; those behind it have more again.
    /// `false` if it has no file that could be left to the next one.
    pub fn narrow(&mut self, window: &Window) -> bool {
        let needed = window.files.iter().filter(|file| self.was_reached(file)).count();
        // The files of the window before alone have nothing new.
        let least = needed + usize::from(needed == self.last.len());
        self.bytes = source::bytes(&window.files) / 2;
        window.files.len() > least.max(1)
    }

    /// Begins to sift the rows of a window.
    pub fn sift(&self) -> Sieve {
        let count = |of_commits: bool| {
            let had = self
                .had
                .iter()
                .filter(|(what, _)| !of_commits || commits(what.operation));
            had.map(|(_, &count)| u64::from(count)).sum()
        };
        Sieve {
            from: self.at,
            due: self.had.clone(),
            had: count(false),
            commits_due: count(true),
            highest: self.at,
            there: Vec::new(),
        }
    }

    /// Moves behind the records of a window that was read to its end.
    ///
    /// # Errors
    /// Corrupt log, when records that it held before did not come again although the file that they stood in was read.
    pub fn advance(&mut self, window: &Window, sieve: Sieve) -> Result<()> {
        let complete = window.files.first().is_some_and(|file| file.previous < self.at);
        let lost = sieve
            .due
            .iter()
            .find(|(what, count)| **count > 0 && is_bound(what.operation));
        if let (true, Some((what, _))) = (complete, lost) {
            return Err(ErrorKind::CorruptLog(format!(
                "the {:?} record of transaction {} at scn {} was there and did not come again",
                what.operation, what.xid, self.at
            ))
            .into());
        }
        // Slowly: a window that is too large costs the time of a call.
        self.bytes = (self.bytes + self.bytes / 8 + 1).min(self.most);
        self.last.clone_from(&window.files);
        if sieve.highest > self.at {
            self.at = sieve.highest;
            self.had.clear();
        }
        for identity in sieve.there {
            *self.had.entry(identity).or_default() += 1;
        }
        Ok(())
    }
}

/// Tells the new rows of a window from those had before.
#[derive(Debug)]
pub struct Sieve {
    from: Scn,
    due: HashMap<Identity, u32>,
    /// How many records had before are yet to come again.
    had: u64,
    /// How many of them are commits.
    commits_due: u64,
    highest: Scn,
    /// New records at `highest`.
    there: Vec<Identity>,
}

impl Sieve {
    /// What a record is if it is new; it then counts as had.
    ///
    /// # Errors
    /// Corrupt log, when the commits of one scn come in another order than before: their numbers would change.
    pub fn is_new(&mut self, scn: Scn, identity: impl FnOnce() -> Result<Identity>) -> Result<Option<Identity>> {
        if scn < self.from {
            return Ok(None);
        }
        let identity = identity()?;
        if scn == self.from && self.had > 0 {
            if let Some(due @ 1..) = self.due.get_mut(&identity) {
                *due -= 1;
                self.had -= 1;
                self.commits_due -= u64::from(commits(identity.operation));
                return Ok(None);
            }
            if commits(identity.operation) && self.commits_due > 0 {
                return Err(ErrorKind::CorruptLog(format!(
                    "the commits at scn {scn} come in another order than before: {} is now in front",
                    identity.xid
                ))
                .into());
            }
        }
        if scn > self.highest {
            self.highest = scn;
            self.there.clear();
        }
        if scn == self.highest {
            self.there.push(identity);
        }
        Ok(Some(identity))
    }

    /// Takes a record back that was not whole: it counts as not had.
    pub fn forget(&mut self, scn: Scn, identity: &Identity) {
        if scn == self.highest {
            let nth = self.there.iter().rposition(|there| there == identity);
            nth.map(|nth| self.there.remove(nth));
        }
    }

    /// The greatest scn that came.
    pub fn highest(&self) -> Scn {
        self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::logminer::archives::tests::file;

    fn commit(xid: u64) -> Result<Identity> {
        Ok(Identity {
            xid: Xid(xid),
            operation: Operation::Commit,
            object: 0,
            rs_id: RecordSet::default(),
            ssn: 0,
        })
    }

    fn window(files: Vec<Archive>) -> Window {
        Window {
            files,
            from: Scn(0),
            end: None,
            passes: false,
        }
    }

    #[test]
    fn rows_before_a_window_are_dropped_and_those_at_its_begin_are_had_once() {
        let mut windows = Windows::new(Scn(10), 1);
        let mut sieve = windows.sift();
        assert!(sieve.is_new(Scn(9), || commit(1)).unwrap().is_none());
        for xid in [1, 2] {
            assert!(sieve.is_new(Scn(10), || commit(xid)).unwrap().is_some());
        }
        windows.advance(&window(vec![file("a", 0, 1, 10)]), sieve).unwrap();
        let mut sieve = windows.sift();
        for xid in [1, 2] {
            assert!(sieve.is_new(Scn(10), || commit(xid)).unwrap().is_none());
        }
        assert!(sieve.is_new(Scn(10), || commit(3)).unwrap().is_some());
        // Their numbers would change.
        let mut sieve = windows.sift();
        let error = sieve.is_new(Scn(10), || commit(3)).unwrap_err();
        assert!(error.to_string().contains("another order"), "{error}");
    }

    #[test]
    fn a_file_is_closed_once_another_one_follows() {
        assert_eq!(window(vec![file("b", 10, 11, 20)]).closed_to(), None);
        let files = vec![file("b", 10, 11, 20), file("c", 20, 21, 30)];
        assert_eq!(window(files).closed_to(), Some(Scn(20)));
    }
}
