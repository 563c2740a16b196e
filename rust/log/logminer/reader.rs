//! The log reader over mining calls.

mod back;
mod mining;
pub mod openings;
mod settings;
mod statements;

pub use settings::Settings;

use std::collections::{HashSet, VecDeque};

use self::mining::Looked;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::logminer::ahead::Ahead;
use crate::log::logminer::archives::Archives;
use crate::log::logminer::changes::{CapturedTable, Decoder};
use crate::log::logminer::contents::{Control, TableIndex};
use crate::log::logminer::delivery::Delivery;
use crate::log::logminer::dictionary::Dictionary;
use crate::log::logminer::faults::{Faults, Skipped};
use crate::log::logminer::max_age::MaxAge;
use crate::log::logminer::missing::{self, Missing};
use crate::log::logminer::rules::Bound;
use crate::log::logminer::source::{LogSource, Mined};
use crate::log::logminer::windows::Windows;
use crate::log::transactions::{Overdue, Transaction, Transactions};
use crate::log::undo::Form;
use crate::log::{Figures, Headroom, LogEvent, LogReader, Opening, Progress, TransactionHead};
use crate::position::{CommitPosition, Incarnation, Position, Scn, Xid};

/// Reads a log through mining calls (design 3.1).
pub struct LogMinerReader<S> {
    source: S,
    settings: Settings,
    dictionary: Dictionary,
    index: TableIndex,
    decoder: Decoder,
    faults: Faults,
    mined: Mined,
    form: Form,
    incarnation: Incarnation,
    /// Where mining began: what stands before it is known only by mining back.
    mined_from: Scn,
    /// Commits before this cut are noted, not returned.
    opened: Position,
    /// As they were listed last.
    archives: Archives,
    /// Of these, what the oldest open transaction holds.
    oldest_log_bytes: u64,
    missing: Missing,
    windows: Windows,
    transactions: Transactions,
    max_age: MaxAge,
    /// What the last mining call left to be applied.
    controls: VecDeque<Control>,
    call: Option<Call>,
    /// Committed, and waits until it is known what statements did to its tables.
    due: Option<Due>,
    /// Looks for them.
    ahead: Option<Ahead>,
    delivery: Option<Delivery>,
    progress: Progress,
    /// Commits returned or noted that are not yet known to be closed in the database.
    noted: HashSet<Xid>,
    /// How many may be noted before the database is asked which of them are closed.
    noted_limit: usize,
}

/// A mining call whose rows have all come.
#[derive(Debug)]
struct Call {
    highest: Scn,
    end: Option<Scn>,
    /// Up to where it has read files that are closed.
    closed_to: Option<Scn>,
}

/// A committed transaction that is to go out.
struct Due {
    head: TransactionHead,
    transaction: Transaction,
}

const NOTED_LIMIT: usize = 100_000;

impl<S: LogSource> LogMinerReader<S> {
    /// Opens the log at a pair that a state has kept.
    ///
    /// # Errors
    /// `LogGone` if the log from `at.mine_from` on is no longer kept; database errors.
    pub fn open(mut source: S, tables: Vec<CapturedTable>, settings: Settings, at: Opening) -> Result<Self> {
        let archives = Archives::new(source.archives()?);
        archives
            .from(at.mine_from)
            .map_err(|error| error.doing("opening the log"))?;
        let incarnation = source.incarnation()?;
        Ok(LogMinerReader {
            index: TableIndex::new(tables.iter().map(|captured| &*captured.table)),
            decoder: Decoder::new(
                &tables,
                settings.lenient,
                settings.logging_hint.clone(),
                settings.selection.clone(),
            )?,
            dictionary: Dictionary::new(tables.iter().map(|captured| &*captured.table)),
            faults: Faults {
                on_corruption: settings.on_corruption,
                on_mismatch: settings.on_mismatch,
                skipped: Skipped::default(),
            },
            mined: Mined::default(),
            form: settings.undo,
            incarnation,
            mined_from: at.mine_from,
            opened: at.position,
            archives,
            oldest_log_bytes: 0,
            missing: Missing::default(),
            windows: Windows::new(at.mine_from, settings.window_bytes),
            transactions: Transactions::new(settings.spilling.clone()),
            max_age: MaxAge::new(settings.max_age, settings.on_max_age),
            controls: VecDeque::new(),
            call: None,
            due: None,
            ahead: None,
            delivery: None,
            progress: Progress {
                position: Position::before(at.mine_from),
                next_scn: at.mine_from,
                complete_to: None,
            },
            noted: HashSet::new(),
            noted_limit: NOTED_LIMIT,
            source,
            settings,
        })
    }

    /// Opens the log where it ends now, so that no transaction that is open or begins now is missed (design 3.1.5).
    ///
    /// # Errors
    /// Database errors.
    pub fn open_new(mut source: S, tables: Vec<CapturedTable>, settings: Settings) -> Result<(Opening, Self)> {
        let opening = openings::latest(&mut source).map_err(|error| error.doing("finding the end of the log"))?;
        Ok((opening, LogMinerReader::open(source, tables, settings, opening)?))
    }

    /// How many records were passed over.
    pub fn skipped(&self) -> Skipped {
        self.faults.skipped
    }

    /// Applies a record that begins or ends a transaction.
    fn apply(&mut self, control: Control) -> Result<()> {
        self.max_age.note(control.micros);
        match control.bound {
            Bound::Start => self.transactions.start(control.xid, control.scn, control.micros)?,
            Bound::Prepare => self.transactions.prepare(control.xid),
            Bound::Rollback => {
                if let Some(dropped) = self.transactions.end(control.xid) {
                    if dropped.start().is_some() {
                        self.form.learn(dropped.marked(), dropped.records());
                    }
                }
            }
            Bound::Commit => return self.commit(control),
        }
        self.moved_to(control.scn, None);
        Ok(())
    }

    fn commit(&mut self, control: Control) -> Result<()> {
        let Control { scn, xid, .. } = control;
        let here = self.progress.position;
        let commit = CommitPosition {
            scn,
            nth: if here.scn == scn { here.commits } else { 0 },
        };
        let is_abandoned = self.transactions.is_abandoned(xid);
        let transaction = self.transactions.end(xid);
        self.note(xid)?;
        if is_abandoned || self.opened.includes(commit) {
            self.moved_to(scn, Some(commit));
            return Ok(());
        }
        let nothing = || Transaction::new(xid, self.settings.spilling.clone(), 0);
        let mut transaction = transaction.unwrap_or_else(nothing);
        let one_call = transaction.call() == self.transactions.call();
        let start = match transaction.start() {
            Some(start) => start,
            None => match self.find_start(&mut transaction, commit, xid) {
                Err(error) if self.leaves_out_lost() && is_gone(&error) => {
                    self.faults.leave_out(&error);
                    self.moved_to(scn, Some(commit));
                    return Ok(());
                }
                start => start?,
            },
        };
        let overdue = Overdue {
            xid,
            start,
            micros: transaction.start_micros(),
        };
        if start < self.mined_from && self.max_age.was_left_out(overdue.micros, control.micros) {
            self.faults.leave_out(&self.max_age.error(&overdue, control.micros));
            self.moved_to(scn, Some(commit));
            return Ok(());
        }
        if self.form == Form::Flagged && !(one_call && start >= self.mined_from) {
            // Whether a record is undone is known only where the log behind it was mined in the same call.
            transaction = self.read_again(start, commit, xid)?;
        }
        let head = TransactionHead {
            xid,
            commit,
            commit_micros: control.micros,
            start,
            next_scn: self.transactions.oldest_start().unwrap_or(scn),
        };
        self.await_dictionary(&transaction)?;
        self.due = Some(Due { head, transaction });
        Ok(())
    }

    /// Begins to hand a transaction out.
    fn deliver(&mut self, Due { head, transaction }: Due) -> Result<()> {
        let memory = self
            .settings
            .spilling
            .beside(self.transactions.size() + transaction.size());
        self.decoder.begin();
        self.delivery = Delivery::new(head, transaction, &mut self.form, memory)?;
        match self.delivery {
            // Half out, it is needed from its START on, also where that was found by mining back.
            Some(_) => self.progress.next_scn = self.progress.next_scn.min(head.start),
            None => self.moved_to(head.commit.scn, Some(head.commit)),
        }
        Ok(())
    }

    fn note(&mut self, xid: Xid) -> Result<()> {
        self.noted.insert(xid);
        if self.noted.len() > self.noted_limit {
            self.forget_closed()?;
            self.noted_limit = NOTED_LIMIT.max(2 * self.noted.len());
        }
        Ok(())
    }

    /// The noted transactions that are still open; the others are forgotten.
    fn forget_closed(&mut self) -> Result<Vec<String>> {
        let mut open = self.source.open_transactions()?;
        open.retain(|open| self.noted.contains(&open.xid));
        self.noted = open.iter().map(|open| open.xid).collect();
        Ok(open
            .iter()
            .map(|open| format!("transaction {} of {}", open.xid, open.session))
            .collect())
    }

    /// Files that are closed and were read whole are not needed again where nothing is open, though no record moves the
    /// position behind them: an idle database may delete them.
    fn pass_closed(&mut self, closed_to: Option<Scn>) {
        if let (Some(closed_to), true) = (closed_to, self.transactions.is_empty()) {
            self.progress.next_scn = self.progress.next_scn.max(closed_to);
        }
    }

    fn leaves_out_lost(&self) -> bool {
        self.settings.on_lost_start == OnFault::Skip || self.max_age.leaves_out_lost()
    }

    /// Looks for transactions that are open for too long; whether one was left out, so that its log is not needed any more.
    fn look_at_ages(&mut self, at_end: bool) -> Result<bool> {
        let left_out = self
            .max_age
            .look(at_end, &mut self.transactions, &mut self.source, &mut self.faults)
            .map_err(|error| error.doing("reading the log"))?;
        if left_out {
            let here = self.progress.position.scn;
            self.progress.next_scn = self.transactions.oldest_start().unwrap_or(here).min(here);
        }
        Ok(left_out)
    }

    /// Everything up to a record is out or noted.
    fn moved_to(&mut self, scn: Scn, commit: Option<CommitPosition>) {
        let progress = &mut self.progress;
        if let Some(commit) = commit {
            progress.position = Position::after(commit);
        } else if scn > progress.position.scn {
            progress.position = Position::before(scn);
        }
        progress.next_scn = self.transactions.oldest_start().unwrap_or(scn).min(scn);
        // A record at this scn proves that everything below it has been read.
        if let Some(below) = scn.0.checked_sub(1) {
            progress.complete_to = progress.complete_to.max(Some(Scn(below)));
        }
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::LogGone { .. })
}

impl<S: LogSource> LogReader for LogMinerReader<S> {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        loop {
            if let Some(delivery) = &mut self.delivery {
                let event = delivery.next(&mut self.decoder, self.settings.fragment, &mut self.faults)?;
                // The progress is that behind the event: with the last one the transaction's commit is out.
                if delivery.is_over() {
                    let commit = delivery.head().commit;
                    self.delivery = None;
                    self.moved_to(commit.scn, Some(commit));
                }
                if event.is_some() {
                    return Ok(event);
                }
            } else if let Some(due) = self.due.take() {
                if self.decoder.explains(&due.transaction) {
                    self.ahead = None;
                    self.deliver(due)?;
                    continue;
                }
                self.due = Some(due);
                if !self.look_ahead()? {
                    return Ok(None);
                }
            } else if let Some(control) = self.controls.pop_front() {
                self.apply(control)?;
            } else if let Some(call) = self.call.take() {
                self.moved_to(call.highest, None);
                self.pass_closed(call.closed_to);
                self.progress.complete_to = self.progress.complete_to.max(call.end);
                self.look_at_ages(false)?;
                return Ok(Some(LogEvent::Progress(self.progress)));
            } else {
                match self.mine()? {
                    Looked::Rows => {}
                    Looked::End => return Ok(Some(LogEvent::Progress(self.progress))),
                    Looked::Nothing if self.look_at_ages(true)? => return Ok(Some(LogEvent::Progress(self.progress))),
                    Looked::Nothing => return Ok(None),
                }
            }
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn visible_end(&mut self) -> Result<Scn> {
        let end = self.source.visible_end()?;
        // More records may have joined this very scn since the log was last read to its end.
        if self.progress.position.scn <= end {
            self.progress.complete_to = self.progress.complete_to.min(end.0.checked_sub(1).map(Scn));
        }
        Ok(end)
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        if self.noted.is_empty() {
            return Ok(Vec::new());
        }
        self.forget_closed()
    }

    fn push(&mut self) -> Result<bool> {
        if self.settings.may_switch {
            self.source
                .switch_log()
                .map_err(|error| error.doing("switching the log"))?;
        }
        Ok(self.settings.may_switch)
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        let archives = Archives::new(self.source.archives()?);
        archives.from(needed).map(|_| ())
    }

    fn check_readable(&mut self, needed: Scn) -> Result<()> {
        missing::check_readable(&mut self.source, needed, self.settings.missing_patience)
    }

    fn headroom(&self, needed: Scn) -> Option<Headroom> {
        Some(Headroom::Files(self.archives.headroom(needed)))
    }

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    fn figures(&self) -> Figures {
        Figures {
            skipped_records: self.faults.skipped.corrupt + self.faults.skipped.mismatched,
            skipped_transactions: self.faults.skipped.transactions,
            mining_calls: self.mined.calls,
            mined_bytes: self.mined.bytes,
            open_transactions: self.transactions.len() as u64,
            oldest: self.transactions.oldest(),
            oldest_log_bytes: self.oldest_log_bytes,
            buffered_bytes: (self.transactions.size()
                + self.due.as_ref().map_or(0, |due| due.transaction.size())
                + self.delivery.as_ref().map_or(0, Delivery::size)) as u64,
            spilled: self.settings.spilling.figures(),
            retained_bytes: None,
        }
    }
}
