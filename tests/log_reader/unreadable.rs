//! Rows of the view that nobody can read: an error that says which, or passed over and counted; what follows is right.

use tidemark::error::ErrorKind;
use tidemark::log::OnFault;
use tidemark::log::logminer::faults::Skipped;
use tidemark::log::logminer::reader::Settings;

use crate::scripted_log::{Line, ScriptedLog};
use crate::{Read, at, commit, ins, open_with, read, rows, start, upd, warnings};

fn skip() -> Settings {
    Settings {
        on_corruption: OnFault::Skip,
        on_mismatch: OnFault::Skip,
        ..Settings::default()
    }
}

/// Mismatches as told, and what is corrupt or cannot be read the other way.
fn skip_of_the_other(on_mismatch: OnFault) -> Settings {
    Settings {
        on_mismatch,
        on_corruption: match on_mismatch {
            OnFault::Fail => OnFault::Skip,
            OnFault::Skip => OnFault::Fail,
        },
        ..Settings::default()
    }
}

/// A transaction with this row between two good ones, and a transaction behind it.
fn around(line: Line) -> ScriptedLog {
    ScriptedLog::new(
        vec![
            start(1, 41),
            ins(2, 41, 1, "first"),
            line,
            upd(4, 41, 1, "first", "second"),
            commit(5, 41),
            start(6, 42),
            ins(7, 42, 3, "last"),
            commit(8, 42),
        ],
        vec![],
    )
}

fn text(redo: Option<Vec<u8>>) -> Line {
    let mut line = ins(3, 41, 2, "");
    line.redo = redo;
    line
}

fn words(redo: &str) -> Line {
    text(Some(redo.into()))
}

/// What is read, and what was passed over.
fn outcome(line: &Line, settings: Settings) -> (Read, Skipped) {
    let mut reader = open_with(&around(line.clone()), at(0, 0), settings);
    let read = read(&mut reader);
    (read, reader.skipped())
}

/// Passed over: everything else comes, and it is counted and warned of, once, with where it stands.
fn assert_skipped(line: &Line, settings: Settings, code: &str, (mismatched, corrupt): (u64, u64)) {
    let ((read, skipped), warned) = warnings::of(|| outcome(line, settings));
    assert!(read.error.is_none(), "{:?}", read.error);
    let good = vec!["->1=first", "1=first>1=second"];
    assert_eq!(rows(&read), [(41, good), (42, vec!["->3=last"])], "{line:?}");
    assert_eq!((skipped.mismatched, skipped.corrupt), (mismatched, corrupt), "{line:?}");
    assert_eq!(warned.len(), 1, "{warned:?}");
    for part in [code, "S.T", "scn 3", "transaction 41", "is skipped, 1 by now"] {
        assert!(warned[0].contains(part), "{part} is missing in {}", warned[0]);
    }
    assert!(warned[0].len() < 1000, "{} bytes of warning", warned[0].len());
}

fn assert_named(line: &Line, settings: Settings, code: &str, shown: &str) {
    let (read, _) = outcome(line, settings);
    assert_eq!(read.transactions.len(), 0, "{:?}", read.transactions);
    let error = read.error.expect("it must not be passed over");
    assert!(!error.is_retryable(), "{error}");
    let message = error.to_string();
    for part in [code, "S.T", "scn 3", "transaction 41", shown] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    assert!(message.len() < 1000, "{} bytes of message", message.len());
}

/// F19
#[test]
fn a_row_without_a_text_or_without_a_meaning_is_an_error_by_name_or_is_skipped_and_counted() {
    let with_status = |status| {
        let mut line = ins(3, 41, 2, "x");
        line.status = status;
        line
    };
    let mut unsupported = words("Unsupported");
    unsupported.code = 255;
    for (line, shown) in [
        (text(None), ""),
        (text(Some(Vec::new())), "empty redo text"),
        (with_status(2), "STATUS 2"),
        (unsupported, "UNSUPPORTED"),
        (
            words(r#"INSERT INTO "S"."OTHER"("ID", "V") VALUES(2, 'x')"#),
            "INSERT INTO \"S\".\"OTHER\"",
        ),
        (words(r#"INSERT INTO "S"."T"("ID") VALUES(2)"#), "'V'"),
    ] {
        assert_named(&line, Settings::default(), "TM-3005", shown);
        assert_named(&line, skip_of_the_other(OnFault::Fail), "TM-3005", shown);
        assert_skipped(&line, skip_of_the_other(OnFault::Skip), "TM-3005", (1, 0));
        assert_skipped(&line, skip(), "TM-3005", (1, 0));
    }
}

/// F19
#[test]
fn a_row_of_a_corrupt_block_is_an_error_by_name_or_is_skipped_and_counted() {
    for status in [1343, 1234, 99] {
        let mut line = ins(3, 41, 2, "x");
        line.status = status;
        assert_named(&line, Settings::default(), "TM-3004", &status.to_string());
        assert_named(&line, skip_of_the_other(OnFault::Skip), "TM-3004", "");
        assert_skipped(&line, skip_of_the_other(OnFault::Fail), "TM-3004", (0, 1));
    }
}

/// F19: what is not in the grammar is never guessed, and never passed over unless the job says so.
#[test]
fn a_text_that_cannot_be_read_is_an_error_by_name_or_is_skipped_and_counted() {
    let insert = |value: &str| format!(r#"INSERT INTO "S"."T"("ID", "V") VALUES(2, {value})"#);
    let long = "x".repeat(4 << 20);
    let mut texts: Vec<Vec<u8>> = [
        insert("'x"),
        insert("HEXTORAW('abc"),
        insert("UNISTR('\\12G')"),
        insert("UNISTR('\\123')"),
        insert("UNHEARD_OF('x')"),
        insert(&format!("'{long}")),
        format!("{} trailing", insert("'x'")),
        "Unsupported".into(),
        long.clone(),
    ]
    .map(String::into_bytes)
    .into();
    texts.push(b"INSERT INTO \"S\".\"T\"(\"ID\", \"V\xff\xfe".to_vec());
    texts.push(b"\x80\xff\xfe".to_vec());
    for text_of in texts {
        let shown = String::from_utf8_lossy(&text_of[..text_of.len().min(3)]).into_owned();
        let line = text(Some(text_of));
        assert_named(&line, Settings::default(), "TM-3007", &shown);
        assert_named(&line, skip_of_the_other(OnFault::Skip), "TM-3007", &shown);
        assert_skipped(&line, skip_of_the_other(OnFault::Fail), "TM-3007", (0, 1));
    }
}

/// F19: every byte of a text is a place at which it may be cut, inside a character too.
#[test]
fn a_text_cut_at_any_byte_is_an_error_and_no_panic() {
    let whole = r#"INSERT INTO "S"."T"("ID", "V") VALUES(2, '水''🌊')"#.as_bytes();
    for end in 1..whole.len() {
        let (read, _) = outcome(&text(Some(whole[..end].to_vec())), Settings::default());
        let error = read.error.expect("half a text is no row");
        assert!(
            matches!(error.kind(), ErrorKind::Redo(_) | ErrorKind::DictionaryMismatch(_)),
            "{end}: {error}"
        );
    }
    // Pieces may be cut there as well, and make one text again.
    for end in 1..whole.len() {
        let (mut head, mut tail) = (text(Some(whole[..end].to_vec())), text(Some(whole[end..].to_vec())));
        head.continued = true;
        tail.ssn = head.ssn;
        let log = ScriptedLog::new(vec![start(1, 41), head, tail, commit(5, 41)], vec![]);
        let read = read(&mut open_with(&log, at(0, 0), Settings::default()));
        assert_eq!(rows(&read), [(41, vec!["->2=水'🌊"])], "cut at {end}");
    }
}

/// F19
#[test]
fn a_text_of_some_megabytes_is_a_row_like_any_other() {
    let value = "水".repeat(2 << 20);
    let (read, skipped) = outcome(&ins(3, 41, 2, &value), Settings::default());
    let row = format!("->2={value}");
    let seen = rows(&read);
    assert!(seen[0].1[1] == row, "{} bytes", seen[0].1[1].len());
    assert_eq!(seen[1], (42, vec!["->3=last"]));
    assert_eq!(skipped.corrupt + skipped.mismatched, 0);
}
