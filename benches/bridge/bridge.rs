//! The native half of `io.tidemark.bench.BridgeBench`: rows in the words of a driver, as column buffers have them, cross
//! either as they are or in Flink's layout.
//!
//! A row of the source is six values: a length (u16, little endian; 65535 for NULL) and as many bytes each, the first one
//! eight bytes of an integer.

use std::sync::{Arc, Mutex};

use jni::EnvUnowned;
use jni::errors::ThrowRuntimeExAndDefault;
use jni::jni_mangle;
use jni::objects::{JByteArray, JClass};
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::reader::batch::{Batch, BatchBuilder};
use tidemark::row::codec::{CapturedTable, Codec, OnValueError};
use tidemark::row::layout::{DeclaredColumn, resolve};
use tidemark::row::value::{Value, ValueBuffer};
use tidemark::row::zone::Zone;
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::split::TableName;

const NULL: usize = 0xffff;
const COLUMNS: usize = 6;

static BENCH: Mutex<Option<Bench>> = Mutex::new(None);

struct Bench {
    source: Vec<u8>,
    codec: Codec,
}

/// Takes the rows; both sides start from this copy.
#[jni_mangle("io.tidemark.bench.BridgeBench")]
pub extern "system" fn source0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, source: JByteArray<'l>) {
    env.with_env(|env| -> Result<(), jni::errors::Error> {
        let source = env.convert_byte_array(source)?;
        let codec = codec();
        *BENCH.lock().unwrap() = Some(Bench { source, codec });
        Ok(())
    })
    .resolve::<ThrowRuntimeExAndDefault>();
}

/// The rows as they are.
#[jni_mangle("io.tidemark.bench.BridgeBench")]
pub extern "system" fn raw0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    env.with_env(|env| -> Result<_, jni::errors::Error> {
        let bench = BENCH.lock().unwrap();
        env.byte_array_from_slice(&bench.as_ref().unwrap().source)
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

/// The rows in Flink's layout, filled into a batch.
#[jni_mangle("io.tidemark.bench.BridgeBench")]
pub extern "system" fn batch0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    env.with_env(|env| -> Result<_, jni::errors::Error> {
        let bench = BENCH.lock().unwrap();
        env.byte_array_from_slice(bench.as_ref().unwrap().batch().bytes())
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

impl Bench {
    fn batch(&self) -> Batch {
        let mut builder = BatchBuilder::with_capacity(2 * self.source.len());
        let mut values = ValueBuffer::default();
        let mut rest = &self.source[..];
        while !rest.is_empty() {
            values.clear();
            let image = values.begin(COLUMNS);
            for column in 0..COLUMNS {
                let length = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
                rest = &rest[2..];
                if length == NULL {
                    values.set(image, column, Value::Null);
                    continue;
                }
                let (bytes, behind) = rest.split_at(length);
                rest = behind;
                let value = match column {
                    0 => Value::Int(i64::from_le_bytes(bytes.try_into().unwrap())),
                    2 => Value::Number(bytes),
                    4 => Value::Date(bytes),
                    5 => Value::Timestamp(bytes),
                    _ => Value::Text(bytes),
                };
                values.set(image, column, value);
            }
            let origin = RowOrigin::default();
            let fill = |out: &mut Vec<u8>| (self.codec).row(0, RowKind::Insert, &values, image, &origin, out);
            builder.row(false, fill).unwrap();
        }
        builder.finish(1)
    }
}

/// The table of `io.tidemark.workload.OrdersTable`.
fn codec() -> Codec {
    let text = |length| ColumnType::Text {
        length: Some(length),
        padded: false,
    };
    let decimal = ColumnType::Decimal {
        precision: Some(12),
        scale: 2,
    };
    let columns = [
        ("ID", ColumnType::Integer { bits: 64 }),
        ("CUSTOMER", text(40)),
        ("AMOUNT", decimal),
        ("NOTE", text(200)),
        ("ORDERED", ColumnType::Date),
        ("CHANGED", ColumnType::Timestamp { precision: 6 }),
    ];
    let table = Table {
        name: Arc::new(TableName {
            schema: "BIZ".into(),
            name: "ORDERS".into(),
        }),
        object_id: 1,
        version: 0,
        columns: columns
            .map(|(name, kind)| Column {
                name: name.to_owned(),
                kind,
                nullable: name != "ID",
                is_virtual: false,
                collated: false,
            })
            .into(),
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: tidemark::catalog::text_order::TextOrder::BYTES,
    };
    let declared: Vec<DeclaredColumn> = serde_json::from_str(
        r#"[{"name":"ID","type":"BIGINT"},{"name":"CUSTOMER","type":"STRING"},
            {"name":"AMOUNT","type":"DECIMAL","precision":12,"scale":2},{"name":"NOTE","type":"STRING"},
            {"name":"ORDERED","type":"DATE"},{"name":"CHANGED","type":"TIMESTAMP","precision":6}]"#,
    )
    .unwrap();
    let columns = resolve(&declared, &table).unwrap();
    let key = Arc::new(KeyCodec::new(&table).unwrap());
    let captured = CapturedTable { table, key, columns };
    Codec::new(vec![captured], "DAMENG", Zone::UTC, OnValueError::Fail)
}
