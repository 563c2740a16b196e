//! Transactions in the order of their commits, whole, and how far the log is read.

use super::*;

#[test]
fn transactions_come_whole_and_in_commit_order() {
    let read = read_lines(vec![
        start(1, 1),
        start(2, 2),
        ins(3, 1, 10, "a"),
        ins(4, 2, 20, "b"),
        commit(5, 2),
        upd(6, 1, 10, "a", "c"),
        start(7, 3),
        ins(8, 3, 30, "lost"),
        rollback(9, 3),
        del(10, 1, 10, "c"),
        commit(11, 1),
        start(12, 4),
        ins(13, 4, 40, "open"),
    ]);
    assert_eq!(
        rows(&read),
        [(2, vec!["->20=b"]), (1, vec!["->10=a", "10=a>10=c", "10=c>-"])]
    );
    assert_eq!(
        read.transactions[0].next_scn, 1,
        "transaction 1 was open at the commit of 2"
    );
    assert_eq!(read.transactions[1].next_scn, 11, "nothing was open then");
}

#[test]
fn a_transaction_across_many_windows_comes_whole() {
    let mut lines = vec![start(1, 1)];
    lines.extend((0..50).map(|n| ins(2 + n, 1, n, "x")));
    lines.push(commit(60, 1));
    let log = ScriptedLog::new(lines, vec![3; 17]);
    let settings = Settings {
        window_bytes: 30,
        ..Settings::default()
    };
    let read = read(&mut open_with(&log, at(0, 0), settings));
    assert_eq!(read.transactions.len(), 1);
    assert_eq!(read.transactions[0].rows.len(), 50);
    assert!(log.script().calls.len() >= 17, "one file a window");
}

#[test]
fn commits_that_share_an_scn_are_numbered_as_they_stand() {
    let lines = vec![
        start(1, 1),
        start(1, 2),
        start(1, 3),
        ins(5, 1, 10, "a"),
        ins(5, 2, 20, "b"),
        commit(5, 2),
        commit(5, 3),
        commit(5, 1),
        start(6, 4),
        ins(6, 4, 40, "d"),
        commit(6, 4),
    ];
    let log = ScriptedLog::new(lines, vec![]);
    let all = read(&mut open(&log, 0, 0));
    let commits: Vec<_> = all.transactions.iter().map(|seen| (seen.xid, seen.commit)).collect();
    assert_eq!(commits, [(2, (5, 0)), (1, (5, 2)), (4, (6, 0))]);
    // A restart between two commits of the scn returns the second alone, under the same number.
    let opening = Opening {
        mine_from: Scn(1),
        position: Position::after(CommitPosition { scn: Scn(5), nth: 0 }),
    };
    let again = read(&mut open_with(&log, opening, Settings::default()));
    assert_eq!(again.transactions, all.transactions[1..]);
}

#[test]
fn commits_that_join_the_last_scn_later_keep_the_numbers_of_those_before() {
    let lines = vec![
        start(1, 1),
        start(1, 2),
        ins(5, 1, 10, "a"),
        ins(5, 2, 20, "b"),
        commit(5, 1),
        commit(5, 2),
    ];
    let log = ScriptedLog::new(lines, vec![]);
    log.script().archived = 5;
    let mut reader = open(&log, 0, 0);
    assert_eq!(read(&mut reader).transactions[0].commit, (5, 0));
    log.script().archived = 6;
    let later = read(&mut reader);
    assert_eq!(rows(&later), [(2, vec!["->20=b"])]);
    assert_eq!(later.transactions[0].commit, (5, 1));
}

#[test]
fn an_empty_result_moves_nothing() {
    let log = ScriptedLog::new(vec![start(1, 1), ins(2, 1, 10, "a"), commit(3, 1)], vec![]);
    let mut reader = open(&log, 0, 0);
    read(&mut reader);
    let before = (reader.progress().position, reader.progress().next_scn);
    log.script().end = Some(500);
    assert!(read(&mut reader).transactions.is_empty());
    assert_eq!((reader.progress().position, reader.progress().next_scn), before);
    assert_eq!(reader.progress().complete_to, Some(Scn(500)));
    log.script().visible = Some(1000);
    assert_eq!(reader.visible_end().unwrap(), Scn(1000));
    for _ in 0..3 {
        assert!(read(&mut reader).transactions.is_empty());
    }
    assert_eq!((reader.progress().position, reader.progress().next_scn), before);
    assert_eq!(log.script().calls.len(), 2, "and nothing is mined for nothing");
    assert_eq!(
        reader.progress().complete_to,
        Some(Scn(500)),
        "the visible end is never taken for what can be mined"
    );
}

#[test]
fn the_log_is_complete_to_the_end_asked_before_the_call_and_not_beyond_a_visible_end_asked_since() {
    let lines = vec![start(1, 1), ins(4, 1, 10, "a"), commit(5, 1), start(5, 2), commit(5, 2)];
    let log = ScriptedLog::new(lines, vec![]);
    log.script().archived = 3;
    let mut reader = open(&log, 0, 0);
    assert_eq!(reader.progress().complete_to, None);
    read(&mut reader);
    assert_eq!(reader.progress().complete_to, Some(Scn(5)));
    // More joins scn 5 and may have been seen by a SELECT.
    log.script().archived = 5;
    assert_eq!(reader.visible_end().unwrap(), Scn(5));
    assert_eq!(reader.progress().complete_to, Some(Scn(4)));
    read(&mut reader);
    assert_eq!(reader.progress().complete_to, Some(Scn(5)));
    assert_eq!(reader.visible_end().unwrap(), Scn(5));
    // Nothing was written since: a look at the files is enough.
    let calls = log.script().calls.len();
    read(&mut reader);
    assert_eq!(reader.progress().complete_to, Some(Scn(5)));
    assert_eq!(log.script().calls.len(), calls);
}

#[test]
fn records_out_of_order_are_brought_into_log_order() {
    // Transactions one after the other in commit order, as a mining call may give them.
    let lines = vec![
        start(1, 1),
        start(2, 2),
        ins(3, 1, 10, "a"),
        ins(4, 2, 20, "b"),
        start(5, 3),
        commit(6, 2),
        ins(7, 3, 30, "c"),
        commit(8, 3),
        commit(9, 1),
    ];
    let log = ScriptedLog::new(lines, vec![]);
    let interleaved = read(&mut open(&log, 0, 0));
    log.script().order = RowOrder::Contiguous;
    let contiguous = read(&mut open(&log, 0, 0));
    assert_eq!(
        rows(&interleaved),
        [(2, vec!["->20=b"]), (3, vec!["->30=c"]), (1, vec!["->10=a"])]
    );
    assert_eq!(interleaved.transactions, contiguous.transactions);
}

#[test]
fn prepared_transactions_stay_open_until_their_second_phase() {
    let read = read_lines(vec![
        start(1, 1),
        ins(2, 1, 10, "a"),
        Line::new(3, 1, 15),
        start(4, 2),
        ins(5, 2, 20, "b"),
        Line::new(6, 2, 15),
        rollback(7, 2),
        start(8, 3),
        ins(8, 3, 30, "c"),
        commit(8, 3),
        Line::new(9, 1, 38),
    ]);
    assert_eq!(rows(&read), [(3, vec!["->30=c"]), (1, vec!["->10=a"])]);
    assert_eq!(read.transactions[0].next_scn, 1);
}

#[test]
fn a_large_transaction_goes_out_in_fragments() {
    let mut lines = vec![start(1, 1)];
    lines.extend((0..25).map(|n| ins(2 + n, 1, n, "x")));
    // The last ten do not go out: the last fragment is known without them.
    lines.extend((15..25).rev().map(|n| del(52 - n, 1, n, "x").marked()));
    lines.push(commit(70, 1));
    let log = ScriptedLog::new(lines, vec![]);
    let settings = |rows, bytes| Settings {
        fragment: FragmentLimit { rows, bytes },
        ..Settings::default()
    };
    let by_rows = read(&mut open_with(&log, at(0, 0), settings(5, 1 << 20)));
    assert_eq!(by_rows.fragments, [(1, 0, false, 5), (1, 1, false, 5), (1, 2, true, 5)]);
    let by_bytes = read(&mut open_with(&log, at(0, 0), settings(100, 1)));
    assert_eq!(by_bytes.fragments.len(), 15);
    assert_eq!(by_rows.transactions, by_bytes.transactions);
}

#[test]
fn any_schedule_in_any_windows_gives_the_same_transactions() {
    let seeds = std::env::var("SEEDS").map_or(3000, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        random::run(seed);
    }
}

#[test]
fn mining_calls_and_the_bytes_of_their_files_are_counted() {
    let mut lines = vec![start(1, 1), ins(2, 1, 10, "a")];
    for n in 0..30 {
        lines.extend([start(10 + n, 100 + n), commit(10 + n, 100 + n)]);
    }
    lines.extend([upd(50, 1, 10, "a", "b"), commit(51, 1)]);
    let log = ScriptedLog::new(lines, vec![5; 12]);
    let settings = Settings {
        window_bytes: 100,
        ..Settings::default()
    };
    // Beside the windows, those that look for a START further back.
    let mut reader = open_with(&log, at(35, 35), settings);
    assert_eq!(reader.figures().mining_calls, 0);
    read(&mut reader);
    let script = log.script();
    let calls = &script.calls;
    assert!(calls.len() >= 5, "{calls:?}");
    assert_eq!(reader.figures().mining_calls, calls.len() as u64);
    let bytes = |file: &String| if file == "file12" { 40 } else { 50 };
    let bytes: u64 = calls.iter().flatten().map(bytes).sum();
    assert_eq!(reader.figures().mined_bytes, bytes);
}
