//! The state at each row and at each event.

use super::*;
use crate::position::{Incarnation, Position};

fn key(number: u8) -> Option<Key> {
    Some(Key([number].into()))
}

fn range(lower: Option<Key>, upper: Option<Key>) -> KeyRange {
    KeyRange { lower, upper }
}

fn table() -> Arc<TableName> {
    Arc::new(TableName {
        schema: "S".into(),
        name: "T".into(),
    })
}

fn chunk(lower: Option<Key>, upper: Option<Key>) -> Chunk {
    Chunk {
        table: table(),
        range: range(lower, upper),
    }
}

fn point(scn: u64) -> Point {
    Point::Position(Position::before(Scn(scn)))
}

fn finished(lower: Option<Key>, upper: Option<Key>, scn: u64) -> FinishedRange {
    FinishedRange {
        table: table(),
        range: range(lower, upper),
        point: point(scn),
        mine_from: Scn(scn - 1),
    }
}

fn end(rest: Option<Key>, scn: u64) -> PageEnd {
    PageEnd {
        rest,
        point: point(scn),
        mine_from: Scn(scn - 1),
    }
}

fn stream(needed: u32, ranges: Vec<FinishedRange>) -> StreamSplit {
    StreamSplit {
        offset: Offset::starting(Incarnation(1), Scn(4), Position::before(Scn(5))),
        end: None,
        needed,
        ranges,
        tables: Vec::new(),
        partitions: Vec::new(),
    }
}

fn started(splits: Vec<Split>) -> ReaderState {
    let mut state = ReaderState::new();
    state.add_splits(splits).unwrap();
    state.start();
    state
}

fn report(range: FinishedRange) -> Todo {
    Todo::Send(ToEnumerator::Report(range))
}

#[test]
fn the_state_is_exact_at_every_row() {
    let whole = chunk(key(1), key(9));
    let mut state = started(vec![Split::Chunk(whole.clone())]);
    let untouched = [Split::Chunk(whole.clone())];
    let (page, begun) = state.take_chunk().unwrap();
    assert_eq!((begun, state.snapshot()), (whole, untouched.to_vec()));
    // Rows 2, 4 and 5; 7 is the first one that was not read.
    state.page_closed(page, end(key(7), 20)).unwrap();
    assert_eq!(state.snapshot(), untouched);
    for next in [4, 5] {
        state.row_out(page, key(next)).unwrap();
        let prefix = Split::Finished(finished(key(1), key(next), 20));
        let rest = Split::Chunk(chunk(key(next), key(9)));
        assert_eq!(state.snapshot(), [prefix, rest]);
    }
    state.row_out(page, None).unwrap();
    let out = [
        Split::Finished(finished(key(1), key(7), 20)),
        Split::Chunk(chunk(key(7), key(9))),
    ];
    assert_eq!(state.snapshot(), out);
    let todo = state.page_done(page).unwrap();
    assert_eq!(todo, report(finished(key(1), key(7), 20)));
    assert_eq!(state.snapshot(), out);
    // The rest is the next to begin; its page reaches the chunk's end and has no row.
    let (page, rest) = state.take_chunk().unwrap();
    assert_eq!(rest, chunk(key(7), key(9)));
    state.page_closed(page, end(None, 30)).unwrap();
    assert_eq!(state.page_done(page).unwrap(), report(finished(key(7), key(9), 30)));
    assert_eq!(
        (state.chunks_waiting(), state.pages_open(), state.unacknowledged()),
        (0, 0, 2)
    );
}

#[test]
fn open_bounds_stay_open() {
    let mut state = started(vec![Split::Chunk(chunk(None, None))]);
    let (page, _) = state.take_chunk().unwrap();
    state.page_closed(page, end(None, 20)).unwrap();
    state.row_out(page, key(3)).unwrap();
    let parts = [
        Split::Finished(finished(None, key(3), 20)),
        Split::Chunk(chunk(key(3), None)),
    ];
    assert_eq!(state.snapshot(), parts);
    state.row_out(page, None).unwrap();
    assert_eq!(state.snapshot(), [Split::Finished(finished(None, None, 20))]);
    assert_eq!(state.page_done(page).unwrap(), report(finished(None, None, 20)));
}

#[test]
fn several_pages_may_be_on_their_way_out() {
    let mut state = started(vec![
        Split::Chunk(chunk(None, key(5))),
        Split::Chunk(chunk(key(5), None)),
        Split::Finished(finished(key(9), key(10), 3)),
    ]);
    let (first, _) = state.take_chunk().unwrap();
    let (second, _) = state.take_chunk().unwrap();
    assert!(state.take_chunk().is_none());
    state.page_closed(second, end(None, 20)).unwrap();
    state.page_closed(first, end(key(4), 20)).unwrap();
    state.row_out(second, key(6)).unwrap();
    let expected = [
        Split::Finished(finished(key(9), key(10), 3)),
        Split::Chunk(chunk(None, key(5))),
        Split::Finished(finished(key(5), key(6), 20)),
        Split::Chunk(chunk(key(6), None)),
    ];
    assert_eq!(state.snapshot(), expected);
    state.page_done(second).unwrap();
    assert!(state.page_done(second).is_err());
}

#[test]
fn the_rest_of_a_chunk_comes_before_other_chunks() {
    let mut state = started(vec![
        Split::Chunk(chunk(None, key(5))),
        Split::Chunk(chunk(key(5), None)),
    ]);
    let (page, _) = state.take_chunk().unwrap();
    state.page_closed(page, end(key(3), 20)).unwrap();
    state.page_done(page).unwrap();
    let (_, rest) = state.take_chunk().unwrap();
    assert_eq!(rest, chunk(key(3), key(5)));
}

#[test]
fn rows_that_cannot_be_are_refused() {
    let mut state = started(vec![Split::Chunk(chunk(key(1), key(9)))]);
    let (page, _) = state.take_chunk().unwrap();
    assert!(state.row_out(page, key(3)).is_err() && state.page_done(page).is_err());
    for rest in [0, 1, 9, 10] {
        assert!(state.page_closed(page, end(key(rest), 20)).is_err());
    }
    state.page_closed(page, end(key(7), 20)).unwrap();
    assert!(state.page_closed(page, end(key(7), 20)).is_err());
    for next in [0, 1, 7, 8] {
        assert!(state.row_out(page, key(next)).is_err());
    }
    state.row_out(page, key(5)).unwrap();
    assert!(state.row_out(page, key(4)).is_err());
    state.row_out(page, None).unwrap();
    assert!(state.row_out(page, key(6)).is_err());
}

#[test]
fn a_range_leaves_the_state_on_its_own_acknowledgement_alone() {
    let kept = finished(key(1), key(3), 20);
    let mut state = started(vec![Split::Finished(kept.clone())]);
    for other in [
        finished(key(1), key(3), 21),
        finished(key(1), key(4), 20),
        finished(None, key(3), 20),
    ] {
        state.handle(ToReader::Acknowledge(other)).unwrap();
        assert_eq!(state.snapshot(), [Split::Finished(kept.clone())]);
    }
    assert_eq!(state.handle(ToReader::Acknowledge(kept)).unwrap(), []);
    assert_eq!(state.snapshot(), []);
}

#[test]
fn whatever_is_not_acknowledged_is_reported_again_before_anything_else() {
    let (one, two) = (finished(None, key(3), 20), finished(key(3), None, 9));
    let mut state = ReaderState::new();
    let restored = vec![
        Split::Stream(stream(2, vec![one.clone()])),
        Split::Finished(two.clone()),
        Split::Finished(one.clone()),
    ];
    assert_eq!(state.add_splits(restored).unwrap(), []);
    assert_eq!(state.request(), None);
    let missing = Todo::Send(ToEnumerator::Missing { have: 1 });
    assert_eq!(state.start(), [report(one.clone()), report(two), missing]);
    let twice = vec![Split::Finished(one.clone()), Split::Finished(one)];
    assert!(ReaderState::new().add_splits(twice).is_err());
}

#[test]
fn the_stream_opens_once_it_has_all_its_ranges() {
    let ranges: Vec<_> = (0..5).map(|n| finished(key(n), key(n + 1), 20)).collect();
    let mut state = started(Vec::new());
    let ask = |have| [Todo::Send(ToEnumerator::Missing { have })];
    assert_eq!(
        state.add_splits(vec![Split::Stream(stream(5, Vec::new()))]).unwrap(),
        ask(0)
    );
    let group = |first: u32, count: usize| ToReader::Ranges {
        first,
        ranges: ranges[first as usize..][..count].to_vec(),
    };
    assert_eq!(state.handle(group(0, 2)).unwrap(), ask(2));
    assert!(state.handle(group(3, 2)).is_err() && state.handle(group(0, 2)).is_err());
    let restored = started(state.snapshot());
    assert_eq!(restored.stream().map(|split| split.ranges.len()), Some(2));
    assert_eq!(state.handle(group(2, 3)).unwrap(), [Todo::OpenStream]);
    assert!(
        state
            .handle(ToReader::Ranges {
                first: 5,
                ranges: ranges[..1].to_vec()
            })
            .is_err()
    );
    assert_eq!(state.stream().unwrap().ranges, ranges);
    // A restored one that has them opens at the start; so does one that has dropped its filter.
    let mut whole = ReaderState::new();
    whole.add_splits(state.snapshot()).unwrap();
    assert_eq!(whole.start(), [Todo::OpenStream]);
    whole.drop_filter();
    let mut offset = whole.stream().unwrap().offset.clone();
    offset.advance_idle(Position::before(Scn(50)), Scn(49));
    whole.advance_stream(offset.clone());
    let mut dropped = ReaderState::new();
    dropped.add_splits(whole.snapshot()).unwrap();
    assert_eq!(dropped.start(), [Todo::OpenStream]);
    assert_eq!(
        dropped.stream(),
        Some(&StreamSplit {
            offset,
            ..stream(0, Vec::new())
        })
    );
    assert!(started(Vec::new()).handle(group(0, 1)).is_err());
}

#[test]
fn there_is_one_stream_split_and_none_after_no_more_splits() {
    let split = || vec![Split::Stream(stream(0, Vec::new()))];
    let mut state = started(split());
    assert!(state.add_splits(split()).is_err());
    let mut state = started(Vec::new());
    assert_eq!(state.no_more_splits(), [Todo::CloseRound]);
    assert!(state.add_splits(split()).is_err());
    assert!(
        state
            .add_splits(vec![Split::Finished(finished(None, None, 3))])
            .is_err()
    );
}

#[test]
fn one_request_is_on_its_way_at_a_time() {
    let mut state = ReaderState::new();
    assert_eq!(state.request(), None);
    state.start();
    assert_eq!(state.request(), Some(ToEnumerator::Request));
    assert_eq!(state.request(), None);
    // The enumerator remembers that we asked.
    assert_eq!(state.handle(ToReader::NoneNow).unwrap(), [Todo::CloseRound]);
    assert_eq!(state.request(), None);
    state.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    assert_eq!(state.request(), Some(ToEnumerator::Request));
    state.no_more_splits();
    state.add_splits(Vec::new()).unwrap();
    assert_eq!(state.request(), None);
    assert_eq!(started(vec![Split::Stream(stream(0, Vec::new()))]).request(), None);
}

#[test]
fn a_reader_finishes_without_acknowledgements_but_not_with_rows_left() {
    let mut state = started(vec![Split::Chunk(chunk(None, None))]);
    state.no_more_splits();
    assert!(!state.is_finished());
    let (page, _) = state.take_chunk().unwrap();
    assert!(!state.is_finished());
    state.page_closed(page, end(None, 20)).unwrap();
    state.row_out(page, None).unwrap();
    assert!(!state.is_finished());
    state.page_done(page).unwrap();
    assert!(state.is_finished() && state.unacknowledged() == 1);
    assert!(!started(Vec::new()).is_finished());
    // With the stream it finishes at the stream's end, once it was told: before, an event might be on its way to it.
    let mut state = started(vec![Split::Stream(stream(0, Vec::new()))]);
    state.no_more_splits();
    assert!(!state.is_finished());
    state.end_stream();
    assert!(state.is_finished());
    let mut state = started(vec![Split::Stream(stream(0, Vec::new()))]);
    state.end_stream();
    assert!(!state.is_finished());
    state.no_more_splits();
    assert!(state.is_finished());
}

#[test]
fn the_stream_split_stands_for_the_acknowledgements() {
    let owed = || Split::Finished(finished(None, None, 3));
    let split = || Split::Stream(stream(0, Vec::new()));
    let mut state = started(vec![owed()]);
    state.add_splits(vec![split()]).unwrap();
    assert_eq!((state.unacknowledged(), state.snapshot()), (0, vec![split()]));
    let mut state = ReaderState::new();
    state.add_splits(vec![split(), owed()]).unwrap();
    let again = report(finished(None, None, 3));
    assert_eq!(
        (state.start(), state.unacknowledged()),
        (vec![again, Todo::OpenStream], 0)
    );
}

/// One that was restored with these splits and has asked.
fn asking(splits: Vec<Split>, run: Option<u32>, needed: Option<u64>) -> ReaderState {
    let mut state = ReaderState::new();
    state.ask_first();
    state.add_splits(splits).unwrap();
    let needed = needed.map(Scn);
    let question = Todo::Send(ToEnumerator::Restored { run, needed });
    assert_eq!(state.start()[0], question);
    state
}

#[test]
fn what_was_restored_is_not_read_before_it_is_known_whether_it_counts() {
    let held = || {
        vec![
            Split::Finished(finished(None, key(3), 9)),
            Split::Chunk(chunk(key(3), None)),
        ]
    };
    for run in [0, 1] {
        let mut state = asking(held(), Some(0), Some(8));
        assert!(state.take_chunk().is_none() && state.request().is_none());
        assert_eq!(state.snapshot(), held());
        state.no_more_splits();
        assert!(!state.is_finished());
        let begun = state.handle(ToReader::Run(run)).unwrap();
        match run {
            0 => {
                let report = ToEnumerator::Report(finished(None, key(3), 9));
                assert_eq!(begun, [Todo::Send(report)]);
                assert!(state.take_chunk().is_some());
            }
            _ => {
                assert_eq!((begun, state.snapshot()), (Vec::new(), Vec::new()));
                assert!(state.is_finished());
            }
        }
        assert!(state.handle(ToReader::Run(1)).is_err(), "it did not ask again");
    }
    let mut state = asking(vec![Split::Stream(stream(0, Vec::new()))], Some(0), Some(4));
    assert_eq!(state.handle(ToReader::Run(0)).unwrap(), [Todo::OpenStream]);
    // What has nothing waits for nothing.
    let mut state = asking(Vec::new(), None, None);
    assert_eq!(state.request(), Some(ToEnumerator::Request));
}

#[test]
fn of_what_was_restored_the_latest_run_counts_and_splits_keep_theirs() {
    let of = |run: u32, lower: u8| Split::Chunk(chunk(key(lower), key(lower + 1))).of_run(run);
    let mut state = asking(vec![of(0, 1), of(2, 2), of(1, 3), of(2, 4)], Some(2), None);
    assert_eq!(state.snapshot(), [of(2, 2), of(2, 4)]);
    state.handle(ToReader::Run(3)).unwrap();
    state.add_splits(vec![of(3, 5)]).unwrap();
    assert_eq!(state.snapshot(), [of(3, 5)]);
    // There is one run at a time.
    for other in [2, 4] {
        assert!(state.add_splits(vec![of(other, 6)]).is_err());
    }
    let mut fresh = asking(Vec::new(), None, None);
    fresh.add_splits(vec![of(3, 1)]).unwrap();
    assert_eq!(fresh.snapshot(), [of(3, 1)]);
}
