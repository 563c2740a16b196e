//! The binary messages of `pgoutput`, protocol version 1 (PostgreSQL manual, "Logical Replication Message Formats").

use crate::dialect::slots::PluginCall;
use crate::error::Result;
use crate::log::decoding::plugin::{
    Begin, Cell, Commit, Datum, Event, Message, Old, Plugin, Relation, RelationColumn, Row, TableRef, malformed,
    shortened,
};

/// The plugin that every PostgreSQL has since version 10.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pgoutput {
    /// Values come in binary form, where their type has one (since version 14).
    pub is_binary: bool,
}

/// Microseconds from 1970-01-01 to 2000-01-01, where the server's times begin.
pub const SERVER_EPOCH_MICROS: i64 = 946_684_800_000_000;

impl Plugin for Pgoutput {
    fn name(&self) -> &'static str {
        "pgoutput"
    }

    fn next<'a>(&mut self, data: &mut &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>> {
        row.clear();
        let mut bytes = Bytes(data);
        match event(&mut bytes, row) {
            Some(event) => {
                *data = bytes.0;
                Ok(event)
            }
            None => malformed(format!("not a pgoutput message: {}", shortened(data))),
        }
    }

    fn call<'p>(&self, publications: &'p str) -> PluginCall<'p> {
        let mut options = vec![("proto_version", "1"), ("publication_names", publications)];
        if self.is_binary {
            options.push(("binary", "true"));
        }
        PluginCall {
            options,
            binary: true,
            says_xid: true,
            says_end: true,
            with_ends: None,
        }
    }
}

fn event<'a>(bytes: &mut Bytes<'a>, row: &mut Row<'a>) -> Option<Event<'a>> {
    Some(match bytes.u8()? {
        b'B' => {
            let (commit, micros) = (bytes.u64()?, bytes.i64()?);
            Event::Begin(Begin {
                commit: Some(commit),
                micros: Some(micros.checked_add(SERVER_EPOCH_MICROS)?),
                xid: Some(bytes.u32()?),
            })
        }
        b'C' => {
            // Flags, where the COMMIT record begins, where it ends.
            let (_, _, _) = (bytes.u8()?, bytes.u64()?, bytes.u64()?);
            Event::Commit(Commit {
                xid: None,
                micros: Some(bytes.i64()?.checked_add(SERVER_EPOCH_MICROS)?),
            })
        }
        b'R' => relation(bytes, row)?,
        b'I' => {
            let table = TableRef::Number(bytes.u32()?);
            if bytes.u8()? != b'N' {
                return None;
            }
            tuple(bytes, &mut row.new)?;
            Event::Insert(table)
        }
        b'U' => {
            let table = TableRef::Number(bytes.u32()?);
            let mut mark = bytes.u8()?;
            let old = old(mark);
            if old.is_some() {
                tuple(bytes, &mut row.old)?;
                mark = bytes.u8()?;
            }
            if mark != b'N' {
                return None;
            }
            tuple(bytes, &mut row.new)?;
            Event::Update(table, old)
        }
        b'D' => {
            let table = TableRef::Number(bytes.u32()?);
            let old = Some(old(bytes.u8()?)?);
            tuple(bytes, &mut row.old)?;
            Event::Delete(table, old)
        }
        b'T' => {
            let (tables, _flags) = (bytes.u32()?, bytes.u8()?);
            for _ in 0..tables {
                row.tables.push(TableRef::Number(bytes.u32()?));
            }
            Event::Truncate
        }
        b'M' => {
            let (flags, _lsn) = (bytes.u8()?, bytes.u64()?);
            Event::Message(Message {
                transactional: flags & 1 == 1,
                prefix: bytes.text()?,
                content: bytes.counted()?,
            })
        }
        b'Y' => {
            let (_, _, _) = (bytes.u32()?, bytes.text()?, bytes.text()?);
            Event::Other
        }
        b'O' => {
            let (_, _) = (bytes.u64()?, bytes.text()?);
            Event::Other
        }
        _ => return None,
    })
}

fn old(mark: u8) -> Option<Old> {
    match mark {
        b'K' => Some(Old::Identity),
        b'O' => Some(Old::Whole),
        _ => None,
    }
}

fn relation<'a>(bytes: &mut Bytes<'a>, row: &mut Row<'a>) -> Option<Event<'a>> {
    let relation = Relation {
        number: bytes.u32()?,
        schema: bytes.text()?,
        name: bytes.text()?,
        identity: bytes.u8()?,
    };
    for _ in 0..bytes.u16()? {
        row.columns.push(RelationColumn {
            in_identity: bytes.u8()? & 1 == 1,
            name: bytes.text()?,
            kind: bytes.u32()?,
            modifier: bytes.u32()? as i32,
        });
    }
    Some(Event::Relation(relation))
}

fn tuple<'a>(bytes: &mut Bytes<'a>, cells: &mut Vec<Cell<'a>>) -> Option<()> {
    for _ in 0..bytes.u16()? {
        let datum = match bytes.u8()? {
            b'n' => Datum::Null,
            b'u' => Datum::Unchanged,
            b't' => Datum::Text(bytes.counted()?),
            b'b' => Datum::Binary(bytes.counted()?),
            _ => return None,
        };
        cells.push(Cell {
            name: b"",
            kind: b"",
            datum,
        });
    }
    Some(())
}

/// Reads from the front; nothing is taken that is not there.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    /// Bytes behind their number.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    /// Bytes in front of a zero.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }
}
