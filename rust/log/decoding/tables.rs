//! Which captured table a row of the log belongs to: captured tables and their partitions over time, by the numbers and
//! names that the log knows them by.

mod layouts;
mod parts;
mod remembered;
mod unknown;

pub(super) use parts::{Asked, Known, Until};
pub use parts::{Identity, Part};

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;

use crate::catalog::Table;
use crate::dialect::slots::Relation as Sought;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::captured::{CapturedTable, Selection};
use crate::log::decoding::binary::Form;
use crate::log::decoding::layout::Layout;
use crate::log::decoding::plugin::{Relation, TableRef};
use crate::log::decoding::settings::SlotSettings;
use crate::log::decoding::shapes::{Shape, Shapes};
use crate::log::decoding::tables::layouts::{Entry, key_of};
use crate::log::decoding::test_decoding::split_name;
use crate::split::{Partition, TableName};

/// Schema and name, as they are.
type Name = (Box<[u8]>, Box<[u8]>);

/// The tables of the log.
#[derive(Debug)]
pub(super) struct Tables {
    roots: Vec<u64>,
    shapes: Vec<Shapes>,
    /// The names that the captured tables have at the place of the log that is read.
    names: Vec<Whereabouts>,
    /// Which of the captured tables have partitions.
    partitioned: Vec<bool>,
    by_number: HashMap<u64, Known>,
    /// By schema and name.
    by_name: HashMap<Name, u64>,
    /// By the names as a plugin writes them; for those that number tables by the text of the number.
    layouts: HashMap<Box<[u8]>, Entry>,
    /// Tables by number that the log has described and that are not captured, and whether that is in doubt: each call describes a
    /// table once, so that its rows come without when [`Entry`]s are judged anew.
    passed: HashMap<u32, bool>,
    /// Only captured tables are published, so that a table that nobody knows can only be a partition that is gone.
    exclusive: bool,
    /// The table of DDL statements: whatever has its name.
    ddl: Option<Name>,
    /// Its columns, where the log has described them.
    ddl_columns: Vec<DdlColumn>,
    /// Values come in binary form; no more once a table was described that cannot be read in it.
    is_binary: bool,
    /// What becomes of rows of which it cannot be told whose they are.
    on_mismatch: OnFault,
    /// How many were left out.
    left_out: u64,
    /// Tables that a warning was about.
    warned: HashSet<Box<[u8]>>,
    /// The parts are others than they were when they were asked for last.
    changed: bool,
}

/// A column of the table of DDL statements, whose rows need not name theirs.
#[derive(Clone, Debug)]
pub(super) struct DdlColumn {
    pub(super) name: Box<[u8]>,
    /// The binary form of its type.
    pub(super) form: Option<Form>,
}

/// A captured table at a place of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    /// Its name there.
    pub(super) name: TableName,
    /// It was dropped, and nothing of its name was made since.
    pub(super) is_gone: bool,
    /// A number that stays while the name does that it is captured by, whatever the dictionary's is.
    place: u64,
}

impl Tables {
    pub(super) fn new(
        captured: &[CapturedTable],
        selection: Option<Arc<dyn Selection>>,
        settings: &SlotSettings,
        partitions: &[Partition],
        asked: &mut dyn Asked,
    ) -> Result<Self> {
        let ddl = settings.ddl_table.as_ref();
        let whereabouts = captured.iter().map(|captured| Whereabouts {
            name: (*captured.table.name).clone(),
            is_gone: false,
            place: place_number(&captured.table.name),
        });
        let shapes = captured.iter().zip(0..);
        let shapes = shapes.map(|(captured, number)| Shapes::new(number, captured, selection.clone()));
        let mut tables = Tables {
            roots: captured.iter().map(|captured| captured.table.object_id).collect(),
            shapes: shapes.collect::<Result<_>>()?,
            names: whereabouts.collect(),
            partitioned: vec![false; captured.len()],
            by_number: HashMap::default(),
            by_name: HashMap::default(),
            layouts: HashMap::default(),
            passed: HashMap::default(),
            exclusive: settings.exclusive,
            ddl: ddl.map(|table| (table.schema.as_bytes().into(), table.name.as_bytes().into())),
            ddl_columns: Vec::new(),
            is_binary: false,
            on_mismatch: settings.on_mismatch,
            left_out: 0,
            warned: HashSet::new(),
            changed: true,
        };
        tables.recall(partitions);
        tables.refresh(asked)?;
        tables.warn_of_gone(partitions);
        Ok(tables)
    }

    /// Whether values come in binary form from here on. Only a table's description says what can be read in it, and comes
    /// before its rows in each session.
    pub(super) fn expect_binary(&mut self, is_binary: bool) {
        self.is_binary = is_binary;
    }

    /// Whether they can: of all tables that were described.
    pub(super) fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The captured table's number in places.
    pub(super) fn place(&self, table: u32) -> u64 {
        self.names.get(table as usize).map_or(0, |of| of.place)
    }

    /// How many rows were left out since it cannot be told whose they are.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn shape(&self, layout: &Layout) -> &Shape {
        self.shapes[layout.table as usize].get(layout.shape)
    }

    /// The shape that a table was captured with, or its newest name.
    pub(super) fn captured(&self, table: u32) -> &Arc<Table> {
        &self.shapes[table as usize].get(0).table
    }

    /// Whether [`Tables::layout`] has found a table to be that of DDL statements.
    pub(super) fn is_ddl(&self, table: TableRef<'_>) -> bool {
        matches!(self.layouts.get(&*key_of(table)), Some(Entry::Ddl))
    }

    /// The columns of the table of DDL statements, where the log has described them.
    pub(super) fn ddl_columns(&self) -> &[DdlColumn] {
        &self.ddl_columns
    }

    /// The captured table of a number.
    pub(super) fn number_of_root(&self, number: u64) -> Option<u32> {
        self.roots
            .iter()
            .position(|root| *root == number)
            .map(|table| table as u32)
    }

    /// The captured table that has a name at the place of the log that is read.
    pub(super) fn captured_as(&self, schema: &str, name: &str) -> Option<u32> {
        let mut tables = self.names.iter().zip(0..);
        let found = tables.find(|(of, _)| of.name.name == name && of.name.schema == schema);
        found.map(|(_, table)| table)
    }

    /// The one captured table whose name is this one, whatever its schema; `None` if there are several.
    pub(super) fn captured_alone(&self, name: &str) -> Option<u32> {
        let mut tables = (0..).zip(&self.names).filter(|(_, of)| of.name.name == name);
        match (tables.next(), tables.next()) {
            (Some((table, _)), None) => Some(table),
            _ => None,
        }
    }

    /// The captured tables as the log has them at the place that is read.
    pub(super) fn whereabouts(&mut self) -> &mut [Whereabouts] {
        &mut self.names
    }

    /// A table was made in the place of a captured one that is gone.
    pub(super) fn adopt(&mut self, table: u32, number: u64, identity: Identity) {
        if let Some(root) = self.roots.get_mut(table as usize) {
            *root = number;
        }
        self.know(number, table, identity);
    }

    /// The number of a table that is a part of a captured one, by its name.
    pub(super) fn part_as(&self, schema: &str, name: &str) -> Option<u64> {
        self.by_name
            .get(&(schema.as_bytes().into(), name.as_bytes().into()))
            .copied()
    }

    pub(super) fn known_number(&self, number: u64) -> Option<&Known> {
        self.by_number.get(&number)
    }

    /// The captured table and what are partitions of it at a place of the log, by number.
    pub(super) fn parts_of(&self, of: u32, lsn: u64) -> Vec<u64> {
        let parts = self.by_number.iter().filter(|(_, known)| match known {
            Known::Ours { table, until, .. } => *table == of && until.is_none_or(|until| until.lsn > lsn),
            Known::Foreign => false,
        });
        parts.map(|(number, _)| *number).collect()
    }

    /// From a place of the log on a table is no part of a captured one any more. Which one it was a partition of, if it was
    /// one.
    pub(super) fn leaves(&mut self, number: u64, at: Until) -> Option<u32> {
        match self.by_number.get_mut(&number) {
            Some(Known::Ours { table, until, .. }) if until.is_none_or(|until| until.lsn > at.lsn) => {
                *until = Some(at);
                self.changed = true;
                Some(*table)
            }
            _ => None,
        }
    }

    pub(super) fn know(&mut self, number: u64, table: u32, identity: Identity) {
        let known = Known::Ours {
            table,
            identity,
            until: None,
        };
        self.by_number.insert(number, known);
        self.changed = true;
        self.layouts.retain(|_, entry| entry.stays());
    }

    pub(super) fn name(&mut self, schema: &str, name: &str, number: u64) {
        self.by_name
            .insert((schema.as_bytes().into(), name.as_bytes().into()), number);
    }

    /// A captured table has another partition, of which the name is all that is known. One that is there still is known already.
    pub(super) fn attach(&mut self, table: u32, schema: &str, name: &str) {
        if self.part_as(schema, name).is_some() {
            return;
        }
        let root = self.roots.get(table as usize).and_then(|root| self.by_number.get(root));
        let identity = match root {
            Some(Known::Ours { identity, .. }) => identity.clone(),
            _ => Identity::Columns(Vec::new()),
        };
        // The server's own numbers have 32 bits. It stands in checkpoints.
        let number = 1 << 63
            | place_number(&TableName {
                schema: schema.to_owned(),
                name: name.to_owned(),
            });
        self.name(schema, name, number);
        self.partitioned[table as usize] = true;
        self.know(number, table, identity);
    }

    pub(super) fn add_shape(&mut self, table: u32, shape: Table) -> Result<Arc<Table>> {
        self.shapes[table as usize].add_now(shape)
    }

    /// Looks the partitions up again.
    pub(super) fn refresh(&mut self, asked: &mut dyn Asked) -> Result<()> {
        if self.roots.is_empty() {
            return Ok(());
        }
        let parts = asked.parts(&self.roots)?;
        let mut gone: Option<u64> = None;
        for (number, known) in &mut self.by_number {
            if let Known::Ours {
                until: until @ None, ..
            } = known
            {
                if !parts.iter().any(|part| part.number == *number) {
                    let end = match gone {
                        Some(end) => end,
                        None => *gone.insert(asked.log_end()?),
                    };
                    *until = Some(Until::end(end));
                    self.changed = true;
                }
            }
        }
        self.by_number.retain(|_, known| !matches!(known, Known::Foreign));
        self.layouts.retain(|_, entry| entry.stays());
        for part in parts {
            let Some(table) = self.roots.iter().position(|root| *root == part.root) else {
                continue;
            };
            let key = (part.schema.into_bytes().into(), part.name.into_bytes().into());
            self.changed |= self.by_name.insert(key, part.number) != Some(part.number);
            self.partitioned[table] |= part.is_partitioned;
            let known = Known::Ours {
                table: table as u32,
                identity: part.identity.clone(),
                until: None,
            };
            let was = self.by_number.insert(part.number, known);
            if !matches!(was, Some(Known::Ours { identity, until, .. }) if identity == part.identity && until.is_none())
            {
                self.changed = true;
                // Where the log says itself what it has of old rows, it is right.
                for entry in self.layouts.values_mut() {
                    match entry {
                        Entry::Ours(slot) if slot.number == part.number && slot.described.is_empty() => {
                            slot.layout = None;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// The captured table that a table of the log belongs to at a place of it; `None` if to none.
    pub(super) fn table_of(&mut self, table: TableRef<'_>, lsn: u64, asked: &mut dyn Asked) -> Result<Option<u32>> {
        match self.number(table, asked)? {
            Some(number) => self.ours(number, lsn, None, asked),
            None => Ok(None),
        }
    }

    /// A table's number; `None` if there is no table of the name now, and was none when partitions were looked up.
    fn number(&mut self, table: TableRef<'_>, asked: &mut dyn Asked) -> Result<Option<u64>> {
        let key = match table {
            TableRef::Number(number) => return Ok(Some(number.into())),
            TableRef::Name(name) => split(name)?,
            TableRef::Plain(schema, name) => (schema.into(), name.into()),
        };
        if let Some(number) = self.by_name.get(&key) {
            return Ok(Some(*number));
        }
        let (Ok(schema), Ok(name)) = (std::str::from_utf8(&key.0), std::str::from_utf8(&key.1)) else {
            return Err(ErrorKind::Decoding("a table's name is not UTF-8".into()).into());
        };
        asked.relation(Sought::Name { schema, name })
    }

    /// Whether a number is that of a captured table or a part of one.
    fn ours(
        &mut self,
        number: u64,
        lsn: u64,
        unknown: Option<(&Relation<'_>, &[Vec<u8>])>,
        asked: &mut dyn Asked,
    ) -> Result<Option<u32>> {
        if !self.by_number.contains_key(&number) {
            self.refresh(asked)?;
        }
        match self.by_number.get(&number) {
            Some(Known::Ours { until: Some(until), .. }) if lsn >= until.lsn => Ok(None),
            Some(Known::Ours { table, .. }) => Ok(Some(*table)),
            Some(Known::Foreign) => Ok(None),
            None => {
                let found = match unknown {
                    Some((relation, names)) => self.vanished(relation, names, asked)?,
                    None => None,
                };
                let known = match found {
                    Some(table) => Known::Ours {
                        table,
                        identity: Identity::Columns(Vec::new()),
                        until: None,
                    },
                    None => Known::Foreign,
                };
                self.by_number.insert(number, known);
                if let Some((relation, _)) = unknown.filter(|_| found.is_some()) {
                    self.by_name
                        .insert((relation.schema.into(), relation.name.into()), number);
                    self.changed = true;
                }
                Ok(found)
            }
        }
    }
}

/// A number of a name (FNV-1a, 64 bits): it stands in checkpoints.
fn place_number(TableName { schema, name }: &TableName) -> u64 {
    let bytes = schema.bytes().chain([0]).chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn split(qualified: &[u8]) -> Result<Name> {
    match split_name(qualified) {
        Some((schema, name)) => Ok((schema.into(), name.into())),
        None => Err(Error::from(ErrorKind::Decoding(format!(
            "{} is no qualified name",
            qualified.escape_ascii()
        )))),
    }
}
