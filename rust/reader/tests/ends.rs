//! Calls that hang, fail or panic, and how a reader ends.

use super::*;

#[test]
fn cancelling_wakes_the_fetcher_and_a_select_that_hangs() {
    let fake = fake(5, true, false);
    let reader = Arc::new(reader(&fake));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let fetcher = std::thread::spawn({
        let reader = reader.clone();
        move || loop {
            match reader.next(WAIT) {
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });
    reader.cancel();
    assert!(matches!(fetcher.join().unwrap().kind(), ErrorKind::Closed));
    reader.close();
    assert!(reader.next(WAIT).is_err());
}

#[test]
fn a_panic_of_the_worker_is_an_error_with_its_text() {
    let reader = reader(&fake(5, false, true));
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    let error = loop {
        match reader.next(WAIT) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the driver is broken: 7"), "{error}");
    assert!(
        matches!(reader.next(WAIT).unwrap_err().kind(), ErrorKind::Closed),
        "and is told once"
    );
    reader.close();
}

/// Waits until so many SELECTs are under way.
fn under_way(fake: &Fake, selects: usize) {
    let mut together = fake.0.together.lock().unwrap();
    while together.0 < selects {
        let (guard, waited) = fake.0.changed.wait_timeout(together, WAIT).unwrap();
        assert!(!waited.timed_out(), "{} SELECTs are under way", guard.0);
        together = guard;
    }
}

#[test]
fn closing_wakes_all_pages_that_hang() {
    let fake = fake(6, true, false);
    let reader = reader(&fake);
    reader.start().unwrap();
    reader
        .add_splits(three_chunks().into_iter().map(Split::Chunk).collect())
        .unwrap();
    under_way(&fake, 2);
    reader.cancel();
    reader.close();
    assert_eq!(
        Arc::strong_count(&fake.0),
        2,
        "only the reader's connector and the test have it"
    );
}

#[test]
fn a_call_that_does_not_mind_being_cancelled_is_given_up_and_counted() {
    let fake = fake(6, true, false);
    let reader = reader(&fake);
    let before = metric(&reader, "callsAbandoned");
    reader.start().unwrap();
    reader.add_splits(vec![Split::Chunk(chunk(None, None))]).unwrap();
    under_way(&fake, 1);
    fake.0.deaf.store(true, Ordering::SeqCst);
    let error = loop {
        match reader.next(Duration::from_millis(1)) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind(), ErrorKind::Timeout { .. }), "{error}");
    assert_eq!(
        fake.0.calls_cancelled.load(Ordering::SeqCst),
        1,
        "it was cancelled before"
    );
    reader.close();
    assert_eq!(metric(&reader, "callsAbandoned"), before + 1);
    *fake.0.hang.lock().unwrap() = false;
    fake.0.changed.notify_all();
}
