//! Mining calls that take longer than a call may.

use tidemark::error::ErrorKind;

use super::*;

/// Twenty files of one transaction each; of thirty bytes.
fn log() -> ScriptedLog {
    let transaction = |n: u64| [start(10 * n, n), ins(10 * n + 1, n, n, "v"), commit(10 * n + 2, n)];
    ScriptedLog::new((1..=20).flat_map(transaction).collect(), vec![3; 19])
}

fn settings() -> Settings {
    Settings {
        window_bytes: 10_000,
        ..Settings::default()
    }
}

/// A job that begins again with the same window would never get on.
#[test]
fn a_window_that_takes_too_long_is_read_in_smaller_ones() {
    let expected = read(&mut open_with(&log(), at(1, 1), settings())).transactions;
    assert_eq!(expected.len(), 20);
    for slow in [70, 100, 300, 599] {
        let log = log();
        log.script().slow = Some(slow);
        let seen = read(&mut open_with(&log, at(1, 1), settings()));
        assert!(seen.error.is_none(), "{slow}: {:?}", seen.error);
        assert_eq!(seen.transactions, expected, "{slow}");
        let script = log.script();
        assert_eq!(script.bytes[0], 600, "{slow}");
        let slow_calls = script.bytes.iter().filter(|bytes| **bytes > slow).count();
        // Not every other one: what was too long is not tried again at once.
        assert!(slow_calls * 3 <= script.bytes.len() + 6, "{slow}: {:?}", script.bytes);
        if slow == 599 {
            assert!(
                script.bytes[2..].iter().any(|bytes| *bytes > 300),
                "they grow again: {:?}",
                script.bytes
            );
        }
    }
}

#[test]
fn a_file_that_takes_too_long_is_an_error() {
    let log = log();
    log.script().slow = Some(20);
    let error = read(&mut open_with(&log, at(1, 1), settings())).error.unwrap();
    assert!(
        matches!(error.kind(), ErrorKind::Timeout { .. }) && error.is_retryable(),
        "{error}"
    );
}

/// The transaction's START is far back.
#[test]
fn mining_back_takes_smaller_windows_too() {
    let mut lines = vec![start(1, 1_000), ins(2, 1_000, 7, "old")];
    lines.extend((1..=20).flat_map(|n| [start(10 * n, n), ins(10 * n + 1, n, n, "v"), commit(10 * n + 2, n)]));
    lines.push(commit(500, 1_000));
    let log = ScriptedLog::new(lines, vec![3; 20]);
    let expected = read(&mut open_with(&log, at(300, 300), settings())).transactions;
    assert_eq!(expected.len(), 1);
    log.script().slow = Some(100);
    let seen = read(&mut open_with(&log, at(300, 300), settings()));
    assert!(seen.error.is_none(), "{:?}", seen.error);
    assert_eq!(seen.transactions, expected);
}
