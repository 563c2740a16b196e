//! The threads of one reader, so that closing it can wait for all of them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};

/// Pause between two looks at whether threads have ended.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    /// Starts one. It must catch its own panics.
    pub(super) fn spawn(&self, name: String, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(body)
            .map_err(|error| ErrorKind::Internal(format!("no thread could be started: {error}")))?;
        self.lock().push(thread);
        Ok(())
    }

    /// Waits until all have ended, also those that are started meanwhile, and calls `urge` in between. Returns how many
    /// have not ended within `patience`.
    pub(super) fn wait(&self, patience: Duration, urge: impl Fn()) -> usize {
        let deadline = Instant::now() + patience;
        loop {
            let running = self.lock().iter().filter(|thread| !thread.is_finished()).count();
            if running == 0 || Instant::now() >= deadline {
                for thread in self.lock().drain(..).filter(JoinHandle::is_finished) {
                    // It has caught its own panics.
                    let _ = thread.join();
                }
                return running;
            }
            urge();
            std::thread::sleep(PAUSE);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
