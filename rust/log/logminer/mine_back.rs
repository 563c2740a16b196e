//! Mining for one transaction: its START before the place where mining began, in growing windows, or all of it again.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::log::logminer::archives::Archives;
use crate::log::logminer::contents::{Contents, TableIndex};
use crate::log::logminer::faults::Faults;
use crate::log::logminer::rules::Bound;
use crate::log::logminer::source::{self, Archive, LogSource, Mined, MiningCall};
use crate::log::logminer::windows::Windows;
use crate::log::spill::Spilling;
use crate::log::transactions::{Transaction, Transactions};
use crate::position::{Scn, Xid};
use crate::row::zone::Zone;

/// A search for one transaction.
pub struct Search<'a> {
    /// Which one.
    pub xid: Xid,
    /// Its records from here on are known already.
    pub before: Scn,
    /// Bytes of files that the first window takes; each further one takes twice as many.
    pub window_bytes: u64,
    /// The captured tables.
    pub index: &'a mut TableIndex,
    /// The server's zone.
    pub zone: &'a Zone,
    /// What to do about faults.
    pub faults: &'a mut Faults,
    /// Counts the mining calls.
    pub mined: &'a mut Mined,
    /// Files that are listed and cannot be read.
    pub unreadable: &'a HashSet<String>,
    /// The reader's budget.
    pub spilling: &'a Arc<Spilling>,
    /// How much of it there is for what is found.
    pub memory: usize,
}

impl Search<'_> {
    /// The transaction's records before the known ones, from its START on.
    ///
    /// # Errors
    /// `LogGone` when the log does not reach back to the START; database errors.
    pub fn run(&mut self, source: &mut impl LogSource) -> Result<Transaction> {
        let mut found = self.nothing();
        let mut bytes = self.window_bytes;
        let mut before = self.before;
        loop {
            let archives = Archives::avoiding(source.archives()?, self.unreadable);
            let (files, from) = window(&archives, before, bytes, self.before)?;
            let earlier = match self.mine(source, &files, from, before) {
                Err(error) if error.is_timeout() && files.len() > 1 => {
                    log::warn!(
                        "the log is mined back in smaller windows than one of {} files: {error}",
                        files.len()
                    );
                    bytes = source::bytes(&files) / 2;
                    continue;
                }
                mined => mined?,
            };
            found.prepend(earlier)?;
            if found.size() > self.memory / 2 && found.can_spill() {
                found.spill()?;
            }
            if found.start().is_some() {
                return Ok(found);
            }
            before = from;
            bytes = bytes.saturating_mul(2);
        }
    }

    /// All records of the transaction in one mining call.
    ///
    /// # Errors
    /// `LogGone` when its log is no longer kept; database errors.
    pub fn again(&mut self, source: &mut impl LogSource, start: Scn, commit: Scn) -> Result<Transaction> {
        let archives = Archives::avoiding(source.archives()?, self.unreadable);
        archives.from(start)?;
        let files: Vec<Archive> = archives.range(start, commit).cloned().collect();
        self.mine(source, &files, start, Scn(commit.0 + 1))
    }

    fn mine(&mut self, source: &mut impl LogSource, files: &[Archive], from: Scn, before: Scn) -> Result<Transaction> {
        let mut transactions = Transactions::limited(self.spilling.clone(), self.memory / 2);
        let mut contents = Contents::new(Windows::new(from, 0).sift(), self.zone);
        let call = MiningCall { files, from };
        let (index, faults) = (&mut *self.index, &mut *self.faults);
        self.mined.call(source, &call, &mut |row| {
            if row.xid == self.xid && row.scn < before {
                contents.take(row, index, &mut transactions, faults)?;
            }
            Ok(())
        })?;
        let (controls, _) = contents.finish(&mut transactions)?;
        for control in controls.iter().filter(|control| control.bound == Bound::Start) {
            transactions.start(self.xid, control.scn, control.micros)?;
        }
        Ok(transactions.end(self.xid).unwrap_or_else(|| self.nothing()))
    }

    fn nothing(&self) -> Transaction {
        Transaction::new(self.xid, self.spilling.clone(), 0)
    }
}

/// The files of at most `bytes`, one at least, that hold what lies before an scn, and the first scn that they hold
/// whole. An scn may lie in two files, so the last scn of the file before belongs to the window after this one.
fn window(archives: &Archives, before: Scn, bytes: u64, known: Scn) -> Result<(Vec<Archive>, Scn)> {
    let mut files = Vec::new();
    let mut from = before;
    let mut size = 0;
    if let Some(last) = before.0.checked_sub(1) {
        let candidates: Vec<&Archive> = archives.range(Scn(0), Scn(last)).collect();
        for file in candidates.into_iter().rev() {
            size += file.bytes;
            if from < before && size > bytes {
                break;
            }
            from = from.min(Scn(file.previous.0 + 1));
            files.push(file.clone());
        }
    }
    files.reverse();
    if from < before {
        archives.from(from)?;
        return Ok((files, from));
    }
    Err(ErrorKind::LogGone {
        needed: Scn(known.0.saturating_sub(1)),
        oldest: archives.files().first().map(|file| file.first),
        detail: match archives.files().first() {
            Some(file) => format!(
                "it has to reach back to the START of a transaction, beyond file '{}'",
                file.path
            ),
            None => "it has to reach back to the START of a transaction".into(),
        },
    }
    .into())
}
