//! A table with a column of every type, a row of it in the words of a log, and its events. Those of the binary form are
//! also given to the test on the other side of the bridge: `tests/fixtures/changes.tsv`. Set `TIDEMARK_WRITE_FIXTURES`
//! to write it anew.

use std::path::PathBuf;
use std::sync::Arc;

use tidemark::catalog::change::{ChangeKind, SchemaChange};
use tidemark::catalog::{Column, ColumnType};
use tidemark::error::Result;
use tidemark::position::{Scn, Xid};
use tidemark::row::codec::{Codec, Form, OnValueError};
use tidemark::row::debezium_json::JsonSettings;
use tidemark::row::layout::DeclaredColumn;
use tidemark::row::value::{Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin, Updates};

use crate::captured::{codec, table};

/// Name, type, a value, another value.
pub type Example = (&'static str, ColumnType, Value<'static>, Value<'static>);

pub const NINES: &str = "99999999999999999999999999999999999999";
/// A quotation mark, a backslash, control characters, a character of four bytes and the one that ends lines for some.
pub const TEXT: &str = "say \"hm\\\" \u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f} 葡萄 \u{1f347} \u{2028}</script>";

pub fn examples() -> Vec<Example> {
    let text = |padded| ColumnType::Text {
        length: Some(100),
        padded,
    };
    let decimal = |precision, scale| ColumnType::Decimal {
        precision: Some(precision),
        scale,
    };
    vec![
        (
            "ID",
            ColumnType::Integer { bits: 64 },
            Value::Int(i64::MAX),
            Value::Int(i64::MIN),
        ),
        ("BIT", ColumnType::Boolean, Value::Int(1), Value::Number(b"0")),
        (
            "TINY",
            ColumnType::Integer { bits: 8 },
            Value::Int(-128),
            Value::Number(b"127"),
        ),
        (
            "SMALL",
            ColumnType::Integer { bits: 16 },
            Value::Number(b"-32768"),
            Value::Null,
        ),
        (
            "INT",
            ColumnType::Integer { bits: 32 },
            Value::Int(7),
            Value::Number(b"-2147483648"),
        ),
        (
            "PRICE",
            decimal(12, 2),
            Value::Number(b"-0.5"),
            Value::Number(b"1234567890.1"),
        ),
        ("WIDE", decimal(38, 0), Value::Number(NINES.as_bytes()), Value::Int(0)),
        (
            "SMALLEST",
            decimal(38, 38),
            Value::Number(b"-1E-38"),
            Value::Number(b"0.5"),
        ),
        (
            "ANY",
            ColumnType::Decimal {
                precision: None,
                scale: 0,
            },
            Value::Number(b"12.50"),
            Value::Number(b"-1.5E+40"),
        ),
        (
            "REAL",
            ColumnType::Float { bits: 32 },
            Value::Number(b"0.1"),
            Value::Number(b"NaN"),
        ),
        (
            "DOUBLE",
            ColumnType::Float { bits: 64 },
            Value::Number(b"1E300"),
            Value::Number(b"-Inf"),
        ),
        ("CODE", text(true), Value::Text(b"ab  "), Value::Text(b"")),
        ("NAME", text(false), Value::Text(TEXT.as_bytes()), Value::Text(b"x  ")),
        (
            "NOTE",
            ColumnType::Text {
                length: None,
                padded: false,
            },
            Value::Text("é".as_bytes()),
            Value::Null,
        ),
        (
            "RAW",
            ColumnType::Binary { length: Some(9) },
            Value::Bytes(b"\x00\xff\x10"),
            Value::Hex(b""),
        ),
        (
            "BLOB",
            ColumnType::Binary { length: None },
            Value::Hex(b"00ff10fe"),
            Value::Bytes(b"a"),
        ),
        (
            "DAY",
            ColumnType::Date,
            Value::Date(b"2024-02-29"),
            Value::Timestamp(b"0001-01-01 00:00:00"),
        ),
        (
            "AT",
            ColumnType::Time { precision: 6 },
            Value::Time(b"23:59:59.123456"),
            Value::Time(b"00:00:00"),
        ),
        (
            "SECONDS",
            ColumnType::Timestamp { precision: 0 },
            Value::Timestamp(b"2024-01-31 09:30:15"),
            Value::Timestamp(b"1969-12-31 23:59:59"),
        ),
        (
            "CHANGED",
            ColumnType::Timestamp { precision: 6 },
            Value::Timestamp(b"2024-01-31 09:30:15.5"),
            Value::Timestamp(b"9999-12-31 23:59:59.999999"),
        ),
        (
            "NANOS",
            ColumnType::Timestamp { precision: 9 },
            Value::Timestamp(b"2024-01-31 09:30:15.123456789"),
            Value::Timestamp(b"9999-12-31 23:59:59.999999999"),
        ),
        (
            "ZONED",
            ColumnType::TimestampZoned { precision: 3 },
            Value::Timestamp(b"2024-01-31 09:30:15.125 +08:00"),
            Value::Timestamp(b"1970-01-01 00:00:00 +00:00"),
        ),
        // A name that has to be escaped.
        (
            "a\"b\\\n葡",
            ColumnType::Integer { bits: 32 },
            Value::Int(1),
            Value::Int(2),
        ),
    ]
}

/// The codec of a table of these columns, all of them in their natural types, at +08:00.
pub fn natural_codec(examples: &[Example], form: Form, on_error: OnValueError) -> Codec {
    let table = table(
        examples
            .iter()
            .map(|(name, kind, ..)| ((*name).to_owned(), kind.clone())),
    );
    let natural = |column: &Column| DeclaredColumn::natural(column).expect("a type that is captured");
    let declared: Vec<_> = table.columns.iter().map(natural).collect();
    codec(table, &declared, "+08:00", on_error).with_form(form)
}

pub fn in_the_log(total_order: u64, table_order: u64) -> RowOrigin {
    RowOrigin {
        commit_micros: 1_706_665_815_123_456,
        scn: Some(Scn(u64::MAX)),
        xid: Some(Xid(77)),
        record: Some(Scn(9_007_199_254_740_993)),
        total_order,
        table_order,
        part: None,
    }
}

/// The event of these images.
pub fn event(
    codec: &Codec,
    before: Option<&[Value<'_>]>,
    after: Option<&[Value<'_>]>,
    origin: &RowOrigin,
) -> Result<Vec<u8>> {
    let mut values = ValueBuffer::default();
    let mut image = |row: &[Value<'_>]| {
        let image = values.begin(row.len());
        for (column, value) in row.iter().enumerate() {
            values.set(image, column, *value);
        }
        image
    };
    let (before, after) = (before.map(&mut image), after.map(&mut image));
    assert_eq!(codec.updates(), Updates::Joined);
    let mut out = b"before".to_vec();
    let written = match (before, after) {
        (Some(before), Some(after)) => codec.update(0, &values, (before, after), origin, &mut out),
        (Some(before), None) => codec.row(0, RowKind::Delete, &values, before, origin, &mut out),
        (None, Some(after)) => codec.row(0, RowKind::Insert, &values, after, origin, &mut out),
        (None, None) => panic!("no event has no image"),
    };
    let event = out.split_off(6);
    assert_eq!(out, b"before");
    match written {
        Ok(()) => Ok(event),
        Err(error) => {
            assert!(event.is_empty(), "an event that failed leaves nothing behind");
            Err(error)
        }
    }
}

/// A table that got a column.
pub fn altered() -> SchemaChange {
    let mut shape = table([
        ("ID".to_owned(), ColumnType::Integer { bits: 64 }),
        (
            "PRICE".to_owned(),
            ColumnType::Decimal {
                precision: Some(12),
                scale: 2,
            },
        ),
    ]);
    shape.columns[0].nullable = false;
    SchemaChange {
        table: shape.name.clone(),
        kind: ChangeKind::Alter,
        statement: "ALTER TABLE \"BIZ\".ORDERS\n\tADD PRICE DECIMAL(12, 2) -- '葡'".into(),
        shape: Some(Arc::new(shape)),
    }
}

/// What goes out of a change of shape; `None` if nothing does.
pub fn shape_event(codec: &Codec, change: &SchemaChange) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let origin = RowOrigin {
        total_order: 0,
        table_order: 0,
        ..in_the_log(0, 0)
    };
    let carried = codec.schema_change(0, change, &origin, &mut out).expect("no error");
    assert_eq!(carried, !out.is_empty());
    carried.then_some(out)
}

#[test]
fn changes_of_shape_go_out_where_they_are_asked_for() {
    let examples = examples();
    for form in [
        Form::Rows { upsert: false },
        Form::Rows { upsert: true },
        Form::Changes { schema_changes: false },
        Form::Json(JsonSettings::new("dameng-cdc")),
    ] {
        let codec = natural_codec(&examples, form, OnValueError::Fail);
        assert_eq!(shape_event(&codec, &altered()), None);
    }
    let codec = natural_codec(&examples, Form::Changes { schema_changes: true }, OnValueError::Fail);
    let other = SchemaChange {
        kind: ChangeKind::Other,
        ..altered()
    };
    assert_eq!(shape_event(&codec, &other), None);
}

const HEAD: &str = "\
# Events for io.tidemark.Change, one a line: the operation and the event's bytes in hexadecimal, divided by a tab.
# tests/row/events.rs has the values; ChangeTest.java says what must be read.
";

#[test]
fn the_changes_given_to_java_are_those_that_the_codec_writes() {
    let examples = examples();
    let codec = natural_codec(&examples, Form::Changes { schema_changes: true }, OnValueError::Fail);
    let first: Vec<_> = examples.iter().map(|(_, _, value, _)| *value).collect();
    let second: Vec<_> = examples.iter().map(|(_, _, _, value)| *value).collect();
    let events = [
        ("read", event(&codec, None, Some(&first), &RowOrigin::default())),
        ("create", event(&codec, None, Some(&second), &in_the_log(1, 1))),
        ("update", event(&codec, Some(&first), Some(&second), &in_the_log(2, 1))),
        ("delete", event(&codec, Some(&second), None, &in_the_log(3, 2))),
        (
            "schema",
            Ok(shape_event(&codec, &altered()).expect("changes of shape go out")),
        ),
    ];
    let mut text = HEAD.to_owned();
    for (operation, event) in events {
        let hex: String = event.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("{operation}\t{hex}\n"));
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes.tsv");
    if std::env::var_os("TIDEMARK_WRITE_FIXTURES").is_some() {
        std::fs::write(&path, &text).expect("the fixture can be written");
    }
    assert_eq!(std::fs::read_to_string(path).expect("the fixture"), text);
}
