use tidemark::catalog::ColumnType;
use tidemark::error::{Error, ErrorKind};
use tidemark::row::codec::{Codec, OnValueError};
use tidemark::row::layout::{FlinkType, UNBOUNDED};
use tidemark::row::value::{Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};

use crate::captured::{codec, declared, encode, table};
use crate::reader::{Read, read};

const STRING: FlinkType = FlinkType::VarChar { length: UNBOUNDED };

fn orders(from: ColumnType, to: FlinkType, nullable: bool, on_error: OnValueError) -> Codec {
    codec(
        table([
            ("ID".to_owned(), ColumnType::Integer { bits: 64 }),
            ("AMOUNT".to_owned(), from),
        ]),
        &[
            declared("ID", FlinkType::BigInt, false),
            declared("amount", to, nullable),
        ],
        "+08:00",
        on_error,
    )
}

fn failure(from: ColumnType, to: FlinkType, value: Value<'_>) -> Error {
    let codec = orders(from, to, true, OnValueError::Fail);
    encode(
        &codec,
        RowKind::Insert,
        &[Value::Number(b"42"), value],
        &RowOrigin::default(),
    )
    .expect_err("refused")
}

fn decimal() -> ColumnType {
    ColumnType::Decimal {
        precision: None,
        scale: 0,
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_with_table_key_and_column() {
    for (from, to, value, reason) in [
        (
            decimal(),
            FlinkType::TinyInt,
            Value::Int(128),
            "128 is not between -128 and 127",
        ),
        (
            decimal(),
            FlinkType::Int,
            Value::Number(b"1.5"),
            "'1.5' is not a whole number",
        ),
        (
            decimal(),
            FlinkType::Decimal { precision: 5, scale: 2 },
            Value::Number(b"1.005"),
            "'1.005' has more than 2 digits behind the point",
        ),
        (
            decimal(),
            FlinkType::Decimal { precision: 5, scale: 2 },
            Value::Int(1000),
            "1000 has more digits before the point than DECIMAL(5, 2)",
        ),
        (
            decimal(),
            FlinkType::BigInt,
            Value::Number(b"NaN"),
            "'NaN' is not a number",
        ),
        (
            ColumnType::Float { bits: 64 },
            FlinkType::Double,
            Value::Number(b"1E400"),
            "beyond the range",
        ),
        (
            ColumnType::Timestamp { precision: 6 },
            FlinkType::Timestamp { precision: 6 },
            Value::Text(b"infinity"),
            "'infinity' is not a date",
        ),
        (
            ColumnType::Timestamp { precision: 6 },
            FlinkType::Timestamp { precision: 6 },
            Value::Timestamp(b"2026-01-02 10:20:30 +08:00"),
            "declare the column as TIMESTAMP_LTZ",
        ),
        (
            ColumnType::Date,
            FlinkType::Date,
            Value::Timestamp(b"2026-01-02 10:20:30"),
            "has a time of day; declare the column as TIMESTAMP",
        ),
        (
            ColumnType::Text {
                length: None,
                padded: false,
            },
            STRING,
            Value::Text(b"\xc4\xe3\xba\xc3"),
            "is not UTF-8 at byte 0",
        ),
        (
            ColumnType::Boolean,
            FlinkType::Boolean,
            Value::Int(2),
            "2 is neither true nor false",
        ),
        (
            ColumnType::Binary { length: None },
            FlinkType::VarBinary { length: 8 },
            Value::Hex(b"0g"),
            "hexadecimal",
        ),
    ] {
        let error = failure(from, to, value);
        let text = error.to_string();
        assert!(matches!(error.kind(), ErrorKind::Value { .. }), "{text}");
        assert!(!error.is_retryable());
        for part in ["column 'amount'", "key ID=42", "table BIZ.ORDERS", reason] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}

#[test]
fn a_value_that_is_not_there_is_never_null() {
    let error = failure(decimal(), FlinkType::Int, Value::Unavailable);
    assert!(
        matches!(error.kind(), ErrorKind::ValueUnavailable { column, key } if column == "amount" && key == "ID=42")
    );
    let error = failure(decimal(), FlinkType::Int, Value::Absent);
    assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{error}");
    assert!(error.to_string().contains("'amount'"), "{error}");
}

#[test]
fn null_needs_a_nullable_column() {
    let values = [Value::Null, Value::Int(1)];
    let codec = orders(decimal(), FlinkType::Int, true, OnValueError::Null);
    let error = encode(&codec, RowKind::Insert, &values, &RowOrigin::default()).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("column 'ID' of the row with key ID=NULL: it is NULL"),
        "{error}"
    );
}

#[test]
fn on_request_what_does_not_fit_is_null_and_counted() {
    let text = ColumnType::Text {
        length: None,
        padded: false,
    };
    let bad = [Value::Int(1), Value::Text(b"a text that is long enough, but \xff")];
    let codec = orders(text.clone(), STRING, true, OnValueError::Null);
    let row = encode(&codec, RowKind::Insert, &bad, &RowOrigin::default()).expect("a row");
    assert_eq!(
        read(&row, &[FlinkType::BigInt, STRING]).1,
        [Read::Integer(1), Read::Null]
    );
    assert_eq!(codec.nulled_values(), 1);
    let strict = orders(text, STRING, false, OnValueError::Null);
    assert!(encode(&strict, RowKind::Insert, &bad, &RowOrigin::default()).is_err());
    assert_eq!(strict.nulled_values(), 0);
}

#[test]
fn keys_come_from_the_table_s_encoder() {
    let codec = orders(decimal(), FlinkType::Int, true, OnValueError::Fail);
    let mut values = ValueBuffer::default();
    let image = values.begin(2);
    values.set(image, 0, Value::Int(7));
    let mut key = vec![1];
    codec.key(0, &values, image, &mut key).expect("a key");
    assert_eq!(key, b"\x01Int(7)");
    assert_eq!(codec.key_text(0, &values, image), "ID=7");
    let error = codec.key(1, &values, image, &mut key).expect_err("no such table");
    assert!(matches!(error.kind(), ErrorKind::Internal(_)));
}

/// Neither the server's zone nor the session's is taken by guess.
#[test]
fn a_point_in_time_without_its_offset_is_refused() {
    let at = Value::Timestamp(b"2024-03-01 08:00:00.5");
    for from in [
        ColumnType::TimestampZoned { precision: 6 },
        ColumnType::TimestampLocal { precision: 6 },
    ] {
        let error = failure(from, FlinkType::TimestampLtz { precision: 6 }, at).to_string();
        assert!(
            error.contains("TM-4001") && error.contains("'amount' of the row with key ID=42"),
            "{error}"
        );
        assert!(error.contains("has no offset"), "{error}");
    }
    let error = failure(ColumnType::TimeZoned { precision: 6 }, STRING, Value::Time(b"08:00:00")).to_string();
    assert!(error.contains("not a time of day with its offset"), "{error}");
}
