//! What a row costs from a driver's or a log's words to Flink's layout.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput};
use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::error::Result;
use tidemark::row::codec::{CapturedTable, Codec, KeyEncoder, OnValueError};
use tidemark::row::layout::{DeclaredColumn, resolve};
use tidemark::row::value::{Value, ValueBuffer};
use tidemark::row::zone::Zone;
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::split::TableName;

const ROWS: usize = 1_000;

struct NoKey;

impl KeyEncoder for NoKey {
    fn encode<'v>(&self, _: &dyn Fn(usize) -> Value<'v>, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        nullable: true,
        is_virtual: false,
        collated: false,
    }
}

/// A key, a text of 20 bytes, an amount, a time of change, a flag and a note of 53 bytes.
fn orders() -> Codec {
    let text = |length| ColumnType::Text {
        length: Some(length),
        padded: false,
    };
    let table = Table {
        name: Arc::new(TableName {
            schema: "BIZ".into(),
            name: "ORDERS".into(),
        }),
        object_id: 1,
        version: 0,
        columns: vec![
            column("ID", ColumnType::Integer { bits: 64 }),
            column("NAME", text(64)),
            column(
                "AMOUNT",
                ColumnType::Decimal {
                    precision: Some(12),
                    scale: 2,
                },
            ),
            column("CHANGED", ColumnType::Timestamp { precision: 6 }),
            column("ACTIVE", ColumnType::Boolean),
            column("NOTE", text(200)),
        ],
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: tidemark::catalog::text_order::TextOrder::BYTES,
    };
    let declared: Vec<DeclaredColumn> = serde_json::from_str(
        r#"[{"name":"ID","type":"BIGINT"},{"name":"NAME","type":"STRING"},
            {"name":"AMOUNT","type":"DECIMAL","precision":12,"scale":2},{"name":"CHANGED","type":"TIMESTAMP","precision":6},
            {"name":"ACTIVE","type":"BOOLEAN"},{"name":"NOTE","type":"STRING"}]"#,
    )
    .expect("columns");
    let columns = resolve(&declared, &table).expect("columns");
    let captured = CapturedTable {
        table,
        key: Arc::new(NoKey),
        columns,
    };
    Codec::new(vec![captured], "DAMENG", Zone::UTC, OnValueError::Fail)
}

fn encode(c: &mut Criterion) {
    let codec = orders();
    let name = Value::Text("客户-0000123456".as_bytes());
    let note = Value::Text(b"a note as people write them into such columns, really");
    let driver = [
        Value::Int(1_234_567),
        name,
        Value::Number(b"12345.60"),
        Value::Text(b"2026-01-02 10:20:30.123456"),
        Value::Int(1),
        note,
    ];
    let log = [
        Value::Number(b"1234567"),
        name,
        Value::Number(b"12345.6"),
        Value::Timestamp(b"2026-01-02 10:20:30.123456"),
        Value::Number(b"1"),
        note,
    ];
    let mut group = c.benchmark_group("row");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (case, row) in [("driver", driver), ("log", log)] {
        let mut values = ValueBuffer::default();
        let image = values.begin(row.len());
        for (at, value) in row.iter().enumerate() {
            values.set(image, at, *value);
        }
        let origin = RowOrigin::default();
        group.bench_function(case, |b| {
            b.iter_batched_ref(
                || Vec::with_capacity(ROWS * 256),
                |out| {
                    for _ in 0..ROWS {
                        codec
                            .row(0, RowKind::Insert, black_box(&values), image, &origin, out)
                            .expect("a row");
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    encode(&mut criterion);
    criterion.final_summary();
}
