//! The log phase.

use std::sync::Arc;

use tidemark::error::{Error, ErrorKind};
use tidemark::log::{LogEvent, Progress};
use tidemark::offset::{Offset, Partial};
use tidemark::position::{Incarnation, Point, Position, Scn, Xid};
use tidemark::row::RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
use tidemark::row::batch::{Batch, BatchLimit, Mark};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::split::{FinishedRange, StreamSplit};
use tidemark::stream::{OnTruncate, Step, Stream, StreamSettings};

use crate::scripted::{
    CarryingCodec, INCARNATION, ScriptedLog, TextCodec, Told, at, cut, fragment, place, range, shape, shape_of, shaped,
    tables, transaction,
};

pub fn settings(rows: usize) -> StreamSettings {
    StreamSettings {
        batch: BatchLimit { rows, bytes: 1000 },
        on_truncate: OnTruncate::Fail,
        on_mismatch: tidemark::log::OnFault::Fail,
    }
}

pub fn offset() -> Offset {
    Offset::starting(INCARNATION, Scn(90), cut(100, 0))
}

pub fn finished(table: usize, lower: &str, upper: &str, point: Position) -> FinishedRange {
    FinishedRange {
        table: tables()[table].clone(),
        range: range(lower, upper),
        point: Point::Position(point),
        mine_from: Scn(90),
    }
}

pub fn split(offset: Offset, ranges: &[FinishedRange]) -> StreamSplit {
    StreamSplit {
        offset,
        end: None,
        needed: ranges.len() as u32,
        ranges: ranges.to_vec(),
        tables: Vec::new(),
        partitions: Vec::new(),
    }
}

fn open_with(log: &ScriptedLog, split: &StreamSplit, settings: StreamSettings) -> Result<Stream, Error> {
    Stream::open(Box::new(log.clone()), Arc::new(TextCodec), tables(), split, settings)
}

fn open(log: &ScriptedLog, ranges: &[FinishedRange]) -> Stream {
    open_with(log, &split(offset(), ranges), settings(100)).unwrap()
}

pub fn log(events: Vec<LogEvent>) -> ScriptedLog {
    let log = ScriptedLog::at(cut(100, 0));
    for event in events {
        let position = match &event {
            LogEvent::Fragment(fragment) if fragment.last => Position::after(fragment.head.commit),
            LogEvent::Progress(progress) => progress.position,
            _ => log
                .script()
                .polls
                .back()
                .map_or(cut(100, 0), |(_, progress)| progress.position),
        };
        log.then(Some(event), position, 90, 100);
    }
    log
}

pub type Out = (RowKind, String);

pub fn out(batch: &Batch) -> Vec<Out> {
    let text = |row| String::from_utf8_lossy(batch.row(row)).into_owned();
    (0..batch.row_count()).map(|row| (batch.kind(row), text(row))).collect()
}

/// Everything that the log gives now.
pub fn drain(stream: &mut Stream) -> Vec<Out> {
    let mut rows = Vec::new();
    let mut batch = Batch::default();
    while let Step::Batch = stream.read(&mut batch).unwrap() {
        rows.extend(out(&batch));
        batch.clear();
    }
    rows
}

fn rows(texts: &[(RowKind, &str)]) -> Vec<Out> {
    texts.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

fn failure(stream: &mut Stream) -> Error {
    let mut batch = Batch::default();
    loop {
        match stream.read(&mut batch) {
            Ok(Step::Batch) => batch.clear(),
            Ok(step) => panic!("{step:?} instead of an error"),
            Err(error) => return error,
        }
    }
}

#[test]
fn each_kind_of_change_goes_out_as_flink_has_it() {
    let changes: [Told<'_>; 4] = [(0, "", "a:1"), (0, "a:1", "a:2"), (0, "a:2", "b:2"), (1, "b:2", "")];
    let mut stream = open(&log(vec![transaction(1, (105, 0), 104, &changes)]), &[]);
    let mut batch = Batch::default();
    assert!(matches!(stream.read(&mut batch).unwrap(), Step::Batch));
    assert_eq!(
        out(&batch),
        rows(&[
            (Insert, "a:1"),
            (UpdateBefore, "a:1"),
            (UpdateAfter, "a:2"),
            (Delete, "a:2"),
            (Insert, "b:2"),
            (Delete, "b:2"),
        ])
    );
    // Both rows of an update, and both of a key change, are one unit.
    let ends: Vec<_> = (0..batch.unit_count()).map(|unit| batch.unit_end(unit)).collect();
    assert_eq!(ends, [1, 3, 5, 6]);
}

#[test]
fn a_key_change_is_judged_twice() {
    let ranges = [finished(0, "", "m", cut(106, 0)), finished(0, "m", "", cut(104, 0))];
    let changes: [Told<'_>; 4] = [
        (0, "a:1", "z:1"),
        (0, "y:1", "b:1"),
        (0, "c:1", "d:1"),
        (0, "o:1", "p:1"),
    ];
    let mut stream = open(&log(vec![transaction(1, (105, 0), 104, &changes)]), &ranges);
    assert_eq!(
        drain(&mut stream),
        rows(&[(Insert, "z:1"), (Delete, "y:1"), (Delete, "o:1"), (Insert, "p:1")])
    );
}

#[test]
fn commits_that_share_an_scn_are_told_apart_by_the_filter() {
    let ranges = [finished(0, "", "", cut(105, 1))];
    let events = vec![
        transaction(1, (105, 0), 104, &[(0, "", "a:1")]),
        transaction(2, (105, 1), 104, &[(0, "", "b:1")]),
    ];
    assert_eq!(drain(&mut open(&log(events), &ranges)), rows(&[(Insert, "b:1")]));
}

#[test]
fn behind_the_largest_point_nothing_is_asked_of_the_ranges() {
    // A hole in the ranges is an error before that point, and no longer one behind it.
    let ranges = [finished(0, "b", "", cut(105, 0))];
    let mut stream = open(&log(vec![transaction(1, (105, 0), 104, &[(0, "", "a:1")])]), &ranges);
    assert_eq!(stream.filter_end(), Some(cut(105, 0)));
    assert_eq!(drain(&mut stream), rows(&[(Insert, "a:1")]));

    let mut stream = open(&log(vec![transaction(1, (104, 0), 104, &[(0, "", "a:1")])]), &ranges);
    assert!(matches!(failure(&mut stream).kind(), ErrorKind::Internal(_)));
}

#[test]
fn a_table_without_ranges_is_not_filtered() {
    let ranges = [finished(0, "", "", cut(110, 0))];
    let changes: [Told<'_>; 2] = [(0, "", "a:1"), (1, "", "b:1")];
    let mut stream = open(&log(vec![transaction(1, (105, 0), 104, &changes)]), &ranges);
    assert_eq!(drain(&mut stream), rows(&[(Insert, "b:1")]));
}

#[test]
fn a_wholly_filtered_transaction_still_moves_the_offset() {
    let ranges = [finished(0, "", "", cut(110, 0))];
    let mut stream = open(&log(vec![transaction(1, (105, 0), 104, &[(0, "", "a:1")])]), &ranges);
    let mut batch = Batch::default();
    stream.read(&mut batch).unwrap();
    assert_eq!((batch.row_count(), batch.unit_count()), (0, 1));
    let mut offset = offset();
    batch.mark(0).apply(&mut offset);
    assert_eq!((offset.commit, offset.next_scn), (cut(105, 1), Scn(104)));
}

#[test]
fn an_empty_result_moves_nothing() {
    let log = log(vec![]);
    log.then(None, cut(100, 0), 90, 150).then(None, cut(100, 0), 90, 190);
    let mut stream = open(&log, &[]);
    let mut batch = Batch::default();
    for _ in 0..3 {
        assert!(matches!(stream.read(&mut batch).unwrap(), Step::Idle));
        assert!(batch.is_empty());
    }
}

#[test]
fn progress_of_the_log_moves_the_offset_and_only_the_newest_counts() {
    let progress = |scn, next_scn| {
        LogEvent::Progress(Progress {
            position: cut(scn, 0),
            next_scn: Scn(next_scn),
            complete_to: None,
        })
    };
    let mut stream = open(&log(vec![progress(120, 95), progress(130, 97)]), &[]);
    let mut batch = Batch::default();
    assert!(matches!(stream.read(&mut batch).unwrap(), Step::Batch));
    let expected = Mark::Idle {
        position: cut(130, 0),
        next_scn: Scn(97),
    };
    assert_eq!((batch.unit_count(), batch.mark(0)), (1, &expected));
    let mut offset = offset();
    batch.mark(0).apply(&mut offset);
    assert_eq!((offset.commit, offset.next_scn), (cut(130, 0), Scn(97)));
}

/// The reader is far ahead, whole transactions wait in the channel: what a checkpoint keeps belongs to the rows that
/// are out, not to where the reader reads.
#[test]
fn next_scn_stays_behind_transactions_that_are_still_in_the_channel() {
    let events = vec![
        transaction(1, (105, 0), 92, &[(0, "", "a:1")]),
        transaction(2, (106, 0), 94, &[(0, "", "b:1"), (0, "", "c:1")]),
        transaction(3, (107, 0), 106, &[(0, "", "d:1")]),
    ];
    let mut stream = open(&log(events), &[]);
    let mut batch = Batch::default();
    stream.read(&mut batch).unwrap();
    let mut offset = offset();
    let mut states = Vec::new();
    for unit in 0..batch.unit_count() {
        batch.mark(unit).apply(&mut offset);
        let inside = offset
            .partial
            .as_ref()
            .map(|partial| (partial.xid.0, partial.last.scn.0));
        states.push((batch.unit_end(unit), offset.next_scn.0, offset.commit.scn.0, inside));
    }
    assert_eq!(
        states,
        [
            (1, 92, 105, None),
            (2, 92, 105, Some((2, 20))),
            (3, 94, 106, None),
            (4, 106, 107, None),
        ]
    );
}

#[test]
fn large_transactions_go_out_in_batches_that_are_bounded() {
    let many: Vec<Told<'_>> = (0..25).map(|_| (0, "a:1", "a:1")).collect();
    let events = vec![
        fragment(1, (105, 0), 92, 0, false, &many),
        fragment(1, (105, 0), 92, 1, true, &many),
    ];
    let mut stream = open_with(&log(events), &split(offset(), &[]), settings(10)).unwrap();
    let mut batch = Batch::default();
    let (mut total, mut last) = (0, None);
    while let Step::Batch = stream.read(&mut batch).unwrap() {
        assert!(batch.row_count() <= 10 && batch.unit_count() > 0);
        total += batch.row_count();
        last = Some(*batch.mark(batch.unit_count() - 1));
        batch.clear();
    }
    assert_eq!(total, 100);
    assert!(matches!(last, Some(Mark::Over { next_scn: Scn(92), .. })));
}

/// The transaction is out up to its second record. Meanwhile table B has joined the table list, so that its records
/// come back too: a count would skip the wrong ones.
#[test]
fn a_half_emitted_transaction_resumes_behind_the_named_record() {
    let mut offset = offset();
    offset.partial = Some(Partial {
        commit: at((105, 0)),
        xid: Xid(1),
        last: place(12, 0),
    });
    let events = || {
        vec![
            fragment(
                1,
                (105, 0),
                104,
                0,
                false,
                &[(0, "", "a:1"), (1, "", "b:1"), (0, "", "c:1")],
            ),
            fragment(1, (105, 0), 104, 1, true, &[(0, "", "d:1")]),
        ]
    };
    let mut stream = open_with(&log(events()), &split(offset.clone(), &[]), settings(100)).unwrap();
    assert_eq!(drain(&mut stream), rows(&[(Insert, "d:1")]));

    offset.partial.as_mut().unwrap().last = place(10, 0);
    let mut stream = open_with(&log(events()), &split(offset.clone(), &[]), settings(100)).unwrap();
    assert_eq!(
        drain(&mut stream),
        rows(&[(Insert, "b:1"), (Insert, "c:1"), (Insert, "d:1")])
    );

    offset.partial.as_mut().unwrap().last = place(10, 1);
    let mut stream = open_with(&log(events()), &split(offset, &[]), settings(100)).unwrap();
    let error = failure(&mut stream);
    assert!(error.to_string().contains("ends without that record") && !error.is_retryable());
}

#[test]
fn another_transaction_in_the_place_of_a_half_emitted_one_is_fatal() {
    let mut offset = offset();
    offset.partial = Some(Partial {
        commit: at((105, 0)),
        xid: Xid(1),
        last: place(10, 0),
    });
    let half = split(offset, &[]);
    let progress = LogEvent::Progress(Progress {
        position: cut(105, 1),
        next_scn: Scn(90),
        complete_to: None,
    });
    let cases = [
        transaction(2, (105, 0), 104, &[(0, "", "a:1")]),
        transaction(1, (105, 1), 104, &[(0, "", "a:1")]),
        transaction(2, (103, 0), 102, &[(0, "", "a:1")]),
        progress,
    ];
    for event in cases {
        let text = format!("{event:?}");
        let mut stream = open_with(&log(vec![event]), &half, settings(100)).unwrap();
        let error = failure(&mut stream);
        assert!(
            matches!(error.kind(), ErrorKind::State(_)) && !error.is_retryable(),
            "{text}"
        );
    }
}

#[test]
fn what_is_out_by_the_offset_is_dropped_and_a_log_that_counts_otherwise_is_fatal() {
    let mut offset = offset();
    offset.advance_over(at((105, 0)), Xid(1), Scn(104));
    let events = vec![
        fragment(1, (105, 0), 104, 0, false, &[(0, "", "a:1")]),
        fragment(1, (105, 0), 104, 1, true, &[(0, "", "b:1")]),
        transaction(2, (105, 1), 104, &[(0, "", "c:1")]),
    ];
    let mut stream = open_with(&log(events), &split(offset.clone(), &[]), settings(100)).unwrap();
    assert_eq!(drain(&mut stream), rows(&[(Insert, "c:1")]));

    let events = vec![transaction(1, (105, 1), 104, &[(0, "", "a:1")])];
    let mut stream = open_with(&log(events), &split(offset, &[]), settings(100)).unwrap();
    assert!(matches!(failure(&mut stream).kind(), ErrorKind::State(_)));
}

#[test]
fn a_bounded_stream_ends_at_its_end_and_sends_nothing_behind_it() {
    let bounded = |end| StreamSplit {
        end: Some(end),
        ..split(offset(), &[])
    };
    let events = || {
        vec![
            transaction(1, (105, 0), 104, &[(0, "", "a:1")]),
            transaction(2, (105, 1), 104, &[(0, "", "b:1")]),
        ]
    };
    let ends = |stream: &mut Stream| {
        let sent = drain(stream);
        assert!(matches!(stream.read(&mut Batch::default()).unwrap(), Step::Ended));
        sent
    };
    // By position: the next transaction is not even asked for.
    let log_to_position = log(events());
    let mut stream = open_with(&log_to_position, &bounded(cut(105, 1)), settings(100)).unwrap();
    assert_eq!(ends(&mut stream), rows(&[(Insert, "a:1")]));
    assert_eq!(log_to_position.script().polls.len(), 1);
    // By a transaction behind the end.
    let mut stream = open_with(
        &log(events()[1..2].iter().map(again).collect()),
        &bounded(cut(105, 1)),
        settings(100),
    )
    .unwrap();
    assert_eq!(ends(&mut stream), rows(&[]));
    // By the log being complete up to the end, though no record says so.
    let idle = log(vec![]);
    idle.then(None, cut(100, 0), 90, 105);
    let mut stream = open_with(&idle, &bounded(cut(105, 0)), settings(100)).unwrap();
    assert_eq!(ends(&mut stream), rows(&[]));
    // Not inside a transaction.
    let half = log(vec![fragment(1, (104, 0), 104, 0, false, &[(0, "", "a:1")])]);
    half.then(None, cut(100, 0), 90, 105);
    half.then(
        Some(fragment(1, (104, 0), 104, 1, true, &[(0, "", "b:1")])),
        cut(104, 1),
        104,
        105,
    );
    let mut stream = open_with(&half, &bounded(cut(105, 0)), settings(100)).unwrap();
    // Whether the first fragment is the last of which something goes out is not known yet.
    assert!(matches!(stream.read(&mut Batch::default()).unwrap(), Step::Idle));
    assert_eq!(ends(&mut stream), rows(&[(Insert, "a:1"), (Insert, "b:1")]));
    // Not before.
    let idle = log(vec![]);
    idle.then(None, cut(100, 0), 90, 104);
    let mut stream = open_with(&idle, &bounded(cut(105, 0)), settings(100)).unwrap();
    assert!(matches!(stream.read(&mut Batch::default()).unwrap(), Step::Idle));
}

fn again(event: &LogEvent) -> LogEvent {
    match event {
        LogEvent::Fragment(fragment) => transaction(
            fragment.head.xid.0,
            (fragment.head.commit.scn.0, fragment.head.commit.nth),
            fragment.head.next_scn.0,
            &[(0, "", "b:1")],
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_truncated_table_fails_or_is_counted_unless_its_pages_are_later() {
    let behind = [finished(0, "", "", cut(107, 0))];
    let mut batch = Batch::default();
    let truncated = || log(vec![shape(0, 106, true), shaped(106)]);

    let mut stream = open(&truncated(), &[]);
    let error = stream.read(&mut batch).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated) && !error.is_retryable());
    for part in ["BIZ.A", "scn 106", "change 106", "on-truncate"] {
        assert!(error.to_string().contains(part), "{error}");
    }

    let ignore = StreamSettings {
        on_truncate: OnTruncate::Ignore,
        ..settings(100)
    };
    let mut stream = open_with(&truncated(), &split(offset(), &[]), ignore).unwrap();
    assert_eq!(drain(&mut stream), []);
    assert_eq!(stream.truncates_ignored(), 1);

    let mut stream = open(&truncated(), &behind);
    assert_eq!(drain(&mut stream), []);
    assert_eq!(stream.truncates_ignored(), 0);

    // It stands in front of the offset: it was dealt with before.
    let mut stream = open(&log(vec![shape(0, 99, true), shaped(99)]), &[]);
    assert_eq!(drain(&mut stream), []);

    // So it was if a part of its transaction behind it is out.
    let mut halfway = offset();
    halfway.partial = Some(Partial {
        commit: at((106, 0)),
        xid: Xid(1),
        last: place(20, 0),
    });
    let events = vec![
        shape_of(1, (106, 0), 0, 10, true),
        fragment(1, (106, 0), 104, 1, true, &[(0, "", "a:1")]),
    ];
    let mut stream = open_with(&log(events), &split(halfway, &[]), settings(100)).unwrap();
    let error = stream.read(&mut batch).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::State(_)),
        "only that its record is not there: {error}"
    );
    // Where it goes downstream as an event there is nothing to fail about.
    let mut stream = carrying(&truncated(), &offset());
    assert_eq!(drain(&mut stream), rows(&[(Insert, "change 106")]));
}

fn carrying(log: &ScriptedLog, offset: &Offset) -> Stream {
    let split = split(offset.clone(), &[]);
    Stream::open(
        Box::new(log.clone()),
        Arc::new(CarryingCodec),
        tables(),
        &split,
        settings(100),
    )
    .unwrap()
}

/// Two tables' shapes change in transactions of their own, between the rows of one, and at its end.
fn with_changes_of_shape() -> (Vec<LogEvent>, Vec<Out>) {
    let events = vec![
        transaction(1, (105, 0), 104, &[(0, "", "a:1")]),
        shape(0, 106, false),
        shaped(106),
        shape(1, 107, true),
        shaped(107),
        fragment(2, (120, 0), 106, 0, false, &[(0, "", "b:1"), (0, "b:1", "b:2")]),
        shape_of(2, (120, 0), 0, 110, false),
        shape_of(2, (120, 0), 1, 111, false),
        fragment(2, (120, 0), 106, 1, false, &[(1, "", "c:1")]),
        shape_of(2, (120, 0), 0, 121, false),
        fragment(2, (120, 0), 106, 2, true, &[]),
        transaction(3, (130, 0), 129, &[(0, "", "d:1")]),
    ];
    let out = [
        (Insert, "a:1"),
        (Insert, "change 106"),
        (Insert, "change 107"),
        (Insert, "b:1"),
        (UpdateBefore, "b:1"),
        (UpdateAfter, "b:2"),
        (Insert, "change 110"),
        (Insert, "change 111"),
        (Insert, "c:1"),
        (Insert, "change 121"),
        (Insert, "d:1"),
    ];
    (events, rows(&out))
}

#[test]
fn a_change_of_shape_goes_out_between_the_rows_of_the_old_shape_and_those_of_the_new() {
    let (_, expected) = with_changes_of_shape();
    assert_eq!(
        drain(&mut carrying(&log(with_changes_of_shape().0), &offset())),
        expected
    );
    // A form that does not carry it has the rows alone.
    let alone: Vec<Out> = expected
        .into_iter()
        .filter(|(_, text)| !text.contains("change"))
        .collect();
    let ignore = StreamSettings {
        on_truncate: OnTruncate::Ignore,
        ..settings(100)
    };
    let mut stream = open_with(&log(with_changes_of_shape().0), &split(offset(), &[]), ignore).unwrap();
    assert_eq!(drain(&mut stream), alone);
}

/// At every boundary of the stream, also just in front of a change of shape and just behind it.
#[test]
fn a_restart_neither_repeats_nor_loses_a_change_of_shape() {
    let (_, expected) = with_changes_of_shape();
    let mut cuts = 0;
    for units in 0.. {
        let mut stream = carrying(&log(with_changes_of_shape().0), &offset());
        let mut kept = Vec::new();
        let (mut at, mut left) = (offset(), units);
        let mut batch = Batch::default();
        while left > 0 && matches!(stream.read(&mut batch).unwrap(), Step::Batch) {
            for unit in 0..batch.unit_count().min(left) {
                batch.mark(unit).apply(&mut at);
            }
            let taken = batch.unit_count().min(left);
            let rows = taken.checked_sub(1).map_or(0, |unit| batch.unit_end(unit));
            kept.extend(out(&batch).into_iter().take(rows));
            left -= taken;
            batch.clear();
        }
        if left > 0 {
            break;
        }
        kept.extend(drain(&mut carrying(&log(with_changes_of_shape().0), &at)));
        assert_eq!(kept, expected, "restarted behind {units} units, at {at:?}");
        cuts += 1;
    }
    assert_eq!(cuts, 11, "ten units, and the start");
}

#[test]
fn a_split_that_does_not_fit_is_refused_at_open() {
    let ranges = [finished(0, "", "", cut(105, 0))];
    let error = |split: &StreamSplit| match open_with(&log(vec![]), split, settings(100)) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    };
    let mut other = split(offset(), &[]);
    other.offset.incarnation = Incarnation(2);
    assert!(matches!(error(&other).kind(), ErrorKind::State(_)));
    let mut missing = split(offset(), &ranges);
    missing.needed = 2;
    assert!(matches!(error(&missing).kind(), ErrorKind::Protocol(_)));
    let gone = log(vec![]);
    gone.script().oldest_kept = 91;
    let error = open_with(&gone, &split(offset(), &[]), settings(100)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::LogGone { needed: Scn(90), .. }));
}

#[test]
fn what_a_row_says_of_its_transaction_is_that_of_its_commit() {
    struct Origins;
    impl RowCodec for Origins {
        fn key(
            &self,
            table: u32,
            values: &tidemark::row::value::ValueBuffer,
            image: tidemark::row::value::Image,
            out: &mut Vec<u8>,
        ) -> tidemark::error::Result<()> {
            TextCodec.key(table, values, image, out)
        }

        fn row(
            &self,
            table: u32,
            kind: RowKind,
            _: &tidemark::row::value::ValueBuffer,
            _: tidemark::row::value::Image,
            origin: &RowOrigin,
            out: &mut Vec<u8>,
        ) -> tidemark::error::Result<()> {
            out.extend(format!("{table} {kind:?} {:?} {:?}", origin.scn, origin.xid).bytes());
            Ok(())
        }
    }
    let log = log(vec![transaction(8, (105, 0), 104, &[(1, "", "a:1")])]);
    let split = split(offset(), &[]);
    let mut stream = Stream::open(Box::new(log), Arc::new(Origins), tables(), &split, settings(100)).unwrap();
    assert_eq!(
        drain(&mut stream),
        rows(&[(Insert, "1 Insert Some(Scn(105)) Some(Xid(8))")])
    );
}
