use tidemark::catalog::ColumnType;
use tidemark::position::{Scn, Xid};
use tidemark::row::codec::OnValueError;
use tidemark::row::layout::{DeclaredColumn, FlinkType, UNBOUNDED};
use tidemark::row::value::Value;
use tidemark::row::{Part, RowKind, RowOrigin};

use crate::captured::{codec, declared, encode, table};
use crate::reader::{Read, read};

const STRING: FlinkType = FlinkType::VarChar { length: UNBOUNDED };

fn metadata(key: &str, kind: FlinkType) -> DeclaredColumn {
    DeclaredColumn {
        metadata: Some(key.to_owned()),
        ..declared(&format!("the {key}"), kind, true)
    }
}

fn bytes(text: &str) -> Read {
    Read::Bytes(text.as_bytes().to_vec())
}

#[test]
fn metadata_stand_among_columns() {
    let kinds = [
        FlinkType::TimestampLtz { precision: 3 },
        STRING,
        STRING,
        FlinkType::Int,
        STRING,
        STRING,
        FlinkType::BigInt,
        STRING,
        FlinkType::TimestampLtz { precision: 6 },
        FlinkType::Int,
        FlinkType::Boolean,
    ];
    let codec = codec(
        table([("ID".to_owned(), ColumnType::Integer { bits: 32 })]),
        &[
            metadata("op_ts", kinds[0]),
            metadata("table_name", kinds[1]),
            metadata("schema_name", kinds[2]),
            declared("id", kinds[3], false),
            metadata("database_name", kinds[4]),
            metadata("row_kind", kinds[5]),
            metadata("scn", kinds[6]),
            metadata("transaction_id", kinds[7]),
            metadata("op_ts", kinds[8]),
            metadata("fragment", kinds[9]),
            metadata("last_fragment", kinds[10]),
        ],
        "+08:00",
        OnValueError::Fail,
    );
    let origin = RowOrigin {
        commit_micros: -1,
        scn: Some(Scn(900)),
        xid: Some(Xid(77)),
        part: Some(Part { number: 3, last: true }),
        ..RowOrigin::default()
    };
    let fields = |kind, origin: &RowOrigin| {
        let row = encode(&codec, kind, &[Value::Int(5)], origin).expect("a row");
        read(&row, &kinds).1
    };
    assert_eq!(
        fields(RowKind::UpdateBefore, &origin),
        [
            Read::Timestamp(-1, 0),
            bytes("ORDERS"),
            bytes("BIZ"),
            Read::Integer(5),
            bytes("DAMENG"),
            bytes("-U"),
            Read::Integer(900),
            bytes("77"),
            Read::Timestamp(-1, 999_000),
            Read::Integer(3),
            Read::Boolean(true),
        ]
    );
    let snapshot = fields(RowKind::Insert, &RowOrigin::default());
    assert_eq!(snapshot[0], Read::Timestamp(0, 0));
    assert_eq!(snapshot[5], bytes("+I"));
    assert_eq!(snapshot[6..8], [Read::Null, Read::Null]);
    assert_eq!(snapshot[9..], [Read::Null, Read::Null]);
}

#[test]
fn projected_columns_and_the_key_are_needed() {
    let table = table(["ID", "NOTE", "SEAL", "AMOUNT"].map(|name| (name.to_owned(), ColumnType::Integer { bits: 32 })));
    let codec = codec(
        table,
        &[
            metadata("row_kind", STRING),
            declared("AMOUNT", FlinkType::Int, true),
            declared("NOTE", FlinkType::Int, true),
        ],
        "UTC",
        OnValueError::Fail,
    );
    assert_eq!(codec.needed_columns(0), [true, true, false, true]);
    assert!(codec.needed_columns(1).is_empty());
    let row = encode(
        &codec,
        RowKind::Insert,
        &[Value::Int(1), Value::Int(2), Value::Absent, Value::Int(4)],
        &RowOrigin::default(),
    );
    let (_, fields) = read(&row.expect("a row"), &[STRING, FlinkType::Int, FlinkType::Int]);
    assert_eq!(fields[1..], [Read::Integer(4), Read::Integer(2)]);
}
