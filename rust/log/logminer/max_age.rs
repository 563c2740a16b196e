//! Transactions that stay open: how old they may become (`transaction.max-age`), and what then.
//!
//! The age is told by the log: from the time of a START record to that of the newest record that was read, so that whoever
//! reads old log finds nothing overdue that ended in time. Where the log is read to its end, the time is now.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::logminer::faults::Faults;
use crate::log::logminer::source::LogSource;
use crate::log::transactions::{Overdue, Transactions};
use crate::position::{Scn, Xid};

/// The rule of a job, and what is known for it.
#[derive(Debug)]
pub(super) struct MaxAge {
    /// `transaction.max-age`
    limit: Option<Duration>,
    /// `transaction.on-max-age`
    rule: OnFault,
    /// The newest time in the log that was read, in microseconds since the epoch.
    newest: i64,
    /// Who began up to here was warned of.
    warned: Option<Scn>,
}

impl MaxAge {
    pub(super) fn new(limit: Option<Duration>, rule: OnFault) -> Self {
        MaxAge {
            limit,
            rule,
            newest: 0,
            warned: None,
        }
    }

    /// Notes the time of a record.
    pub(super) fn note(&mut self, micros: i64) {
        self.newest = self.newest.max(micros);
    }

    /// Warns of transactions that are about to be too old, and fails with those that are or leaves them out; whether any
    /// was left out. `at_end`: the log is read to its end.
    ///
    /// # Errors
    /// `TransactionTooOld`; database errors.
    pub(super) fn look(
        &mut self,
        at_end: bool,
        transactions: &mut Transactions,
        source: &mut impl LogSource,
        faults: &mut Faults,
    ) -> Result<bool> {
        let Some(limit) = self.limit else {
            return Ok(false);
        };
        let now = if at_end { now_micros() } else { self.newest };
        let mut left_out = false;
        while let Some(oldest) = transactions.begun_by(None, now, limit) {
            let error = too_old(&oldest, now, limit, source)?;
            if self.rule == OnFault::Fail {
                return Err(error);
            }
            transactions.abandon(oldest.xid);
            faults.leave_out(&error);
            left_out = true;
        }
        while let Some(next) = transactions.begun_by(self.warned, now, limit - limit / 4) {
            let session = session(next.xid, source)?;
            log::warn!(
                "transaction {} of {session} is open for {} s, from scn {} on; transaction.max-age is {} s",
                next.xid,
                seconds(next.micros, now),
                next.start,
                limit.as_secs()
            );
            self.warned = Some(next.start);
        }
        Ok(left_out)
    }

    /// Whether a transaction whose beginning was mined back for was left out by a reader before, and is again.
    pub(super) fn was_left_out(&self, began: i64, ended: i64) -> bool {
        let is_over = |limit: Duration| began > 0 && i128::from(ended) - i128::from(began) > limit.as_micros() as i128;
        self.rule == OnFault::Skip && self.limit.is_some_and(is_over)
    }

    /// Whether one whose beginning is no longer kept is left out: a state needs no log of those that were.
    pub(super) fn leaves_out_lost(&self) -> bool {
        self.rule == OnFault::Skip && self.limit.is_some()
    }

    /// The error of one that was mined back for.
    pub(super) fn error(&self, overdue: &Overdue, ended: i64) -> Error {
        too_old_of(
            overdue,
            ended,
            self.limit.unwrap_or_default(),
            "a session that has ended it".into(),
        )
    }
}

fn too_old(overdue: &Overdue, now: i64, limit: Duration, source: &mut impl LogSource) -> Result<Error> {
    Ok(too_old_of(overdue, now, limit, session(overdue.xid, source)?))
}

fn too_old_of(overdue: &Overdue, now: i64, limit: Duration, session: String) -> Error {
    ErrorKind::TransactionTooOld {
        transaction: overdue.xid,
        session,
        start: overdue.start,
        seconds: seconds(overdue.micros, now),
        limit: limit.as_secs(),
    }
    .into()
}

fn session(xid: Xid, source: &mut impl LogSource) -> Result<String> {
    let open = source.open_transactions()?;
    let session = open.into_iter().find(|open| open.xid == xid);
    Ok(session.map_or_else(
        || "a session that the database does not list".into(),
        |open| open.session,
    ))
}

fn seconds(began: i64, now: i64) -> u64 {
    (now.saturating_sub(began) / 1_000_000).unsigned_abs()
}

fn now_micros() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
