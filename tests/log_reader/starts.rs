//! Where a transaction began, and where the log is opened.

use super::*;

#[test]
fn a_start_before_the_first_record_is_found_by_mining_back() {
    let mut lines = vec![start(1, 1), ins(2, 1, 10, "a")];
    for n in 0..30 {
        lines.extend([start(10 + n, 100 + n), commit(10 + n, 100 + n)]);
    }
    lines.extend([upd(50, 1, 10, "a", "b"), commit(51, 1)]);
    for file in [2, 3, 7] {
        let log = ScriptedLog::new(lines.clone(), vec![file; 60 / file]);
        let settings = Settings {
            window_bytes: 40,
            ..Settings::default()
        };
        let read = read(&mut open_with(&log, at(45, 45), settings));
        assert_eq!(rows(&read), [(1, vec!["->10=a", "10=a>10=b"])], "files of {file}");
    }
}

#[test]
fn a_start_that_the_log_no_longer_holds_is_log_gone() {
    let mut lines = vec![start(1, 1), ins(2, 1, 10, "a")];
    lines.extend((0..20).map(|n| start(10 + n, 100 + n)));
    lines.push(commit(51, 1));
    let log = ScriptedLog::new(lines, vec![4; 5]);
    log.script().purged = 1;
    let error = read(&mut open(&log, 20, 20)).error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::LogGone { .. }), "{error}");
    assert!(error.to_string().contains("transaction 1"), "{error}");
}

#[test]
fn a_commit_before_the_position_never_asks_for_its_start_and_is_noted() {
    let lines = vec![
        ins(4, 1, 10, "a"),
        commit(5, 1),
        start(6, 2),
        ins(6, 2, 20, "b"),
        commit(7, 2),
    ];
    let log = ScriptedLog::new(lines, vec![]);
    log.script().held = vec![1, 2];
    // The database still has both open, the log has their commits.
    log.script().lines.insert(0, start(1, 1));
    log.script().archived = 6;
    let mut reader = open(&log, 4, 6);
    assert_eq!(rows(&read(&mut reader)), [(2, vec!["->20=b"])]);
    assert_eq!(log.script().calls.len(), 1);
    assert_eq!(
        reader.still_open().unwrap().len(),
        2,
        "a commit that was only noted counts"
    );
    log.script().held = vec![2];
    let open = reader.still_open().unwrap();
    assert_eq!(open, ["transaction 2 of session 2"]);
    log.script().held.clear();
    assert!(reader.still_open().unwrap().is_empty());
    log.script().held = vec![1];
    assert!(
        reader.still_open().unwrap().is_empty(),
        "what was seen closed is forgotten"
    );
}

#[test]
fn opening_anew_takes_the_end_then_the_open_transactions_then_the_end_again() {
    let lines = vec![
        start(1, 1),
        start(3, 2),
        ins(4, 1, 10, "a"),
        commit(5, 1),
        ins(6, 2, 20, "b"),
        start(7, 3),
        commit(8, 2),
    ];
    let log = ScriptedLog::new(lines, vec![]);
    log.script().lines.truncate(6);
    log.script().archived = 4;
    log.script().growth = 1;
    let (opening, _) = LogMinerReader::open_new(log.clone(), vec![table()], Settings::default()).unwrap();
    assert_eq!(opening, at(3, 7), "the oldest open START; the second end");
    log.script().lines.push(commit(8, 2));
    let mut reader = open_with(&log, opening, Settings::default());
    assert_eq!(rows(&read(&mut reader)), [(2, vec!["->20=b"])]);
}
