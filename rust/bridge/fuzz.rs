//! Damaged lists from the other side of the bridge.

use crate::bridge::frame::{list, read_numbers, read_splits};
use crate::fuzz::Target;
use crate::split::Split;

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "list of splits",
        files: &["bridge/frame.rs"],
        corpus: || {
            let splits = crate::split::fuzz::splits();
            let list = |splits: &[Split]| list(splits, |out, split| out.bytes(&split.encode()));
            let pairs = splits.chunks(2).map(list);
            pairs.chain([list(&splits), Vec::new()]).collect()
        },
        read: |bytes| {
            let Ok(splits) = read_splits(bytes) else { return false };
            let again = list(&splits, |out, split| out.bytes(&split.encode()));
            let read = read_splits(&again).unwrap();
            // What a position has left behind is not written again.
            assert_eq!(list(&read, |out, split| out.bytes(&split.encode())), again);
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "numbers of subtasks",
        files: &["bridge/frame.rs"],
        corpus: || vec![Vec::new(), vec![1, 0, 0, 0], vec![0, 1, 0, 0, 9, 0, 0, 0]],
        inputs: 1_000,
        read: |bytes| {
            let numbers = read_numbers(bytes);
            let whole: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            assert_eq!(whole, bytes[..whole.len()]);
            whole.len() == bytes.len()
        },
        ..Target::USUAL
    },
];
