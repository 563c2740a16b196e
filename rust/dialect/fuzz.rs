//! What goes into statements is one literal or one name, whatever it holds; and what servers say of themselves, damaged.

use crate::dialect::dameng::Dameng;
use crate::dialect::mining::Mining;
use crate::dialect::postgres::{POSTGRES, Postgres};
use crate::dialect::slots::{Names, Statements, lsn, parse_lsn};
use crate::dialect::{ColumnType, Dialect, DictionaryColumn, Literal};
use crate::fuzz::Target;
use crate::position::{Lsn, Xid};
use crate::split::TableName;

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "literals and names of statements",
        files: &["dialect/dameng.rs", "dialect/postgres.rs", "dialect/slots.rs"],
        corpus: texts,
        words: &[
            "'",
            "''",
            "\"",
            "\\",
            "\\'",
            "$$",
            "';",
            "--",
            "/*",
            "{fn now()}",
            "?",
            "E'",
            "\0",
        ],
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            let postgres = Postgres::new(&POSTGRES, Names::default());
            for dialect in [&Dameng as &dyn Dialect, &postgres] {
                let mut sql = String::new();
                dialect.push_literal(&Literal::Text(text.into()), &mut sql);
                assert_eq!(unquoted(&sql, '\'').as_deref(), Some(text), "{sql}");
                sql.clear();
                dialect.push_literal(&Literal::Bytes(bytes.into()), &mut sql);
                assert!(
                    sql.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"'\\:".contains(&byte))
                );
                sql.clear();
                dialect.push_name(text, &mut sql);
                assert_eq!(unquoted(&sql, '"').as_deref(), Some(text), "{sql}");
                sql.clear();
                let table = TableName {
                    schema: text.into(),
                    name: "t".into(),
                };
                dialect.push_table(&table, &mut sql);
                assert_eq!(
                    unquoted(sql.strip_suffix(".\"t\"").unwrap(), '"').as_deref(),
                    Some(text),
                    "{sql}"
                );
            }
            // A slot's statements run before it is known how the session reads backslashes.
            let statements = Statements::new(Names::default());
            let drop = statements.drop_slot(text);
            let literal = drop.split_once('(').and_then(|(_, sql)| sql.strip_suffix(')')).unwrap();
            let read = match literal.strip_prefix('E') {
                None => unquoted(literal, '\''),
                Some(escaped) => unquoted(escaped, '\'').map(|text| text.replace("\\\\", "\\")),
            };
            assert_eq!(read.as_deref(), Some(text), "{drop}");
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "LSN",
        files: &["dialect/slots.rs"],
        corpus: || {
            ["16/B374D848", "0/0", "FFFFFFFF/FFFFFFFF", "18446744073709551615"]
                .map(|text| text.as_bytes().to_vec())
                .into()
        },
        words: &["/", "+", "0", "F"],
        inputs: 5_000,
        read: |bytes| {
            let Some(at) = std::str::from_utf8(bytes).ok().and_then(parse_lsn) else {
                return false;
            };
            assert_eq!(parse_lsn(&lsn(Lsn(at.0))), Some(at));
            // Nothing but digits: a sign is none.
            assert!(bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'/'));
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "number of a transaction",
        files: &["dialect/dameng/mining.rs"],
        corpus: || {
            vec![
                b"\0\0\0\0\x12\x34\x56\x78".to_vec(),
                b"0x0000000012345678".to_vec(),
                b"00000000123456FF".to_vec(),
            ]
        },
        words: &["0x", "+", "-", " "],
        inputs: 5_000,
        read: |bytes| {
            let Some(Xid(xid)) = Dameng.xid(bytes) else {
                return false;
            };
            let digits = bytes.strip_prefix(b"0x").unwrap_or(bytes);
            let written = format!("{xid:016X}");
            assert!(bytes == xid.to_be_bytes() || digits.eq_ignore_ascii_case(written.as_bytes()));
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "type of a column",
        files: &["dialect/dameng/types.rs", "dialect/postgres/types.rs"],
        corpus: || {
            let names = [
                "NUMBER",
                "DECIMAL(10, 2)",
                "TIMESTAMP(6) WITH LOCAL TIME ZONE",
                "INTERVAL DAY(2) TO SECOND(6)",
                "VARCHAR2",
                "FLOAT",
                "numeric",
                "sys.date",
                "timestamptz",
                "bpchar",
                "TIME WITH TIME ZONE",
            ];
            let numbers = [0i64, 4, 10, 4096, -1].map(i64::to_le_bytes).concat();
            names.map(|name| [&numbers, name.as_bytes()].concat()).into()
        },
        words: &["(", ")", "WITH ", "TO ", "LOCAL ", "YEAR", "sys."],
        read: |bytes| {
            let Some((numbers, name)) = bytes.split_first_chunk::<40>() else {
                return false;
            };
            let Ok(name) = std::str::from_utf8(name) else {
                return false;
            };
            let numbers: Vec<i64> = numbers
                .chunks_exact(8)
                .map(|number| i64::from_le_bytes(number.try_into().unwrap()))
                .collect();
            let column = DictionaryColumn {
                type_name: name.into(),
                length: Some(numbers[0]),
                precision: Some(numbers[1]),
                scale: Some(numbers[2]),
                marks: numbers[3],
            };
            let postgres = Postgres::new(&POSTGRES, Names::default());
            let kinds = [Dameng.column_type(&column), postgres.column_type(&column)];
            for kind in &kinds {
                match kind {
                    ColumnType::Decimal { precision, .. } => assert_ne!(*precision, Some(0)),
                    ColumnType::Time { precision } | ColumnType::Timestamp { precision } => assert!(*precision <= 9),
                    _ => {}
                }
            }
            !matches!(kinds[0], ColumnType::Unsupported(_)) || !matches!(kinds[1], ColumnType::Shown { .. })
        },
        ..Target::USUAL
    },
];

/// Names and values that are SQL.
pub(crate) fn texts() -> Vec<Vec<u8>> {
    let texts = [
        "x'; DROP TABLE canary; --",
        "\"quoted\"\"name\"",
        "back\\slash\\' OR 1=1",
        "$$ $1 ? {fn now()}",
        "\u{4e2d}\u{6587}\u{8ba2}\u{5355}",
        "tab\tline\nreturn\r\u{1}",
        "",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// What stands in one pair of quotes, inner ones doubled; `None` if that is not all there is.
fn unquoted(sql: &str, quote: char) -> Option<String> {
    let inside = sql.strip_prefix(quote)?.strip_suffix(quote)?;
    let (mut text, mut rest) = (String::new(), inside.chars());
    while let Some(character) = rest.next() {
        if character == quote && rest.next() != Some(quote) {
            return None;
        }
        text.push(character);
    }
    Some(text)
}
