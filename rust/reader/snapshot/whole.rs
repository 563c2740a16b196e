//! Chunks that are one SELECT: tables without a key, and parts of tables of which no index has the key's order.

use crate::error::Result;
use crate::position::{Point, Scn};
use crate::reader::capture::Capture;
use crate::reader::snapshot::{Snapshot, may_be_altered};
use crate::reader::state::{PageEnd, PageId};
use crate::reader::worker::{Worker, internal};
use crate::snapshot::closed::ClosedPage;
use crate::snapshot::{PageLimit, PageSource, Piece};
use crate::split::Chunk;

impl Worker {
    /// Reads a table without a key: its rows go out while the SELECT runs and the log stands still, and are not
    /// corrected. What the log has behind the position where it stands comes in the log phase, once more where the SELECT
    /// has seen it.
    pub(super) fn whole_table(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: &Chunk,
    ) -> Result<()> {
        let (position, mine_from) = snapshot.rounds.begin_uncorrected(&mut snapshot.clock)?;
        if chunk.range.lower.is_some() {
            log::warn!(
                "table {} has no key and was not read to its end: all its rows are read again",
                chunk.table
            );
        }
        snapshot.follow_shapes(self, capture);
        snapshot.whole_source(capture)?;
        self.send_pieces(
            snapshot,
            (id, chunk),
            (Point::Position(position), mine_from),
            |source, limit, take| source.select_whole(chunk, limit, take),
        )?;
        self.shared.counts.note_nulled(capture.codec().nulled_values());
        Ok(())
    }

    /// Reads a chunk of which no index has the key's order: its rows go out in that order, from what the database keeps of
    /// them. They contain what they contained when they were sorted, however long they take.
    pub(super) fn sorted_chunk(
        &mut self,
        snapshot: &mut Snapshot,
        capture: &mut dyn Capture,
        id: PageId,
        chunk: &Chunk,
    ) -> Result<()> {
        let table = snapshot.number(chunk)?;
        snapshot.follow_shapes(self, capture);
        let point = loop {
            match snapshot.whole_source(capture)?.sort(chunk) {
                Ok(point) => break point,
                Err(error) if may_be_altered(&error) => {
                    if !snapshot.is_altered(capture, table)? {
                        return Err(error);
                    }
                    snapshot.follow_shapes(self, capture);
                }
                Err(error) => return Err(error),
            }
        };
        let mine_from = point.end().scn;
        self.send_pieces(snapshot, (id, chunk), (point, mine_from), |source, limit, take| {
            source.select_sorted(chunk, limit, take)
        })?;
        self.shared.counts.note_nulled(capture.codec().nulled_values());
        Ok(())
    }

    /// Sends the rows of a chunk that is one page, whatever its size, as they come.
    fn send_pieces(
        &mut self,
        snapshot: &mut Snapshot,
        (id, chunk): (PageId, &Chunk),
        (point, mine_from): (Point, Scn),
        select: impl FnOnce(&mut dyn PageSource, PageLimit, &mut dyn FnMut(Piece) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let table = snapshot.number(chunk)?;
        let end = PageEnd {
            rest: None,
            point: point.clone(),
            mine_from,
        };
        self.shared.lock().state.page_closed(id, end)?;
        let Some(source) = &mut snapshot.whole_source else {
            return Err(internal("a connection vanished"));
        };
        let (rounds, progress) = (&mut snapshot.rounds, &mut snapshot.progress);
        let limit = self.limits.rounds.page;
        select(&mut **source, limit, &mut |piece| {
            rounds.check_kept()?;
            let page = ClosedPage {
                table,
                chunk: chunk.clone(),
                range: chunk.range.clone(),
                rest: None,
                point: point.clone(),
                mine_from,
                rows: piece.rows,
            };
            let last = page.rows.len() == piece.len;
            let bytes = (0..piece.len).map(|row| page.rows.row(row).len()).sum();
            progress.page_closed(piece.len, bytes, last);
            self.shared.counts.page_read(piece.len);
            self.shared.counts.page_leaves(piece.len, bytes);
            self.leaving.push_part(id, page, piece.len, last);
            self.send_leaving(0)
        })
    }
}
