//! Every text that goes to the server, letter by letter.

use std::time::Duration;

use super::*;
use crate::dialect::mining::{Mining, MiningFault, Operation};
use crate::dialect::page::{Bounds, KeyColumn, PageRequest, TableRows, count, cut, page};
use crate::error::ErrorKind;
use crate::odbc::Secret;
use crate::position::{Scn, Xid};

fn orders() -> TableName {
    TableName {
        schema: "BIZ".into(),
        name: "It's".into(),
    }
}

fn literal(literal: Literal) -> String {
    let mut out = String::new();
    Dameng.push_literal(&literal, &mut out);
    out
}

#[test]
fn connections_take_the_vendors_driver_and_every_odbc_option_wins() {
    let mut endpoint = Endpoint {
        hostname: "db".into(),
        port: 5236,
        database: None,
        username: "U".into(),
        password: Secret::new("P"),
        connect_timeout: Duration::from_secs(30),
        statement_timeout: None,
        driver: None,
        attributes: Vec::new(),
    };
    let settings = Dameng.connection(&endpoint);
    assert_eq!(settings.driver, "DM8 ODBC DRIVER");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        settings.attributes,
        [
            pair("SERVER", "db"),
            pair("TCP_PORT", "5236"),
            pair("PORT", "5236"),
            pair("CHARACTER_CODE", "PG_UTF8")
        ]
    );
    endpoint.driver = Some("Another".into());
    endpoint.attributes = vec![pair("character_code", "PG_GB18030")];
    let settings = Dameng.connection(&endpoint);
    assert_eq!(settings.driver, "Another");
    assert_eq!(settings.attributes.last(), Some(&pair("character_code", "PG_GB18030")));
}

#[test]
fn names_and_literals() {
    let mut out = String::new();
    Dameng.push_name("a\"B", &mut out);
    assert_eq!(out, "\"a\"\"B\"");
    assert_eq!(literal(Literal::Number("-12.50".into())), "-12.50");
    assert_eq!(literal(Literal::Text("it's".into())), "'it''s'");
    assert_eq!(literal(Literal::Bytes(vec![0, 0xab])), "0x00AB");
    assert_eq!(literal(Literal::Boolean(true)), "1");
    assert_eq!(literal(Literal::Date("2026-01-02".into())), "DATE'2026-01-02'");
    assert_eq!(literal(Literal::Time("10:20:30".into())), "TIME'10:20:30'");
    assert_eq!(
        literal(Literal::Timestamp("2026-01-02 10:20:30.5".into())),
        "TIMESTAMP'2026-01-02 10:20:30.5'"
    );
    assert_eq!(
        literal(Literal::TimestampZoned("2026-01-02 10:20:30 +08:00".into())),
        "TIMESTAMP'2026-01-02 10:20:30 +08:00'"
    );
}

#[test]
fn the_dictionary_is_asked_for_one_exact_table() {
    assert_eq!(
        Dameng.table(&orders()).sql,
        r#"SELECT S."NAME", T."NAME", T."ID", T."INFO4" FROM "SYS"."SYSOBJECTS" S, "SYS"."SYSOBJECTS" T WHERE S."TYPE$" = 'SCH' AND T."SCHID" = S."ID" AND T."TYPE$" = 'SCHOBJ' AND T."SUBTYPE$" = 'UTAB' AND S."NAME" = 'BIZ' AND T."NAME" = 'It''s'"#
    );
    assert_eq!(
        Dameng.versions(&[7, 1_000_000]).sql,
        r#"SELECT "ID", "INFO4" FROM "SYS"."SYSOBJECTS" WHERE "TYPE$" = 'SCHOBJ' AND "SUBTYPE$" = 'UTAB' AND "ID" IN (7, 1000000)"#
    );
    assert_eq!(
        Dameng.columns(&orders()).sql,
        r#"SELECT "COLUMN_NAME", "DATA_TYPE", "DATA_LENGTH", "DATA_PRECISION", "DATA_SCALE", "NULLABLE" FROM "SYS"."ALL_TAB_COLUMNS" WHERE "OWNER" = 'BIZ' AND "TABLE_NAME" = 'It''s' ORDER BY "COLUMN_ID""#
    );
    assert_eq!(
        Dameng.keys(&orders()).sql,
        r#"SELECT C."CONSTRAINT_TYPE", C."CONSTRAINT_NAME", K."COLUMN_NAME", K."POSITION" FROM "SYS"."ALL_CONSTRAINTS" C, "SYS"."ALL_CONS_COLUMNS" K WHERE K."OWNER" = C."OWNER" AND K."CONSTRAINT_NAME" = C."CONSTRAINT_NAME" AND K."TABLE_NAME" = C."TABLE_NAME" AND C."CONSTRAINT_TYPE" IN ('P', 'U') AND C."STATUS" = 'ENABLED' AND C."OWNER" = 'BIZ' AND C."TABLE_NAME" = 'It''s' ORDER BY C."CONSTRAINT_TYPE", C."CONSTRAINT_NAME", K."POSITION""#
    );
    assert_eq!(
        Dameng.column_marks(7).unwrap().sql,
        r#"SELECT C."NAME", I."INFO1" FROM "SYS"."SYSCOLUMNS" C, "SYS"."SYSCOLINFOS" I WHERE C."ID" = I."ID" AND C."COLID" = I."COLID" AND I."ID" = 7"#
    );
    assert_eq!(
        Dameng.sorted(&["a", "it's"]).sql,
        r#"SELECT P."N", (SELECT COUNT(*) FROM (SELECT 0 AS "N", CAST('a' AS VARCHAR2) AS "C" FROM DUAL UNION ALL SELECT 1 AS "N", CAST('it''s' AS VARCHAR2) AS "C" FROM DUAL) Q WHERE Q."C" < P."C"), SF_GET_CASE_SENSITIVE_FLAG() FROM (SELECT 0 AS "N", CAST('a' AS VARCHAR2) AS "C" FROM DUAL UNION ALL SELECT 1 AS "N", CAST('it''s' AS VARCHAR2) AS "C" FROM DUAL) P ORDER BY P."C""#
    );
}

#[test]
fn a_timestamp_with_a_zone_is_selected_with_its_offset() {
    let selected = |kind: ColumnType| {
        let mut out = String::new();
        Dameng.push_selected("A\"T", &kind, &mut out);
        out
    };
    assert_eq!(selected(ColumnType::Timestamp { precision: 6 }), r#""A""T""#);
    assert_eq!(
        selected(ColumnType::TimestampZoned { precision: 6 }),
        r#"TO_CHAR("A""T", 'YYYY-MM-DD HH24:MI:SS.FF6 TZH:TZM')"#
    );
    assert_eq!(
        selected(ColumnType::TimestampLocal { precision: 0 }),
        r#"TO_CHAR("A""T", 'YYYY-MM-DD HH24:MI:SS TZH:TZM')"#
    );
}

fn key() -> [KeyColumn<'static>; 3] {
    ["A", "B", "C"].map(|name| KeyColumn {
        name,
        collated: false,
        shown: false,
    })
}

#[test]
fn pages_and_cuts() {
    let number = |digits: &str| Literal::Number(digits.into());
    let table = orders();
    let rows = TableRows {
        name: &table,
        of_parts: false,
    };
    let texts = |bounds: Bounds<'_>| -> Vec<String> {
        let segments = bounds.segments();
        let pages = segments.iter().map(|&segment| {
            let request = PageRequest {
                table: rows,
                columns: &["\"ID\"".to_owned(), "\"v\"".to_owned()],
                key: &key()[..bounds.lower.map_or(1, <[Literal]>::len)],
                segment,
                rows: 101,
            };
            page(&Dameng, &request)
        });
        pages.collect()
    };
    assert_eq!(
        texts(Bounds {
            lower: Some(&[number("5")]),
            upper: Some(&[number("9")]),
        }),
        [r#"SELECT "ID", "v" FROM "BIZ"."It's" WHERE "A" >= 5 AND "A" < 9 ORDER BY "A" LIMIT 101"#]
    );
    assert_eq!(
        texts(Bounds::default()),
        [r#"SELECT "ID", "v" FROM "BIZ"."It's" ORDER BY "A" LIMIT 101"#]
    );
    let part = |predicate: &str| {
        format!(r#"SELECT "ID", "v" FROM "BIZ"."It's" WHERE {predicate} ORDER BY "A", "B", "C" LIMIT 101"#)
    };
    let bounds = Bounds {
        lower: Some(&[number("1"), Literal::Text("x".into()), number("3")]),
        upper: Some(&[number("7"), Literal::Text("y".into()), number("8")]),
    };
    assert_eq!(
        texts(bounds),
        [
            part(r#""A" = 1 AND "B" = 'x' AND "C" >= 3"#),
            part(r#""A" = 1 AND "B" > 'x'"#),
            part(r#""A" > 1 AND "A" < 7"#),
            part(r#""A" = 7 AND "B" < 'y'"#),
            part(r#""A" = 7 AND "B" = 'y' AND "C" < 8"#),
        ]
    );
    let segment = bounds.segments()[1];
    assert_eq!(
        cut(
            &Dameng,
            &PageRequest {
                table: rows,
                columns: &["\"A\"".to_owned()],
                key: &key(),
                segment,
                rows: 0,
            },
            8096
        ),
        r#"SELECT "A" FROM "BIZ"."It's" WHERE "A" = 1 AND "B" > 'x' ORDER BY "A", "B", "C" LIMIT 1 OFFSET 8096"#
    );
    assert_eq!(
        count(&Dameng, rows, &key(), &segment),
        r#"SELECT COUNT(*) FROM "BIZ"."It's" WHERE "A" = 1 AND "B" > 'x'"#
    );
}

#[test]
fn mining_calls_and_questions() {
    assert_eq!(
        Dameng.add_file("/arch/it's.log", true),
        "CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => '/arch/it''s.log', OPTIONS => 1)"
    );
    assert_eq!(
        Dameng.add_file("/arch/b.log", false),
        "CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => '/arch/b.log', OPTIONS => 3)"
    );
    assert_eq!(
        Dameng.start(Scn(77)),
        "CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => 77, OPTIONS => 2128)"
    );
    assert_eq!(Dameng.end(), "CALL DBMS_LOGMNR.END_LOGMNR()");
    assert_eq!(Dameng.visible_end().sql, r#"SELECT "CUR_LSN" FROM "SYS"."V$RLOG""#);
    assert_eq!(Dameng.incarnation().sql, r#"SELECT "DB_MAGIC" FROM "SYS"."V$RLOG""#);
    assert_eq!(
        Dameng.archives().sql,
        r#"SELECT "PATH", "ARCH_LSN", "CLSN", "PREV_LSN", "FREE", CASE WHEN "STATUS" = 'ACTIVE' THEN 1 ELSE 0 END, "ARCH_SEQ", "DB_MAGIC" FROM "SYS"."V$ARCH_FILE""#
    );
    assert_eq!(
        Dameng.open_transactions().sql,
        r#"SELECT "ID", "START_LSN", "SESS_ID" FROM "SYS"."V$TRX""#
    );
    assert_eq!(
        Dameng.setup().sql,
        r#"SELECT "PARA_NAME", "PARA_VALUE" FROM "SYS"."V$DM_INI" WHERE "PARA_NAME" IN ('ARCH_INI', 'RLOG_APPEND_LOGIC', 'RLOG_IGNORE_TABLE_SET') UNION ALL SELECT 'ARCH_MODE', "ARCH_MODE" FROM "SYS"."V$DATABASE""#
    );
    assert_eq!(Dameng.switch_log(), "ALTER SYSTEM ARCHIVE LOG CURRENT");
    let contents = Dameng.contents(&[&orders()]);
    assert_eq!(
        contents.sql,
        concat!(
            r#"SELECT "SCN", "XID", "OPERATION_CODE", "ROLL_BACK", "SEG_OWNER", "TABLE_NAME", "ROW_ID", "DATA_OBJ#", "DATA_OBJV#", "SQL_REDO", "RS_ID", "SSN", "CSF", "STATUS", "TIMESTAMP""#,
            r#" FROM "SYS"."V$LOGMNR_CONTENTS" WHERE "OPERATION_CODE" NOT IN (1, 2, 3, 4, 5, 13, 14, 37) OR ("SEG_OWNER" = 'BIZ' AND "TABLE_NAME" = 'It''s')"#
        )
    );
    for query in [
        contents,
        Dameng.archives(),
        Dameng.open_transactions(),
        Dameng.table(&orders()),
        Dameng.columns(&orders()),
        Dameng.keys(&orders()),
    ] {
        let selected = query.sql.split(" FROM ").next().unwrap();
        assert_eq!(selected.split(", ").count(), query.columns.len(), "{}", query.sql);
    }
}

/// Every code of the manual has a rule, and no other one.
#[test]
fn operations() {
    let known: Vec<i64> = (-10..1000).filter(|&code| Dameng.operation(code).is_some()).collect();
    assert_eq!(known, [1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 36, 37, 38, 255]);
    assert_eq!(Dameng.operation(2), Some(Operation::Delete));
    assert_eq!(Dameng.operation(3), Some(Operation::Update));
    assert_eq!(Dameng.operation(38), Some(Operation::CommitPrepared));
}

#[test]
fn transaction_numbers() {
    assert_eq!(Dameng.xid(&[0, 0, 0, 0, 0, 0, 0x46, 0x8b]), Some(Xid(0x468b)));
    assert_eq!(Dameng.xid(b"000000000000468B"), Some(Xid(0x468b)));
    assert_eq!(Dameng.xid(b"0x000000000000468B"), Some(Xid(0x468b)));
    assert_eq!(Dameng.xid(b"468B"), None);
    assert_eq!(Dameng.xid(b"+00000000000468B"), None);
}

#[test]
fn faults_and_retries_go_by_the_vendors_number() {
    let judge = |native, state: &str, message: &str| {
        Dameng.classify(&Diagnostic {
            state: state.into(),
            native,
            message: message.into(),
        })
    };
    let verdict = judge(
        1,
        "HY000",
        "ERROR: [-2847] no log file has been specified for the current LogMiner session",
    );
    assert_eq!((verdict.native, verdict.retryable), (-2847, false));
    assert_eq!(Dameng.fault(verdict.native), Some(MiningFault::NoFiles));
    assert_eq!(Dameng.fault(-4546), Some(MiningFault::MissingFile));
    assert_eq!(Dameng.fault(-2007), None);
    assert!(judge(-6010, "HY000", "").retryable);
    assert!(
        !judge(-2508, "08001", "").retryable,
        "too many failed logins lock the account"
    );
    assert!(judge(0, "08S01", "gone").retryable);
}

#[test]
fn a_server_that_does_not_log_enough_is_refused_with_what_to_set() {
    let settings = |mode: &str, logic: &str, ignore: &str| {
        [
            ("ARCH_INI", "1"),
            ("ARCH_MODE", mode),
            ("RLOG_APPEND_LOGIC", logic),
            ("RLOG_IGNORE_TABLE_SET", ignore),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert!(Dameng.judge_setup(&settings("Y", "2", "1")).is_ok());
    let error = Dameng.judge_setup(&settings("N", "2", "1")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Setup(_)));
    for wrong in ["0", "1", "3", "4"] {
        let error = Dameng.judge_setup(&settings("Y", wrong, "1")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
        assert!(
            error
                .to_string()
                .contains("SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2)")
        );
    }
    assert!(Dameng.judge_setup(&settings("Y", "2", "0")).is_err());
    assert!(Dameng.judge_setup(&[]).is_err());
    let text = Dameng.judge_setup(&settings("N", "1", "0")).unwrap_err().to_string();
    for part in [
        "TM-1005 3 things",
        "ARCH_MODE",
        "RLOG_APPEND_LOGIC is 1",
        "RLOG_IGNORE_TABLE_SET is 0",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}
