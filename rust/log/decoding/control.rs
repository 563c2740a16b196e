//! The connection beside the one that reads: questions about slot, log and dictionary. None of them can break the reading
//! session; a connection that was lost is opened anew.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{self, Table};
use crate::dialect::Query;
use crate::dialect::slots::{Relation, Slots, Statements};
use crate::error::{Error, ErrorKind, Result};
use crate::log::captured::CapturedTable;
use crate::log::decoding::slot::{self, SlotStatus};
use crate::log::decoding::tables::{Asked, Identity, Part};
use crate::odbc::{Connection, Field};
use crate::position::{Incarnation, Xid};
use crate::split::{Partition, TableName};

/// Opens a connection to the database.
pub type Connect = Arc<dyn Fn() -> Result<Connection> + Send + Sync>;

/// The log's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// What is flushed: decoding goes so far.
    pub(super) flushed: u64,
    /// What is inserted: no SELECT has seen more.
    pub(super) inserted: u64,
    /// The newest transaction.
    pub(super) newest: Xid,
}

impl LogEnd {
    /// That of now.
    pub(super) fn ask(connection: &mut Connection, query: &Query) -> Result<Self> {
        let rows = connection.rows(&query.sql, &query.columns)?;
        let number = |column: usize| {
            let field = rows.first().and_then(|row| row.get(column)).and_then(Field::int);
            let missing = || ErrorKind::Internal("the server does not say where its log ends".into());
            field.map(|number| number as u64).ok_or_else(missing)
        };
        Ok(LogEnd {
            flushed: number(0)?,
            inserted: number(1)?,
            newest: Xid(number(2)?),
        })
    }
}

/// Asks.
pub(super) struct Control {
    connect: Connect,
    connection: Option<Connection>,
    dialect: Arc<dyn Slots>,
    pub(super) statements: Statements,
    slot: String,
    /// The captured tables by number.
    tables: Vec<TableName>,
}

impl Control {
    /// Connects; the server must not be a standby.
    pub(super) fn open(connect: Connect, dialect: Arc<dyn Slots>, slot: &str, tables: Vec<TableName>) -> Result<Self> {
        let mut connection = connect()?;
        let statements = slot::resolve_names(&mut connection, &*dialect)?;
        let mut control = Control {
            connect,
            connection: Some(connection),
            dialect,
            statements,
            slot: slot.to_owned(),
            tables,
        };
        let standby = control.ask("asking whether the server is a standby", |connection, control| {
            slot::number(connection, &control.statements.is_standby(), "")
        })?;
        if standby != 0 {
            let text = "the server is a standby: slots are read on the primary, since what a SELECT sees on a standby cannot \
                        be told";
            return Err(ErrorKind::Setup(text.into()).into());
        }
        Ok(control)
    }

    /// Runs a question; once more on another connection if this one was lost.
    fn ask<T>(&mut self, doing: &str, mut question: impl FnMut(&mut Connection, &Control) -> Result<T>) -> Result<T> {
        let is_old = self.connection.is_some();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => (self.connect)()?,
        };
        let mut answer = question(&mut connection, self);
        if is_old
            && answer
                .as_ref()
                .is_err_and(|error| error.is_retryable() && !is_closed(error))
        {
            connection = (self.connect)()?;
            answer = question(&mut connection, self);
        }
        self.connection = Some(connection);
        answer.map_err(|error| error.doing(doing))
    }

    fn rows(&mut self, query: &Query, doing: &str) -> Result<Vec<Vec<Field>>> {
        self.ask(doing, |connection, _| connection.rows(&query.sql, &query.columns))
    }

    /// Which log this is.
    pub(super) fn incarnation(&mut self) -> Result<Incarnation> {
        let query = self.statements.system_identifier();
        let number = self.ask("asking which log this is", |connection, _| {
            slot::number(connection, &query, "asking which log this is")
        })?;
        Ok(Incarnation(number as u64))
    }

    /// The log's end of now.
    pub(super) fn end(&mut self) -> Result<LogEnd> {
        let query = self.statements.log_end();
        self.ask("asking for the log's end", |connection, _| {
            LogEnd::ask(connection, &query)
        })
    }

    /// Which transactions a SELECT sees now: `xmin:xmax:xid,…`.
    pub(super) fn snapshot(&mut self) -> Result<String> {
        let rows = self.rows(&self.statements.snapshot(), "asking which transactions are open")?;
        let text = rows.first().and_then(|row| row.first()).and_then(Field::text);
        Ok(text.unwrap_or_default().to_owned())
    }

    /// The sessions of transactions that are not over, by the transaction's lower 32 bits.
    pub(super) fn sessions(&mut self) -> Result<Vec<(u32, String)>> {
        let rows = self.rows(&self.statements.sessions(), "asking who has transactions open")?;
        let session = |row: &Vec<Field>| Some((row.first()?.int()? as u32, row.get(1)?.text()?.to_owned()));
        Ok(rows.iter().filter_map(session).collect())
    }

    /// What the server says of the durable slot.
    pub(super) fn status(&mut self) -> Result<SlotStatus> {
        let found = self.ask("looking at the slot", |connection, control| {
            slot::status(connection, &control.statements, &control.slot)
        })?;
        found.ok_or_else(|| slot::is_gone(&self.slot))
    }

    /// Who has the copy of the slot, if it is there.
    pub(super) fn holder(&mut self, copy: &str) -> Result<Option<String>> {
        let found = self.ask("looking at the slot's copy", |connection, control| {
            slot::status(connection, &control.statements, copy)
        })?;
        Ok(found.and_then(|found| found.holder))
    }

    /// Writes a message that pushes the log to disk.
    pub(super) fn push(&mut self) -> Result<()> {
        let statement = self.statements.message(true, "tidemark", "push");
        self.ask("writing a message into the log", |connection, _| {
            connection.execute(&statement)
        })
    }
}

impl Asked for Control {
    fn parts(&mut self, roots: &[u64]) -> Result<Vec<Part>> {
        let rows = self.rows(&self.statements.partitions_of(roots), "looking for partitions")?;
        Ok(rows.iter().filter_map(|row| part(row)).collect())
    }

    fn relation(&mut self, of: Relation<'_>) -> Result<Option<u64>> {
        let query = self.statements.relation(of);
        let found = self.ask("looking for a table of the log", |connection, _| {
            connection.int(&query.sql, &query.columns)
        })?;
        Ok(found.map(|number| number as u64))
    }

    fn table(&mut self, number: u32) -> Result<Option<Table>> {
        let Some(name) = self.tables.get(number as usize).cloned() else {
            return Ok(None);
        };
        let loaded = self.ask("looking a table up again", |connection, control| {
            let dialect = &*control.dialect;
            match catalog::version(connection, dialect, &name)? {
                Some(_) => catalog::load(connection, dialect, &name).map(Some),
                None => Ok(None),
            }
        });
        loaded.map_err(|error| error.on(&name))
    }

    fn log_end(&mut self) -> Result<u64> {
        self.end().map(|end| end.flushed)
    }
}

/// The partitions that captured tables have now.
///
/// # Errors
/// Database errors.
pub fn partitions(
    connection: &mut Connection,
    statements: &Statements,
    tables: &[CapturedTable],
) -> Result<Vec<Partition>> {
    let roots: HashMap<u64, &Arc<TableName>> = tables
        .iter()
        .map(|captured| (captured.table.object_id, &captured.table.name))
        .collect();
    let query = statements.partitions_of(&roots.keys().copied().collect::<Vec<_>>());
    let rows = connection
        .rows(&query.sql, &query.columns)
        .map_err(|error| error.doing("looking for partitions"))?;
    let parts = rows.iter().filter_map(|row| part(row));
    let partitions = parts.filter(|part| part.number != part.root).filter_map(|part| {
        Some(Partition {
            root: Arc::clone(roots.get(&part.root)?),
            number: part.number,
            name: TableName {
                schema: part.schema,
                name: part.name,
            },
            identity: part.identity.columns(),
            over: None,
        })
    });
    let mut partitions: Vec<Partition> = partitions.collect();
    partitions.sort_unstable_by(|a, b| (&a.root, a.number).cmp(&(&b.root, b.number)));
    Ok(partitions)
}

/// A row of the question for partitions.
fn part(row: &[Field]) -> Option<Part> {
    let text = |column: usize| row.get(column)?.text();
    Some(Part {
        number: row.first()?.int()? as u64,
        root: row.get(1)?.int()? as u64,
        schema: text(2)?.to_owned(),
        name: text(3)?.to_owned(),
        is_partitioned: text(4)? == "p",
        identity: match text(5)? {
            "f" => Identity::Whole,
            _ => Identity::Columns(text(6).and_then(names).unwrap_or_default()),
        },
    })
}

/// Names in a JSON array.
fn names(json: &str) -> Option<Vec<String>> {
    serde_json::from_str(json).ok()
}

fn is_closed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed)
}
