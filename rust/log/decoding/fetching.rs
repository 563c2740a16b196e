//! The thread that fetches: the server decodes and sends while what came before is being read.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::dialect::Query;
use crate::error::{Error, ErrorKind, Result};
use crate::log::decoding::block::Encoded;
use crate::log::decoding::control::LogEnd;
use crate::odbc::{CancelToken, Connection};

/// Bytes of rows that wait to be read at most, those of one fetch aside: about a call's, so that the server works on the next
/// call while these are read (measured: with 8 MB it had to wait for the reader until the call's last rows, and then the reader
/// for it).
const WAITING_BYTES: usize = 64 << 20;
/// Bytes that one fetch should bring, and how many blocks it brings at most.
const FETCH_BYTES: usize = 4 << 20;
/// Few: what comes next may be large of a sudden, and the driver holds all that a fetch brings.
const FETCH_BLOCKS: usize = 32;
/// Blocks that the first fetch of a call asks for: one more than a small call has, so that it shows at once that there is none.
const FIRST_BLOCKS: usize = 2;
/// Bytes that the rows of a call should take. Each call decodes again from the server's own restart point, which moves every
/// 15 seconds of a busy server (measured: the tenth call for 100,000 changes each took twice as long as the first one), so that
/// small calls would read a long log many times. But what the server sorts of a large call does not fit into the memory that
/// its session may take (measured: half as long again, through files).
const CALL_BYTES: u64 = 96 << 20;
/// What a row takes in the server's memory beside its bytes.
const ROW_BYTES: u64 = 48;
/// Changes that a call asks for at least, and how many times the first one's number at most.
const LEAST_CHANGES: u64 = 1_000;
const MOST_TIMES: u64 = 32;
/// How long the end of a thread is waited for.
const FAREWELL: Duration = Duration::from_secs(10);

/// What is asked for.
pub(super) struct Calls {
    /// The call for so many changes.
    pub(super) changes: Box<dyn Fn(u64) -> Query + Send>,
    /// Asks for the log's end.
    pub(super) end: Query,
    /// How many changes the first call asks for.
    pub(super) first: u64,
}

/// What the thread says.
#[derive(Debug)]
pub(super) enum Said {
    /// A call was made; its rows come.
    Call(CallMade),
    /// Rows.
    Rows(Encoded),
    /// The call's last row came. If it brought as many changes as it asked for there may be more, and the next call is made
    /// without being asked for.
    Ended {
        /// It did.
        is_full: bool,
    },
    /// The connection is of no use any more.
    Failed(Error),
}

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallMade {
    /// The log's end before it.
    pub(super) end: LogEnd,
    /// How long the server took until its first rows.
    pub(super) took: Duration,
}

/// The thread, for whom it fetches.
pub(super) struct Fetching {
    asked: Option<Sender<LogEnd>>,
    said: Receiver<Said>,
    room: Arc<Room>,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Fetching {
    /// Starts the thread over a connection.
    pub(super) fn start(connection: Connection, calls: Calls) -> Result<Self> {
        let (asked, asks) = bounded(1);
        let (says, said) = unbounded();
        let room = Arc::new(Room::default());
        let cancel = connection.cancel_token();
        let fetcher = Fetcher {
            connection,
            limit: calls.first.max(1),
            calls,
            says,
            room: room.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("tidemark-slot".into())
            .spawn(move || fetcher.run(&asks))
            .map_err(|error| ErrorKind::Internal(format!("no thread could be started to read the slot: {error}")))?;
        Ok(Fetching {
            asked: Some(asked),
            said,
            room,
            cancel,
            thread: Some(thread),
        })
    }

    /// Has calls made until one comes to the log's end; the end is that of now.
    pub(super) fn ask(&self, end: LogEnd) -> Result<()> {
        let sent = self.asked.as_ref().map(|asked| asked.send(end));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(has_ended()),
        }
    }

    /// Waits for what the thread says next. A block is to be given back once it has been read.
    pub(super) fn next(&self) -> Said {
        self.said.recv().unwrap_or_else(|_| Said::Failed(has_ended()))
    }

    /// A block of this size was read.
    pub(super) fn give_back(&self, size: usize) {
        self.room.give_back(size);
    }

    /// Bytes of rows that wait to be read.
    pub(super) fn waiting(&self) -> usize {
        self.room.held().bytes
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.asked = None;
        self.room.leave();
        self.cancel.close();
        let Some(thread) = self.thread.take() else { return };
        match self.cancel.close_and_wait(FAREWELL) {
            // A temporary slot ends with its connection, which the thread drops: who makes another one waits for that.
            true => drop(thread.join()),
            false => log::warn!("a call on the slot's connection does not end; its thread is left behind"),
        }
    }
}

fn has_ended() -> Error {
    ErrorKind::Internal("the thread that reads the slot has ended".into()).into()
}

/// Room for rows that wait.
#[derive(Default)]
struct Room {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    is_left: bool,
}

impl Held {
    fn is_full(&self) -> bool {
        self.bytes >= WAITING_BYTES
    }
}

impl Room {
    fn held(&self) -> MutexGuard<'_, Held> {
        // A number cannot be half written.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is none.
    fn is_full(&self) -> bool {
        self.held().is_full()
    }

    /// Waits until there is some; whether anybody still wants rows.
    fn wait(&self) -> bool {
        let full = |held: &mut Held| held.is_full() && !held.is_left;
        let held = self.changed.wait_while(self.held(), full);
        !held.unwrap_or_else(PoisonError::into_inner).is_left
    }

    fn take(&self, size: usize) {
        self.held().bytes += size;
    }

    fn give_back(&self, size: usize) {
        let mut held = self.held();
        held.bytes = held.bytes.saturating_sub(size);
        self.changed.notify_one();
    }

    fn leave(&self) {
        self.held().is_left = true;
        self.changed.notify_one();
    }
}

/// What a call brought.
#[derive(Default)]
struct Brought {
    rows: u64,
    bytes: u64,
}

/// The thread's own.
struct Fetcher {
    connection: Connection,
    calls: Calls,
    /// For how many changes the next call asks.
    limit: u64,
    says: Sender<Said>,
    room: Arc<Room>,
}

impl Fetcher {
    fn run(mut self, asks: &Receiver<LogEnd>) {
        while let Ok(end) = asks.recv() {
            if let Err(error) = self.read_on(end) {
                // Nobody is there to hear it where everybody has left.
                let _ = self.says.send(Said::Failed(error));
                return;
            }
        }
    }

    /// Makes calls until one comes to the log's end.
    fn read_on(&mut self, mut end: LogEnd) -> Result<()> {
        loop {
            let limit = self.limit;
            let Some(brought) = self.call(end, limit)? else {
                return Ok(());
            };
            let is_full = brought.rows >= limit;
            let _ = self.says.send(Said::Ended { is_full });
            if let Some(average) = brought.bytes.checked_div(brought.rows) {
                let most = (CALL_BYTES / (average + ROW_BYTES)).clamp(
                    LEAST_CHANGES.min(self.calls.first),
                    self.calls.first.saturating_mul(MOST_TIMES),
                );
                self.limit = if is_full { most } else { most.min(limit) };
            }
            if !is_full {
                return Ok(());
            }
            end = LogEnd::ask(&mut self.connection, &self.calls.end)?;
        }
    }

    /// One call; `None` if nobody wants its rows any more.
    ///
    /// Its rows go out as the server makes them, inside of its transaction: what the server had to keep it would write once
    /// more (measured: a tenth of its time). An open transaction holds dead rows of the whole database back, so that it ends
    /// before anybody is waited for: at its end the server keeps what is left of the result. `NO SCROLL`: nothing but that.
    fn call(&mut self, end: LogEnd, limit: u64) -> Result<Option<Brought>> {
        let query = (self.calls.changes)(limit);
        let declare = format!("BEGIN; DECLARE {CURSOR} NO SCROLL CURSOR WITH HOLD FOR {}", query.sql);
        let began = Instant::now();
        self.connection.execute(&declare)?;
        let mut brought = Brought::default();
        let (mut is_kept, mut is_told) = (false, false);
        let mut blocks = FIRST_BLOCKS;
        loop {
            if !is_kept && self.room.is_full() {
                self.connection.execute("COMMIT")?;
                is_kept = true;
            }
            let fetch = format!("FETCH FORWARD {blocks} FROM {CURSOR}");
            self.connection.start(&fetch, &query.columns, blocks)?;
            if !std::mem::replace(&mut is_told, true) {
                // With its first rows the server has decoded all of them.
                let took = began.elapsed();
                let _ = self.says.send(Said::Call(CallMade { end, took }));
            }
            let Some((came, largest)) = self.hand_on(is_kept, &mut brought)? else {
                return Ok(None);
            };
            if came < blocks {
                break;
            }
            blocks = (FETCH_BYTES / largest).clamp(1, FETCH_BLOCKS.min(2 * blocks));
        }
        let end = if is_kept { "" } else { "; COMMIT" };
        self.connection.execute(&format!("CLOSE {CURSOR}{end}"))?;
        Ok(Some(brought))
    }

    /// Hands on the blocks of a fetch: how many there were, and how large the largest one was; `None` if nobody wants them any
    /// more. While the server does not keep the rest of the result nobody is waited for.
    fn hand_on(&mut self, is_kept: bool, brought: &mut Brought) -> Result<Option<(usize, usize)>> {
        let (mut came, mut largest) = (0, 1);
        loop {
            // Asked before the driver is: a large row is not brought while others wait.
            if is_kept && !self.room.wait() {
                return Ok(None);
            }
            let Some(batch) = self.connection.fetch()? else {
                return Ok(Some((came, largest)));
            };
            for row in 0..batch.rows() {
                let block = Encoded::of(&batch, row)?;
                came += 1;
                largest = largest.max(block.size());
                brought.rows += block.count()?;
                // Four digits are three bytes.
                brought.bytes += block.size() as u64 * 3 / 4;
                self.room.take(block.size());
                let _ = self.says.send(Said::Rows(block));
            }
        }
    }
}

const CURSOR: &str = "tidemark_changes";
