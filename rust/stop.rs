//! The wish that a reader or an enumerator ends, and the real clock that listens to it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::snapshot::wait::Clock;

/// Ends everything that listens, once.
#[derive(Debug)]
pub(crate) struct Stop(Mutex<Option<Sender<()>>>);

/// Hears of a [`Stop`]; waits can select on it.
#[derive(Clone, Debug)]
pub(crate) struct Stopped(Receiver<()>);

impl Stop {
    pub(crate) fn new() -> (Self, Stopped) {
        let (sender, receiver) = bounded(0);
        (Stop(Mutex::new(Some(sender))), Stopped(receiver))
    }

    /// From now on every [`Stopped::channel`] is disconnected, which wakes those that wait.
    pub(crate) fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Stopped {
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.try_recv() == Err(crossbeam_channel::TryRecvError::Disconnected)
    }

    /// Ready to receive (an error) once stopped.
    pub(crate) fn channel(&self) -> &Receiver<()> {
        &self.0
    }
}

/// Real time, cut short by a stop.
#[derive(Debug)]
pub(crate) struct RealClock {
    start: Instant,
    stopped: Stopped,
}

impl RealClock {
    pub(crate) fn new(stopped: Stopped) -> Self {
        RealClock {
            start: Instant::now(),
            stopped,
        }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn pause(&mut self, duration: Duration) {
        // Nothing is ever sent: this returns after the duration, or at once when stopped.
        let _ = self.stopped.channel().recv_timeout(duration);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.is_stopped()
    }
}
