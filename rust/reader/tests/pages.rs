//! Pages: what leaves, when it is reported, and what the state says in between.

use super::*;

#[test]
fn a_page_is_reported_when_its_last_row_has_left_and_its_state_is_exact_before() {
    let reader = reader(&fake(5, false, false));
    assert!(reader.start().unwrap().is_empty());
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let first = rows(&reader);
    assert_eq!((first.number(), first.rows()), (1, 3));
    let second = rows(&reader);
    assert_eq!(second.rows(), 2);
    let at = |batch, rows| reader.snapshot(1, RowsOut { batch, rows }).unwrap();
    assert_eq!(at(1, 0), [Split::Chunk(chunk(None, None))]);
    assert_eq!(
        at(1, 2),
        [Split::Finished(finished(Some(2))), Split::Chunk(chunk(Some(2), None))]
    );
    assert!(reader.consumed(1).unwrap().is_empty());
    assert_eq!(
        at(2, 0),
        [Split::Finished(finished(Some(3))), Split::Chunk(chunk(Some(3), None))]
    );
    assert_eq!(
        at(2, 1),
        [Split::Finished(finished(Some(4))), Split::Chunk(chunk(Some(4), None))]
    );
    assert_eq!(reader.consumed(2).unwrap(), [ToEnumerator::Report(finished(None))]);
    assert_eq!(at(2, 2), [Split::Finished(finished(None))]);
    assert!(reader.consumed(2).is_err());
    reader.handle(ToReader::Acknowledge(finished(None))).unwrap();
    assert!(at(2, 2).is_empty());
    reader.no_more_splits().unwrap();
    assert!(matches!(next(&reader), Message::End));
    reader.close();
}

/// A round of 30 batches: more than wait between worker and fetcher.
#[test]
fn the_next_round_is_read_while_the_rows_of_one_go_out() {
    let fake = fake(100, false, false);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, Some(90)))]).unwrap();
    let mut came = u32::from(rows(&reader).rows() > 0);
    reader.add_splits(vec![Split::Chunk(chunk(Some(90), None))]).unwrap();
    let deadline = std::time::Instant::now() + WAIT;
    while fake.0.together.lock().unwrap().0 < 2 {
        assert!(std::time::Instant::now() < deadline, "the second chunk is not read");
        // Whatever is read meanwhile is of the first one: it must not be the end of it.
        if came < 20 {
            came += u32::from(rows(&reader).rows() > 0);
        }
    }
    for _ in came..30 {
        assert_eq!(rows(&reader).rows(), 3);
    }
    assert_eq!([3, 3, 3, 1].map(|_| rows(&reader).rows()), [3, 3, 3, 1]);
    reader.close();
}

#[test]
fn rows_that_were_read_go_out_before_the_error_of_another_round() {
    let fake = fake(100, false, false);
    *fake.0.fails_at.lock().unwrap() = Some(90);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, Some(90)))]).unwrap();
    rows(&reader);
    reader.add_splits(vec![Split::Chunk(chunk(Some(90), None))]).unwrap();
    (1..30).for_each(|_| assert_eq!(rows(&reader).rows(), 3));
    let error = loop {
        match reader.next(WAIT) {
            Ok(Message::Rows(batch)) => panic!("{batch:?} came"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("cannot be read"), "{error}");
    reader.close();
}

#[test]
fn a_chunk_without_rows_is_reported_too() {
    let reader = reader(&fake(0, false, false));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let report = loop {
        match next(&reader) {
            Message::Events(events) if events == [ToEnumerator::Request] => {
                reader.handle(ToReader::NoneNow).unwrap();
            }
            Message::Events(events) => break events,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(report, [ToEnumerator::Report(finished(None))]);
    reader.close();
}

#[test]
fn restored_ranges_are_reported_before_anything_is_asked_for() {
    let reader = reader(&fake(0, false, false));
    reader.add_splits(vec![Split::Finished(finished(None))]).unwrap();
    assert_eq!(reader.start().unwrap(), [ToEnumerator::Report(finished(None))]);
    match next(&reader) {
        Message::Events(events) => assert_eq!(events, [ToEnumerator::Request]),
        other => panic!("{other:?}"),
    }
    reader.close();
}

/// What leaves the reader until `done`, requests on the way answered from `chunks`.
fn feed(reader: &Reader, chunks: Vec<Chunk>, mut done: impl FnMut(&Message) -> bool) {
    let mut chunks = VecDeque::from(chunks);
    loop {
        let message = next(reader);
        if let Message::Events(events) = &message {
            for event in events.iter().filter(|event| **event == ToEnumerator::Request) {
                assert_eq!(*event, ToEnumerator::Request);
                match chunks.pop_front() {
                    Some(chunk) => drop(reader.add_splits(vec![Split::Chunk(chunk)]).unwrap()),
                    None => drop(reader.handle(ToReader::NoneNow).unwrap()),
                }
            }
        }
        if done(&message) {
            return;
        }
    }
}

#[test]
fn pages_of_a_round_are_read_at_the_same_time_and_go_out_in_key_order() {
    let fake = fake(6, false, false);
    // With fewer at once this hangs until the test's patience is over.
    fake.0.together.lock().unwrap().1 = 2;
    let reader = reader(&fake);
    reader.start().unwrap();
    let mut keys = Vec::new();
    feed(&reader, three_chunks(), |message| {
        if let Message::Rows(batch) = message {
            let rows = batch.rows() as usize;
            keys.extend(batch.bytes()[24..24 + 2 * rows].iter().step_by(2).copied());
            reader.consumed(batch.number()).unwrap();
        }
        keys.len() == 6
    });
    assert_eq!(keys, [0, 1, 2, 3, 4, 5]);
    assert_eq!((metric(&reader, "pagesRead"), metric(&reader, "roundsClosed")), (3, 1));
    reader.close();
}

#[test]
fn an_error_of_one_page_ends_the_round_while_another_page_hangs() {
    let fake = fake(6, true, false);
    *fake.0.fails_at.lock().unwrap() = Some(2);
    fake.0.together.lock().unwrap().1 = 2;
    let reader = reader(&fake);
    reader.start().unwrap();
    reader
        .add_splits(three_chunks().into_iter().map(Split::Chunk).collect())
        .unwrap();
    let error = loop {
        match reader.next(WAIT) {
            Ok(Message::Rows(_)) => panic!("a page of a broken round went out"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("this page cannot be read"), "{error}");
    assert!(error.to_string().contains("BIZ.T"), "{error}");
    reader.close();
}
