//! Looks after calls that hang in a driver beyond `socket.timeout`, and attempts to connect that do so beyond
//! `connect.timeout`: first they are cancelled, then given up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::gauges::CALLS_ABANDONED;
use crate::reader::api::Metric;
use crate::reader::capture::Calls;

/// Calls given up since the library was loaded: their threads and connections outlive their readers.
static ABANDONED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct Watch {
    grace: Duration,
    given_up: AtomicBool,
}

impl Watch {
    pub(crate) fn new(grace: Duration) -> Self {
        Watch {
            grace,
            given_up: AtomicBool::new(false),
        }
    }

    /// Cancels calls that take longer than they may and a grace, and gives up those that do not mind.
    ///
    /// # Errors
    /// `Timeout`: a call was given up, and who waits for it with it.
    pub(crate) fn look(&self, calls: &(impl Calls + ?Sized)) -> Result<()> {
        match calls.overdue() {
            Some(overdue) if overdue.by >= 2 * self.grace => {
                self.given_up.store(true, Ordering::Relaxed);
                let seconds = overdue.running.as_secs();
                Err(Error::from(ErrorKind::Timeout { seconds })
                    .doing("waiting for a call that does not mind being cancelled"))
            }
            Some(overdue) if overdue.by >= self.grace => {
                calls.cancel_overdue(self.grace);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How long closing may wait for the threads: not long where a call was given up, since it will not come back.
    pub(crate) fn patience(&self, patience: Duration) -> Duration {
        match self.given_up.load(Ordering::Relaxed) {
            true => patience.min(self.grace),
            false => patience,
        }
    }

    /// Leaves threads behind.
    pub(crate) fn abandon(&self, threads: usize) {
        ABANDONED.fetch_add(threads as u64, Ordering::Relaxed);
        log::warn!("{threads} threads hang in their driver and are abandoned with their connections");
    }

    pub(crate) fn metric(&self) -> Metric {
        Metric {
            name: CALLS_ABANDONED.name,
            value: ABANDONED.load(Ordering::Relaxed) as i64,
        }
    }
}
