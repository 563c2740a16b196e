//! Mining calls, and what may go wrong with one.

use crate::error::{Error, Result};
use crate::log::logminer::archives::Archives;
use crate::log::logminer::contents::Contents;
use crate::log::logminer::missing;
use crate::log::logminer::reader::statements::note_statements;
use crate::log::logminer::reader::{Call, LogMinerReader, is_gone};
use crate::log::logminer::source::{LogSource, MiningCall};
use crate::log::logminer::windows::Window;

/// What came of looking for more log.
pub(super) enum Looked {
    /// A mining call, whose rows are to be applied.
    Rows,
    /// No rows, but the log is known to be read farther than before.
    End,
    /// Nothing.
    Nothing,
}

impl<S: LogSource> LogMinerReader<S> {
    /// One mining call, if there is anything new to read.
    pub(super) fn mine(&mut self) -> Result<Looked> {
        let mut again = false;
        loop {
            self.archives = Archives::avoiding(self.source.archives()?, &self.missing.unreadable);
            let oldest = self.transactions.oldest_start();
            self.oldest_log_bytes = oldest.map_or(0, |start| self.archives.bytes_from(start));
            let window = match self.windows.plan(&self.archives, self.progress.complete_to) {
                Ok(Some(window)) => window,
                Ok(None) => {
                    // Nothing was written since the log was read to its end, so this end is reached too.
                    let reached = self.progress.complete_to.max(Some(self.archives.end()));
                    let moved = reached != self.progress.complete_to;
                    self.progress.complete_to = reached;
                    return Ok(if moved { Looked::End } else { Looked::Nothing });
                }
                Err(gone) => return self.wait_for_file(gone),
            };
            if window.passes {
                // What was read as empty must not have been empty for the settings.
                self.source.check_setup()?;
            }
            let zone = self.settings.zone.clone();
            let mut contents = Contents::new(self.windows.sift(), &zone);
            self.transactions.begin_call();
            let skipped = self.faults.skipped;
            let mined = self.read(&window, &mut contents);
            let error = match mined {
                // Texts are made with the dictionary of that moment: they are good only if it was one and the same.
                Ok(()) if contents.captured() > 0 && self.look_at_dictionary()? => {
                    self.missing.since = None;
                    self.transactions.forget_call()?;
                    self.faults.skipped = skipped;
                    continue;
                }
                Ok(()) => {
                    self.missing.since = None;
                    return self.take_in(&window, contents).map(|()| Looked::Rows);
                }
                Err(error) => error.doing("mining the log").at(format!("scn {}", window.from)),
            };
            if error.is_timeout() && self.windows.narrow(&window) {
                log::warn!(
                    "the log is mined in smaller windows than one of {} files: {error}",
                    window.files.len()
                );
                self.transactions.forget_call()?;
                self.faults.skipped = skipped;
                continue;
            }
            let Some(file) = self.source.missing_file(&error).filter(|_| contents.rows() == 0) else {
                return Err(error);
            };
            let gone = missing::gone(&window, &self.archives, &file);
            self.missing.unreadable.extend(file.path);
            if std::mem::replace(&mut again, true) {
                return self.wait_for_file(gone);
            }
            // A file was moved between the question and the call, or another copy is there: look once more.
            log::warn!("the log files are looked up again: {gone}");
        }
    }

    /// Lets a file that should be there come: for a while there is nothing to read.
    pub(super) fn wait_for_file(&mut self, gone: Error) -> Result<Looked> {
        if !is_gone(&gone) || self.missing.is_over(self.settings.missing_patience) {
            return Err(gone.doing("mining the log"));
        }
        Ok(Looked::Nothing)
    }

    fn read(&mut self, window: &Window, contents: &mut Contents<'_>) -> Result<()> {
        let (index, transactions, faults) = (&mut self.index, &mut self.transactions, &mut self.faults);
        let call = MiningCall {
            files: &window.files,
            from: window.from,
        };
        self.mined.call(&mut self.source, &call, &mut |row| {
            contents.take(row, index, transactions, faults)
        })
    }

    /// Whether a captured table was altered since the last look; its new shape is known then.
    pub(super) fn look_at_dictionary(&mut self) -> Result<bool> {
        let altered = self.dictionary.look(&mut self.source)?;
        for (table, shape) in altered.iter().flatten() {
            let number = self.decoder.add_shape(*table, shape.clone())?;
            self.index.set_shape(*table, number);
        }
        Ok(altered.is_some())
    }

    fn take_in(&mut self, window: &Window, contents: Contents<'_>) -> Result<()> {
        let altering = contents.altering().to_vec();
        let closed_to = window.closed_to();
        if contents.rows() == 0 && closed_to > Some(self.progress.next_scn) {
            // What was read as empty must not have been empty for the settings: it will not be read again.
            self.source.check_setup()?;
        }
        let (controls, sieve) = contents.finish(&mut self.transactions)?;
        for transaction in altering.iter().filter_map(|&xid| self.transactions.get(xid)) {
            note_statements(&mut self.decoder, transaction);
        }
        let highest = sieve.highest();
        self.windows.advance(window, sieve)?;
        self.controls = controls.into();
        self.call = Some(Call {
            highest,
            end: window.end,
            closed_to,
        });
        Ok(())
    }
}
