//! From a plugin's events to transactions in fragments. A transaction is never held whole: what is complete goes on.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::{ChangeKind, SchemaChange};
use crate::error::{Error, ErrorKind, Result};
use crate::log::decoding::block::SlotRow;
use crate::log::decoding::control::LogEnd;
use crate::log::decoding::ddl_table::Record;
use crate::log::decoding::layout::Kind;
use crate::log::decoding::plugin::{Begin, Event, Plugin, Row, TableRef};
use crate::log::decoding::plugins::AnyPlugin;
use crate::log::decoding::statements::{Effect, Told};
use crate::log::decoding::tables::{Asked, Tables, Until};
use crate::log::{Change, Changes, Fragment, FragmentLimit, LogEvent, SchemaEvent, TransactionHead};
use crate::position::{CommitPosition, Place, Position, Scn, Xid};

/// A call whose rows are read.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// Everything below was to be had when the call was made.
    pub(super) flushed: u64,
    /// The newest transaction then.
    pub(super) newest: Xid,
    /// Bytes of the rows that came.
    pub(super) bytes: u64,
    /// Where the transactions of the call end and when they committed, for plugins that say so at the end only.
    ends: VecDeque<(u64, i64)>,
}

impl Call {
    pub(super) fn new(end: LogEnd) -> Self {
        Call {
            flushed: end.flushed,
            newest: end.newest,
            ..Call::default()
        }
    }
}

/// A step that was made.
#[derive(Debug)]
pub(super) enum Ready {
    /// An event, and where the reader stands behind it if it has moved.
    Event(LogEvent, Option<Position>),
    /// The reader has moved.
    Moved(Position),
}

/// The transaction at hand.
#[derive(Debug)]
struct Open {
    head: TransactionHead,
    /// It was out when the reader was opened.
    skipped: bool,
    /// Events of rows that were read of it.
    events: u64,
    /// How many events are passed over, since they were read from an earlier copy of the slot.
    pass: u64,
    /// Whether anything of it went on.
    begun: bool,
    /// The number of the next fragment.
    number: u32,
    /// Where records stand that went on last, and how many of each table do.
    last: (Scn, Vec<(u64, u32)>),
    told: Told,
}

/// Puts transactions together.
pub(super) struct Assembly {
    pub(super) tables: Tables,
    limit: FragmentLimit,
    position: Position,
    open: Option<Open>,
    /// What was at hand when the slot's copy was lost.
    resumed: Option<Open>,
    pending: Changes,
    /// The shapes of the tables that have rows in `pending`.
    said: Vec<(u32, usize)>,
    row: Row<'static>,
}

impl Assembly {
    pub(super) fn new(tables: Tables, limit: FragmentLimit, position: Position) -> Self {
        Assembly {
            tables,
            limit,
            position,
            open: None,
            resumed: None,
            pending: Changes::default(),
            said: Vec::new(),
            row: Row::default(),
        }
    }

    /// Behind the last transaction whose end was read.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Everything in front of a place was read.
    pub(super) fn move_to(&mut self, position: Position) {
        self.position = self.position.max(position);
    }

    /// Rows come from another copy of the slot: those behind the position come again.
    pub(super) fn restart(&mut self) {
        self.resumed = self.open.take().or(self.resumed.take());
    }

    /// Memory that rows take that did not go on.
    pub(super) fn size(&self) -> usize {
        self.pending.values.size()
    }

    /// Takes the row of a call that `slot_row` begins with; how long it is.
    pub(super) fn take(
        &mut self,
        slot_row: SlotRow<'_>,
        plugin: &mut AnyPlugin,
        call: &mut Call,
        asked: &mut dyn Asked,
        out: &mut VecDeque<Ready>,
    ) -> Result<usize> {
        let mut row = std::mem::take(&mut self.row).recycle();
        let mut behind = slot_row.data;
        let event = plugin.next(&mut behind, &mut row)?;
        let length = slot_row.data.len() - behind.len();
        let slot_row = SlotRow {
            data: &slot_row.data[..length],
            ..slot_row
        };
        if slot_row.is_end {
            if let Event::Commit(commit) = event {
                call.ends.push_back((slot_row.lsn, commit.micros.unwrap_or(0)));
            }
        } else {
            call.bytes += length as u64;
            self.apply(event, &row, slot_row, call, asked, out)?;
        }
        self.row = row.recycle();
        Ok(length)
    }

    fn apply(
        &mut self,
        event: Event<'_>,
        row: &Row<'_>,
        at: SlotRow<'_>,
        call: &mut Call,
        asked: &mut dyn Asked,
        out: &mut VecDeque<Ready>,
    ) -> Result<()> {
        match event {
            Event::Begin(begin) => self.begin(begin, at, call),
            Event::Commit(_) => self.commit(out),
            Event::Relation(relation) => (self.tables).describe(&relation, &row.columns, at.data, at.lsn, asked),
            Event::Insert(table) => self.change(table, Kind::Insert, row, at.lsn, asked, out),
            Event::Update(table, old) => self.change(table, Kind::Update(old), row, at.lsn, asked, out),
            Event::Delete(table, old) => self.change(table, Kind::Delete(old), row, at.lsn, asked, out),
            Event::Truncate => self.truncate(&row.tables, at.lsn, asked, out),
            Event::Message(_) | Event::Other => Ok(()),
        }
    }

    fn begin(&mut self, begin: Begin, at: SlotRow<'_>, call: &mut Call) -> Result<()> {
        if self.open.is_some() {
            return unexpected("a transaction begins inside another one");
        }
        let (scn, micros) = match begin.commit {
            Some(commit) => (commit, begin.micros),
            // The last byte of its COMMIT record: what is known of the record is where it ends.
            None => match call.ends.pop_front() {
                Some((end, micros)) => (end.saturating_sub(1), begin.micros.or(Some(micros))),
                None => return unexpected("a transaction begins that has no end"),
            },
        };
        let commit = CommitPosition { scn: Scn(scn), nth: 0 };
        let skipped = self.position.includes(commit);
        let resumed = match skipped {
            true => None,
            false => self.resumed.take(),
        };
        if let Some(mut resumed) = resumed {
            if resumed.head.commit != commit {
                return unexpected(&format!(
                    "the transaction at {} comes where the one at {} was read in part",
                    commit, resumed.head.commit
                ));
            }
            resumed.pass = resumed.events;
            resumed.events = 0;
            self.open = Some(resumed);
            return Ok(());
        }
        let Some(xid) = begin.xid.or(at.xid) else {
            return unexpected("a transaction begins without its number");
        };
        self.open = Some(Open {
            head: TransactionHead {
                xid: widen(xid, call.newest),
                commit,
                commit_micros: micros.unwrap_or(0),
                start: Scn(at.lsn),
                // The slot may be moved up to here: it then gives what commits behind this transaction.
                next_scn: Scn(scn + 1),
            },
            skipped,
            events: 0,
            pass: 0,
            begun: false,
            number: 0,
            last: Default::default(),
            told: Told::default(),
        });
        Ok(())
    }

    fn commit(&mut self, out: &mut VecDeque<Ready>) -> Result<()> {
        let Some(open) = &self.open else {
            return unexpected("a transaction ends that did not begin");
        };
        let position = Position::after(open.head.commit);
        if !open.skipped {
            self.position = position;
            match open.begun || !self.pending.rows.is_empty() {
                true => self.flush(true, out),
                false => match out.back_mut() {
                    Some(Ready::Moved(moved)) => *moved = position,
                    _ => out.push_back(Ready::Moved(position)),
                },
            }
        }
        self.open = None;
        Ok(())
    }

    /// Counts an event of rows; the transaction if it is to be read.
    fn counted(&mut self) -> Result<Option<&mut Open>> {
        let Some(open) = &mut self.open else {
            return unexpected("a row stands outside of a transaction");
        };
        open.events += 1;
        Ok((!open.skipped && open.events > open.pass).then_some(open))
    }

    fn change(
        &mut self,
        table: TableRef<'_>,
        kind: Kind,
        row: &Row<'_>,
        lsn: u64,
        asked: &mut dyn Asked,
        out: &mut VecDeque<Ready>,
    ) -> Result<()> {
        if self.counted()?.is_none() {
            return Ok(());
        }
        let Some(layout) = self.tables.layout(table, row, lsn, asked)? else {
            return match kind == Kind::Insert && self.tables.is_ddl(table) {
                true => self.statement(row, lsn, asked, out),
                false => Ok(()),
            };
        };
        let (number, shape) = (layout.table, layout.shape);
        let place = self.place(number, lsn);
        let other_shape = self.said.iter().any(|&(of, said)| of == number && said != shape);
        let is_full = self.pending.rows.len() >= self.limit.rows || self.pending.values.size() >= self.limit.bytes;
        if other_shape || is_full {
            self.flush(false, out);
        }
        self.say(number, shape);
        let Some(layout) = self.tables.known(table) else {
            return unexpected("a table is not known any more");
        };
        let images = layout.images(self.tables.shape(layout), kind, row, &mut self.pending.values);
        let (before, after) = images.map_err(|error| error.on(&self.tables.captured(number).name).at(place.scn))?;
        self.pending.rows.push(Change {
            table: number,
            before,
            after,
            place,
        });
        Ok(())
    }

    /// Where a record stands, counted among those of its table at its LSN.
    fn place(&mut self, table: u32, lsn: u64) -> Place {
        let table = self.tables.place(table);
        let Some(open) = &mut self.open else {
            return Place::default();
        };
        let (scn, counts) = &mut open.last;
        if *scn != Scn(lsn) {
            *scn = Scn(lsn);
            counts.clear();
        }
        let nth = match counts.iter_mut().find(|(of, _)| *of == table) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                counts.push((table, 0));
                0
            }
        };
        Place {
            scn: Scn(lsn),
            table,
            nth,
            ..Place::default()
        }
    }

    /// Notes which shape a table's rows in the fragment have.
    fn say(&mut self, table: u32, shape: usize) {
        if self.said.iter().any(|&(said, _)| said == table) {
            return;
        }
        self.said.push((table, shape));
        if let Some(shape) = self.tables.changed_shape(table, shape) {
            self.pending.shapes.push((table, shape));
        }
    }

    fn truncate(
        &mut self,
        tables: &[TableRef<'_>],
        lsn: u64,
        asked: &mut dyn Asked,
        out: &mut VecDeque<Ready>,
    ) -> Result<()> {
        if self.counted()?.is_none() {
            return Ok(());
        }
        let mut roots = Vec::new();
        for table in tables {
            if let Some(root) = self.tables.table_of(*table, lsn, asked)? {
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        for table in roots {
            let captured = self.tables.captured(table).clone();
            let statement = format!("TRUNCATE TABLE {}", captured.name);
            self.schema(table, ChangeKind::Truncate, statement, Some(captured), lsn, out);
        }
        Ok(())
    }

    /// A captured statement.
    fn statement(&mut self, row: &Row<'_>, lsn: u64, asked: &mut dyn Asked, out: &mut VecDeque<Ready>) -> Result<()> {
        let record = Record::read(&row.new, self.tables.ddl_columns())?;
        let Some(record) = self.open.as_mut().and_then(|open| open.told.sift(record)) else {
            return Ok(());
        };
        let Some(open) = &self.open else { return Ok(()) };
        let over = open.head.commit.scn.0 + 1;
        for effect in self.tables.effects(&record, Until { lsn, over }, asked)? {
            let Effect { table, kind, statement } = effect;
            let shape = match kind {
                ChangeKind::Drop => None,
                ChangeKind::Truncate => Some(self.tables.captured(table).clone()),
                _ => self.tables.now(table, asked)?,
            };
            self.schema(table, kind, statement, shape, lsn, out);
        }
        Ok(())
    }

    fn schema(
        &mut self,
        table: u32,
        kind: ChangeKind,
        statement: String,
        shape: Option<Arc<Table>>,
        lsn: u64,
        out: &mut VecDeque<Ready>,
    ) {
        if !self.pending.rows.is_empty() {
            self.flush(false, out);
        }
        let place = self.place(table, lsn);
        let Some(open) = &mut self.open else { return };
        open.begun = true;
        let event = SchemaEvent {
            head: open.head,
            table,
            place,
            change: SchemaChange {
                table: self.tables.captured(table).name.clone(),
                kind,
                statement,
                shape,
            },
        };
        out.push_back(Ready::Event(LogEvent::Schema(event), None));
    }

    fn flush(&mut self, last: bool, out: &mut VecDeque<Ready>) {
        let Some(open) = &mut self.open else { return };
        self.said.clear();
        let next = self.pending.like();
        let fragment = Fragment {
            head: open.head,
            number: open.number,
            last,
            changes: std::mem::replace(&mut self.pending, next),
        };
        open.number += 1;
        open.begun = true;
        let moved = last.then(|| Position::after(open.head.commit));
        out.push_back(Ready::Event(LogEvent::Fragment(fragment), moved));
    }
}

fn unexpected<T>(what: &str) -> Result<T> {
    Err(Error::from(ErrorKind::Decoding(what.into())))
}

/// The transaction whose lower half is known, nearest to one whose whole number is.
fn widen(low: u32, near: Xid) -> Xid {
    const EPOCH: u64 = 1 << 32;
    let here = near.0 & !(EPOCH - 1) | u64::from(low);
    let wide = if here > near.0 + EPOCH / 2 {
        here.checked_sub(EPOCH)
    } else if here + EPOCH / 2 < near.0 {
        here.checked_add(EPOCH)
    } else {
        Some(here)
    };
    Xid(wide.unwrap_or(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_number_is_that_of_the_nearest_transaction() {
        const EPOCH: u64 = 1 << 32;
        for (low, near, wide) in [
            (5, 7, 5),
            (9, 7, 9),
            (5, EPOCH + 7, EPOCH + 5),
            (u32::MAX, EPOCH + 7, EPOCH - 1),
            (3, 2 * EPOCH - 5, 2 * EPOCH + 3),
            (u32::MAX, 7, u64::from(u32::MAX)),
        ] {
            assert_eq!(widen(low, Xid(near)), Xid(wide), "{low} near {near}");
        }
    }
}
