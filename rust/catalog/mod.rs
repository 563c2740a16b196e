//! Tables as the database's dictionary has them: columns, types and keys, in words that no single database owns.

pub mod change;
pub(crate) mod fetch;
mod find;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod key;
mod load;
pub mod pattern;
pub(crate) mod statement;
pub mod text_order;
pub mod text_probe;

use std::sync::Arc;

pub use crate::dialect::page::{KeyColumn, TableRows};
pub use crate::dialect::{ColumnType, IntervalField};
pub use find::{Found, find};
pub use load::{load, version, versions};

use crate::catalog::text_order::TextOrder;
use crate::error::{ErrorKind, Result};
use crate::split::TableName;

/// A table's number and that of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableVersion {
    /// The database's number of the table.
    pub object_id: u64,
    /// The number of its shape.
    pub version: u32,
    /// As [`Table::is_partitioned`].
    pub is_partitioned: bool,
}

impl TableVersion {
    /// That of a table as it was looked up.
    pub fn of(table: &Table) -> Self {
        TableVersion {
            object_id: table.object_id,
            version: table.version,
            is_partitioned: table.is_partitioned,
        }
    }
}

/// A captured table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Arc<TableName>,
    /// The database's number of it; another one means another table, whatever its name.
    pub object_id: u64,
    /// Which of its shapes this is, as the database counts them; 0 where it is not known.
    pub version: u32,
    /// Its columns in dictionary order.
    pub columns: Vec<Column>,
    /// The columns of its key, by number, in the key's order; empty if it has none.
    pub key: Vec<usize>,
    /// How text in its key is compared.
    pub text_order: TextOrder,
    /// Its partitions, of all levels: tables of the dictionary, but none of their own; the log may name either.
    pub partitions: Vec<Partition>,
    /// Whether its rows lie in its partitions alone, as far as the dictionary says.
    pub is_partitioned: bool,
}

/// A partition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name, in the table's schema.
    pub name: String,
    /// The database's number of it.
    pub object_id: u64,
}

impl Table {
    /// Its rows, as statements name them.
    pub fn rows(&self) -> TableRows<'_> {
        TableRows {
            name: &self.name,
            of_parts: self.is_partitioned,
        }
    }

    /// The key's columns as statements have them, in the key's order.
    pub fn key_columns(&self) -> Vec<KeyColumn<'_>> {
        let columns = self.key.iter().map(|&column| &self.columns[column]);
        let columns = columns.map(|column| KeyColumn {
            name: &column.name,
            collated: column.collated,
            shown: column.kind == ColumnType::Shown { ordered: false },
        });
        columns.collect()
    }

    /// Puts a column of the key first in the key's order; case counts where two of them differ in nothing else.
    ///
    /// # Errors
    /// `Option`: it is not of the key. By another column a row could move from chunk to chunk and be lost.
    pub fn lead_with(&mut self, column: &str) -> Result<()> {
        let name = |place: &usize| self.columns[self.key[*place]].name.as_str();
        let places = 0..self.key.len();
        let place = (places.clone().find(|place| name(place) == column)).or_else(|| {
            let mut alike = places.clone().filter(|place| name(place).eq_ignore_ascii_case(column));
            alike.next().filter(|_| alike.next().is_none())
        });
        let Some(place) = place else {
            let names: Vec<&str> = places.map(|place| name(&place)).collect();
            let reason = match names.is_empty() {
                true => format!("is '{column}', and table {} has no key", self.name),
                false => format!(
                    "is '{column}', which is not in the key ({}) of table {}: a row could change its chunk and be lost",
                    names.join(", "),
                    self.name
                ),
            };
            return Err(ErrorKind::Option {
                option: "scan.incremental.snapshot.chunk.key-column".into(),
                reason,
            }
            .into());
        };
        self.key[..=place].rotate_right(1);
        Ok(())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, case as in the dictionary.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it is computed from others: the log need not hold its value.
    pub is_virtual: bool,
    /// Whether the database orders its texts otherwise than by their bytes, unless it is told to.
    pub collated: bool,
}
