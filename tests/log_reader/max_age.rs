//! Transactions that stay open for too long.

use std::time::Duration;

use super::*;

fn max_age(minutes: u64, on_max_age: OnFault) -> Settings {
    Settings {
        max_age: Some(Duration::from_secs(60 * minutes)),
        on_max_age,
        ..Settings::default()
    }
}

fn at_minute(line: Line, minute: u32) -> Line {
    Line {
        time: format!("2026-01-02 {:02}:{:02}:00", minute / 60, minute % 60),
        ..line
    }
}

/// One transaction that is open for an hour and a half, beside others.
fn long() -> Vec<Line> {
    vec![
        at_minute(start(10, 1), 0),
        at_minute(ins(11, 1, 1, "old"), 0),
        at_minute(start(20, 2), 10),
        at_minute(ins(21, 2, 2, "young"), 10),
        at_minute(commit(30, 2), 50),
        at_minute(start(40, 3), 85),
        at_minute(ins(41, 3, 3, "young"), 85),
        at_minute(commit(50, 3), 86),
        at_minute(ins(60, 1, 4, "old"), 90),
        at_minute(commit(70, 1), 90),
    ]
}

#[test]
fn an_old_transaction_is_an_error_by_name() {
    let log = ScriptedLog::new(long(), vec![]);
    log.script().archived = 8;
    log.script().held = vec![1];
    let mut reader = open_with(&log, at(0, 0), max_age(80, OnFault::Fail));
    let error = read(&mut reader).error.unwrap();
    assert!(!error.is_retryable());
    let text = error.to_string();
    for part in [
        "TM-6003",
        "transaction 1 of session 1",
        "open for 5160 s",
        "scn 10",
        "max-age is 4800 s",
        "on-max-age",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Read at once, long after: it ended in time.
#[test]
fn one_that_ended_in_time_is_none_however_late_it_is_read() {
    let log = ScriptedLog::new(long(), vec![]);
    let mut reader = open_with(&log, at(0, 0), max_age(91, OnFault::Fail));
    let all = read(&mut reader);
    assert!(all.error.is_none(), "{:?}", all.error);
    assert_eq!(all.transactions.len(), 3);
}

#[test]
fn one_that_is_left_out_holds_no_log_and_never_comes() {
    let log = ScriptedLog::new(long(), vec![3, 3]);
    log.script().archived = 8;
    let mut reader = open_with(&log, at(0, 0), max_age(80, OnFault::Skip));
    let some = read(&mut reader);
    assert!(some.error.is_none(), "{:?}", some.error);
    assert_eq!(
        some.transactions.iter().map(|seen| seen.xid).collect::<Vec<_>>(),
        [2, 3]
    );
    let figures = reader.figures();
    assert_eq!((figures.skipped_transactions, figures.open_transactions), (1, 0));
    assert_eq!((figures.oldest_log_bytes, figures.buffered_bytes), (0, 0));
    let stood = reader.progress();
    assert!(stood.next_scn > Scn(10), "{stood:?}");
    log.script().archived = 10;
    assert_eq!(read(&mut reader).transactions, []);
    // Nor after a restart, whether its log is still kept or not.
    for purged in [0, 1] {
        log.script().purged = purged;
        let opening = Opening {
            mine_from: stood.next_scn,
            position: stood.position,
        };
        let mut reader = open_with(&log, opening, max_age(80, OnFault::Skip));
        let rest = read(&mut reader);
        assert!(rest.error.is_none(), "{:?}", rest.error);
        assert_eq!(rest.transactions, []);
        assert_eq!(reader.figures().skipped_transactions, 1);
    }
}
