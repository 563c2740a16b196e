//! The connections of one reader or enumerator: opened with patience, ended together.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::odbc::{CancelToken, Connection, ConnectionSettings};
use crate::reader::capture::Overdue;

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
    /// How many attempts were begun, and since when those last that have not ended, by their numbers.
    begun: u64,
    attempts: BTreeMap<u64, Instant>,
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
        let number = {
            let mut open = self.lock();
            if open.cancelled {
                return Err(ErrorKind::Closed.into());
            }
            open.begun += 1;
            let number = open.begun;
            open.attempts.insert(number, Instant::now());
            number
        };
        let opened = Connection::open(&self.settings);
        self.lock().attempts.remove(&number);
        let connection = opened?;
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

    /// By how much the call that does so most takes longer than it may.
    pub(super) fn overdue(&self) -> Option<Overdue> {
        let beyond = |running: Duration, limit: Duration| {
            let by = running.checked_sub(limit)?;
            Some(Overdue { by, running })
        };
        let open = self.lock();
        let calls = open.tokens.iter().filter_map(|token| {
            let limit = self.settings.statement_timeout?;
            beyond(token.busy_for()?, limit)
        });
        // A driver may not know how long an attempt may take, and there is nothing yet by which it could be cancelled.
        let attempts = open.attempts.values();
        let attempts = attempts.filter_map(|since| beyond(since.elapsed(), self.settings.connect_timeout));
        calls.chain(attempts).max()
    }

    /// Cancels the calls that take longer than they may by so much.
    pub(super) fn cancel_overdue(&self, by: Duration) {
        let Some(limit) = self.settings.statement_timeout else {
            return;
        };
        for token in &self.lock().tokens {
            if token.busy_for().is_some_and(|busy| busy >= limit + by) {
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
