//! A captured table through the shapes that its dictionary had: which of them a record was written in, and which one puts it
//! into words.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::log::Changes;
use crate::log::captured::{Selection, needed};
use crate::log::logminer::faults::mismatch;
use crate::log::logminer::history::History;
use crate::log::logminer::redo_sql::{Operation, Parser, Row};
use crate::log::logminer::shape::Shape;
use crate::log::transactions::Record;
use crate::row::codec::Needed;

/// A captured table.
#[derive(Debug)]
pub(super) struct Captured {
    /// Every shape that the dictionary had while the log was read, and those before them that records were found in; never
    /// empty.
    pub(super) shapes: Vec<Shape>,
    /// The place of the one that the dictionary had last.
    newest: usize,
    pub(super) history: History,
    /// So many of the first shapes are explained: all statements are noted that the log has of what led to them.
    pub(super) explained: usize,
    /// Whose records come now.
    object_id: u64,
    /// The table was dropped: what comes next may be one made anew.
    pub(super) dropped: bool,
    /// The shape of its rows in the fragment of this number.
    said: (u64, u32),
}

/// A text to be read.
pub(super) struct Reading<'a, 't> {
    pub(super) parser: &'a Parser,
    pub(super) operation: Operation,
    pub(super) text: &'t [u8],
    /// What to set so that the log holds whole rows.
    pub(super) hint: &'a str,
    pub(super) selection: Option<&'a dyn Selection>,
}

impl Captured {
    pub(super) fn new(table: Arc<Table>, needed: Needed) -> Self {
        Captured {
            object_id: table.object_id,
            shapes: vec![Shape::new(table, needed)],
            newest: 0,
            history: History::default(),
            explained: 0,
            dropped: false,
            said: (0, 0),
        }
    }

    /// The shape that the dictionary had last.
    pub(super) fn newest(&self) -> &Arc<Table> {
        &self.shapes[self.newest].table
    }

    /// The dictionary has the table in this shape now. Returns its place.
    pub(super) fn add(&mut self, shape: Shape) -> u32 {
        self.newest = self.shapes.len();
        self.shapes.push(shape);
        self.newest as u32
    }

    /// The table in the shape that its rows have behind a statement.
    pub(super) fn behind(&mut self, record: &Record, selection: Option<&dyn Selection>) -> Result<&Arc<Table>> {
        let own = self.own(record, self.newest, selection)?;
        Ok(&self.shapes[own.unwrap_or(self.newest)].table)
    }

    /// Refuses records of a table of the same name that is another one.
    pub(super) fn check_object(&mut self, record: &Record) -> Result<()> {
        if record.object == 0 || record.object == self.object_id {
            return Ok(());
        }
        let is_part = |shape: &Shape| shape.table.object_id == self.object_id && shape.has_partition(record.object);
        if self.shapes.iter().rev().any(is_part) {
            return Ok(());
        }
        if self.dropped && self.shapes[self.newest].table.object_id == record.object {
            (self.object_id, self.dropped) = (record.object, false);
            return Ok(());
        }
        mismatch(format!(
            "the record is of table number {}, the table has number {}: it was made anew",
            record.object, self.object_id
        ))
    }

    /// The place of the shape that a record was written in, if it is known.
    fn exact(&self, record: &Record) -> Option<usize> {
        self.shapes
            .iter()
            .rposition(|shape| shape.table.object_id == record.object && shape.table.version == record.version)
    }

    /// The same, or what it must have been where nothing was done since but adding columns, for rows that go out whole.
    fn own(&mut self, record: &Record, newer: usize, selection: Option<&dyn Selection>) -> Result<Option<usize>> {
        if let Some(exact) = self.exact(record) {
            return Ok(Some(exact));
        }
        let shape = &self.shapes[newer];
        let between = self
            .history
            .between(shape.table.object_id, record.version, shape.table.version);
        let is_older = record.object == shape.table.object_id && between.is_known;
        let Some(before) = shape
            .before(between, record.version)
            .filter(|_| is_older && shape.is_whole())
        else {
            return Ok(None);
        };
        let needed = needed(selection, record.table, &before)?;
        self.shapes.push(Shape::new(Arc::new(before), needed));
        Ok(Some(self.shapes.len() - 1))
    }

    pub(super) fn explains(&self, record: &Record) -> bool {
        let Some(Shape { table, .. }) = self.shapes.get(record.shape as usize) else {
            return true;
        };
        let is_older = record.object == table.object_id && (1..table.version).contains(&record.version);
        !is_older
            || (record.shape as usize) < self.explained
            || self
                .history
                .between(record.object, record.version, table.version)
                .is_known
    }

    /// The place of the last known shape before a record's own, if what is read of it was the same in both.
    fn last_before(&self, record: &Record) -> Option<usize> {
        let before = self.shapes.iter().rposition(|shape| {
            shape.table.object_id == record.object && (1..record.version).contains(&shape.table.version)
        })?;
        let shape = &self.shapes[before];
        let between = self.history.between(record.object, shape.table.version, record.version);
        shape.is_same_after(between).then_some(before)
    }

    /// Reads a text by the shape that it was put into words by: the dictionary's at that time or, should the server use
    /// it, the record's own. Returns the place of the shape that the row goes out in.
    pub(super) fn read<'t>(&mut self, record: &Record, reading: &Reading<'_, 't>, row: &mut Row<'t>) -> Result<usize> {
        let Reading { operation, hint, .. } = *reading;
        let current = (record.shape as usize).min(self.shapes.len() - 1);
        let (object_id, version) = {
            let table = &self.shapes[current].table;
            (table.object_id, table.version)
        };
        // How a partition's own versions count is not known.
        let is_part = record.object != object_id && self.shapes[current].has_partition(record.object);
        let is_known = record.version != 0 && version != 0 && record.object != 0 && !is_part;
        if !is_known || (record.object, record.version) == (object_id, version) {
            self.parse(current, reading, row)?;
            self.shapes[current].check_whole(row, operation, None, hint)?;
            return Ok(current);
        }
        let exact = self.exact(record).filter(|&exact| exact != current);
        let is_older = record.object == object_id && record.version < version;
        let parsed = self.parse(current, reading, row);
        if parsed.is_ok() && record.object == object_id && self.shapes[current].fits(row, operation) {
            return match is_older {
                true => self.read_older(current, record, reading, row),
                false => Ok(current),
            };
        }
        // It names other columns, so it is as it was written.
        if let Some(exact) = exact {
            self.parse(exact, reading, row)?;
            if self.shapes[exact].fits(row, operation) {
                return Ok(exact);
            }
        } else if let Some(before) = self.last_before(record) {
            self.parse(before, reading, row)?;
            if self.shapes[before].check_whole(row, operation, None, hint).is_ok() {
                return Ok(before);
            }
        }
        if record.object != object_id {
            return mismatch(format!(
                "the record is of table number {}, which was dropped before it was read",
                record.object
            ));
        }
        self.parse(current, reading, row)?;
        let between = is_older.then(|| self.history.between(object_id, record.version, version));
        self.shapes[current].check_whole(row, operation, between, hint)?;
        match is_older {
            true => self.read_older(current, record, reading, row),
            false => Ok(current),
        }
    }

    /// An older row in the words of a later shape: right if its columns are the same. Where rows go out whole it has its
    /// own shape, without what was added since.
    fn read_older<'t>(
        &mut self,
        later: usize,
        record: &Record,
        reading: &Reading<'_, 't>,
        row: &mut Row<'t>,
    ) -> Result<usize> {
        let was = self.exact(record).map(|exact| &*self.shapes[exact].table);
        self.shapes[later].check_unmoved(record, was, &self.history)?;
        if !self.shapes[later].is_whole() {
            return Ok(later);
        }
        let own = self.own(record, later, reading.selection)?.unwrap_or(later);
        self.parse(own, reading, row)?;
        Ok(own)
    }

    fn parse<'t>(&mut self, shape: usize, reading: &Reading<'_, 't>, row: &mut Row<'t>) -> Result<()> {
        self.shapes[shape].parse(reading.parser, reading.operation, reading.text, row)
    }

    /// Says the shape of a table's rows in a fragment; `false` if it has another one there already.
    pub(super) fn say(&mut self, fragment: u64, number: u32, shape: usize, out: &mut Changes) -> bool {
        let said = (fragment, shape as u32);
        if self.said.0 == fragment {
            return self.said == said;
        }
        self.said = said;
        out.shapes.push((number, self.shapes[shape].table.clone()));
        true
    }
}
