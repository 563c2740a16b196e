//! When the stream begins, and where.

use super::*;

#[test]
fn the_gate_waits_for_every_range_to_be_firm() {
    let mut assigner = reported(settings(2));
    assert!(!assigner.is_streaming());
    assigner.snapshot(1);
    let actions = complete(&mut assigner, 1);
    assert_eq!(streams(&actions).len(), 1);
    // Acknowledgements come first, and all readers are told that nothing more comes.
    assert_eq!(actions[0], acknowledge(0, finished("T", 0, 10, 5)));
    let other = acknowledge(1, finished("T", 10, END, 7));
    assert_eq!(actions[2..], [no_more(0), other, no_more(1)]);
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
    // They become firm behind it; its reader, which may have come to its end, is told nothing.
    assigner.snapshot(1);
    assert_eq!(complete(&mut assigner, 1), []);
    assert_eq!(assigner.progress().provisional, 0);
}

#[test]
fn who_was_told_no_more_splits_is_sent_nothing_that_it_does_not_wait_for() {
    let mut assigner = streaming(2);
    // Sent before the reader knew.
    assert_eq!(assigner.event(1, ToEnumerator::Request).unwrap(), []);
    assert_eq!(report(&mut assigner, 1, finished("T", 10, END, 7)), []);
    // Not even when the stream is to be given out again.
    let stream = Split::Stream(assigner.stream_split().unwrap());
    assigner.add_splits_back(vec![stream], 0).unwrap();
    assert_eq!(assigner.event(1, ToEnumerator::Request).unwrap(), []);
    assert_eq!(report(&mut assigner, 1, finished("T", 10, END, 7)), []);
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
    assert_eq!(complete(&mut assigner, 1), []);
    assert_eq!(assigner.progress().provisional, 0);
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
    assert_eq!(complete(&mut assigner, 9), []);
    let actions = assigner.register(0).unwrap();
    assert_eq!((streams(&actions)[0].0, &actions[1..]), (0, &[no_more(0)][..]));
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
        tables: vec![finished("T", 0, 10, 9).table],
        partitions: Vec::new(),
    };
    assert_eq!(streams(&actions), [(0, expected)]);
    assert_eq!(assigner.smallest_mine_from(), None);
}

#[test]
fn the_stream_mines_from_where_all_points_allow_be_that_behind_the_smallest() {
    let mut assigner = cut_in_two(settings(1));
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    let (mut first, mut second) = (finished("T", 0, 10, 9), finished("T", 10, END, 7));
    (first.mine_from, second.mine_from) = (Scn(14), Scn(12));
    report(&mut assigner, 0, first);
    let actions = report(&mut assigner, 0, second);
    let offset = Offset::starting(Incarnation::default(), Scn(12), Position::before(Scn(7)));
    assert_eq!(streams(&actions)[0].1.offset, offset);
}

#[test]
fn the_stream_of_slots_starts_where_the_slot_does() {
    let mut assigner = Assigner::new(settings(1));
    let from = Position::before(Scn(3));
    assigner.start_tables(vec![name("T")], Some(from)).unwrap();
    assigner.cut(vec![chunk("T", 0, END)]).unwrap();
    let mut assigner = Assigner::restore(&assigner.snapshot(1), settings(1)).unwrap();
    assert_eq!(
        assigner.smallest_mine_from(),
        Some(Scn(3)),
        "before the first range is there"
    );
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
            tables: Vec::new(),
            partitions: Vec::new(),
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
