//! How lists cross between Java and Rust, inside one process and one build: little-endian numbers, u32 lengths. Nothing
//! here is kept; what is kept has its wire form in `split` and `offset`.

use crate::assigner::Action::{Assign, NoMoreSplits, Send};
use crate::enumerator::api::Action;
use crate::error::{ErrorKind, Result};
use crate::reader::api::Metric;
use crate::split::{Split, ToEnumerator};

/// Bytes for Java's `Frame` to take apart.
#[derive(Default)]
pub(super) struct FrameWriter(Vec<u8>);

impl FrameWriter {
    /// A frame that begins with a tag.
    pub(super) fn tagged(tag: u8) -> Self {
        FrameWriter(vec![tag])
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.0.extend_from_slice(value);
    }

    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| write(self, item));
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// A list, or no bytes at all if it is empty.
pub(super) fn list<T>(items: &[T], write: impl FnMut(&mut FrameWriter, &T)) -> Vec<u8> {
    let mut out = FrameWriter::default();
    if !items.is_empty() {
        out.list(items, write);
    }
    out.finish()
}

/// Events for the enumerator: a byte string each.
pub(super) fn events(events: &[ToEnumerator]) -> Vec<u8> {
    list(events, |out, event| out.bytes(&event.encode()))
}

/// Splits: the id that Flink knows each by, and its bytes.
pub(super) fn splits(splits: &[Split]) -> Vec<u8> {
    list(splits, split)
}

fn split(out: &mut FrameWriter, split: &Split) {
    out.bytes(split.id().as_bytes());
    out.bytes(&split.encode());
}

/// Actions: a kind, the reader it is for, and what the kind has with it.
pub(super) fn actions(actions: &[Action]) -> Vec<u8> {
    list(actions, |out, action| match action {
        Action::Decided(decided) => match &**decided {
            Assign { subtask, split: it } => {
                out.u8(0);
                out.u32(*subtask);
                split(out, it);
            }
            Send { subtask, event } => {
                out.u8(1);
                out.u32(*subtask);
                out.bytes(&event.encode());
            }
            NoMoreSplits { subtask } => {
                out.u8(2);
                out.u32(*subtask);
            }
        },
        Action::Cut => {
            out.u8(3);
            out.u32(0);
        }
    })
}

/// Gauges: name and value.
pub(super) fn metrics(metrics: &[Metric]) -> Vec<u8> {
    list(metrics, |out, metric| {
        out.bytes(metric.name.as_bytes());
        out.i64(metric.value);
    })
}

/// Numbers, one behind the other.
pub(super) fn read_numbers(bytes: &[u8]) -> Vec<u32> {
    let numbers = bytes.chunks_exact(4);
    numbers
        .map(|number| u32::from_le_bytes([number[0], number[1], number[2], number[3]]))
        .collect()
}

/// The splits of a list of byte strings, as Java's `Frame` writes it.
///
/// # Errors
/// State error for damaged bytes.
pub(super) fn read_splits(bytes: &[u8]) -> Result<Vec<Split>> {
    fn take<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
        let (head, rest) = from
            .split_at_checked(length)
            .ok_or_else(|| ErrorKind::State("a list of splits ends too early".into()))?;
        *from = rest;
        Ok(head)
    }
    fn length(from: &mut &[u8]) -> Result<usize> {
        let bytes = take(from, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut rest = bytes;
    let count = length(&mut rest)?;
    let mut splits = Vec::new();
    for _ in 0..count {
        let length = length(&mut rest)?;
        splits.push(Split::decode(take(&mut rest, length)?)?);
    }
    if rest.is_empty() {
        Ok(splits)
    } else {
        Err(ErrorKind::State(format!("{} bytes follow a list of splits", rest.len())).into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::split::{Chunk, Key, KeyRange, TableName};

    fn chunk(lower: &[u8]) -> Split {
        Split::Chunk(Chunk {
            table: Arc::new(TableName {
                schema: "S".into(),
                name: "T".into(),
            }),
            range: KeyRange {
                lower: Some(Key(lower.into())),
                upper: None,
            },
        })
    }

    #[test]
    fn splits_are_read_as_java_writes_them() {
        let splits = vec![chunk(b"a"), chunk(b"b")];
        let bytes = list(&splits, |out, split| out.bytes(&split.encode()));
        assert_eq!(read_splits(&bytes).unwrap(), splits);
        assert_eq!(read_splits(&[]).unwrap(), []);
        for length in 1..bytes.len() {
            assert!(read_splits(&bytes[..length]).is_err());
        }
        assert!(read_splits(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn numbers_are_read_as_java_writes_them() {
        assert_eq!(read_numbers(&[1, 0, 0, 0, 0, 1, 0, 0]), [1, 256]);
        assert!(read_numbers(&[]).is_empty());
    }

    #[test]
    fn actions_have_the_layout_that_java_reads() {
        let all = [
            Action::Decided(Box::new(Assign {
                subtask: 3,
                split: chunk(b"a"),
            })),
            Action::Decided(Box::new(NoMoreSplits { subtask: 1 })),
            Action::Cut,
        ];
        let bytes = actions(&all);
        let id = b"c:S.T:61";
        assert_eq!(bytes[..9], [3, 0, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[9..13], (id.len() as u32).to_le_bytes());
        assert_eq!(bytes[13..13 + id.len()], *id);
        let split = chunk(b"a").encode();
        let behind = 13 + id.len() + 4 + split.len();
        assert_eq!(bytes[behind - split.len()..behind], split);
        assert_eq!(bytes[behind..], [2, 1, 0, 0, 0, 3, 0, 0, 0, 0]);
        assert!(actions(&[]).is_empty());
    }
}
