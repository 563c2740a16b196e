//! The thread that decides what is read: pages in rounds while there are chunks (`snapshot`), then the log (`streaming`).

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select};

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::Patience;
use crate::reader::capture::{Capture, Connector};
use crate::reader::delivery::Delivery;
use crate::reader::headroom::Shortage;
use crate::reader::leaving::Leaving;
use crate::reader::shared::Shared;
use crate::reader::snapshot::Snapshot;
use crate::reader::state::PageId;
use crate::reader::threads::Threads;
use crate::row::batch::BatchLimit;
use crate::snapshot::PageLimit;
use crate::snapshot::page::RoundLimits;
use crate::split::{Chunk, StreamSplit, ToEnumerator};
use crate::stop::Stopped;
use crate::stream::OnTruncate;

/// How large what the worker makes becomes, and how long it waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLimits {
    /// Pages that are read at the same time.
    pub(super) connections: usize,
    pub(super) rounds: RoundLimits,
    pub(super) batch: BatchLimit,
    pub(super) on_truncate: OnTruncate,
    pub(super) on_mismatch: OnFault,
    /// How often the log is told how the snapshot comes along.
    pub(super) progress: Duration,
    /// How often the log phase looks whether other tables have come to match.
    pub(super) look_for_tables: Duration,
    /// `scan.lsn-commit.checkpoints-num-delay`: how many checkpoints a log that is kept for the job is kept behind the newest
    /// one that is complete.
    pub(super) confirm_delay: usize,
    /// `log.headroom.warn`, in bytes.
    pub(super) headroom_warn: u64,
    /// `log.gone` = `resnapshot`: what was restored is not read before it is known to count.
    pub(super) asks_first: bool,
}

impl WorkerLimits {
    /// What a job asks for.
    pub(super) fn of(config: &Config) -> Self {
        let mut limits = WorkerLimits::new(config.chunk_rows);
        limits.connections = config.snapshot.connections;
        limits.rounds.page.bytes = config.snapshot.page_bytes;
        limits.rounds.round_bytes = config.snapshot.round_bytes;
        limits.on_truncate = config.on_truncate;
        limits.on_mismatch = config.log.on_mismatch;
        limits.headroom_warn = config.log.headroom_warn;
        limits.asks_first = config.log.resnapshot;
        if let Some(slot) = &config.slot {
            limits.confirm_delay = slot.confirm_delay;
        }
        limits
    }

    /// The limits for pages of so many rows; everything else has its default.
    pub(super) fn new(page_rows: usize) -> Self {
        WorkerLimits {
            connections: 2,
            rounds: RoundLimits {
                page: PageLimit {
                    rows: page_rows,
                    bytes: 16 << 20,
                },
                round_bytes: 64 << 20,
                visibility: Patience {
                    limit: Duration::from_secs(30),
                    pause: Duration::from_millis(20),
                },
                log_end: Patience {
                    limit: Duration::from_secs(30),
                    pause: Duration::from_millis(50),
                },
            },
            batch: BatchLimit {
                rows: 1024,
                bytes: 1 << 20,
            },
            on_truncate: OnTruncate::Fail,
            on_mismatch: OnFault::Fail,
            progress: Duration::from_secs(30),
            look_for_tables: Duration::from_secs(300),
            confirm_delay: 3,
            headroom_warn: 0,
            asks_first: false,
        }
    }
}

/// What the worker sends out.
pub(super) enum Output {
    Delivery(Delivery),
    Events(Vec<ToEnumerator>),
}

/// Rooms of a megabyte in which batches wait between worker and fetcher: rows of any size must not pile up.
pub(super) const ROOMS: usize = 16;

impl Output {
    /// How many rooms it takes while it waits; all of them if it is larger.
    pub(super) fn room(&self) -> usize {
        match self {
            Output::Delivery(delivery) => rooms(delivery),
            Output::Events(_) => 0,
        }
    }
}

/// How many rooms a delivery takes.
pub(super) fn rooms(delivery: &Delivery) -> usize {
    let batch = delivery.batch.as_ref();
    batch.map_or(0, |batch| (batch.bytes().len() >> 20).min(ROOMS))
}

pub(super) struct Worker {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) shared: Arc<Shared>,
    pub(super) limits: WorkerLimits,
    pub(super) out: Sender<Result<Output>>,
    pub(super) room: Sender<()>,
    /// Rooms that what goes out next has taken.
    pub(super) taken: usize,
    pub(super) wake: Receiver<()>,
    pub(super) stopped: Stopped,
    /// Number of the last batch.
    pub(super) batches: u64,
    pub(super) leaving: Leaving,
    pub(super) headroom: Shortage,
    /// What its threads are named after.
    pub(super) name: String,
    pub(super) threads: Arc<Threads>,
}

/// What the reader does next.
enum Next {
    Chunk(PageId, Chunk),
    Stream(Box<StreamSplit>),
    Finish,
}

/// What there is for another page of a round.
pub(super) enum At {
    Chunk(PageId, Chunk),
    /// The enumerator was asked and has not answered; the worker is woken when it has.
    Coming,
    /// The enumerator has none.
    NoneNow,
}

impl Worker {
    /// Reads until nothing is left to do, or the reader is closed.
    pub(super) fn run(mut self) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.read()));
        let error = match result {
            Ok(Ok(())) => return,
            // What was read before goes out before.
            Ok(Err(error)) => self.send_leaving(0).err().unwrap_or(error),
            Err(panic) => panicked(&*panic),
        };
        if !self.stopped.is_stopped() {
            let _ = self.send(Err(error));
        }
    }

    fn read(&mut self) -> Result<()> {
        // Nothing is asked of the database before there is something to do.
        let mut capture = None;
        let mut snapshot: Option<Snapshot> = None;
        loop {
            match self.next()? {
                Next::Chunk(id, chunk) => {
                    let capture = connected(&mut capture, &*self.connector)?;
                    if snapshot.is_none() {
                        snapshot = Some(Snapshot::open(self, capture)?);
                    }
                    if let Some(snapshot) = &mut snapshot {
                        self.round(snapshot, capture, id, chunk)?;
                    }
                }
                Next::Stream(split) => {
                    if let Some(snapshot) = snapshot.take() {
                        snapshot.end();
                    }
                    let capture = connected(&mut capture, &*self.connector)?;
                    return self.stream(capture, &split);
                }
                Next::Finish => {
                    if let Some(snapshot) = snapshot.take() {
                        snapshot.end();
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Waits for what comes next.
    fn next(&mut self) -> Result<Next> {
        loop {
            if let At::Chunk(id, chunk) = self.at_hand()? {
                return Ok(Next::Chunk(id, chunk));
            }
            {
                let mut inner = self.shared.lock();
                if let Some(split) = inner.take_stream() {
                    return Ok(Next::Stream(Box::new(split)));
                }
                if inner.state.is_finished() {
                    return Ok(Next::Finish);
                }
            }
            self.wait(None)?;
        }
    }

    /// The next chunk, if one is here. The one behind it is asked for too, so that it is here when a connection is free.
    pub(super) fn at_hand(&mut self) -> Result<At> {
        let (chunk, request, none_now) = {
            let mut inner = self.shared.lock();
            (inner.state.take_chunk(), inner.state.request(), inner.none_now)
        };
        if let Some(request) = request {
            self.send(Ok(Output::Events(vec![request])))?;
        }
        Ok(match chunk {
            Some((id, chunk)) => At::Chunk(id, chunk),
            None if none_now => At::NoneNow,
            None => At::Coming,
        })
    }

    /// Hands something on once there is room for it.
    pub(super) fn send(&mut self, output: Result<Output>) -> Result<()> {
        let needed = output.as_ref().map_or(0, Output::room);
        while self.taken < needed {
            select! {
                send(self.room, ()) -> taken => taken.map_err(|_| ErrorKind::Closed)?,
                recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
            }
            self.taken += 1;
        }
        select! {
            send(self.out, output) -> sent => sent.map_err(|_| ErrorKind::Closed)?,
            recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
        }
        if needed > 0 {
            self.taken = 0;
        }
        Ok(())
    }
}

fn connected<'c>(capture: &'c mut Option<Box<dyn Capture>>, connector: &dyn Connector) -> Result<&'c mut dyn Capture> {
    if capture.is_none() {
        *capture = Some(connector.connect()?);
    }
    match capture {
        Some(capture) => Ok(&mut **capture),
        None => Err(internal("a connection vanished")),
    }
}

pub(super) fn internal(what: &str) -> Error {
    ErrorKind::Internal(what.to_owned()).into()
}

pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned());
    Error::from(ErrorKind::Internal(format!("panic: {text}"))).doing("reading")
}
