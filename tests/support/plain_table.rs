//! The one table of logs that no database wrote.

use std::sync::Arc;

use tidemark::catalog::text_order::TextOrder;
use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::log::captured::CapturedTable;
use tidemark::split::TableName;

/// `S.T` of a number `ID`, its key, and a text `V`.
pub fn table(length: u32) -> CapturedTable {
    let column = |name: &str, kind| Column {
        name: name.into(),
        kind,
        nullable: true,
        is_virtual: false,
        collated: false,
    };
    CapturedTable::whole(Arc::new(Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 7,
        version: 0,
        columns: vec![
            column("ID", ColumnType::Integer { bits: 64 }),
            column(
                "V",
                ColumnType::Text {
                    length: Some(length),
                    padded: false,
                },
            ),
        ],
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: TextOrder::BYTES,
    }))
}
