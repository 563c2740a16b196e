//! A chunk of a table of which no index has the key's order: sorted once and kept by the server, whose rows go on some at a
//! time.

use crate::dialect::page::{Bounds, SortRequest, sorted};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc;
use crate::row::{RowKind, RowOrigin};
use crate::snapshot::select::{PageReader, PageTable, require_order};
use crate::snapshot::{PageLimit, PageRows, Piece};
use crate::split::{Chunk, Key};

/// Bytes of rows that one statement asks for, as far as the rows before tell: the driver holds all of them.
const ASKED_BYTES: usize = 4 << 20;

/// Rows that one statement asks for at most.
const ASKED_ROWS: usize = 4096;

impl PageReader {
    /// The statement whose rows are those of a chunk, in key order.
    pub(in crate::snapshot) fn sorted(&self, chunk: &Chunk) -> Result<String> {
        let plan = self.plan(chunk)?;
        let keys = plan.keys()?;
        let literals = |key: &Option<Key>| key.as_ref().map(|key| keys.literals(&key.0)).transpose();
        let (lower, upper) = (literals(&chunk.range.lower)?, literals(&chunk.range.upper)?);
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
        let plan = self.tables.get(&chunk.table).ok_or_else(gone)?;
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
                    let (codec, values) = (&*self.codec, &self.values);
                    if rows.len() >= limit.rows.max(1) || rows.size() > limit.bytes {
                        let len = rows.len();
                        rows.push(|out| codec.key(plan.number, values, image, out), |_| Ok(()))?;
                        require_order(chunk, &rows)?;
                        take(Piece {
                            rows: std::mem::take(&mut rows),
                            len,
                        })?;
                    }
                    let before = rows.size();
                    rows.push(
                        |out| codec.key(plan.number, values, image, out),
                        |out| codec.row(plan.number, RowKind::Insert, values, image, &RowOrigin::default(), out),
                    )?;
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

    fn plan(&self, chunk: &Chunk) -> Result<&PageTable> {
        self.tables.get(&chunk.table).ok_or_else(gone)
    }
}

fn gone() -> Error {
    ErrorKind::State("the table is not among the captured ones any more".into()).into()
}
