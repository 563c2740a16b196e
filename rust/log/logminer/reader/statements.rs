//! Rows wait until it is known what statements did to their tables: looking ahead in the log, and into the dictionary.

use std::time::Duration;

use super::LogMinerReader;
use crate::error::Result;
use crate::log::LogReader;
use crate::log::logminer::ahead::{self, Ahead};
use crate::log::logminer::archives::Archives;
use crate::log::logminer::changes::Decoder;
use crate::log::logminer::missing;
use crate::log::logminer::source::LogSource;
use crate::log::logminer::windows::Windows;
use crate::log::spill::Spilling;
use crate::log::transactions::{Transaction, Transactions};

/// How often, and how long apart, the dictionary is asked for the effect of a statement whose COMMIT was read.
const DICTIONARY_LOOKS: u32 = 50;
const DICTIONARY_PAUSE: Duration = Duration::from_millis(20);

impl<S: LogSource> LogMinerReader<S> {
    /// One mining call ahead of the log that was read, for statements alone; `false` if there is nothing to read for now.
    pub(super) fn look_ahead(&mut self) -> Result<bool> {
        let mut ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => Ahead::new(
                Windows::new(self.windows.at(), self.settings.window_bytes),
                // The statements stand in front of this: their effects have been seen.
                self.source.visible_end()?,
                self.decoder.shapes(),
                self.settings.log_end_patience,
            ),
        };
        let archives = Archives::avoiding(self.source.archives()?, &self.missing.unreadable);
        let window = match ahead.windows.plan(&archives, self.progress.complete_to) {
            Ok(Some(window)) => window,
            Ok(None) => {
                let found = ahead.is_over(Some(archives.end()));
                if !found {
                    ahead.wait(archives.end(), || self.push())?;
                }
                self.end_ahead(ahead, found);
                return Ok(found);
            }
            Err(gone) => {
                self.ahead = Some(ahead);
                return self.wait_for_file(gone).map(|_| false);
            }
        };
        let mut transactions = Transactions::new(Spilling::unlimited());
        let skipped = self.faults.skipped;
        let mut call = ahead::Call {
            index: &mut self.index,
            zone: &self.settings.zone,
            faults: &mut self.faults,
            mined: &mut self.mined,
        };
        let looked = ahead.mine(&mut self.source, &window, &mut call, &mut transactions);
        // They are counted when they are read.
        self.faults.skipped = skipped;
        match looked {
            Ok(()) => self.missing.since = None,
            Err(error) => {
                let error = error
                    .doing("looking ahead in the log for statements")
                    .at(format!("scn {}", window.from));
                if error.is_timeout() && ahead.windows.narrow(&window) {
                    log::warn!(
                        "the log is looked at in smaller windows than one of {} files: {error}",
                        window.files.len()
                    );
                    self.ahead = Some(ahead);
                    return Ok(true);
                }
                let Some(file) = self.source.missing_file(&error) else {
                    return Err(error);
                };
                let gone = missing::gone(&window, &self.archives, &file);
                self.missing.unreadable.extend(file.path);
                self.ahead = Some(ahead);
                return self.wait_for_file(gone).map(|_| false);
            }
        }
        for transaction in transactions.all() {
            note_statements(&mut self.decoder, transaction);
        }
        let found = ahead.is_over(window.end);
        self.end_ahead(ahead, found);
        Ok(true)
    }

    fn end_ahead(&mut self, ahead: Ahead, found: bool) {
        match found {
            true => self.decoder.explain(&ahead.shapes),
            false => self.ahead = Some(ahead),
        }
    }

    /// A statement's COMMIT stands in the log before its effect can be seen in the dictionary: waits, not for long, until
    /// the shape that it left is there.
    pub(super) fn await_dictionary(&mut self, transaction: &Transaction) -> Result<()> {
        let Some((&last, _)) = transaction.statements().next_back() else {
            return Ok(());
        };
        for _ in 0..DICTIONARY_LOOKS {
            self.look_at_dictionary()?;
            let known = self.decoder.newest(last.table);
            let behind = known.is_some_and(|table| table.object_id == last.object && table.version < last.version);
            if !behind || !self.dictionary.is_asked() {
                break;
            }
            std::thread::sleep(DICTIONARY_PAUSE);
        }
        Ok(())
    }
}

pub(super) fn note_statements(decoder: &mut Decoder, transaction: &Transaction) {
    for (record, text) in transaction.statements() {
        decoder.note(record, text);
    }
}
