//! Cancelling a call from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use odbc_api::sys::{HStmt, SQLCancel, SqlReturn};

/// Cancels what a connection is doing, from any thread, and knows how long it has been doing it. Outlives the
/// connection without harm.
#[derive(Clone)]
pub struct CancelToken(Arc<State>);

struct State {
    /// The connection's statement; taken out under the lock before the handle is freed.
    statement: Mutex<Option<Handle>>,
    /// When the call that is running began.
    since: Mutex<Option<Instant>>,
    /// Milliseconds that calls may take beyond what is usual.
    more: AtomicU64,
    closed: AtomicBool,
    /// A thread of ours is in the driver with a request to cancel.
    cancelling: AtomicBool,
}

struct Handle(HStmt);

// SAFETY: ODBC lets statement handles be used from any thread, and SQLCancel, the one function that is called through
// this copy, is made to be called while another thread uses the handle.
unsafe impl Send for Handle {}

impl CancelToken {
    pub(super) fn new(statement: HStmt) -> Self {
        CancelToken(Arc::new(State {
            statement: Mutex::new(Some(Handle(statement))),
            since: Mutex::new(None),
            more: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            cancelling: AtomicBool::new(false),
        }))
    }

    /// Asks the driver to end the running call, which then fails in its own thread. Returns whether the driver took
    /// the request; without a running call nothing happens. Waits for the driver, which may ask the server (psqlODBC
    /// connects to it) and so hang with it. A driver may miss a request that comes while it is not
    /// waiting for the server (psqlODBC between two fetches): ask again while [`CancelToken::busy_for`] says so.
    pub fn cancel(&self) -> bool {
        if self.busy_for().is_none() {
            return false;
        }
        match &*lock(&self.0.statement) {
            Some(handle) => {
                // SAFETY: The handle is valid: it is taken out of the option under this lock before it is freed.
                let taken = unsafe { SQLCancel(handle.0) };
                matches!(taken, SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO)
            }
            None => false,
        }
    }

    /// Closes the connection for further calls, which fail with `Closed`, and has the running one cancelled on a thread
    /// of its own: never waits for the driver.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.cancel_aside();
    }

    /// Has the running call cancelled on a thread of its own: never waits for the driver.
    pub fn cancel_aside(&self) {
        if self.busy_for().is_none() || self.0.cancelling.swap(true, Ordering::SeqCst) {
            return;
        }
        let token = self.clone();
        let started = std::thread::Builder::new()
            .name("tidemark-cancel".to_owned())
            .spawn(move || {
                token.cancel();
                token.0.cancelling.store(false, Ordering::SeqCst);
            });
        if let Err(error) = started {
            self.0.cancelling.store(false, Ordering::SeqCst);
            log::warn!("no thread could be started to cancel a call: {error}");
        }
    }

    /// As [`CancelToken::close`], and goes on asking until the running call has ended. Returns whether it has ended
    /// within `limit`; if not, its thread and connection can only be left behind.
    pub fn close_and_wait(&self, limit: Duration) -> bool {
        let begun = Instant::now();
        self.close();
        while self.busy_for().is_some() {
            if begun.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
            self.close();
        }
        true
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::SeqCst)
    }

    /// How long the running call has been running, but for the time that it may take beyond what is usual; `None` between calls.
    pub fn busy_for(&self) -> Option<Duration> {
        let more = Duration::from_millis(self.0.more.load(Ordering::Relaxed));
        lock(&self.0.since).map(|since| since.elapsed().saturating_sub(more))
    }

    pub(super) fn allow(&self, more: Duration) {
        self.0.more.store(more.as_millis() as u64, Ordering::Relaxed);
    }

    pub(super) fn begin(&self) {
        *lock(&self.0.since) = Some(Instant::now());
    }

    pub(super) fn end(&self) -> Duration {
        lock(&self.0.since)
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// To be called before the handle is freed; waits for a cancel that is under way.
    pub(super) fn forget(&self) {
        lock(&self.0.statement).take();
    }
}

/// A thread that panicked cannot leave these values half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("closed", &self.is_closed())
            .field("busy_for", &self.busy_for())
            .finish()
    }
}
