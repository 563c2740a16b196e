//! Where the values of a row go: a layout for each table of the log, made of what the log or the dictionary says of it.

use std::ops::Deref;
use std::sync::Arc;

use crate::catalog::Table;
use crate::error::{ErrorKind, Result};
use crate::log::decoding::binary::Form;
use crate::log::decoding::layout::{Described, Layout};
use crate::log::decoding::plugin::{Cell, Relation, RelationColumn, Row, TableRef};
use crate::log::decoding::shapes::{Dictionary, Shapes};
use crate::log::decoding::tables::unknown::Told;
use crate::log::decoding::tables::{Asked, DdlColumn, Identity, Known, Name, Tables, split};
use crate::log::decoding::test_decoding::unquoted;

#[derive(Debug)]
pub(super) enum Entry {
    Ours(Slot),
    Foreign,
    /// Whose rows they are cannot be told, and the job is to go on without them.
    Doubtful,
    /// The table of DDL statements.
    Ddl,
}

impl Entry {
    /// Whether it stays what it is when partitions come.
    pub(super) fn stays(&self) -> bool {
        !matches!(self, Entry::Foreign | Entry::Doubtful)
    }
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u64,
    /// The description that the layout was made of, where the log has such.
    pub(super) described: Box<[u8]>,
    pub(super) layout: Option<Layout>,
    table: u32,
}

impl Tables {
    /// Takes a description.
    pub(in crate::log::decoding) fn describe(
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
            let described = columns.iter().map(|column| DdlColumn {
                name: column.name.into(),
                form: Form::of_type(column.kind),
            });
            self.ddl_columns = described.collect();
            let has_forms = self.ddl_columns.iter().all(|column| column.form.is_some());
            self.layouts.insert(key.into(), Entry::Ddl);
            return self.check_forms(has_forms, relation);
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
                form: Form::of_type(column.kind),
                in_identity: column.in_identity,
            })
            .collect();
        let layout = Layout::new(
            table,
            (shape, self.shapes[table as usize].get(shape)),
            &columns,
            is_full,
        );
        let has_forms = layout.has_forms();
        let slot = Slot {
            number,
            described: described.into(),
            layout: Some(layout),
            table,
        };
        self.layouts.insert(key.into(), Entry::Ours(slot));
        self.check_forms(has_forms, relation)
    }

    /// Refuses a table whose rows cannot be read where values come in binary form.
    fn check_forms(&mut self, has_forms: bool, relation: &Relation<'_>) -> Result<()> {
        if !self.is_binary || has_forms {
            return Ok(());
        }
        self.is_binary = false;
        let text = format!(
            "table {}.{} has a column of a type whose binary form is not known",
            String::from_utf8_lossy(relation.schema),
            String::from_utf8_lossy(relation.name)
        );
        Err(ErrorKind::Decoding(text).into())
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
    pub(in crate::log::decoding) fn layout(
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
    pub(in crate::log::decoding) fn known(&self, table: TableRef<'_>) -> Option<&Layout> {
        match self.layouts.get(&*key_of(table)) {
            Some(Entry::Ours(slot)) => slot.layout.as_ref(),
            _ => None,
        }
    }

    /// A shape of a table that has more than one.
    pub(in crate::log::decoding) fn changed_shape(&self, table: u32, shape: usize) -> Option<Arc<Table>> {
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
pub(super) enum KeyOf<'t> {
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

pub(super) fn key_of(table: TableRef<'_>) -> KeyOf<'_> {
    match table {
        TableRef::Number(number) => KeyOf::Number(number.to_be_bytes()),
        TableRef::Name(name) => KeyOf::Name(name),
        TableRef::Plain(schema, name) => KeyOf::Joined([schema, b"\0", name].concat()),
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
            form: None,
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
        form: None,
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
