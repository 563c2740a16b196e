//! Bounded waits for conditions of the database.

use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::log::{LogReader, Patience};

/// Time, and the wish of the reader's owner that it ends: what a wait needs, so that it can be tried without waiting.
pub trait Clock {
    /// Time since a moment that stays the same.
    fn now(&self) -> Duration;

    /// Sleeps for as long, or until the reader is closed.
    fn pause(&mut self, duration: Duration);

    /// Whether the reader is being closed.
    fn is_stopped(&self) -> bool;
}

/// A wait that has begun.
#[derive(Debug)]
pub struct Wait {
    patience: Patience,
    since: Duration,
}

impl Wait {
    /// Begins to count now.
    pub fn begin(patience: Patience, clock: &dyn Clock) -> Self {
        let since = clock.now();
        Wait { patience, since }
    }

    /// Counts anew from now.
    pub fn restart(&mut self, clock: &dyn Clock) {
        self.since = clock.now();
    }

    /// Whether the limit is over.
    pub fn is_over(&self, clock: &dyn Clock) -> bool {
        clock.now().saturating_sub(self.since) >= self.patience.limit
    }

    /// The limit in seconds, for messages.
    pub fn seconds(&self) -> u64 {
        self.patience.limit.as_secs()
    }

    /// Sleeps until it is time to ask again.
    ///
    /// # Errors
    /// `Closed` when the reader is being closed.
    pub fn pause(&self, clock: &mut dyn Clock) -> Result<()> {
        clock.pause(self.patience.pause);
        go_on(clock)
    }
}

/// Stops whoever works for a reader that is being closed.
///
/// # Errors
/// `Closed`.
pub fn go_on(clock: &dyn Clock) -> Result<()> {
    if clock.is_stopped() {
        return Err(ErrorKind::Closed.into());
    }
    Ok(())
}

/// Waits until every transaction that a log reader has handed out or noted is visible in the database.
///
/// # Errors
/// `NotVisible`, which names the sessions; `Closed`; database errors.
pub fn until_visible(log: &mut dyn LogReader, patience: Patience, clock: &mut dyn Clock) -> Result<()> {
    let wait = Wait::begin(patience, clock);
    loop {
        go_on(clock)?;
        let open = log.still_open()?;
        if open.is_empty() {
            return Ok(());
        }
        if wait.is_over(clock) {
            return Err(ErrorKind::NotVisible {
                sessions: open.join(", "),
                seconds: wait.seconds(),
            }
            .into());
        }
        wait.pause(clock)?;
    }
}
