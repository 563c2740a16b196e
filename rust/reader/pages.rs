//! The threads that read pages, one a connection: the worker hands chunks out and takes what was read back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, select, unbounded};

use crate::error::{ErrorKind, Result};
use crate::position::Point;
use crate::reader::threads::Threads;
use crate::reader::worker::panicked;
use crate::snapshot::closed::PageTicket;
use crate::snapshot::{PageLimit, PageRows, PageSource};
use crate::split::{Chunk, Key};
use crate::stop::Stopped;

/// A page that is to be read.
pub(super) struct PageTask {
    pub(super) ticket: PageTicket,
    /// The table's number in the reader's table list.
    pub(super) table: u32,
    pub(super) chunk: Chunk,
}

/// A page that was read: its rows, the first key that was not, and which transactions it contains, where that is known.
pub(super) struct PageRead {
    pub(super) task: PageTask,
    pub(super) rows: Result<ReadRows>,
}

type ReadRows = (PageRows, Option<Key>, Option<Point>);

/// Threads that end when this is dropped, each behind the page that it is reading.
pub(super) struct PageThreads {
    most: usize,
    limit: PageLimit,
    /// What the threads are named after.
    name: String,
    threads: Arc<Threads>,
    stopped: Stopped,
    started: usize,
    reading: usize,
    tasks: (Sender<PageTask>, Receiver<PageTask>),
    pages: (Sender<PageRead>, Receiver<PageRead>),
}

impl PageThreads {
    pub(super) fn new(most: usize, limit: PageLimit, name: String, threads: Arc<Threads>, stopped: Stopped) -> Self {
        PageThreads {
            most,
            limit,
            name,
            threads,
            stopped,
            started: 0,
            reading: 0,
            // Never more than `most` in either.
            tasks: unbounded(),
            pages: unbounded(),
        }
    }

    /// Whether a page can be begun now.
    pub(super) fn is_free(&self) -> bool {
        self.reading < self.most
    }

    /// How many pages are being read.
    pub(super) fn reading(&self) -> usize {
        self.reading
    }

    /// Begins a page; `connect` opens a connection where the ones at hand are all in use.
    pub(super) fn begin(
        &mut self,
        task: PageTask,
        connect: impl FnOnce() -> Result<Box<dyn PageSource>>,
    ) -> Result<()> {
        if self.reading == self.started {
            self.start(connect()?)?;
        }
        self.reading += 1;
        self.tasks.0.send(task).map_err(|_| ErrorKind::Closed.into())
    }

    /// Where pages come back, in any order; each is to be given to [`PageThreads::take`].
    pub(super) fn pages(&self) -> &Receiver<PageRead> {
        &self.pages.1
    }

    /// Takes a page in.
    pub(super) fn take(&mut self, page: PageRead) -> PageRead {
        self.reading -= 1;
        let PageRead { task, rows } = page;
        let rows = rows.map_err(|error| error.doing("reading a page").on(&task.chunk.table));
        PageRead { task, rows }
    }

    fn start(&mut self, mut source: Box<dyn PageSource>) -> Result<()> {
        let (tasks, pages) = (self.tasks.1.clone(), self.pages.0.clone());
        let (stopped, limit) = (self.stopped.clone(), self.limit);
        self.started += 1;
        self.threads
            .spawn(format!("{}-page-{}", self.name, self.started), move || {
                loop {
                    let task = select! {
                        recv(tasks) -> task => task,
                        recv(stopped.channel()) -> _ => return,
                    };
                    let Ok(task) = task else { return };
                    let rows = std::panic::catch_unwind(AssertUnwindSafe(|| read(&mut *source, &task.chunk, limit)));
                    let broken = rows.is_err();
                    let rows = rows.unwrap_or_else(|panic| Err(panicked(&*panic)));
                    if pages.send(PageRead { task, rows }).is_err() || broken {
                        return;
                    }
                }
            })
    }
}

fn read(source: &mut dyn PageSource, chunk: &Chunk, limit: PageLimit) -> Result<ReadRows> {
    let mut rows = PageRows::default();
    let (rest, point) = source.read_page(chunk, limit, &mut rows)?;
    Ok((rows, rest, point))
}
