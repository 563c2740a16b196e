//! A block of records as bytes in a file: a header, the records with their row ids, the block's own bytes, each with a
//! checksum. Nothing but the process that wrote a frame ever reads it, so it has no version.

use crate::log::records::{Action, Block, Entry, Record};
use crate::log::spill::Want;
use crate::position::{RecordSet, Scn};

const MAGIC: [u8; 4] = *b"TMSF";
/// The magic, where it stands, how many records, bytes of heads and of data, two checksums and that of the header.
pub(super) const HEADER: usize = 4 + 8 + 4 + 4 + 8 + 4 + 4 + 4;

/// Where a frame stands and what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Where it begins in its file.
    pub(crate) at: u64,
    /// How many records.
    pub(crate) records: u32,
    /// Bytes of records and row ids.
    heads: u32,
    /// Bytes of the block.
    pub(crate) data: u64,
    /// The first and the last scn.
    pub(crate) first: Scn,
    pub(crate) last: Scn,
    data_checksum: u32,
}

impl Frame {
    /// Behind header and records.
    pub(super) fn heads_end(&self) -> usize {
        HEADER + self.heads as usize
    }

    pub(super) fn data_at(&self) -> u64 {
        self.at + self.heads_end() as u64
    }

    pub(super) fn end(&self) -> u64 {
        self.data_at() + self.data
    }
}

/// A frame, and the bytes of its header and records; the block's own belong behind them.
pub(super) fn write(block: &Block, at: u64) -> (Frame, Vec<u8>) {
    let mut out = vec![0; HEADER];
    for entry in block.entries() {
        write_head(entry, &mut out);
    }
    for entry in block.entries() {
        out.extend_from_slice(block.row_id(entry));
    }
    let (mut frame, header) = of_bytes(block.len() as u32, &out[HEADER..], &block.bytes, at);
    (frame.first, frame.last) = (block.first(), block.last());
    out[..HEADER].copy_from_slice(&header);
    (frame, out)
}

/// A frame of these bytes, and its header.
pub(super) fn of_bytes(records: u32, heads: &[u8], data: &[u8], at: u64) -> (Frame, Vec<u8>) {
    let frame = Frame {
        at,
        records,
        heads: heads.len() as u32,
        data: data.len() as u64,
        first: Scn(0),
        last: Scn(0),
        data_checksum: crc32fast::hash(data),
    };
    let heads_checksum = crc32fast::hash(heads);
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&at.to_le_bytes());
    header.extend_from_slice(&frame.records.to_le_bytes());
    header.extend_from_slice(&frame.heads.to_le_bytes());
    header.extend_from_slice(&frame.data.to_le_bytes());
    header.extend_from_slice(&heads_checksum.to_le_bytes());
    header.extend_from_slice(&frame.data_checksum.to_le_bytes());
    header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    (frame, header)
}

/// Checks header and records, and takes the records into a block, their bytes lying as `want` has them read. Returns the row
/// ids.
pub(super) fn read_heads<'a>(
    frame: &Frame,
    bytes: &'a [u8],
    want: Want,
    block: &mut Block,
) -> Result<&'a [u8], &'static str> {
    let (header, heads) = bytes.split_at_checked(HEADER).ok_or("it is too short")?;
    let (said, checksum) = header.split_at(HEADER - 4);
    let mut said = Bytes(said);
    let is_header = checksum == crc32fast::hash(said.0).to_le_bytes()
        && said.take::<4>() == Some(MAGIC)
        && said.u64() == Some(frame.at)
        && said.u32() == Some(frame.records)
        && said.u32() == Some(frame.heads)
        && said.u64() == Some(frame.data);
    if !is_header {
        return Err("its header is damaged");
    }
    if said.u32() != Some(crc32fast::hash(heads)) {
        return Err("its records are damaged");
    }
    let mut rest = Bytes(heads);
    let mut row_ids = 0;
    for _ in 0..frame.records {
        let mut entry = read_head(&mut rest).ok_or("a record is damaged")?;
        if want == Want::Heads {
            entry.start = row_ids;
            entry.text = 0;
        }
        row_ids += entry.row_id as usize;
        block.entries.push(entry);
    }
    match rest.0.len() == row_ids {
        true => Ok(rest.0),
        false => Err("its row ids are damaged"),
    }
}

/// Checks the block's own bytes, and that the records lie inside them.
pub(super) fn check_data(frame: &Frame, block: &Block) -> Result<(), &'static str> {
    if crc32fast::hash(&block.bytes) != frame.data_checksum {
        return Err("its texts are damaged");
    }
    let lies_inside = |entry: &Entry| {
        let end = entry.start.checked_add(entry.row_id as usize + entry.text as usize);
        end.is_some_and(|end| end <= block.bytes.len())
    };
    match block.entries().iter().all(lies_inside) {
        true => Ok(()),
        false => Err("a record lies outside of it"),
    }
}

const ROLL_BACK: u8 = 1;
const NO_TEXT: u8 = 2;

fn write_head(entry: &Entry, out: &mut Vec<u8>) {
    let record = &entry.record;
    out.extend_from_slice(&record.scn.0.to_le_bytes());
    out.extend_from_slice(&record.object.to_le_bytes());
    out.extend_from_slice(&(entry.start as u64).to_le_bytes());
    for number in [
        record.table,
        record.version,
        record.shape,
        record.ssn,
        record.status as u32,
        entry.row_id,
        entry.text,
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let rs_id = record.rs_id.as_bytes();
    out.push(match record.action {
        Action::Insert => 0,
        Action::Update => 1,
        Action::Delete => 2,
        Action::Schema => 3,
        Action::Unsupported => 4,
    });
    out.push(u8::from(record.roll_back) * ROLL_BACK + u8::from(entry.no_text) * NO_TEXT);
    out.push(rs_id.len() as u8);
    out.extend_from_slice(rs_id);
}

fn read_head(bytes: &mut Bytes<'_>) -> Option<Entry> {
    let (scn, object, start) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
    let mut numbers = [0; 7];
    for number in &mut numbers {
        *number = bytes.u32()?;
    }
    let [table, version, shape, ssn, status, row_id, text] = numbers;
    let [action, flags, length] = bytes.take::<3>()?;
    let (rs_id, rest) = bytes.0.split_at_checked(usize::from(length))?;
    bytes.0 = rest;
    Some(Entry {
        record: Record {
            scn: Scn(scn),
            table,
            object,
            version,
            shape,
            action: match action {
                0 => Action::Insert,
                1 => Action::Update,
                2 => Action::Delete,
                3 => Action::Schema,
                4 => Action::Unsupported,
                _ => return None,
            },
            roll_back: flags & ROLL_BACK != 0,
            rs_id: RecordSet::new(rs_id)?,
            ssn,
            status: status as i32,
        },
        start: usize::try_from(start).ok()?,
        row_id,
        text,
        no_text: flags & NO_TEXT != 0,
    })
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
