//! Where the log is opened when no state says where: `scan.startup.mode` without a snapshot.

use tidemark::log::logminer::reader::openings;

use super::files::steps;
use super::*;

fn xids(read: &Read) -> Vec<u64> {
    rows(read).into_iter().map(|(xid, _)| xid).collect()
}

fn option(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Option { option, .. } => option,
        other => panic!("{other:?}"),
    }
}

fn skip() -> Settings {
    Settings {
        on_lost_start: OnFault::Skip,
        ..Settings::default()
    }
}

#[test]
fn the_earliest_start_gives_all_that_is_whole_and_counts_what_is_not() {
    let mut log = steps(5);
    {
        let mut script = log.script();
        // Begins in the first file, commits in the third.
        script.lines.insert(1, start(10, 90));
        script.lines.insert(2, ins(11, 90, 900, "early"));
        script.files[0] += 2;
        script.lines.insert(9, ins(31, 90, 901, "late"));
        script.lines.insert(10, commit(31, 90));
        script.files[2] += 2;
        script.archived = script.lines.len();
    }
    let opening = openings::earliest(&mut log).unwrap();
    assert_eq!(opening, at(1, 1));
    let mut reader = open_with(&log, opening, skip());
    assert_eq!(xids(&read(&mut reader)), [1, 2, 90, 3, 4, 5]);
    assert_eq!(reader.figures().skipped_transactions, 0);

    log.script().purged = 1;
    let opening = openings::earliest(&mut log).unwrap();
    assert_eq!(opening, at(13, 13));
    let mut reader = open_with(&log, opening, skip());
    assert_eq!(xids(&read(&mut reader)), [2, 3, 4, 5]);
    assert_eq!(reader.figures().skipped_transactions, 1);
    // Nobody else may leave it out.
    let error = read(&mut open_with(&log, opening, Settings::default())).error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::LogGone { .. }), "{error}");
}

#[test]
fn a_start_at_an_scn_takes_what_commits_there() {
    let mut log = steps(5);
    for (scn, expected) in [
        (1, vec![1, 2, 3, 4, 5]),
        (22, vec![2, 3, 4, 5]),
        (23, vec![3, 4, 5]),
        (52, vec![5]),
    ] {
        let opening = openings::at(&mut log, Scn(scn)).unwrap();
        assert_eq!(
            xids(&read(&mut open_with(&log, opening, Settings::default()))),
            expected
        );
    }
}

#[test]
fn an_scn_that_the_log_does_not_hold_is_refused() {
    let mut log = steps(5);
    let error = openings::at(&mut log, Scn(53)).unwrap_err();
    assert_eq!(option(&error), "scan.startup.specific-offset.scn");
    assert!(error.to_string().contains("is 53; the log ends at 52"), "{error}");
    assert!(!error.is_retryable());
    // Written, but not archived yet: it will come.
    log.script().visible = Some(60);
    openings::at(&mut log, Scn(60)).unwrap();
    log.script().purged = 2;
    openings::at(&mut log, Scn(22)).unwrap();
    let error = openings::at(&mut log, Scn(21)).unwrap_err();
    let ErrorKind::LogGone { needed, oldest, detail } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!((*needed, *oldest), (Scn(21), Some(Scn(30))));
    assert!(detail.contains("file2"), "{detail}");
    assert!(
        error.to_string().contains("scan.startup.specific-offset.scn"),
        "{error}"
    );
}

/// Commit n happens at 10 n seconds past 03:00; the server notes its scn every 3 seconds.
fn timed() -> ScriptedLog {
    let log = steps(5);
    let mut script = log.script();
    for line in &mut script.lines {
        line.time = format!("2026-01-02 03:00:{:02}.500000", line.scn / 10 * 10);
    }
    script.times = (0..=19)
        .map(|nth| {
            let second = 3 * nth;
            let scn = if second <= 10 { 5 } else { (second - 1) / 10 * 10 + 2 };
            (format!("2026-01-02 03:00:{second:02}"), scn.min(52))
        })
        .collect();
    drop(script);
    log
}

/// 2026-01-02 03:00:00 UTC.
pub const THREE: i64 = 1_767_322_800_000;

#[test]
fn a_start_at_a_time_takes_the_first_commit_at_or_after_it() {
    for (millis, expected) in [
        (5_000, vec![1, 2, 3, 4, 5]),
        (10_500, vec![1, 2, 3, 4, 5]),
        (10_501, vec![2, 3, 4, 5]),
        (20_499, vec![2, 3, 4, 5]),
        (20_500, vec![2, 3, 4, 5]),
        (20_501, vec![3, 4, 5]),
        (50_500, vec![5]),
        (50_501, vec![]),
        (60_000, vec![]),
    ] {
        for window_bytes in [1, 1 << 20] {
            let settings = Settings {
                window_bytes,
                ..Settings::default()
            };
            let log = timed();
            let opening = openings::at_time(log.clone(), settings.clone(), THREE + millis).unwrap();
            let mut reader = open_with(&log, opening, settings);
            assert_eq!(xids(&read(&mut reader)), expected, "{millis} ms");
        }
    }
}

#[test]
fn a_time_is_one_on_the_servers_clock() {
    let log = timed();
    let settings = Settings {
        zone: Zone::parse("+08:00").unwrap(),
        ..Settings::default()
    };
    let opening = openings::at_time(log.clone(), settings, THREE - 8 * 3_600_000 + 20_501).unwrap();
    assert_eq!(opening, at(32, 32));
}

#[test]
fn a_time_that_the_server_does_not_know_is_refused() {
    let refused = |log: &ScriptedLog, millis: i64| {
        let error = openings::at_time(log.clone(), Settings::default(), THREE + millis).unwrap_err();
        assert_eq!(option(&error), "scan.startup.timestamp-millis");
        assert!(!error.is_retryable());
        error.to_string()
    };
    let log = timed();
    let early = refused(&log, 4_999);
    assert!(
        early.contains("is 2026-01-02 03:00:04 on the server's clock")
            && early.contains("from 2026-01-02 03:00:00 on only"),
        "{early}"
    );
    assert!(early.contains("'specific-offset'"), "{early}");
    let late = refused(&log, 61_000);
    assert!(
        late.contains("the newest time that it has noted of its log is 2026-01-02 03:00:57"),
        "{late}"
    );
    log.script().times.clear();
    assert!(refused(&log, 20_000).contains("has noted no time of its log"));
    // Known, but its log is gone.
    let log = timed();
    log.script().purged = 2;
    let error = openings::at_time(log, Settings::default(), THREE + 20_000).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LogGone { .. }), "{error}");
    assert!(error.to_string().contains("scan.startup.timestamp-millis"), "{error}");
}
