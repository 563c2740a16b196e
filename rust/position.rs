//! Places in the log: what is compared to say which transactions a page, a checkpoint or a table already contains.

use std::fmt;

use crate::error::{ErrorKind, Result};
use crate::wire::{Reader, Writer};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number!(
    /// A place in the log in the database's own counting: an SCN, or an LSN of databases that count log records by one.
    /// Several records, and several commits, may share it.
    Scn
);
number!(
    /// A byte position in a write-ahead log.
    Lsn
);
number!(
    /// A transaction of one incarnation of the log.
    Xid
);
number!(
    /// Which log this is: the identity that a restored or failed-over database changes. Positions of different
    /// incarnations are never compared.
    Incarnation
);

/// A COMMIT record: its scn and, counted from zero, which of that scn's COMMIT records it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitPosition {
    /// Where the COMMIT record stands.
    pub scn: Scn,
    /// The how-manieth COMMIT record of its scn.
    pub nth: u32,
}

/// A cut between two COMMIT records: all commits below `scn` and the first `commits` ones at `scn` lie before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The scn that the cut falls into.
    pub scn: Scn,
    /// How many COMMIT records of that scn lie before the cut.
    pub commits: u32,
}

impl Position {
    /// The cut in front of every commit at `scn`.
    pub fn before(scn: Scn) -> Self {
        Position { scn, commits: 0 }
    }

    /// The cut just behind a COMMIT record.
    pub fn after(commit: CommitPosition) -> Self {
        Position {
            scn: commit.scn,
            commits: commit.nth + 1,
        }
    }

    /// Whether a COMMIT record lies before the cut.
    pub fn includes(&self, commit: CommitPosition) -> bool {
        (commit.scn, commit.nth) < (self.scn, self.commits)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u64(self.scn.0);
        out.u64(u64::from(self.commits));
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Position {
            scn: Scn(from.u64()?),
            commits: from.u32()?,
        })
    }
}

impl fmt::Display for CommitPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scn {} commit {}", self.scn, self.nth)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scn {} after {} commits", self.scn, self.commits)
    }
}

impl CommitPosition {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.u64(self.scn.0);
        out.u64(u64::from(self.nth));
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(CommitPosition {
            scn: Scn(from.u64()?),
            nth: from.u32()?,
        })
    }
}

/// Which transactions were visible to a SELECT, as the database itself lists them (design 4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSnapshot {
    /// Every transaction below is over.
    pub xmin: Xid,
    /// No transaction at or above had begun to commit.
    pub xmax: Xid,
    /// Open ones between the two, ascending.
    pub open: Box<[Xid]>,
}

impl TransactionSnapshot {
    /// Reads `xmin:xmax:xid,xid,…`, as `txid_current_snapshot()` writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let xid = |text: &str| text.parse().ok().filter(|_| is_number(text)).map(Xid);
        let mut parts = text.trim().split(':');
        let (xmin, xmax, open) = (xid(parts.next()?)?, xid(parts.next()?)?, parts.next()?);
        let open = open.split(',').filter(|text| !text.is_empty()).map(xid);
        let mut open: Vec<Xid> = open.collect::<Option<_>>()?;
        open.sort_unstable();
        let snapshot = TransactionSnapshot {
            xmin,
            xmax,
            open: open.into(),
        };
        (parts.next().is_none() && snapshot.is_sound()).then_some(snapshot)
    }

    /// Whether it is one that a server can have had: else it would call transactions visible that it lists as open.
    fn is_sound(&self) -> bool {
        let between = |xid: &Xid| (self.xmin..self.xmax).contains(xid);
        self.xmin <= self.xmax && self.open.is_sorted() && self.open.iter().all(between)
    }

    /// Whether the SELECT saw the transaction's rows.
    pub fn sees(&self, xid: Xid) -> bool {
        xid < self.xmin || (xid < self.xmax && self.open.binary_search(&xid).is_err())
    }
}

/// Which transactions a page already contains. Two forms, one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// All that committed before the cut.
    Position(Position),
    /// All that the snapshot sees and that committed before `high`.
    Snapshot {
        /// What the SELECT saw.
        snapshot: TransactionSnapshot,
        /// The log's end, asked after the SELECT.
        high: Lsn,
    },
}

impl Point {
    /// Whether a page at this point contains the transaction.
    pub fn includes(&self, xid: Xid, commit: CommitPosition) -> bool {
        match self {
            Point::Position(position) => position.includes(commit),
            Point::Snapshot { snapshot, high } => commit.scn.0 < high.0 && snapshot.sees(xid),
        }
    }

    /// The cut from which on no transaction is included: where the filter for this point may be dropped.
    pub fn end(&self) -> Position {
        match self {
            Point::Position(position) => *position,
            Point::Snapshot { high, .. } => Position::before(Scn(high.0)),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        match self {
            Point::Position(position) => {
                out.u8(0);
                position.write(out);
            }
            Point::Snapshot { snapshot, high } => {
                out.u8(1);
                out.u64(snapshot.xmin.0);
                out.u64(snapshot.xmax.0);
                out.list(snapshot.open.iter(), |out, xid| out.u64(xid.0));
                out.u64(high.0);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.u8()? {
            0 => Point::Position(Position::read(from)?),
            1 => {
                let snapshot = TransactionSnapshot {
                    xmin: Xid(from.u64()?),
                    xmax: Xid(from.u64()?),
                    open: from.list(|from| from.u64().map(Xid))?.into(),
                };
                if !snapshot.is_sound() {
                    return Err(ErrorKind::State("a snapshot lists transactions beyond its bounds".into()).into());
                }
                Point::Snapshot {
                    snapshot,
                    high: Lsn(from.u64()?),
                }
            }
            other => return Err(ErrorKind::State(format!("a point is marked {other}")).into()),
        })
    }
}

/// The name of a record set, at most 32 bytes (`RS_ID` of the LogMiner views); empty where the log has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordSet {
    length: u8,
    bytes: [u8; 32],
}

impl RecordSet {
    /// Takes a name; one that is too long is refused, since a part of it would identify too little.
    pub fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(RecordSet {
            length: name.len() as u8,
            bytes,
        })
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A record inside a transaction. It identifies, it does not order: `rs_id` and `ssn` are compared for equality only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The record's scn (row LSN for slots).
    pub scn: Scn,
    /// The record's table, as the log names it: a number that outlives table lists and projections.
    pub table: u64,
    /// Record set of the record, where the log has such.
    pub rs_id: RecordSet,
    /// Number inside the record set.
    pub ssn: u32,
    /// The how-manieth record of this transaction and table with the same four, from zero.
    pub nth: u32,
}

impl Place {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.u64(self.scn.0);
        out.u64(self.table);
        out.bytes(self.rs_id.as_bytes());
        out.u64(u64::from(self.ssn));
        out.u64(u64::from(self.nth));
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Place {
            scn: Scn(from.u64()?),
            table: from.u64()?,
            rs_id: RecordSet::new(from.bytes()?)
                .ok_or_else(|| ErrorKind::State("the name of a record set is too long".into()))?,
            ssn: from.u32()?,
            nth: from.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_share_an_scn_are_told_apart() {
        let cut = Position {
            scn: Scn(10),
            commits: 1,
        };
        assert!(cut.includes(CommitPosition { scn: Scn(9), nth: 4 }));
        assert!(cut.includes(CommitPosition { scn: Scn(10), nth: 0 }));
        assert!(!cut.includes(CommitPosition { scn: Scn(10), nth: 1 }));
        assert_eq!(Position::after(CommitPosition { scn: Scn(10), nth: 0 }), cut);
    }

    #[test]
    fn a_snapshot_point_asks_visibility_and_position_both() {
        let snapshot = TransactionSnapshot {
            xmin: Xid(5),
            xmax: Xid(9),
            open: Box::new([Xid(5), Xid(7)]),
        };
        let point = Point::Snapshot {
            snapshot,
            high: Lsn(100),
        };
        let commit = |scn| CommitPosition { scn: Scn(scn), nth: 0 };
        assert!(point.includes(Xid(4), commit(50)));
        assert!(!point.includes(Xid(5), commit(50)));
        assert!(point.includes(Xid(6), commit(50)));
        assert!(!point.includes(Xid(9), commit(50)));
        assert!(!point.includes(Xid(6), commit(100)));
    }

    #[test]
    fn snapshots_are_read_as_they_are_written() {
        let snapshot = TransactionSnapshot::parse("10:20:10,14,15").unwrap();
        assert_eq!((snapshot.xmin, snapshot.xmax), (Xid(10), Xid(20)));
        assert_eq!(*snapshot.open, [Xid(10), Xid(14), Xid(15)]);
        let seen: Vec<u64> = (8..22).filter(|&xid| snapshot.sees(Xid(xid))).collect();
        assert_eq!(seen, [8, 9, 11, 12, 13, 16, 17, 18, 19]);
        assert!(TransactionSnapshot::parse("7:7:").unwrap().open.is_empty());
        for wrong in [
            "", "7", "7:8", "7:8:x", "7:8:9:", "a:8:", "a:b:", "8:7:", "7:9:6", "7:9:9", "+7:9:",
        ] {
            assert_eq!(TransactionSnapshot::parse(wrong), None, "{wrong}");
        }
    }

    /// Found by fuzzing: it was called visible though it is listed as open.
    #[test]
    fn a_snapshot_of_no_server_is_no_state() {
        for (bounds, open) in [
            ((7, 9), vec![6]),
            ((7, 9), vec![9]),
            ((9, 7), vec![]),
            ((7, 9), vec![8, 7]),
        ] {
            let point = Point::Snapshot {
                snapshot: TransactionSnapshot {
                    xmin: Xid(bounds.0),
                    xmax: Xid(bounds.1),
                    open: open.iter().copied().map(Xid).collect(),
                },
                high: Lsn(100),
            };
            let mut out = Writer::default();
            point.write(&mut out);
            let bytes = [&[1], &out.finish()[..]].concat();
            let (_, mut from) = Reader::versioned(&bytes, 1).unwrap();
            assert!(Point::read(&mut from).is_err(), "{open:?}");
        }
    }

    #[test]
    fn points_survive_their_wire_form() {
        let points = [
            Point::Position(Position {
                scn: Scn(u64::MAX),
                commits: u32::MAX,
            }),
            Point::Snapshot {
                snapshot: TransactionSnapshot {
                    xmin: Xid(1),
                    xmax: Xid(300),
                    open: Box::new([Xid(2), Xid(200)]),
                },
                high: Lsn(1 << 40),
            },
        ];
        for point in points {
            let mut out = Writer::default();
            point.write(&mut out);
            let bytes = out.finish();
            let versioned = [&[1], &bytes[..]].concat();
            let (_, mut reader) = Reader::versioned(&versioned, 1).unwrap();
            assert_eq!(Point::read(&mut reader).unwrap(), point);
            reader.finish().unwrap();
        }
    }
}
