//! Damaged rows of slots: an error, or an event that is written as it was read.

use std::io::Write;

use crate::catalog::ColumnType;
use crate::catalog::fuzz::STATEMENT_WORDS;
use crate::catalog::statement::Words;
use crate::fuzz::Target;
use crate::log::decoding::binary::Form;
use crate::log::decoding::binary::tests::{SENT, bytes};
use crate::log::decoding::ddl_table::{Record, split};
use crate::log::decoding::plugin::{Cell, Datum, Event, Old, Plugin, Row, TableRef};
use crate::log::decoding::plugins::AnyPlugin;
use crate::log::decoding::tables::DdlColumn;
use crate::log::decoding::test_decoding::{push_undoubled, split_name, unquoted};
use crate::log::decoding::values::put;
use crate::row::value::{Value, ValueBuffer};

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "pgoutput",
        files: &["log/decoding/pgoutput.rs", "log/decoding/plugin.rs"],
        corpus: messages,
        words: &["N", "K", "O", "n", "u", "t", "b", "\0", "\0\0\0\x01"],
        read: |bytes| {
            with(bytes, "pgoutput", |event, row| {
                assert_eq!(written(event, row, bytes), bytes);
            })
        },
        ..Target::USUAL
    },
    Target {
        name: "test_decoding",
        files: &["log/decoding/test_decoding.rs", "log/decoding/plugin.rs", "row/time.rs"],
        corpus: || TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect(),
        words: &[
            "null",
            "unchanged-toast-datum",
            " new-tuple:",
            " old-key:",
            "[text]:",
            "'",
            "''",
            "\"",
            "B'",
            "(no-tuple-data)",
            ", sz: 3 content:",
            "[]",
            "]:",
            " ",
            "TRUNCATE: cascade",
        ],
        read: |bytes| {
            with(bytes, "test_decoding", |event, row| {
                if let Some(texts) = texts(event, row, bytes) {
                    assert!(texts.iter().any(|text| text == bytes), "{}", texts[0].escape_ascii());
                }
            })
        },
        ..Target::USUAL
    },
    Target {
        name: "decoderbufs",
        files: &["log/decoding/decoderbufs.rs", "log/decoding/plugin.rs"],
        corpus: buffers,
        words: &["\x0a\x01", "\x10", "\x18", "\x20", "\x28\x02", "\u{1}"],
        read: |bytes| {
            // A field that comes twice is what it is last, as the format has it: read again nothing is.
            with(bytes, "decoderbufs", |event, row| {
                let first = format!("{event:?} {row:?}");
                let again = with(bytes, "decoderbufs", |event, row| {
                    assert_eq!(format!("{event:?} {row:?}"), first)
                });
                assert!(again);
                if matches!(event, Event::Insert(_) | Event::Update(..) | Event::Delete(..)) {
                    assert!(row.new.iter().chain(&row.old).all(|cell| inside(cell.name, bytes)));
                }
            })
        },
        ..Target::USUAL
    },
    Target {
        name: "value of a plugin",
        files: &["log/decoding/values.rs", "log/decoding/layout.rs"],
        corpus: || {
            let texts = [
                "12.5",
                "2024-01-31 12:00:00.5+00",
                "\\x00ff",
                "it''s",
                "t",
                "null",
                "{\"a,b\",NULL}",
                "1 day 02:00:00",
            ];
            let kinds = (0..10u8).flat_map(|kind| texts.map(|text| [&[kind], text.as_bytes()].concat()));
            kinds.filter(|input| value(input)).collect()
        },
        words: &["''", "'", "\\x", "true", "infinity", "NaN", "-"],
        read: value,
        ..Target::USUAL
    },
    Target {
        name: "value in binary form",
        files: &[
            "log/decoding/binary.rs",
            "log/decoding/binary/numeric.rs",
            "log/decoding/float.rs",
            "log/decoding/words.rs",
        ],
        corpus: || {
            let input = |(number, sent, _): &(u32, &str, &str)| [&number.to_be_bytes()[..], &bytes(sent)].concat();
            SENT.iter().map(input).collect()
        },
        words: &["\0\0", "\x01", "@", "'\x0f"],
        read: |input| {
            let Some((number, sent)) = input.split_first_chunk() else {
                return false;
            };
            let Some(form) = Form::of_type(u32::from_be_bytes(*number)) else {
                return false;
            };
            let mut values = ValueBuffer::default();
            let image = values.begin(1);
            if form.put(&mut values, image, 0, sent).is_err() {
                return false;
            }
            match values.get(image, 0) {
                Value::Int(value) => assert!(value.to_be_bytes().ends_with(&sent[1..])),
                Value::Number(text) if matches!(form, Form::Single | Form::Double) => {
                    let text = std::str::from_utf8(text).unwrap();
                    let same = match sent.try_into() {
                        Ok(single) => text.parse::<f32>().unwrap().to_bits() == u32::from_be_bytes(single),
                        _ => text.parse::<f64>().unwrap().to_be_bytes() == sent,
                    };
                    assert!(same || text == "NaN", "{text}");
                }
                Value::Number(text) | Value::Date(text) | Value::Time(text) | Value::Timestamp(text) => {
                    assert!(text.is_ascii() && !text.is_empty());
                }
                Value::Text(text) => assert!(form == Form::Uuid || sent.ends_with(text)),
                other => assert_eq!(other, Value::Bytes(sent)),
            }
            true
        },
        // A number may have 131,072 digits in front of its point.
        bytes: 512 << 10,
        ..Target::USUAL
    },
    Target {
        name: "names as plugins write them",
        files: &["log/decoding/test_decoding.rs"],
        corpus: || {
            ["a.b", "\"My Sch\".\"O\"\"L\"", "s.\"x.y\"", "\"a\".b"]
                .map(|text| text.as_bytes().to_vec())
                .into()
        },
        words: &["\"", "\"\"", ".", "\u{8ba2}"],
        read: |bytes| {
            // Any name comes back from how it is quoted.
            let mut quoted = vec![b'"'];
            bytes
                .iter()
                .for_each(|&byte| quoted.extend(if byte == b'"' { vec![b'"'; 2] } else { vec![byte] }));
            quoted.push(b'"');
            assert_eq!(unquoted(&quoted), bytes);
            let joined = [&quoted[..], b".", &quoted].concat();
            if !bytes.is_empty() {
                assert_eq!(split_name(&joined), Some((bytes.to_vec(), bytes.to_vec())));
            }
            let mut plain = Vec::new();
            push_undoubled(&quoted[1..quoted.len() - 1], b'"', &mut plain);
            assert_eq!(plain, bytes);
            split_name(bytes).is_some()
        },
        ..Target::USUAL
    },
    Target {
        name: "objects of a DDL statement",
        files: &["log/decoding/ddl_table.rs"],
        corpus: || {
            let objects = [
                r#"[{"oid": 7, "type": "table", "schema": "s", "name": "t", "columns": [[1, "id", "integer", true, ""]],
                    "persistence": "p", "replica_identity": "d", "key": [1], "partitions": [[9, "s", "t_1"]], "root": 5}]"#,
                r#"[{"oid": 8, "type": "table", "persistence": "t", "columns": []}, {"oid": 5, "type": "schema"}]"#,
                "[]",
            ];
            objects.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &[
            "[",
            "]",
            "{",
            "}",
            "null",
            "\"oid\":",
            "\"columns\":",
            "\"key\":",
            "-1",
            "1e99",
            ",",
            "\\ud800",
        ],
        read: |bytes| {
            let cell = |name: &'static [u8], datum| Cell { name, kind: b"", datum };
            let cells = [
                cell(b"tg_tag", Datum::Text(b"ALTER TABLE")),
                cell(b"\"OBJ\"", Datum::Text(bytes)),
            ];
            let Ok(record) = Record::read(&cells, &[]) else {
                return false;
            };
            for object in record.objects.iter().flatten() {
                let named = object.identity().columns();
                assert!(
                    named.is_none_or(|columns| columns.iter().all(|column| !object.is_gone() || column.is_empty()))
                );
                assert!(!object.is_table() || object.oid < u64::MAX || object.root.is_none_or(|root| root > 0));
            }
            // What is read of a row that has quotes doubled is the same.
            let mut doubled = Vec::new();
            bytes
                .iter()
                .for_each(|&byte| doubled.extend(if byte == b'\'' { vec![b'\''; 2] } else { vec![byte] }));
            let columns = ["tg_tag", "obj"].map(|name| DdlColumn {
                name: name.as_bytes().into(),
                form: Form::of_type(25),
            });
            let cells = [
                cell(b"", Datum::Doubled(b"ALTER TABLE")),
                cell(b"", Datum::Doubled(&doubled)),
            ];
            assert_eq!(Record::read(&cells, &columns).unwrap(), record);
            // And of one in binary form.
            let cells = [
                cell(b"", Datum::Binary(b"ALTER TABLE")),
                cell(b"", Datum::Binary(bytes)),
            ];
            assert_eq!(Record::read(&cells, &columns).unwrap(), record);
            record.objects.is_some()
        },
        // A column is some words, and each is a value of JSON.
        bytes_a_byte: 600,
        ..Target::USUAL
    },
    Target {
        name: "text of a DDL statement",
        files: &[
            "log/decoding/ddl_table.rs",
            "log/decoding/statements.rs",
            "catalog/statement.rs",
        ],
        corpus: || {
            let texts = [
                "ALTER TABLE\nalter table IF EXISTS ONLY Orders add c text",
                "ALTER TABLE\ncreate table a(b text default ';'); alter table s.\"T;1\" rename to u; /* ; */",
                "DROP TABLE\ndrop table if exists b, \"B c\".d cascade",
                "ALTER TABLE\nalter table a.b set schema \"C\"",
                "ALTER TABLE\nalter table a.b attach partition b_1 for values in (1)",
                "CREATE TABLE\ncreate table b_1 partition of a.b default",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: STATEMENT_WORDS,
        read: |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let (tag, command) = text.split_once('\n').unwrap_or(("ALTER TABLE", &text));
            // All words of a text are in one of its statements.
            let joined = split(command).join(";");
            assert!(Words::of(&joined).eq(Words::of(command)), "{joined}");
            let record = Record {
                tag: tag.into(),
                search_path: "\"$user\", public".into(),
                command: command.into(),
                objects: None,
            };
            let Some(statements) = record.statements() else {
                return false;
            };
            for statement in &statements {
                assert!(command.contains(&statement.text));
                assert!(!statement.tables.is_empty());
            }
            !statements.is_empty()
        },
        bytes_a_byte: 600,
        ..Target::USUAL
    },
];

/// Reads a row by a plugin that has read none before; `false` if it is none.
fn with(bytes: &[u8], plugin: &str, check: impl FnOnce(&Event<'_>, &Row<'_>)) -> bool {
    let mut row = Row::default();
    match AnyPlugin::of_name(plugin, false).unwrap().read(bytes, &mut row) {
        Ok(event) => {
            check(&event, &row);
            true
        }
        Err(error) => {
            assert!(
                error.to_string().starts_with("TM-3009") && error.to_string().len() < 1_000,
                "{error}"
            );
            false
        }
    }
}

/// Whether something is a piece of the bytes and not made up.
fn inside(piece: &[u8], bytes: &[u8]) -> bool {
    bytes.as_ptr_range().contains(&piece.as_ptr()) || piece.is_empty()
}

/// A message of `pgoutput` with what was read of it; what is not read is taken from the message.
fn written(event: &Event<'_>, row: &Row<'_>, of: &[u8]) -> Vec<u8> {
    const EPOCH: i64 = super::pgoutput::SERVER_EPOCH_MICROS;
    let mut out = vec![of[0]];
    let number = |table: &TableRef<'_>| match table {
        TableRef::Number(number) => number.to_be_bytes(),
        other => panic!("{other:?}"),
    };
    match event {
        Event::Begin(begin) => {
            out.extend(begin.commit.unwrap().to_be_bytes());
            out.extend((begin.micros.unwrap() - EPOCH).to_be_bytes());
            out.extend(begin.xid.unwrap().to_be_bytes());
        }
        Event::Commit(commit) => {
            out.extend(&of[1..18]);
            out.extend((commit.micros.unwrap() - EPOCH).to_be_bytes());
        }
        Event::Relation(relation) => {
            out.extend(relation.number.to_be_bytes());
            let names = [relation.schema, b"\0", relation.name, b"\0", &[relation.identity]].concat();
            out.extend(names);
            out.extend((row.columns.len() as u16).to_be_bytes());
            for column in &row.columns {
                let flags = of[out.len()];
                assert_eq!(flags & 1 == 1, column.in_identity);
                out.push(flags);
                out.extend([column.name, b"\0"].concat());
                out.extend(column.kind.to_be_bytes());
                out.extend(column.modifier.to_be_bytes());
            }
        }
        Event::Insert(table) => {
            out.extend(number(table));
            tuple(b'N', &row.new, &mut out);
        }
        Event::Update(table, old) => {
            out.extend(number(table));
            if let Some(old) = old {
                tuple(mark(*old), &row.old, &mut out);
            }
            tuple(b'N', &row.new, &mut out);
        }
        Event::Delete(table, old) => {
            out.extend(number(table));
            tuple(mark(old.unwrap()), &row.old, &mut out);
        }
        Event::Truncate => {
            out.extend((row.tables.len() as u32).to_be_bytes());
            out.push(of[5]);
            row.tables.iter().for_each(|table| out.extend(number(table)));
        }
        Event::Message(message) => {
            assert_eq!(of[1] & 1 == 1, message.transactional);
            out.extend(&of[1..10]);
            out.extend([message.prefix, b"\0"].concat());
            out.extend((message.content.len() as u32).to_be_bytes());
            out.extend(message.content);
        }
        Event::Other => return of.to_vec(),
    }
    out
}

fn mark(old: Old) -> u8 {
    match old {
        Old::Identity => b'K',
        Old::Whole => b'O',
        Old::WithoutNulls => panic!("{old:?}"),
    }
}

fn tuple(mark: u8, cells: &[Cell<'_>], out: &mut Vec<u8>) {
    out.push(mark);
    out.extend((cells.len() as u16).to_be_bytes());
    for cell in cells {
        let (mark, bytes) = match cell.datum {
            Datum::Null => (b'n', None),
            Datum::Unchanged => (b'u', None),
            Datum::Text(text) => (b't', Some(text)),
            Datum::Binary(bytes) => (b'b', Some(bytes)),
            other => panic!("{other:?}"),
        };
        out.push(mark);
        if let Some(bytes) = bytes {
            out.extend((bytes.len() as u32).to_be_bytes());
            out.extend(bytes);
        }
    }
}

/// The texts of `test_decoding` that say what was read; `None` for those that say no row.
fn texts(event: &Event<'_>, row: &Row<'_>, of: &[u8]) -> Option<Vec<Vec<u8>>> {
    let table = |table: &TableRef<'_>| match table {
        TableRef::Name(name) => name.to_vec(),
        other => panic!("{other:?}"),
    };
    let mut all = Vec::new();
    let cells = |cells: &[Cell<'_>], out: &mut Vec<u8>| {
        for cell in cells {
            let _ = write!(out, " ");
            out.extend(cell.name);
            out.extend([b"[", cell.kind, b"]:"].concat());
            match cell.datum {
                Datum::Null => out.extend(b"null"),
                Datum::Unchanged => out.extend(b"unchanged-toast-datum"),
                Datum::Text(text) | Datum::Doubled(text) => {
                    let at = text.as_ptr() as usize - of.as_ptr() as usize;
                    match (of[at - 1], of[at - 2]) {
                        (b'\'', b'B') => out.extend([b"B'", text, b"'"].concat()),
                        (b'\'', _) => out.extend([b"'", text, b"'"].concat()),
                        _ => out.extend(text),
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    };
    // A row without columns is said so, or by nothing.
    for nothing in [&b" (no-tuple-data)"[..], b""] {
        for nothing_old in [&b" (no-tuple-data)"[..], b""] {
            let mut out = b"table ".to_vec();
            let with = |list: &[Cell<'_>], nothing: &[u8], out: &mut Vec<u8>| match list {
                [] => out.extend(nothing),
                list => cells(list, out),
            };
            match event {
                Event::Insert(of_table) => {
                    out.extend([&table(of_table)[..], b": INSERT:"].concat());
                    with(&row.new, nothing, &mut out);
                }
                Event::Update(of_table, old) => {
                    out.extend([&table(of_table)[..], b": UPDATE:"].concat());
                    if old.is_some() {
                        out.extend(b" old-key:");
                        with(&row.old, nothing_old, &mut out);
                        out.extend(b" new-tuple:");
                    }
                    with(&row.new, nothing, &mut out);
                }
                Event::Delete(of_table, old) => {
                    out.extend([&table(of_table)[..], b": DELETE:"].concat());
                    assert!(old.is_some() || row.old.is_empty());
                    with(&row.old, nothing, &mut out);
                }
                Event::Truncate => {
                    let tables: Vec<Vec<u8>> = row.tables.iter().map(table).collect();
                    out.extend([&tables.join(&b", "[..])[..], b": TRUNCATE:"].concat());
                    out.extend(&of[out.len()..]);
                }
                Event::Message(message) => {
                    let (prefix, content) = (message.prefix, message.content);
                    assert!(inside(prefix, of) && of.ends_with(content));
                    return None;
                }
                _ => return None,
            }
            all.push(out);
        }
    }
    Some(all)
}

fn value(input: &[u8]) -> bool {
    let Some((&kind, text)) = input.split_first() else {
        return false;
    };
    let kind_of = match kind % 10 {
        0 => ColumnType::Integer { bits: 32 },
        1 => ColumnType::Boolean,
        2 => ColumnType::Binary { length: None },
        3 => ColumnType::Date,
        4 => ColumnType::Timestamp { precision: 6 },
        5 => ColumnType::TimestampZoned { precision: 6 },
        6 => ColumnType::Time { precision: 6 },
        7 => ColumnType::Float { bits: 64 },
        8 => ColumnType::Shown { ordered: false },
        _ => ColumnType::Text {
            length: None,
            padded: false,
        },
    };
    let mut values = ValueBuffer::default();
    let image = values.begin(1);
    let mut put = |datum| put(&mut values, image, 0, (&kind_of, None), datum).is_ok();
    let number = text.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
    put(Datum::Int(number));
    put(Datum::Float(f64::from_bits(number as u64)));
    put(Datum::Single(f32::from_bits(number as u32)));
    put(Datum::Point(f64::from_bits(number as u64), 1.0));
    put(Datum::Doubled(text));
    put(Datum::Bytes(text));
    put(Datum::Text(text))
}

fn messages() -> Vec<Vec<u8>> {
    let tuple = |mark: u8, values: &[Option<&str>]| {
        let mut out = vec![mark];
        out.extend((values.len() as u16).to_be_bytes());
        for value in values {
            match value {
                None => out.push(b'n'),
                Some("UNCHANGED") => out.push(b'u'),
                Some(text) => {
                    out.push(b't');
                    out.extend((text.len() as u32).to_be_bytes());
                    out.extend(text.as_bytes());
                }
            }
        }
        out
    };
    let of = |kind: u8, parts: &[&[u8]]| [&[kind], &parts.concat()[..]].concat();
    let (table, lsn, micros) = (9u32.to_be_bytes(), 0x1_0000_0002u64.to_be_bytes(), 5u64.to_be_bytes());
    let (old, new) = (
        tuple(b'O', &[Some("1"), None]),
        tuple(b'N', &[Some("2"), Some("UNCHANGED"), Some("")]),
    );
    vec![
        of(b'B', &[&lsn, &micros, &table]),
        of(b'C', &[&[0], &lsn, &lsn, &micros]),
        of(
            b'R',
            &[
                &table,
                b"My Sch\0t\0d\0\x02\x01id\0",
                &table,
                &[255; 4],
                b"\0Sel ect\0",
                &table,
                &table,
            ],
        ),
        of(b'I', &[&table, &new]),
        of(b'U', &[&table, &old, &new]),
        of(b'U', &[&table, &new]),
        of(b'D', &[&table, &tuple(b'K', &[Some("it's"), None])]),
        of(b'T', &[&2u32.to_be_bytes(), &[3], &table, &table]),
        of(b'M', &[&[1], &lsn, b"tidemark\0", &3u32.to_be_bytes(), b"a\0b"]),
        of(b'Y', &[&table, b"s\0mood\0"]),
        of(b'O', &[&lsn, b"elsewhere\0"]),
    ]
}

const TEXTS: [&str; 12] = [
    "BEGIN 735",
    "COMMIT 7 (at 2024-01-31 12:00:00.123456+00)",
    "table public.t: INSERT: id[integer]:-1 n[numeric]:1.50 f[double precision]:NaN ok[boolean]:true",
    "table \"My Sch\".\"O\"\"L\": UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 \"a b\"[text[]]:'it''s'",
    "table a.b: UPDATE: id[integer]:1 big[text]:unchanged-toast-datum v[text]:null vb[bit varying]:B'101'",
    "table a.b: DELETE: id[integer]:1",
    "table a.b: DELETE: (no-tuple-data)",
    "table a.b: INSERT: (no-tuple-data)",
    "table a.b, \"C d\".\"e, f\": TRUNCATE: restart_seqs cascade",
    "message: transactional: 1 prefix: a, sz: 2, sz: 12 content:b, sz: 4 con",
    "table a.b: INSERT: w[\"My Sch\".\"ty]pe: [1]\"]:'v' by[bytea]:'\\x00ff'",
    "table a.b: UPDATE: old-key: new-tuple: id[integer]:2",
];

/// Messages of both forms.
fn buffers() -> Vec<Vec<u8>> {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let number = |number: u8, value: u8| vec![number << 3, value];
    let float = |number: u8| [&[number << 3 | 1], &1.5f64.to_le_bytes()[..]].concat();
    let mut all = Vec::new();
    for shift in [0, 1] {
        let value = |rest: &[u8]| [field(1, b"id"), number(2, 23), rest.to_vec()].concat();
        let values = [
            value(&number(3 + shift, 7)),
            value(&field(8 + shift, b"it's")),
            value(&float(6 + shift)),
            value(&field(9 + shift, b"\0\xff")),
            value(&field(10 + shift, &[float(1), float(2)].concat())),
            value(&number(11 + shift, 1)),
        ];
        for operation in 0..3 {
            let (names, at): (Vec<u8>, u8) = match shift {
                0 => (field(3, b"s.t"), 4),
                _ => ([field(3, b"s"), field(4, b"t")].concat(), 5),
            };
            let new = values.iter().flat_map(|value| field(at + 1, value));
            let old = values.iter().take(2).flat_map(|value| field(at + 2, value));
            let (new, old): (Vec<u8>, Vec<u8>) = (new.collect(), old.collect());
            all.push([number(1, 7), number(2, 5), names, number(at, operation), new, old].concat());
        }
        for bound in [3, 4] {
            all.push([number(1, 7), number(2, 5), number(4 + shift, bound)].concat());
        }
    }
    all
}
