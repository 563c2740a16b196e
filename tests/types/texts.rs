//! Texts that look like the log's own grammar, NULLs, and numbers in odd words.

use tidemark::error::ErrorKind;
use tidemark::row::codec::OnValueError;
use tidemark::row::layout::{FlinkType, UNBOUNDED};
use tidemark::row::{RowCodec, RowKind, RowOrigin};

use crate::binary_row::{Read, read};
use crate::phases::{Captured, declared, rows};
use crate::values::stand_in;

const STRING: FlinkType = FlinkType::VarChar { length: UNBOUNDED };

/// F18, and what F17 says of DM: quotes, words, brackets, comments and line ends in values stand in VALUES, SET and WHERE
/// alike.
#[test]
fn a_text_that_looks_like_the_log_is_a_text() {
    const TEXTS: [&str; 15] = [
        "aa'",
        "''",
        "' and \"ID\" = '9",
        "x','y",
        "); --",
        "NULL",
        "a \"b\" c",
        "one\r\ntwo",
        "",
        " ",
        "\\",
        "甲||乙||C44",
        "UNISTR('\\7532')",
        "x, y) VALUES (1",
        "😀 OUT_CLOB 0x41",
    ];
    stand_in().psql(
        r#"create schema "TEXTS"; create table "TEXTS"."Ord.""Zeile"" 甲 "("ID" int primary key, "S'l""n" varchar(200), "甲" varchar(200))"#,
    );
    let mut captured = Captured::new(stand_in(), "TEXTS", "Ord.\"Zeile\" 甲 ");
    let run = |sql: &str| {
        stand_in().psql(&sql.replace(" T ", r#" "TEXTS"."Ord.""Zeile"" 甲 " "#));
    };
    for (id, text) in TEXTS.iter().enumerate() {
        run(&format!(
            "insert into T values ({id}, '{}', null)",
            text.replace('\'', "''")
        ));
    }
    let inserted = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let snapshot = captured.snapshot(&codec).unwrap();
    for (row, text) in snapshot.values().zip(TEXTS) {
        assert_eq!(read(row, &kinds).1[1], Read::Bytes(text.into()), "{text:?}");
    }
    let same = |rows, what| captured.require_same(&kinds, &snapshot, &rows, what);
    same(rows(&codec, &inserted, |change| change.after), "inserted");
    run(r#"update T set "甲" = "S'l""n""#);
    let mut again = Captured::new(stand_in(), "TEXTS", "Ord.\"Zeile\" 甲 ");
    let updated = captured.changes().unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &updated, |change| change.before),
        "before",
    );
    let behind = again.snapshot(&codec).unwrap();
    again.require_same(
        &kinds,
        &behind,
        &rows(&codec, &updated, |change| change.after),
        "behind",
    );
    run("delete from T ");
    let deleted = again.changes().unwrap();
    again.require_same(
        &kinds,
        &behind,
        &rows(&codec, &deleted, |change| change.before),
        "deleted",
    );
}

/// F24: SET … = NULL is not the same as no SET.
#[test]
fn set_to_null_wins_over_the_old_value() {
    stand_in().psql(
        r#"create schema "NULLS"; create table "NULLS"."T" ("ID" int primary key, "A" varchar(9), "B" decimal, "C" date);
           insert into "NULLS"."T" values (1, 'x', 5, '2024-02-29')"#,
    );
    let mut captured = Captured::new(stand_in(), "NULLS", "T");
    for change in [
        r#""A" = null, "B" = null, "C" = null"#,
        r#""A" = 'y'"#,
        r#""A" = '', "B" = 0"#,
    ] {
        stand_in().psql(&format!(r#"update "NULLS"."T" set {change}"#));
    }
    let changes = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let image = |change: usize, image: fn(&tidemark::log::Change) -> Option<tidemark::row::value::Image>| {
        let rows = rows(&codec, &changes[change..=change], image);
        read(rows.values().next().unwrap(), &kinds).1[1..].to_vec()
    };
    let text = |text: &str| Read::Bytes(text.into());
    assert_eq!(
        image(0, |change| change.before),
        [text("x"), text("5"), Read::Integer(19_782)]
    );
    let none = [Read::Null, Read::Null, Read::Null];
    assert_eq!(image(0, |change| change.after), none);
    assert_eq!(image(1, |change| change.before), none);
    assert_eq!(image(1, |change| change.after), [text("y"), Read::Null, Read::Null]);
    assert_eq!(image(2, |change| change.before), [text("y"), Read::Null, Read::Null]);
    assert_eq!(image(2, |change| change.after), [text(""), text("0"), Read::Null]);
}

/// F41, and of F33 what DM can have: numbers without a precision, of negative scale, of a scale beyond the precision, far
/// from the point, and infinite ones. What the declared type cannot hold fails in both phases, or goes out as NULL in both.
#[test]
fn a_number_is_exact_or_refused_in_both_phases() {
    stand_in().psql(
        r#"create schema "NUMBERS"; create table "NUMBERS"."T" ("ID" number primary key, "F" decimal_float, "BD" double, "NEG" numeric(6,-2),
             "SM" numeric(3,5), "ANYN" number)"#,
    );
    let mut captured = Captured::new(stand_in(), "NUMBERS", "T");
    stand_in().psql(
        r#"insert into "NUMBERS"."T" values (1.5, 0.1, 'NaN', 123456, 0.00123, 0.5), (2, 1e-30, 'Infinity', -50, -0.00999, -0.5),
             (3, null, '-Infinity', 0, 0, 1e-30), (4, 1e30, 1.1, 99999900, null, 123456789012345678901234567890.12345),
             (1e20, 12, -0.0, null, null, 0)"#,
    );
    let inserted = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec_of(
        &kinds
            .iter()
            .zip(&captured.table.columns)
            .map(|(kind, column)| declared(&column.name, *kind))
            .collect::<Vec<_>>(),
        "UTC",
        OnValueError::Fail,
    );
    let snapshot = captured.snapshot(&codec).unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &inserted, |change| change.after),
        "inserted",
    );
    let fields: Vec<_> = snapshot.values().map(|row| read(row, &kinds).1).collect();
    let text = |text: &str| Read::Bytes(text.into());
    let expected = [
        [
            text("1.5"),
            text("0.1"),
            Read::Double(f64::NAN.to_bits()),
            Read::Decimal(123_500),
            Read::Decimal(123),
            text("0.5"),
        ],
        [
            text("2"),
            text("0.000000000000000000000000000001"),
            Read::Double(f64::INFINITY.to_bits()),
            Read::Decimal(-100),
            Read::Decimal(-999),
            text("-0.5"),
        ],
        [
            text("3"),
            Read::Null,
            Read::Double(f64::NEG_INFINITY.to_bits()),
            Read::Decimal(0),
            Read::Decimal(0),
            text("0.000000000000000000000000000001"),
        ],
        [
            text("4"),
            text("1000000000000000000000000000000"),
            Read::Double(1.1_f64.to_bits()),
            Read::Decimal(99_999_900),
            Read::Null,
            text("123456789012345678901234567890.12345"),
        ],
    ];
    assert_eq!(fields[..4], expected);

    let narrow = [
        declared("ID", STRING),
        declared(
            "ANYN",
            FlinkType::Decimal {
                precision: 20,
                scale: 10,
            },
        ),
    ];
    let failing = captured.codec_of(&narrow, "UTC", OnValueError::Fail);
    let in_snapshot = captured.snapshot(&failing).unwrap_err();
    let change = &inserted[0].rows[2];
    let in_log = failing
        .row(
            0,
            RowKind::Insert,
            &inserted[0].values,
            change.after.unwrap(),
            &RowOrigin::default(),
            &mut Vec::new(),
        )
        .unwrap_err();
    for error in [in_snapshot, in_log] {
        assert!(matches!(error.kind(), ErrorKind::Value { .. }), "{error}");
        assert!(error.to_string().contains("'ANYN' of the row with key ID=3"), "{error}");
    }
    let lenient = captured.codec_of(&narrow, "UTC", OnValueError::Null);
    let kinds = [
        STRING,
        FlinkType::Decimal {
            precision: 20,
            scale: 10,
        },
    ];
    let nulled = captured.snapshot(&lenient).unwrap();
    assert!(nulled == rows(&lenient, &inserted, |change| change.after));
    let values: Vec<_> = nulled.values().map(|row| read(row, &kinds).1[1].clone()).collect();
    let half = 5_000_000_000;
    assert_eq!(
        values,
        [
            Read::Decimal(half),
            Read::Decimal(-half),
            Read::Null,
            Read::Null,
            Read::Decimal(0)
        ]
    );
}

/// A server in a national character set: the driver turns its texts into UTF-8, names and pieces of long texts too. EUC_CN is
/// the part of GB18030 that PostgreSQL can store.
#[test]
fn a_server_in_another_character_set_changes_no_text() {
    static ALONE: std::sync::OnceLock<crate::support::stand_in::StandIn> = std::sync::OnceLock::new();
    let stand_in = ALONE.get_or_init(|| crate::support::stand_in::StandIn::start(&[("ENCODING", "EUC_CN")]));
    let run = |sql: &str| stand_in.psql(&format!("set client_encoding = 'UTF8'; {sql}"));
    run(r#"create schema "业务"; create table "业务"."订单"("编号" int primary key, "备注" varchar(8000), "N" int)"#);
    let mut captured = Captured::new(stand_in, "业务", "订单");
    let long = "改过了'一段中文".repeat(800);
    for (id, text) in ["一段中文", "it's 甲||乙\r\n", &long, ""].iter().enumerate() {
        run(&format!(
            r#"insert into "业务"."订单" values ({id}, '{}', 0)"#,
            text.replace('\'', "''")
        ));
    }
    let inserted = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let snapshot = captured.snapshot(&codec).unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &inserted, |change| change.after),
        "inserted",
    );
    let texts: Vec<_> = snapshot.values().map(|row| read(row, &kinds).1[1].clone()).collect();
    let expected = ["一段中文", "it's 甲||乙\r\n", &long, ""].map(|text| Read::Bytes(text.into()));
    assert!(texts == expected);
    run(r#"update "业务"."订单" set "N" = 1"#);
    let updated = captured.changes().unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &updated, |change| change.before),
        "before",
    );
}
