//! Mining back: for the START of a transaction that began before the first record read, and for what it has undone.

use super::LogMinerReader;
use super::statements::note_statements;
use crate::error::{ErrorKind, Result};
use crate::log::logminer::mine_back;
use crate::log::logminer::source::LogSource;
use crate::log::transactions::Transaction;
use crate::position::{CommitPosition, Scn, Xid};

impl<S: LogSource> LogMinerReader<S> {
    pub(super) fn find_start(
        &mut self,
        transaction: &mut Transaction,
        commit: CommitPosition,
        xid: Xid,
    ) -> Result<Scn> {
        let earlier = self
            .searching(xid, |search, source| search.run(source))
            .map_err(|error| {
                error
                    .doing("looking for the START of a transaction that began before the first record read")
                    .at(format!("{commit}, transaction {xid}"))
            })?;
        note_statements(&mut self.decoder, &earlier);
        transaction.prepend(earlier)?;
        transaction
            .start()
            .ok_or_else(|| ErrorKind::Internal("a START was found and is not there".into()).into())
    }

    pub(super) fn read_again(&mut self, start: Scn, commit: CommitPosition, xid: Xid) -> Result<Transaction> {
        self.searching(xid, |search, source| search.again(source, start, commit.scn))
            .map_err(|error| {
                error
                    .doing("reading a transaction again to see what it has undone")
                    .at(format!("{commit}, transaction {xid}"))
            })
    }

    /// Mines for one transaction until no table was altered meanwhile, so that one dictionary has made all texts.
    fn searching(
        &mut self,
        xid: Xid,
        find: impl Fn(&mut mine_back::Search<'_>, &mut S) -> Result<Transaction>,
    ) -> Result<Transaction> {
        loop {
            let found = self.search(xid, &find)?;
            if !self.look_at_dictionary()? {
                return Ok(found);
            }
        }
    }

    /// Mines for one transaction; once more if a file cannot be read, since there may be another copy.
    fn search(
        &mut self,
        xid: Xid,
        find: &impl Fn(&mut mine_back::Search<'_>, &mut S) -> Result<Transaction>,
    ) -> Result<Transaction> {
        let mut again = false;
        loop {
            let mut search = mine_back::Search {
                xid,
                before: self.mined_from,
                window_bytes: self.settings.window_bytes,
                index: &mut self.index,
                zone: &self.settings.zone,
                faults: &mut self.faults,
                mined: &mut self.mined,
                unreadable: &self.missing.unreadable,
                memory: self.settings.spilling.beside(self.transactions.size()),
                spilling: &self.settings.spilling,
            };
            let found = find(&mut search, &mut self.source);
            match found.as_ref().err().and_then(|error| self.source.missing_file(error)) {
                Some(file) if !std::mem::replace(&mut again, true) => self.missing.unreadable.extend(file.path),
                _ => return found,
            }
        }
    }
}
