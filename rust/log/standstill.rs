//! A log whose end stands still though more of it is needed, as on an idle database it may (design 3.1.4).

use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::position::Scn;

/// Waits for the end to move, then for what the database can do about it.
#[derive(Debug)]
pub struct Standstill {
    patience: Duration,
    reached: Option<Scn>,
    since: Duration,
    /// Whether the database was asked for help.
    pushed: bool,
}

impl Standstill {
    /// Nothing was seen of the end yet.
    pub fn new(patience: Duration) -> Self {
        Standstill {
            patience,
            reached: None,
            since: Duration::ZERO,
            pushed: false,
        }
    }

    /// Nothing can be read behind `reached`, at a time that is counted from any moment. Once it has been so for as long as the
    /// patience lasts, `push` may help; it says whether it could.
    ///
    /// # Errors
    /// `LogBehind` where it could not, and where it did not help for as long again; those of `push`.
    pub fn look(
        &mut self,
        needed: Scn,
        reached: Scn,
        now: Duration,
        push: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        if self.reached.is_none_or(|before| reached > before) {
            self.reached = Some(reached);
            self.since = now;
            return Ok(());
        }
        if now.saturating_sub(self.since) < self.patience {
            return Ok(());
        }
        if self.pushed || !push()? {
            let seconds = self.patience.as_secs();
            return Err(ErrorKind::LogBehind {
                needed,
                reached,
                seconds,
            }
            .into());
        }
        self.pushed = true;
        self.since = now;
        Ok(())
    }
}
