//! The shapes of a captured table: as the dictionary has it now, and as the log had it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Column, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::log::captured::{CapturedTable, Selection, needed};

/// A shape, and what of it is read.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) table: Arc<Table>,
    wanted: Vec<bool>,
    names: HashMap<Box<[u8]>, usize>,
    /// Wanted columns that the server computes: the log need not have them.
    pub(super) computed: Vec<usize>,
}

impl Shape {
    fn new(table: Arc<Table>, mut wanted: Vec<bool>) -> Self {
        wanted.resize(table.columns.len(), false);
        let columns = table.columns.iter().enumerate();
        let names = columns
            .clone()
            .map(|(number, column)| (column.name.as_bytes().into(), number));
        let computed = columns.filter(|(number, column)| column.is_virtual && wanted[*number]);
        Shape {
            names: names.collect(),
            computed: computed.map(|(number, _)| number).collect(),
            table,
            wanted,
        }
    }

    pub(super) fn wants(&self, column: usize) -> bool {
        self.wanted.get(column).copied().unwrap_or(false)
    }

    pub(super) fn column(&self, name: &[u8]) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Whether rows with these columns are rows of this shape; what the server computes may be missing.
    fn fits(&self, names: &[Vec<u8>]) -> bool {
        let known = names
            .iter()
            .filter(|name| self.names.contains_key(name.as_slice()))
            .count();
        let computed_there = |column: &&Column| names.iter().any(|name| *name == column.name.as_bytes());
        let computed = self.table.columns.iter().filter(|column| column.is_virtual);
        let missing = computed.clone().count() - computed.filter(computed_there).count();
        known == names.len() && known + missing == self.table.columns.len()
    }
}

/// What the dictionary has of a captured table now, by its number; `None` if it is gone.
pub(super) type Dictionary<'d> = dyn FnMut(u32) -> Result<Option<Table>> + 'd;

/// The shapes of one table.
#[derive(Debug)]
pub(super) struct Shapes {
    number: u32,
    /// The first is the one that it was captured with; never empty.
    all: Vec<Shape>,
    selection: Option<Arc<dyn Selection>>,
}

impl Shapes {
    pub(super) fn new(number: u32, captured: &CapturedTable, selection: Option<Arc<dyn Selection>>) -> Result<Self> {
        let wanted = match &captured.wanted {
            Some(wanted) => wanted.clone(),
            None => needed(selection.as_deref(), number, &captured.table)?.columns,
        };
        Ok(Shapes {
            number,
            all: vec![Shape::new(captured.table.clone(), wanted)],
            selection,
        })
    }

    pub(super) fn get(&self, number: usize) -> &Shape {
        &self.all[number.min(self.last())]
    }

    /// The number of the newest one.
    pub(super) fn last(&self) -> usize {
        self.all.len() - 1
    }

    /// Whether rows with these columns are rows of any of the shapes.
    pub(super) fn has(&self, names: &[Vec<u8>]) -> bool {
        self.all.iter().any(|shape| shape.fits(names))
    }

    /// Whether these columns can be what is logged of a row of one of the shapes that goes.
    pub(super) fn may_have(&self, names: &[Vec<u8>]) -> bool {
        self.all.iter().any(|shape| {
            let known = names.iter().all(|name| shape.names.contains_key(name.as_slice()));
            let mut key = shape
                .table
                .key
                .iter()
                .map(|&key| shape.table.columns[key].name.as_bytes());
            known && key.all(|key| names.iter().any(|name| name == key))
        })
    }

    /// The shape that rows with columns of these names have, its number. `altered`: the table was altered since its rows were
    /// seen last, be it that only a type is another one.
    pub(super) fn of(&mut self, names: &[Vec<u8>], altered: bool, dictionary: &mut Dictionary<'_>) -> Result<usize> {
        if let Some(known) = self
            .all
            .iter()
            .rposition(|shape| shape.fits(names))
            .filter(|_| !altered)
        {
            return Ok(known);
        }
        let now = dictionary(self.number)?;
        if let Some(now) = &now {
            let now = self.add(now.clone())?;
            if self.all[now].fits(names) {
                return Ok(now);
            }
        }
        let past = self.past(now.as_ref(), names)?;
        self.add(past)
    }

    /// Adds the shape of now.
    pub(super) fn add_now(&mut self, table: Table) -> Result<Arc<Table>> {
        let number = self.add(table)?;
        Ok(self.all[number].table.clone())
    }

    /// A table as rows of the log have it: columns that the dictionary lacks by now are taken from a shape that had them,
    /// those that it did not have then are left out.
    fn past(&self, now: Option<&Table>, names: &[Vec<u8>]) -> Result<Table> {
        let newest = self.get(usize::MAX);
        let base = now.unwrap_or(&newest.table);
        let is_there = |column: &&Column| column.is_virtual || names.iter().any(|name| *name == column.name.as_bytes());
        let mut columns: Vec<Column> = base.columns.iter().filter(is_there).cloned().collect();
        for name in names {
            if columns.iter().any(|column| column.name.as_bytes() == name) {
                continue;
            }
            let found = self.all.iter().rev().find_map(|shape| {
                let column = shape.column(name)?;
                shape.table.columns.get(column)
            });
            match found {
                Some(column) => columns.push(column.clone()),
                None => log::warn!(
                    "column '{}' of table {} is in the log and no more in the dictionary: it is left out",
                    String::from_utf8_lossy(name),
                    base.name
                ),
            }
        }
        let key = base.key.iter().map(|&key| {
            let name = &base.columns[key].name;
            columns.iter().position(|column| column.name == *name).ok_or_else(|| {
                let text = format!("rows of the log lack column '{name}' of the key that the table has now");
                Error::from(ErrorKind::DictionaryMismatch(text)).on(&base.name)
            })
        });
        Ok(Table {
            key: key.collect::<Result<_>>()?,
            columns,
            ..base.clone()
        })
    }

    fn add(&mut self, mut table: Table) -> Result<usize> {
        if let Some(selection) = &self.selection {
            selection.prepare(&mut table)?;
        }
        let same = |shape: &Shape| {
            let (a, b) = (&*shape.table, &table);
            (&a.columns, &a.key, &a.text_order, a.object_id) == (&b.columns, &b.key, &b.text_order, b.object_id)
        };
        if let Some(known) = self.all.iter().rposition(same) {
            return Ok(known);
        }
        let needed = needed(self.selection.as_deref(), self.number, &table)?;
        self.all.push(Shape::new(Arc::new(table), needed.columns));
        Ok(self.last())
    }
}
