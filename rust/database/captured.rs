//! A table as a job captures it.

use std::sync::Arc;

use crate::catalog::key::KeyCodec;
use crate::catalog::{self, Table};
use crate::config::{Config, TableWithoutKey};
use crate::dialect::Dialect;
use crate::error::{ErrorKind, Result};
use crate::odbc::Connection;
use crate::row::codec::{CapturedTable, Form, NoKey};
use crate::row::layout;
use crate::split::TableName;

/// A table with its key in the order in which it is read.
pub(super) fn load(
    connection: &mut Connection,
    dialect: &dyn Dialect,
    config: &Config,
    name: &TableName,
) -> Result<Table> {
    let mut table = catalog::load(connection, dialect, name)?;
    if let Some(column) = &config.chunk_key_column {
        table.lead_with(column)?;
    }
    Ok(table)
}

/// A table with what of it goes downstream: the columns that the job declares, those that the table has no more as NULL,
/// or all.
pub(super) fn prepared(config: &Config, table: &Table) -> Result<CapturedTable> {
    check_key(config, table)?;
    check_upsert(config, table)?;
    Ok(CapturedTable {
        table: table.clone(),
        key: match table.key.is_empty() {
            true => Arc::new(NoKey),
            false => Arc::new(KeyCodec::new(table)?),
        },
        columns: match &config.columns {
            Some(declared) => layout::resolve_altered(declared, table)?,
            None => layout::all_columns(table)?,
        },
    })
}

/// Whether rows can be kept downstream where an update is its new row alone.
pub(super) fn check_upsert(config: &Config, table: &Table) -> Result<()> {
    match config.form {
        Form::Rows { upsert: true } => layout::require_key(config.upsert_key.as_deref(), table),
        _ => Ok(()),
    }
}

/// Whether a table can be read in pages or, without a key, need not be.
///
/// # Errors
/// `Catalog`: it has no key, or none that it can be cut by.
pub(super) fn check_key(config: &Config, table: &Table) -> Result<()> {
    if !table.key.is_empty() {
        return KeyCodec::new(table).map(drop);
    }
    if config.table_without_key == TableWithoutKey::Reread || !config.startup.reads_tables() {
        return Ok(());
    }
    let text = "the table has neither a primary key nor a unique key of NOT NULL columns; table-without-key = 'reread' reads \
                it as one piece, each row at least once";
    Err(ErrorKind::Catalog(text.into()).into())
}
