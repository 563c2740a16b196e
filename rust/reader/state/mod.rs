//! What a reader owes and owns, on the task's thread: chunks, pages whose rows are on their way out, ranges that wait for
//! their acknowledgement, the stream split. Pure: calls in, [`Todo`]s out; its snapshot is exact at every row.

mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::offset::Offset;
use crate::position::{Point, Scn};
use crate::reader::state::run::OfRun;
use crate::split::{
    Chunk, FinishedRange, Key, KeyRange, Partition, Split, StreamSplit, TableName, ToEnumerator, ToReader,
};

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// Send this to the enumerator.
    Send(ToEnumerator),
    /// No chunk is at hand: close the round with the pages it has.
    CloseRound,
    /// The stream split has all its ranges: the stream may be read.
    OpenStream,
}

/// A chunk that was begun, until its page is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(u64);

/// What of a chunk was read, and which transactions it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEnd {
    /// First key of the chunk that is not in the page; `None` if the page reaches the chunk's end.
    pub rest: Option<Key>,
    /// Which transactions the page contains.
    pub point: Point,
    /// The oldest START among transactions not committed at the point.
    pub mine_from: Scn,
}

/// The state of one reader.
#[derive(Debug, Default)]
pub struct ReaderState {
    started: bool,
    chunks: VecDeque<Chunk>,
    pages: BTreeMap<PageId, Page>,
    next_page: u64,
    unacknowledged: BTreeMap<(Arc<TableName>, Option<Key>), FinishedRange>,
    stream: Option<Stream>,
    asked: bool,
    no_more_splits: bool,
    run: OfRun,
}

#[derive(Debug)]
struct Page {
    chunk: Chunk,
    /// Set once the page is corrected and its rows may go out.
    end: Option<PageEnd>,
    out: Out,
}

/// How much of a page has left the reader.
#[derive(Debug)]
enum Out {
    Nothing,
    Below(Key),
    All,
}

#[derive(Debug)]
struct Stream {
    split: StreamSplit,
    ended: bool,
}

impl ReaderState {
    /// A reader without splits.
    pub fn new() -> Self {
        ReaderState::default()
    }

    /// Takes splits: before [`ReaderState::start`] restored ones, afterwards assigned ones.
    ///
    /// # Errors
    /// `Protocol` for a split that this reader must not be given.
    pub fn add_splits(&mut self, splits: Vec<Split>) -> Result<Vec<Todo>> {
        let mut todo = Vec::new();
        for split in splits {
            let (run, split) = split.parted();
            if !self.takes(run)? {
                continue;
            }
            match split {
                Split::Chunk(chunk) => {
                    self.asked = false;
                    self.chunks.push_back(chunk);
                }
                Split::Finished(range) => {
                    if self.started {
                        return Err(protocol("a finished range was assigned", &range.table));
                    }
                    if let Some(other) = self.owe(range) {
                        return Err(protocol("two finished ranges begin at one key", &other.table));
                    }
                }
                Split::Stream(split) => {
                    if self.stream.is_some() || self.no_more_splits {
                        let text = "a second stream split, or one after no-more-splits, was assigned";
                        return Err(ErrorKind::Protocol(text.into()).into());
                    }
                    self.stream = Some(Stream { split, ended: false });
                    if self.started {
                        self.unacknowledged.clear();
                        todo.extend(self.after_ranges());
                    }
                }
                Split::OfRun { .. } => {
                    return Err(ErrorKind::Protocol("a split is of two runs".into()).into());
                }
            }
        }
        Ok(todo)
    }

    /// The reader starts (Flink has sent its registration): whatever is not acknowledged is reported again, before
    /// anything else is sent. Beside the stream split it is dropped then: a state that holds both stands in a checkpoint whose
    /// enumerator keeps all ranges.
    pub fn start(&mut self) -> Vec<Todo> {
        self.started = true;
        let mut todo: Vec<_> = self.question().into_iter().collect();
        if !self.run.waits {
            todo.extend(self.begin());
        }
        todo
    }

    fn begin(&mut self) -> Vec<Todo> {
        let report = |range: &FinishedRange| Todo::Send(ToEnumerator::Report(range.clone()));
        let mut todo: Vec<_> = self.unacknowledged.values().map(report).collect();
        if self.stream.is_some() {
            self.unacknowledged.clear();
        }
        todo.extend(self.after_ranges());
        todo
    }

    /// Takes an event of the enumerator.
    ///
    /// # Errors
    /// `Protocol` for ranges that do not follow those that are here.
    pub fn handle(&mut self, event: ToReader) -> Result<Vec<Todo>> {
        match event {
            ToReader::NoneNow => Ok(vec![Todo::CloseRound]),
            ToReader::Acknowledge(range) => {
                let place = (range.table.clone(), range.range.lower.clone());
                if self.unacknowledged.get(&place) == Some(&range) {
                    self.unacknowledged.remove(&place);
                }
                Ok(Vec::new())
            }
            ToReader::Ranges { first, ranges } => self.take_ranges(first as usize, ranges),
            ToReader::Run(run) => self.take_run(run),
        }
    }

    /// Flink has told that no split will come any more (`notifyNoMoreSplits`): an open round closes.
    pub fn no_more_splits(&mut self) -> Vec<Todo> {
        self.no_more_splits = true;
        vec![Todo::CloseRound]
    }

    /// The request for one more chunk, unless one is on its way, the enumerator has none and remembers that we asked, or
    /// there will be none.
    pub fn request(&mut self) -> Option<ToEnumerator> {
        if !self.started || self.run.waits || self.asked || self.no_more_splits || self.stream.is_some() {
            return None;
        }
        self.asked = true;
        Some(ToEnumerator::Request)
    }

    /// What the enumerator waits to hear behind a checkpoint's notice before it sends anything unasked, as long as it has
    /// something to send.
    pub fn completed(&self, checkpoint: u64) -> Option<ToEnumerator> {
        (self.started && !self.no_more_splits).then_some(ToEnumerator::Completed { checkpoint })
    }

    /// Begins the next chunk. Until a row of its page has left it counts as not begun.
    pub fn take_chunk(&mut self) -> Option<(PageId, Chunk)> {
        if self.run.waits {
            return None;
        }
        let chunk = self.chunks.pop_front()?;
        let id = PageId(self.next_page);
        self.next_page += 1;
        let page = Page {
            chunk: chunk.clone(),
            end: None,
            out: Out::Nothing,
        };
        self.pages.insert(id, page);
        Some((id, chunk))
    }

    /// The page of a begun chunk is read and corrected, its rows go out from now on.
    ///
    /// # Errors
    /// `Internal` for an unknown page, or one that ends where it begins.
    pub fn page_closed(&mut self, id: PageId, end: PageEnd) -> Result<()> {
        let page = self.page(id)?;
        let inside = |rest: &Key| page.chunk.range.lower.as_ref() != Some(rest) && page.chunk.range.contains(&rest.0);
        if page.end.is_some() || !end.rest.as_ref().is_none_or(inside) {
            let kind = ErrorKind::Internal(format!("a page of {:?} ends at {:?}", page.chunk.range, end.rest));
            return Err(Error::from(kind).on(&page.chunk.table));
        }
        page.end = Some(end);
        Ok(())
    }

    /// Every row of a closed page below `next` has left `pollNext`, and it is the key of the next one; `None` if that was
    /// the last. It need not be called for each row, but before each snapshot.
    ///
    /// # Errors
    /// `Internal` for a page that is not closed, or a key that is not behind what is out.
    pub fn row_out(&mut self, id: PageId, next: Option<Key>) -> Result<()> {
        let page = self.page(id)?;
        let Some(end) = &page.end else {
            return Err(not_closed(&page.chunk));
        };
        page.out = match next {
            None => Out::All,
            Some(next) => {
                let above = match &page.out {
                    Out::Nothing => page.chunk.range.lower.as_ref().is_none_or(|lower| next > *lower),
                    Out::Below(before) => next >= *before,
                    Out::All => false,
                };
                let upper = end.rest.as_ref().or(page.chunk.range.upper.as_ref());
                if !above || upper.is_some_and(|upper| next >= *upper) {
                    let kind = ErrorKind::Internal(format!(
                        "row {next:?} comes next in a page of {:?} that ends at {upper:?}, behind {:?}",
                        page.chunk.range, page.out
                    ));
                    return Err(Error::from(kind).on(&page.chunk.table));
                }
                Out::Below(next)
            }
        };
        Ok(())
    }

    /// The last row of a closed page has left `pollNext`, or it had none. What remains of its chunk is the next to begin.
    ///
    /// # Errors
    /// `Internal` for a page that is not closed.
    pub fn page_done(&mut self, id: PageId) -> Result<Todo> {
        let page = self.page(id)?;
        if page.end.is_none() {
            return Err(not_closed(&page.chunk));
        }
        page.out = Out::All;
        let (finished, rest) = page.parts();
        let finished = finished.ok_or_else(|| not_closed(&page.chunk))?;
        self.pages.remove(&id);
        if let Some(rest) = rest {
            self.chunks.push_front(rest);
        }
        self.owe(finished.clone());
        Ok(Todo::Send(ToEnumerator::Report(finished)))
    }

    /// The stream split, if this reader has it.
    pub fn stream(&self) -> Option<&StreamSplit> {
        self.stream.as_ref().map(|stream| &stream.split)
    }

    /// The stream was opened for these tables, and for no other one as long as it lives.
    pub fn set_stream_tables(&mut self, tables: &[Arc<TableName>]) {
        if let Some(stream) = &mut self.stream {
            stream.split.tables = tables.to_vec();
        }
    }

    /// The partitions that the tables of the stream have, and had as far as their rows are still to come.
    pub fn set_stream_partitions(&mut self, partitions: Vec<Partition>) {
        if let Some(stream) = &mut self.stream {
            stream.split.partitions = partitions;
        }
    }

    /// A row, or a stretch of log without one, has left the stream: it stands here now.
    pub fn advance_stream(&mut self, offset: Offset) {
        if let Some(stream) = &mut self.stream {
            stream.split.offset = offset;
        }
    }

    /// The stream is past the largest point: its ranges are needed no more.
    pub fn drop_filter(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.split.needed = 0;
            stream.split.ranges = Vec::new();
        }
    }

    /// The stream of a bounded job has reached its end.
    pub fn end_stream(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.ended = true;
        }
    }

    /// Whether nothing is left to do. A reader waits to be told that there are no more splits, because an event on its way
    /// to a task that is gone fails the job; ranges that still wait for their acknowledgement do not hold it: by then they
    /// are all safe.
    pub fn is_finished(&self) -> bool {
        let done = match &self.stream {
            Some(stream) => stream.ended,
            None => self.chunks.is_empty() && self.pages.is_empty(),
        };
        done && self.no_more_splits && !self.run.waits
    }

    /// How many chunks wait to be begun.
    pub fn chunks_waiting(&self) -> usize {
        self.chunks.len()
    }

    /// How many chunks are begun and not done.
    pub fn pages_open(&self) -> usize {
        self.pages.len()
    }

    /// How many ranges wait for their acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.unacknowledged.len()
    }

    /// The splits of a checkpoint between two rows.
    pub fn snapshot(&self) -> Vec<Split> {
        let mut splits: Vec<_> = self.unacknowledged.values().cloned().map(Split::Finished).collect();
        for page in self.pages.values() {
            let (finished, rest) = page.parts();
            splits.extend(finished.map(Split::Finished));
            splits.extend(rest.map(Split::Chunk));
        }
        splits.extend(self.chunks.iter().cloned().map(Split::Chunk));
        splits.extend(self.stream().cloned().map(Split::Stream));
        splits.into_iter().map(|split| split.of_run(self.run.number)).collect()
    }

    fn page(&mut self, id: PageId) -> Result<&mut Page> {
        let unknown = || ErrorKind::Internal(format!("page {} is not open", id.0));
        self.pages.get_mut(&id).ok_or_else(|| unknown().into())
    }

    /// Keeps a range until it is acknowledged; returns the one that stood in its place.
    fn owe(&mut self, range: FinishedRange) -> Option<FinishedRange> {
        let place = (range.table.clone(), range.range.lower.clone());
        self.unacknowledged.insert(place, range)
    }

    fn take_ranges(&mut self, first: usize, ranges: Vec<FinishedRange>) -> Result<Vec<Todo>> {
        let stream = self.stream.as_mut().map(|stream| &mut stream.split);
        let Some(split) = stream.filter(|split| split.ranges.len() == first) else {
            return Err(ErrorKind::Protocol(format!("ranges from number {first} on came unasked")).into());
        };
        if first + ranges.len() > split.needed as usize {
            return Err(ErrorKind::Protocol(format!("the stream needs {} ranges, more came", split.needed)).into());
        }
        split.ranges.extend(ranges);
        Ok(self.after_ranges().into_iter().collect())
    }

    /// What comes next for the stream split with the ranges that it has.
    fn after_ranges(&self) -> Option<Todo> {
        let split = self.stream()?;
        let have = split.ranges.len() as u32;
        Some(if have < split.needed {
            Todo::Send(ToEnumerator::Missing { have })
        } else {
            Todo::OpenStream
        })
    }
}

impl Page {
    /// The prefix that is out, and what is not.
    fn parts(&self) -> (Option<FinishedRange>, Option<Chunk>) {
        let Some(end) = &self.end else {
            return (None, Some(self.chunk.clone()));
        };
        let border = match &self.out {
            Out::Nothing => return (None, Some(self.chunk.clone())),
            Out::Below(next) => Some(next.clone()),
            Out::All => end.rest.clone(),
        };
        let rest = border.clone().map(|lower| Chunk {
            table: self.chunk.table.clone(),
            range: KeyRange {
                lower: Some(lower),
                upper: self.chunk.range.upper.clone(),
            },
        });
        let finished = FinishedRange {
            table: self.chunk.table.clone(),
            range: KeyRange {
                lower: self.chunk.range.lower.clone(),
                upper: border.or_else(|| self.chunk.range.upper.clone()),
            },
            point: end.point.clone(),
            mine_from: end.mine_from,
        };
        (Some(finished), rest)
    }
}

fn protocol(text: &str, table: &TableName) -> Error {
    Error::from(ErrorKind::Protocol(text.into())).on(table)
}

fn not_closed(chunk: &Chunk) -> Error {
    let kind = ErrorKind::Internal(format!("rows of {:?} went out before its page was closed", chunk.range));
    Error::from(kind).on(&chunk.table)
}
