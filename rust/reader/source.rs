//! The reader that Flink drives: its calls meet the worker's thread at a bounded channel and a short lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded, select};

use crate::error::{Error, ErrorKind, Result};
use crate::reader::api::{Message, Metric, RowsOut, SourceReader};
use crate::reader::capture::Connector;
use crate::reader::headroom::Shortage;
use crate::reader::leaving::Leaving;
use crate::reader::shared::{Inner, Shared};
use crate::reader::state::Todo;
use crate::reader::threads::Threads;
use crate::reader::watch::Watch;
use crate::reader::worker::{Output, ROOMS, Worker, WorkerLimits};
use crate::split::{Split, ToEnumerator, ToReader};
use crate::stop::{Stop, Stopped};

/// Batches that may wait between worker and fetcher.
const QUEUE: usize = 4;

pub(super) struct Reader {
    connector: Arc<dyn Connector>,
    shared: Arc<Shared>,
    stop: Stop,
    stopped: Stopped,
    wake: Sender<()>,
    out: Receiver<Result<Output>>,
    /// Rooms that what waits in `out` takes.
    room: Receiver<()>,
    worker: Mutex<Option<Worker>>,
    threads: Arc<Threads>,
    watch: Watch,
    /// The worker has sent its last; what it failed with was handed out.
    failed: AtomicBool,
    /// How long `close` waits for the worker.
    patience: Duration,
    /// How many checkpoints the log is kept behind the newest one.
    confirm_delay: usize,
}

impl Reader {
    pub(super) fn new(
        connector: Arc<dyn Connector>,
        limits: WorkerLimits,
        subtask: u32,
        patience: Duration,
        watch: Watch,
    ) -> Self {
        let threads = Arc::new(Threads::default());
        let shared = Arc::new(Shared::default());
        if limits.asks_first {
            shared.lock().state.ask_first();
        }
        let (stop, stopped) = Stop::new();
        let (wake, woken) = bounded(1);
        let (send, out) = bounded(QUEUE);
        let (take_room, room) = bounded(ROOMS);
        let worker = Worker {
            connector: connector.clone(),
            shared: shared.clone(),
            limits,
            out: send,
            room: take_room,
            taken: 0,
            wake: woken,
            stopped: stopped.clone(),
            batches: 0,
            leaving: Leaving::default(),
            headroom: Shortage::of(limits.headroom_warn),
            name: format!("tidemark-reader-{subtask}"),
            threads: threads.clone(),
        };
        Reader {
            connector,
            shared,
            stop,
            stopped,
            wake,
            out,
            room,
            worker: Mutex::new(Some(worker)),
            threads,
            watch,
            failed: AtomicBool::new(false),
            patience,
            confirm_delay: limits.confirm_delay,
        }
    }

    /// Carries out what the state asks for, and lets the worker look again.
    fn carry_out(&self, inner: &mut Inner, todo: Vec<Todo>) -> Vec<ToEnumerator> {
        let mut events = Vec::new();
        for todo in todo {
            match todo {
                Todo::Send(event) => events.push(event),
                Todo::CloseRound => inner.none_now = true,
                Todo::OpenStream => inner.stream_ready = true,
            }
        }
        match self.wake.try_send(()) {
            // Full: it will look anyway. Disconnected: it has ended.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => events,
        }
    }

    fn message(&self, output: Output) -> Result<Message> {
        match output {
            Output::Events(events) => Ok(Message::Events(events)),
            Output::Delivery(mut delivery) => {
                let mut inner = self.shared.lock();
                let inner = &mut *inner;
                let todo = inner.in_flight.hand_out(&mut delivery, &mut inner.state)?;
                let events = self.carry_out(inner, todo);
                match delivery.batch {
                    // Rows stand in front of it in the queue, so nothing took effect and there are no events.
                    Some(batch) => Ok(Message::Rows(batch)),
                    None if events.is_empty() => Ok(Message::Nothing),
                    None => Ok(Message::Events(events)),
                }
            }
        }
    }
}

impl SourceReader for Reader {
    fn start(&self) -> Result<Vec<ToEnumerator>> {
        let events = {
            let mut inner = self.shared.lock();
            inner.smallest_mine_from = inner.state.oldest_owed();
            let todo = inner.state.start();
            self.carry_out(&mut inner, todo)
        };
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.ok_or_else(|| Error::from(ErrorKind::Internal("started twice".into())))?;
        self.threads.spawn(worker.name.clone(), move || worker.run())?;
        Ok(events)
    }

    fn add_splits(&self, splits: Vec<Split>) -> Result<Vec<ToEnumerator>> {
        let mut inner = self.shared.lock();
        let todo = inner.state.add_splits(splits)?;
        if inner.state.chunks_waiting() > 0 {
            inner.none_now = false;
        }
        Ok(self.carry_out(&mut inner, todo))
    }

    fn handle(&self, event: ToReader) -> Result<Vec<ToEnumerator>> {
        let mut inner = self.shared.lock();
        let run = inner.state.run();
        let todo = inner.state.handle(event)?;
        if inner.state.run() != run {
            inner.forget_log();
        }
        Ok(self.carry_out(&mut inner, todo))
    }

    fn no_more_splits(&self) -> Result<Vec<ToEnumerator>> {
        let mut inner = self.shared.lock();
        let todo = inner.state.no_more_splits();
        Ok(self.carry_out(&mut inner, todo))
    }

    fn next(&self, timeout: Duration) -> Result<Message> {
        let received = select! {
            recv(self.out) -> received => received.map_err(|_| RecvTimeoutError::Disconnected),
            recv(self.stopped.channel()) -> _ => return Err(ErrorKind::Closed.into()),
            default(timeout) => Err(RecvTimeoutError::Timeout),
        };
        if self.stopped.is_stopped() {
            return Err(ErrorKind::Closed.into());
        }
        if let Ok(Ok(output)) = &received {
            for _ in 0..output.room() {
                // What it took when it was sent.
                let _ = self.room.try_recv();
            }
        }
        match received {
            Ok(Ok(output)) => self.message(output),
            Ok(Err(error)) => {
                self.failed.store(true, Ordering::Relaxed);
                Err(error)
            }
            Err(RecvTimeoutError::Timeout) => self.watch.look(&*self.connector).map(|()| Message::Nothing),
            Err(RecvTimeoutError::Disconnected) if self.failed.load(Ordering::Relaxed) => Err(ErrorKind::Closed.into()),
            // The worker ends by itself only when nothing is left to do; what it sent last may still be on its way out.
            Err(RecvTimeoutError::Disconnected) => Ok(Message::End),
        }
    }

    fn consumed(&self, batch: u64) -> Result<Vec<ToEnumerator>> {
        let mut inner = self.shared.lock();
        let inner = &mut *inner;
        let todo = inner.in_flight.consumed(batch, &mut inner.state)?;
        Ok(self.carry_out(inner, todo))
    }

    fn snapshot(&self, checkpoint: u64, out: RowsOut) -> Result<Vec<Split>> {
        let mut inner = self.shared.lock();
        let inner = &mut *inner;
        inner.in_flight.rows_out(out.batch, out.rows, &mut inner.state)?;
        if let Some(split) = inner.state.stream() {
            inner.checkpoints.push((checkpoint, split.offset.next_scn));
        }
        Ok(inner.state.snapshot())
    }

    fn checkpoint_complete(&self, checkpoint: u64) -> Result<Vec<ToEnumerator>> {
        let mut inner = self.shared.lock();
        let events = inner.state.completed(checkpoint).into_iter().collect();
        let complete = inner
            .checkpoints
            .iter()
            .rev()
            .find(|(number, _)| *number <= checkpoint)
            .map(|(_, scn)| *scn);
        inner.checkpoints.retain(|(number, _)| *number > checkpoint);
        let Some(safe) = complete else { return Ok(events) };
        if let Some(mut offset) = inner.state.stream().map(|split| split.offset.clone()) {
            offset.safe = safe;
            inner.state.advance_stream(offset);
        }
        let confirmed = inner.confirming.completed(safe, self.confirm_delay);
        drop(inner);
        if let Some(before) = confirmed {
            self.connector.confirm(before);
        }
        Ok(events)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.shared.metrics();
        metrics.push(self.watch.metric());
        metrics
    }

    fn cancel(&self) {
        self.stop.stop();
        self.connector.cancel();
    }

    fn close(&self) {
        self.cancel();
        let patience = self.watch.patience(self.patience);
        // The driver may have begun another call between two of these.
        let running = self.threads.wait(patience, || self.connector.cancel());
        if running > 0 {
            self.watch.abandon(running);
        }
    }
}
