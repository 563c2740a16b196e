//! What goes downstream of a table in one shape.

use std::sync::Arc;

use crate::catalog::{ColumnType, Table};
use crate::row::codec::form::Label;
use crate::row::codec::{CapturedTable, KeyEncoder, Needed};
use crate::row::convert::{Conversion, describe};
use crate::row::layout::{FlinkType, Metadata, OutputSource};
use crate::row::value::{Image, ValueBuffer};

pub(super) struct Plan {
    pub(super) table: Arc<Table>,
    pub(super) key: Arc<dyn KeyEncoder>,
    pub(super) fields: Vec<Field>,
    pub(super) needed: Needed,
    pub(super) label: Label,
}

pub(super) struct Field {
    pub(super) name: String,
    pub(super) nullable: bool,
    pub(super) source: Source,
}

pub(super) enum Source {
    Column(usize, Conversion),
    Gone,
    Metadata(Metadata, FlinkType),
}

impl Plan {
    pub(super) fn new(captured: CapturedTable) -> Self {
        let CapturedTable { table, key, columns } = captured;
        let mut needed = Needed {
            columns: vec![false; table.columns.len()],
            ..Needed::default()
        };
        for column in &table.key {
            needed.columns[*column] = true;
        }
        let fields = columns
            .into_iter()
            .map(|column| Field {
                source: match column.source {
                    OutputSource::Column(index) => {
                        needed.columns[index] = true;
                        Source::Column(index, Conversion::new(&table.columns[index].kind, column.kind))
                    }
                    OutputSource::Gone => {
                        needed.gone.push(column.name.clone());
                        Source::Gone
                    }
                    OutputSource::Metadata(metadata) => Source::Metadata(metadata, column.kind),
                },
                name: column.name,
                nullable: column.nullable,
            })
            .collect();
        Plan {
            table: Arc::new(table),
            key,
            fields,
            needed,
            label: Label::None,
        }
    }

    pub(super) fn key_text(&self, values: &ValueBuffer, image: Image) -> String {
        let parts: Vec<String> = self
            .table
            .key
            .iter()
            .map(|column| {
                format!(
                    "{}={}",
                    self.table.columns[*column].name,
                    describe(values.get(image, *column))
                )
            })
            .collect();
        match parts.is_empty() {
            true => "?".into(),
            false => parts.join(", "),
        }
    }
}

/// Whether a shape has the key of another: the same columns in the same order, of types whose keys compare alike.
pub(super) fn has_key_of(shape: &Table, other: &Table) -> bool {
    let key = |table: &Table| -> Vec<(String, std::mem::Discriminant<ColumnType>)> {
        let columns = table.key.iter().map(|&number| &table.columns[number]);
        columns
            .map(|column| (column.name.clone(), std::mem::discriminant(&column.kind)))
            .collect()
    };
    key(shape) == key(other)
}

pub(super) fn key_of(table: &Table) -> String {
    let names: Vec<&str> = table
        .key
        .iter()
        .map(|&number| table.columns[number].name.as_str())
        .collect();
    match names.is_empty() {
        true => "none".into(),
        false => format!("({})", names.join(", ")),
    }
}
