//! Pages in rounds (design 4.3, 4.4): while a round's pages are read the log reader stands still, then one advance of
//! the log corrects and closes them all.

mod correction;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::log::standstill::Standstill;
use crate::log::{Figures, Headroom, LogEvent, LogReader, Patience};
use crate::position::{Point, Position, Scn};
use crate::row::RowCodec;
use crate::snapshot::closed::{ClosedPage, ClosedRound, PageTicket, SelectedPage};
use crate::snapshot::merge::Page;
use crate::snapshot::wait::{Clock, go_on, until_visible};
use crate::snapshot::{PageLimit, PageRounds, PageRows};
use crate::split::{Key, KeyRange};
use crate::unavailable::{Completion, Counts};

use correction::{Applying, Scratch, correct};

/// How large pages and rounds become, and how long they wait.
#[derive(Clone, Copy, Debug)]
pub struct RoundLimits {
    /// Where a page ends.
    pub page: PageLimit,
    /// `scan.snapshot.round.bytes`: a round that holds so much is full.
    pub round_bytes: usize,
    /// For transactions that are committed in the log to become visible.
    pub visibility: Patience,
    /// For the log's minable end to come as far as a SELECT may have seen.
    pub log_end: Patience,
}

/// What the first round may hold: no row goes out before a round is closed, and whoever waits for the first ones waits for
/// so much to be read.
const FIRST_ROUND_BYTES: usize = 4 << 20;

/// Reads the pages of one snapshot reader, round by round, and keeps its log reader.
pub struct Rounds {
    log: Box<dyn LogReader>,
    codec: Arc<dyn RowCodec>,
    limits: RoundLimits,
    opening: Position,
    opened: bool,
    /// The smallest `mine_from` that the log phase will need of the pages closed so far.
    needed: Option<Scn>,
    round: u64,
    /// How much this round may hold.
    room: usize,
    pages: Vec<Page>,
    /// The largest `V` asked after one of the round's SELECTs.
    high: Scn,
    scratch: Scratch,
    /// Without one a value that the log does not hold is an error.
    completion: Option<Completion>,
}

impl Rounds {
    /// Rounds over a log reader that was opened at `opening`. No COMMIT may come to stand in front of `opening` after
    /// that, since the reader would only note it: where scns are shared, that is a cut in front of the log's end, not
    /// behind it.
    pub fn new(log: Box<dyn LogReader>, codec: Arc<dyn RowCodec>, opening: Position, limits: RoundLimits) -> Self {
        Rounds {
            log,
            codec,
            limits,
            opening,
            opened: false,
            needed: None,
            round: 0,
            room: limits.round_bytes.min(FIRST_ROUND_BYTES),
            pages: Vec::new(),
            high: Scn(0),
            scratch: Scratch::default(),
            completion: None,
        }
    }

    /// Says how changes are made whole that lack values.
    pub fn completing(mut self, completion: Completion) -> Self {
        self.completion = Some(completion);
        self
    }

    /// Reads the log completely up to its opening position, once: only then are all transactions noted whose COMMIT
    /// stands in front of it. What was done since it was opened comes on the way: no page needs it but for the shapes.
    fn open(&mut self, clock: &mut dyn Clock) -> Result<()> {
        if !self.opened {
            self.advance(self.opening.scn, clock, |_, _| Ok(()))
                .map_err(|error| error.doing("reading the log up to where the snapshot begins"))?;
            self.opened = true;
        }
        Ok(())
    }

    /// Reads on until the log is read completely up to `target` as it is now, and a whole number of transactions.
    fn advance(
        &mut self,
        target: Scn,
        clock: &mut dyn Clock,
        mut apply: impl FnMut(&mut Applying<'_>, LogEvent) -> Result<()>,
    ) -> Result<()> {
        let Patience { limit, pause } = self.limits.log_end;
        let mut standstill = Standstill::new(limit);
        let mut inside = false;
        // What the reader says at first of the log's end it may have asked before the SELECTs; more records at that
        // scn may have come since. An end beyond is proof at any time, the same one only once it was asked for anew.
        let mut asked = false;
        loop {
            go_on(clock)?;
            let progress = self.log.progress();
            let complete = progress.complete_to;
            if !inside && complete.is_some_and(|scn| scn > target || (asked && scn == target)) {
                return Ok(());
            }
            match self.log.poll()? {
                Some(event) => {
                    match &event {
                        LogEvent::Fragment(fragment) => inside = !fragment.last,
                        LogEvent::Schema(_) => inside = true,
                        LogEvent::Progress(_) => {}
                    }
                    let mut applying = Applying {
                        codec: &*self.codec,
                        scratch: &mut self.scratch,
                        completion: self.completion.as_mut(),
                        log: &mut *self.log,
                        clock: &mut *clock,
                    };
                    applying.take_shapes(&event)?;
                    apply(&mut applying, event)?;
                }
                None if inside => return Err(internal("the log reader stopped inside a transaction")),
                None => {
                    if !std::mem::replace(&mut asked, true) {
                        continue;
                    }
                    let reached = complete.unwrap_or(progress.position.scn);
                    standstill.look(target, reached, clock.now(), || self.log.push())?;
                    clock.pause(pause);
                }
            }
        }
    }
}

impl PageRounds for Rounds {
    /// While pages are read, the log from there on must stay.
    fn keep(&mut self, mine_from: Scn) {
        self.needed = Some(self.needed.map_or(mine_from, |needed| needed.min(mine_from)));
    }

    /// The log that the log phase needs is still there, and every transaction that the log reader has handed out or noted is
    /// visible. The SELECT may run elsewhere.
    fn begin_page(&mut self, clock: &mut dyn Clock) -> Result<PageTicket> {
        self.open(clock)?;
        self.check_kept()?;
        until_visible(&mut *self.log, self.limits.visibility, clock)?;
        Ok(PageTicket { round: self.round })
    }

    fn begin_uncorrected(&mut self, clock: &mut dyn Clock) -> Result<(Position, Scn)> {
        self.begin_page(clock)?;
        let progress = self.log.progress();
        self.keep(progress.next_scn);
        Ok((progress.position, progress.next_scn))
    }

    fn check_kept(&mut self) -> Result<()> {
        match self.needed {
            None => Ok(()),
            Some(needed) => self
                .log
                .check_kept(needed)
                .map_err(|error| error.doing("checking that the log of the snapshot's pages is still kept")),
        }
    }

    fn add_page(&mut self, ticket: PageTicket, page: SelectedPage) -> Result<()> {
        let SelectedPage {
            table,
            chunk,
            rows,
            rest,
            ..
        } = page;
        let name = chunk.table.clone();
        let page = (|| {
            if ticket.round != self.round {
                return Err(internal("a page was read while the log moved"));
            }
            check_order(&chunk.range, &rows, rest.as_ref())?;
            // After the SELECT: what it saw cannot lie behind.
            self.high = self.high.max(self.log.visible_end()?);
            Ok(Page::new(table, chunk, rows, rest, self.limits.page))
        })()
        .map_err(|error: Error| error.doing("reading a page").on(name))?;
        self.pages.push(page);
        Ok(())
    }

    /// The first one holds little, each one behind a full one twice as much, up to the limit. It may be as large as the one before,
    /// whose rows are on their way out.
    fn is_full(&self, _: usize) -> bool {
        self.size() >= self.room
    }

    /// So that no more than two rounds are held.
    fn leaving_at_close(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        self.pages.iter().map(Page::size).sum()
    }

    /// Every page waits for the log.
    fn take_closed(&mut self) -> Vec<ClosedPage> {
        Vec::new()
    }

    /// Advances the log until everything that a SELECT of the round may have seen has been read, and corrects the pages by it.
    /// Without pages the log stays where it is.
    fn close(&mut self, clock: &mut dyn Clock) -> Result<ClosedRound> {
        if self.pages.is_empty() {
            return Ok(ClosedRound::default());
        }
        if self.is_full(0) {
            self.room = self.room.saturating_mul(2).min(self.limits.round_bytes);
        }
        self.round += 1;
        let mut pages = std::mem::take(&mut self.pages);
        pages.sort_unstable_by(|a, b| (a.table(), a.lower()).cmp(&(b.table(), b.lower())));
        let mut again = Vec::new();
        let high = std::mem::take(&mut self.high);
        self.advance(high, clock, |applying, event| {
            match event {
                LogEvent::Fragment(fragment) => correct(&mut pages, applying, &fragment)?,
                LogEvent::Schema(event) => {
                    pages.retain(|page| {
                        let keeps = page.table() != event.table;
                        if !keeps {
                            again.push((page.table(), page.chunk().clone()));
                        }
                        keeps
                    });
                }
                LogEvent::Progress(_) => {}
            }
            Ok(())
        })
        .map_err(|error| error.doing("correcting pages by the log"))?;
        let progress = self.log.progress();
        let pages: Vec<_> = pages
            .into_iter()
            .map(|page| {
                let page = page.close();
                ClosedPage {
                    table: page.table,
                    chunk: page.chunk,
                    range: page.range,
                    rest: page.rest,
                    point: Point::Position(progress.position),
                    mine_from: progress.next_scn,
                    rows: page.rows,
                }
            })
            .collect();
        if !pages.is_empty() {
            self.keep(progress.next_scn);
        }
        Ok(ClosedRound { pages, again })
    }

    fn figures(&self) -> Figures {
        self.log.figures()
    }

    fn headroom(&self) -> Option<Headroom> {
        self.log.headroom(self.needed?)
    }

    fn unavailable(&self) -> Counts {
        self.completion.as_ref().map(Completion::counts).unwrap_or_default()
    }
}

fn internal(what: &str) -> Error {
    ErrorKind::Internal(what.to_owned()).into()
}

/// The merge stands on keys that ascend as the database orders them and lie where they were asked for.
pub(super) fn check_order(range: &KeyRange, rows: &PageRows, rest: Option<&Key>) -> Result<()> {
    let mut last: Option<&[u8]> = None;
    for number in 0..rows.len() {
        let key = rows.key(number);
        if last.is_some_and(|last| last >= key) || !range.contains(key) {
            return Err(internal("the rows of a page are not in the order of their keys"));
        }
        last = Some(key);
    }
    match rest {
        Some(rest) if !range.contains(&rest.0) || last.is_none_or(|last| last >= &*rest.0) => Err(internal(
            "a page does not end in front of the first key that was not read",
        )),
        _ => Ok(()),
    }
}
