//! Changes of rows in the log phase: what of each one is in no page, and the rows that go out for it.

use crate::error::Result;
use crate::log::{Change, Fragment};
use crate::row::batch::{Batch, Mark};
use crate::row::{Part, RowKind, RowOrigin, Updates};
use crate::stream::unit::Unit;
use crate::stream::{Stream, origin};
use crate::unavailable::Around;

/// The keys of the change at hand.
#[derive(Default)]
pub(super) struct Keys {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Stream {
    /// One change, one unit; or none if pages have it. What an earlier attempt has sent is only counted.
    pub(super) fn take_change(&mut self, fragment: &Fragment, part: Part, at: usize, batch: &mut Batch) -> Result<()> {
        let change = &fragment.changes.rows[at];
        let unit = self.judge(fragment, change)?;
        let Some(partial) = &self.resume else {
            return unit.map_or(Ok(()), |unit| self.emit(fragment, part, at, unit, batch));
        };
        if partial.last == change.place {
            self.resume = None;
        }
        for _ in 0..unit.map_or(0, Unit::events) {
            self.counted.next(change.table);
        }
        Ok(())
    }

    /// What of a change is not in a page. Both halves are judged by their own keys.
    pub(super) fn judge(&mut self, fragment: &Fragment, change: &Change) -> Result<Option<Unit>> {
        let (head, values, table) = (&fragment.head, &fragment.changes.values, change.table);
        let filter = self.filter.as_ref().filter(|filter| filter.covers(table));
        let moves = change.before.is_some() && change.after.is_some();
        if filter.is_some() || moves {
            if let Some(image) = change.before {
                self.keys.before.clear();
                self.codec.key(table, values, image, &mut self.keys.before)?;
            }
            if let Some(image) = change.after {
                self.keys.after.clear();
                self.codec.key(table, values, image, &mut self.keys.after)?;
            }
        }
        let wanted = |key: &[u8]| match filter {
            Some(filter) => filter.contains(table, key, head).map(|contained| !contained),
            None => Ok(true),
        };
        let before = match change.before {
            Some(image) if wanted(&self.keys.before)? => Some(image),
            _ => None,
        };
        let after = match change.after {
            Some(image) if wanted(&self.keys.after)? => Some(image),
            _ => None,
        };
        Ok(match (before, after) {
            (None, None) => None,
            (Some(before), None) => Some(Unit::Leaves(before)),
            (None, Some(after)) => Some(Unit::Comes(after)),
            (Some(before), Some(after)) if self.keys.before == self.keys.after => Some(Unit::Becomes(before, after)),
            (Some(before), Some(after)) => Some(Unit::Moves(before, after)),
        })
    }

    fn emit(&mut self, fragment: &Fragment, part: Part, at: usize, unit: Unit, batch: &mut Batch) -> Result<()> {
        use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
        let (head, change) = (&fragment.head, &fragment.changes.rows[at]);
        let (codec, counted, table) = (&*self.codec, &mut self.counted, change.table);
        let (values, unit) = match &mut self.completion {
            None => (&fragment.changes.values, unit),
            Some((completion, clock)) => {
                let filter = self.filter.as_ref();
                let contained =
                    |table, key: &[u8]| filter.map_or(Ok(false), |filter| filter.contains(table, key, head));
                let around = Around {
                    at,
                    codec,
                    wanted: &|table, key| contained(table, key).map(|contained| !contained),
                    log: &mut *self.log,
                    clock: &mut **clock,
                };
                let (before, after) = unit.images(codec.updates());
                let whole = completion.complete(&fragment.changes, before, after, around)?;
                (whole.values, unit.with(whole.before, whole.after))
            }
        };
        let mut origin = RowOrigin {
            part: Some(part),
            ..origin(head, change.place)
        };
        let mut count = |origin: &mut RowOrigin| (origin.total_order, origin.table_order) = counted.next(table);
        batch.of_commit(head.commit_micros);
        let mut push = |kind, image, origin: &RowOrigin| {
            batch.push_row(kind, |out| codec.row(table, kind, values, image, origin, out))
        };
        count(&mut origin);
        match unit {
            Unit::Leaves(image) => push(Delete, image, &origin)?,
            Unit::Comes(image) => push(Insert, image, &origin)?,
            Unit::Becomes(before, after) => match codec.updates() {
                Updates::Halves => {
                    push(UpdateBefore, before, &origin)?;
                    push(UpdateAfter, after, &origin)?;
                }
                Updates::After => push(UpdateAfter, after, &origin)?,
                Updates::Joined => batch.push_row(UpdateAfter, |out| {
                    codec.update(table, values, (before, after), &origin, out)
                })?,
            },
            Unit::Moves(before, after) => {
                push(Delete, before, &origin)?;
                count(&mut origin);
                push(Insert, after, &origin)?;
            }
        }
        self.newest_commit = Some(head.commit_micros);
        batch.end_unit(Mark::Inside {
            commit: head.commit,
            xid: head.xid,
            last: change.place,
        });
        Ok(())
    }
}
