//! Values that the log does not hold.

use std::sync::Arc;
use std::time::Duration;

use tidemark::error::{ErrorKind, Result};
use tidemark::log::Changes;
use tidemark::offset::Offset;
use tidemark::position::{Point, Scn};
use tidemark::row::batch::{Batch, BatchLimit};
use tidemark::row::value::Image;
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::page::{RoundLimits, Rounds};
use tidemark::snapshot::{PageLimit, PageRounds, PageRows};
use tidemark::split::{FinishedRange, StreamSplit};
use tidemark::stream::{OnTruncate, Step, Stream, StreamSettings};
use tidemark::unavailable::OnUnavailable::{Fail, Placeholder, ReadBack};
use tidemark::unavailable::{Around, Completion, Counts, PLACEHOLDER};

use crate::docs::{Doc, Docs, Shared, changes, delete, insert, transaction, update};
use crate::scripted::{INCARNATION, ScriptedLog, StillClock, chunk, cut, patience, range, selected, tables, texts};

/// The images of every change, whole: before and after.
fn complete(completion: &mut Completion, changes: &Changes, log: &ScriptedLog) -> Result<Vec<(String, String)>> {
    completion.begin();
    let mut whole = Vec::new();
    for at in 0..changes.rows.len() {
        let change = &changes.rows[at];
        let around = Around {
            at,
            codec: &Docs,
            wanted: &|_, _| Ok(true),
            log: &mut log.clone(),
            clock: &mut StillClock::default(),
        };
        let images = completion.complete(changes, change.before, change.after, around)?;
        let text = |image: Option<Image>| -> Result<String> {
            let mut out = Vec::new();
            if let Some(image) = image {
                Docs.row(
                    0,
                    RowKind::Insert,
                    images.values,
                    image,
                    &RowOrigin::default(),
                    &mut out,
                )?;
            }
            Ok(String::from_utf8(out).unwrap())
        };
        whole.push((text(images.before)?, text(images.after)?));
    }
    Ok(whole)
}

fn log() -> ScriptedLog {
    ScriptedLog::at(cut(100, 0))
}

fn all(completion: &mut Completion, docs: &[Doc]) -> Vec<(String, String)> {
    complete(completion, &changes(docs), &log()).unwrap()
}

/// A first row is looked up alone: only then is it known how large they are.
fn warm(completion: &mut Completion, database: &Shared) {
    database.put("w", "W", "r");
    all(completion, &[insert("w|1|?|r")]);
    assert_eq!(std::mem::take(&mut database.store().asked).len(), 1);
}

fn rows(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let marked = |text: &str| text.replace('!', PLACEHOLDER);
    expected
        .iter()
        .map(|(before, after)| (marked(before), marked(after)))
        .collect()
}

#[test]
fn a_row_that_comes_is_read_back_and_one_that_leaves_has_the_placeholder() {
    let database = Shared::default();
    database.put("a", "A2", "RA");
    database.put("c", "NULL", "RC");
    let mut completion = database.completion(ReadBack);
    warm(&mut completion, &database);
    let docs = [
        insert("a|1|?|?"),
        // What the change leaves alone is the same before and after; what it replaces is nowhere any more.
        update("a|1|?|?", &[(1, "2")]),
        update("a|2|?|?", &[(2, "?")]),
        update("a|2|?|?", &[(2, "small")]),
        update("a|2|small|?", &[(3, "?")]),
        update("b|7|?|r", &[(0, "c")]),
        delete("a|3|?|small"),
        delete("a|4|x|y"),
    ];
    assert_eq!(
        all(&mut completion, &docs),
        rows(&[
            ("", "a|1|A2|RA"),
            ("a|1|A2|RA", "a|2|A2|RA"),
            ("a|2|!|RA", "a|2|A2|RA"),
            ("a|2|!|RA", "a|2|small|RA"),
            ("a|2|small|!", "a|2|small|RA"),
            ("b|7|NULL|r", "c|7|NULL|r"),
            ("a|3|!|small", ""),
            ("a|4|x|y", ""),
        ])
    );
    assert_eq!(
        completion.counts(),
        Counts {
            read_back: 10,
            gone: 0,
            placeholders: 4
        }
    );
    // Two keys of one table, one SELECT.
    assert_eq!(database.store().asked, [(vec![2, 3], vec!["a".into(), "c".into()])]);
}

#[test]
fn a_row_that_is_gone_when_it_is_read_back_has_the_placeholder() {
    let database = Shared::default();
    let mut completion = database.completion(ReadBack);
    let docs = [insert("a|1|?|r"), update("a|1|?|r", &[(1, "2")]), delete("a|2|?|r")];
    assert_eq!(
        all(&mut completion, &docs),
        rows(&[("", "a|1|!|r"), ("a|1|!|r", "a|2|!|r"), ("a|2|!|r", "")])
    );
    let counts = completion.counts();
    assert_eq!((counts.read_back, counts.gone), (0, 2));
}

#[test]
fn only_columns_that_go_downstream_are_asked_for() {
    let database = Shared::default();
    database.put("a", "A", "RA");
    let mut completion = database.completion(ReadBack);
    // What does not go downstream is not there at all, whether the log has it or not.
    assert_eq!(all(&mut completion, &[insert("a|1|-|?")]), rows(&[("", "a|1||RA")]));
    assert_eq!(database.store().asked, [(vec![3], vec!["a".into()])]);
}

#[test]
fn the_other_policies_ask_for_nothing() {
    let database = Shared::default();
    database.put("a", "A", "RA");
    let docs = [
        insert("a|1|?|r"),
        update("a|1|?|r", &[(1, "2")]),
        update("a|2|?|r", &[(2, "?")]),
        delete("a|3|?|?"),
    ];
    let mut completion = database.completion(Placeholder);
    assert_eq!(
        all(&mut completion, &docs),
        rows(&[
            ("", "a|1|!|r"),
            ("a|1|!|r", "a|2|!|r"),
            ("a|2|!|r", "a|2|!|r"),
            ("a|3|!|!", "")
        ])
    );
    assert_eq!(completion.counts().gone, 0);
    for doc in docs {
        let mut completion = database.completion(Fail);
        let error = complete(&mut completion, &changes(&[doc]), &log()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ValueUnavailable { .. }), "{error}");
    }
    assert_eq!(database.store().connections, 0);
}

/// A SELECT before the transaction is visible would give what was there before it, and nothing would set that right.
#[test]
fn rows_are_read_back_once_the_transaction_is_visible() {
    let database = Shared::default();
    database.put("a", "A", "RA");
    let mut completion = database.completion(ReadBack);
    let log = log();
    log.script().still_open = [vec!["session 1".into()], vec!["session 1".into()], vec![]].into();
    let docs = changes(&[insert("a|1|?|r")]);
    assert_eq!(
        complete(&mut completion, &docs, &log).unwrap(),
        rows(&[("", "a|1|A|r")])
    );
    assert_eq!(log.script().calls, ["still_open"; 3]);
    log.script().still_open = [vec!["session 1".into()]].into();
    let error = complete(&mut completion, &docs, &log).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotVisible { .. }), "{error}");
    assert!(error.to_string().contains("session 1"), "{error}");
}

/// What was read for one part of a transaction is not taken for the next.
#[test]
fn each_part_is_read_back_anew() {
    let database = Shared::default();
    let mut completion = database.completion(ReadBack);
    for body in ["A1", "A2"] {
        database.put("a", body, "RA");
        let expected = format!("a|1|{body}|r");
        assert_eq!(all(&mut completion, &[insert("a|1|?|r")]), [(String::new(), expected)]);
    }
}

#[test]
fn a_lost_connection_is_opened_anew_once() {
    let database = Shared::default();
    database.put("a", "A", "RA");
    let mut completion = database.completion(ReadBack);
    let docs = [insert("a|1|?|r")];
    all(&mut completion, &docs);
    database.store().lost = 1;
    assert_eq!(all(&mut completion, &docs), rows(&[("", "a|1|A|r")]));
    assert_eq!(database.store().connections, 2);
    database.store().lost = 2;
    let error = complete(&mut completion, &changes(&docs), &log()).unwrap_err();
    assert!(error.is_retryable(), "{error}");
}

/// Rows of any size by any number of keys: each value is the row's, many keys a SELECT, never more bytes at once than a
/// few megabytes and one row.
#[test]
fn many_rows_are_read_back_in_bounded_groups() {
    let mut random = fastrand::Rng::with_seed(7);
    for largest in [10, 20_000, 3_000_000] {
        let database = Shared::default();
        let mut docs = Vec::new();
        let mut expected = Vec::new();
        for number in 0..400 {
            let key = random.u32(0..300).to_string();
            if random.u32(0..10) > 0 && !database.store().rows.contains_key(&key) {
                let body = random.u32(0..10).to_string().repeat(random.usize(0..largest));
                database.put(&key, &body, "r");
            }
            docs.push(match random.u32(0..5) {
                0 => delete(&format!("{key}|{number}|?|x")),
                1 => insert(&format!("{key}|{number}|in the row|x")),
                2 => update(&format!("{key}|{number}|?|x"), &[(1, "0")]),
                _ => insert(&format!("{key}|{number}|?|x")),
            });
        }
        for doc in &docs {
            let body = |row: &str| {
                let key = row.split('|').next().unwrap();
                let found = database.store().rows.get(key).map(|row| row.0.clone());
                row.replace('?', found.as_deref().unwrap_or(PLACEHOLDER))
            };
            expected.push(match doc {
                Doc::Insert(row) => (String::new(), body(row)),
                Doc::Delete(row) => (row.replace('?', PLACEHOLDER), String::new()),
                Doc::Update(row, _) => {
                    let [key, _, rest @ ..] = &row.split('|').collect::<Vec<_>>()[..] else {
                        panic!("{row}");
                    };
                    let after = format!("{key}|0|{}", rest.join("|"));
                    (body(row), body(&after))
                }
            });
        }
        let mut completion = database.completion(ReadBack);
        let whole = all(&mut completion, &docs);
        assert!(whole == expected, "with values of up to {largest}");
        let store = database.store();
        assert!(
            store.most <= (8 << 20) + largest + (64 << 10),
            "{} bytes at once",
            store.most
        );
        if largest == 10 {
            assert!(store.asked.len() < 10, "{} SELECTs", store.asked.len());
        }
        assert!(store.asked.iter().all(|(_, keys)| keys.len() <= 100));
    }
}

/// What a SELECT gives a driver may take at once: no more rows are asked for than those before make likely to fit.
#[test]
fn as_many_keys_are_asked_for_as_rows_of_that_size_fit() {
    let megabyte = "m".repeat(1 << 20);
    for (body, expected) in [
        ("b", &[1, 4, 16, 64, 100, 100][..]),
        (&megabyte, &[1, 4, 7, 7, 7, 7][..]),
    ] {
        let database = Shared::default();
        let mut docs = Vec::new();
        for number in 0..expected.iter().sum() {
            database.put(&number.to_string(), body, "r");
            docs.push(insert(&format!("{number}|1|?|r")));
        }
        let mut completion = database.completion(ReadBack);
        all(&mut completion, &docs);
        let asked: Vec<usize> = database.store().asked.iter().map(|(_, keys)| keys.len()).collect();
        assert_eq!(asked, expected);
    }
    // They become larger.
    let database = Shared::default();
    let mut docs = Vec::new();
    for number in 0..60 {
        let body = if number < 21 { "b" } else { &"m".repeat(10 << 20) };
        database.put(&number.to_string(), body, "r");
        docs.push(insert(&format!("{number}|1|?|r")));
    }
    let mut completion = database.completion(ReadBack);
    all(&mut completion, &docs);
    let asked: Vec<usize> = database.store().asked.iter().map(|(_, keys)| keys.len()).collect();
    assert_eq!(asked[..5], [1, 4, 16, 39, 1]);
    assert!(asked[4..].iter().all(|&keys| keys == 1), "{asked:?}");
}

fn stream(log: &ScriptedLog, ranges: &[FinishedRange], completion: Completion) -> Stream {
    let split = StreamSplit {
        offset: Offset::starting(INCARNATION, Scn(90), cut(100, 0)),
        end: None,
        needed: ranges.len() as u32,
        tables: Vec::new(),
        partitions: Vec::new(),
        ranges: ranges.to_vec(),
    };
    let settings = StreamSettings {
        batch: BatchLimit { rows: 2, bytes: 1000 },
        on_truncate: OnTruncate::Fail,
        on_mismatch: tidemark::log::OnFault::Fail,
    };
    Stream::open(Box::new(log.clone()), Arc::new(Docs), tables(), &split, settings)
        .unwrap()
        .completing(completion, Box::new(StillClock::default()))
}

fn drain(stream: &mut Stream) -> Vec<(RowKind, String)> {
    let mut rows = Vec::new();
    let mut batch = Batch::default();
    while let Step::Batch = stream.read(&mut batch).unwrap() {
        let text = |row| String::from_utf8_lossy(batch.row(row)).replace(PLACEHOLDER, "!");
        rows.extend((0..batch.row_count()).map(|row| (batch.kind(row), text(row))));
        batch.clear();
    }
    rows
}

/// What a page has is neither sent nor read; the half of a key change that is sent stands alone.
#[test]
fn the_log_phase_reads_back_what_it_sends() {
    use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
    let database = Shared::default();
    for key in ["a", "b", "n", "o"] {
        database.put(key, &key.to_uppercase(), "r");
    }
    let log = log();
    let docs = [
        insert("a|1|?|r"),
        insert("n|1|?|r"),
        update("n|1|?|r", &[(1, "2")]),
        update("n|2|?|r", &[(0, "b")]),
        update("b|2|?|r", &[(0, "o")]),
        delete("o|2|?|r"),
    ];
    log.then(Some(transaction(105, &docs)), cut(105, 1), 90, 100);
    let ranges = [("", "m", 106), ("m", "", 104)].map(|(lower, upper, point)| FinishedRange {
        table: tables()[0].clone(),
        range: range(lower, upper),
        point: Point::Position(cut(point, 0)),
        mine_from: Scn(90),
    });
    let mut stream = stream(&log, &ranges, database.completion(ReadBack));
    let expected = [
        (Insert, "n|1|N|r"),
        (UpdateBefore, "n|1|N|r"),
        (UpdateAfter, "n|2|N|r"),
        (Delete, "n|2|!|r"),
        (Insert, "o|2|O|r"),
        (Delete, "o|2|!|r"),
    ];
    assert_eq!(drain(&mut stream), expected.map(|(kind, text)| (kind, text.to_owned())));
    let asked: Vec<String> = database
        .store()
        .asked
        .iter()
        .flat_map(|(_, keys)| keys.clone())
        .collect();
    assert_eq!(asked, ["n", "o"]);
    assert_eq!(stream.unavailable().read_back, 3);
}

/// No change brings a value into a page that the log does not hold, and none is read back for a row of no page.
#[test]
fn pages_are_corrected_by_whole_rows() {
    let database = Shared::default();
    database.put("a", "A", "r");
    database.put("b", "B", "r");
    database.put("z", "Z", "r");
    let log = log();
    log.then(None, cut(100, 0), 100, 100);
    log.script().visible_end = vec![110];
    let docs = [
        update("a|0|?|r", &[(1, "1")]),
        insert("b|1|?|r"),
        insert("c|1|?|r"),
        insert("z|1|?|r"),
        delete("d|1|?|r"),
    ];
    log.then(Some(transaction(105, &docs)), cut(105, 1), 104, 100);
    log.then(None, cut(111, 0), 111, 111);
    let limits = RoundLimits {
        page: PageLimit { rows: 10, bytes: 1000 },
        round_bytes: 1000,
        visibility: patience(10),
        log_end: patience(30),
    };
    let mut completion = database.completion(ReadBack);
    warm(&mut completion, &database);
    let mut rounds = Rounds::new(Box::new(log.clone()), Arc::new(Docs), cut(100, 0), limits).completing(completion);
    let mut clock = StillClock::default();
    let ticket = rounds.begin_page(&mut clock).unwrap();
    let mut rows = PageRows::default();
    rows.push_encoded(b"a", b"a|0|old|r");
    rounds
        .add_page(ticket, selected(0, chunk(0, "", "m"), rows, None))
        .unwrap();
    let closed = rounds.close(&mut clock).unwrap();
    let rows: Vec<String> = texts(&closed.pages[0].rows)
        .iter()
        .map(|row| row.replace(PLACEHOLDER, "!"))
        .collect();
    assert_eq!(rows, ["a|1|A|r", "b|1|B|r", "c|1|!|r"]);
    assert_eq!(
        database.store().asked,
        [(vec![2], vec!["a".into(), "b".into(), "c".into()])]
    );
    assert_eq!((rounds.unavailable().read_back, rounds.unavailable().gone), (3, 1));
}

#[test]
fn a_stop_ends_the_wait_for_visibility() {
    let database = Shared::default();
    let mut completion = database.completion(ReadBack);
    let log = log();
    log.script().still_open = [vec!["session 1".into()]].into();
    let docs = changes(&[insert("a|1|?|r")]);
    let around = Around {
        at: 0,
        codec: &Docs,
        wanted: &|_, _| Ok(true),
        log: &mut log.clone(),
        clock: &mut StillClock {
            stops_at: Some(Duration::from_secs(2)),
            ..StillClock::default()
        },
    };
    let stopped = completion.complete(&docs, None, docs.rows[0].after, around).map(drop);
    assert!(matches!(stopped.unwrap_err().kind(), ErrorKind::Closed));
}
