//! Batches between the worker that makes them and the task that lets their rows out: what each row that leaves means for
//! the reader's state.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::offset::Offset;
use crate::position::Position;
use crate::reader::batch::Batch;
use crate::reader::state::{PageId, ReaderState, Todo};
use crate::row::batch::Mark;
use crate::snapshot::closed::ClosedPage;
use crate::split::Key;

/// What the worker hands on. Without a batch there are no rows: the meaning alone takes effect in its turn.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) batch: Option<Batch>,
    pub(super) meaning: Meaning,
}

/// What it means for the state that rows are out.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Rows `first..end` of a page.
    Page {
        id: PageId,
        page: Arc<ClosedPage>,
        first: usize,
        end: usize,
    },
    /// Units of the stream: how many rows of the batch are out behind each, and how the offset moves over it.
    Stream {
        units: Vec<(u32, Mark)>,
        filter_end: Option<Position>,
    },
    /// The stream of a bounded job is at its end.
    StreamEnd,
}

/// Deliveries that the task has been given and whose rows are not all out.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    queue: VecDeque<Pending>,
    /// Number of the newest batch handed out.
    newest: u64,
}

#[derive(Debug)]
struct Pending {
    /// Its batch; `None` if it has no rows.
    batch: Option<u64>,
    meaning: Meaning,
    /// Units of the stream that have taken effect.
    applied: usize,
}

impl InFlight {
    /// Notes what is handed out now; what has no rows and nothing in front of it takes effect at once.
    pub(super) fn hand_out(&mut self, delivery: &mut Delivery, state: &mut ReaderState) -> Result<Vec<Todo>> {
        let batch = delivery.batch.as_ref().map(Batch::number);
        if let Some(number) = batch {
            self.newest = number;
        }
        let meaning = std::mem::replace(&mut delivery.meaning, Meaning::StreamEnd);
        self.queue.push_back(Pending {
            batch,
            meaning,
            applied: 0,
        });
        self.settle(state)
    }

    /// All rows of a batch are out.
    pub(super) fn consumed(&mut self, batch: u64, state: &mut ReaderState) -> Result<Vec<Todo>> {
        match self.queue.front_mut() {
            Some(pending) if pending.batch == Some(batch) => pending.batch = None,
            _ => return Err(not_handed_out(batch)),
        }
        self.settle(state)
    }

    /// Rows of the oldest batch are out, in whole units.
    pub(super) fn rows_out(&mut self, batch: u64, rows: u32, state: &mut ReaderState) -> Result<()> {
        let Some(pending) = self.queue.front_mut().filter(|pending| pending.batch == Some(batch)) else {
            // Before the first row of a batch, or behind the last one, there is nothing to say.
            return if rows == 0 || batch <= self.newest {
                Ok(())
            } else {
                Err(not_handed_out(batch))
            };
        };
        match &pending.meaning {
            Meaning::Page { id, page, first, end } => {
                let out = first + rows as usize;
                if rows == 0 {
                    return Ok(());
                }
                if out > *end {
                    return Err(ErrorKind::Internal(format!("batch {batch} has fewer than {rows} rows")).into());
                }
                let next = (out < page.rows.len()).then(|| Key(page.rows.key(out).into()));
                state.row_out(*id, next)
            }
            Meaning::Stream { units, filter_end } => {
                let whole = units.iter().take_while(|(row, _)| *row <= rows).count();
                if rows > 0 && units.get(whole.wrapping_sub(1)).is_none_or(|(row, _)| *row != rows) {
                    return Err(ErrorKind::Internal(format!("{rows} rows of batch {batch} end inside a unit")).into());
                }
                // Units without rows behind the last row take effect with the whole batch.
                let whole = if rows == 0 { 0 } else { whole };
                advance(state, &units[pending.applied.min(whole)..whole], *filter_end);
                pending.applied = pending.applied.max(whole);
                Ok(())
            }
            Meaning::StreamEnd => Ok(()),
        }
    }

    fn settle(&mut self, state: &mut ReaderState) -> Result<Vec<Todo>> {
        let mut todo = Vec::new();
        while self.queue.front().is_some_and(|pending| pending.batch.is_none()) {
            let Some(pending) = self.queue.pop_front() else { break };
            match pending.meaning {
                Meaning::Page { id, page, end, .. } if end < page.rows.len() => {
                    state.row_out(id, Some(Key(page.rows.key(end).into())))?;
                }
                Meaning::Page { id, .. } => todo.push(state.page_done(id)?),
                Meaning::Stream { units, filter_end } => advance(state, &units[pending.applied..], filter_end),
                Meaning::StreamEnd => state.end_stream(),
            }
        }
        Ok(todo)
    }
}

/// Moves the stream's offset over units, and drops the filter's state once it is past the largest point.
fn advance(state: &mut ReaderState, units: &[(u32, Mark)], filter_end: Option<Position>) {
    let Some(split) = state.stream() else { return };
    if units.is_empty() {
        return;
    }
    let mut offset: Offset = split.offset.clone();
    let filtered = split.needed > 0;
    for (_, mark) in units {
        mark.apply(&mut offset);
    }
    let past = filter_end.is_none_or(|end| offset.commit >= end);
    state.advance_stream(offset);
    if filtered && past {
        state.drop_filter();
    }
}

fn not_handed_out(batch: u64) -> crate::error::Error {
    ErrorKind::Internal(format!("batch {batch} is not the one whose rows go out")).into()
}
