//! A database as the model sees it: a log of records with scns that may be shared, transactions that become visible
//! some time after their COMMIT record, archives that lag behind the log, and actors that move all of it at random.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::rules::{Fault, Rules};

/// A small generator (splitmix64): a seed gives one run, on every machine.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 1000 < percent * 10
    }
}

/// How many keys each of the two tables has.
pub const KEYS: [u64; 2] = [12, 4];

/// Writers stop when the log has so many records.
const LONGEST_LOG: usize = 700;

/// A table's number and a key of it.
pub type RowKey = (u32, u64);

/// A row: its key and which version of it.
pub type Row = (u64, u64);

#[derive(Clone, Copy, Debug)]
pub struct RowChange {
    pub table: u32,
    pub before: Option<Row>,
    pub after: Option<Row>,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Start,
    Change(RowChange),
    Commit,
    Rollback,
    /// The shape of a table changes, or it is emptied.
    Schema {
        table: u32,
        truncates: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub scn: u64,
    pub xid: u64,
    pub kind: Kind,
}

struct Transaction {
    xid: u64,
    /// The scn of its START record, once it has written.
    start: Option<u64>,
    committed: bool,
    changes: Vec<RowChange>,
    locks: Vec<RowKey>,
    /// Writes tables that nobody captures.
    foreign: bool,
    /// Shows among the open transactions.
    listed: bool,
}

pub struct Database {
    pub log: Vec<Record>,
    pub table: BTreeMap<RowKey, u64>,
    /// How many records of the log stand in archives.
    pub archived: usize,
    /// No new transactions.
    pub quiet: bool,
    pub truncated: bool,
    /// How often a reader had to look for a START that it had not seen.
    pub rescues: u64,
    pub rules: Rules,
    initial: BTreeMap<RowKey, u64>,
    open: Vec<Transaction>,
    random: Random,
    next_xid: u64,
    next_version: u64,
    /// How often a record shares the scn of the one before, in percent.
    shared: u64,
    schema_changes: bool,
    /// Transactions show among the open ones some time after their START record.
    listed_late: bool,
}

impl Database {
    pub fn new(seed: u64, rules: Rules) -> Self {
        let mut random = Random::new(seed);
        let mut table = BTreeMap::new();
        for (number, keys) in KEYS.iter().enumerate() {
            for key in (0..*keys).step_by(2) {
                table.insert((number as u32, key), 1000 + key);
            }
        }
        let shared = [0, 30, 60][random.below(3)];
        let schema_changes = random.chance(12);
        let listed_late = random.chance(20);
        Database {
            log: Vec::new(),
            initial: table.clone(),
            table,
            archived: 0,
            quiet: false,
            truncated: false,
            rescues: 0,
            rules,
            open: Vec::new(),
            random,
            next_xid: 1,
            next_version: 1,
            shared,
            schema_changes,
            listed_late,
        }
    }

    /// One action of one actor.
    pub fn step(&mut self) {
        if self.listed_late && self.random.chance(5) {
            self.open.iter_mut().for_each(|one| one.listed = true);
        }
        let works = !self.quiet && self.log.len() < LONGEST_LOG;
        match self.random.below(100) {
            0..15 if works => self.begin(),
            15..50 if works => self.change(),
            50 if works && self.schema_changes => self.change_schema(),
            0..65 => self.commit(),
            65..82 => self.become_visible(),
            _ => {
                let more = 1 + self.random.below(6);
                self.archived = self.log.len().min(self.archived + more);
            }
        }
    }

    /// What the others do while one waits for an answer.
    pub fn others(&mut self) {
        let most = if self.random.chance(5) { 30 } else { 4 };
        for _ in 0..self.random.below(most) {
            self.step();
        }
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    fn add(&mut self, xid: u64, kind: Kind) -> u64 {
        let last = self.log.last().map_or(0, |record| record.scn);
        let scn = if last > 0 && self.random.chance(self.shared) {
            last
        } else {
            last + 1 + self.random.below(2) as u64
        };
        self.log.push(Record { scn, xid, kind });
        scn
    }

    fn begin(&mut self) {
        if self.open.len() < 4 {
            let xid = self.next_xid;
            self.next_xid += 1;
            self.open.push(Transaction {
                xid,
                start: None,
                committed: false,
                changes: Vec::new(),
                locks: Vec::new(),
                foreign: self.random.chance(12),
                listed: true,
            });
        }
    }

    fn pick(&mut self, committed: bool) -> Option<usize> {
        let count = self.open.iter().filter(|one| one.committed == committed).count();
        if count == 0 {
            return None;
        }
        let chosen = self.random.below(count);
        let mut with_number = self
            .open
            .iter()
            .enumerate()
            .filter(|(_, one)| one.committed == committed);
        with_number.nth(chosen).map(|(number, _)| number)
    }

    fn locked_by_other(&self, key: RowKey, number: usize) -> bool {
        let mut others = self.open.iter().enumerate().filter(|(other, _)| *other != number);
        others.any(|(_, one)| one.locks.contains(&key))
    }

    /// The row as the transaction sees it.
    fn current(&self, number: usize, key: RowKey) -> Option<u64> {
        for change in self.open[number].changes.iter().rev() {
            if change.table == key.0 {
                if let Some((_, version)) = change.after.filter(|after| after.0 == key.1) {
                    return Some(version);
                }
                if change.before.is_some_and(|before| before.0 == key.1) {
                    return None;
                }
            }
        }
        self.table.get(&key).copied()
    }

    fn change(&mut self) {
        let Some(number) = self.pick(false) else { return };
        if self.open[number].foreign {
            self.start(number);
            return;
        }
        let table = u32::from(self.random.chance(25));
        let keys = KEYS[table as usize] as usize;
        let (key, other) = (self.random.below(keys) as u64, self.random.below(keys) as u64);
        if self.locked_by_other((table, key), number) {
            return;
        }
        let version = self.next_version;
        self.next_version += 1;
        let change = match self.current(number, (table, key)) {
            None => (None, Some((key, version))),
            Some(old) => match self.random.below(5) {
                0..2 => (Some((key, old)), Some((key, version))),
                2 => (Some((key, old)), None),
                _ => {
                    let free = other != key
                        && !self.locked_by_other((table, other), number)
                        && self.current(number, (table, other)).is_none();
                    (Some((key, old)), Some((if free { other } else { key }, version)))
                }
            },
        };
        let (before, after) = change;
        self.start(number);
        let transaction = &mut self.open[number];
        let touched = [before, after].into_iter().flatten();
        transaction.locks.extend(touched.map(|(key, _)| (table, key)));
        let change = RowChange { table, before, after };
        transaction.changes.push(change);
        let xid = transaction.xid;
        self.add(xid, Kind::Change(change));
    }

    fn start(&mut self, number: usize) {
        if self.open[number].start.is_none() {
            let scn = self.add(self.open[number].xid, Kind::Start);
            self.open[number].start = Some(scn);
            self.open[number].listed = !self.listed_late;
        }
    }

    fn commit(&mut self) {
        let Some(number) = self.pick(false) else { return };
        if self.open[number].start.is_none() {
            self.open.swap_remove(number);
        } else if self.random.chance(12) {
            self.add(self.open[number].xid, Kind::Rollback);
            self.open.swap_remove(number);
        } else {
            self.add(self.open[number].xid, Kind::Commit);
            self.open[number].committed = true;
            self.open[number].listed = true;
        }
    }

    fn become_visible(&mut self) {
        let Some(number) = self.pick(true) else { return };
        let transaction = self.open.swap_remove(number);
        apply(&mut self.table, &transaction.changes);
    }

    fn change_schema(&mut self) {
        let table = u32::from(self.random.chance(50));
        if self.open.iter().any(|one| one.locks.iter().any(|key| key.0 == table)) {
            return;
        }
        let truncates = self.random.chance(50);
        let xid = self.next_xid;
        self.next_xid += 1;
        self.add(xid, Kind::Start);
        self.add(xid, Kind::Schema { table, truncates });
        self.add(xid, Kind::Commit);
        if truncates {
            self.truncated = true;
            self.table.retain(|key, _| key.0 != table);
        }
    }

    /// `V`.
    pub fn visible_end(&self) -> u64 {
        self.log.last().map_or(0, |record| record.scn)
    }

    /// `E`: the last scn that is archived whole.
    pub fn minable_end(&self) -> u64 {
        let scn = |number: usize| self.log.get(number).map(|record| record.scn);
        let last = self.archived.checked_sub(1).and_then(scn).unwrap_or(0);
        let whole = scn(self.archived) != Some(last) || self.rules.fault == Fault::EndInsideAnScn;
        if whole { last } else { last - 1 }
    }

    /// The oldest START among transactions that the database still lists.
    pub fn oldest_start(&self) -> Option<u64> {
        let listed = self.open.iter().filter(|one| one.listed);
        listed.filter_map(|one| one.start).min()
    }

    /// The transactions that the database lists as open, with the scn of their START.
    pub fn listed(&self) -> impl Iterator<Item = (u64, Option<u64>)> {
        self.open
            .iter()
            .filter(|one| one.listed)
            .map(|one| (one.xid, one.start))
    }

    pub fn is_open(&self, xid: u64) -> bool {
        self.open.iter().any(|one| one.xid == xid)
    }

    /// Whether nobody works and everything is archived.
    pub fn is_at_rest(&self) -> bool {
        self.quiet && self.open.is_empty() && self.archived == self.log.len()
    }

    /// The commits in their order: where, and which transaction's.
    fn commits(&self) -> Vec<((u64, u32), u64)> {
        let (mut scn, mut nth) = (0, 0);
        let mut commits = Vec::new();
        for record in &self.log {
            if record.scn != scn {
                (scn, nth) = (record.scn, 0);
            }
            if matches!(record.kind, Kind::Commit) {
                commits.push(((scn, nth), record.xid));
                nth += 1;
            }
        }
        commits
    }

    /// The tables as the commits before a cut left them.
    pub fn state_at(&self, cut: (u64, u32)) -> BTreeMap<RowKey, u64> {
        let mut state = self.initial.clone();
        for (_, xid) in self.commits().into_iter().filter(|(commit, _)| *commit < cut) {
            for record in self.log.iter().filter(|record| record.xid == xid) {
                match record.kind {
                    Kind::Change(change) => apply(&mut state, &[change]),
                    Kind::Schema { table, truncates: true } => state.retain(|key, _| key.0 != table),
                    _ => {}
                }
            }
        }
        state
    }

    /// All changes of the commits behind a cut, in commit order.
    pub fn changes_behind(&self, cut: (u64, u32)) -> Vec<RowChange> {
        let mut changes = Vec::new();
        for (_, xid) in self.commits().into_iter().filter(|(commit, _)| *commit >= cut) {
            let records = self.log.iter().filter(|record| record.xid == xid);
            changes.extend(records.filter_map(|record| match record.kind {
                Kind::Change(change) => Some(change),
                _ => None,
            }));
        }
        changes
    }
}

fn apply(table: &mut BTreeMap<RowKey, u64>, changes: &[RowChange]) {
    for change in changes {
        if let Some((key, _)) = change.before {
            table.remove(&(change.table, key));
        }
        if let Some((key, version)) = change.after {
            table.insert((change.table, key), version);
        }
    }
}

/// The one database of a run.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Database>>);

impl Shared {
    pub fn new(database: Database) -> Self {
        Shared(Arc::new(Mutex::new(database)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap()
    }

    /// The database after the others have done something.
    pub fn after_others(&self) -> MutexGuard<'_, Database> {
        let mut database = self.lock();
        database.others();
        database
    }
}
