//! What the enumerator keeps in a checkpoint.

use std::sync::Arc;

use super::{Chunk, FinishedRange, Key, KeyRange, TableName, read_ranges, write_ranges};
use crate::error::{ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Incarnation, Position};
use crate::wire::{Reader, Writer};

const VERSION: u8 = 1;

/// The enumerator's state. Who holds what is not in it: readers keep their own splits, and report again what they emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignerState {
    /// The log that all positions belong to; zero while it is not known.
    pub incarnation: Incarnation,
    /// What the job does; `None` while that is not decided.
    pub plan: Option<Plan>,
    /// Chunks that were cut and are in no reader's hands.
    pub planned: Vec<Chunk>,
    /// All ranges that were reported, ascending by table and key.
    pub ranges: Vec<FinishedRange>,
    /// Whether the stream split is in a reader's hands.
    pub stream_out: bool,
}

/// What the job does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Stream only, from here.
    Stream(Offset),
    /// Snapshot, then stream.
    Tables {
        /// Where the stream starts; where it is left out, at the smallest point.
        from: Option<Position>,
        /// The tables, ascending, and how far each is cut.
        tables: Vec<TableCut>,
    },
}

/// How far a table is cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCut {
    /// The table.
    pub table: Arc<TableName>,
    /// Upper bounds of the chunks so far, ascending; the open one of the last chunk is not among them.
    pub bounds: Vec<Key>,
    /// Whether the last chunk was cut.
    pub whole: bool,
}

impl AssignerState {
    /// The bytes of this state.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::versioned(VERSION);
        out.u64(self.incarnation.0);
        out.option(self.plan.as_ref(), |out, plan| plan.write(out));
        write_chunks(&mut out, &self.planned);
        write_ranges(&mut out, &self.ranges);
        out.u8(u8::from(self.stream_out));
        out.finish()
    }

    /// Reads what [`AssignerState::encode`] wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// State error for damaged bytes or a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (_, mut from) = Reader::versioned(bytes, VERSION)?;
        let state = AssignerState {
            incarnation: Incarnation(from.u64()?),
            plan: from.option(Plan::read)?,
            planned: read_chunks(&mut from)?,
            ranges: read_ranges(&mut from)?,
            stream_out: read_flag(&mut from)?,
        };
        from.finish()?;
        Ok(state)
    }
}

impl Plan {
    fn write(&self, out: &mut Writer) {
        match self {
            Plan::Stream(offset) => {
                out.u8(0);
                offset.write(out);
            }
            Plan::Tables { from, tables } => {
                out.u8(1);
                out.option(from.as_ref(), |out, from| from.write(out));
                out.list(tables.iter(), |out, table| {
                    table.table.write(out);
                    out.list(table.bounds.iter(), |out, bound| out.bytes(&bound.0));
                    out.u8(u8::from(table.whole));
                });
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.u8()? {
            0 => Plan::Stream(Offset::read(from)?),
            1 => Plan::Tables {
                from: from.option(Position::read)?,
                tables: from.list(|from| {
                    Ok(TableCut {
                        table: Arc::new(TableName::read(from)?),
                        bounds: from.list(|from| Ok(Key(from.bytes()?.into())))?,
                        whole: read_flag(from)?,
                    })
                })?,
            },
            other => return Err(ErrorKind::State(format!("a plan is marked {other}")).into()),
        })
    }
}

fn read_flag(from: &mut Reader<'_>) -> Result<bool> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(ErrorKind::State(format!("a flag is {other}")).into()),
    }
}

/// Chunks of one table that follow each other name it once.
fn write_chunks(out: &mut Writer, chunks: &[Chunk]) {
    let mut table: Option<&TableName> = None;
    out.list(chunks.iter(), |out, chunk| {
        let changed = table != Some(&chunk.table);
        out.option(changed.then_some(&chunk.table), |out, name| name.write(out));
        table = Some(&chunk.table);
        chunk.range.write(out);
    });
}

fn read_chunks(from: &mut Reader<'_>) -> Result<Vec<Chunk>> {
    let mut table: Option<Arc<TableName>> = None;
    from.list(|from| {
        if let Some(name) = from.option(TableName::read)? {
            table = Some(Arc::new(name));
        }
        let table = table
            .clone()
            .ok_or_else(|| ErrorKind::State("a chunk names no table".into()))?;
        Ok(Chunk {
            table,
            range: KeyRange::read(from)?,
        })
    })
}
