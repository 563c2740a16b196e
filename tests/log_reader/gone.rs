//! Log that is gone, switched, or comes otherwise than it did.

use super::*;

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
