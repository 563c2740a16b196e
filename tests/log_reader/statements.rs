//! Statements that change a table, and where they stand.

use super::*;

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
