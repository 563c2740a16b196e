//! Questions to the database on threads of their own: a driver that hangs with its server must not keep Flink's threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded, select};

use crate::enumerator::survey::{Survey, Surveyor};
use crate::error::{ErrorKind, Result};
use crate::reader::CALL_GRACE;
use crate::reader::watch::Watch;
use crate::stop::{Stop, Stopped};

/// How long a cancelled driver may take to come back before its thread and connection are abandoned.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked whether a call takes longer than it may.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The connection of an enumerator, once there is one.
pub(super) type Connected = Option<Box<dyn Survey>>;

pub(super) struct Asking {
    surveyor: Arc<dyn Surveyor>,
    connected: Arc<Mutex<Connected>>,
    watch: Watch,
    stop: Stop,
    stopped: Stopped,
}

impl Asking {
    pub(super) fn new(surveyor: Arc<dyn Surveyor>) -> Self {
        let (stop, stopped) = Stop::new();
        Asking {
            surveyor,
            connected: Arc::default(),
            watch: Watch::new(CALL_GRACE),
            stop,
            stopped,
        }
    }

    /// Asks one question at a time and waits for the answer.
    ///
    /// # Errors
    /// Those of the question; `Timeout` where a call hangs in spite of being cancelled; `Closed` after a cancel.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Surveyor, &mut Connected) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.stopped.is_stopped() {
            return Err(ErrorKind::Closed.into());
        }
        self.on_a_thread(question)
    }

    /// Wakes who waits for an answer. Never blocks.
    pub(super) fn cancel(&self) {
        self.stop.stop();
        self.surveyor.cancel();
    }

    /// Ends the connection, or abandons it.
    pub(super) fn close(&self) {
        self.cancel();
        // Threads and channels leave thread-locals behind, which keep the library mapped if this is the thread on which
        // it is unloaded: an enumerator that never connected must do without.
        if self.connected.try_lock().is_ok_and(|connected| connected.is_none()) {
            return;
        }
        // Ending a connection may ask the server too.
        let _ = self.on_a_thread(|_, connected| {
            connected.take();
            Ok(())
        });
    }

    fn on_a_thread<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Surveyor, &mut Connected) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (send, answer) = bounded(1);
        let (surveyor, connected) = (self.surveyor.clone(), self.connected.clone());
        std::thread::Builder::new()
            .name("tidemark-enumerator".to_owned())
            .spawn(move || {
                let mut connected = connected.lock().unwrap_or_else(PoisonError::into_inner);
                let asked = catch_unwind(AssertUnwindSafe(|| question(&*surveyor, &mut connected)));
                drop(connected);
                // Nobody listens any more if this thread was abandoned.
                let _ = send.send(asked);
            })
            .map_err(|error| ErrorKind::Internal(format!("no thread could be started: {error}")))?;
        let mut answered = self.wait(&answer)?;
        let deadline = Instant::now() + self.watch.patience(PATIENCE);
        while let Err(RecvTimeoutError::Timeout) = answered {
            if Instant::now() >= deadline {
                self.watch.abandon(1);
                return Err(ErrorKind::Closed.into());
            }
            // The driver may have begun another call between two of these.
            self.surveyor.cancel();
            answered = answer.recv_timeout(Duration::from_millis(10));
        }
        match answered {
            Ok(Ok(answered)) => answered,
            // As if it had come up here: who called catches it and knows its text.
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => Err(ErrorKind::Internal("a thread ended without an answer".into()).into()),
        }
    }

    /// Waits for an answer until this is stopped (`Err(Timeout)`) or a call has to be given up.
    fn wait<T>(&self, answer: &Receiver<T>) -> Result<std::result::Result<T, RecvTimeoutError>> {
        loop {
            select! {
                recv(answer) -> answered => return Ok(answered.map_err(|_| RecvTimeoutError::Disconnected)),
                recv(self.stopped.channel()) -> _ => return Ok(Err(RecvTimeoutError::Timeout)),
                default(LOOK_EVERY) => {}
            }
            if let Err(error) = self.watch.look(&*self.surveyor) {
                self.surveyor.cancel();
                self.watch.abandon(1);
                return Err(error);
            }
        }
    }
}
