//! Exact pages (design 4.5) on a PostgreSQL server: every change is in a page or comes from the log, once.

mod cases;
mod log;
mod random;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use support::Server;
use support::postgres::{clock, connect, dialect, patience};
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{Table, load};
use tidemark::error::Result;
use tidemark::position::{Lsn, Point};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::barrier::Barrier;
use tidemark::snapshot::exact::ExactPages;
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, Key, KeyRange, TableName};

const LONG: Duration = Duration::from_secs(120);

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
        let tables = [(self.table.clone(), vec![true; 2])];
        let codec = Arc::new(Plain(self.keys.clone()));
        let pages = PageReader::new(connect(server), dialect(), codec, &tables, 1024).unwrap();
        ExactPages::new(pages, dialect(), patience(limit), Box::new(clock()))
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

/// Reads a whole chunk as one page: its rows, and which transactions they contain.
fn read(pages: &mut ExactPages, chunk: &Chunk) -> Result<(Vec<(i64, i64)>, Point)> {
    let limit = PageLimit {
        rows: 100_000,
        bytes: 1 << 30,
    };
    let mut rows = PageRows::default();
    let (rest, point) = pages.read_page(chunk, limit, &mut rows)?;
    assert_eq!(rest, None);
    let row = |number| {
        let text = std::str::from_utf8(rows.row(number)).unwrap();
        let (id, v) = text.split_once(':').unwrap();
        (id.parse().unwrap(), v.parse().unwrap())
    };
    Ok(((0..rows.len()).map(row).collect(), point.unwrap()))
}

fn barrier(server: &Server, limit: Duration) -> Result<Lsn> {
    Barrier::new(connect(server), dialect(), patience(limit)).pass(&mut clock())
}
