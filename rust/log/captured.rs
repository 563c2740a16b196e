//! What log readers are told of the captured tables.

use std::fmt::Debug;
use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::row::codec::Needed;

/// A captured table, and which of its columns are wanted.
#[derive(Clone, Debug)]
pub struct CapturedTable {
    /// The table.
    pub table: Arc<Table>,
    /// For each column whether it is read; the others stay absent. `None` means all.
    pub wanted: Option<Vec<bool>>,
}

impl CapturedTable {
    /// A table with all its columns.
    pub fn whole(table: Arc<Table>) -> Self {
        CapturedTable { table, wanted: None }
    }
}

/// What of a table must be read, in whatever shape it is.
pub trait Selection: Debug + Send + Sync {
    /// What must be read of a table, by its place in the list, in a shape.
    ///
    /// # Errors
    /// `DictionaryMismatch` if rows of this shape cannot go where those of the captured one went.
    fn of(&self, table: u32, shape: &Table) -> Result<Needed>;

    /// Brings a table as the dictionary has it into the form in which the job uses it.
    ///
    /// # Errors
    /// The table cannot be used so any more.
    fn prepare(&self, _shape: &mut Table) -> Result<()> {
        Ok(())
    }
}

/// What must be read of a table in a shape; all of it without a selection.
///
/// # Errors
/// Those of the selection.
pub(super) fn needed(selection: Option<&dyn Selection>, number: u32, table: &Table) -> Result<Needed> {
    match selection {
        Some(selection) => selection.of(number, table),
        None => Ok(Needed {
            columns: vec![true; table.columns.len()],
            ..Needed::default()
        }),
    }
}
