//! The log phase: its state, its end, and what it lets go.

use super::*;

fn transaction(xid: u64, keys: &[u8], updates: bool) -> LogEvent {
    let mut changes = Changes::default();
    for (nth, key) in keys.iter().enumerate() {
        let mut image = || {
            let image = changes.values.begin(1);
            changes.values.set(image, 0, Value::Text(&[*key]));
            image
        };
        let before = updates.then(&mut image);
        let after = Some(image());
        let place = Place {
            scn: Scn(20 + xid),
            nth: nth as u32,
            ..Place::default()
        };
        changes.rows.push(Change {
            table: 0,
            before,
            after,
            place,
        });
    }
    let commit = CommitPosition {
        scn: Scn(20 + xid),
        nth: 0,
    };
    let head = TransactionHead {
        xid: Xid(xid),
        commit,
        commit_micros: 1,
        start: Scn(20 + xid),
        next_scn: commit.scn,
    };
    LogEvent::Fragment(Fragment {
        head,
        number: 0,
        last: true,
        changes,
    })
}

/// A stream of all tables from the log's beginning on.
fn stream(end: Option<Position>) -> StreamSplit {
    StreamSplit {
        offset: Offset::starting(Incarnation(1), Scn(5), Position::before(Scn(10))),
        end,
        needed: 0,
        ranges: Vec::new(),
        tables: Vec::new(),
        partitions: Vec::new(),
    }
}

#[test]
fn the_streams_state_is_exact_at_every_unit() {
    let fake = fake(0, false, false);
    fake.0
        .log
        .lock()
        .unwrap()
        .extend([transaction(1, b"ab", true), transaction(2, b"c", false)]);
    let reader = reader(&fake);
    let split = stream(None);
    let offset = split.offset.clone();
    reader.start().unwrap();
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    let first = rows(&reader);
    assert_eq!(first.rows(), 4, "two updates; a batch of three ends behind the unit");
    let at = |batch, rows| match &reader.snapshot(1, RowsOut { batch, rows }).unwrap()[..] {
        [Split::Stream(split)] => split.offset.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(at(1, 0), offset);
    assert!(
        reader.snapshot(1, RowsOut { batch: 1, rows: 1 }).is_err(),
        "between both halves of an update"
    );
    let inside = at(1, 2);
    assert_eq!(inside.partial.as_ref().unwrap().last.nth, 0);
    assert_eq!(inside.commit, offset.commit);
    assert_eq!(at(1, 2), inside, "asking twice moves nothing");
    reader.consumed(1).unwrap();
    let second = rows(&reader);
    let over = at(1, 4);
    assert_eq!(
        (over.commit, over.partial.as_ref(), &over.xids[..]),
        (
            Position {
                scn: Scn(21),
                commits: 1
            },
            None,
            &[Xid(1)][..]
        )
    );
    reader.consumed(second.number()).unwrap();
    assert_eq!(
        at(second.number(), 1).commit,
        Position {
            scn: Scn(22),
            commits: 1
        }
    );
    reader.checkpoint_complete(1).unwrap();
    assert!(at(second.number(), 1).safe >= Scn(5));
    reader.close();
}

#[test]
fn the_log_is_let_go_behind_completed_checkpoints_alone_and_some_of_them_late() {
    let fake = fake(0, false, false);
    let transactions = (1..=6).map(|xid| transaction(xid, b"a", false));
    fake.0.log.lock().unwrap().extend(transactions);
    let reader = reader(&fake);
    let split = stream(None);
    reader.start().unwrap();
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    let mut checkpoint = 0;
    while checkpoint < 6 {
        let batch = rows(&reader);
        for row in 1..=batch.rows() {
            checkpoint += 1;
            let out = RowsOut {
                batch: batch.number(),
                rows: row,
            };
            reader.snapshot(checkpoint, out).unwrap();
            // The notice of the first comes late, when more is out; the third one fails, the notice of the fourth is lost.
            if checkpoint == 2 {
                reader.checkpoint_complete(1).unwrap();
            }
            if ![1, 3, 4].contains(&checkpoint) {
                reader.checkpoint_complete(checkpoint).unwrap();
            }
        }
        reader.consumed(batch.number()).unwrap();
    }
    // Complete are 1, 2, 5 and 6, their transactions commit at 21, 22, 25 and 26.
    assert_eq!(*fake.0.confirmed.lock().unwrap(), [Scn(21)]);
    reader.close();
}

#[test]
fn a_bounded_stream_ends_when_its_rows_are_out() {
    let fake = fake(0, false, false);
    fake.0
        .log
        .lock()
        .unwrap()
        .extend([transaction(1, b"a", false), transaction(9, b"z", false)]);
    let reader = reader(&fake);
    let end = Some(Position::before(Scn(25)));
    reader.add_splits(vec![Split::Stream(stream(end))]).unwrap();
    reader.start().unwrap();
    let only = rows(&reader);
    assert_eq!(only.rows(), 1);
    reader.consumed(only.number()).unwrap();
    assert!(matches!(next(&reader), Message::End));
    reader.close();
}

#[test]
fn the_lag_is_that_of_the_newest_change() {
    let lag = |reader: &Reader| {
        let metrics = reader.metrics();
        metrics
            .iter()
            .find(|metric| metric.name == FETCH_LAG.name)
            .unwrap()
            .value
    };
    let fake = fake(0, false, false);
    fake.0.log.lock().unwrap().push_back(transaction(1, b"a", false));
    let reader = reader(&fake);
    assert_eq!(lag(&reader), UNDEFINED);
    reader.add_splits(vec![Split::Stream(stream(None))]).unwrap();
    let before = millis();
    reader.start().unwrap();
    rows(&reader);
    // It committed a microsecond after the epoch.
    assert!((before..=millis()).contains(&lag(&reader)), "{}", lag(&reader));
    reader.close();
}

fn millis() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64
}

#[test]
fn the_log_phase_looks_for_new_tables_again_and_again() {
    let fake = fake(0, false, false);
    let reader = reader(&fake);
    let split = stream(None);
    reader.add_splits(vec![Split::Stream(split)]).unwrap();
    reader.start().unwrap();
    let begun = std::time::Instant::now();
    while fake.0.looks_for_tables.load(Ordering::SeqCst) < 3 {
        assert!(begun.elapsed() < WAIT);
        reader.next(Duration::from_millis(1)).unwrap();
    }
    match &reader.snapshot(1, RowsOut { batch: 0, rows: 0 }).unwrap()[..] {
        [Split::Stream(split)] => assert_eq!(split.tables, [table()], "those that were found"),
        other => panic!("{other:?}"),
    }
    reader.close();
}
