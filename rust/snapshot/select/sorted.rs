//! A chunk of a table of which no index has the key's order: sorted once and kept by the server, whose rows go on some at a
//! time.

use crate::dialect::page::{Bounds, SortRequest, sorted};
use crate::error::Result;
use crate::odbc;
use crate::snapshot::select::{PageReader, Reading, literals, plan_of, require_order};
use crate::snapshot::{PageLimit, PageRows, Piece};
use crate::split::Chunk;

/// Bytes of rows that one statement asks for, as far as the rows before tell: the driver holds all of them.
const ASKED_BYTES: usize = 4 << 20;

/// Rows that one statement asks for at most.
const ASKED_ROWS: usize = 4096;

impl PageReader {
    /// The statement whose rows are those of a chunk, in key order.
    pub(in crate::snapshot) fn sorted(&self, chunk: &Chunk) -> Result<String> {
        let plan = plan_of(&self.tables, chunk)?;
        let (lower, upper) = literals(plan.keys()?, chunk)?;
        let bounds = Bounds {
            lower: lower.as_deref(),
            upper: upper.as_deref(),
        };
        let request = SortRequest {
            table: plan.table.rows(),
            columns: &plan.selected(&*self.dialect),
            key: &plan.table.key_columns(),
            segments: &bounds.segments(),
        };
        Ok(sorted(&*self.dialect, &request))
    }

    /// Hands the rows on that `fetch` brings, so many a statement.
    pub(in crate::snapshot) fn read_sorted(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        fetch: &dyn Fn(usize) -> String,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let plan = plan_of(&self.tables, chunk)?;
        let reading = Reading {
            plan,
            codec: &*self.codec,
            chunk,
            limit,
        };
        let mut rows = PageRows::default();
        let mut asked = 1;
        loop {
            let (mut came, mut bytes) = (0, 0);
            let mut cursor = self
                .connection
                .query(&fetch(asked), &plan.specs, plan.batch_rows.min(asked))?;
            while let Some(batch) = cursor.next()? {
                let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
                for row in 0..batch.rows() {
                    let image = plan.image(&columns, row, &mut self.values);
                    if rows.len() >= limit.rows.max(1) || rows.size() > limit.bytes {
                        let len = rows.len();
                        reading.push(&self.values, image, false, &mut rows)?;
                        require_order(chunk, &rows)?;
                        take(Piece {
                            rows: std::mem::take(&mut rows),
                            len,
                        })?;
                    }
                    let before = rows.size();
                    reading.push(&self.values, image, true, &mut rows)?;
                    require_order(chunk, &rows)?;
                    came += 1;
                    bytes += rows.size() - before;
                }
            }
            if came < asked {
                break;
            }
            let fitting = ASKED_BYTES / (bytes / came).max(1);
            asked = fitting.clamp(1, ASKED_ROWS).min(2 * asked);
        }
        self.values.clear();
        let len = rows.len();
        take(Piece { rows, len })
    }
}
