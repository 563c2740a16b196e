//! Files that come late, twice, in part or not at all, and how many one mining call reads.

use std::time::Duration;

use super::*;

/// A transaction a file of three lines: begins at 10 n, commits at 10 n + 2.
pub fn steps(count: u64) -> ScriptedLog {
    let lines = (1..=count).flat_map(|n| [start(10 * n, n), ins(10 * n + 1, n, n, "x"), commit(10 * n + 2, n)]);
    ScriptedLog::new(lines.collect(), vec![3; count as usize - 1])
}

fn xids(read: &Read) -> Vec<u64> {
    rows(read).into_iter().map(|(xid, _)| xid).collect()
}

fn patient() -> Settings {
    Settings {
        missing_patience: Duration::from_secs(3600),
        window_bytes: 1,
        ..Settings::default()
    }
}

fn gone(error: &Error) -> (Scn, Option<Scn>, &str) {
    assert!(!error.is_retryable());
    match error.kind() {
        ErrorKind::LogGone { needed, oldest, detail } => (*needed, *oldest, detail),
        other => panic!("{other:?}"),
    }
}

/// F48: listed, though it was deleted.
#[test]
fn a_file_that_is_listed_and_lost_is_named() {
    let log = steps(5);
    log.script().lost = vec!["file2".into()];
    let error = read(&mut open(&log, 0, 0)).error.unwrap();
    let (needed, oldest, detail) = gone(&error);
    assert_eq!((needed, oldest), (Scn(30), Some(Scn(10))));
    assert!(
        detail.contains("'file2' is listed") && detail.contains("[-4546]"),
        "{detail}"
    );
    assert_eq!(log.script().calls.len(), 2, "looked up again once");
}

/// F48: found before anything is read, where it is asked whether all of it can be.
#[test]
fn a_log_is_readable_if_each_of_its_files_can_be_opened_in_one_place() {
    let log = steps(5);
    let mut reader = open(&log, 0, 0);
    log.script().lost = vec!["file2".into()];
    reader.check_readable(Scn(40)).unwrap();
    let error = reader.check_readable(Scn(20)).unwrap_err();
    let (needed, oldest, detail) = gone(&error);
    assert_eq!((needed, oldest), (Scn(30), Some(Scn(10))));
    assert!(detail.contains("'file2' is listed"), "{detail}");
    log.script().copies = vec![("file2".into(), 0)];
    reader.check_readable(Scn(20)).unwrap();
    log.script().unlisted = vec!["file3".into()];
    let error = reader.check_readable(Scn(20)).unwrap_err();
    assert!(gone(&error).2.contains("one is missing"), "{error}");
    assert!(log.script().calls.is_empty(), "nothing is mined for that");
}

/// F48: two destinations, one of which has lost the file or is behind.
#[test]
fn a_file_that_one_destination_has_lost_is_read_from_the_other_and_once() {
    for lost in ["file2", "copy/file2"] {
        for behind in [0, 2] {
            for window_bytes in [1, 1 << 20] {
                let log = steps(5);
                log.script().copies = vec![("file2".into(), if lost == "file2" { 0 } else { behind })];
                log.script().lost = vec![lost.into()];
                let settings = Settings {
                    window_bytes,
                    ..Settings::default()
                };
                let mut reader = open_with(&log, at(0, 0), settings);
                assert_eq!(xids(&read(&mut reader)), [1, 2, 3, 4, 5], "without {lost}");
                for call in &log.script().calls {
                    let of_it = call.iter().filter(|path| path.ends_with("file2"));
                    assert!(of_it.count() <= 1, "{call:?}");
                }
            }
        }
    }
}

/// Also where a START is looked for further back.
#[test]
fn mining_back_reads_the_copy_that_is_there() {
    let mut lines = vec![start(1, 1), ins(2, 1, 10, "a"), start(3, 9)];
    lines.extend([
        start(10, 2),
        commit(11, 2),
        start(20, 3),
        upd(21, 1, 10, "a", "b"),
        commit(22, 1),
    ]);
    for lost in ["file0", "copy/file0"] {
        let log = ScriptedLog::new(lines.clone(), vec![3, 2]);
        log.script().copies = vec![("file0".into(), 0)];
        log.script().lost = vec![lost.into()];
        let read = read(&mut open(&log, 15, 15));
        assert_eq!(rows(&read), [(1, vec!["->10=a", "10=a>10=b"])], "without {lost}");
    }
}

#[test]
fn a_file_that_is_listed_late_is_waited_for() {
    let log = steps(5);
    let mut reader = open_with(&log, at(0, 0), patient());
    log.script().unlisted = vec!["file2".into()];
    let first = xids(&read(&mut reader));
    for _ in 0..3 {
        assert!(xids(&read(&mut reader)).is_empty());
    }
    log.script().unlisted.clear();
    assert_eq!([first, xids(&read(&mut reader))].concat(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_file_that_can_be_opened_late_is_waited_for() {
    let log = steps(5);
    let mut reader = open_with(&log, at(0, 0), patient());
    log.script().lost = vec!["file2".into()];
    let first = xids(&read(&mut reader));
    assert_eq!(first, [1, 2]);
    assert!(xids(&read(&mut reader)).is_empty());
    log.script().lost.clear();
    assert_eq!(xids(&read(&mut reader)), [3, 4, 5]);
}

#[test]
fn a_gap_that_stays_is_named_by_its_neighbours() {
    let log = steps(5);
    let mut reader = open_with(&log, at(0, 0), Settings::default());
    log.script().unlisted = vec!["file2".into()];
    let error = read(&mut reader).error.unwrap();
    let (needed, oldest, detail) = gone(&error);
    assert_eq!((needed, oldest), (Scn(23), Some(Scn(10))));
    assert!(detail.contains("'file1'") && detail.contains("'file3'"), "{detail}");
}

/// A page that closed sooner would lack what stands in the files behind.
#[test]
fn the_log_is_complete_only_once_the_last_file_was_read() {
    let log = steps(5);
    let settings = Settings {
        window_bytes: 1,
        ..Settings::default()
    };
    let mut reader = open_with(&log, at(0, 0), settings);
    let mut complete = None;
    while reader.poll().unwrap().is_some() {
        let (now, read) = (reader.progress().complete_to, log.script().calls.len());
        assert!(now >= complete, "{now:?} behind {complete:?}");
        let all = log.script().calls.iter().flatten().any(|path| path == "file4");
        assert!(all || now < Some(Scn(52)), "{now:?} after {read} calls");
        complete = now;
    }
    assert_eq!(complete, Some(Scn(52)));
}

fn hidden(scn: u64) -> Line {
    Line {
        hidden: true,
        ..Line::new(scn, 0, 37)
    }
}

/// Nothing is committed for days, while the server writes other records and deletes its old files.
#[test]
fn an_idle_database_whose_files_expire_is_no_alarm() {
    // A transaction is open all the time.
    let lines = vec![
        start(10, 1),
        commit(12, 1),
        start(13, 2),
        ins(14, 2, 20, "open"),
        hidden(20),
        hidden(100),
        hidden(200),
        hidden(300),
        commit(400, 2),
        start(401, 3),
        ins(402, 3, 30, "c"),
        commit(403, 3),
    ];
    let log = ScriptedLog::new(lines, vec![5, 1, 1, 1]);
    log.script().archived = 8;
    let mut reader = open(&log, 0, 0);
    assert!(read(&mut reader).transactions.is_empty());
    let before = reader.progress();
    assert_eq!(
        (before.position, before.complete_to),
        (Position::before(Scn(14)), Some(Scn(300)))
    );
    assert_eq!(log.script().setups, 0);
    for purged in 1..=3 {
        log.script().purged = purged;
        assert!(read(&mut reader).error.is_none(), "{purged} files are gone");
        assert_eq!(
            reader.progress().position,
            before.position,
            "an empty result moves nothing"
        );
    }
    log.script().archived = 12;
    let rest = read(&mut reader);
    assert_eq!(rows(&rest), [(2, vec!["->20=open"]), (3, vec!["->30=c"])]);
    assert!(log.script().setups > 0, "what was empty was asked about");
}

fn reopened(log: &ScriptedLog, from: &Progress) -> tidemark::error::Result<LogMinerReader<ScriptedLog>> {
    let opening = Opening {
        mine_from: from.next_scn,
        position: from.position,
    };
    LogMinerReader::open(log.clone(), vec![table()], Settings::default(), opening)
}

/// What a checkpoint keeps of an idle database: everything that closed files held is read, so a restart needs none of
/// them, though no record has moved the position. Once one is open that is over.
#[test]
fn a_restart_on_an_idle_database_needs_no_file_that_was_closed_when_it_was_read() {
    let lines = vec![
        start(10, 1),
        ins(11, 1, 10, "a"),
        commit(12, 1),
        hidden(20),
        hidden(100),
        hidden(200),
        start(300, 2),
        ins(301, 2, 20, "b"),
        hidden(400),
        hidden(500),
        commit(600, 2),
    ];
    let log = ScriptedLog::new(lines, vec![4, 1, 1, 3, 1]);
    log.script().archived = 4;
    let mut reader = open(&log, 0, 0);
    assert_eq!(rows(&read(&mut reader)), [(1, vec!["->10=a"])]);
    let first = reader.progress();
    assert_eq!(first.next_scn, Scn(12), "the file is being written");
    for (archived, closed_to) in [(5, 20), (6, 100)] {
        log.script().archived = archived;
        assert!(read(&mut reader).transactions.is_empty());
        let stands = reader.progress();
        assert_eq!((stands.position, stands.next_scn), (first.position, Scn(closed_to)));
    }
    assert_eq!(
        log.script().setups,
        0,
        "the record at 12 came again each time: nothing seemed empty"
    );
    let idle = reader.progress();
    // The two closed files are gone; what was read of them is not missed, by the reader and by its successor.
    log.script().purged = 2;
    let mut again = reopened(&log, &idle).unwrap();
    for reader in [&mut reader, &mut again] {
        assert!(read(reader).error.is_none());
    }
    // A checkpoint from before they were read needs them: nobody knows what was in them.
    let error = reopened(&log, &first).map(drop).unwrap_err();
    assert_eq!(gone(&error).0, Scn(12));
    // One that was not closed yet when the checkpoint was taken is needed.
    log.script().purged = 3;
    log.script().archived = 7;
    let error = reopened(&log, &idle).map(drop).unwrap_err();
    assert_eq!(gone(&error).0, Scn(100));
    log.script().purged = 2;
    // While one is open its START is needed, however many files are closed behind it.
    for archived in [8, 10] {
        log.script().archived = archived;
        assert!(read(&mut again).transactions.is_empty());
        assert_eq!(again.progress().next_scn, Scn(300));
    }
    log.script().archived = 11;
    let mut last = reopened(&log, &again.progress()).unwrap();
    for reader in [&mut reader, &mut again, &mut last] {
        assert_eq!(rows(&read(reader)), [(2, vec!["->20=b"])]);
    }
}

/// A call that brings no row at all may be one of a server that shows none for its settings: what it read as empty will not
/// be read again, so they are looked at.
#[test]
fn files_that_seem_empty_are_passed_only_on_a_server_that_logs() {
    let log = ScriptedLog::new(
        vec![start(10, 1), commit(12, 1), hidden(20), hidden(100), hidden(200)],
        vec![2, 1, 1],
    );
    log.script().archived = 3;
    let mut reader = open(&log, 13, 13);
    assert!(read(&mut reader).error.is_none());
    assert_eq!((reader.progress().next_scn, log.script().setups), (Scn(13), 0));
    log.script().archived = 4;
    assert!(read(&mut reader).error.is_none());
    assert_eq!((reader.progress().next_scn, log.script().setups), (Scn(20), 1));
    log.script().unlogged = true;
    log.script().archived = 5;
    let error = read(&mut reader).error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
    assert_eq!(reader.progress().next_scn, Scn(20));
}

#[test]
fn what_expires_before_it_was_read_is_an_alarm() {
    let lines = vec![
        start(10, 1),
        commit(12, 1),
        hidden(20),
        hidden(100),
        hidden(200),
        start(300, 2),
    ];
    let log = ScriptedLog::new(lines, vec![3, 1, 1]);
    log.script().archived = 4;
    let mut reader = open(&log, 0, 0);
    assert!(read(&mut reader).error.is_none());
    log.script().archived = 6;
    log.script().purged = 3;
    let error = read(&mut reader).error.unwrap();
    let (needed, oldest, detail) = gone(&error);
    assert_eq!((needed, oldest), (Scn(12), Some(Scn(300))));
    assert!(detail.contains("file3"), "{detail}");
}

/// An empty result may be one of a server that logs nothing any more.
#[test]
fn a_log_that_seems_empty_for_the_settings_is_an_error() {
    let lines = vec![start(10, 1), commit(12, 1), hidden(20), hidden(100), hidden(200)];
    let log = ScriptedLog::new(lines, vec![3, 1]);
    log.script().archived = 4;
    let mut reader = open(&log, 0, 0);
    assert!(read(&mut reader).error.is_none());
    log.script().archived = 5;
    log.script().purged = 1;
    log.script().unlogged = true;
    let error = read(&mut reader).error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
}

#[test]
fn what_is_open_is_known_with_its_age_and_its_bytes() {
    let mut lines = vec![
        start(10, 1),
        start(20, 2),
        ins(21, 2, 20, "b"),
        commit(30, 1),
        commit(40, 2),
    ];
    lines[1].time = "1970-01-01 00:00:07.5".into();
    let log = ScriptedLog::new(lines, vec![]);
    let mut reader = open(&log, 0, 0);
    let mut figures = |archived| {
        log.script().archived = archived;
        read(&mut reader);
        reader.figures()
    };
    let both = figures(3);
    assert_eq!((both.open_transactions, both.oldest.unwrap().0), (2, Scn(10)));
    assert!(both.buffered_bytes as usize >= insert(20, "b").len());
    let one = figures(4);
    assert_eq!((one.open_transactions, one.oldest), (1, Some((Scn(20), 7_500_000))));
    let none = figures(5);
    assert_eq!((none.open_transactions, none.oldest, none.buffered_bytes), (0, None, 0));
}

/// The windows of one reader that found all its files: at most so many bytes, one file at least; one more when the same
/// came twice; the upper bound never moves back.
pub fn check_windows(calls: &[Vec<String>], bytes: &[u64], limit: u64, what: &str) {
    let numbers = |call: &Vec<String>| -> Vec<u64> {
        let number = |path: &String| path["file".len()..].parse().unwrap();
        call.iter().map(number).collect()
    };
    let mut last: Option<Vec<u64>> = None;
    for (call, &bytes) in calls.iter().zip(bytes) {
        let files = numbers(call);
        assert!(files.windows(2).all(|pair| pair[1] == pair[0] + 1), "{what}: {files:?}");
        let end = *files.last().unwrap();
        let kept = last.as_ref().is_some_and(|last| end == *last.last().unwrap());
        let grown = last
            .as_ref()
            .is_some_and(|last| files[0] == last[0] && end == last.last().unwrap() + 1);
        assert!(
            bytes <= limit || files.len() == 1 || kept || grown,
            "{what}: {bytes} bytes of {limit} in {files:?} behind {last:?}"
        );
        if let Some(last) = &last {
            assert!(
                files[0] >= last[0] && end >= *last.last().unwrap(),
                "{what}: {files:?} behind {last:?}"
            );
        }
        last = Some(files);
    }
}

#[test]
fn windows_grow_while_nothing_comes_and_shrink_behind_what_came() {
    let mut lines = vec![start(10, 1), commit(12, 1)];
    lines.extend((1..6).map(|n| hidden(20 * n)));
    lines.extend([
        start(200, 2),
        commit(201, 2),
        start(300, 3),
        commit(301, 3),
        start(400, 4),
        commit(401, 4),
    ]);
    let log = ScriptedLog::new(lines, vec![2, 1, 1, 1, 1, 1, 2, 2]);
    let settings = Settings {
        window_bytes: 20,
        ..Settings::default()
    };
    read(&mut open_with(&log, at(0, 0), settings));
    let script = log.script();
    check_windows(&script.calls, &script.bytes, 20, "by hand");
    let sizes: Vec<usize> = script.calls.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 1, 2, 1, 2, 1], "{:?}", script.calls);
}
