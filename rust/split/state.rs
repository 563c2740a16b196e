//! What the enumerator keeps in a checkpoint.

use std::sync::Arc;

use super::partition::{read_partitions, write_partitions};
use super::{Chunk, FinishedRange, Key, KeyRange, Partition, TableName, read_ranges, write_ranges};
use crate::error::{ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Incarnation, Position};
use crate::wire::{Reader, Writer};

/// 2: it knows the tables' partitions; 3: and its run.
const VERSION: u8 = 3;

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
    /// The tables' partitions when the snapshot began, where the log names these alone; the stream split takes them along.
    pub partitions: Vec<Partition>,
    /// How often everything was read again.
    pub run: Run,
}

/// What tells a job's splits from those before everything was read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// How often it was read again.
    pub number: u32,
    /// A reader may still hold splits of an earlier run in the same checkpoint.
    pub is_mixed: bool,
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
        write_partitions(&mut out, &self.partitions, None);
        out.u64(u64::from(self.run.number));
        out.u8(u8::from(self.run.is_mixed));
        out.finish()
    }

    /// Reads what [`AssignerState::encode`] wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// State error for damaged bytes or a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (version, mut from) = Reader::versioned(bytes, VERSION)?;
        let state = AssignerState {
            incarnation: Incarnation(from.u64()?),
            plan: from.option(Plan::read)?,
            planned: read_chunks(&mut from)?,
            ranges: read_ranges(&mut from)?,
            stream_out: read_flag(&mut from)?,
            partitions: match version {
                1 => Vec::new(),
                _ => read_partitions(&mut from)?,
            },
            run: match version {
                1 | 2 => Run::default(),
                _ => Run {
                    number: from.u32()?,
                    is_mixed: read_flag(&mut from)?,
                },
            },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::{Point, Scn};

    fn key(text: &str) -> Key {
        Key(text.as_bytes().into())
    }

    fn table(name: &str) -> Arc<TableName> {
        Arc::new(TableName {
            schema: "BIZ".into(),
            name: name.into(),
        })
    }

    fn range(table: &Arc<TableName>, lower: Option<Key>, upper: Option<Key>) -> FinishedRange {
        FinishedRange {
            table: table.clone(),
            range: KeyRange { lower, upper },
            point: Point::Position(Position::before(Scn(300))),
            mine_from: Scn(299),
        }
    }

    fn state() -> AssignerState {
        let (a, b) = (table("A"), table("B"));
        let chunk = |lower: Option<Key>, upper: Option<Key>| Chunk {
            table: b.clone(),
            range: KeyRange { lower, upper },
        };
        AssignerState {
            incarnation: Incarnation(7),
            plan: Some(Plan::Tables {
                from: Some(Position::before(Scn(5))),
                tables: vec![
                    TableCut {
                        table: a.clone(),
                        bounds: vec![key("c"), key("m")],
                        whole: true,
                    },
                    TableCut {
                        table: b.clone(),
                        bounds: vec![key("d")],
                        whole: false,
                    },
                ],
            }),
            planned: vec![chunk(None, Some(key("d"))), chunk(Some(key("d")), None)],
            ranges: vec![range(&a, None, Some(key("c"))), range(&a, Some(key("c")), None)],
            stream_out: true,
            partitions: vec![Partition {
                root: b,
                number: 9,
                name: (*table("B_1")).clone(),
                identity: None,
                over: None,
            }],
            run: Run {
                number: 2,
                is_mixed: true,
            },
        }
    }

    /// What version 1 wrote for `state()`; every later version reads it.
    const VERSION_1: &str = "01 07 01 01 01 05 00 02 03 42495a 01 41 02 01 63 01 6d 01 03 42495a 01 42 01 01 64 00 \
        02 01 03 42495a 01 42 00 01 01 64 00 01 01 64 00 \
        02 01 03 42495a 01 41 00 01 01 63 00 ac02 00 ab02 00 01 01 63 00 00 ac02 00 ab02 01";

    #[test]
    fn the_state_of_version_1_is_read() {
        let digits: String = VERSION_1.split_whitespace().collect();
        let pairs = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
        let bytes: Vec<u8> = pairs.collect::<std::result::Result<_, _>>().unwrap();
        let of_version_1 = AssignerState {
            partitions: Vec::new(),
            run: Run::default(),
            ..state()
        };
        assert_eq!(AssignerState::decode(&bytes).unwrap(), of_version_1);
        assert_eq!(of_version_1.encode()[1..], [&bytes[1..], &[0, 0, 0]].concat());
    }

    /// What version 2 wrote behind that.
    const VERSION_2_PARTITIONS: &[u8] = b"\x01\x01\x03BIZ\x01B\x09\x03BIZ\x03B_1\x00\x00";

    #[test]
    fn the_state_of_version_2_is_read() {
        let digits: String = VERSION_1.split_whitespace().collect();
        let pairs = (2..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
        let mut bytes = vec![2];
        bytes.extend(pairs.collect::<std::result::Result<Vec<u8>, _>>().unwrap());
        bytes.extend(VERSION_2_PARTITIONS);
        let of_version_2 = AssignerState {
            run: Run::default(),
            ..state()
        };
        assert_eq!(AssignerState::decode(&bytes).unwrap(), of_version_2);
    }

    #[test]
    fn every_plan_survives_its_wire_form() {
        let offset = Offset::starting(Incarnation(3), Scn(4), Position::before(Scn(9)));
        for plan in [None, Some(Plan::Stream(offset)), state().plan] {
            let state = AssignerState { plan, ..state() };
            assert_eq!(AssignerState::decode(&state.encode()).unwrap(), state);
        }
    }

    #[test]
    fn every_truncated_damaged_or_newer_state_is_an_error() {
        let bytes = state().encode();
        for length in 0..bytes.len() {
            assert!(AssignerState::decode(&bytes[..length]).is_err());
        }
        let mut newer = bytes.clone();
        newer[0] = VERSION + 1;
        assert!(
            AssignerState::decode(&newer)
                .unwrap_err()
                .to_string()
                .contains("version 4")
        );
        assert!(AssignerState::decode(&[&bytes[..], &[0]].concat()).is_err());
        let mut flag = AssignerState {
            partitions: Vec::new(),
            ..state()
        }
        .encode();
        let last = flag.len() - 4;
        flag[last] = 2;
        assert!(AssignerState::decode(&flag).is_err());
        // Whatever a byte becomes: an error or a state, never a panic or a fortune of memory.
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = AssignerState::decode(&damaged);
            }
        }
    }

    #[test]
    fn a_hundred_thousand_ranges_take_few_bytes_each() {
        let a = table("A_TABLE_WITH_A_NAME_OF_SOME_LENGTH");
        let key = |number: u32| Key(number.to_be_bytes().into());
        let many = || 0..100_000u32;
        let state = AssignerState {
            plan: Some(Plan::Tables {
                from: None,
                tables: vec![TableCut {
                    table: a.clone(),
                    bounds: many().map(|number| key(number + 1)).collect(),
                    whole: true,
                }],
            }),
            planned: Vec::new(),
            ranges: many()
                .map(|number| range(&a, Some(key(number)), Some(key(number + 1))))
                .collect(),
            ..state()
        };
        let bytes = state.encode();
        assert!(bytes.len() < 100_000 * 26, "{} bytes", bytes.len());
        assert_eq!(AssignerState::decode(&bytes).unwrap(), state);
    }
}
