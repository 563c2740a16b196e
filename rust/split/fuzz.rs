//! Damaged state: an error, or a state that is written as it was read.

use std::sync::Arc;

use crate::fuzz::Target;
use crate::offset::Offset;
use crate::position::{
    CommitPosition, Incarnation, Lsn, Place, Point, Position, RecordSet, Scn, TransactionSnapshot, Xid,
};
use crate::split::{
    AssignerState, Chunk, FinishedRange, Key, KeyRange, Partition, Plan, Run, Split, StreamSplit, TableCut, TableName,
    ToEnumerator, ToReader,
};

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "offset",
        files: &["offset.rs", "position.rs", "wire.rs"],
        corpus: || offsets().iter().map(Offset::encode).collect(),
        read: |bytes| {
            let Ok(offset) = Offset::decode(bytes) else {
                return false;
            };
            assert_eq!(Offset::decode(&offset.encode()).unwrap(), offset);
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "split",
        files: &[
            "split/mod.rs",
            "split/partition.rs",
            "position.rs",
            "offset.rs",
            "wire.rs",
        ],
        corpus: || {
            let mut all: Vec<Vec<u8>> = splits().iter().map(Split::encode).collect();
            let earlier = [crate::split::tests::VERSION_1, crate::split::tests::VERSION_2];
            all.extend(earlier.map(<[u8]>::to_vec));
            all
        },
        read: |bytes| {
            let Ok(split) = Split::decode(bytes) else { return false };
            let again = split.encode();
            let read = Split::decode(&again).unwrap();
            assert_eq!(read.encode(), again);
            assert_eq!(read.id(), split.id());
            assert_eq!(split.clone().parted().0, read.clone().parted().0);
            match (split.parted().1, read.parted().1) {
                (Split::Stream(split), Split::Stream(read)) => {
                    // A partition of which nothing can come any more is not written again.
                    assert_eq!((&split.offset, &split.ranges), (&read.offset, &read.ranges));
                    assert_eq!(
                        (split.end, split.needed, &split.tables),
                        (read.end, read.needed, &read.tables)
                    );
                    assert!(read.partitions.iter().all(|part| split.partitions.contains(part)));
                }
                (split, read) => assert_eq!(split, read),
            }
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "state of the enumerator",
        files: &["split/state.rs", "split/partition.rs", "wire.rs"],
        corpus: || states().iter().map(AssignerState::encode).collect(),
        read: |bytes| {
            let Ok(state) = AssignerState::decode(bytes) else {
                return false;
            };
            assert_eq!(AssignerState::decode(&state.encode()).unwrap(), state);
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "event for the enumerator",
        files: &["split/event.rs", "wire.rs"],
        corpus: || {
            let reports = ranges().into_iter().map(ToEnumerator::Report);
            let others = [
                ToEnumerator::Request,
                ToEnumerator::Missing { have: 300 },
                ToEnumerator::Completed { checkpoint: 300 },
                ToEnumerator::Restored {
                    run: Some(1),
                    needed: Some(Scn(300)),
                },
                ToEnumerator::Restored {
                    run: None,
                    needed: None,
                },
            ];
            reports.chain(others).map(|event| event.encode()).collect()
        },
        read: |bytes| {
            let Ok(event) = ToEnumerator::decode(bytes) else {
                return false;
            };
            assert_eq!(ToEnumerator::decode(&event.encode()).unwrap(), event);
            if let ToEnumerator::Report(range) = &event {
                // Events are kept below a frame's size by this.
                assert!(range.size_bound() + 3 >= event.encode().len());
            }
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "event for a reader",
        files: &["split/event.rs", "wire.rs"],
        corpus: || {
            let firm = ranges().into_iter().map(ToReader::Acknowledge);
            let all = ToReader::Ranges {
                first: 7,
                ranges: ranges(),
            };
            firm.chain([ToReader::NoneNow, all, ToReader::Run(300)])
                .map(|event| event.encode())
                .collect()
        },
        read: |bytes| {
            let Ok(event) = ToReader::decode(bytes) else {
                return false;
            };
            assert_eq!(ToReader::decode(&event.encode()).unwrap(), event);
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "snapshot of transactions",
        files: &["position.rs"],
        corpus: || {
            ["10:20:10,14,15", "1:1:", "7:9:8\n", "10:16:10,15,"]
                .map(|text| text.as_bytes().to_vec())
                .into()
        },
        words: &[":", ",", "-1"],
        read: |bytes| {
            let Some(snapshot) = std::str::from_utf8(bytes).ok().and_then(TransactionSnapshot::parse) else {
                return false;
            };
            let open: Vec<String> = snapshot.open.iter().map(Xid::to_string).collect();
            let written = format!("{}:{}:{}", snapshot.xmin, snapshot.xmax, open.join(","));
            assert_eq!(TransactionSnapshot::parse(&written), Some(snapshot.clone()));
            assert!(snapshot.open.iter().all(|&xid| !snapshot.sees(xid)));
            assert!(snapshot.xmin <= snapshot.xmax && !snapshot.sees(snapshot.xmax));
            true
        },
        ..Target::USUAL
    },
];

fn table(name: &str) -> Arc<TableName> {
    Arc::new(TableName {
        schema: "BIZ".into(),
        name: name.into(),
    })
}

fn key(text: &str) -> Option<Key> {
    Some(Key(text.as_bytes().into()))
}

fn offsets() -> Vec<Offset> {
    let commit = |scn, nth| CommitPosition { scn: Scn(scn), nth };
    let mut inside = Offset::starting(Incarnation(77), Scn(5), Position::before(Scn(9)));
    inside.advance_over(commit(300, 0), Xid(1), Scn(6));
    inside.advance_over(commit(300, 1), Xid(2), Scn(7));
    let last = Place {
        scn: Scn(299),
        table: 12,
        rs_id: RecordSet::new(b"0x1.2").unwrap(),
        ssn: 3,
        nth: 2,
    };
    inside.advance_inside(commit(300, 2), Xid(1 << 40), last);
    let end = Offset::starting(Incarnation(u64::MAX), Scn(u64::MAX), Position::before(Scn(u64::MAX)));
    vec![inside, end]
}

fn ranges() -> Vec<FinishedRange> {
    let (a, b) = (table("A"), table("\u{8ba2}\u{5355}"));
    let snapshot = TransactionSnapshot {
        xmin: Xid(10),
        xmax: Xid(20),
        open: [Xid(11), Xid(19)].into(),
    };
    let exact = Point::Snapshot {
        snapshot,
        high: Lsn(1 << 33),
    };
    let range = |table: &Arc<TableName>, lower, upper, point: &Point| FinishedRange {
        table: table.clone(),
        range: KeyRange { lower, upper },
        point: point.clone(),
        mine_from: Scn(200),
    };
    let cut = Point::Position(Position {
        scn: Scn(300),
        commits: 2,
    });
    vec![
        range(&a, None, key("m"), &cut),
        range(&a, key("m"), None, &cut),
        range(&b, None, None, &exact),
    ]
}

pub(crate) fn splits() -> Vec<Split> {
    let ranges = ranges();
    let (root, offset) = (table("A"), offsets().remove(0));
    let partition = |number, identity, over| Partition {
        root: root.clone(),
        number,
        name: (*table("A_1")).clone(),
        identity,
        over,
    };
    let stream = StreamSplit {
        offset,
        end: Some(Position::before(Scn(12))),
        needed: 3,
        tables: vec![table("A"), table("B")],
        partitions: vec![
            partition(5, None, Some(Scn(400))),
            partition(700, Some(vec!["ID".into(), "\u{c9}".into()]), None),
        ],
        ranges: ranges.clone(),
    };
    let chunk = Chunk {
        table: table("A"),
        range: ranges[1].range.clone(),
    };
    let finished = ranges.into_iter().map(Split::Finished);
    let again = [
        Split::Chunk(chunk.clone()).of_run(1),
        Split::Stream(stream.clone()).of_run(300),
    ];
    finished
        .chain([Split::Chunk(chunk), Split::Stream(stream)])
        .chain(again)
        .collect()
}

fn states() -> Vec<AssignerState> {
    let cut = |name, whole| TableCut {
        table: table(name),
        bounds: vec![Key((*b"c").into()), Key((*b"m").into())],
        whole,
    };
    let partitions = splits().into_iter().find_map(|split| match split {
        Split::Stream(stream) => Some(stream.partitions),
        _ => None,
    });
    let chunk = |lower, upper| Chunk {
        table: table("B"),
        range: KeyRange { lower, upper },
    };
    let plans = [
        None,
        offsets().pop().map(Plan::Stream),
        Some(Plan::Tables {
            from: Some(Position::before(Scn(5))),
            tables: vec![cut("A", true), cut("B", false)],
        }),
    ];
    let state = |plan| AssignerState {
        incarnation: Incarnation(7),
        plan,
        planned: vec![chunk(None, key("d")), chunk(key("d"), None)],
        ranges: ranges(),
        stream_out: true,
        partitions: partitions.clone().unwrap_or_default(),
        run: Run {
            number: 3,
            is_mixed: true,
        },
    };
    plans.into_iter().map(state).collect()
}
