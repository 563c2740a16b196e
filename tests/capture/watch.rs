//! A place for tests to stand between the reader and its database: at each page's SELECT, and where the log reader asks
//! and stands.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidemark::database::Database;
use tidemark::error::Result;
use tidemark::log::{Figures, Headroom, LogEvent, LogReader, Patience, Progress};
use tidemark::position::{Incarnation, Point, Position, Scn};
use tidemark::reader::capture::{Calls, Capture, Connector, Overdue};
use tidemark::row::RowCodec;
use tidemark::snapshot::page::{RoundLimits, Rounds};
use tidemark::snapshot::{PageLimit, PageRounds, PageRows, PageSource, Piece};
use tidemark::split::{Chunk, Key, Partition, TableName};
use tidemark::unavailable::Completion;

/// What is called with the reader's number and the chunk.
pub type AtPage = Box<dyn Fn(u32, &Chunk) + Send + Sync>;

/// Does something when it is called for the first time.
pub fn once(what: impl FnOnce() + Send + 'static) -> impl Fn() + Send + Sync {
    let what = Mutex::new(Some(what));
    move || {
        if let Some(what) = what.lock().unwrap().take() {
            what();
        }
    }
}

/// What a test hears of a job's readers.
#[derive(Default)]
pub struct Watch {
    /// The log gives nothing.
    pub held: AtomicBool,
    /// How often it was asked in vain.
    pub asked_in_vain: AtomicUsize,
    /// Called between a reader's look at the tables and the place where it opens the log for pages.
    pub before_log: Option<Box<dyn Fn() + Send + Sync>>,
    /// Called once it has opened it, before it reads any of it.
    pub after_log: Option<Box<dyn Fn() + Send + Sync>>,
    /// Called before a page's SELECT starts: behind `low`.
    pub before_select: Option<AtPage>,
    /// Called once it has ended: in front of `high`.
    pub after_select: Option<AtPage>,
    /// Called once a page's `high` was asked for: in front of the log's advance.
    pub after_high: Option<Box<dyn Fn() + Send + Sync>>,
    /// How often a log reader was told of a transaction that is committed and not visible.
    pub still_open: AtomicUsize,
    /// How far a log reader has read completely, for the newest one that said so.
    pub complete_to: AtomicU64,
}

/// A reader's database, watched.
pub struct Watched {
    /// The database.
    pub database: Arc<Database>,
    /// The one who watches.
    pub watch: Arc<Watch>,
    /// The reader.
    pub subtask: u32,
}

impl Calls for Watched {
    fn cancel(&self) {
        self.database.cancel();
    }

    fn overdue(&self) -> Option<Overdue> {
        self.database.overdue()
    }

    fn cancel_overdue(&self, by: Duration) {
        self.database.cancel_overdue(by);
    }
}

impl Connector for Watched {
    fn connect(&self) -> Result<Box<dyn Capture>> {
        Ok(Box::new(WatchedCapture {
            capture: Connector::connect(&self.database)?,
            watch: self.watch.clone(),
            subtask: self.subtask,
        }))
    }

    fn confirm(&self, before: Scn) {
        self.database.confirm(before);
    }
}

struct WatchedCapture {
    capture: Box<dyn Capture>,
    watch: Arc<Watch>,
    subtask: u32,
}

impl WatchedCapture {
    fn log(&self, log: Box<dyn LogReader>) -> Box<dyn LogReader> {
        let watch = self.watch.clone();
        Box::new(WatchedLog { log, watch })
    }
}

impl Capture for WatchedCapture {
    fn tables(&self) -> &[Arc<TableName>] {
        self.capture.tables()
    }

    fn keep(&mut self, tables: Option<&[Arc<TableName>]>) -> Result<Vec<Arc<TableName>>> {
        self.capture.keep(tables)
    }

    fn newcomers(&mut self) -> Result<Vec<TableName>> {
        self.capture.newcomers()
    }

    fn has_key(&self, table: u32) -> bool {
        self.capture.has_key(table)
    }

    fn is_paged(&self, table: u32) -> bool {
        self.capture.is_paged(table)
    }

    fn codec(&self) -> Arc<dyn RowCodec> {
        self.capture.codec()
    }

    fn log_for_snapshot(&mut self) -> Result<(Box<dyn LogReader>, Position)> {
        if let Some(before) = &self.watch.before_log {
            before();
        }
        let (log, position) = self.capture.log_for_snapshot()?;
        if let Some(after) = &self.watch.after_log {
            after();
        }
        Ok((self.log(log), position))
    }

    fn rounds(&mut self, limits: RoundLimits) -> Result<Box<dyn PageRounds>> {
        // Where no log corrects pages, there is none to watch.
        let Ok((log, position)) = self.log_for_snapshot() else {
            return self.capture.rounds(limits);
        };
        let rounds = Rounds::new(log, self.codec(), position, limits);
        Ok(Box::new(match self.completion(limits.visibility) {
            Some(completion) => rounds.completing(completion),
            None => rounds,
        }))
    }

    fn log_at(&mut self, mine_from: Scn, position: Position, partitions: &[Partition]) -> Result<Box<dyn LogReader>> {
        let log = self.capture.log_at(mine_from, position, partitions)?;
        Ok(self.log(log))
    }

    fn completion(&mut self, visibility: Patience) -> Option<Completion> {
        self.capture.completion(visibility)
    }

    fn look_again(&mut self, table: u32) -> Result<bool> {
        self.capture.look_again(table)
    }

    fn pages(&mut self) -> Result<Box<dyn PageSource>> {
        Ok(Box::new(WatchedPages {
            pages: self.capture.pages()?,
            watch: self.watch.clone(),
            subtask: self.subtask,
        }))
    }
}

struct WatchedPages {
    pages: Box<dyn PageSource>,
    watch: Arc<Watch>,
    subtask: u32,
}

impl PageSource for WatchedPages {
    fn select(&mut self, chunk: &Chunk, limit: PageLimit, into: &mut PageRows) -> Result<Option<Key>> {
        self.read_page(chunk, limit, into).map(|(rest, _)| rest)
    }

    fn read_page(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        into: &mut PageRows,
    ) -> Result<(Option<Key>, Option<Point>)> {
        if let Some(before) = &self.watch.before_select {
            before(self.subtask, chunk);
        }
        let rest = self.pages.read_page(chunk, limit, into)?;
        if let Some(after) = &self.watch.after_select {
            after(self.subtask, chunk);
        }
        Ok(rest)
    }

    fn sort(&mut self, chunk: &Chunk) -> Result<Point> {
        if let Some(before) = &self.watch.before_select {
            before(self.subtask, chunk);
        }
        self.pages.sort(chunk)
    }

    fn select_sorted(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        self.pages.select_sorted(chunk, limit, &mut |piece| {
            if let Some(after) = &self.watch.after_select {
                after(self.subtask, chunk);
            }
            take(piece)
        })
    }

    fn select_whole(
        &mut self,
        chunk: &Chunk,
        limit: PageLimit,
        take: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        if let Some(before) = &self.watch.before_select {
            before(self.subtask, chunk);
        }
        self.pages.select_whole(chunk, limit, &mut |piece| {
            if let Some(after) = &self.watch.after_select {
                after(self.subtask, chunk);
            }
            take(piece)
        })
    }
}

struct WatchedLog {
    log: Box<dyn LogReader>,
    watch: Arc<Watch>,
}

impl LogReader for WatchedLog {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        if self.watch.held.load(Ordering::SeqCst) {
            self.watch.asked_in_vain.fetch_add(1, Ordering::SeqCst);
            return Ok(None);
        }
        let event = self.log.poll()?;
        if let Some(complete) = self.log.progress().complete_to {
            self.watch.complete_to.store(complete.0, Ordering::SeqCst);
        }
        Ok(event)
    }

    fn progress(&self) -> Progress {
        self.log.progress()
    }

    fn visible_end(&mut self) -> Result<Scn> {
        let end = self.log.visible_end()?;
        if let Some(after) = &self.watch.after_high {
            after();
        }
        Ok(end)
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        let open = self.log.still_open()?;
        if !open.is_empty() {
            self.watch.still_open.fetch_add(1, Ordering::SeqCst);
        }
        Ok(open)
    }

    fn push(&mut self) -> Result<bool> {
        self.log.push()
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        self.log.check_kept(needed)
    }

    fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }

    fn partitions(&mut self) -> Option<Vec<Partition>> {
        self.log.partitions()
    }

    fn figures(&self) -> Figures {
        self.log.figures()
    }

    fn headroom(&self, needed: Scn) -> Option<Headroom> {
        self.log.headroom(needed)
    }
}
