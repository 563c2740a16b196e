//! Closed pages on their way out, a batch at a time: while they leave, the next round is read.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Result;
use crate::reader::batch::BatchBuilder;
use crate::reader::delivery::{Delivery, Meaning};
use crate::reader::state::PageId;
use crate::reader::worker::rooms;
use crate::row::batch::BatchLimit;
use crate::snapshot::PageRows;
use crate::snapshot::closed::ClosedPage;

/// Pages in the order in which they go out.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    parts: VecDeque<Part>,
    /// Bytes that their pages take.
    bytes: usize,
    next: Option<Delivery>,
}

/// The first rows of a page, or all.
#[derive(Debug)]
struct Part {
    id: PageId,
    page: Arc<ClosedPage>,
    /// Its first row that no batch has yet.
    first: usize,
    /// Behind its last row.
    end: usize,
}

impl Leaving {
    /// A page goes out behind those that are here.
    pub(super) fn push(&mut self, id: PageId, page: ClosedPage) {
        let rows = page.rows.len();
        self.push_part(id, page, rows, true);
    }

    /// The first rows of a page go out behind what is here; `last`: the page ends with them.
    pub(super) fn push_part(&mut self, id: PageId, page: ClosedPage, rows: usize, last: bool) {
        if rows > 0 || last {
            self.bytes += page.rows.size();
            self.parts.push_back(Part {
                id,
                page: Arc::new(page),
                first: 0,
                end: rows,
            });
        }
    }

    /// Bytes of the pages that are not all in deliveries.
    pub(super) fn size(&self) -> usize {
        self.bytes
    }

    /// Makes the next delivery, unless it is made already. Whether there is one; `batches` is the number of the last batch.
    ///
    /// # Errors
    /// A batch that is too large for Java.
    pub(super) fn prepare(&mut self, limit: BatchLimit, batches: &mut u64) -> Result<bool> {
        if self.next.is_some() {
            return Ok(true);
        }
        let Some(part) = self.parts.front_mut() else {
            return Ok(false);
        };
        let rows = &part.page.rows;
        let (first, end) = (part.first, batch_end(rows, part.first, limit).min(part.end));
        let batch = if first == end {
            None
        } else {
            let mut builder = BatchBuilder::with_capacity((first..end).map(|row| rows.row(row).len()).sum());
            for row in first..end {
                builder.row(false, |out| {
                    out.extend_from_slice(rows.row(row));
                    Ok(())
                })?;
            }
            *batches += 1;
            Some(builder.finish(*batches))
        };
        self.next = Some(Delivery {
            batch,
            meaning: Meaning::Page {
                id: part.id,
                page: part.page.clone(),
                first,
                end,
            },
        });
        part.first = end;
        if end == part.end {
            self.bytes -= self.parts.pop_front().map_or(0, |part| part.page.rows.size());
        }
        Ok(true)
    }

    /// How many rooms the delivery takes that is made.
    pub(super) fn rooms(&self) -> usize {
        self.next.as_ref().map_or(0, rooms)
    }

    /// The delivery that is made.
    pub(super) fn take(&mut self) -> Option<Delivery> {
        self.next.take()
    }
}

/// Where a batch of a page's rows ends.
fn batch_end(rows: &PageRows, first: usize, limit: BatchLimit) -> usize {
    let mut bytes = 0;
    let mut end = first;
    while end < rows.len() && end - first < limit.rows && (end == first || bytes < limit.bytes) {
        bytes += rows.row(end).len();
        end += 1;
    }
    end
}
