//! Options of reading the log.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use serde_json::Value;
use tidemark::error::ErrorKind;
use tidemark::log::LogEvent;
use tidemark::reader::capture::Connector;

use crate::gauges::until;
use crate::job::Job;
use crate::server::{count, shared, statements, table};
use crate::snapshot::session;

fn insert(schema: &str, id: i64, words: &str) {
    shared().psql(&format!(r#"insert into "{schema}"."T" values ({id}, {id}, '{words}')"#));
}

/// A job begins to read at the oldest open transaction, and a record that cannot be read fails it also where nobody waits for
/// its transaction: who writes such records waits for who holds transactions open.
static OPEN_TRANSACTIONS: RwLock<()> = RwLock::new(());

fn without_open_transactions() -> RwLockReadGuard<'static, ()> {
    OPEN_TRANSACTIONS.read().unwrap_or_else(PoisonError::into_inner)
}

/// The log from now on begins with the newest scn that is archived: waits until that is none of a job before.
fn until_archived() {
    let end = shared().psql(r#"select "CUR_LSN" from "SYS"."V$RLOG""#);
    let is_archived = format!(r#"select max("CLSN") >= {} from "SYS"."V$ARCH_FILE""#, end.trim());
    until("the log is archived", || shared().psql(&is_archived).trim() == "t");
}

/// A job that reads what was inserted: three rows, the middle one of which looks broken by its words.
fn broken(schema: &str, words: &str, options: &[(&str, Value)]) -> Job {
    until_archived();
    let job = Job::new(shared(), schema, options);
    job.start_stream();
    let first = shared().psql(&format!(r#"select coalesce(max("ID"), 0) + 1 from "{schema}"."T""#));
    let first: i64 = first.trim().parse().unwrap();
    insert(schema, first, "");
    insert(schema, first + 1, words);
    insert(schema, first + 2, "");
    job
}

#[test]
fn a_corrupt_record_fails_or_is_skipped_and_counted() {
    let _alone = without_open_transactions();
    table("CORRUPT", 0);
    let error = broken("CORRUPT", "is corrupt", &[]).stream_error();
    assert!(matches!(error.kind(), ErrorKind::CorruptLog(_)), "{error}");
    let job = broken("CORRUPT", "is corrupt", &[("log.on-corruption", "skip".into())]);
    assert_eq!(job.stream(2).unwrap(), [(0, 4, Some(4)), (0, 6, Some(6))]);
    assert_eq!(job.metric("recordsSkipped"), 1);
    let other = [("log.on-dictionary-mismatch", "skip".into())];
    let error = broken("CORRUPT", "is corrupt", &other).stream_error();
    assert!(matches!(error.kind(), ErrorKind::CorruptLog(_)), "{error}");
}

#[test]
fn a_text_that_cannot_be_read_fails_or_is_skipped_and_counted() {
    let _alone = without_open_transactions();
    table("NO_TEXT", 0);
    let error = broken("NO_TEXT", "is no text", &[]).stream_error();
    assert!(matches!(error.kind(), ErrorKind::Redo(_)), "{error}");
    assert!(error.to_string().contains("log.on-corruption = 'skip'"), "{error}");
    let job = broken("NO_TEXT", "is no text", &[("log.on-corruption", "skip".into())]);
    assert_eq!(job.stream(2).unwrap(), [(0, 4, Some(4)), (0, 6, Some(6))]);
    assert_eq!(job.metric("recordsSkipped"), 1);
    let other = [("log.on-dictionary-mismatch", "skip".into())];
    let error = broken("NO_TEXT", "is no text", &other).stream_error();
    assert!(matches!(error.kind(), ErrorKind::Redo(_)), "{error}");
}

#[test]
fn a_record_of_another_shape_fails_or_is_skipped_and_counted() {
    let _alone = without_open_transactions();
    table("MISMATCH", 0);
    let error = broken("MISMATCH", "has no words", &[]).stream_error();
    assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
    let skip = [("log.on-dictionary-mismatch", "skip".into())];
    let job = broken("MISMATCH", "has no words", &skip);
    assert_eq!(job.stream(2).unwrap(), [(0, 4, Some(4)), (0, 6, Some(6))]);
    assert_eq!(job.metric("recordsSkipped"), 1);
    let other = [("log.on-corruption", "skip".into())];
    let error = broken("MISMATCH", "has no words", &other).stream_error();
    assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
}

#[test]
fn a_truncated_table_fails_or_is_ignored_and_counted() {
    let _alone = without_open_transactions();
    table("TRUNCATED", 0);
    let error = broken("TRUNCATED", "is truncated", &[]).stream_error();
    assert!(matches!(error.kind(), ErrorKind::Truncated), "{error}");
    let job = broken("TRUNCATED", "is truncated", &[("on-truncate", "ignore".into())]);
    assert_eq!(job.stream(2).unwrap(), [(0, 4, Some(4)), (0, 6, Some(6))]);
    assert_eq!(job.metric("truncatesIgnored"), 1);
}

#[test]
fn a_row_that_is_not_logged_whole_fails_with_what_to_set() {
    let _alone = without_open_transactions();
    table("PARTIAL", 3);
    let job = Job::new(shared(), "PARTIAL", &[]);
    job.start_stream();
    shared().psql(r#"update "PARTIAL"."T" set "V" = 'is partial' where "ID" = 2"#);
    let error = job.stream_error();
    assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2)"),
        "{error}"
    );
}

#[test]
fn rows_of_a_fetch_are_what_is_asked_for() {
    table("LOG_FETCH", 0);
    for (size, first) in [(7, 0), (70, 1000)] {
        let job = Job::new(shared(), "LOG_FETCH", &[("log.fetch.size", Value::from(size))]);
        job.start_stream();
        shared().psql(&format!(
            r#"insert into "LOG_FETCH"."T" select {first} + g, g, 'x' from generate_series(1, 300) g"#
        ));
        assert_eq!(job.stream(300).unwrap().len(), 300);
        assert!(
            count("LOG_FETCH", &format!("fetch {size} in ")) >= 300 / size,
            "{:#?}",
            statements("LOG_FETCH")
        );
    }
}

#[test]
fn a_mining_call_reads_no_more_files_than_its_bytes() {
    table("WINDOW", 0);
    let calls = |bytes: i64, first: i64| {
        let job = Job::new(shared(), "WINDOW", &[("log.window.bytes", bytes.into())]);
        let mut capture = job.database.connect().unwrap();
        let (mut log, _) = capture.log_for_snapshot().unwrap();
        for n in 0..5 {
            insert("WINDOW", first + n, "");
            shared().psql("select pg_switch_wal()");
        }
        let before = count("WINDOW", "START_LOGMNR");
        let mut rows = 0;
        while rows < 5 {
            if let Some(LogEvent::Fragment(fragment)) = log.poll().unwrap() {
                rows += fragment.changes.rows.len();
            }
        }
        count("WINDOW", "START_LOGMNR") - before
    };
    // A file here has a megabyte, and at least five were written.
    let (small, large) = (calls(1 << 20, 0), calls(512 << 20, 100));
    assert!(small >= 3 && large <= 2, "{small} calls and {large} calls");
}

#[test]
fn a_log_is_switched_where_that_is_allowed_only() {
    table("SWITCH", 0);
    let push = |allowed: bool| {
        let job = Job::new(shared(), "SWITCH", &[("log.switch", allowed.into())]);
        let mut capture = job.database.connect().unwrap();
        capture.log_for_snapshot().unwrap().0.push()
    };
    assert!(!push(false).unwrap());
    assert_eq!(count("SWITCH", "ARCHIVE LOG CURRENT"), 0);
    // The stand-in does not know the statement; that it comes is what counts here.
    let error = push(true).unwrap_err();
    assert!(error.to_string().contains("while switching the log"), "{error}");
}

#[test]
fn a_fragment_has_no_more_rows_than_asked_for() {
    table("FRAGMENT", 0);
    let job = Job::new(shared(), "FRAGMENT", &[("transaction.fragment.rows", 30.into())]);
    let mut capture = job.database.connect().unwrap();
    let (mut log, _) = capture.log_for_snapshot().unwrap();
    shared().psql(r#"insert into "FRAGMENT"."T" select g, g, 'x' from generate_series(1, 100) g"#);
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 100 {
        if let Some(LogEvent::Fragment(fragment)) = log.poll().unwrap() {
            sizes.push(fragment.changes.rows.len());
        }
    }
    assert_eq!(sizes, [30, 30, 30, 10]);
}

/// A transaction that does not fit goes through a file and comes whole; nothing is left of the file.
#[test]
fn a_transaction_that_does_not_fit_into_its_memory_goes_through_a_file() {
    table("SPILLED", 0);
    for (memory, spilled, first) in [(1 << 20, 1, 0), (64 << 20, 0, 10_000)] {
        let options = [("transaction.memory", Value::from(memory))];
        let job = Job::new(shared(), "SPILLED", &options);
        job.start_stream();
        shared().psql(&format!(
            r#"insert into "SPILLED"."T" select {first} + g, g, repeat('x', 500) from generate_series(1, 3000) g"#
        ));
        let rows: Vec<_> = (1..=3000).map(|n| (0, first + n, Some(n as i32))).collect();
        assert_eq!(job.stream(3000).unwrap(), rows);
        assert_eq!(job.metric("transactionsSpilled"), spilled);
        assert_eq!(job.metric("spilledBytesTotal") > 1 << 20, spilled == 1);
        until("the file is gone", || job.metric("spilledBytes") == 0);
    }
}

/// A session that leaves its transaction open fails the job by name, or is left out for good and counted.
#[test]
fn a_transaction_that_stays_open_fails_the_job_or_is_left_out_and_counted() {
    let _alone = OPEN_TRANSACTIONS.write().unwrap_or_else(PoisonError::into_inner);
    table("OPEN", 0);
    let open = |id: i64| {
        let mut connection = session();
        let insert = format!(r#"insert into "OPEN"."T" values ({id}, 0, 'open')"#);
        connection.execute(&insert).unwrap();
        connection
    };
    let job = Job::new(shared(), "OPEN", &[("transaction.max-age", 1_000.into())]);
    job.start_stream();
    let session = open(1);
    let error = job.stream_error();
    assert!(matches!(error.kind(), ErrorKind::TransactionTooOld { .. }), "{error}");
    drop(session);
    let skip = [
        ("transaction.max-age", Value::from(1_000)),
        ("transaction.on-max-age", "skip".into()),
    ];
    let job = Job::new(shared(), "OPEN", &skip);
    job.start_stream();
    let mut session = open(2);
    let quiet = || job.reader.next(Duration::from_millis(20)).map(drop).unwrap();
    until("it is left out", || {
        quiet();
        job.metric("transactionsSkipped") >= 1
    });
    session.execute("commit").unwrap();
    insert("OPEN", 3, "");
    assert_eq!(job.stream(1).unwrap(), [(0, 3, Some(3))]);
}

/// What the server is told of mining by one session after the other: each START is followed by an END, whatever came
/// between; the next call would find files otherwise.
#[test]
fn every_mining_session_is_ended_after_errors_too() {
    let _alone = without_open_transactions();
    table("ENDED", 0);
    let error = broken("ENDED", "is corrupt", &[]).stream_error();
    assert!(matches!(error.kind(), ErrorKind::CorruptLog(_)), "{error}");
    // An error of the server itself, in the middle of the rows.
    until_archived();
    let job = Job::new(shared(), "ENDED", &[]);
    job.start_stream();
    insert("ENDED", 100, "");
    assert_eq!(job.stream(1).unwrap().len(), 1);
    insert("ENDED", 101, "makes the server fail");
    let error = job.stream_error();
    assert!(matches!(error.kind(), ErrorKind::Statement { .. }), "{error}");
    let mut sessions: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let statements = statements("ENDED");
    for (process, statement) in &statements {
        for call in ["ADD_LOGFILE", "START_LOGMNR", "END_LOGMNR"] {
            if statement.contains(call) {
                sessions.entry(*process).or_default().push(call);
            }
        }
    }
    let mut started = 0;
    for calls in sessions.values().filter(|calls| calls.contains(&"START_LOGMNR")) {
        let mut open = false;
        for call in calls {
            match *call {
                "START_LOGMNR" => {
                    started += 1;
                    open = true;
                }
                "END_LOGMNR" => open = false,
                _ => assert!(!open, "a file is added to a started session: {calls:?}"),
            }
        }
        assert_eq!(calls.last(), Some(&"END_LOGMNR"), "{calls:?}");
    }
    assert!(started >= 2, "{sessions:?}");
}
