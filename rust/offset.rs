//! Where the stream stands: what a checkpoint keeps of it, exact at every row.

use crate::error::{ErrorKind, Result};
use crate::position::{CommitPosition, Incarnation, Place, Position, Scn, Xid};
use crate::wire::{Reader, Writer};

const VERSION: u8 = 1;

/// Where the stream stands between two rows (design 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The log that the positions belong to.
    pub incarnation: Incarnation,
    /// Mine from here, inclusive: the oldest START of any transaction, captured or not, that at this row is
    /// uncommitted, half out, or committed and still queued.
    pub next_scn: Scn,
    /// Every commit before this cut is out.
    pub commit: Position,
    /// Which commits at `commit.scn` are out, so that a log that counts them otherwise after a restart is noticed.
    pub xids: Vec<Xid>,
    /// How far the first transaction behind `commit` is out.
    pub partial: Option<Partial>,
    /// `next_scn` of the newest checkpoint known complete when this was written; for metrics only.
    pub safe: Scn,
}

/// A transaction that is out up to one of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Where it committed.
    pub commit: CommitPosition,
    /// Which one it is.
    pub xid: Xid,
    /// Its last record that is out; a place, not a count, so that a changed table list shifts nothing.
    pub last: Place,
}

impl Offset {
    /// An offset in front of everything that commits from `commit` on.
    pub fn starting(incarnation: Incarnation, next_scn: Scn, commit: Position) -> Self {
        Offset {
            incarnation,
            next_scn,
            commit,
            xids: Vec::new(),
            partial: None,
            safe: next_scn,
        }
    }

    /// Notes that a record of a transaction is out, the transaction not yet.
    pub fn advance_inside(&mut self, commit: CommitPosition, xid: Xid, last: Place) {
        self.partial = Some(Partial { commit, xid, last });
    }

    /// Moves the boundary over a whole transaction. `next_scn` is the one of *its* COMMIT: the oldest START that was
    /// open when its COMMIT record was read, transactions still queued included.
    pub fn advance_over(&mut self, commit: CommitPosition, xid: Xid, next_scn: Scn) {
        if self.commit.scn != commit.scn {
            self.xids.clear();
        }
        self.xids.push(xid);
        self.commit = Position::after(commit);
        self.next_scn = next_scn;
        self.partial = None;
    }

    /// Moves over log in which nothing was committed for us.
    pub fn advance_idle(&mut self, position: Position, next_scn: Scn) {
        if position > self.commit {
            if position.scn != self.commit.scn {
                self.xids.clear();
            }
            self.commit = position;
        }
        self.next_scn = next_scn;
    }

    /// Whether a committed transaction is out already.
    ///
    /// # Errors
    /// State error when the log counts the commits at the boundary's scn otherwise than it did when this was written.
    pub fn is_out(&self, commit: CommitPosition, xid: Xid) -> Result<bool> {
        let out = self.commit.includes(commit);
        if commit.scn == self.commit.scn && !self.xids.is_empty() && out != self.xids.contains(&xid) {
            return Err(ErrorKind::State(format!(
                "transaction {xid} at {commit} is {} by its position, but not by the transactions noted there",
                if out { "out" } else { "not out" }
            ))
            .into());
        }
        Ok(out)
    }

    /// The bytes of this offset.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::versioned(VERSION);
        self.write(&mut out);
        out.finish()
    }

    /// Reads what [`Offset::encode`] wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// State error for damaged bytes or a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (_, mut from) = Reader::versioned(bytes, VERSION)?;
        let offset = Offset::read(&mut from)?;
        from.finish()?;
        Ok(offset)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u64(self.incarnation.0);
        out.u64(self.next_scn.0);
        self.commit.write(out);
        out.list(self.xids.iter(), |out, xid| out.u64(xid.0));
        out.option(self.partial.as_ref(), |out, partial| {
            partial.commit.write(out);
            out.u64(partial.xid.0);
            partial.last.write(out);
        });
        out.u64(self.safe.0);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Offset {
            incarnation: Incarnation(from.u64()?),
            next_scn: Scn(from.u64()?),
            commit: Position::read(from)?,
            xids: from.list(|from| from.u64().map(Xid))?,
            partial: from.option(|from| {
                Ok(Partial {
                    commit: CommitPosition::read(from)?,
                    xid: Xid(from.u64()?),
                    last: Place::read(from)?,
                })
            })?,
            safe: Scn(from.u64()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::RecordSet;

    fn commit(scn: u64, nth: u32) -> CommitPosition {
        CommitPosition { scn: Scn(scn), nth }
    }

    #[test]
    fn an_offset_survives_its_wire_form() {
        let mut offset = Offset::starting(Incarnation(77), Scn(5), Position::before(Scn(9)));
        offset.advance_over(commit(9, 0), Xid(1), Scn(6));
        offset.advance_over(commit(9, 1), Xid(2), Scn(7));
        let last = Place {
            scn: Scn(8),
            table: 12,
            rs_id: RecordSet::new(b"0x1").unwrap(),
            ssn: 3,
            nth: 2,
        };
        offset.advance_inside(commit(9, 2), Xid(3), last);
        assert_eq!(offset.xids, [Xid(1), Xid(2)]);
        assert_eq!(Offset::decode(&offset.encode()).unwrap(), offset);
    }

    #[test]
    fn every_truncated_or_newer_offset_is_an_error() {
        let bytes = Offset::starting(Incarnation(1), Scn(300), Position::before(Scn(9))).encode();
        for length in 0..bytes.len() {
            assert!(Offset::decode(&bytes[..length]).is_err());
        }
        let mut newer = bytes.clone();
        newer[0] = VERSION + 1;
        assert!(Offset::decode(&newer).unwrap_err().to_string().contains("version 2"));
        assert!(Offset::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn a_log_that_counts_commits_otherwise_is_noticed() {
        let mut offset = Offset::starting(Incarnation(1), Scn(1), Position::default());
        offset.advance_over(commit(9, 0), Xid(1), Scn(6));
        assert!(offset.is_out(commit(9, 0), Xid(1)).unwrap());
        assert!(!offset.is_out(commit(9, 1), Xid(2)).unwrap());
        assert!(offset.is_out(commit(9, 0), Xid(2)).is_err());
        assert!(offset.is_out(commit(9, 1), Xid(1)).is_err());
    }
}
