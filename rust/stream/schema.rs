//! Changes of tables in the log phase.

use crate::catalog::change::ChangeKind;
use crate::error::{Error, ErrorKind, Result};
use crate::log::{OnFault, SchemaEvent};
use crate::row::RowKind;
use crate::row::batch::{Batch, Mark};
use crate::stream::{OnTruncate, Stream, origin};

impl Stream {
    /// A change of shape is a unit of its own, in front of the rows of the new shape. One that all pages were read behind is
    /// none: their rows have that shape.
    pub(super) fn take_schema(&mut self, event: &SchemaEvent, batch: &mut Batch) -> Result<()> {
        let SchemaEvent {
            head,
            table,
            place,
            change,
        } = event;
        if let Some(shape) = &change.shape {
            self.reshape(*table, shape, head)?;
        }
        match &self.resume {
            Some(partial) if partial.last == *place => {
                self.resume = None;
                return Ok(());
            }
            Some(_) => return Ok(()),
            None => {}
        }
        log::info!("{} at scn {}: {}", change.table, place.scn, change.statement);
        if self.is_behind(event) {
            return Ok(());
        }
        if change.kind == ChangeKind::Truncate && self.is_among(event) {
            // Whoever empties the table now would lose the rows of the pages behind it.
            return self.truncated(event);
        }
        let origin = origin(head, *place);
        batch.of_commit(head.commit_micros);
        let carried = batch.push_if(RowKind::Insert, |out| {
            self.codec.schema_change(*table, change, &origin, out)
        })?;
        if carried {
            batch.end_unit(Mark::Inside {
                commit: head.commit,
                xid: head.xid,
                last: *place,
            });
            return Ok(());
        }
        match change.kind {
            ChangeKind::Truncate => self.truncated(event),
            ChangeKind::Drop => self.gone(event, "dropped"),
            ChangeKind::Rename => self.gone(event, "renamed"),
            ChangeKind::Create | ChangeKind::Alter | ChangeKind::Other => Ok(()),
        }
    }

    /// All pages were read behind a change of the table: they are of what came after it.
    fn is_behind(&self, event: &SchemaEvent) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.all_behind(&event.change.table, &self.tables, &event.head, event.place.scn))
    }

    /// Whether some pages of the table may have been read behind a change of it.
    fn is_among(&self, event: &SchemaEvent) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.any_behind(&event.change.table, &self.tables, &event.head, event.place.scn))
    }

    /// The rows downstream are of a table that is there no more, or not by its name.
    fn gone(&self, event: &SchemaEvent, how: &str) -> Result<()> {
        let SchemaEvent { place, change, .. } = event;
        let text = format!("the table was {how}: {}", change.statement);
        let error = Error::from(ErrorKind::DictionaryMismatch(text))
            .doing("reading the log")
            .on(&change.table)
            .at(format_args!("scn {}", place.scn));
        if self.settings.on_mismatch == OnFault::Fail {
            return Err(error);
        }
        log::warn!("its rows stay downstream, as log.on-dictionary-mismatch = 'skip' asks for: {error}");
        Ok(())
    }

    fn truncated(&mut self, event: &SchemaEvent) -> Result<()> {
        let SchemaEvent { place, change, .. } = event;
        match self.settings.on_truncate {
            OnTruncate::Fail => {
                return Err(Error::from(ErrorKind::Truncated)
                    .doing(format!("reading the log: {}", change.statement))
                    .on(&change.table)
                    .at(format_args!("scn {}", place.scn)));
            }
            OnTruncate::Ignore => {
                self.truncates_ignored += 1;
                log::warn!(
                    "table {} was truncated at scn {}; its rows stay downstream, as on-truncate = 'ignore' asks for",
                    change.table,
                    place.scn
                );
            }
        }
        Ok(())
    }
}
