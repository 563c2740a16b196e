//! The log reader over scripted logs: every rule of reading has a test by its name, and a random property over all.

mod files;
mod max_age;
mod openings;
#[path = "../support/plain_table.rs"]
mod plain_table;
mod random;
#[path = "../support/scripted_log.rs"]
mod scripted_log;
mod slow;
mod spill;
mod unreadable;
#[allow(dead_code)]
#[path = "../support/warnings.rs"]
mod warnings;

use std::sync::Arc;
use std::time::Duration;

use scripted_log::{Line, RowOrder, ScriptedLog};
use tidemark::catalog::change::ChangeKind;
use tidemark::error::{Error, ErrorKind};
use tidemark::log::OnFault;
use tidemark::log::logminer::changes::CapturedTable;
use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::reader::{LogMinerReader, Settings};
use tidemark::log::undo::Form;
use tidemark::log::{LogEvent, LogReader, Opening, Progress};
use tidemark::position::{CommitPosition, Place, Position, Scn};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::zone::Zone;

fn table() -> CapturedTable {
    plain_table::table(100)
}

fn insert(id: u64, value: &str) -> String {
    format!(r#"INSERT INTO "S"."T"("ID", "V") VALUES({id}, '{value}')"#)
}

fn update(id: u64, old: &str, new: &str) -> String {
    format!(r#"UPDATE "S"."T" SET "V" = '{new}' WHERE "ID" = {id} AND "V" = '{old}'"#)
}

fn delete(id: u64, value: &str) -> String {
    format!(r#"DELETE FROM "S"."T" WHERE "ID" = {id} AND "V" = '{value}'"#)
}

fn start(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 6)
}

fn commit(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 7)
}

fn rollback(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 36)
}

fn ins(scn: u64, xid: u64, id: u64, value: &str) -> Line {
    Line::dml(scn, xid, 1, &format!("R{id}"), &insert(id, value))
}

fn upd(scn: u64, xid: u64, id: u64, old: &str, new: &str) -> Line {
    Line::dml(scn, xid, 3, &format!("R{id}"), &update(id, old, new))
}

fn del(scn: u64, xid: u64, id: u64, value: &str) -> Line {
    Line::dml(scn, xid, 2, &format!("R{id}"), &delete(id, value))
}

/// A transaction as a consumer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    xid: u64,
    commit: (u64, u32),
    /// `id=value` of the images, joined by `>`.
    rows: Vec<String>,
    places: Vec<String>,
    next_scn: u64,
}

fn image(values: &ValueBuffer, image: Option<Image>) -> String {
    let Some(image) = image else {
        return "-".into();
    };
    let id = match values.get(image, 0) {
        Value::Number(digits) => String::from_utf8(digits.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    match values.get(image, 1) {
        Value::Text(text) => format!("{id}={}", std::str::from_utf8(text).unwrap()),
        Value::Null => format!("{id}=NULL"),
        Value::Unavailable => format!("{id}=?"),
        other => panic!("{other:?}"),
    }
}

fn place(place: &Place) -> String {
    let rs_id = String::from_utf8_lossy(place.rs_id.as_bytes()).into_owned();
    format!("{}/{}/{rs_id}/{}/{}", place.scn, place.table, place.ssn, place.nth)
}

#[derive(Debug, Default)]
struct Read {
    transactions: Vec<Seen>,
    schemas: Vec<(usize, String, bool)>,
    fragments: Vec<(u64, u32, bool, usize)>,
    error: Option<Error>,
}

/// Polls until nothing more comes.
fn read(reader: &mut dyn LogReader) -> Read {
    let mut out = Read::default();
    let mut open: Option<Seen> = None;
    let mut position = reader.progress().position;
    loop {
        let event = match reader.poll() {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                out.error = Some(error);
                break;
            }
        };
        assert!(reader.progress().position >= position, "the position never moves back");
        position = reader.progress().position;
        match event {
            LogEvent::Fragment(fragment) => {
                let head = fragment.head;
                assert!(
                    fragment.last || !position.includes(head.commit),
                    "a transaction is not out before its last fragment"
                );
                assert!(
                    position.includes(head.commit) || reader.progress().next_scn <= head.start,
                    "what is half out is still needed"
                );
                let seen = open.get_or_insert_with(|| Seen {
                    xid: head.xid.0,
                    commit: (head.commit.scn.0, head.commit.nth),
                    rows: Vec::new(),
                    places: Vec::new(),
                    next_scn: head.next_scn.0,
                });
                assert_eq!(seen.xid, head.xid.0, "a transaction goes out whole");
                for row in &fragment.changes.rows {
                    let values = &fragment.changes.values;
                    seen.rows
                        .push(format!("{}>{}", image(values, row.before), image(values, row.after)));
                    seen.places.push(place(&row.place));
                }
                out.fragments
                    .push((head.xid.0, fragment.number, fragment.last, fragment.changes.rows.len()));
                if fragment.last {
                    out.transactions.extend(open.take());
                }
            }
            LogEvent::Schema(event) => {
                let before = out.transactions.len();
                let truncates = event.change.kind == ChangeKind::Truncate;
                out.schemas.push((before, event.change.statement, truncates));
            }
            LogEvent::Progress(progress) => assert_eq!(progress, reader.progress()),
        }
    }
    assert!(open.is_none() || out.error.is_some(), "a transaction without an end");
    out
}

fn at(mine_from: u64, position: u64) -> Opening {
    Opening {
        mine_from: Scn(mine_from),
        position: Position::before(Scn(position)),
    }
}

fn open_with(log: &ScriptedLog, opening: Opening, settings: Settings) -> LogMinerReader<ScriptedLog> {
    LogMinerReader::open(log.clone(), vec![table()], settings, opening).unwrap()
}

fn open(log: &ScriptedLog, mine_from: u64, position: u64) -> LogMinerReader<ScriptedLog> {
    open_with(log, at(mine_from, position), Settings::default())
}

fn read_lines(lines: Vec<Line>) -> Read {
    read(&mut open(&ScriptedLog::new(lines, vec![]), 0, 0))
}

fn rows(read: &Read) -> Vec<(u64, Vec<&str>)> {
    assert!(read.error.is_none(), "{:?}", read.error);
    let transactions = read.transactions.iter();
    transactions
        .map(|seen| (seen.xid, seen.rows.iter().map(String::as_str).collect()))
        .collect()
}

fn failure(lines: Vec<Line>) -> Error {
    read_lines(lines).error.expect("the log must be refused")
}

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
fn a_savepoint_rollback_undoes_the_newest_change_of_its_row_once() {
    // Field report F04: update twice, take both back, update again; then take back twice on one row.
    let read = read_lines(vec![
        start(1, 1),
        ins(2, 1, 10, "1"),
        upd(3, 1, 10, "1", "2"),
        upd(4, 1, 10, "2", "3"),
        upd(5, 1, 10, "3", "2").marked(),
        upd(6, 1, 10, "2", "1").marked(),
        upd(7, 1, 10, "1", "4"),
        commit(8, 1),
        start(9, 2),
        ins(10, 2, 20, "b"),
        upd(11, 2, 20, "b", "big"),
        upd(12, 2, 20, "big", "b").marked(),
        upd(13, 2, 20, "b", "c"),
        upd(14, 2, 20, "c", "b").marked(),
        commit(15, 2),
        start(16, 3),
        ins(17, 3, 30, "x"),
        del(18, 3, 30, "x").marked(),
        commit(19, 3),
    ]);
    assert_eq!(rows(&read), [(1, vec!["->10=1", "10=1>10=4"]), (2, vec!["->20=b"])]);
}

#[test]
fn flagged_records_are_dropped_once_the_form_is_known() {
    let lines = |first: Vec<Line>| {
        let mut lines = first;
        lines.extend([
            start(11, 1),
            ins(12, 1, 10, "1"),
            upd(13, 1, 10, "1", "2").marked(),
            upd(14, 1, 10, "1", "3").marked(),
            upd(15, 1, 10, "1", "4"),
            commit(16, 1),
        ]);
        lines
    };
    let expected = [(1, vec!["->10=1", "10=1>10=4"])];
    // Nothing but the transaction itself: an update cannot take an insert back.
    assert_eq!(rows(&read_lines(lines(vec![]))), expected);
    // A rollback whose changes are all marked.
    let rolled_back = vec![start(1, 9), ins(2, 9, 90, "x").marked(), rollback(3, 9)];
    assert_eq!(rows(&read_lines(lines(rolled_back))), expected);
    // An insert that a marked delete did not take back: only the known form can tell.
    let mut ambiguous = lines(vec![start(1, 9), ins(2, 9, 90, "x").marked(), rollback(3, 9)]);
    ambiguous.extend([
        start(20, 2),
        ins(21, 2, 20, "a"),
        del(22, 2, 20, "a").marked(),
        commit(23, 2),
    ]);
    assert_eq!(rows(&read_lines(ambiguous))[1], (2, vec!["->20=a"]));
}

#[test]
fn marks_in_two_forms_are_an_error() {
    let error = failure(vec![
        start(1, 1),
        ins(2, 1, 10, "a"),
        upd(3, 1, 10, "a", "b"),
        upd(4, 1, 10, "b", "a").marked(),
        commit(5, 1),
        start(6, 2),
        upd(7, 2, 20, "a", "b").marked(),
        commit(8, 2),
    ]);
    assert!(matches!(error.kind(), ErrorKind::CorruptLog(_)), "{error}");
}

#[test]
fn a_text_cut_inside_a_character_is_joined_as_bytes() {
    let text = insert(1, "大海'' and more");
    for cut in 1..text.len() {
        let mut head = Line::dml(2, 1, 1, "R1", "");
        head.redo = Some(text.as_bytes()[..cut].to_vec());
        head.continued = true;
        let mut tail = head.clone();
        tail.redo = Some(text.as_bytes()[cut..].to_vec());
        tail.continued = false;
        tail.ssn = 1;
        let read = read_lines(vec![start(1, 1), head, tail, commit(3, 1)]);
        assert_eq!(rows(&read), [(1, vec!["->1=大海' and more"])]);
    }
}

#[test]
fn a_text_whose_last_piece_is_not_written_yet_is_read_again_whole() {
    let text = insert(1, "abc");
    let mut head = Line::dml(2, 1, 1, "R1", &text[..20]);
    head.continued = true;
    let mut tail = Line::dml(2, 1, 1, "R1", &text[20..]);
    tail.ssn = 1;
    let log = ScriptedLog::new(vec![start(1, 1), head, tail, commit(3, 1)], vec![]);
    log.script().archived = 2;
    let mut reader = open(&log, 0, 0);
    assert!(read(&mut reader).transactions.is_empty());
    log.script().archived = 4;
    assert_eq!(rows(&read(&mut reader)), [(1, vec!["->1=abc"])]);
}

#[test]
fn a_text_that_is_not_continued_is_an_error() {
    let mut head = Line::dml(2, 1, 1, "R1", "INSERT INTO");
    head.continued = true;
    let error = failure(vec![start(1, 1), head, commit(3, 1)]);
    assert!(matches!(error.kind(), ErrorKind::CorruptLog(_)), "{error}");
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
fn every_operation_code_has_a_rule_and_an_unknown_one_is_an_error() {
    for code in [13, 14, 37] {
        let read = read_lines(vec![
            start(1, 1),
            Line::dml(2, 1, code, "", "x"),
            ins(3, 1, 10, "a"),
            commit(4, 1),
        ]);
        assert_eq!(
            rows(&read),
            [(1, vec!["->10=a"])],
            "code {code} says nothing about a row"
        );
    }
    for code in [0, 8, 9, 10, 16, 25, 34, 39, 254, -1] {
        let error = failure(vec![start(1, 1), Line::new(2, 1, code), commit(3, 1)]);
        assert!(error.to_string().contains(&format!("code {code} ")), "{error}");
    }
    for code in [4, 255] {
        let error = failure(vec![start(1, 1), Line::dml(2, 1, code, "", ""), commit(3, 1)]);
        assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
        let mut elsewhere = Line::dml(2, 1, code, "", "");
        elsewhere.table = "OTHER";
        assert!(read_lines(vec![start(1, 1), elsewhere, commit(3, 1)]).error.is_none());
    }
}

#[test]
fn faults_are_named_and_only_matter_if_their_transaction_commits() {
    type Change = fn(&mut Line);
    let faulty = |change: Change| {
        let mut line = ins(2, 1, 10, "a");
        change(&mut line);
        line
    };
    let cases: [(&str, Change); 7] = [
        ("TM-3005", |line| line.status = 2),
        ("TM-3005", |line| line.redo = None),
        ("TM-3005", |line| line.object = 8),
        ("TM-3005", |line| {
            line.redo = Some(br#"INSERT INTO "S"."T"("COL 1", "COL 2") VALUES(0xc102, 0x61)"#.to_vec())
        }),
        ("TM-3005", |line| {
            line.redo = Some(br#"INSERT INTO "S"."U"("ID", "V") VALUES(1, 'a')"#.to_vec())
        }),
        ("TM-3007", |line| {
            line.redo = Some(br#"INSERT INTO "S"."T"("ID", "V") VALUES(1, 'a"#.to_vec())
        }),
        ("TM-3006", |line| {
            line.code = 3;
            line.redo = Some(br#"UPDATE "S"."T" SET "V" = 'b' WHERE "ID" = 1"#.to_vec());
        }),
    ];
    for (code, change) in cases {
        let error = failure(vec![start(1, 1), faulty(change), commit(3, 1)]);
        let text = error.to_string();
        assert!(
            text.contains(code) && text.contains("S.T") && text.contains("scn 2"),
            "{text}"
        );
        assert!(!error.is_retryable());
        assert!(
            read_lines(vec![start(1, 1), faulty(change), rollback(3, 1)])
                .error
                .is_none()
        );
        assert!(read_lines(vec![start(1, 1), faulty(change)]).error.is_none());
    }
    for status in [1343, 1234, 99] {
        let mut line = Line::new(2, 1, 6);
        line.status = status;
        let text = failure(vec![line]).to_string();
        assert!(text.contains("TM-3004") && text.contains(&status.to_string()), "{text}");
    }
}

#[test]
fn records_are_skipped_only_where_the_job_says_so_and_are_counted() {
    let mut mismatched = ins(2, 1, 10, "a");
    mismatched.status = 2;
    let mut corrupt = ins(3, 1, 11, "a");
    corrupt.status = 1343;
    let log = ScriptedLog::new(
        vec![start(1, 1), mismatched, corrupt, ins(4, 1, 12, "c"), commit(5, 1)],
        vec![],
    );
    let settings = Settings {
        on_corruption: OnFault::Skip,
        on_mismatch: OnFault::Skip,
        ..Settings::default()
    };
    let mut reader = open_with(&log, at(0, 0), settings);
    assert_eq!(rows(&read(&mut reader)), [(1, vec!["->12=c"])]);
    assert_eq!((reader.skipped().mismatched, reader.skipped().corrupt), (1, 1));
}

#[test]
fn columns_go_by_name_and_new_ones_shift_nothing() {
    let mut line = ins(2, 1, 10, "a");
    line.redo = Some(br#"INSERT INTO "S"."T"("NEW", "V", "ID") VALUES(NULL, 'a', 10)"#.to_vec());
    let mut change = upd(3, 1, 10, "a", "b");
    change.redo =
        Some(br#"UPDATE "S"."T" SET "NEW" = 5, "V" = NULL WHERE "NEW" IS NULL AND "V" = 'a' AND "ID" = 10"#.to_vec());
    let read = read_lines(vec![start(1, 1), line, change, commit(4, 1)]);
    assert_eq!(rows(&read), [(1, vec!["->10=a", "10=a>10=NULL"])]);
}

#[test]
fn a_large_value_out_of_its_row_is_unavailable_and_not_null() {
    let mut line = ins(2, 1, 10, "a");
    line.redo = Some(br#"INSERT INTO "S"."T"("ID", "V") VALUES(10, OUT_CLOB)"#.to_vec());
    assert_eq!(
        rows(&read_lines(vec![start(1, 1), line, commit(4, 1)])),
        [(1, vec!["->10=?"])]
    );
}

#[test]
fn only_wanted_columns_are_taken() {
    let log = ScriptedLog::new(vec![start(1, 1), upd(2, 1, 10, "a", "b"), commit(3, 1)], vec![]);
    let captured = CapturedTable {
        wanted: Some(vec![true, false]),
        ..table()
    };
    let mut reader = LogMinerReader::open(log, vec![captured], Settings::default(), at(0, 0)).unwrap();
    let event = reader.poll().unwrap();
    let Some(LogEvent::Fragment(fragment)) = event else {
        panic!("{event:?}");
    };
    let change = &fragment.changes.rows[0];
    for image in [change.before.unwrap(), change.after.unwrap()] {
        assert_eq!(fragment.changes.values.get(image, 0), Value::Number(b"10"));
        assert_eq!(fragment.changes.values.get(image, 1), Value::Absent);
    }
}

#[test]
fn a_schema_change_stands_between_the_rows_around_it() {
    let mut ddl = Line::dml(3, 2, 5, "", "ALTER TABLE T ADD C INT");
    ddl.row_id.clear();
    let mut truncate = ddl.clone();
    truncate.redo = Some(b" truncate table S.T".to_vec());
    (truncate.scn, truncate.xid) = (8, 3);
    let mut undone = ddl.clone();
    (undone.scn, undone.xid) = (10, 4);
    let read = read_lines(vec![
        start(1, 1),
        ins(2, 1, 10, "a"),
        start(3, 2),
        ddl,
        commit(4, 2),
        commit(5, 1),
        start(7, 3),
        ins(7, 3, 30, "c"),
        truncate,
        ins(9, 3, 31, "d"),
        start(9, 4),
        undone,
        rollback(10, 4),
        commit(11, 3),
    ]);
    // A transaction of nothing else has an end too, so that what is out of it can be said.
    let expected = [(2, vec![]), (1, vec!["->10=a"]), (3, vec!["->30=c", "->31=d"])];
    assert_eq!(rows(&read), expected);
    assert_eq!(
        read.schemas,
        [
            (0, "ALTER TABLE T ADD C INT".into(), false),
            (2, " truncate table S.T".into(), true)
        ]
    );
    assert_eq!(read.fragments[2..], [(3, 0, false, 1), (3, 1, true, 1)]);
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
fn a_file_that_has_gone_is_looked_up_again_once() {
    let log = ScriptedLog::new(vec![start(1, 1), ins(2, 1, 10, "a"), commit(3, 1)], vec![]);
    log.script().vanish = 1;
    assert_eq!(rows(&read(&mut open(&log, 0, 0))), [(1, vec!["->10=a"])]);
    log.script().vanish = 2;
    let error = read(&mut open(&log, 0, 0)).error.unwrap();
    assert!(
        error.to_string().contains("-4546") && error.to_string().contains("mining the log"),
        "{error}"
    );
}

#[test]
fn a_log_that_is_gone_is_refused_at_once() {
    let lines: Vec<Line> = (1..=20).map(|n| start(n, n)).collect();
    let log = ScriptedLog::new(lines, vec![5; 3]);
    log.script().purged = 2;
    let opened = LogMinerReader::open(log.clone(), vec![table()], Settings::default(), at(9, 12));
    assert!(matches!(
        opened.err().unwrap().kind(),
        ErrorKind::LogGone {
            needed: Scn(9),
            oldest: Some(Scn(11)),
            ..
        }
    ));
    let mut reader = open(&log, 12, 12);
    reader.check_kept(Scn(10)).unwrap();
    assert!(reader.check_kept(Scn(9)).is_err());
}

#[test]
fn the_log_is_switched_only_where_it_may_be() {
    let log = ScriptedLog::new(vec![start(1, 1), commit(2, 1)], vec![]);
    log.script().archived = 1;
    assert!(!open(&log, 0, 0).push().unwrap());
    assert_eq!(log.script().archived, 1);
    let settings = Settings {
        may_switch: true,
        ..Settings::default()
    };
    assert!(open_with(&log, at(0, 0), settings).push().unwrap());
    assert_eq!(log.script().archived, 2);
}

/// A transaction whose texts were made with a younger dictionary waits for the statement that altered the table. An idle
/// database may never archive it by itself.
#[test]
fn statements_that_are_not_archived_are_waited_for_switched_for_and_then_an_error() {
    let altered = |version: u32| {
        let mut table = (*table().table).clone();
        table.version = version;
        table
    };
    let log_of = || {
        let mut row = ins(2, 1, 10, "a");
        row.version = 1;
        let mut ddl = Line::dml(5, 2, 5, "", r#"ALTER TABLE "S"."T" ADD "C" INT"#);
        (ddl.row_id, ddl.version) = (String::new(), 2);
        let lines = vec![start(1, 1), row, commit(3, 1), start(4, 2), ddl, commit(6, 2)];
        let log = ScriptedLog::new(lines, vec![]);
        let mut script = log.script();
        (script.archived, script.visible, script.today) = (3, Some(6), Some(altered(2)));
        drop(script);
        log
    };
    let open = |log: &ScriptedLog, may_switch: bool| {
        let tables = vec![CapturedTable::whole(Arc::new(altered(1)))];
        let settings = Settings {
            log_end_patience: Duration::ZERO,
            may_switch,
            ..Settings::default()
        };
        LogMinerReader::open(log.clone(), tables, settings, at(0, 0)).unwrap()
    };
    let next = |reader: &mut LogMinerReader<ScriptedLog>| loop {
        match reader.poll() {
            Ok(None) => {}
            Ok(Some(LogEvent::Progress(_))) => {}
            other => break other,
        }
    };
    let is_the_row = |event: Result<Option<LogEvent>, Error>| match event.unwrap().unwrap() {
        LogEvent::Fragment(fragment) => assert_eq!(fragment.head.xid.0, 1),
        other => panic!("{other:?}"),
    };
    // It may not be switched.
    let error = next(&mut open(&log_of(), false)).unwrap_err();
    let (needed, reached) = match error.kind() {
        ErrorKind::LogBehind { needed, reached, .. } => (needed.0, reached.0),
        _ => panic!("{error}"),
    };
    assert_eq!((needed, reached), (6, 3));
    assert!(
        error.is_retryable() && error.to_string().contains("statements"),
        "{error}"
    );
    // It may.
    let log = log_of();
    is_the_row(next(&mut open(&log, true)));
    assert_eq!(log.script().archived, 6);
    // As long as the end moves nothing is done about it.
    let log = log_of();
    let mut reader = open(&log, false);
    log.script().growth = 1;
    is_the_row(next(&mut reader));
    // A switch that does not help is one.
    let log = log_of();
    log.script().lines.truncate(3);
    let error = next(&mut open(&log, true)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LogBehind { .. }), "{error}");
}

#[test]
fn a_log_that_does_not_return_what_it_had_is_an_error() {
    let log = ScriptedLog::new(vec![start(1, 1), commit(5, 1), start(5, 2), commit(6, 2)], vec![]);
    log.script().archived = 3;
    let mut reader = open(&log, 0, 0);
    read(&mut reader);
    log.script().lines.remove(1);
    let error = read(&mut reader).error.unwrap();
    assert!(error.to_string().contains("did not come again"), "{error}");
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
