//! Which captured table a row of the log belongs to: captured tables and their partitions over time, by the numbers and
//! names that the log knows them by.

mod remembered;
mod unknown;

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use crate::catalog::Table;
use crate::dialect::slots::Relation as Sought;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::captured::{CapturedTable, Selection};
use crate::log::decoding::layout::{Described, Layout};
use crate::log::decoding::plugin::{Cell, Relation, RelationColumn, Row, TableRef};
use crate::log::decoding::session::SlotSettings;
use crate::log::decoding::shapes::{Dictionary, Shape, Shapes};
use crate::log::decoding::tables::unknown::Told;
use crate::log::decoding::test_decoding::{split_name, unquoted};
use crate::split::{Partition, TableName};

/// A captured table, or a partition of one, as the dictionary has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u64,
    /// The captured table's number in the dictionary.
    pub root: u64,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether it has partitions, or can have them.
    pub is_partitioned: bool,
    /// What of old rows its changes have in the log.
    pub identity: Identity,
}

/// What of old rows the log has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// All.
    Whole,
    /// These columns, when one of them changes or the row goes; none: rows can only come.
    Columns(Vec<String>),
}

impl Identity {
    fn is_whole(&self) -> bool {
        matches!(self, Identity::Whole)
    }

    /// The columns, unless it is all of them.
    pub(super) fn columns(&self) -> Option<Vec<String>> {
        match self {
            Identity::Whole => None,
            Identity::Columns(columns) => Some(columns.clone()),
        }
    }

    fn has(&self, column: &[u8]) -> bool {
        match self {
            Identity::Whole => true,
            Identity::Columns(columns) => columns.iter().any(|name| name.as_bytes() == column),
        }
    }
}

/// What the tables are asked that the log does not say.
pub(super) trait Asked {
    /// The captured tables and all their partitions, as they are now.
    fn parts(&mut self, roots: &[u64]) -> Result<Vec<Part>>;

    /// The number of the table with this number, or of this name; `None` if there is none now.
    fn relation(&mut self, of: Sought<'_>) -> Result<Option<u64>>;

    /// A captured table as the dictionary has it now.
    fn table(&mut self, number: u32) -> Result<Option<Table>>;

    /// The log's end of now.
    fn log_end(&mut self) -> Result<u64>;
}

/// A table of the log.
#[derive(Debug)]
pub(super) enum Known {
    /// A captured one or a part of one. `until`: it is none any more, but the log up to here is of the time when it was.
    Ours {
        table: u32,
        identity: Identity,
        until: Option<Until>,
    },
    /// One that is not captured.
    Foreign,
}

/// Up to where the log has a table as part of a captured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Until {
    /// Its rows stand in front of here.
    pub(super) lsn: u64,
    /// Their transactions commit in front of here.
    pub(super) over: u64,
}

impl Until {
    /// What has been gone since the log ended there.
    fn end(lsn: u64) -> Self {
        Until { lsn, over: lsn }
    }
}

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
    ddl_columns: Vec<Box<[u8]>>,
    /// What becomes of rows of which it cannot be told whose they are.
    on_mismatch: OnFault,
    /// How many were left out.
    left_out: u64,
    /// Tables that a warning was about.
    warned: HashSet<Box<[u8]>>,
    /// The parts are others than they were when they were asked for last.
    changed: bool,
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

#[derive(Debug)]
enum Entry {
    Ours(Slot),
    Foreign,
    /// Whose rows they are cannot be told, and the job is to go on without them.
    Doubtful,
    /// The table of DDL statements.
    Ddl,
}

impl Entry {
    /// Whether it stays what it is when partitions come.
    fn stays(&self) -> bool {
        !matches!(self, Entry::Foreign | Entry::Doubtful)
    }
}

#[derive(Debug)]
struct Slot {
    number: u64,
    /// The description that the layout was made of, where the log has such.
    described: Box<[u8]>,
    layout: Option<Layout>,
    table: u32,
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
            by_number: HashMap::new(),
            by_name: HashMap::new(),
            layouts: HashMap::new(),
            passed: HashMap::new(),
            exclusive: settings.exclusive,
            ddl: ddl.map(|table| (table.schema.as_bytes().into(), table.name.as_bytes().into())),
            ddl_columns: Vec::new(),
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
    pub(super) fn ddl_columns(&self) -> &[Box<[u8]>] {
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

    /// Takes a description.
    pub(super) fn describe(
        &mut self,
        relation: &Relation<'_>,
        columns: &[RelationColumn<'_>],
        described: &[u8],
        lsn: u64,
        asked: &mut dyn Asked,
    ) -> Result<()> {
        let key = relation.number.to_be_bytes();
        let altered = match self.layouts.get(&key[..]) {
            Some(Entry::Ours(slot)) if *slot.described == *described => return Ok(()),
            Some(Entry::Ours(_)) => true,
            Some(Entry::Foreign | Entry::Doubtful) => return Ok(()),
            Some(Entry::Ddl) | None => false,
        };
        let names: Vec<Vec<u8>> = columns.iter().map(|column| column.name.to_vec()).collect();
        let number = u64::from(relation.number);
        let is_ddl = |(schema, name): &Name| **schema == *relation.schema && **name == *relation.name;
        if self.ddl.as_ref().is_some_and(is_ddl) {
            self.ddl_columns = columns.iter().map(|column| column.name.into()).collect();
            self.layouts.insert(key.into(), Entry::Ddl);
            return Ok(());
        }
        let ours = self.ours(number, lsn, Some((relation, &names)), asked);
        let table = match self.doubted(&key, ours)? {
            Told::Sure(Some(table)) => table,
            Told::Sure(None) => {
                self.pass(TableRef::Number(relation.number), Entry::Foreign);
                return Ok(());
            }
            Told::Doubtful => {
                self.pass(TableRef::Number(relation.number), Entry::Doubtful);
                return Ok(());
            }
        };
        let shape = self.shapes[table as usize].of(&names, altered, &mut |number| asked.table(number))?;
        let is_full = relation.identity == b'f';
        let columns: Vec<Described<'_>> = columns
            .iter()
            .map(|column| Described {
                name: column.name,
                kind: b"",
                in_identity: column.in_identity,
            })
            .collect();
        let layout = Layout::new(
            table,
            (shape, self.shapes[table as usize].get(shape)),
            &columns,
            is_full,
        );
        let slot = Slot {
            number,
            described: described.into(),
            layout: Some(layout),
            table,
        };
        self.layouts.insert(key.into(), Entry::Ours(slot));
        Ok(())
    }

    /// Rows of a table are passed over from here on.
    fn pass(&mut self, table: TableRef<'_>, entry: Entry) {
        if let TableRef::Number(number) = table {
            self.passed.insert(number, matches!(entry, Entry::Doubtful));
        }
        self.layouts.insert((*key_of(table)).into(), entry);
    }

    /// Where the values of a row go; `None` if its table is not captured. `new`: all the columns that the table had, where
    /// the row has them with their names.
    pub(super) fn layout(
        &mut self,
        table: TableRef<'_>,
        row: &Row<'_>,
        lsn: u64,
        asked: &mut dyn Asked,
    ) -> Result<Option<&Layout>> {
        let new = row.new.as_slice();
        let key = &*key_of(table);
        let is_numbered = matches!(table, TableRef::Number(_));
        if !self.layouts.contains_key(key) {
            if let TableRef::Number(number) = table {
                let Some(is_doubtful) = self.passed.get(&number) else {
                    let text = "a row of a table that was not described".to_owned();
                    return Err(ErrorKind::Decoding(text).into());
                };
                self.left_out += u64::from(*is_doubtful);
                return Ok(None);
            }
            self.enter(key.into(), table, row, lsn, asked)?;
        }
        let number = match self.layouts.get(key) {
            Some(Entry::Ours(slot)) => slot.number,
            Some(Entry::Doubtful) => {
                self.left_out += 1;
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let identity = match self.by_number.get(&number) {
            Some(Known::Ours { until: Some(until), .. }) if lsn >= until.lsn => {
                self.pass(table, Entry::Foreign);
                return Ok(None);
            }
            Some(Known::Ours { identity, .. }) => identity,
            _ => return Ok(None),
        };
        let Some(Entry::Ours(slot)) = self.layouts.get_mut(key) else {
            return Ok(None);
        };
        let fits = match &slot.layout {
            Some(layout) => new.is_empty() || is_numbered || layout.fits(new),
            None => false,
        };
        if !fits {
            let shapes = &mut self.shapes[slot.table as usize];
            slot.layout = Some(named_layout(slot, new, identity, shapes, asked)?);
        }
        Ok(slot.layout.as_ref())
    }

    /// The layout that [`Tables::layout`] gave last for a table.
    pub(super) fn known(&self, table: TableRef<'_>) -> Option<&Layout> {
        match self.layouts.get(&*key_of(table)) {
            Some(Entry::Ours(slot)) => slot.layout.as_ref(),
            _ => None,
        }
    }

    /// A shape of a table that has more than one.
    pub(super) fn changed_shape(&self, table: u32, shape: usize) -> Option<Arc<Table>> {
        let shapes = &self.shapes[table as usize];
        (shapes.last() > 0).then(|| shapes.get(shape).table.clone())
    }

    fn enter(
        &mut self,
        key: Box<[u8]>,
        table: TableRef<'_>,
        row: &Row<'_>,
        lsn: u64,
        asked: &mut dyn Asked,
    ) -> Result<()> {
        let name = match table {
            TableRef::Number(_) => None,
            TableRef::Name(name) => Some(split(name)?),
            TableRef::Plain(schema, name) => Some((schema.into(), name.into())),
        };
        if name.is_some() && name == self.ddl {
            self.layouts.insert(key, Entry::Ddl);
            return Ok(());
        }
        let number = self.number(table, asked)?;
        let captured = match number {
            Some(number) => self.ours(number, lsn, None, asked)?,
            None => None,
        };
        let told = match (&name, number, captured) {
            (Some(name), None, _) => self.check_vanished(name, &key, row),
            (Some(name), Some(number), Some(_)) => self.check_taken_over(name, number, asked),
            (Some(_), Some(_), None) => {
                self.warn_of_alike(&key, row);
                Ok(())
            }
            (None, ..) => Ok(()),
        };
        let entry = match (self.doubted(&key, told)?, number.zip(captured)) {
            (Told::Doubtful, _) => Entry::Doubtful,
            (Told::Sure(()), Some((number, table))) => Entry::Ours(Slot {
                number,
                described: Box::default(),
                layout: None,
                table,
            }),
            (Told::Sure(()), None) => Entry::Foreign,
        };
        self.layouts.insert(key, entry);
        Ok(())
    }
}

/// What a table's layout is kept by.
enum KeyOf<'t> {
    Number([u8; 4]),
    Name(&'t [u8]),
    Joined(Vec<u8>),
}

impl Deref for KeyOf<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            KeyOf::Number(number) => number,
            KeyOf::Name(name) => name,
            KeyOf::Joined(name) => name,
        }
    }
}

fn key_of(table: TableRef<'_>) -> KeyOf<'_> {
    match table {
        TableRef::Number(number) => KeyOf::Number(number.to_be_bytes()),
        TableRef::Name(name) => KeyOf::Name(name),
        TableRef::Plain(schema, name) => KeyOf::Joined([schema, b"\0", name].concat()),
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

/// The layout of a table whose rows name their columns.
fn named_layout(
    slot: &Slot,
    new: &[Cell<'_>],
    identity: &Identity,
    shapes: &mut Shapes,
    asked: &mut dyn Asked,
) -> Result<Layout> {
    let dictionary: &mut Dictionary<'_> = &mut |number| asked.table(number);
    if new.is_empty() {
        // A row that goes names some of its columns only: those of the newest shape are assumed.
        let number = shapes.last();
        let shape = shapes.get(number);
        let columns = shape.table.columns.iter().map(|column| Described {
            name: column.name.as_bytes(),
            kind: b"",
            in_identity: identity.has(column.name.as_bytes()),
        });
        let columns: Vec<Described<'_>> = columns.collect();
        return Ok(Layout::new(slot.table, (number, shape), &columns, identity.is_whole()));
    }
    let names: Vec<Vec<u8>> = new.iter().map(|cell| unquoted(cell.name)).collect();
    let shape = shapes.of(&names, slot.layout.is_some(), dictionary)?;
    let columns = new.iter().zip(&names).map(|(cell, name)| Described {
        name: cell.name,
        kind: cell.kind,
        in_identity: identity.has(name),
    });
    let columns: Vec<Described<'_>> = columns.collect();
    Ok(Layout::new(
        slot.table,
        (shape, shapes.get(shape)),
        &columns,
        identity.is_whole(),
    ))
}
