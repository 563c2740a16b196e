//! The log phase: transactions in commit order become rows, what pages already contain is left out, and every row
//! carries what a checkpoint behind it has to keep (design 5, 6).

mod changes;
pub mod filter;
mod parts;
mod schema;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use crate::catalog::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::log::OnFault;
use crate::log::{Change, Figures, Fragment, Headroom, LogEvent, LogReader, Progress, TransactionHead};
use crate::offset::{Offset, Partial};
use crate::position::{Place, Position, Scn};
use crate::row::batch::{Batch, BatchLimit};
use crate::row::{Part, RowCodec, RowOrigin};
use crate::snapshot::wait::Clock;
use crate::split::{FinishedRange, Partition, StreamSplit, TableName};
use crate::stream::changes::Keys;
use crate::stream::filter::Filter;
use crate::stream::parts::{Due, Parts};
use crate::stream::unit::Counted;
use crate::unavailable::{Completion, Counts};

/// What to do when a captured table is truncated while rows of it are downstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTruncate {
    /// Fail: the rows downstream can no longer be kept equal to the table.
    #[default]
    Fail,
    /// Leave the rows downstream, warn and count.
    Ignore,
}

/// What a job asks of its log phase.
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// How large batches become.
    pub batch: BatchLimit,
    /// `on-truncate`.
    pub on_truncate: OnTruncate,
    /// `log.on-dictionary-mismatch`: for a table that is dropped or renamed.
    pub on_mismatch: OnFault,
}

/// What [`Stream::read`] came to.
#[derive(Debug)]
pub enum Step {
    /// The batch holds rows or marks: hand it on, then read again.
    Batch,
    /// The log gives nothing more for now, and the batch is empty.
    Idle,
    /// The split's end is reached, and the batch is empty. There is nothing more to read.
    Ended,
}

/// Reads the one stream split.
pub struct Stream {
    log: Box<dyn LogReader>,
    codec: Arc<dyn RowCodec>,
    tables: Vec<Arc<TableName>>,
    settings: StreamSettings,
    filter: Option<Filter>,
    filter_end: Option<Position>,
    end: Option<Position>,
    /// Where the rows made so far stand.
    offset: Offset,
    /// The record up to which the first transaction is out already.
    resume: Option<Partial>,
    parts: Parts,
    current: Option<(Fragment, Part, usize)>,
    inside: bool,
    ended: bool,
    truncates_ignored: u64,
    newest_commit: Option<i64>,
    keys: Keys,
    counted: Counted,
    /// Without one a value that the log does not hold is an error.
    completion: Option<(Completion, Box<dyn Clock + Send>)>,
}

impl Stream {
    /// Begins at a split, over a log reader that was opened at (`offset.next_scn`, `offset.commit`) of it. `tables` is
    /// the reader's table list.
    ///
    /// # Errors
    /// `State` if the log is another one; `LogGone`; `Protocol` if ranges are missing or overlap; those of the log
    /// reader.
    pub fn open(
        mut log: Box<dyn LogReader>,
        codec: Arc<dyn RowCodec>,
        tables: Vec<Arc<TableName>>,
        split: &StreamSplit,
        settings: StreamSettings,
    ) -> Result<Self> {
        let offset = split.offset.clone();
        if log.incarnation() != offset.incarnation {
            return Err(ErrorKind::State(format!(
                "it belongs to log {}, the database now writes log {}",
                offset.incarnation,
                log.incarnation()
            ))
            .into());
        }
        log.check_kept(offset.next_scn)
            .map_err(|error| error.doing("opening the log where the state needs it"))?;
        if split.ranges.len() as u64 != u64::from(split.needed) {
            return Err(ErrorKind::Protocol(format!(
                "the stream split has {} of its {} finished ranges",
                split.ranges.len(),
                split.needed
            ))
            .into());
        }
        check_keys(&*codec, &tables, &split.ranges)?;
        let filter = Filter::new(&tables, &split.ranges)?;
        Ok(Stream {
            log,
            codec,
            tables,
            settings,
            filter_end: filter.as_ref().map(Filter::end),
            filter,
            end: split.end,
            resume: offset.partial.clone(),
            offset,
            parts: Parts::default(),
            current: None,
            inside: false,
            ended: false,
            truncates_ignored: 0,
            newest_commit: None,
            keys: Keys::default(),
            counted: Counted::default(),
            completion: None,
        })
    }

    /// Says how changes are made whole that lack values; `clock` is for waiting.
    pub fn completing(mut self, completion: Completion, clock: Box<dyn Clock + Send>) -> Self {
        self.completion = Some((completion, clock));
        self
    }

    /// What was done about values that the log does not hold.
    pub fn unavailable(&self) -> Counts {
        let completion = self.completion.as_ref();
        completion
            .map(|(completion, _)| completion.counts())
            .unwrap_or_default()
    }

    /// From where on the split needs no ranges: once its offset's `commit` is there they may leave the state. `None`
    /// if it began without.
    pub fn filter_end(&self) -> Option<Position> {
        self.filter_end
    }

    /// How often a truncated table was ignored.
    pub fn truncates_ignored(&self) -> u64 {
        self.truncates_ignored
    }

    /// When the transaction committed whose row was made last, in microseconds since the epoch; `None` before the first.
    pub fn newest_commit(&self) -> Option<i64> {
        self.newest_commit
    }

    /// How far the log is from losing what is `needed`.
    pub fn headroom(&self, needed: Scn) -> Option<Headroom> {
        self.log.headroom(needed)
    }

    /// What the split keeps of partitions, once it is another one.
    pub fn partitions(&mut self) -> Option<Vec<Partition>> {
        self.log.partitions()
    }

    /// What the log reader has done and what it holds.
    pub fn figures(&self) -> Figures {
        self.log.figures()
    }

    /// The shortest and the longest pause between two looks at a log that had nothing new.
    pub fn idle(&self) -> (Duration, Duration) {
        self.log.idle()
    }

    /// Where the log reader stands.
    pub fn progress(&self) -> Progress {
        self.log.progress()
    }

    /// Fills `batch`, which must be empty, until it is full, the log is idle or the end is reached.
    ///
    /// # Errors
    /// `Truncated`; `State` if the log does not fit the offset; values that do not fit; those of the log reader. The
    /// stream cannot be used afterwards.
    pub fn read(&mut self, batch: &mut Batch) -> Result<Step> {
        loop {
            if let Some((fragment, part, next)) = self.current.take() {
                self.unroll(fragment, part, next, batch)?;
            }
            if self.current.is_some() || batch.is_full(self.settings.batch) {
                return Ok(Step::Batch);
            }
            match self.parts.next() {
                Some(Due::Fragment(fragment, part)) => {
                    self.begin(fragment, part)?;
                    continue;
                }
                Some(Due::Schema(event)) => {
                    self.take_schema(&event, batch)?;
                    continue;
                }
                None => {}
            }
            if self.at_end()? {
                return Ok(if batch.is_empty() { Step::Ended } else { Step::Batch });
            }
            match self.log.poll()? {
                Some(LogEvent::Fragment(fragment)) => self.take(fragment)?,
                Some(LogEvent::Schema(event)) => {
                    if self.is_due(&event.head, false)? {
                        self.parts.push_schema(event);
                    }
                }
                Some(LogEvent::Progress(progress)) => {
                    self.check_passed(progress.position)?;
                    self.offset.advance_idle(progress.position, progress.next_scn);
                    batch.idle(progress.position, progress.next_scn);
                }
                // The reader may have come to the end just now; the next turn sees that.
                None if self.at_end()? => {}
                None if batch.is_empty() => return Ok(Step::Idle),
                None => return Ok(Step::Batch),
            }
        }
    }

    fn at_end(&mut self) -> Result<bool> {
        let Some(end) = self.end else { return Ok(false) };
        if !self.ended && !self.inside {
            let progress = self.log.progress();
            // The end was some reader's position before this log was opened: everything in front of it stood there.
            if progress.position >= end || progress.complete_to.is_some_and(|scn| scn >= end.scn) {
                self.check_passed(end)?;
                self.ended = true;
            }
        }
        Ok(self.ended)
    }

    /// A transaction that is half out must come back.
    fn check_passed(&self, position: Position) -> Result<()> {
        match &self.resume {
            Some(partial) if position.includes(partial.commit) => Err(not_found(partial, "the log does not have it")),
            _ => Ok(()),
        }
    }

    fn take(&mut self, fragment: Fragment) -> Result<()> {
        if !self.is_due(&fragment.head, fragment.last)? {
            return Ok(());
        }
        let goes_out = self.goes_out(&fragment)?;
        self.parts.push(fragment, goes_out);
        Ok(())
    }

    /// Whether anything of a fragment is in no page. Where it brings other shapes they are not looked at before what waits is
    /// out, and it is taken for one that does.
    fn goes_out(&mut self, fragment: &Fragment) -> Result<bool> {
        let changes = &fragment.changes;
        if changes.rows.is_empty()
            || self.filter.is_none()
            || !changes.shapes.is_empty()
            || !self.parts.asks_of(fragment)
        {
            return Ok(!changes.rows.is_empty());
        }
        for change in &changes.rows {
            let judged = self.judge(fragment, change);
            if judged
                .map_err(|error| self.located(error, &fragment.head, change))?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn begin(&mut self, fragment: Fragment, part: Part) -> Result<()> {
        for (table, shape) in &fragment.changes.shapes {
            self.reshape(*table, shape, &fragment.head)?;
        }
        self.begin_completion();
        self.current = Some((fragment, part, 0));
        Ok(())
    }

    fn located(&self, error: Error, head: &TransactionHead, change: &Change) -> Error {
        let error = error.doing("reading the log").at(head.commit);
        match self.tables.get(change.table as usize) {
            Some(table) => error.on(table),
            None => error,
        }
    }

    /// Whether a part of a transaction, perhaps its last, is of one that goes out here.
    fn is_due(&mut self, head: &TransactionHead, last: bool) -> Result<bool> {
        if self.end.is_some_and(|end| !end.includes(head.commit)) {
            self.check_passed(Position::after(head.commit))?;
            self.ended = true;
            return Ok(false);
        }
        self.inside = !last;
        self.counted.enter(head, self.tables.len());
        self.parts.enter(head);
        if self.offset.is_out(head.commit, head.xid)? {
            return Ok(false);
        }
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.end().includes(head.commit))
        {
            self.filter = None;
        }
        match &self.resume {
            Some(partial) if (partial.xid, partial.commit) != (head.xid, head.commit) => {
                let found = format!("transaction {} at {} comes in its place", head.xid, head.commit);
                Err(not_found(partial, &found))
            }
            _ => Ok(true),
        }
    }

    fn reshape(&mut self, table: u32, shape: &Arc<Table>, head: &TransactionHead) -> Result<()> {
        if let Some((completion, _)) = &mut self.completion {
            completion.reshape(table, shape);
        }
        self.codec
            .reshape(table, shape)
            .map_err(|error| error.doing("reading the log").on(&shape.name).at(head.commit))
    }

    /// Makes units of a fragment's changes until the batch is full.
    fn unroll(&mut self, fragment: Fragment, part: Part, mut next: usize, batch: &mut Batch) -> Result<()> {
        let head = fragment.head;
        while let Some(change) = fragment.changes.rows.get(next) {
            if batch.is_full(self.settings.batch) {
                self.current = Some((fragment, part, next));
                return Ok(());
            }
            next += 1;
            self.take_change(&fragment, part, next - 1, batch)
                .map_err(|error| self.located(error, &head, change))?;
        }
        if fragment.last {
            if let Some(partial) = &self.resume {
                return Err(not_found(partial, "the transaction ends without that record"));
            }
            self.offset.advance_over(head.commit, head.xid, head.next_scn);
            batch.end_transaction(head.commit, head.xid, head.next_scn);
        }
        self.begin_completion();
        Ok(())
    }

    /// Forgets the rows that were looked up for a fragment.
    fn begin_completion(&mut self) {
        if let Some((completion, _)) = &mut self.completion {
            completion.begin();
        }
    }
}

fn origin(head: &TransactionHead, place: Place) -> RowOrigin {
    RowOrigin {
        commit_micros: head.commit_micros,
        scn: Some(head.commit.scn),
        xid: Some(head.xid),
        record: Some(place.scn),
        ..RowOrigin::default()
    }
}

fn not_found(partial: &Partial, found: &str) -> Error {
    ErrorKind::State(format!(
        "transaction {} at {} is out up to a record at scn {}, but {found}",
        partial.xid, partial.commit, partial.last.scn
    ))
    .into()
}

/// Refuses ranges whose bounds are keys of another make than those of now: changes would be looked for in other ones than
/// their rows.
fn check_keys(codec: &dyn RowCodec, tables: &[Arc<TableName>], ranges: &[FinishedRange]) -> Result<()> {
    for of_table in ranges.chunk_by(|a, b| a.table == b.table) {
        let Some(number) = tables.iter().position(|name| *name == of_table[0].table) else {
            continue;
        };
        let bounds = of_table
            .iter()
            .flat_map(|range| [&range.range.lower, &range.range.upper]);
        for key in bounds.flatten() {
            codec.check_key(number as u32, &key.0)?;
        }
    }
    Ok(())
}
