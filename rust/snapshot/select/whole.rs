//! A table without a key: one SELECT, whose rows go on while it runs.

use crate::dialect::page::whole;
use crate::error::{Error, ErrorKind, Result};
use crate::odbc;
use crate::row::{RowKind, RowOrigin};
use crate::snapshot::select::{PageReader, plan_of};
use crate::snapshot::{PageLimit, PageRows, Piece};
use crate::split::{Chunk, Key};

impl PageReader {
    pub(super) fn read_whole(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let plan = plan_of(&self.tables, chunk)?;
        let sql = whole(&*self.dialect, plan.table.rows(), &plan.selected(&*self.dialect));
        let mut number = first_number(chunk)?;
        let mut rows = PageRows::default();
        let mut cursor = self.connection.query(&sql, &plan.specs, plan.batch_rows)?;
        while let Some(batch) = cursor.next()? {
            let columns: Vec<odbc::Column<'_>> = (0..batch.arity()).map(|number| batch.column(number)).collect();
            for row in 0..batch.rows() {
                if rows.len() >= limit.rows.max(1) || rows.size() > limit.bytes {
                    let len = rows.len();
                    rows.push_encoded(&number.to_be_bytes(), &[]);
                    take(Piece {
                        rows: std::mem::take(&mut rows),
                        len,
                    })?;
                }
                let image = plan.image(&columns, row, &mut self.values);
                let (codec, values) = (&*self.codec, &self.values);
                rows.push(
                    |out| {
                        out.extend_from_slice(&number.to_be_bytes());
                        Ok(())
                    },
                    |out| codec.row(plan.number, RowKind::Insert, values, image, &RowOrigin::default(), out),
                )?;
                number += 1;
            }
        }
        let len = rows.len();
        take(Piece { rows, len })
    }
}

/// The number of the first row: what went out before stands below.
fn first_number(chunk: &Chunk) -> Result<u64> {
    match &chunk.range.lower {
        None => Ok(0),
        Some(Key(bytes)) => match (&**bytes).try_into() {
            Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
            Err(_) => {
                let text = "the table was read by a key before and has none now";
                Err(Error::from(ErrorKind::State(text.into())))
            }
        },
    }
}
