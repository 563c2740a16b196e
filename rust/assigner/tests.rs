//! Each rule by its name. What becomes of all of them together under Flink's checkpoints is tests/protocol_model's to show.

use super::*;
use crate::position::Point;
use crate::split::{KeyRange, StreamSplit};

fn name(text: &str) -> TableName {
    TableName {
        schema: "S".into(),
        name: text.into(),
    }
}

fn bounds(lower: u32, upper: u32) -> KeyRange {
    let key = |number: u32, open: u32| (number != open).then(|| Key(number.to_be_bytes().into()));
    KeyRange {
        lower: key(lower, 0),
        upper: key(upper, END),
    }
}

/// Stands for the open end of a table; its open beginning is zero.
const END: u32 = u32::MAX;

fn chunk(table: &str, lower: u32, upper: u32) -> Chunk {
    Chunk {
        table: Arc::new(name(table)),
        range: bounds(lower, upper),
    }
}

fn finished(table: &str, lower: u32, upper: u32, point: u64) -> FinishedRange {
    FinishedRange {
        table: Arc::new(name(table)),
        range: bounds(lower, upper),
        point: Point::Position(Position::before(Scn(point))),
        mine_from: Scn(point - 1),
    }
}

fn settings(parallelism: u32) -> Settings {
    Settings::new(parallelism, Checkpointing::Aligned)
}

/// One table T, cut into [.., 10) and [10, ..), readers registered.
fn cut_in_two(settings: Settings) -> Assigner {
    let parallelism = settings.parallelism;
    let mut assigner = Assigner::new(settings);
    assigner.start_tables(vec![name("T")], None).unwrap();
    assigner.cut(vec![chunk("T", 0, 10), chunk("T", 10, END)]).unwrap();
    for subtask in 0..parallelism {
        assigner.register(subtask).unwrap();
    }
    assigner
}

/// The same with both chunks out and reported, reader 0 and (if there is one) 1.
fn reported(settings: Settings) -> Assigner {
    let mut assigner = cut_in_two(settings);
    let other = assigner.settings.parallelism.min(2) - 1;
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(other, ToEnumerator::Request).unwrap();
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    report(&mut assigner, other, finished("T", 10, END, 7));
    assigner
}

/// The same with the stream out.
fn streaming(parallelism: u32) -> Assigner {
    let mut assigner = reported(settings(parallelism));
    assigner.snapshot(1);
    assigner.checkpoint_complete(1).unwrap();
    assert!(assigner.is_streaming());
    assigner
}

fn report(assigner: &mut Assigner, subtask: u32, range: FinishedRange) -> Vec<Action> {
    assigner.event(subtask, ToEnumerator::Report(range)).unwrap()
}

fn streams(actions: &[Action]) -> Vec<(u32, StreamSplit)> {
    let stream = |action: &Action| match action {
        Action::Assign {
            subtask,
            split: Split::Stream(stream),
        } => Some((*subtask, stream.clone())),
        _ => None,
    };
    actions.iter().filter_map(stream).collect()
}

fn none_now(subtask: u32) -> Action {
    let event = ToReader::NoneNow;
    Action::Send { subtask, event }
}

fn no_more(subtask: u32) -> Action {
    Action::NoMoreSplits { subtask }
}

#[test]
fn chunks_go_out_while_tables_are_still_being_cut() {
    let mut assigner = Assigner::new(settings(1));
    assert!(assigner.is_undecided() && assigner.cut_progress().is_none());
    assigner.register(0).unwrap();
    assigner.start_tables(vec![name("T"), name("U")], None).unwrap();
    assigner.cut(vec![chunk("T", 0, 10)]).unwrap();
    let actions = assigner.event(0, ToEnumerator::Request).unwrap();
    assert_eq!(actions, [assign(0, Split::Chunk(chunk("T", 0, 10)))]);
    let next = assigner.cut_progress().unwrap();
    assert_eq!((&*next.table, next.lower), (&name("T"), bounds(10, END).lower));
    assigner.cut(vec![chunk("T", 10, END)]).unwrap();
    let next = assigner.cut_progress().unwrap();
    assert_eq!((&*next.table, next.lower), (&name("U"), None));
    assigner.cut(vec![chunk("U", 0, END)]).unwrap();
    assert_eq!(assigner.cut_progress(), None);
}

#[test]
fn chunks_that_do_not_follow_each_other_are_refused() {
    for wrong in [
        chunk("T", 11, 20),
        chunk("T", 0, 20),
        chunk("T", 10, 10),
        chunk("U", 0, END),
    ] {
        let mut assigner = Assigner::new(settings(1));
        assigner.start_tables(vec![name("T")], None).unwrap();
        assigner.cut(vec![chunk("T", 0, 10)]).unwrap();
        assert!(matches!(
            assigner.cut(vec![wrong]).unwrap_err().kind(),
            ErrorKind::Internal(_)
        ));
    }
    assert!(cut_in_two(settings(1)).cut(vec![chunk("T", 0, END)]).is_err());
}

#[test]
fn who_was_told_none_now_is_served_when_a_chunk_is_cut_or_comes_back() {
    let mut assigner = Assigner::new(settings(2));
    assigner.start_tables(vec![name("T")], None).unwrap();
    for subtask in [0, 1] {
        assigner.register(subtask).unwrap();
        let actions = assigner.event(subtask, ToEnumerator::Request).unwrap();
        assert_eq!(actions, [none_now(subtask)]);
    }
    assigner.event(1, ToEnumerator::Request).unwrap();
    let actions = assigner.cut(vec![chunk("T", 0, 10)]).unwrap();
    assert_eq!(actions, [assign(0, Split::Chunk(chunk("T", 0, 10)))]);
    let back = vec![Split::Chunk(chunk("T", 0, 10))];
    let actions = assigner.add_splits_back(back, 0).unwrap();
    assert_eq!(actions, [assign(1, Split::Chunk(chunk("T", 0, 10)))]);
    assert_eq!(assigner.cut(vec![chunk("T", 10, END)]).unwrap(), []);
}

#[test]
fn none_now_is_remembered_until_the_reset_only() {
    for lost in [true, false] {
        let mut assigner = Assigner::new(settings(1));
        assigner.start_tables(vec![name("T")], None).unwrap();
        assigner.register(0).unwrap();
        assigner.event(0, ToEnumerator::Request).unwrap();
        if lost {
            assigner.listed(&[]);
        } else {
            assigner.add_splits_back(Vec::new(), 0).unwrap();
            assigner.register(0).unwrap();
        }
        assert_eq!(assigner.cut(vec![chunk("T", 0, END)]).unwrap(), []);
    }
}

#[test]
fn a_report_is_firm_and_acknowledged_once_a_checkpoint_that_holds_it_is_complete() {
    let mut assigner = cut_in_two(settings(2));
    assigner.snapshot(1);
    assert_eq!(report(&mut assigner, 1, finished("T", 0, 10, 5)), []);
    assigner.snapshot(2);
    assigner.snapshot(3);
    assert_eq!(assigner.checkpoint_complete(1).unwrap(), []);
    assert_eq!(assigner.progress().provisional, 1);
    // The first checkpoint that holds it counts, though 3 was begun.
    let mut first = Assigner::restore(&assigner.snapshot(3), settings(2)).unwrap();
    first.register(1).unwrap();
    report(&mut first, 1, finished("T", 10, 20, 6));
    first.snapshot(4);
    first.snapshot(5);
    assert_eq!(first.checkpoint_complete(4).unwrap().len(), 1);
    // The notice of 2 was lost; that of 3 implies it.
    let actions = assigner.checkpoint_complete(3).unwrap();
    assert_eq!(actions, [acknowledge(1, &finished("T", 0, 10, 5))]);
    assert_eq!(assigner.progress().provisional, 0);
    assert_eq!(assigner.checkpoint_complete(3).unwrap(), []);
}

#[test]
fn nothing_is_sent_to_a_reader_that_is_not_listed() {
    let mut assigner = cut_in_two(settings(2));
    report(&mut assigner, 1, finished("T", 0, 10, 5));
    assigner.snapshot(1);
    assigner.listed(&[0]);
    assert_eq!(assigner.checkpoint_complete(1).unwrap(), []);
    assert_eq!(report(&mut assigner, 1, finished("T", 0, 10, 5)), []);
    assert_eq!(assigner.event(1, ToEnumerator::Request).unwrap(), []);
    // It reports again after its registration.
    assigner.register(1).unwrap();
    let again = report(&mut assigner, 1, finished("T", 0, 10, 5));
    assert_eq!(again, [acknowledge(1, &finished("T", 0, 10, 5))]);
}

#[test]
fn an_equal_report_of_a_firm_range_is_acknowledged_at_once_and_changes_nothing() {
    let mut assigner = cut_in_two(settings(2));
    report(&mut assigner, 1, finished("T", 0, 10, 5));
    assigner.snapshot(1);
    assigner.checkpoint_complete(1).unwrap();
    let before = assigner.snapshot(2);
    let actions = report(&mut assigner, 0, finished("T", 0, 10, 5));
    assert_eq!(actions, [acknowledge(0, &finished("T", 0, 10, 5))]);
    assert_eq!((assigner.snapshot(3), assigner.progress().provisional), (before, 0));
    // Whoever reported it: its reset forgets nothing.
    assigner.add_splits_back(Vec::new(), 0).unwrap();
    assert_eq!(assigner.progress().ranges, 1);
}

#[test]
fn any_other_overlap_is_an_error_that_restarts_the_job() {
    let wrong = [
        finished("T", 2, 8, 5),
        finished("T", 2, 8, 6),
        finished("T", 0, 3, 6),
        finished("T", 7, 9, 6),
        finished("T", 0, 10, 6),
        finished("T", 4, 5, 6),
        finished("T", 5, 5, 6),
        finished("U", 0, 3, 6),
    ];
    for range in wrong {
        let mut assigner = cut_in_two(settings(2));
        report(&mut assigner, 0, finished("T", 2, 8, 5));
        let error = assigner.event(1, ToEnumerator::Report(range)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Protocol(_)) && error.is_retryable(),
            "{error}"
        );
    }
    let mut assigner = Assigner::new(settings(2));
    assigner.start_tables(vec![name("T")], None).unwrap();
    assigner.cut(vec![chunk("T", 0, 10)]).unwrap();
    for uncut in [finished("T", 5, 11, 1), finished("T", 5, END, 1)] {
        assert!(assigner.event(0, ToEnumerator::Report(uncut)).is_err());
    }
}

#[test]
fn a_reset_forgets_the_provisional_ranges_of_its_subtask_also_on_an_empty_list() {
    let mut assigner = cut_in_two(settings(3));
    report(&mut assigner, 0, finished("T", 0, 5, 5));
    assigner.snapshot(1);
    assigner.checkpoint_complete(1).unwrap();
    report(&mut assigner, 0, finished("T", 5, 10, 6));
    report(&mut assigner, 1, finished("T", 10, 20, 7));
    assigner.snapshot(2);
    assigner.add_splits_back(Vec::new(), 0).unwrap();
    let kept: Vec<_> = assigner.ranges().cloned().collect();
    assert_eq!(kept, [finished("T", 0, 5, 5), finished("T", 10, 20, 7)]);
    assert_eq!(assigner.progress().provisional, 1);
    // What was forgotten is reported again as it was, or read again otherwise.
    report(&mut assigner, 0, finished("T", 5, 8, 9));
    // It is not in checkpoint 2.
    assigner.checkpoint_complete(2).unwrap();
    assert_eq!(assigner.progress().provisional, 1);
}

#[test]
fn only_the_chunks_that_come_back_are_planned_again() {
    let mut assigner = reported(settings(2));
    assigner
        .add_splits_back(vec![Split::Chunk(chunk("T", 10, END))], 1)
        .unwrap();
    let state = AssignerState::decode(&assigner.snapshot(1)).unwrap();
    assert_eq!(state.planned, [chunk("T", 10, END)]);
    assigner.add_splits_back(Vec::new(), 0).unwrap();
    let state = AssignerState::decode(&assigner.snapshot(2)).unwrap();
    assert_eq!((state.planned.len(), state.ranges.len()), (1, 0));
    let stray = Split::Finished(finished("T", 0, 10, 5));
    assert!(assigner.add_splits_back(vec![stray], 0).is_err());
}

#[test]
fn the_gate_waits_for_every_range_to_be_firm() {
    let mut assigner = reported(settings(2));
    assert!(!assigner.is_streaming());
    assigner.snapshot(1);
    let actions = assigner.checkpoint_complete(1).unwrap();
    assert_eq!(streams(&actions).len(), 1);
    // Acknowledgements come first, and the other reader is told that nothing more comes.
    assert_eq!(actions[0], acknowledge(0, &finished("T", 0, 10, 5)));
    assert_eq!(actions[3..], [no_more(1)]);
    assert!(assigner.is_streaming());
}

#[test]
fn the_gate_waits_for_a_hole() {
    let mut assigner = cut_in_two(settings(1));
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    for range in [
        finished("T", 0, 3, 5),
        finished("T", 10, END, 6),
        finished("T", 4, 10, 7),
    ] {
        assert_eq!(report(&mut assigner, 0, range), []);
    }
    assert_eq!(streams(&report(&mut assigner, 0, finished("T", 3, 4, 8))).len(), 1);
}

#[test]
fn the_gate_waits_for_every_table() {
    let mut assigner = Assigner::new(settings(1));
    assigner.start_tables(vec![name("T"), name("U")], None).unwrap();
    assigner.cut(vec![chunk("T", 0, END)]).unwrap();
    assigner.register(0).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    assert_eq!(report(&mut assigner, 0, finished("T", 0, END, 5)), []);
    assigner.cut(vec![chunk("U", 0, END)]).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    assert_eq!(streams(&report(&mut assigner, 0, finished("U", 0, END, 6))).len(), 1);
}

#[test]
fn a_range_that_is_planned_at_once_is_an_error_at_the_gate() {
    let mut assigner = cut_in_two(settings(1));
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    let event = ToEnumerator::Report(finished("T", 10, END, 6));
    assert!(matches!(
        assigner.event(0, event).unwrap_err().kind(),
        ErrorKind::Protocol(_)
    ));
}

#[test]
fn a_single_reader_needs_no_firm_ranges() {
    let mut assigner = reported(Settings::new(1, Checkpointing::None));
    assert!(assigner.is_streaming());
    assert_eq!(assigner.progress().provisional, 2);
    // They become firm behind it, and are acknowledged then.
    assigner.snapshot(1);
    assert_eq!(assigner.checkpoint_complete(1).unwrap().len(), 2);
}

#[test]
fn nothing_is_forgotten_while_the_stream_is_out() {
    let mut assigner = reported(settings(1));
    assigner.snapshot(1);
    // Checkpoint 1 is complete, its notice lost; the stream split is in it.
    assigner.add_splits_back(Vec::new(), 0).unwrap();
    assert_eq!((assigner.progress().ranges, assigner.is_streaming()), (2, true));
    assigner.register(0).unwrap();
    // A report only renews the owner.
    assert_eq!(report(&mut assigner, 0, finished("T", 0, 10, 5)), []);
    assert_eq!(assigner.progress().provisional, 2);
    let missing = ToEnumerator::Missing { have: 0 };
    assert_eq!(assigner.event(0, missing).unwrap().len(), 1);
    let acknowledged = assigner.checkpoint_complete(1).unwrap();
    assert!(acknowledged.contains(&acknowledge(0, &finished("T", 0, 10, 5))));
    // Another range would be an overlap.
    let other = ToEnumerator::Report(finished("T", 0, 10, 6));
    assert!(assigner.event(0, other).is_err());
    let chunk = vec![Split::Chunk(chunk("T", 0, 10))];
    assert!(assigner.add_splits_back(chunk, 0).is_err());
}

#[test]
fn a_returned_stream_split_is_thrown_away_and_shuts_the_gate() {
    let mut assigner = reported(settings(1));
    let stream = assigner.stream_split().unwrap();
    assigner.add_splits_back(vec![Split::Stream(stream)], 0).unwrap();
    assert!(!assigner.is_streaming());
    assert_eq!(assigner.progress().ranges, 0);
    assigner.register(0).unwrap();
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    let actions = report(&mut assigner, 0, finished("T", 10, END, 9));
    assert_eq!(streams(&actions)[0].1.needed, 2);
    // With firm ranges it goes out again at the registration, to the reader that was not told no-more-splits.
    let mut assigner = streaming(2);
    let stream = Split::Stream(assigner.stream_split().unwrap());
    assert_eq!(assigner.add_splits_back(vec![stream], 0).unwrap(), []);
    assert_eq!(assigner.checkpoint_complete(9).unwrap(), []);
    let actions = assigner.register(0).unwrap();
    assert_eq!((streams(&actions)[0].0, actions.len()), (0, 1));
}

#[test]
fn the_stream_waits_for_a_reader_that_was_not_told_no_more_splits() {
    let mut assigner = reported(settings(1));
    let stream = Split::Stream(assigner.stream_split().unwrap());
    assigner.listed(&[]);
    assert_eq!(assigner.add_splits_back(vec![stream], 0).unwrap(), []);
    let mut assigner = Assigner::restore(&streaming(2).snapshot(2), settings(2)).unwrap();
    assert_eq!(assigner.register(1).unwrap(), [no_more(1)]);
    // A reset takes back what it was told.
    assigner.add_splits_back(Vec::new(), 1).unwrap();
    assert_eq!(assigner.register(1).unwrap(), [no_more(1)]);
}

#[test]
fn readers_are_told_no_more_splits_after_each_registration_while_the_stream_is_out() {
    let mut assigner = streaming(2);
    for subtask in [1, 0, 1] {
        assigner.add_splits_back(Vec::new(), subtask).unwrap();
        assert_eq!(assigner.register(subtask).unwrap(), [no_more(subtask)]);
        assert_eq!(assigner.event(subtask, ToEnumerator::Request).unwrap(), []);
    }
}

#[test]
fn the_stream_starts_at_the_smallest_point_and_ends_at_the_largest() {
    let bounded = Settings {
        bounded: true,
        ..settings(1)
    };
    let mut assigner = cut_in_two(bounded);
    assigner.set_incarnation(Incarnation(77)).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    let mut early = finished("T", 0, 10, 9);
    early.mine_from = Scn(2);
    report(&mut assigner, 0, early);
    assert_eq!(assigner.smallest_mine_from(), Some(Scn(2)));
    let actions = report(&mut assigner, 0, finished("T", 10, END, 7));
    let expected = StreamSplit {
        offset: Offset::starting(Incarnation(77), Scn(2), Position::before(Scn(7))),
        end: Some(Position::before(Scn(9))),
        needed: 2,
        ranges: Vec::new(),
    };
    assert_eq!(streams(&actions), [(0, expected)]);
    assert_eq!(assigner.smallest_mine_from(), None);
}

#[test]
fn the_stream_of_slots_starts_where_the_slot_does() {
    let mut assigner = Assigner::new(settings(1));
    let from = Position::before(Scn(3));
    assigner.start_tables(vec![name("T")], Some(from)).unwrap();
    assigner.cut(vec![chunk("T", 0, END)]).unwrap();
    let mut assigner = Assigner::restore(&assigner.snapshot(1), settings(1)).unwrap();
    assigner.register(0).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    let actions = report(&mut assigner, 0, finished("T", 0, END, 8));
    let expected = Offset::starting(Incarnation(0), Scn(3), from);
    assert_eq!(streams(&actions)[0].1.offset, expected);
}

#[test]
fn a_job_without_a_snapshot_starts_its_stream_at_once() {
    let offset = Offset::starting(Incarnation(7), Scn(4), Position::before(Scn(5)));
    for registered_first in [true, false] {
        // Neither the way of checkpointing nor the parallelism matters without a snapshot.
        let mut assigner = Assigner::new(Settings::new(2, Checkpointing::Unaligned));
        let mut actions = Vec::new();
        if registered_first {
            actions.extend(assigner.register(1).unwrap());
        }
        actions.extend(assigner.start_stream(offset.clone()).unwrap());
        if !registered_first {
            actions.extend(assigner.register(1).unwrap());
        }
        let expected = StreamSplit {
            offset: offset.clone(),
            end: None,
            needed: 0,
            ranges: Vec::new(),
        };
        assert_eq!(streams(&actions), [(1, expected)]);
        assert_eq!(assigner.register(0).unwrap(), [no_more(0)]);
        assert!(assigner.start_stream(offset.clone()).is_err());
        assert!(assigner.start_tables(vec![name("T")], None).is_err());
        // Lost before a checkpoint, it starts there again.
        let stream = Split::Stream(assigner.stream_split().unwrap());
        assigner.add_splits_back(vec![stream], 1).unwrap();
        assert_eq!(streams(&assigner.register(1).unwrap())[0].1.offset, offset);
    }
}

#[test]
fn ranges_go_out_in_groups_below_a_frame() {
    let mut assigner = streaming(2);
    let ranges = |assigner: &mut Assigner, have| {
        let mut actions = assigner.event(0, ToEnumerator::Missing { have }).unwrap();
        match actions.pop() {
            Some(Action::Send {
                subtask: 0,
                event: ToReader::Ranges { first, ranges },
            }) => (first, ranges),
            other => panic!("{other:?}"),
        }
    };
    let both = [finished("T", 0, 10, 5), finished("T", 10, END, 7)];
    assert_eq!(ranges(&mut assigner, 0), (0, both.to_vec()));
    assigner.settings.group_ranges = 1;
    assert_eq!(ranges(&mut assigner, 0), (0, both[..1].to_vec()));
    assert_eq!(ranges(&mut assigner, 1), (1, both[1..].to_vec()));
    assigner.settings.group_ranges = 1000;
    assigner.settings.group_bytes = both[0].size_bound() + both[1].size_bound() - 1;
    assert_eq!(ranges(&mut assigner, 0), (0, both[..1].to_vec()));
    assigner.settings.group_bytes = 1;
    assert_eq!(ranges(&mut assigner, 1), (1, both[1..].to_vec()));
    // Who does not have the stream split, or has more ranges than there are, is told apart.
    assert!(assigner.event(1, ToEnumerator::Missing { have: 0 }).is_err());
    assert!(assigner.event(0, ToEnumerator::Missing { have: 2 }).is_err());
    let mut before = cut_in_two(settings(2));
    assert_eq!(before.event(0, ToEnumerator::Missing { have: 0 }).unwrap(), []);
}

#[test]
fn an_event_with_ranges_is_no_larger_than_its_bound() {
    let mut open = finished("T", 0, END, u64::MAX);
    let mut slot = finished("A_LONG_NAME", 7, 9, 8);
    slot.point = Point::Snapshot {
        snapshot: crate::position::TransactionSnapshot {
            xmin: crate::position::Xid(u64::MAX),
            xmax: crate::position::Xid(u64::MAX),
            open: vec![crate::position::Xid(u64::MAX); 300].into(),
        },
        high: crate::position::Lsn(u64::MAX),
    };
    open.mine_from = Scn(u64::MAX);
    for range in [open, slot, finished("T", 7, 9, 8)] {
        let bytes = ToEnumerator::Report(range.clone()).encode().len();
        assert!(bytes <= range.size_bound() + 2, "{bytes} bytes");
    }
}

#[test]
fn after_a_restore_everything_is_firm_and_cutting_goes_on() {
    let mut assigner = Assigner::new(settings(2));
    assigner.start_tables(vec![name("T"), name("U")], None).unwrap();
    assigner.set_incarnation(Incarnation(7)).unwrap();
    assigner.cut(vec![chunk("T", 0, 10), chunk("T", 10, 20)]).unwrap();
    assigner.register(0).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    let state = assigner.snapshot(1);
    let mut restored = Assigner::restore(&state, settings(3)).unwrap();
    assert_eq!(restored.snapshot(1), state);
    let progress = Progress {
        chunks: 2,
        chunks_done: 1,
        cut: false,
        ranges: 1,
        provisional: 0,
    };
    assert_eq!(restored.progress(), progress);
    assert_eq!(restored.smallest_mine_from(), Some(Scn(4)));
    let next = restored.cut_progress().unwrap();
    assert_eq!((&*next.table, next.lower), (&name("T"), bounds(20, END).lower));
    restored.register(2).unwrap();
    let again = report(&mut restored, 2, finished("T", 0, 10, 5));
    assert_eq!(again, [acknowledge(2, &finished("T", 0, 10, 5))]);
    let actions = restored.event(2, ToEnumerator::Request).unwrap();
    assert_eq!(actions, [assign(2, Split::Chunk(chunk("T", 10, 20)))]);
    // Another log would make nonsense of the points.
    assert!(matches!(
        restored.set_incarnation(Incarnation(8)).unwrap_err().kind(),
        ErrorKind::State(_)
    ));
    restored.set_incarnation(Incarnation(7)).unwrap();
}

#[test]
fn a_restored_gate_opens_at_the_registration() {
    let mut assigner = reported(settings(2));
    let mut restored = Assigner::restore(&assigner.snapshot(1), settings(2)).unwrap();
    assert!(!restored.is_streaming());
    assert_eq!(streams(&restored.register(1).unwrap())[0].0, 1);
    assert_eq!(restored.register(0).unwrap(), [no_more(0)]);
}

#[test]
fn a_restored_stream_is_served_wherever_it_is() {
    let mut restored = Assigner::restore(&streaming(2).snapshot(2), settings(3)).unwrap();
    assert!(restored.is_streaming());
    restored.register(2).unwrap();
    let actions = restored.event(2, ToEnumerator::Missing { have: 1 }).unwrap();
    let event = ToReader::Ranges {
        first: 1,
        ranges: vec![finished("T", 10, END, 7)],
    };
    assert_eq!(actions, [Action::Send { subtask: 2, event }]);
    restored.register(1).unwrap();
    assert!(restored.event(1, ToEnumerator::Missing { have: 1 }).is_err());
}

#[test]
fn checkpointing_that_cannot_end_the_snapshot_is_refused_at_start_and_restore() {
    let cases = [
        (Checkpointing::Unaligned, "execution.checkpointing.unaligned.enabled"),
        (Checkpointing::None, "execution.checkpointing.interval"),
    ];
    let mut unfinished = cut_in_two(settings(1));
    for (checkpointing, option) in cases {
        let refused = [
            Assigner::new(Settings::new(2, checkpointing)).start_tables(vec![name("T")], None),
            Assigner::restore(&unfinished.snapshot(1), Settings::new(2, checkpointing)).map(|_| ()),
        ];
        for result in refused {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(option) && !error.is_retryable(), "{error}");
        }
        // A single reader may, and so may whoever has its snapshot behind it.
        let mut alone = Assigner::new(Settings::new(1, checkpointing));
        alone.start_tables(vec![name("T")], None).unwrap();
        Assigner::restore(&unfinished.snapshot(1), Settings::new(1, checkpointing)).unwrap();
        Assigner::restore(&streaming(2).snapshot(1), Settings::new(2, checkpointing)).unwrap();
        Assigner::restore(&reported(settings(2)).snapshot(1), Settings::new(2, checkpointing)).unwrap();
        // The same once the start is decided after the restore.
        let undecided = Assigner::new(settings(2)).snapshot(1);
        let mut restored = Assigner::restore(&undecided, Settings::new(2, checkpointing)).unwrap();
        assert!(restored.start_tables(vec![name("T")], None).is_err());
    }
    assert!(Assigner::new(settings(2)).start_tables(Vec::new(), None).is_err());
}

#[test]
fn a_chunk_is_done_when_its_end_is_reported() {
    let mut assigner = cut_in_two(settings(2));
    let done = |assigner: &Assigner| assigner.progress().chunks_done;
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(1, ToEnumerator::Request).unwrap();
    report(&mut assigner, 0, finished("T", 0, 4, 5));
    assert_eq!((assigner.progress().chunks, done(&assigner)), (2, 0));
    report(&mut assigner, 0, finished("T", 4, 10, 5));
    report(&mut assigner, 1, finished("T", 10, END, 6));
    assert_eq!(done(&assigner), 2);
    assigner.add_splits_back(Vec::new(), 0).unwrap();
    assert_eq!((done(&assigner), assigner.smallest_mine_from()), (1, Some(Scn(5))));
}

/// Nothing is quadratic: this would take minutes.
#[test]
fn a_hundred_thousand_ranges_are_cut_reported_forgotten_and_handed_on() {
    const MANY: u32 = 100_000;
    let upper = |number: u32| if number + 1 == MANY { END } else { number + 1 };
    let mut assigner = Assigner::new(settings(2));
    assigner.start_tables(vec![name("T")], None).unwrap();
    assigner.register(0).unwrap();
    assigner.register(1).unwrap();
    for number in 0..MANY {
        assigner.cut(vec![chunk("T", number, upper(number))]).unwrap();
        assigner.event(number % 2, ToEnumerator::Request).unwrap();
    }
    // In an order that has holes until the end: 7919 is prime to MANY.
    let order = || (0..MANY).map(|step| (u64::from(step) * 7919 % u64::from(MANY)) as u32);
    let range = |number: u32| finished("T", number, upper(number), 10 + u64::from(number));
    for number in order() {
        report(&mut assigner, number % 2, range(number));
    }
    assigner.add_splits_back(Vec::new(), 1).unwrap();
    assert_eq!(assigner.progress().ranges, MANY as usize / 2);
    assigner.register(1).unwrap();
    for number in order().filter(|number| number % 2 == 1) {
        report(&mut assigner, 1, range(number));
    }
    let state = assigner.snapshot(1);
    let actions = assigner.checkpoint_complete(1).unwrap();
    assert_eq!(streams(&actions)[0].1.needed, MANY);
    let mut have = 0;
    while have < MANY {
        let actions = assigner.event(0, ToEnumerator::Missing { have }).unwrap();
        let Some(Action::Send {
            event: ToReader::Ranges { first, ranges },
            ..
        }) = actions.first()
        else {
            panic!("{actions:?}");
        };
        assert_eq!((*first, ranges[0].clone()), (have, range(have)));
        have += ranges.len() as u32;
    }
    let mut restored = Assigner::restore(&state, settings(4)).unwrap();
    assert_eq!(restored.snapshot(1), state);
    assert_eq!(streams(&restored.register(3).unwrap())[0].1.needed, MANY);
}
