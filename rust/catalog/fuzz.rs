//! Damaged keys, statements and patterns of names.

use std::sync::Arc;

use crate::catalog::change::ChangeKind;
use crate::catalog::key::KeyCodec;
use crate::catalog::pattern::{Fit, NameCase, NamePattern};
use crate::catalog::statement::{Word, Words};
use crate::catalog::text_order::{Case, Charset, TextOrder};
use crate::catalog::{Column, ColumnType, Table};
use crate::dialect::Literal;
use crate::fuzz::Target;
use crate::row::value::Value;
use crate::split::TableName;

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "key that was kept",
        files: &[
            "catalog/key.rs",
            "catalog/key/number.rs",
            "catalog/key/text.rs",
            "catalog/key/time.rs",
        ],
        corpus: || keys().into_iter().map(|(kind, _, key)| behind(kind, &key)).collect(),
        read: |bytes| {
            let Some((&kind, key)) = bytes.split_first() else {
                return false;
            };
            let codec = codec(kind);
            // The make of the key says which columns it is of; the rest may be anything.
            let Ok(literals) = codec.literals(key) else {
                return false;
            };
            let mut again = Vec::new();
            let literal = |_| literals[0].value();
            codec.encode(&literal, &mut again).unwrap();
            assert_eq!(again, key, "{literals:?}");
            true
        },
        bytes: 256 << 10,
        ..Target::USUAL
    },
    Target {
        name: "value of a key",
        files: &["catalog/key/number.rs", "catalog/key/text.rs", "catalog/key/time.rs"],
        corpus: || keys().into_iter().map(|(kind, text, _)| behind(kind, &text)).collect(),
        words: &[
            "-", ".", "e", "E+", " BC", "infinity", "NaN", "+00", "+08:30", ":", "\u{8ba2}", " ",
        ],
        read: |bytes| {
            let Some((&kind, text)) = bytes.split_first() else {
                return false;
            };
            let codec = codec(kind);
            let mut key = Vec::new();
            if codec.encode(&|_| value(kind, text), &mut key).is_err() {
                assert!(key.is_empty());
                return false;
            }
            let literals = codec.literals(&key).unwrap();
            let mut again = Vec::new();
            codec.encode(&|_| literals[0].value(), &mut again).unwrap();
            assert_eq!(again, key, "{literals:?}");
            if let (Literal::Text(read), false) = (&literals[0], folds(kind)) {
                let text = std::str::from_utf8(text).unwrap();
                assert_eq!(
                    read,
                    if kind % KINDS == 3 {
                        text.trim_end_matches(' ')
                    } else {
                        text
                    }
                );
            }
            true
        },
        // The literal of a number whose exponent is written out.
        bytes: 256 << 10,
        ..Target::USUAL
    },
    Target {
        name: "statement that alters tables",
        files: &["catalog/statement.rs", "catalog/change.rs"],
        corpus: || STATEMENTS.iter().map(|text| text.as_bytes().to_vec()).collect(),
        words: STATEMENT_WORDS,
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            let kind = ChangeKind::of(text);
            let (mut words, mut last) = (Words::of(text), text.len());
            while let Some(word) = words.next() {
                // Each goes on, inside of the text.
                let left = words.rest().len();
                assert!(left < last && words.rest().as_ptr() == text[text.len() - left..].as_ptr());
                let own = &text[text.len() - last..text.len() - left];
                match word {
                    Word::Bare(word) | Word::Other(word) => assert!(own.ends_with(word)),
                    Word::Quoted(name) => assert!(own.replace("\"\"", "\"").contains(&*name)),
                }
                last = left;
            }
            // Blanks and comments in front change nothing.
            let commented = format!(" /* DROP TABLE \"x */--'\n\t{text}");
            assert_eq!(ChangeKind::of(&commented), kind);
            kind != ChangeKind::Other
        },
        ..Target::USUAL
    },
    Target {
        name: "pattern of names",
        files: &["catalog/pattern.rs"],
        corpus: || {
            let patterns = [
                "orders",
                "\"orders\" | ITEM_\\d+|[|\"\\]](A|B)|[]|]x|(?-i)shard_[a-z]",
                "(a|class)_item|T%",
                "\"My.Tab\"\"le\"|.*",
                "\u{8ba2}\u{5355}_[0-9]{1,3}",
            ];
            patterns.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &[
            "|",
            "\"",
            "(?-i)",
            "(?i)",
            "[^]",
            "{2,3}",
            "\\p{L}",
            "\\",
            "(?:",
            ")",
            "[a-z&&[^b]]",
        ],
        // Each is compiled some times.
        inputs: 1_000,
        long: 2,
        // A regular expression may be 10 MB when it is compiled, and tells what it finds by tables of 2 MB.
        bytes: 256 << 20,
        bytes_a_byte: 2_000,
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            // A name in quotes is itself and nothing else.
            if !text.is_empty() {
                let quoted = format!("\"{}\"", text.replace('"', "\"\""));
                let exact = NamePattern::parse(&quoted).unwrap();
                assert_eq!(exact.fit(text, NameCase::Upper), Fit::Yes);
                assert_ne!(exact.fit(&format!("{text}x"), NameCase::Ignored), Fit::Yes);
            }
            let Ok(pattern) = NamePattern::parse(text) else {
                return false;
            };
            assert_eq!(pattern.to_string(), text);
            for name in ["ORDERS", "orders", "a|b", text] {
                let fit = pattern.fit(name, NameCase::Upper);
                assert_eq!(NamePattern::parse(text).unwrap().fit(name, NameCase::Upper), fit);
                // Who minds no case takes what would fit but for it.
                assert_eq!(pattern.fit(name, NameCase::Ignored) == Fit::Yes, fit != Fit::No);
            }
            true
        },
    },
];

const STATEMENTS: [&str; 8] = [
    "ALTER/* x */table \"a\"\"b\".T_1 -- DROP\n add \"x y\" varchar(20) default 'it''s \"q\"';",
    "ALTER TABLE IF EXISTS a.b TRUNCATE PARTITION p1",
    "create or replace global temporary table t(a int)",
    "DROP TABLE if exists b, \"B c\".d cascade",
    "TRUNCATE TABLE \u{8ba2}\u{5355}",
    "alter table a.b rename to \"c\"",
    "ALTER TABLE T EXCHANGE SUBPARTITION P WITH TABLE X",
    "create unlogged table if not exists a.b (c int)",
];

pub(crate) const STATEMENT_WORDS: &[&str] = &[
    "ALTER ",
    "TABLE ",
    "DROP ",
    "CREATE ",
    "RENAME ",
    "TO ",
    "IF EXISTS ",
    "PARTITION ",
    "OF ",
    "ATTACH ",
    "DETACH ",
    "SET ",
    "SCHEMA ",
    "ONLY ",
    "\"",
    "''",
    "/*",
    "*/",
    "--",
    ";",
    ".",
    "$$",
    "\u{3000}",
    "\u{a0}",
];

const KINDS: u8 = 12;

fn kind_of(number: u8) -> ColumnType {
    let text = |padded| ColumnType::Text {
        length: Some(100),
        padded,
    };
    match number % KINDS {
        0 => ColumnType::Integer { bits: 64 },
        1 => ColumnType::Decimal {
            precision: None,
            scale: 0,
        },
        2 | 10 | 11 => text(false),
        3 => text(true),
        4 => ColumnType::Binary { length: Some(100) },
        5 => ColumnType::Date,
        6 => ColumnType::Time { precision: 6 },
        7 => ColumnType::Timestamp { precision: 6 },
        8 => ColumnType::TimestampZoned { precision: 6 },
        _ => ColumnType::Boolean,
    }
}

/// Whether a text does not come back letter by letter.
fn folds(number: u8) -> bool {
    number % KINDS == 11
}

fn codec(number: u8) -> KeyCodec {
    let order = match number % KINDS {
        10 => TextOrder {
            charset: Some(Charset::Gb18030),
            ..TextOrder::BYTES
        },
        11 => TextOrder {
            case: Case::Lower,
            ..TextOrder::BYTES
        },
        _ => TextOrder::BYTES,
    };
    let column = Column {
        name: "K".into(),
        kind: kind_of(number),
        nullable: false,
        is_virtual: false,
        collated: false,
    };
    let table = Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        version: 0,
        columns: vec![column],
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: order,
    };
    KeyCodec::new(&table).unwrap()
}

fn value(number: u8, text: &[u8]) -> Value<'_> {
    match kind_of(number) {
        ColumnType::Binary { .. } => Value::Hex(text),
        ColumnType::Date => Value::Date(text),
        ColumnType::Time { .. } => Value::Time(text),
        ColumnType::Timestamp { .. } | ColumnType::TimestampZoned { .. } => Value::Timestamp(text),
        ColumnType::Text { .. } => Value::Text(text),
        _ => Value::Number(text),
    }
}

/// Kinds, texts of their values, and the keys of those.
fn keys() -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let texts: [(u8, &str); 24] = [
        (0, "-42"),
        (0, "9223372036854775807"),
        (1, "-1234.5678"),
        (1, "1E+30"),
        (1, "0.00001"),
        (1, "NaN"),
        (1, "0"),
        (2, "it's; --"),
        (2, "\u{8ba2}\u{5355}"),
        (3, "padded  "),
        (4, "00ff01"),
        (5, "2024-02-29"),
        (5, "-0044-03-15"),
        (5, "infinity"),
        (5, "0044-03-15 BC"),
        (6, "23:59:59.999999"),
        (7, "1969-12-31 23:59:59.5"),
        (7, "-infinity"),
        (8, "2024-02-29 01:02:03.4+08"),
        (8, "2024-02-29 01:02:03 -05:30"),
        (9, "1"),
        (10, "\u{8ba2}\u{5355}a"),
        (11, "abc"),
        (11, "\u{8ba2}x"),
    ];
    let key = |&(kind, text): &(u8, &'static str)| {
        let mut key = Vec::new();
        codec(kind).encode(&|_| value(kind, text.as_bytes()), &mut key).unwrap();
        (kind, text.as_bytes().to_vec(), key)
    };
    texts.iter().map(key).collect()
}

fn behind(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind], bytes].concat()
}
