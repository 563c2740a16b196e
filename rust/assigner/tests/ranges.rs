//! Chunks on their way out, and what becomes of their reports.

use super::*;

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
    assert_eq!(complete(&mut assigner, 1), []);
    assert_eq!(assigner.progress().provisional, 1);
    // The first checkpoint that holds it counts, though 3 was begun.
    let mut first = Assigner::restore(&assigner.snapshot(3), settings(2)).unwrap();
    first.register(1).unwrap();
    report(&mut first, 1, finished("T", 10, 20, 6));
    first.snapshot(4);
    first.snapshot(5);
    assert_eq!(complete(&mut first, 4).len(), 1);
    // The notice of 2 was lost; that of 3 implies it.
    let actions = complete(&mut assigner, 3);
    assert_eq!(actions, [acknowledge(1, finished("T", 0, 10, 5))]);
    assert_eq!(assigner.progress().provisional, 0);
    assert_eq!(complete(&mut assigner, 3), []);
}

#[test]
fn nothing_is_sent_to_a_reader_that_is_not_listed() {
    let mut assigner = cut_in_two(settings(2));
    report(&mut assigner, 1, finished("T", 0, 10, 5));
    assigner.snapshot(1);
    assigner.listed(&[0]);
    assert_eq!(complete(&mut assigner, 1), []);
    assert_eq!(report(&mut assigner, 1, finished("T", 0, 10, 5)), []);
    assert_eq!(assigner.event(1, ToEnumerator::Request).unwrap(), []);
    // It reports again after its registration.
    assigner.register(1).unwrap();
    let again = report(&mut assigner, 1, finished("T", 0, 10, 5));
    assert_eq!(again, [acknowledge(1, finished("T", 0, 10, 5))]);
}

#[test]
fn an_equal_report_of_a_firm_range_is_acknowledged_at_once_and_changes_nothing() {
    let mut assigner = cut_in_two(settings(2));
    report(&mut assigner, 1, finished("T", 0, 10, 5));
    assigner.snapshot(1);
    complete(&mut assigner, 1);
    let before = assigner.snapshot(2);
    let actions = report(&mut assigner, 0, finished("T", 0, 10, 5));
    assert_eq!(actions, [acknowledge(0, finished("T", 0, 10, 5))]);
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
    complete(&mut assigner, 1);
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
    complete(&mut assigner, 2);
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
    let actions = complete(&mut assigner, 1);
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
