//! Corrects pages by changes of the log.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::log::{Fragment, LogEvent, LogReader};
use crate::row::{RowCodec, RowKind, RowOrigin};
use crate::snapshot::merge::Page;
use crate::snapshot::wait::Clock;
use crate::unavailable::{Around, Completion};

#[derive(Default)]
pub(super) struct Scratch {
    before: Vec<u8>,
    after: Vec<u8>,
    row: Vec<u8>,
}

/// What is kept of the memory that a row took.
const KEPT: usize = 1 << 20;

/// What an event of the log is applied with.
pub(super) struct Applying<'a> {
    pub(super) codec: &'a dyn RowCodec,
    pub(super) scratch: &'a mut Scratch,
    pub(super) completion: Option<&'a mut Completion>,
    pub(super) log: &'a mut dyn LogReader,
    pub(super) clock: &'a mut dyn Clock,
}

impl Applying<'_> {
    /// The shapes that an event brings hold from there on, be there a page yet or not.
    pub(super) fn take_shapes(&mut self, event: &LogEvent) -> Result<()> {
        match event {
            LogEvent::Fragment(fragment) => {
                let mut shapes = fragment.changes.shapes.iter();
                shapes.try_for_each(|(table, shape)| self.reshape(*table, shape))
            }
            LogEvent::Schema(event) => {
                let mut shape = event.change.shape.iter();
                shape.try_for_each(|shape| self.reshape(event.table, shape))
            }
            LogEvent::Progress(_) => Ok(()),
        }
    }

    fn reshape(&mut self, table: u32, shape: &Arc<Table>) -> Result<()> {
        if let Some(completion) = &mut self.completion {
            completion.reshape(table, shape);
        }
        let reshaped = self.codec.reshape(table, shape);
        reshaped.map_err(|error| error.on(&shape.name))
    }
}

/// Applies changes to the pages (by table and key in order) that they fall into.
pub(super) fn correct(pages: &mut [Page], applying: &mut Applying<'_>, fragment: &Fragment) -> Result<()> {
    if let Some(completion) = &mut applying.completion {
        completion.begin();
    }
    for (at, change) in fragment.changes.rows.iter().enumerate() {
        let first = pages.partition_point(|page| page.table() < change.table);
        let Some(page) = pages.get(first).filter(|page| page.table() == change.table) else {
            continue;
        };
        let table = page.chunk().table.clone();
        correct_by(pages, applying, fragment, at).map_err(|error| error.on(&table).at(fragment.head.commit))?;
    }
    if let Some(completion) = &mut applying.completion {
        completion.begin();
    }
    Ok(())
}

/// Applies one change.
fn correct_by(pages: &mut [Page], applying: &mut Applying<'_>, fragment: &Fragment, at: usize) -> Result<()> {
    let (values, change) = (&fragment.changes.values, &fragment.changes.rows[at]);
    let Applying {
        codec,
        scratch,
        completion,
        log,
        clock,
    } = applying;
    let (codec, table) = (*codec, change.table);
    let Scratch { before, after, row } = &mut **scratch;
    if let Some(image) = change.after {
        after.clear();
        codec.key(table, values, image, after)?;
    }
    if let Some(image) = change.before {
        before.clear();
        codec.key(table, values, image, before)?;
        if change.after.is_none() || before != after {
            if let Some(page) = find(pages, table, before) {
                pages[page].remove(before);
            }
        }
    }
    let Some(image) = change.after else { return Ok(()) };
    let Some(page) = find(pages, table, after) else {
        return Ok(());
    };
    let (values, image) = match completion {
        None => (values, image),
        Some(completion) => {
            let around = Around {
                at,
                codec,
                wanted: &|table, key| Ok(find(pages, table, key).is_some()),
                log: &mut **log,
                clock: &mut **clock,
            };
            let whole = completion.complete(&fragment.changes, None, Some(image), around)?;
            (whole.values, whole.after.unwrap_or(image))
        }
    };
    row.clear();
    row.shrink_to(KEPT);
    codec.row(table, RowKind::Insert, values, image, &RowOrigin::default(), row)?;
    pages[page].put(after, row);
    Ok(())
}

/// The page that a key falls into, of pages by table and key.
fn find(pages: &[Page], table: u32, key: &[u8]) -> Option<usize> {
    let behind = pages.partition_point(|page| {
        page.table() < table || (page.table() == table && page.lower().is_none_or(|lower| lower <= key))
    });
    let number = behind.checked_sub(1)?;
    (pages[number].table() == table && pages[number].contains(key)).then_some(number)
}
