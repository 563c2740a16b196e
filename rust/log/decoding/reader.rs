//! The log reader over a slot.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::HashSet;

use crate::dialect::slots::Slots;
use crate::error::{Error, ErrorKind, Result};
use crate::log::captured::{CapturedTable, Selection};
use crate::log::decoding::assembly::{Assembly, Call, Ready};
use crate::log::decoding::block::{Encoded, SlotRow};
use crate::log::decoding::control::{Connect, Control, LogEnd};
use crate::log::decoding::fetching::{CallMade, Fetching, Said};
use crate::log::decoding::order::Order;
use crate::log::decoding::plugins::AnyPlugin;
use crate::log::decoding::session::{self, check_durable};
use crate::log::decoding::settings::SlotSettings;
use crate::log::decoding::slot::{self, SlotStatus};
use crate::log::decoding::tables::Tables;
use crate::log::{Figures, FragmentLimit, Headroom, LogEvent, LogReader, Opening, Progress};
use crate::position::{Incarnation, Lsn, Position, Scn, TransactionSnapshot, Xid};
use crate::split::Partition;

/// What a job says about reading a slot.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which slot, and how.
    pub slot: SlotSettings,
    /// Where fragments end.
    pub fragment: FragmentLimit,
    /// What of a table must be read once its shape has changed; without, everything.
    pub selection: Option<Arc<dyn Selection>>,
    /// What was known of partitions where the log is opened.
    pub partitions: Vec<Partition>,
}

/// Reads a slot (design 3.2). An scn is an LSN here: of a transaction, where its COMMIT record stands; of a row, where its
/// record does.
pub struct SlotReader {
    connect: Connect,
    dialect: Arc<dyn Slots>,
    settings: SlotSettings,
    control: Control,
    session: Option<(Fetching, AnyPlugin)>,
    assembly: Assembly,
    call: Call,
    order: Order,
    ready: VecDeque<Ready>,
    progress: Progress,
    /// `progress` has changed since it was returned last.
    untold: bool,
    incarnation: Incarnation,
    /// Up to where the slot was read to its end, by the flush LSN before the call.
    read_to: u64,
    /// Whether calls are being made.
    is_reading: bool,
    /// A call that came to the log's end is not repeated at once: each decodes again from where the server's own restart
    /// point is, so that a reader that is up with the log would keep the server busy with nothing.
    rests_until: Option<Instant>,
    partitions_looked: Instant,
    slot_looked: Option<Instant>,
    status: SlotStatus,
    /// Failures of the session since something new came last.
    failures: u32,
    /// How many times as long as others a call may take: the server decodes a transaction whole before it gives any of it.
    patience: u32,
    /// Commits returned that are not yet known to be visible.
    noted: HashSet<Xid>,
    noted_limit: usize,
    calls: u64,
    bytes: u64,
}

/// A session is opened anew so often before its error is the reader's.
const ATTEMPTS: u32 = 3;
/// A call may take so many times as long as `socket.timeout` at most.
const MOST_PATIENCE: u32 = 16;
/// The longest rest.
const LONGEST_REST: Duration = Duration::from_secs(5);
const NOTED_LIMIT: usize = 100_000;

/// Why a step could not be made.
enum Failure {
    /// The session is of no use any more.
    Session(Error),
    /// What it said cannot be read.
    Reader(Error),
}

/// What came of a step.
enum Step {
    /// Rows, or the end of a call.
    Made,
    /// There is nothing to read now.
    Nothing,
}

impl SlotReader {
    /// Opens the log at a pair: what commits behind its position comes. Makes the copy of the slot, so that one reader at a
    /// time can be open.
    ///
    /// # Errors
    /// `SlotAhead`, `SlotLost`, `SlotBusy`; `Setup`; database errors.
    pub fn open(
        connect: Connect,
        dialect: Arc<dyn Slots>,
        tables: &[CapturedTable],
        settings: Settings,
        at: Opening,
    ) -> Result<Self> {
        let Settings {
            slot,
            fragment,
            selection,
            partitions,
        } = settings;
        let names = tables.iter().map(|captured| (*captured.table.name).clone()).collect();
        let mut control = Control::open(connect.clone(), dialect.clone(), &slot.slot, names)?;
        let incarnation = control.incarnation()?;
        let status = check_durable(&mut control, &slot.slot, cut(at.position))?;
        let mut tables = Tables::new(tables, selection, &slot, &partitions, &mut control)?;
        tables.expect_binary(control.statements.gives_binary());
        let mut reader = SlotReader {
            session: None,
            assembly: Assembly::new(tables, fragment, at.position),
            call: Call::default(),
            order: Order::default(),
            ready: VecDeque::new(),
            progress: Progress {
                position: at.position,
                next_scn: Scn(cut(at.position).0),
                complete_to: None,
            },
            untold: false,
            incarnation,
            read_to: 0,
            is_reading: false,
            rests_until: None,
            partitions_looked: Instant::now(),
            slot_looked: Some(Instant::now()),
            status,
            failures: 0,
            patience: 1,
            noted: HashSet::default(),
            noted_limit: NOTED_LIMIT,
            calls: 0,
            bytes: 0,
            connect,
            dialect,
            settings: slot,
            control,
        };
        if let Err(error) = reader.open_session() {
            reader.wait_longer(error)?;
        }
        Ok(reader)
    }

    fn open_session(&mut self) -> Result<()> {
        let from = cut(self.assembly.position());
        let opened = session::open(
            &self.connect,
            &*self.dialect,
            &self.settings,
            &mut self.control,
            from,
            (self.patience, self.assembly.tables.is_binary()),
        );
        self.session = Some(opened.map_err(|error| error.doing("opening the slot"))?);
        self.assembly.restart();
        self.read_to = 0;
        Ok(())
    }

    fn step(&mut self) -> std::result::Result<Step, Failure> {
        if self.session.is_none() {
            self.open_session().map_err(|error| match error.is_timeout() {
                true => Failure::Session(error),
                false => Failure::Reader(error),
            })?;
        }
        let Some((session, _)) = &self.session else {
            return Ok(Step::Nothing);
        };
        if !self.is_reading {
            return self.begin();
        }
        let was_binary = self.assembly.tables.is_binary();
        let taken = match session.next() {
            Said::Call(made) => self.called(made),
            Said::Rows(block) => self.take(Some(block)),
            Said::Ended { is_full } => self.take(None).map(|()| self.end_call(is_full)),
            Said::Failed(error) => return Err(Failure::Session(error.doing("reading the slot"))),
        };
        match taken {
            Err(error) if was_binary && !self.assembly.tables.is_binary() => self.read_texts(&error),
            taken => taken.map_err(Failure::Reader)?,
        }
        Ok(Step::Made)
    }

    /// Makes a call if there is anything new to read.
    fn begin(&mut self) -> std::result::Result<Step, Failure> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return Ok(Step::Nothing);
        }
        self.rests_until = None;
        let end = self.control.end().map_err(Failure::Reader)?;
        self.look(end).map_err(Failure::Reader)?;
        if end.flushed <= self.read_to {
            return Ok(Step::Nothing);
        }
        if let Some((session, _)) = &self.session {
            session.ask(end).map_err(Failure::Session)?;
            self.is_reading = true;
        }
        Ok(Step::Made)
    }

    /// A call was made.
    fn called(&mut self, made: CallMade) -> Result<()> {
        self.calls += 1;
        self.call = Call::new(made.end);
        self.order = Order::default();
        self.rests_until = Some(Instant::now() + made.took.min(LONGEST_REST));
        self.look(made.end)
    }

    /// Takes a block of the call's rows, or its end.
    fn take(&mut self, block: Option<Encoded>) -> Result<()> {
        let Some((session, plugin)) = &mut self.session else {
            return Ok(());
        };
        let (assembly, call, control, ready) = (&mut self.assembly, &mut self.call, &mut self.control, &mut self.ready);
        let mut take = |row: SlotRow<'_>| assembly.take(row, plugin, call, control, ready);
        let Some(block) = block else {
            return self.order.finish(&mut take);
        };
        // Before it is read: the block that waits for the next one must not keep that from coming.
        session.give_back(block.size());
        self.order.take(block.block()?, &mut take)
    }

    /// Values come as texts from here on, which every type has. Everything behind the position is read from another copy.
    fn read_texts(&mut self, error: &Error) {
        log::info!("the slot's values are read as texts: {error}");
        self.assembly.tables.expect_binary(false);
        self.leave_session();
        self.rests_until = None;
    }

    fn leave_session(&mut self) {
        self.session = None;
        self.is_reading = false;
    }

    /// What is looked at beside the rows, now and then.
    fn look(&mut self, end: LogEnd) -> Result<()> {
        if self.partitions_looked.elapsed() >= self.settings.look_every && end.flushed > self.read_to {
            self.assembly.tables.refresh(&mut self.control)?;
            self.partitions_looked = Instant::now();
        }
        if self
            .slot_looked
            .is_none_or(|looked| looked.elapsed() >= self.settings.look_every)
        {
            self.slot_looked = Some(Instant::now());
            let was = std::mem::replace(&mut self.status, self.control.status()?);
            self.status.check_lost(&self.settings.slot)?;
            if self.status.wal_status != was.wal_status {
                if let Err(error) = self.status.check(&self.settings.slot) {
                    log::warn!("{error}");
                }
            }
        }
        Ok(())
    }

    fn end_call(&mut self, is_full: bool) {
        self.failures = 0;
        self.patience = 1;
        self.bytes += self.call.bytes;
        if is_full {
            self.rests_until = None;
        } else {
            self.is_reading = false;
            // Every record that begins below was decoded, so every commit there has come.
            self.read_to = self.call.flushed;
            let position = Position::before(Scn(self.call.flushed));
            self.assembly.move_to(position);
            self.ready.push_back(Ready::Moved(self.assembly.position()));
        }
    }

    /// A call took too long: the next one may take longer. A transaction comes whole or not at all, so that one
    /// that takes longer than `socket.timeout` would never come else.
    fn wait_longer(&mut self, error: Error) -> Result<()> {
        if !error.is_timeout() || self.patience >= MOST_PATIENCE {
            return Err(error);
        }
        self.leave_session();
        self.patience *= 2;
        log::warn!(
            "the slot is read again with {} times the patience: {error}",
            self.patience
        );
        Ok(())
    }

    /// The session is of no use any more: everything behind the position is read from another copy.
    fn recover(&mut self, error: Error) -> Result<()> {
        let Err(error) = self.wait_longer(error) else {
            return Ok(());
        };
        // A type need not have a binary form, be its table captured or only published: the server finds that while it decodes.
        if self.assembly.tables.is_binary() && slot::is_refused(&error) {
            self.read_texts(&error);
            return Ok(());
        }
        self.leave_session();
        self.failures += 1;
        let closed = matches!(error.kind(), ErrorKind::Closed);
        if closed || self.failures >= ATTEMPTS {
            let named = match closed {
                true => Ok(()),
                false => self
                    .control
                    .status()
                    .and_then(|status| status.check(&self.settings.slot)),
            };
            return Err(match named {
                Err(named) if !named.is_retryable() || matches!(named.kind(), ErrorKind::SlotUnreserved { .. }) => {
                    named
                }
                _ => error,
            });
        }
        log::warn!(
            "the slot is copied again and read on from {}: {error}",
            self.assembly.position()
        );
        Ok(())
    }

    fn moved(&mut self, position: Position) -> bool {
        let moved = position > self.progress.position;
        self.progress.position = self.progress.position.max(position);
        self.progress.next_scn = Scn(cut(self.progress.position).0);
        moved
    }

    fn note(&mut self, event: &LogEvent) -> Result<()> {
        // Something came that had not come before.
        self.failures = 0;
        if let LogEvent::Fragment(fragment) = event {
            if fragment.last {
                self.noted.insert(fragment.head.xid);
                if self.noted.len() >= self.noted_limit {
                    self.still_open()?;
                    self.noted_limit = NOTED_LIMIT.max(2 * self.noted.len());
                }
            }
        }
        Ok(())
    }
}

/// Up to where a slot may be moved that must still give what commits behind a position.
pub fn cut(position: Position) -> Lsn {
    Lsn(position.scn.0 + u64::from(position.commits.min(1)))
}

impl LogReader for SlotReader {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        loop {
            while let Some(ready) = self.ready.pop_front() {
                match ready {
                    Ready::Event(event, position) => {
                        if let Some(position) = position {
                            self.moved(position);
                        }
                        self.note(&event)?;
                        return Ok(Some(event));
                    }
                    Ready::Moved(position) => {
                        let complete = self.read_to.checked_sub(1).map(Scn);
                        let further = complete > self.progress.complete_to;
                        self.progress.complete_to = self.progress.complete_to.max(complete);
                        self.untold |= self.moved(position) || further;
                        if self.untold && self.ready.is_empty() {
                            self.untold = false;
                            return Ok(Some(LogEvent::Progress(self.progress)));
                        }
                    }
                }
            }
            match self.step() {
                Ok(Step::Made) => {}
                Ok(Step::Nothing) => return Ok(None),
                Err(Failure::Reader(error)) => return Err(error.doing("reading the slot")),
                Err(Failure::Session(error)) => self.recover(error)?,
            }
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn visible_end(&mut self) -> Result<Scn> {
        // The insert position is the first byte that no record has yet.
        let inserted = self.control.end()?.inserted;
        Ok(Scn(inserted.saturating_sub(1)))
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        if self.noted.is_empty() {
            return Ok(Vec::new());
        }
        let text = self.control.snapshot()?;
        let snapshot = TransactionSnapshot::parse(&text)
            .ok_or_else(|| Error::from(ErrorKind::Internal(format!("'{text}' is no snapshot"))))?;
        self.noted.retain(|xid| !snapshot.sees(*xid));
        if self.noted.is_empty() {
            return Ok(Vec::new());
        }
        let sessions = self.control.sessions()?;
        let described = self.noted.iter().map(|xid| {
            let session = sessions.iter().find(|(low, _)| *low == xid.0 as u32);
            match session {
                Some((_, session)) => format!("transaction {xid}, {session}"),
                None => format!("transaction {xid} of no session (prepared, perhaps)"),
            }
        });
        Ok(described.collect())
    }

    fn push(&mut self) -> Result<bool> {
        self.control.push()?;
        Ok(true)
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        check_durable(&mut self.control, &self.settings.slot, Lsn(needed.0)).map(|_| ())
    }

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    fn headroom(&self, _needed: Scn) -> Option<Headroom> {
        self.status.safe_bytes.map(Headroom::Slot)
    }

    /// The flush LSN is asked for in a tenth of a millisecond (measured).
    fn idle(&self) -> (Duration, Duration) {
        (Duration::from_millis(2), Duration::from_millis(200))
    }

    fn partitions(&mut self) -> Option<Vec<Partition>> {
        self.assembly.tables.partitions()
    }

    fn figures(&self) -> Figures {
        let waiting = self.session.as_ref().map_or(0, |(session, _)| session.waiting());
        Figures {
            skipped_records: self.assembly.tables.left_out(),
            mining_calls: self.calls,
            mined_bytes: self.bytes + self.call.bytes,
            buffered_bytes: (self.assembly.size() + self.order.size() + waiting) as u64,
            retained_bytes: Some(self.status.retained()),
            ..Figures::default()
        }
    }
}
