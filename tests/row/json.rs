//! Debezium's envelope as JSON.

use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Value as Json, json};
use tidemark::catalog::change::{ChangeKind, SchemaChange};
use tidemark::catalog::{ColumnType, Table};
use tidemark::error::{ErrorKind, Result};
use tidemark::row::codec::{CapturedTable, Codec, Form, OnValueError};
use tidemark::row::debezium_json::{Decimals, JsonSettings, Times};
use tidemark::row::layout::all_columns;
use tidemark::row::value::Value;
use tidemark::row::zone::Zone;
use tidemark::row::{RowCodec, RowOrigin};

use crate::captured::FirstColumn;
use crate::events::{Example, NINES, TEXT, altered, event, examples, in_the_log, natural_codec, shape_event};

const NOW: i64 = 1_800_000_000_123;

fn settings(decimals: Decimals, times: Times) -> Form {
    Form::Json(JsonSettings {
        decimals,
        times,
        clock: || NOW,
        ..JsonSettings::new("dameng-cdc")
    })
}

fn text(event: Vec<u8>) -> String {
    String::from_utf8(event).expect("UTF-8")
}

/// `"name":value` of both values of every example, as they stand in the text.
fn members(decimals: Decimals, times: Times) -> [Vec<String>; 2] {
    let examples = examples();
    let codec = natural_codec(&examples, settings(decimals, times), OnValueError::Fail);
    let first: Vec<_> = examples.iter().map(|(_, _, value, _)| *value).collect();
    let second: Vec<_> = examples.iter().map(|(_, _, _, value)| *value).collect();
    let update = text(event(&codec, Some(&first), Some(&second), &in_the_log(1, 1)).unwrap());
    let parsed: Json = serde_json::from_str(&update).expect("JSON");
    assert_eq!(parsed["op"], "u");
    let (before, after) = update
        .strip_prefix("{\"before\":{")
        .and_then(|rest| rest.split_once("},\"after\":{"))
        .expect("two images");
    let (after, _) = after.split_once("},\"source\":{").expect("a source");
    // No text of an example has these characters next to one another.
    [before, after].map(|image| {
        let mut members: Vec<String> = image.split(",\"").map(|member| format!("\"{member}")).collect();
        members[0].remove(0);
        members
    })
}

#[test]
fn every_type_has_the_form_that_flinks_format_reads_by_default() {
    let [first, second] = members(Decimals::default(), Times::default());
    assert_eq!(
        first,
        [
            r#""ID":9223372036854775807"#,
            r#""BIT":true"#,
            r#""TINY":-128"#,
            r#""SMALL":-32768"#,
            r#""INT":7"#,
            r#""PRICE":"-0.50""#,
            &format!(r#""WIDE":"{NINES}""#),
            r#""SMALLEST":"-0.00000000000000000000000000000000000001""#,
            r#""ANY":"12.5""#,
            r#""REAL":0.1"#,
            r#""DOUBLE":1e+300"#,
            r#""CODE":"ab""#,
            concat!(
                r#""NAME":"say \"hm\\\" \b\f\n\r\t\u0000\u001f"#,
                "\u{7f} 葡萄 \u{1f347} \u{2028}</script>\""
            ),
            r#""NOTE":"é""#,
            r#""RAW":"AP8Q""#,
            r#""BLOB":"AP8Q/g==""#,
            r#""DAY":"2024-02-29""#,
            r#""AT":"23:59:59.123456""#,
            r#""SECONDS":"2024-01-31 09:30:15""#,
            r#""CHANGED":"2024-01-31 09:30:15.500000""#,
            r#""NANOS":"2024-01-31 09:30:15.123456789""#,
            r#""ZONED":"2024-01-31 01:30:15.125Z""#,
            r#""a\"b\\\n葡":1"#,
        ]
    );
    assert_eq!(
        second,
        [
            r#""ID":-9223372036854775808"#,
            r#""BIT":false"#,
            r#""TINY":127"#,
            r#""SMALL":null"#,
            r#""INT":-2147483648"#,
            r#""PRICE":"1234567890.10""#,
            r#""WIDE":"0""#,
            r#""SMALLEST":"0.50000000000000000000000000000000000000""#,
            r#""ANY":"-15000000000000000000000000000000000000000""#,
            r#""REAL":"NaN""#,
            r#""DOUBLE":"-Infinity""#,
            r#""CODE":"""#,
            r#""NAME":"x  ""#,
            r#""NOTE":null"#,
            r#""RAW":"""#,
            r#""BLOB":"YQ==""#,
            r#""DAY":"0001-01-01""#,
            r#""AT":"00:00:00.000000""#,
            r#""SECONDS":"1969-12-31 23:59:59""#,
            r#""CHANGED":"9999-12-31 23:59:59.999999""#,
            r#""NANOS":"9999-12-31 23:59:59.999999999""#,
            r#""ZONED":"1970-01-01 00:00:00.000Z""#,
            r#""a\"b\\\n葡":2"#,
        ]
    );
}

fn some(members: &[String], names: &[&str]) -> Vec<String> {
    let named = |member: &&String| names.iter().any(|name| member.starts_with(&format!("\"{name}\":")));
    members.iter().filter(named).cloned().collect()
}

#[test]
fn decimals_and_times_are_as_the_options_say() {
    let numbers = ["PRICE", "WIDE", "SMALLEST", "ANY"];
    let [first, second] = members(Decimals::Precise, Times::Iso8601);
    assert_eq!(
        some(&first, &numbers),
        [
            r#""PRICE":-0.50"#,
            &format!(r#""WIDE":{NINES}"#),
            r#""SMALLEST":-0.00000000000000000000000000000000000001"#,
            r#""ANY":12.5"#,
        ]
    );
    assert_eq!(
        some(&second, &numbers[2..]),
        [
            r#""SMALLEST":0.50000000000000000000000000000000000000"#,
            r#""ANY":-15000000000000000000000000000000000000000"#,
        ]
    );
    let times = ["DAY", "AT", "SECONDS", "CHANGED", "ZONED"];
    assert_eq!(
        some(&first, &times),
        [
            r#""DAY":"2024-02-29""#,
            r#""AT":"23:59:59.123456""#,
            r#""SECONDS":"2024-01-31T09:30:15""#,
            r#""CHANGED":"2024-01-31T09:30:15.500000""#,
            r#""ZONED":"2024-01-31T01:30:15.125Z""#,
        ]
    );
    let [first, second] = members(Decimals::Double, Times::Adaptive);
    assert_eq!(
        some(&first, &numbers),
        [
            r#""PRICE":-0.5"#,
            r#""WIDE":1e+38"#,
            r#""SMALLEST":-1e-38"#,
            r#""ANY":12.5"#
        ]
    );
    let times = ["DAY", "AT", "SECONDS", "CHANGED", "NANOS", "ZONED"];
    assert_eq!(
        some(&first, &times),
        [
            r#""DAY":19782"#,
            r#""AT":86399123456"#,
            r#""SECONDS":1706693415000"#,
            r#""CHANGED":1706693415500000"#,
            r#""NANOS":1706693415123456789"#,
            r#""ZONED":"2024-01-31T01:30:15.125Z""#,
        ]
    );
    assert_eq!(
        some(&second, &times[..5]),
        [
            r#""DAY":-719162"#,
            r#""AT":0"#,
            r#""SECONDS":-1000"#,
            r#""CHANGED":253402300799999999"#,
            // Beyond 64 bits: exact all the same.
            r#""NANOS":253402300799999999999"#,
        ]
    );
}

fn small() -> Vec<Example> {
    let mut examples = examples();
    examples.truncate(2);
    examples
}

fn small_codec() -> Codec {
    natural_codec(&small(), settings(Decimals::String, Times::Sql), OnValueError::Fail)
}

#[test]
fn the_envelope_is_debeziums() {
    let codec = small_codec();
    let (one, two) = ([Value::Int(1), Value::Int(0)], [Value::Int(1), Value::Int(1)]);
    let version = env!("CARGO_PKG_VERSION");
    let source = |ts_ms: i64, snapshot: &str, tx: &str, scn: &str, commit_scn: &str| {
        format!(
            r#"{{"version":"{version}","connector":"dameng","name":"dameng-cdc","ts_ms":{ts_ms},"snapshot":"{snapshot}","#
        ) + &format!(
            r#""db":"DAMENG","schema":"BIZ","table":"ORDERS","txId":{tx},"scn":{scn},"commit_scn":{commit_scn}}}"#
        )
    };
    let logged = source(
        1_706_665_815_123,
        "false",
        r#""77""#,
        r#""9007199254740993""#,
        r#""18446744073709551615""#,
    );
    let read = source(0, "true", "null", "null", "null");
    let transaction =
        |total, of_table| format!(r#"{{"id":"77","total_order":{total},"data_collection_order":{of_table}}}"#);
    let snapshot = RowOrigin::default();
    for (before, after, origin, expected) in [
        (
            None,
            Some(&one[..]),
            &snapshot,
            format!(
                r#"{{"before":null,"after":{{"ID":1,"BIT":false}},"source":{read},"op":"r","ts_ms":{NOW},"transaction":null}}"#
            ),
        ),
        (
            None,
            Some(&one[..]),
            &in_the_log(1, 1),
            format!(
                r#"{{"before":null,"after":{{"ID":1,"BIT":false}},"source":{logged},"op":"c","ts_ms":{NOW},"transaction":{}}}"#,
                transaction(1, 1)
            ),
        ),
        (
            Some(&one[..]),
            Some(&two[..]),
            &in_the_log(2, 2),
            format!(
                r#"{{"before":{{"ID":1,"BIT":false}},"after":{{"ID":1,"BIT":true}},"source":{logged},"op":"u","ts_ms":{NOW},"transaction":{}}}"#,
                transaction(2, 2)
            ),
        ),
        (
            Some(&two[..]),
            None,
            &in_the_log(7, 3),
            format!(
                r#"{{"before":{{"ID":1,"BIT":true}},"after":null,"source":{logged},"op":"d","ts_ms":{NOW},"transaction":{}}}"#,
                transaction(7, 3)
            ),
        ),
    ] {
        assert_eq!(text(event(&codec, before, after, origin).unwrap()), expected);
    }
}

#[test]
fn a_change_of_shape_is_what_debeziums_schema_change_topic_has() {
    let form = Form::Json(JsonSettings {
        schema_changes: true,
        clock: || NOW,
        ..JsonSettings::new("dameng-cdc")
    });
    let codec = natural_codec(&small(), form, OnValueError::Fail);
    let parsed = |change: &SchemaChange| -> Json {
        let event = shape_event(&codec, change).expect("an event");
        serde_json::from_slice(&event).expect("JSON")
    };
    let alter = altered();
    let event = parsed(&alter);
    assert_eq!(
        event,
        json!({
            "source": {
                "version": env!("CARGO_PKG_VERSION"), "connector": "dameng", "name": "dameng-cdc",
                "ts_ms": 1_706_665_815_123_i64, "snapshot": "false", "db": "DAMENG", "schema": "BIZ", "table": "ORDERS",
                "txId": "77", "scn": "9007199254740993", "commit_scn": "18446744073709551615",
            },
            "ts_ms": NOW,
            "databaseName": "DAMENG",
            "schemaName": "BIZ",
            "ddl": alter.statement,
            "tableChanges": [{
                "type": "ALTER",
                "id": "\"DAMENG\".\"BIZ\".\"ORDERS\"",
                "table": {
                    "primaryKeyColumnNames": ["ID"],
                    "columns": [
                        {"name": "ID", "typeName": "BIGINT", "position": 1, "optional": false},
                        {"name": "PRICE", "typeName": "DECIMAL(12, 2)", "position": 2, "optional": true},
                    ],
                },
            }],
        })
    );
    let of_kind = |kind, shape| {
        parsed(&SchemaChange {
            kind,
            shape,
            ..altered()
        })["tableChanges"]
            .clone()
    };
    assert_eq!(of_kind(ChangeKind::Truncate, alter.shape.clone()), json!([]));
    let id = "\"DAMENG\".\"BIZ\".\"ORDERS\"";
    assert_eq!(
        of_kind(ChangeKind::Drop, None),
        json!([{"type": "DROP", "id": id, "table": null}])
    );
    assert_eq!(of_kind(ChangeKind::Create, alter.shape)[0]["type"], "CREATE");
}

/// The table loses BIT and gets PRICE: events have the columns of the shape that counts, as a table of that shape has them.
#[test]
fn events_follow_the_shape_of_their_table() {
    let prepare = |table: &Table| -> Result<CapturedTable> {
        Ok(CapturedTable {
            table: table.clone(),
            key: Arc::new(FirstColumn),
            columns: all_columns(table)?,
        })
    };
    let shape = altered().shape.expect("a shape");
    let was = small();
    let forms: [fn() -> Form; 2] = [
        || settings(Decimals::String, Times::Sql),
        || Form::Changes { schema_changes: true },
    ];
    for form in forms {
        let codec = natural_codec(&was, form(), OnValueError::Fail).with_shapes(Arc::new(prepare));
        let old = [Value::Int(1), Value::Int(0)];
        let before = event(&codec, None, Some(&old), &in_the_log(1, 1)).unwrap();
        codec.reshape(0, &shape).unwrap();
        let row = [Value::Int(1), Value::Number(b"1.50")];
        let after = event(&codec, None, Some(&row), &in_the_log(1, 1)).unwrap();
        let anew = CapturedTable {
            table: (*shape).clone(),
            key: Arc::new(FirstColumn),
            columns: all_columns(&shape).unwrap(),
        };
        let zone = Zone::parse("+08:00").expect("zone");
        let anew = Codec::new(vec![anew], "DAMENG", zone, OnValueError::Fail).with_form(form());
        assert_eq!(after, event(&anew, None, Some(&row), &in_the_log(1, 1)).unwrap());
        assert_ne!(after, before);
        assert_eq!(shape_event(&codec, &altered()), shape_event(&anew, &altered()));
    }

    // Another key is another table to those downstream.
    let codec = small_codec().with_shapes(Arc::new(prepare));
    let other = Table {
        key: vec![1],
        ..(*shape).clone()
    };
    let error = codec.reshape(0, &Arc::new(other)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
    assert!(error.to_string().contains("key was (ID) and is (PRICE) now"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_whole_or_null_on_request() {
    let rows = [Value::Int(1), Value::Int(2)];
    let error = event(&small_codec(), None, Some(&rows), &in_the_log(1, 1)).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Value { column, .. } if column == "BIT"),
        "{error}"
    );

    let mut examples = examples();
    examples.retain(|(name, ..)| ["ID", "PRICE", "ANY", "BLOB", "NAME", "DAY"].contains(name));
    let wrong = [
        Value::Int(1),
        Value::Number(b"1.005"),
        Value::Number(b"12x"),
        Value::Text(b"\xff"),
        Value::Hex(b"00zz"),
        Value::Date(b"2024-02-30"),
    ];
    for form in [
        settings(Decimals::String, Times::Sql),
        settings(Decimals::Double, Times::Adaptive),
    ] {
        let codec = natural_codec(&examples, form, OnValueError::Null);
        let update = event(&codec, Some(&wrong), Some(&wrong), &in_the_log(1, 1)).unwrap();
        let parsed: Json = serde_json::from_slice(&update).expect("JSON");
        let nulls = json!({"ID": 1, "PRICE": null, "ANY": null, "NAME": null, "BLOB": null, "DAY": null});
        assert_eq!((&parsed["before"], &parsed["after"]), (&nulls, &nulls));
    }
}

/// As a number with many digits no DOUBLE holds: refused, not infinite.
#[test]
fn a_number_beyond_double_is_refused_where_doubles_are_asked_for() {
    let examples = vec![(
        "N",
        ColumnType::Decimal {
            precision: None,
            scale: 0,
        },
        Value::Null,
        Value::Null,
    )];
    let codec = natural_codec(&examples, settings(Decimals::Double, Times::Sql), OnValueError::Fail);
    let error = event(&codec, None, Some(&[Value::Number(b"1E400")]), &in_the_log(1, 1)).unwrap_err();
    assert!(error.to_string().contains("beyond the range"), "{error}");
}

#[test]
fn any_text_and_any_bytes_come_back() {
    let mut examples = examples();
    examples.retain(|(name, ..)| ["NAME", "BLOB", "RAW"].contains(name));
    let codec = natural_codec(&examples, settings(Decimals::String, Times::Sql), OnValueError::Fail);
    let mut rng = Rng::with_seed(0x7469_6465);
    for _ in 0..2_000 {
        let length = rng.usize(..40);
        let written: String = (0..length)
            .map(|_| match rng.u8(..4) {
                0 => char::from(rng.u8(..128)),
                1 => TEXT.chars().nth(rng.usize(..TEXT.chars().count())).unwrap_or('x'),
                _ => rng.char(..),
            })
            .collect();
        let bytes: Vec<u8> = (0..rng.usize(..20)).map(|_| rng.u8(..)).collect();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let row = [
            Value::Text(written.as_bytes()),
            Value::Bytes(&bytes),
            Value::Hex(hex.as_bytes()),
        ];
        let create = event(&codec, None, Some(&row), &in_the_log(1, 1)).unwrap();
        let parsed: Json = serde_json::from_slice(&create).expect("JSON");
        assert_eq!(parsed["after"]["NAME"], written);
        for column in ["RAW", "BLOB"] {
            let text = parsed["after"][column].as_str().expect("a text");
            assert_eq!(debase64(text), bytes, "{text}");
        }
    }
}

/// As RFC 4648 says, written down the slow way.
fn debase64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'=')
        .flat_map(|byte| {
            let value = digits.iter().position(|digit| *digit == byte).expect("a digit");
            (0..6).rev().map(move |bit| (value >> bit & 1) as u8)
        })
        .collect();
    assert_eq!(text.len() % 4, 0);
    bits.chunks_exact(8)
        .map(|byte| byte.iter().fold(0, |value, bit| value << 1 | bit))
        .collect()
}
