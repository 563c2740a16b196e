//! Splits and events through their wire form, this version's and earlier ones'.

use super::*;
use crate::position::Incarnation;

/// A stream split as version 1 wrote it; every later version reads it.
pub(super) const VERSION_1: &[u8] = &[
    1, 2, 3, 4, 9, 0, 0, 0, 4, 0, 1, 1, 1, 3, 66, 73, 90, 1, 65, 1, 1, 109, 0, 0, 9, 2, 4,
];
/// The same of version 2.
pub(super) const VERSION_2: &[u8] = &[
    2, 2, 3, 4, 9, 0, 0, 0, 4, 0, 1, 1, 1, 3, 66, 73, 90, 1, 65, 1, 1, 109, 0, 0, 9, 2, 4, 1, 3, 66, 73, 90, 1, 65,
];

fn key(text: &str) -> Option<Key> {
    Some(Key(text.as_bytes().into()))
}

fn range(table: &Arc<TableName>, lower: Option<Key>, upper: Option<Key>) -> FinishedRange {
    FinishedRange {
        table: table.clone(),
        range: KeyRange { lower, upper },
        point: Point::Position(Position {
            scn: Scn(9),
            commits: 2,
        }),
        mine_from: Scn(4),
    }
}

fn table(name: &str) -> Arc<TableName> {
    Arc::new(TableName {
        schema: "BIZ".into(),
        name: name.into(),
    })
}

fn partition(root: &Arc<TableName>, number: u64, over: Option<u64>) -> Partition {
    Partition {
        root: root.clone(),
        number,
        name: (*table(&format!("P{number}"))).clone(),
        identity: None,
        over: over.map(Scn),
    }
}

#[test]
fn splits_and_events_survive_their_wire_form() {
    let (a, b) = (table("A"), table("B"));
    let ranges = vec![
        range(&a, None, key("m")),
        range(&a, key("m"), None),
        range(&b, None, None),
    ];
    let splits = [
        Split::Chunk(Chunk {
            table: a.clone(),
            range: KeyRange {
                lower: key("m"),
                upper: None,
            },
        }),
        Split::Finished(ranges[0].clone()),
        Split::Stream(StreamSplit {
            offset: Offset::starting(Incarnation(3), Scn(4), Position::before(Scn(9))),
            end: Some(Position::before(Scn(12))),
            needed: 3,
            ranges: ranges.clone(),
            tables: vec![a.clone(), b.clone()],
            partitions: vec![
                partition(&a, 5, Some(10)),
                partition(&a, 700, None),
                Partition {
                    identity: Some(vec!["ID".into(), "É".into()]),
                    ..partition(&b, 6, None)
                },
            ],
        }),
    ];
    for split in splits {
        assert_eq!(Split::decode(&split.encode()).unwrap(), split);
        for length in 0..split.encode().len() {
            assert!(Split::decode(&split.encode()[..length]).is_err());
        }
    }
    let to_enumerator = [
        ToEnumerator::Request,
        ToEnumerator::Report(ranges[1].clone()),
        ToEnumerator::Missing { have: 2 },
    ];
    for event in to_enumerator {
        assert_eq!(ToEnumerator::decode(&event.encode()).unwrap(), event);
    }
    let to_reader = [
        ToReader::NoneNow,
        ToReader::Acknowledge(ranges[1].clone()),
        ToReader::Ranges {
            first: 1,
            ranges: ranges[1..].to_vec(),
        },
    ];
    for event in to_reader {
        assert_eq!(ToReader::decode(&event.encode()).unwrap(), event);
    }
}

#[test]
fn splits_of_earlier_versions_are_read() {
    let mut split = StreamSplit {
        offset: Offset::starting(Incarnation(3), Scn(4), Position::before(Scn(9))),
        end: None,
        needed: 1,
        ranges: vec![range(&table("A"), key("m"), None)],
        tables: Vec::new(),
        partitions: Vec::new(),
    };
    let newest = Split::Stream(split.clone()).encode();
    // No tables, no partitions, and no lists of them.
    let bytes = [&[1], &newest[1..newest.len() - 2]].concat();
    assert_eq!(bytes, VERSION_1);
    assert_eq!(Split::decode(&bytes).unwrap(), Split::Stream(split.clone()));
    split.tables = vec![table("A")];
    let newest = Split::Stream(split.clone()).encode();
    let bytes = [&[2], &newest[1..newest.len() - 1]].concat();
    assert_eq!(bytes, VERSION_2);
    assert_eq!(Split::decode(&bytes).unwrap(), Split::Stream(split));
}

/// The state does not grow by what a partitioned table once was.
#[test]
fn a_partition_leaves_the_state_once_nothing_of_it_can_come() {
    let root = table("A");
    let kept = |commit| {
        let split = Split::Stream(StreamSplit {
            offset: Offset::starting(Incarnation(3), Scn(4), commit),
            end: None,
            needed: 0,
            ranges: Vec::new(),
            tables: vec![root.clone()],
            partitions: vec![partition(&root, 1, None), partition(&root, 2, Some(20))],
        });
        match Split::decode(&split.encode()).unwrap() {
            Split::Stream(split) => split.partitions.iter().map(|kept| kept.number).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    let behind = |scn| Position {
        scn: Scn(scn),
        commits: 1,
    };
    assert_eq!(kept(behind(18)), [1, 2]);
    assert_eq!(kept(behind(19)), [1, 2]);
    assert_eq!(kept(Position::before(Scn(20))), [1]);
    assert_eq!(kept(behind(21)), [1]);
}

#[test]
fn half_open_ranges_touch_without_overlap() {
    let left = KeyRange {
        lower: None,
        upper: key("m"),
    };
    let right = KeyRange {
        lower: key("m"),
        upper: None,
    };
    assert!(!left.overlaps(&right) && !right.overlaps(&left));
    assert!(left.overlaps(&KeyRange::ALL) && KeyRange::ALL.overlaps(&right));
    assert!(left.contains(b"l") && !left.contains(b"m") && right.contains(b"m"));
}

#[test]
fn a_hundred_thousand_ranges_take_few_bytes_each() {
    let a = table("A_TABLE_WITH_A_NAME_OF_SOME_LENGTH");
    let ranges: Vec<_> = (0..100_000u32)
        .map(|n| range(&a, key(&format!("{n:08}")), key(&format!("{:08}", n + 1))))
        .collect();
    let stream = StreamSplit {
        offset: Offset::starting(Incarnation(3), Scn(4), Position::before(Scn(9))),
        end: None,
        needed: 100_000,
        ranges,
        tables: vec![a],
        partitions: Vec::new(),
    };
    let bytes = Split::Stream(stream.clone()).encode();
    assert!(bytes.len() < 100_000 * 32, "{} bytes", bytes.len());
    assert_eq!(Split::decode(&bytes).unwrap(), Split::Stream(stream));
}
