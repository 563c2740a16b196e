//! Damaged frames of spill files: refused, whatever the damage; and behind right checksums nothing lies outside.

use crate::fuzz::Target;
use crate::log::records::{Action, Block, Record};
use crate::log::spill::Want;
use crate::log::spill::frame::{Frame, HEADER, check_data, of_bytes, read_heads, write};
use crate::position::{RecordSet, Scn};

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "frame of a spill file",
        files: &["log/spill/frame.rs", "log/spill.rs"],
        corpus: || vec![frame().1],
        read: |bytes| {
            let (frame, whole) = frame();
            for want in [Want::Whole, Want::Heads] {
                match take(&frame, bytes, want) {
                    Ok(block) if want == Want::Whole => {
                        assert_eq!(bytes[..whole.len()], whole);
                        assert_eq!(block.bytes, written().bytes);
                        return true;
                    }
                    _ => {}
                }
            }
            false
        },
        // Most of what changes anything is refused, as it should be; what stands behind the frame is not read.
        inputs: 20_000,
        ..Target::USUAL
    },
    Target {
        name: "frame of a spill file with right checksums",
        files: &["log/spill/frame.rs"],
        corpus: || {
            let (frame, whole) = frame();
            let heads = &whole[HEADER..frame.heads_end()];
            vec![[&(heads.len() as u16).to_le_bytes(), heads, &whole[frame.heads_end()..]].concat()]
        },
        read: |bytes| {
            let Some((length, rest)) = bytes.split_first_chunk() else {
                return false;
            };
            let Some((heads, data)) = rest.split_at_checked(u16::from_le_bytes(*length).into()) else {
                return false;
            };
            // A frame as it would be if these were its bytes.
            let (frame, header) = of_bytes(written().len() as u32, heads, data, 0);
            let whole = [&header, heads, data].concat();
            let mut was_read = false;
            for want in [Want::Whole, Want::Heads] {
                if let Ok(block) = take(&frame, &whole, want) {
                    assert_eq!(block.len(), written().len());
                    for entry in block.entries() {
                        let (row_id, text) = (block.row_id(entry), block.text(entry));
                        assert!(row_id.len() + text.len() <= block.bytes.len());
                    }
                    was_read = true;
                }
            }
            was_read
        },
        ..Target::USUAL
    },
];

/// As a file is read.
fn take(frame: &Frame, bytes: &[u8], want: Want) -> Result<Block, &'static str> {
    let (heads, data) = bytes.split_at_checked(frame.heads_end()).ok_or("it is too short")?;
    let mut block = Block::default();
    let row_ids = read_heads(frame, heads, want, &mut block)?;
    match want {
        Want::Heads => block.bytes.extend_from_slice(row_ids),
        Want::Whole => {
            let data = data.get(..frame.data as usize).ok_or("it is too short")?;
            block.bytes.extend_from_slice(data);
            check_data(frame, &block)?;
        }
    }
    Ok(block)
}

fn frame() -> (Frame, Vec<u8>) {
    let block = written();
    let (frame, mut bytes) = write(&block, 0);
    assert_eq!(frame.heads_end(), bytes.len());
    bytes.extend_from_slice(&block.bytes);
    (frame, bytes)
}

fn written() -> Block {
    let mut block = Block::default();
    for (nth, action) in [Action::Insert, Action::Update, Action::Delete, Action::Schema]
        .into_iter()
        .enumerate()
    {
        let record = Record {
            scn: Scn(300 + nth as u64),
            table: 3,
            object: 1 << 40,
            version: 5,
            shape: 2,
            action,
            roll_back: nth == 2,
            rs_id: RecordSet::new(b"0x1.2").unwrap(),
            ssn: 9,
            status: -4,
        };
        let text = (nth != 2).then_some(&b"insert into \"S\".\"T\""[..]);
        block.push(record, b"AAAB", text);
    }
    block
}
