//! What a transaction has taken back.

use super::*;

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
