//! The transaction buffer: changes wait here, as the log gave them, until the COMMIT of their transaction is read.
//!
//! Nothing is parsed before that, and nothing is ever dropped but by a ROLLBACK. The buffer knows how many bytes all of
//! them take; beyond its limit the largest transactions go to files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
pub use crate::log::records::{Action, Block, Entry, Incoming, Record};
use crate::log::spill::Spilling;
pub use crate::log::transaction::{Blocks, Transaction};
use crate::position::{Scn, Xid};

/// A transaction that is open for long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overdue {
    pub(super) xid: Xid,
    pub(super) start: Scn,
    /// When it began, in microseconds since the epoch.
    pub(super) micros: i64,
}

/// All transactions whose end has not been read.
#[derive(Debug)]
pub struct Transactions {
    open: HashMap<Xid, Transaction>,
    starts: BTreeSet<(Scn, Xid)>,
    bytes: usize,
    call: u64,
    spilling: Arc<Spilling>,
    limit: usize,
    /// Left out: what comes of them is dropped until they end.
    abandoned: HashSet<Xid>,
    /// Nothing can be spilled before they take this much.
    stuck: usize,
}

impl Transactions {
    /// A buffer under the budget of a reader.
    pub fn new(spilling: Arc<Spilling>) -> Self {
        let limit = spilling.limit();
        Transactions::limited(spilling, limit)
    }

    /// A buffer that takes `limit` bytes and spills beyond.
    pub(super) fn limited(spilling: Arc<Spilling>, limit: usize) -> Self {
        Transactions {
            open: HashMap::new(),
            starts: BTreeSet::new(),
            bytes: 0,
            call: 0,
            spilling,
            limit,
            abandoned: HashSet::new(),
            stuck: 0,
        }
    }

    /// Begins a mining call and numbers it.
    pub fn begin_call(&mut self) {
        self.call += 1;
    }

    /// The number of the last mining call.
    pub fn call(&self) -> u64 {
        self.call
    }

    fn of(&mut self, xid: Xid) -> &mut Transaction {
        let (call, spilling) = (self.call, &self.spilling);
        let new = || Transaction::new(xid, spilling.clone(), call);
        let transaction = self.open.entry(xid).or_insert_with(new);
        transaction.enter(call);
        transaction
    }

    /// Takes back what was buffered since the mining call began; nothing of it may have been applied.
    ///
    /// # Errors
    /// `Internal`.
    pub fn forget_call(&mut self) -> Result<()> {
        let call = self.call;
        self.open.retain(|_, transaction| transaction.call() != call);
        for transaction in self.open.values_mut() {
            transaction.leave(call)?;
        }
        self.bytes = self.open.values().map(Transaction::size).sum();
        Ok(())
    }

    /// The records of a transaction that is open.
    pub fn get(&self, xid: Xid) -> Option<&Transaction> {
        self.open.get(&xid)
    }

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.open.values()
    }

    /// Notes a START record. What was buffered of an earlier transaction of that number is dropped: the log would have
    /// its end if it had one.
    ///
    /// # Errors
    /// `Spill`, `SpillCorrupt`.
    pub fn start(&mut self, xid: Xid, scn: Scn, micros: i64) -> Result<()> {
        self.abandoned.remove(&xid);
        let transaction = self.of(xid);
        transaction.start_micros = micros;
        let earlier = transaction.start();
        transaction.set_start(scn);
        if let Some(earlier) = earlier {
            let before = transaction.size();
            transaction.drop_before(scn)?;
            let after = transaction.size();
            self.bytes = self.bytes - before + after;
            self.starts.remove(&(earlier, xid));
        }
        self.starts.insert((scn, xid));
        Ok(())
    }

    /// Notes that a transaction is prepared.
    pub fn prepare(&mut self, xid: Xid) {
        self.of(xid).prepared = true;
    }

    /// The first transaction that began behind a place, was open for longer than `age` at a time, and has a known beginning.
    pub(super) fn begun_by(&self, behind: Option<Scn>, now: i64, age: Duration) -> Option<Overdue> {
        let from = behind.map_or(Bound::Unbounded, |scn| Bound::Excluded((scn, Xid(u64::MAX))));
        let oldest = self.starts.range((from, Bound::Unbounded)).find_map(|&(start, xid)| {
            let micros = self.open.get(&xid)?.start_micros();
            (micros > 0).then_some(Overdue { xid, start, micros })
        });
        oldest.filter(|oldest| i128::from(now) - i128::from(oldest.micros) > age.as_micros() as i128)
    }

    /// Drops a transaction, and whatever comes of it until it ends.
    pub(super) fn abandon(&mut self, xid: Xid) {
        self.end(xid);
        self.abandoned.insert(xid);
    }

    /// Whether a transaction was dropped, and has not ended.
    pub(super) fn is_abandoned(&self, xid: Xid) -> bool {
        self.abandoned.contains(&xid)
    }

    /// Buffers a record.
    ///
    /// # Errors
    /// `Spill`.
    pub fn push(&mut self, xid: Xid, incoming: &Incoming<'_>) -> Result<()> {
        if self.is_abandoned(xid) {
            return Ok(());
        }
        let transaction = self.of(xid);
        let before = transaction.size();
        transaction.push(incoming);
        let after = transaction.size();
        self.bytes = self.bytes - before + after;
        self.make_room()
    }

    /// Continues the text of a transaction's last record, whether or not further pieces are to come; `false` if there is
    /// none or it grows too long.
    ///
    /// # Errors
    /// `Spill`.
    pub fn extend(&mut self, xid: Xid, piece: &[u8], continued: bool) -> Result<bool> {
        let Some(transaction) = self.open.get_mut(&xid) else {
            return Ok(self.is_abandoned(xid));
        };
        let before = transaction.size();
        let fits = transaction.extend(piece, continued);
        let after = transaction.size();
        self.bytes = self.bytes - before + after;
        self.make_room()?;
        Ok(fits)
    }

    /// Spills the largest transactions once the limit is passed, so many that this is not soon again.
    fn make_room(&mut self) -> Result<()> {
        if self.bytes <= self.limit {
            self.stuck = 0;
            return Ok(());
        }
        if self.bytes < self.stuck {
            return Ok(());
        }
        let enough = self.limit - self.limit / 4;
        let mut sizes: Vec<(usize, Xid)> = self.open.iter().map(|(&xid, open)| (open.size(), xid)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (size, xid) in sizes {
            if self.bytes <= enough {
                break;
            }
            if let Some(transaction) = self.open.get_mut(&xid).filter(|open| open.can_spill()) {
                transaction.spill()?;
                self.bytes = self.bytes - size + transaction.size();
            }
        }
        // A record that does not end, say: not every piece of it needs another look.
        self.stuck = match self.bytes > enough {
            true => self.bytes + self.limit / 8,
            false => 0,
        };
        Ok(())
    }

    /// Takes a transaction's last record back.
    pub fn pop(&mut self, xid: Xid) {
        if let Some(transaction) = self.open.get_mut(&xid) {
            transaction.pop();
        }
    }

    /// Ends a transaction and takes it out of the buffer; `None` if no record of it was read.
    pub fn end(&mut self, xid: Xid) -> Option<Transaction> {
        self.abandoned.remove(&xid);
        let transaction = self.open.remove(&xid)?;
        self.bytes -= transaction.size();
        if let Some(start) = transaction.start() {
            self.starts.remove(&(start, xid));
        }
        Some(transaction)
    }

    /// The oldest START among the transactions whose end has not been read.
    pub fn oldest_start(&self) -> Option<Scn> {
        self.starts.first().map(|(scn, _)| *scn)
    }

    /// The oldest START and its time, in microseconds since the epoch.
    pub fn oldest(&self) -> Option<(Scn, i64)> {
        let (scn, xid) = self.starts.first()?;
        Some((*scn, self.open.get(xid)?.start_micros()))
    }

    /// How many transactions are buffered.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Memory that all of them take: what a budget is held against.
    pub fn size(&self) -> usize {
        self.bytes
    }
}
