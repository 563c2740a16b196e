//! Records: their texts, codes, faults and columns.

use super::*;

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
