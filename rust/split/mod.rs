//! What is handed out, reported and kept: tables, key ranges, splits and the events between readers and enumerator.

mod event;
#[cfg(test)]
pub(crate) mod fuzz;
mod partition;
mod state;
#[cfg(test)]
mod tests;

pub use event::{ToEnumerator, ToReader};
pub use partition::Partition;
use partition::{read_partitions, write_partitions};
pub use state::{AssignerState, Plan, Run, TableCut};

use std::fmt;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Point, Position, Scn};
use crate::wire::{Reader, Writer};

/// Of splits and events. 2: a stream split knows its tables; 3: and their partitions; 4: splits know their run.
const VERSION: u8 = 4;

/// A table as the database's dictionary names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Owner or schema.
    pub schema: String,
    /// Table.
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// A row's key in a form that compares bytewise as the database orders it (`catalog` makes it).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub Box<[u8]>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A half-open range `[lower, upper)` of keys; what is left out is open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRange {
    /// First key inside.
    pub lower: Option<Key>,
    /// First key beyond.
    pub upper: Option<Key>,
}

impl KeyRange {
    /// Every key.
    pub const ALL: KeyRange = KeyRange {
        lower: None,
        upper: None,
    };

    /// Whether a key lies inside.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_none_or(|lower| &*lower.0 <= key)
            && self.upper.as_ref().is_none_or(|upper| key < &*upper.0)
    }

    /// Whether two ranges share a key.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        let below = |lower: &Option<Key>, upper: &Option<Key>| match (lower, upper) {
            (Some(lower), Some(upper)) => lower < upper,
            _ => true,
        };
        below(&self.lower, &other.upper) && below(&other.lower, &self.upper)
    }

    fn write(&self, out: &mut Writer) {
        out.option(self.lower.as_ref(), |out, key| out.bytes(&key.0));
        out.option(self.upper.as_ref(), |out, key| out.bytes(&key.0));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut key = || from.option(|from| Ok(Key(from.bytes()?.into())));
        Ok(KeyRange {
            lower: key()?,
            upper: key()?,
        })
    }
}

/// Rows to read: a chunk as it was planned, or what remains of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// The table.
    pub table: Arc<TableName>,
    /// Its keys.
    pub range: KeyRange,
}

/// Rows that are out and equal the table at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedRange {
    /// The table.
    pub table: Arc<TableName>,
    /// Its keys.
    pub range: KeyRange,
    /// Which transactions the rows contain.
    pub point: Point,
    /// The oldest START among transactions not committed at the point (the point itself if there is none).
    pub mine_from: Scn,
}

/// The log phase. There is one at most in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSplit {
    /// Where it stands.
    pub offset: Offset,
    /// Stop when the log is read completely up to here (bounded jobs).
    pub end: Option<Position>,
    /// How many finished ranges the enumerator keeps for it; zero once the filter is dropped.
    pub needed: u32,
    /// Those that have arrived; the stream reads nothing before it has them all.
    pub ranges: Vec<FinishedRange>,
    /// The tables whose changes go out; empty until the stream was opened for the first time, if no snapshot came before it:
    /// then those that are found there. One that comes to match later is none of them, since its rows were never read.
    pub tables: Vec<Arc<TableName>>,
    /// Their partitions, where the log names these alone.
    pub partitions: Vec<Partition>,
}

/// What Flink hands to a reader and keeps for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// To be read.
    Chunk(Chunk),
    /// Emitted, not yet acknowledged.
    Finished(FinishedRange),
    /// To be streamed.
    Stream(StreamSplit),
    /// One of the others, of a later run than the first: everything was read again.
    OfRun {
        /// Which one; never 0.
        run: u32,
        /// Never one of these.
        split: Box<Split>,
    },
}

impl Split {
    /// Flink's name of the split: unique among those of a job at one time.
    pub fn id(&self) -> String {
        let range = |kind: char, table: &TableName, range: &KeyRange| match &range.lower {
            None => format!("{kind}:{table}:"),
            Some(key) => format!("{kind}:{table}:{key:?}"),
        };
        match self {
            Split::Chunk(chunk) => range('c', &chunk.table, &chunk.range),
            Split::Finished(finished) => range('f', &finished.table, &finished.range),
            Split::Stream(_) => "stream".to_owned(),
            Split::OfRun { run, split } => format!("{run}/{}", split.id()),
        }
    }

    /// It as one of a run; those of the first one, 0, say nothing of it.
    pub fn of_run(self, run: u32) -> Split {
        match run {
            0 => self,
            run => Split::OfRun {
                run,
                split: Box::new(self),
            },
        }
    }

    /// Its run, and it as one of the first.
    pub fn parted(self) -> (u32, Split) {
        match self {
            Split::OfRun { run, split } => (run, *split),
            split => (0, split),
        }
    }

    /// The bytes of this split.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::versioned(VERSION);
        self.write(&mut out);
        out.finish()
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Split::Chunk(chunk) => {
                out.u8(0);
                chunk.write(out);
            }
            Split::Finished(finished) => {
                out.u8(1);
                finished.write(out);
            }
            Split::Stream(stream) => {
                out.u8(2);
                stream.write(out);
            }
            Split::OfRun { run, split } => {
                out.u8(3);
                out.u64(u64::from(*run));
                split.write(out);
            }
        }
    }

    /// Reads what [`Split::encode`] wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// State error for damaged bytes or a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (version, mut from) = Reader::versioned(bytes, VERSION)?;
        let mut run = 0;
        let mut mark = from.u8()?;
        if mark == 3 {
            run = from.u32()?;
            mark = from.u8()?;
            if run == 0 {
                return Err(ErrorKind::State("a split of the first run says so".into()).into());
            }
        }
        let split = match mark {
            0 => Split::Chunk(Chunk::read(&mut from)?),
            1 => Split::Finished(FinishedRange::read(&mut from)?),
            2 => Split::Stream(StreamSplit::read(&mut from, version)?),
            other => return Err(ErrorKind::State(format!("a split is marked {other}")).into()),
        };
        from.finish()?;
        Ok(split.of_run(run))
    }
}

impl TableName {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.bytes(self.schema.as_bytes());
        out.bytes(self.name.as_bytes());
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(TableName {
            schema: from.text()?.to_owned(),
            name: from.text()?.to_owned(),
        })
    }
}

impl Chunk {
    pub(crate) fn write(&self, out: &mut Writer) {
        self.table.write(out);
        self.range.write(out);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Chunk {
            table: Arc::new(TableName::read(from)?),
            range: KeyRange::read(from)?,
        })
    }
}

impl FinishedRange {
    /// No fewer bytes than the wire form takes; for keeping events below a frame's size.
    pub fn size_bound(&self) -> usize {
        let key = |key: &Option<Key>| key.as_ref().map_or(1, |key| key.0.len() + 11);
        let point = match &self.point {
            Point::Position(_) => 16,
            Point::Snapshot { snapshot, .. } => 41 + 10 * snapshot.open.len(),
        };
        let table = self.table.schema.len() + self.table.name.len() + 21;
        table + key(&self.range.lower) + key(&self.range.upper) + point + 10
    }

    fn write(&self, out: &mut Writer) {
        self.table.write(out);
        self.write_behind_table(out);
    }

    fn write_behind_table(&self, out: &mut Writer) {
        self.range.write(out);
        self.point.write(out);
        out.u64(self.mine_from.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let table = Arc::new(TableName::read(from)?);
        FinishedRange::read_behind_table(from, table)
    }

    fn read_behind_table(from: &mut Reader<'_>, table: Arc<TableName>) -> Result<Self> {
        Ok(FinishedRange {
            table,
            range: KeyRange::read(from)?,
            point: Point::read(from)?,
            mine_from: Scn(from.u64()?),
        })
    }
}

impl StreamSplit {
    fn write(&self, out: &mut Writer) {
        self.offset.write(out);
        out.option(self.end.as_ref(), |out, end| end.write(out));
        out.u64(u64::from(self.needed));
        write_ranges(out, &self.ranges);
        out.list(self.tables.iter(), |out, table| table.write(out));
        write_partitions(out, &self.partitions, Some(self.offset.commit));
    }

    fn read(from: &mut Reader<'_>, version: u8) -> Result<Self> {
        Ok(StreamSplit {
            offset: Offset::read(from)?,
            end: from.option(Position::read)?,
            needed: from.u32()?,
            ranges: read_ranges(from)?,
            tables: match version {
                1 => Vec::new(),
                _ => from.list(|from| TableName::read(from).map(Arc::new))?,
            },
            partitions: match version {
                1 | 2 => Vec::new(),
                _ => read_partitions(from)?,
            },
        })
    }
}

/// Ranges of one table that follow each other name it once: a job may have a hundred thousand of them.
pub(crate) fn write_ranges(out: &mut Writer, ranges: &[FinishedRange]) {
    let mut table: Option<&TableName> = None;
    out.list(ranges.iter(), |out, range| {
        let changed = table != Some(&range.table);
        out.option(changed.then_some(&range.table), |out, name| name.write(out));
        table = Some(&range.table);
        range.write_behind_table(out);
    });
}

pub(crate) fn read_ranges(from: &mut Reader<'_>) -> Result<Vec<FinishedRange>> {
    let mut table: Option<Arc<TableName>> = None;
    from.list(|from| {
        if let Some(name) = from.option(TableName::read)? {
            table = Some(Arc::new(name));
        }
        let name = table
            .clone()
            .ok_or_else(|| ErrorKind::State("a range names no table".into()))?;
        FinishedRange::read_behind_table(from, name)
    })
}
