//! Looks after calls that hang in a driver beyond `socket.timeout`: first they are cancelled, then given up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::gauges::CALLS_ABANDONED;
use crate::reader::api::Metric;
use crate::reader::capture::Connector;

/// Calls given up since the library was loaded: their threads and connections outlive their readers.
static ABANDONED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Watch {
    /// `socket.timeout`: the driver ends a statement by then, if it can.
    limit: Duration,
    grace: Duration,
    given_up: AtomicBool,
}

impl Watch {
    pub(super) fn new(limit: Duration, grace: Duration) -> Self {
        Watch {
            limit,
            grace,
            given_up: AtomicBool::new(false),
        }
    }

    /// Cancels calls that run for longer than the limit and a grace, and gives up those that do not mind.
    ///
    /// # Errors
    /// `Timeout`: a call was given up, and the reader with it.
    pub(super) fn look(&self, connector: &dyn Connector) -> Result<()> {
        let late = self.limit + self.grace;
        match connector.busy_for() {
            Some(busy) if busy >= late + self.grace => {
                self.given_up.store(true, Ordering::Relaxed);
                let seconds = busy.as_secs();
                Err(Error::from(ErrorKind::Timeout { seconds })
                    .doing("waiting for a call that does not mind being cancelled"))
            }
            Some(busy) if busy >= late => {
                connector.cancel_calls(late);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How long closing may wait for the threads: not long where a call was given up, since it will not come back.
    pub(super) fn patience(&self, patience: Duration) -> Duration {
        match self.given_up.load(Ordering::Relaxed) {
            true => patience.min(self.grace),
            false => patience,
        }
    }

    /// Leaves threads behind.
    pub(super) fn abandon(&self, threads: usize) {
        ABANDONED.fetch_add(threads as u64, Ordering::Relaxed);
        log::warn!("{threads} threads of a reader hang in their driver and are abandoned with their connections");
    }

    pub(super) fn metric(&self) -> Metric {
        Metric {
            name: CALLS_ABANDONED.name,
            value: ABANDONED.load(Ordering::Relaxed) as i64,
        }
    }
}
