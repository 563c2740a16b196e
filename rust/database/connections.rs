//! The connections of one reader or enumerator: opened with patience, ended together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{CancelToken, Connection, ConnectionSettings};

/// Pauses between attempts to connect: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Opens connections and can end them all.
pub(super) struct Connections {
    settings: ConnectionSettings,
    /// `connect.max-retries`
    retries: u32,
    open: Mutex<Open>,
    cancelled: Condvar,
}

#[derive(Default)]
struct Open {
    cancelled: bool,
    tokens: Vec<CancelToken>,
}

impl Connections {
    pub(super) fn new(settings: ConnectionSettings, retries: u32) -> Self {
        Connections {
            settings,
            retries,
            open: Mutex::default(),
            cancelled: Condvar::new(),
        }
    }

    /// A connection that ends with all the others. What can help is tried again, with growing pauses.
    pub(super) fn open(&self) -> Result<Connection> {
        let mut pause = PAUSES.0;
        let mut retries = 0;
        loop {
            match self.attempt() {
                Err(error) if retries < self.retries && can_help(&error) => {
                    retries += 1;
                    log::warn!(
                        "attempt {retries} of {} to connect failed, the next one comes after {pause:?}: {error}",
                        self.retries + 1
                    );
                    self.pause(pause);
                    pause = (2 * pause).min(PAUSES.1);
                }
                result => return result,
            }
        }
    }

    fn attempt(&self) -> Result<Connection> {
        if self.lock().cancelled {
            return Err(ErrorKind::Closed.into());
        }
        let connection = Connection::open(&self.settings)?;
        let token = connection.cancel_token();
        let mut open = self.lock();
        if open.cancelled {
            return Err(ErrorKind::Closed.into());
        }
        open.tokens.push(token);
        Ok(connection)
    }

    /// Returns after so long, or at once when cancelled.
    fn pause(&self, pause: Duration) {
        let open = self.lock();
        let woken = self.cancelled.wait_timeout_while(open, pause, |open| !open.cancelled);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends all connections, and refuses further ones. Never blocks.
    pub(super) fn cancel(&self) {
        let mut open = self.lock();
        open.cancelled = true;
        open.tokens.iter().for_each(CancelToken::close);
        self.cancelled.notify_all();
    }

    /// How long the longest running call has been running.
    pub(super) fn busy_for(&self) -> Option<Duration> {
        self.lock().tokens.iter().filter_map(CancelToken::busy_for).max()
    }

    /// Cancels the calls that have been running for so long.
    pub(super) fn cancel_calls(&self, longer_than: Duration) {
        for token in &self.lock().tokens {
            if token.busy_for().is_some_and(|busy| busy >= longer_than) {
                token.cancel_aside();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn can_help(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Connect { retryable: true, .. })
}
