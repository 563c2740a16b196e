//! The captured tables of a job, looked up over a connection that stays for questions: what does not depend on how the
//! log is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::catalog::{self, Found, Table, TableVersion};
use crate::config::Config;
use crate::database::captured::{load, prepared};
use crate::database::connections::Connections;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Patience;
use crate::log::captured::{CapturedTable as LogTable, Selection};
use crate::odbc::{Connection, Field};
use crate::row::RowCodec;
use crate::row::codec::{Codec, Needed};
use crate::snapshot::select::PageReader;
use crate::snapshot::splitter::Splitter;
use crate::split::{Chunk, Key, KeyRange, TableName};
use crate::unavailable::Completion;
use crate::unavailable::look_up::KeyedSource;
use crate::unavailable::select::KeyReader;

/// Chunks that one look at the database plans: few enough that the first ones go out soon.
const CHUNKS_A_CALL: usize = 16;

/// The captured tables.
pub(super) struct Tables {
    config: Arc<Config>,
    dialect: Arc<dyn Dialect>,
    connections: Arc<Connections>,
    connection: Connection,
    /// Names and tables, both by number.
    names: Vec<Arc<TableName>>,
    tables: Vec<Arc<Table>>,
    /// What would make an index in the order of a table's key, where there is none; by name.
    unindexed: BTreeMap<Arc<TableName>, Option<String>>,
    codec: Arc<Codec>,
    database_name: String,
    /// Tables that match and cannot be captured: an error as soon as they must be.
    faulty: Vec<(TableName, Error)>,
    /// Every table that has matched so far.
    seen: BTreeSet<TableName>,
}

impl Tables {
    /// Looks for the tables over a connection that stays for questions.
    pub(super) fn look_up(
        config: &Arc<Config>,
        dialect: Arc<dyn Dialect>,
        connections: &Arc<Connections>,
        mut connection: Connection,
    ) -> Result<Self> {
        let found = catalog::find(&mut connection, &*dialect, &config.tables)?;
        Tables::of(config, dialect, connections, connection, &found)
    }

    /// The tables that were found.
    pub(super) fn of(
        config: &Arc<Config>,
        dialect: Arc<dyn Dialect>,
        connections: &Arc<Connections>,
        mut connection: Connection,
        found: &Found,
    ) -> Result<Self> {
        let mut tables = Vec::with_capacity(found.tables.len());
        let mut faulty = Vec::new();
        for name in &found.tables {
            let loaded = load(&mut connection, &*dialect, config, name).and_then(|table| {
                prepared(config, &table).map_err(|error| error.on(name))?;
                Ok(table)
            });
            match loaded {
                Ok(table) => tables.push(Arc::new(table)),
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => faulty.push((name.clone(), error)),
            }
        }
        let mut unindexed = BTreeMap::new();
        for table in &tables {
            if let Some(create) = missing_index(&mut connection, &*dialect, table)? {
                unindexed.insert(table.name.clone(), create);
            }
        }
        let database_name = text(&mut connection, &dialect.database_name())?;
        let codec = codec(config, &tables, &database_name)?;
        Ok(Tables {
            config: config.clone(),
            dialect,
            connections: connections.clone(),
            connection,
            names: tables.iter().map(|table| table.name.clone()).collect(),
            tables,
            unindexed,
            codec: Arc::new(codec),
            database_name,
            faulty,
            seen: found.tables.iter().cloned().collect(),
        })
    }

    /// Their names, by number.
    pub(super) fn names(&self) -> &[Arc<TableName>] {
        &self.names
    }

    /// Makes their keys and rows.
    pub(super) fn codec(&self) -> Arc<Codec> {
        self.codec.clone()
    }

    /// The connection for questions.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The tables in the shapes that count now.
    pub(super) fn with_needed_columns(&self) -> impl Iterator<Item = (Arc<Table>, Vec<bool>)> {
        let tables = self.tables.iter().zip(0..);
        tables.map(|(table, number)| {
            let shape = self.codec.shape(number).unwrap_or_else(|| table.clone());
            (shape, self.codec.needed_columns(number))
        })
    }

    /// What a log reader is told of them.
    pub(super) fn for_log(&self) -> Vec<LogTable> {
        let tables = self.with_needed_columns().map(|(table, needed)| LogTable {
            table,
            wanted: Some(needed),
        });
        tables.collect()
    }

    /// What of a table a log reader must read, in whatever shape it is.
    pub(super) fn selection(&self) -> Arc<dyn Selection> {
        Arc::new(Selected {
            codec: self.codec.clone(),
            config: self.config.clone(),
        })
    }

    /// As [`crate::reader::capture::Capture::has_key`].
    pub(super) fn has_key(&self, table: u32) -> bool {
        self.tables
            .get(table as usize)
            .is_some_and(|table| !table.key.is_empty())
    }

    /// As [`crate::reader::capture::Capture::is_paged`].
    pub(super) fn is_paged(&self, table: u32) -> bool {
        let name = self.names.get(table as usize);
        self.has_key(table) && name.is_some_and(|name| !self.unindexed.contains_key(name))
    }

    /// As [`crate::reader::capture::Capture::keep`].
    pub(super) fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>> {
        let wants = |name: &TableName| tables.is_none_or(|tables| tables.iter().any(|wanted| **wanted == *name));
        if let Some(faulty) = self.faulty.iter().position(|(name, _)| wants(name)) {
            return Err(self.faulty.swap_remove(faulty).1);
        }
        let Some(tables) = tables else {
            return Ok(Vec::new());
        };
        let kept = self.tables.iter().filter(|table| tables.contains(&table.name)).cloned();
        let kept: Vec<Arc<Table>> = kept.collect();
        let gone = tables
            .iter()
            .filter(|name| !self.names.contains(name))
            .cloned()
            .collect();
        if kept.is_empty() {
            let text = "of the tables that the state has none is matched any more";
            return Err(ErrorKind::Catalog(text.into()).into());
        }
        if kept.len() < self.tables.len() {
            let codec = codec(&self.config, &kept, &self.database_name)?;
            self.codec = Arc::new(codec);
            self.names = kept.iter().map(|table| table.name.clone()).collect();
            self.tables = kept;
        }
        Ok(gone)
    }

    /// As [`crate::reader::capture::Capture::newcomers`].
    pub(super) fn newcomers(&mut self) -> Result<Vec<TableName>> {
        let (dialect, wanted) = (&*self.dialect, &self.config.tables);
        let found = match catalog::find(&mut self.connection, dialect, wanted) {
            // It was idle for long: a firewall may have ended it.
            Err(error) if error.is_retryable() => {
                self.connection = self.connections.open()?;
                catalog::find(&mut self.connection, dialect, wanted)
            }
            found => found,
        };
        let new = found?.tables.into_iter().filter(|table| !self.seen.contains(table));
        let new: Vec<TableName> = new.collect();
        self.seen.extend(new.iter().cloned());
        Ok(new)
    }

    /// As [`crate::reader::capture::Capture::completion`].
    pub(super) fn completion(&self, visibility: Patience) -> Completion {
        let (connections, dialect) = (self.connections.clone(), self.dialect.clone());
        let connect = move || -> Result<Box<dyn KeyedSource>> {
            let connection = connections.open()?;
            Ok(Box::new(KeyReader::new(connection, dialect.clone())))
        };
        Completion::new(
            self.config.on_unavailable,
            self.with_needed_columns().map(|(table, _)| table).collect(),
            visibility,
            Box::new(connect),
        )
    }

    /// As [`crate::reader::capture::Capture::look_again`].
    pub(super) fn look_again(&mut self, table: u32) -> Result<bool> {
        let Some(name) = self.names.get(table as usize) else {
            return Ok(false);
        };
        let known = self.codec.shape(table);
        let shape = load(&mut self.connection, &*self.dialect, &self.config, name)?;
        if known.is_some_and(|known| *known == shape) {
            return Ok(false);
        }
        self.codec.reshape(table, &Arc::new(shape))?;
        Ok(true)
    }

    /// Looks at the tables once the log is open: what was done between the look before and the place where it was opened is
    /// not in the log that follows.
    pub(super) fn look_at_altered(&mut self) -> Result<()> {
        let known: Vec<u64> = self.tables.iter().map(|table| table.object_id).collect();
        let now = catalog::versions(&mut self.connection, &*self.dialect, &known)
            .map_err(|error| error.doing("asking whether the tables were altered"))?;
        for number in 0..self.tables.len() {
            let said = TableVersion::of(&self.tables[number]);
            if !now.contains(&said) {
                self.look_again(number as u32)?;
            }
        }
        Ok(())
    }

    /// Reads pages over a connection of its own.
    pub(super) fn pages(&self) -> Result<PageReader> {
        let connection = self.connections.open()?;
        let tables: Vec<_> = self.with_needed_columns().collect();
        PageReader::new(
            connection,
            self.dialect.clone(),
            self.codec.clone(),
            &tables,
            self.config.snapshot.fetch_rows,
        )
    }

    /// As [`crate::enumerator::survey::Survey::cut`].
    pub(super) fn cut(&mut self, table: &TableName, lower: Option<&Key>) -> Result<Vec<Chunk>> {
        let Some(table) = self.tables.iter().find(|captured| *captured.name == *table) else {
            let kind = ErrorKind::State("the state names a table that is not captured any more".into());
            return Err(Error::from(kind).on(table));
        };
        if table.key.is_empty() {
            return Ok(vec![Chunk {
                table: table.name.clone(),
                range: KeyRange::ALL,
            }]);
        }
        let splitter = Splitter::new(&*self.dialect, table, self.config.chunk_rows)?;
        match self.unindexed.get(&table.name) {
            None => splitter.cut(&mut self.connection, lower, CHUNKS_A_CALL),
            Some(create) => {
                warn_of_sorting(table, create.as_deref());
                splitter.cut_by_sorting(&mut self.connection, lower)
            }
        }
    }
}

/// Where no index has a table's rows in the order of its key: what would make one, if anything does.
fn missing_index(connection: &mut Connection, dialect: &dyn Dialect, table: &Table) -> Result<Option<Option<String>>> {
    if table.key.is_empty() {
        return Ok(None);
    }
    let Some(index) = dialect.key_index(&table.name, table.object_id, &table.key_columns()) else {
        return Ok(None);
    };
    let there = connection
        .int(&index.there.sql, &index.there.columns)
        .map_err(|error| error.doing("looking for an index in the key's order").on(&table.name))?;
    Ok((there == Some(0)).then_some(index.create))
}

fn warn_of_sorting(table: &Table, create: Option<&str>) {
    let columns: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
    let cure = match create {
        Some(create) => format!("{create}, or put"),
        None => "put".to_owned(),
    };
    log::warn!(
        "no index has table {} in the order of its key ({}), texts by their bytes: the server sorts its rows in parts, and \
         reads the whole table for each of them; where the table is large, {cure} another column of the key first \
         ('scan.incremental.snapshot.chunk.key-column')",
        table.name,
        columns.join(", "),
    );
}

fn codec(config: &Arc<Config>, tables: &[Arc<Table>], database_name: &str) -> Result<Codec> {
    let captured = tables
        .iter()
        .map(|table| prepared(config, table).map_err(|error| error.on(&table.name)));
    let codec = Codec::new(
        captured.collect::<Result<_>>()?,
        database_name,
        config.server_time_zone.clone(),
        config.on_value_error,
    );
    let shared = config.clone();
    let codec = codec.with_shapes(Arc::new(move |table| prepared(&shared, table)));
    Ok(codec.with_form(config.form.clone()))
}

/// What log readers must read of the tables.
struct Selected {
    codec: Arc<Codec>,
    config: Arc<Config>,
}

impl fmt::Debug for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the job declares")
    }
}

impl Selection for Selected {
    fn of(&self, table: u32, shape: &Table) -> Result<Needed> {
        Ok(Needed {
            whole: self.config.columns.is_none(),
            ..self.codec.needed_of(table, shape)?
        })
    }

    fn prepare(&self, shape: &mut Table) -> Result<()> {
        match &self.config.chunk_key_column {
            Some(column) => shape.lead_with(column).map_err(|error| error.on(&shape.name)),
            None => Ok(()),
        }
    }
}

/// Names for a line of the log.
pub(super) fn listed(names: &[Arc<TableName>]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn text(connection: &mut Connection, query: &crate::dialect::Query) -> Result<String> {
    let rows = connection.rows(&query.sql, &query.columns)?;
    let text = rows.first().and_then(|row| row.first()).and_then(Field::text);
    Ok(text.unwrap_or_default().trim_end().to_owned())
}
