//! Where the log phase behind exact pages begins (design 4.5): a place of the log such that every SELECT from now on sees
//! what commits in front of it.
//!
//! A commit stands in the log before it is visible, so no place alone will do. A transaction that begins behind the place
//! has a later number than all that commit in front of it: once every transaction of an earlier number is over, they are
//! visible for good.

use std::sync::Arc;

use crate::dialect::Query;
use crate::dialect::visibility::Visibility;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Patience;
use crate::odbc::Connection;
use crate::position::{Lsn, Xid};
use crate::snapshot::wait::{Clock, Wait, go_on};

/// Finds such places, over a connection of its own.
pub struct Barrier {
    connection: Connection,
    dialect: Arc<dyn Visibility>,
    patience: Patience,
}

impl Barrier {
    /// Over a connection of its own; `patience` for transactions that are open.
    pub fn new(connection: Connection, dialect: Arc<dyn Visibility>, patience: Patience) -> Self {
        Barrier {
            connection,
            dialect,
            patience,
        }
    }

    /// A place that lies behind all that was written before this call, visible as said above. What was changed for it (a
    /// slot, a publication's tables) must stand before the call.
    ///
    /// # Errors
    /// `Setup` on a standby; `NotVisible`, which names who holds transactions open; `Closed`; database errors.
    pub fn pass(&mut self, clock: &mut dyn Clock) -> Result<Lsn> {
        self.try_pass(clock)
            .map_err(|error| error.doing("waiting for transactions that were open when the snapshot began"))
    }

    fn try_pass(&mut self, clock: &mut dyn Clock) -> Result<Lsn> {
        refuse_standby(&mut self.connection, &*self.dialect)?;
        let end = integer(&mut self.connection, &self.dialect.log_end())?;
        // Behind the place: whoever commits in front of it has an earlier number.
        let own = integer(&mut self.connection, &self.dialect.own_transaction())?;
        let wait = Wait::begin(self.patience, clock);
        while integer(&mut self.connection, &self.dialect.oldest_open())? < own {
            go_on(clock)?;
            if wait.is_over(clock) {
                return Err(ErrorKind::NotVisible {
                    sessions: self.holders(Xid(own))?,
                    seconds: wait.seconds(),
                }
                .into());
            }
            wait.pause(clock)?;
        }
        Ok(Lsn(end))
    }

    fn holders(&mut self, xid: Xid) -> Result<String> {
        let query = self.dialect.open_before(xid);
        let rows = self.connection.rows(&query.sql, &query.columns)?;
        let names: Vec<&str> = rows.iter().filter_map(|row| row.first()?.text()).collect();
        Ok(names.join(", "))
    }
}

/// A standby does not know which transactions are open: its snapshots say that none is.
///
/// # Errors
/// `Setup` on a standby; database errors.
pub fn refuse_standby(connection: &mut Connection, dialect: &dyn Visibility) -> Result<()> {
    if integer(connection, &dialect.is_standby())? == 0 {
        return Ok(());
    }
    let text = "the server is a standby, which does not know the transactions that are open on its primary: connect to the primary";
    Err(ErrorKind::Setup(text.into()).into())
}

/// The one integer that a question has for an answer.
pub(super) fn integer(connection: &mut Connection, query: &Query) -> Result<u64> {
    let answer = connection.int(&query.sql, &query.columns)?;
    answer
        .and_then(|answer| u64::try_from(answer).ok())
        .ok_or_else(|| Error::from(ErrorKind::Internal("the server gave no number".into())))
}
