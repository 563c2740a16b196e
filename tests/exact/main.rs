//! Exact pages (design 4.5) on a PostgreSQL server: every change is in a page or comes from the log, once.

mod between;
mod cases;
mod log;
mod random;
mod steps;
#[path = "../support/mod.rs"]
mod support;
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use support::Server;
use support::postgres::{clock, connect, dialect, patience};
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{Table, load};
use tidemark::dialect::visibility::Visibility;
use tidemark::error::Result;
use tidemark::position::{Lsn, Point};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::barrier::Barrier;
use tidemark::snapshot::exact::ExactPages;
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::wait::Clock;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, Key, KeyRange, TableName};

const LONG: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_millis(300);

/// Rows as `id:v`.
struct Plain(KeyCodec);

impl RowCodec for Plain {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        self.0.encode(&|column| values.get(image, column), out)
    }

    fn row(
        &self,
        _: u32,
        _: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let int = |column| match values.get(image, column) {
            Value::Int(value) => value,
            other => panic!("{other:?}"),
        };
        out.extend_from_slice(format!("{}:{}", int(0), int(1)).as_bytes());
        Ok(())
    }
}

/// A table `(id integer primary key, v integer)`, as the connector sees it.
struct Captured {
    table: Arc<Table>,
    keys: KeyCodec,
}

impl Captured {
    fn new(server: &Server, name: &str) -> Self {
        let name = TableName {
            schema: "public".into(),
            name: name.into(),
        };
        let table = Arc::new(load(&mut connect(server), &*dialect(), &name).unwrap());
        Captured {
            keys: KeyCodec::new(&table).unwrap(),
            table,
        }
    }

    fn pages(&self, server: &Server, limit: Duration) -> ExactPages {
        self.pages_by(server, dialect(), limit, Box::new(clock()))
    }

    fn pages_by(
        &self,
        server: &Server,
        dialect: Arc<impl Visibility + 'static>,
        limit: Duration,
        clock: Box<dyn Clock + Send>,
    ) -> ExactPages {
        let tables = [(self.table.clone(), vec![true; 2])];
        let codec = Arc::new(Plain(self.keys.clone()));
        let pages = PageReader::new(connect(server), dialect.clone(), codec, &tables, 1024).unwrap();
        ExactPages::new(pages, dialect, patience(limit), clock)
    }

    fn key(&self, id: i64) -> Key {
        let mut key = Vec::new();
        self.keys.encode(&|_| Value::Int(id), &mut key).unwrap();
        Key(key.into())
    }

    /// The ids from `lower` on that are below `upper`.
    fn chunk(&self, lower: Option<i64>, upper: Option<i64>) -> Chunk {
        Chunk {
            table: self.table.name.clone(),
            range: KeyRange {
                lower: lower.map(|id| self.key(id)),
                upper: upper.map(|id| self.key(id)),
            },
        }
    }
}

/// How a chunk is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As one page.
    Page,
    /// Sorted by the server, which keeps the result.
    Sorted,
}

const WAYS: [Way; 2] = [Way::Page, Way::Sorted];

/// Rows, and which transactions they contain.
type Contained = (Vec<(i64, i64)>, Point);

const WHOLE: PageLimit = PageLimit {
    rows: 100_000,
    bytes: 1 << 30,
};

/// Reads a whole chunk: its rows, and which transactions they contain.
fn read_by(way: Way, pages: &mut ExactPages, chunk: &Chunk) -> Result<Contained> {
    match way {
        Way::Page => read(pages, chunk),
        Way::Sorted => {
            let point = pages.sort(chunk)?;
            let mut rows = Vec::new();
            pages.select_sorted(chunk, WHOLE, &mut |piece| {
                rows.extend(numbers_of(&piece.rows).take(piece.len));
                Ok(())
            })?;
            Ok((rows, point))
        }
    }
}

/// Reads a whole chunk as one page.
fn read(pages: &mut ExactPages, chunk: &Chunk) -> Result<Contained> {
    let mut rows = PageRows::default();
    let (rest, point) = pages.read_page(chunk, WHOLE, &mut rows)?;
    assert_eq!(rest, None);
    Ok((numbers_of(&rows).collect(), point.unwrap()))
}

fn numbers_of(rows: &PageRows) -> impl Iterator<Item = (i64, i64)> {
    (0..rows.len()).map(|number| {
        let text = std::str::from_utf8(rows.row(number)).unwrap();
        let (id, v) = text.split_once(':').unwrap();
        (id.parse().unwrap(), v.parse().unwrap())
    })
}

fn barrier(server: &Server, limit: Duration) -> Result<Lsn> {
    barrier_by(server, dialect(), limit)
}

fn barrier_by(server: &Server, dialect: Arc<dyn Visibility>, limit: Duration) -> Result<Lsn> {
    Barrier::new(connect(server), dialect, patience(limit)).pass(&mut clock())
}
