//! In which rows an update goes out, and how the events of a transaction are counted.

use std::sync::Arc;

use tidemark::error::Result;
use tidemark::log::LogEvent;
use tidemark::offset::{Offset, Partial};
use tidemark::position::{Point, Scn, Xid};
use tidemark::row::RowKind::{Delete, Insert, UpdateAfter};
use tidemark::row::batch::{Batch, BatchLimit, Mark};
use tidemark::row::value::{Image, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin, Updates};
use tidemark::split::{FinishedRange, StreamSplit};
use tidemark::stream::{OnTruncate, Step, Stream, StreamSettings};

use crate::scripted::{INCARNATION, ScriptedLog, TextCodec, Told, at, cut, fragment, range, tables, transaction};

/// Rows say their images and their numbers in the transaction and the table.
struct Numbered(Updates);

impl RowCodec for Numbered {
    fn key(&self, table: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        TextCodec.key(table, values, image, out)
    }

    fn row(
        &self,
        table: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        TextCodec.row(table, kind, values, image, origin, out)?;
        number(origin, out);
        Ok(())
    }

    fn updates(&self) -> Updates {
        self.0
    }

    fn update(
        &self,
        table: u32,
        values: &ValueBuffer,
        (before, after): (Image, Image),
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        TextCodec.row(table, UpdateAfter, values, before, origin, out)?;
        out.push(b'>');
        TextCodec.row(table, UpdateAfter, values, after, origin, out)?;
        number(origin, out);
        Ok(())
    }
}

fn number(origin: &RowOrigin, out: &mut Vec<u8>) {
    let record = origin.record.map_or(0, |scn| scn.0);
    out.extend(format!(" {record} {} {}", origin.total_order, origin.table_order).bytes());
}

fn open(updates: Updates, offset: Offset, ranges: &[FinishedRange], events: Vec<LogEvent>) -> Stream {
    let log = ScriptedLog::at(cut(100, 0));
    for event in events {
        log.then(Some(event), cut(100, 0), 90, 100);
    }
    let split = StreamSplit {
        offset,
        end: None,
        needed: ranges.len() as u32,
        ranges: ranges.to_vec(),
        tables: Vec::new(),
        partitions: Vec::new(),
    };
    let settings = StreamSettings {
        batch: BatchLimit { rows: 100, bytes: 1000 },
        on_truncate: OnTruncate::Fail,
        on_mismatch: tidemark::log::OnFault::Fail,
    };
    Stream::open(Box::new(log), Arc::new(Numbered(updates)), tables(), &split, settings).unwrap()
}

fn start() -> Offset {
    Offset::starting(INCARNATION, Scn(90), cut(100, 0))
}

fn read(stream: &mut Stream) -> Batch {
    let mut batch = Batch::default();
    assert!(matches!(stream.read(&mut batch).unwrap(), Step::Batch));
    batch
}

fn rows(batch: &Batch) -> Vec<(RowKind, String)> {
    let text = |row| String::from_utf8_lossy(batch.row(row)).into_owned();
    (0..batch.row_count()).map(|row| (batch.kind(row), text(row))).collect()
}

fn expected(texts: &[(RowKind, &str)]) -> Vec<(RowKind, String)> {
    texts.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

/// An insert, an update, a key change and a delete.
const CHANGES: [Told<'_>; 5] = [
    (0, "", "a:1"),
    (0, "a:1", "a:2"),
    (1, "", "b:1"),
    (0, "a:2", "c:2"),
    (0, "c:2", ""),
];

#[test]
fn for_rows_kept_by_key_an_update_is_its_second_half_and_a_key_change_is_both() {
    let events = vec![transaction(1, (105, 0), 104, &CHANGES)];
    let batch = read(&mut open(Updates::After, start(), &[], events));
    assert_eq!(
        rows(&batch),
        expected(&[
            (Insert, "a:1 10 1 1"),
            (UpdateAfter, "a:2 11 2 2"),
            (Insert, "b:1 12 3 1"),
            (Delete, "a:2 13 4 3"),
            (Insert, "c:2 13 5 4"),
            (Delete, "c:2 14 6 5"),
        ])
    );
    let ends: Vec<_> = (0..batch.unit_count()).map(|unit| batch.unit_end(unit)).collect();
    assert_eq!(ends, [1, 2, 3, 5, 6]);
}

#[test]
fn a_joined_update_is_one_row_with_both_images_and_a_key_change_is_two() {
    let events = vec![transaction(1, (105, 0), 104, &CHANGES)];
    let batch = read(&mut open(Updates::Joined, start(), &[], events));
    assert_eq!(
        rows(&batch),
        expected(&[
            (Insert, "a:1 10 1 1"),
            (UpdateAfter, "a:1>a:2 11 2 2"),
            (Insert, "b:1 12 3 1"),
            (Delete, "a:2 13 4 3"),
            (Insert, "c:2 13 5 4"),
            (Delete, "c:2 14 6 5"),
        ])
    );
    let ends: Vec<_> = (0..batch.unit_count()).map(|unit| batch.unit_end(unit)).collect();
    assert_eq!(ends, [1, 2, 3, 5, 6]);
}

#[test]
fn events_are_counted_over_fragments_anew_in_each_transaction_and_without_what_pages_hold() {
    let ranges = [FinishedRange {
        table: tables()[0].clone(),
        range: range("", ""),
        point: Point::Position(cut(105, 1)),
        mine_from: Scn(90),
    }];
    let events = vec![
        fragment(1, (105, 0), 104, 0, false, &CHANGES),
        fragment(1, (105, 0), 104, 1, true, &CHANGES),
        fragment(2, (106, 0), 104, 0, false, &CHANGES[..3]),
        fragment(2, (106, 0), 104, 1, true, &CHANGES[..3]),
    ];
    assert_eq!(
        rows(&read(&mut open(Updates::Joined, start(), &ranges, events))),
        expected(&[
            (Insert, "b:1 12 1 1"),
            (Insert, "b:1 112 2 2"),
            (Insert, "a:1 20 1 1"),
            (UpdateAfter, "a:1>a:2 21 2 2"),
            (Insert, "b:1 22 3 1"),
            (Insert, "a:1 120 4 3"),
            (UpdateAfter, "a:1>a:2 121 5 4"),
            (Insert, "b:1 122 6 2"),
        ])
    );
}

/// Restarted behind any unit, a transaction goes on with the numbers that it would have had.
#[test]
fn a_restart_inside_a_transaction_counts_what_is_out() {
    let ranges = [
        FinishedRange {
            table: tables()[0].clone(),
            range: range("b", ""),
            point: Point::Position(cut(106, 0)),
            mine_from: Scn(90),
        },
        FinishedRange {
            table: tables()[0].clone(),
            range: range("", "b"),
            point: Point::Position(cut(102, 0)),
            mine_from: Scn(90),
        },
    ];
    let events = || {
        vec![
            fragment(1, (105, 0), 104, 0, false, &CHANGES),
            fragment(1, (105, 0), 104, 1, true, &CHANGES),
        ]
    };
    for updates in [Updates::Halves, Updates::After, Updates::Joined] {
        for ranges in [&ranges[..], &[]] {
            let whole = read(&mut open(updates, start(), ranges, events()));
            for unit in 0..whole.unit_count() - 1 {
                let mut offset = start();
                let Mark::Inside { commit, xid, last } = *whole.mark(unit) else {
                    panic!("a unit in the middle ends the transaction");
                };
                assert_eq!((commit, xid), (at((105, 0)), Xid(1)));
                offset.partial = Some(Partial { commit, xid, last });
                let rest = read(&mut open(updates, offset, ranges, events()));
                assert_eq!(rows(&rest), rows(&whole)[whole.unit_end(unit)..], "behind unit {unit}");
            }
            assert_eq!(
                whole.mark(whole.unit_count() - 1),
                &Mark::Over {
                    commit: at((105, 0)),
                    xid: Xid(1),
                    next_scn: Scn(104),
                }
            );
        }
    }
}
