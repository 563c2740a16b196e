//! A log reader over the model's database, after the words of the `LogReader` trait and of design 3.1.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tidemark::catalog::change::{ChangeKind, SchemaChange};
use tidemark::error::Result;
use tidemark::log::{Change, Changes, Fragment, LogEvent, LogReader, Progress, SchemaEvent, TransactionHead};
use tidemark::position::{CommitPosition, Incarnation, Place, Position, Scn, Xid};

use crate::codec::{image, table_names};
use crate::database::{Kind, Record, RowChange, Shared};
use crate::rules::{Fault, Rules};

/// Whom the reader serves: some rules are broken for one of the two only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Snapshot,
    Stream,
}

/// The log's identity.
pub const INCARNATION: Incarnation = Incarnation(7);

struct Open {
    xid: u64,
    /// The scn of its START record, if that was read.
    start: Option<u64>,
    changes: Vec<(RowChange, Place)>,
    /// The table whose shape it changed, whether it emptied it, and where.
    schema: Option<(u32, bool, Place)>,
}

struct State {
    database: Shared,
    rules: Rules,
    purpose: Purpose,
    opening: Position,
    /// The next record of the log, by its number.
    at: usize,
    scn: u64,
    /// COMMIT records read at that scn.
    commits: u32,
    open: Vec<Open>,
    noted: Vec<u64>,
    queue: VecDeque<(LogEvent, Progress)>,
    /// Behind the last event in the queue.
    ahead: Progress,
    /// Behind the last event returned.
    progress: Progress,
    /// What the faulty reader says of the log's end before it has read anything.
    first_answer: Option<Scn>,
    /// `V` when the faulty reader asks for it.
    visible_at_wait: u64,
    /// The newest answer.
    visible: u64,
    rescues: u64,
    fragments: u64,
}

/// The reader; whoever holds a clone moves it.
#[derive(Clone)]
pub struct FakeLog(Arc<Mutex<State>>);

impl FakeLog {
    /// Opens at a pair.
    pub fn open(database: &Shared, mine_from: Scn, opening: Position, purpose: Purpose) -> Self {
        let guard = database.lock();
        let at = guard.log.partition_point(|record| record.scn < mine_from.0);
        let progress = Progress {
            position: opening,
            next_scn: mine_from,
            complete_to: None,
        };
        let hasty = guard.rules.fault == Fault::NotReadUpToOpening && purpose == Purpose::Snapshot;
        FakeLog(Arc::new(Mutex::new(State {
            database: database.clone(),
            rules: guard.rules,
            purpose,
            opening,
            at,
            scn: 0,
            commits: 0,
            open: Vec::new(),
            noted: Vec::new(),
            queue: VecDeque::new(),
            ahead: progress,
            progress,
            first_answer: hasty.then_some(Scn(opening.scn.0 + 1)),
            visible_at_wait: 0,
            visible: 0,
            rescues: 0,
            fragments: 0,
        })))
    }

    /// Opens where a snapshot reader begins: `E`, then the open transactions, then the position.
    pub fn open_now(database: &Shared) -> (Self, Position) {
        let mut first_end = database.after_others().minable_end();
        let oldest = database.after_others().oldest_start();
        if database.lock().rules.fault == Fault::OpenBeforeEnd {
            (0..20).for_each(|_| database.lock().others());
            first_end = database.lock().minable_end();
        }
        let guard = database.after_others();
        let end = guard.minable_end();
        let behind = guard.rules.fault == Fault::OpeningBehindEnd;
        let position = Position {
            scn: Scn(end),
            commits: if behind { u32::MAX } else { 0 },
        };
        let mut mine_from = oldest.unwrap_or(first_end).min(first_end);
        if guard.rules.exact {
            let over = |xid: u64| {
                let mut commits = guard.log.iter().filter(|record| record.xid == xid);
                commits.any(|record| matches!(record.kind, Kind::Commit) && record.scn < position.scn.0)
            };
            let starts = guard.log.iter().filter(|record| matches!(record.kind, Kind::Start));
            let needed = starts.filter(|record| !over(record.xid)).map(|record| record.scn);
            mine_from = needed.min().unwrap_or(end).min(end).min(mine_from);
        }
        drop(guard);
        let log = FakeLog::open(database, Scn(mine_from), position, Purpose::Snapshot);
        (log, position)
    }

    /// The newest `V`.
    pub fn visible(&self) -> Scn {
        Scn(self.lock().visible)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The oldest START that is open where the reader reads, whatever it has handed out.
    pub fn next_scn_of_read_ahead(&self) -> Scn {
        self.lock().oldest_start()
    }
}

impl LogReader for FakeLog {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        let mut state = self.lock();
        state.first_answer = None;
        drop(state.database.after_others());
        let lazy = state.rules.fault == Fault::EndNotAsked && state.purpose == Purpose::Snapshot;
        if lazy && state.queue.is_empty() && state.database.lock().below(3) == 0 {
            return Ok(None);
        }
        loop {
            if let Some((event, progress)) = state.queue.pop_front() {
                state.progress = progress;
                return Ok(Some(event));
            }
            let reached = state.mine();
            if state.settle() && reached {
                return Ok(None);
            }
        }
    }

    fn progress(&self) -> Progress {
        let mut state = self.lock();
        let complete_to = state.first_answer.take().or(state.progress.complete_to);
        Progress {
            complete_to,
            ..state.progress
        }
    }

    fn visible_end(&mut self) -> Result<Scn> {
        let mut state = self.lock();
        let visible = state.database.after_others().visible_end();
        state.visible = match state.rules.fault {
            Fault::HighBeforeSelect => state.visible_at_wait,
            _ => visible,
        };
        Ok(Scn(state.visible))
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        let mut state = self.lock();
        let shared = state.database.clone();
        let database = shared.after_others();
        state.noted.retain(|xid| database.is_open(*xid));
        state.visible_at_wait = database.visible_end();
        let unseen = state.rules.fault == Fault::ReadBackUnseen && state.purpose == Purpose::Stream;
        if state.rules.fault == Fault::NoWait || unseen {
            return Ok(Vec::new());
        }
        Ok(state.noted.iter().map(|xid| format!("transaction {xid}")).collect())
    }

    fn push(&mut self) -> Result<bool> {
        let state = self.lock();
        let mut database = state.database.lock();
        database.archived = database.log.len();
        Ok(true)
    }

    fn check_kept(&mut self, _: Scn) -> Result<()> {
        Ok(())
    }

    fn incarnation(&self) -> Incarnation {
        INCARNATION
    }
}

impl State {
    fn oldest_start(&self) -> Scn {
        Scn(self.open.iter().filter_map(|one| one.start).min().unwrap_or(self.scn))
    }

    /// Reads one window; returns whether it came to the end of the log as it was when that was asked for.
    fn mine(&mut self) -> bool {
        let fault = self.rules.fault;
        let shared = self.database.clone();
        let end_now = || {
            let database = shared.lock();
            match fault {
                Fault::VisibleIsMinable => (database.visible_end(), database.archived),
                _ => (database.minable_end(), database.archived),
            }
        };
        let (mut end, archived) = end_now();
        let mut database = shared.after_others();
        let from = self.at;
        let size = 1 + database.below(8);
        let until = database.archived.min(from + size);
        if fault == Fault::NumbersStartWithWindow {
            self.commits = 0;
        }
        while fault == Fault::WindowExclusive && self.at < until && database.log[self.at].scn == self.scn {
            self.at += 1;
        }
        let queued = self.queue.len();
        while self.at < until {
            self.at += 1;
            self.read_record(&database.log[..self.at]);
        }
        let came_back = self.at > from;
        if !came_back && fault == Fault::EmptyResultMoves {
            self.at = database.log.len();
            let moved = Position::before(Scn(database.visible_end()));
            self.ahead.position = self.ahead.position.max(moved);
        }
        database.rescues += std::mem::take(&mut self.rescues);
        drop(database);
        if fault == Fault::EndAskedAfter {
            shared.lock().others();
            end = end_now().0;
        }
        if came_back {
            let position = Position {
                scn: Scn(self.scn),
                commits: self.commits,
            };
            self.ahead.position = self.ahead.position.max(position);
            self.ahead.next_scn = self.oldest_start();
        }
        if fault == Fault::NextScnWithoutQueued {
            for (event, progress) in self.queue.iter_mut().skip(queued) {
                progress.next_scn = self.ahead.next_scn;
                if let LogEvent::Fragment(fragment) = event {
                    fragment.head.next_scn = self.ahead.next_scn;
                }
            }
        }
        let reached = self.at >= archived;
        if reached {
            self.ahead.complete_to = Some(Scn(end));
        }
        reached
    }

    /// Brings what the window left behind its last event to where it shows; whether there is nothing to return.
    fn settle(&mut self) -> bool {
        let ahead = self.ahead;
        let last = match self.queue.back_mut() {
            Some((_, progress)) => progress,
            None => &mut self.progress,
        };
        if (last.position, last.next_scn) == (ahead.position, ahead.next_scn) {
            *last = ahead;
        } else {
            self.queue.push_back((LogEvent::Progress(ahead), ahead));
        }
        self.queue.is_empty()
    }

    /// Takes the last of the records.
    fn read_record(&mut self, log: &[Record]) {
        let Some(record) = log.last() else { return };
        if record.scn != self.scn {
            (self.scn, self.commits) = (record.scn, 0);
        }
        let number = self.open.iter().position(|one| one.xid == record.xid);
        match record.kind {
            Kind::Start => self.open.push(Open {
                xid: record.xid,
                start: Some(record.scn),
                ..unknown(record.xid)
            }),
            Kind::Change(change) => {
                let number = number.unwrap_or_else(|| {
                    self.open.push(unknown(record.xid));
                    self.open.len() - 1
                });
                let place = place(record.scn, change.table, &self.open[number].changes);
                self.open[number].changes.push((change, place));
            }
            Kind::Rollback => {
                number.map(|number| self.open.swap_remove(number));
            }
            Kind::Schema { table, truncates } => {
                let heard = self.rules.fault != Fault::SchemaUnheard || self.purpose == Purpose::Stream;
                let number = number.unwrap_or_else(|| {
                    self.open.push(unknown(record.xid));
                    self.open.len() - 1
                });
                self.open[number].schema = heard.then(|| (table, truncates, place(record.scn, table, &[])));
            }
            Kind::Commit => {
                let commit = CommitPosition {
                    scn: Scn(record.scn),
                    nth: self.commits,
                };
                self.commits += 1;
                let transaction = number.map(|number| self.open.swap_remove(number));
                self.read_commit(transaction.unwrap_or_else(|| unknown(record.xid)), commit, log);
            }
        }
    }

    fn read_commit(&mut self, mut transaction: Open, commit: CommitPosition, log: &[Record]) {
        let noted = self.opening.includes(commit);
        if !noted || self.rules.fault != Fault::NotedForgotten {
            self.noted.push(transaction.xid);
        }
        if noted {
            return;
        }
        if transaction.start.is_none() && self.rules.rescue() {
            self.rescues += 1;
            transaction.changes.clear();
            for record in log.iter().filter(|record| record.xid == transaction.xid) {
                match record.kind {
                    Kind::Start => transaction.start = Some(record.scn),
                    Kind::Change(change) => {
                        let place = place(record.scn, change.table, &transaction.changes);
                        transaction.changes.push((change, place));
                    }
                    Kind::Schema { table, truncates } => {
                        transaction.schema = Some((table, truncates, place(record.scn, table, &[])));
                    }
                    _ => {}
                }
            }
        }
        let before = self.ahead;
        self.ahead.position = Position::after(commit);
        self.ahead.next_scn = self.oldest_start();
        let head = TransactionHead {
            xid: Xid(transaction.xid),
            commit,
            commit_micros: 5,
            start: Scn(transaction.start.unwrap_or(0)),
            next_scn: self.ahead.next_scn,
        };
        if let Some((table, truncates, place)) = transaction.schema {
            let change = SchemaChange {
                table: table_names()[table as usize].clone(),
                kind: if truncates {
                    ChangeKind::Truncate
                } else {
                    ChangeKind::Alter
                },
                statement: String::new(),
                shape: None,
            };
            let event = SchemaEvent {
                head,
                table,
                place,
                change,
            };
            self.queue.push_back((LogEvent::Schema(event), before));
        }
        let mut left = &transaction.changes[..];
        let mut number = 0;
        while !left.is_empty() || (number == 0 && transaction.schema.is_some()) {
            self.fragments += 1;
            let size = left.len().min(1 + (self.fragments % 3) as usize);
            let (part, rest) = left.split_at(size);
            left = rest;
            let last = left.is_empty();
            let fragment = Fragment {
                head,
                number,
                last,
                changes: self.changes(part),
            };
            number += 1;
            let progress = if last { self.ahead } else { before };
            self.queue.push_back((LogEvent::Fragment(fragment), progress));
        }
    }

    fn changes(&self, part: &[(RowChange, Place)]) -> Changes {
        let mut changes = Changes::default();
        for &(change, place) in part {
            let RowChange {
                table,
                mut before,
                after,
            } = change;
            let moves = before.map(|row| row.0) != after.map(|row| row.0);
            let only_arrives = self.rules.fault == Fault::KeyChangeOnlyArrives && self.purpose == Purpose::Snapshot;
            if only_arrives && moves && after.is_some() {
                before = None;
            }
            let judged = after.or(before).map_or(0, |row| row.0);
            let values = &mut changes.values;
            let before = before.map(|row| image(values, row, judged));
            let after = after.map(|row| image(values, row, judged));
            changes.rows.push(Change {
                table,
                before,
                after,
                place,
            });
        }
        changes
    }
}

fn unknown(xid: u64) -> Open {
    Open {
        xid,
        start: None,
        changes: Vec::new(),
        schema: None,
    }
}

/// The place of a transaction's next record.
fn place(scn: u64, table: u32, before: &[(RowChange, Place)]) -> Place {
    let same = before
        .iter()
        .filter(|(_, place)| (place.scn.0, place.table) == (scn, u64::from(table)));
    Place {
        scn: Scn(scn),
        table: u64::from(table),
        nth: same.count() as u32,
        ..Place::default()
    }
}
