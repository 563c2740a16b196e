//! A codec over one table, made from declared columns.

use std::sync::Arc;

use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::error::Result;
use tidemark::row::codec::{CapturedTable, Codec, KeyEncoder, OnValueError};
use tidemark::row::layout::{DeclaredColumn, FlinkType, resolve};
use tidemark::row::value::{Value, ValueBuffer};
use tidemark::row::zone::Zone;
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::split::TableName;

/// The first column's words.
pub struct FirstColumn;

impl KeyEncoder for FirstColumn {
    fn encode<'v>(&self, value: &dyn Fn(usize) -> Value<'v>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(format!("{:?}", value(0)).as_bytes());
        Ok(())
    }
}

/// A declared column as it arrives from Java.
pub fn declared(name: &str, kind: FlinkType, nullable: bool) -> DeclaredColumn {
    let mut column = DeclaredColumn {
        name: name.to_owned(),
        type_name: kind.to_string().split('(').next().unwrap_or_default().to_owned(),
        precision: None,
        scale: None,
        length: None,
        nullable,
        metadata: None,
    };
    match kind {
        FlinkType::Decimal { precision, scale } => {
            column.precision = Some(precision);
            column.scale = Some(scale);
        }
        FlinkType::Time { precision } | FlinkType::Timestamp { precision } | FlinkType::TimestampLtz { precision } => {
            column.precision = Some(precision)
        }
        FlinkType::Char { length }
        | FlinkType::VarChar { length }
        | FlinkType::Binary { length }
        | FlinkType::VarBinary { length } => column.length = Some(length),
        _ => {}
    }
    column
}

/// The table `BIZ.ORDERS` with its first column as key.
pub fn table(columns: impl IntoIterator<Item = (String, ColumnType)>) -> Table {
    Table {
        name: Arc::new(TableName {
            schema: "BIZ".into(),
            name: "ORDERS".into(),
        }),
        object_id: 1,
        version: 0,
        columns: columns
            .into_iter()
            .map(|(name, kind)| Column {
                name,
                kind,
                nullable: true,
                is_virtual: false,
                collated: false,
            })
            .collect(),
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: tidemark::catalog::text_order::TextOrder::BYTES,
    }
}

/// A codec of that table alone.
pub fn codec(table: Table, declared: &[DeclaredColumn], zone: &str, on_error: OnValueError) -> Codec {
    let columns = resolve(declared, &table).expect("columns");
    Codec::new(
        vec![CapturedTable {
            table,
            key: Arc::new(FirstColumn),
            columns,
        }],
        "DAMENG",
        Zone::parse(zone).expect("zone"),
        on_error,
    )
}

/// One row of the codec's only table.
pub fn encode(codec: &Codec, kind: RowKind, row: &[Value<'_>], origin: &RowOrigin) -> Result<Vec<u8>> {
    let mut values = ValueBuffer::default();
    let image = values.begin(row.len());
    for (column, value) in row.iter().enumerate() {
        values.set(image, column, *value);
    }
    // Behind other bytes, since offsets must count from the row and not from the buffer.
    let mut out = b"before".to_vec();
    let written = codec.row(0, kind, &values, image, origin, &mut out);
    let row = out.split_off(6);
    assert_eq!(out, b"before");
    match written {
        Ok(()) => Ok(row),
        Err(error) => {
            assert!(row.is_empty(), "a row that failed leaves nothing behind");
            Err(error)
        }
    }
}
