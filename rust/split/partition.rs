//! The partitions of captured tables, as far as a log that names them alone must be read with what was known before.

use std::sync::Arc;

use super::TableName;
use crate::error::{ErrorKind, Result};
use crate::position::{Position, Scn};
use crate::wire::{Reader, Writer};

/// A table that is, or was, a partition of a captured one. The dictionary has one that was dropped or detached no more, the log
/// has its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The captured table.
    pub root: Arc<TableName>,
    /// Its number in the dictionary.
    pub number: u64,
    /// A name that the log has it by; empty if another table has it by now.
    pub name: TableName,
    /// What of old rows its changes have in the log: these columns; everything if it is left out.
    pub identity: Option<Vec<String>>,
    /// What commits from here on has no rows of it any more; left out while it is a partition.
    pub over: Option<Scn>,
}

impl Partition {
    fn write_behind_root(&self, out: &mut Writer) {
        out.u64(self.number);
        self.name.write(out);
        out.option(self.identity.as_ref(), |out, columns| {
            out.list(columns.iter(), |out, column| out.bytes(column.as_bytes()));
        });
        out.option(self.over, |out, over| out.u64(over.0));
    }

    fn read_behind_root(from: &mut Reader<'_>, root: Arc<TableName>) -> Result<Self> {
        Ok(Partition {
            root,
            number: from.u64()?,
            name: TableName::read(from)?,
            identity: from.option(|from| from.list(|from| from.text().map(str::to_owned)))?,
            over: from.option(|from| from.u64().map(Scn))?,
        })
    }
}

/// Those of which something can come behind a position. Partitions of one table that follow each other name it once.
pub(super) fn write_partitions(out: &mut Writer, partitions: &[Partition], position: Option<Position>) {
    let is_over = |over| position.is_some_and(|position| position >= Position::before(over));
    let left = partitions
        .iter()
        .filter(|partition| !partition.over.is_some_and(is_over));
    let left: Vec<&Partition> = left.collect();
    let mut root: Option<&TableName> = None;
    out.list(left.into_iter(), |out, partition| {
        let changed = root != Some(&partition.root);
        out.option(changed.then_some(&partition.root), |out, name| name.write(out));
        root = Some(&partition.root);
        partition.write_behind_root(out);
    });
}

pub(super) fn read_partitions(from: &mut Reader<'_>) -> Result<Vec<Partition>> {
    let mut root: Option<Arc<TableName>> = None;
    from.list(|from| {
        if let Some(name) = from.option(TableName::read)? {
            root = Some(Arc::new(name));
        }
        let root = root
            .clone()
            .ok_or_else(|| ErrorKind::State("a partition names no table".into()))?;
        Partition::read_behind_root(from, root)
    })
}
