//! What the tests have of a slot: made for the tables of a test, read as the connector does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidemark::catalog::load;
use tidemark::error::Error;
use tidemark::log::OnFault;
use tidemark::log::captured::CapturedTable;
use tidemark::log::decoding::control::Connect;
use tidemark::log::decoding::reader::{Settings, SlotReader};
use tidemark::log::decoding::settings::SlotSettings;
use tidemark::log::decoding::slot;
use tidemark::log::{Changes, FragmentLimit, LogEvent, LogReader, Opening, Patience};
use tidemark::odbc::Connection;
use tidemark::position::{Lsn, Position, Scn};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::split::TableName;

use crate::support::Server;
use crate::support::postgres::{connect, dialect, settings, shared};

/// Plugins of every server here.
pub const PLUGINS: [&str; 2] = ["pgoutput", "test_decoding"];

/// Longest wait of a test for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Runs statements on the shared server.
pub fn psql(sql: &str) -> String {
    shared().psql(sql)
}

/// A slot and its captured tables.
pub struct Slot {
    pub name: String,
    pub tables: Vec<CapturedTable>,
    /// Where it began.
    pub start: Lsn,
}

/// A table of the schema `public` by its name.
pub fn table(name: &str) -> CapturedTable {
    let name = TableName {
        schema: "public".into(),
        name: name.into(),
    };
    CapturedTable::whole(Arc::new(load(&mut connect(shared()), &*dialect(), &name).unwrap()))
}

impl Slot {
    /// A publication and a slot for tables of the schema `public`.
    pub fn new(name: &str, plugin: &'static str, tables: &[&str]) -> Slot {
        Slot::of(name, plugin, tables.iter().map(|name| table(name)).collect())
    }

    pub fn of(name: &str, plugin: &'static str, tables: Vec<CapturedTable>) -> Slot {
        let name = format!("{name}_{plugin}");
        let listed: Vec<TableName> = tables.iter().map(|table| (*table.table.name).clone()).collect();
        let mut connection = connect(shared());
        let statements = slot::resolve_names(&mut connection, &*dialect()).unwrap();
        connection
            .execute(&statements.create_publication(&*dialect(), &name, &listed))
            .unwrap();
        let start = slot::create(&mut connection, &statements, &name, plugin).unwrap();
        Slot { name, tables, start }
    }

    pub fn settings(&self) -> Settings {
        Settings {
            slot: SlotSettings {
                slot: self.name.clone(),
                publications: vec![self.name.clone()],
                exclusive: true,
                ddl_table: None,
                on_mismatch: OnFault::Fail,
                batch_changes: 100_000,
                look_every: Duration::ZERO,
                patience: Patience {
                    limit: PATIENCE,
                    pause: Duration::from_millis(20),
                },
            },
            fragment: FragmentLimit {
                rows: 1_000,
                bytes: 1 << 20,
            },
            selection: None,
            partitions: Vec::new(),
        }
    }

    /// From the slot's beginning.
    pub fn begin(&self) -> Opening {
        Opening {
            mine_from: Scn(self.start.0),
            position: Position::before(Scn(self.start.0)),
        }
    }

    pub fn try_open_with(&self, settings: Settings, at: Opening) -> Result<SlotReader, Error> {
        reading(&self.tables);
        SlotReader::open(connector(shared()), dialect(), &self.tables, settings, at)
    }

    pub fn open_with(&self, settings: Settings, at: Opening) -> SlotReader {
        self.try_open_with(settings, at).unwrap()
    }

    pub fn open(&self) -> SlotReader {
        self.open_with(self.settings(), self.begin())
    }

    /// From a position on.
    pub fn open_at(&self, position: Position) -> SlotReader {
        let mine_from = position.scn;
        self.open_with(self.settings(), Opening { mine_from, position })
    }

    /// Reads all that the log has for the slot's tables now.
    pub fn read(&self) -> Read {
        let mut read = Read::default();
        read_to(&mut self.open(), now(), &mut read);
        read
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut connection = connect(shared());
        let statements = slot::resolve_names(&mut connection, &*dialect()).unwrap();
        let until = Instant::now() + PATIENCE;
        while let Err(error) = slot::drop_slot(&mut connection, &statements, &self.name) {
            assert!(Instant::now() < until || std::thread::panicking(), "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        psql(&format!("DROP PUBLICATION {}", self.name));
    }
}

/// Opens connections to a server.
pub fn connector(server: &'static Server) -> Connect {
    Arc::new(move || Connection::open(&settings(server)))
}

/// Waits until a question is answered with `t`.
pub fn until(question: &str) {
    let until = Instant::now() + PATIENCE;
    while psql(question).trim() != "t" {
        assert!(Instant::now() < until, "it does not come to: {question}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The log's end.
pub fn now() -> u64 {
    psql("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        .trim()
        .parse()
        .unwrap()
}

/// A transaction as a consumer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub xid: u64,
    pub commit: u64,
    pub start: u64,
    pub next_scn: u64,
    pub micros: i64,
    /// `table before>after` or `table TRUNCATE`, images as `name=value` joined by commas.
    pub rows: Vec<String>,
    /// LSN, number of the table and count of each.
    pub places: Vec<(u64, u64, u32)>,
    /// Rows of each fragment.
    pub fragments: Vec<usize>,
}

#[derive(Debug, Default)]
pub struct Read {
    pub transactions: Vec<Seen>,
    pub open: Option<Seen>,
    pub progresses: usize,
}

impl Read {
    /// All rows in order.
    pub fn rows(&self) -> Vec<&str> {
        let transactions = self.transactions.iter();
        transactions
            .flat_map(|seen| seen.rows.iter().map(String::as_str))
            .collect()
    }

    fn seen(&mut self, head: &tidemark::log::TransactionHead) -> &mut Seen {
        let seen = self.open.get_or_insert_with(|| Seen {
            xid: head.xid.0,
            commit: head.commit.scn.0,
            start: head.start.0,
            next_scn: head.next_scn.0,
            micros: head.commit_micros,
            ..Seen::default()
        });
        assert_eq!((seen.xid, seen.commit), (head.xid.0, head.commit.scn.0), "whole");
        seen
    }
}

pub fn text(value: Value<'_>) -> String {
    match value {
        Value::Number(text) | Value::Text(text) | Value::Date(text) | Value::Time(text) | Value::Timestamp(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        Value::Int(value) => value.to_string(),
        Value::Hex(text) => format!("x{}", String::from_utf8_lossy(text)),
        Value::Bytes(bytes) => bytes
            .iter()
            .fold("x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
        Value::Null => "NULL".into(),
        Value::Absent => "-".into(),
        Value::Unavailable => "?".into(),
    }
}

fn image(names: &[String], values: &ValueBuffer, image: Option<Image>) -> String {
    let Some(image) = image else {
        return String::new();
    };
    let cells = names.iter().enumerate().map(|(number, name)| {
        let value = text(values.get(image, number));
        format!("{name}={value}")
    });
    cells.collect::<Vec<_>>().join(",")
}

/// What of the log is new, as changes.
pub fn changes(reader: &mut SlotReader) -> Vec<Changes> {
    let (end, mut all, until) = (now(), Vec::new(), Instant::now() + PATIENCE);
    loop {
        match reader.poll().unwrap() {
            Some(LogEvent::Fragment(fragment)) => all.push(fragment.changes),
            Some(_) => {}
            None if reader
                .progress()
                .complete_to
                .is_some_and(|complete| complete.0 + 1 >= end) =>
            {
                return all;
            }
            None => {
                reader.push().unwrap();
                assert!(Instant::now() < until);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Polls until everything in front of `end` was read.
pub fn read_to(reader: &mut SlotReader, end: u64, read: &mut Read) {
    let until = Instant::now() + PATIENCE;
    loop {
        if !step(reader, read).unwrap() {
            if reader
                .progress()
                .complete_to
                .is_some_and(|complete| complete.0 + 1 >= end)
            {
                return;
            }
            // A commit that nobody waited for, or a page of the log that is not full.
            reader.push().unwrap();
            assert!(Instant::now() < until, "{:?} is not read to {end}", reader.progress());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Reads until the reader fails.
pub fn failure(slot: &Slot) -> Error {
    let (mut reader, mut read) = (slot.open(), Read::default());
    let until = Instant::now() + PATIENCE;
    loop {
        if let Err(error) = step(&mut reader, &mut read) {
            return error;
        }
        assert!(Instant::now() < until, "nothing failed: {:?}", read.rows());
    }
}

/// One poll; `false` if there was nothing.
pub fn step(reader: &mut SlotReader, read: &mut Read) -> Result<bool, Error> {
    let before = reader.progress();
    let Some(event) = reader.poll()? else {
        return Ok(false);
    };
    let progress = reader.progress();
    assert!(progress.position >= before.position, "the position never moves back");
    match event {
        LogEvent::Fragment(fragment) => {
            let head = fragment.head;
            assert_eq!(
                progress.position.includes(head.commit),
                fragment.last,
                "a transaction is out with its last fragment"
            );
            if let Some(last) = read.transactions.last() {
                assert!(
                    last.commit < head.commit.scn.0,
                    "transactions come in the order of their commits"
                );
            }
            let seen = read.seen(&head);
            assert_eq!(fragment.number as usize, seen.fragments.len());
            seen.fragments.push(fragment.changes.rows.len());
            for change in &fragment.changes.rows {
                let values = &fragment.changes.values;
                let shape = fragment.changes.shapes.iter().find(|(of, _)| *of == change.table);
                let names = match shape {
                    Some((_, table)) => column_names(table),
                    None => NAMES.with(|names| names.borrow()[change.table as usize].clone()),
                };
                seen.rows.push(format!(
                    "{} {}>{}",
                    change.table,
                    image(&names, values, change.before),
                    image(&names, values, change.after)
                ));
                seen.places
                    .push((change.place.scn.0, change.place.table, change.place.nth));
            }
            if fragment.last {
                assert_eq!(progress.next_scn, head.next_scn);
                let seen = read.open.take().unwrap();
                read.transactions.push(seen);
            }
        }
        LogEvent::Schema(event) => {
            let row = format!("{} {}", event.table, event.change.statement);
            let seen = read.seen(&event.head);
            seen.rows.push(row);
            seen.places
                .push((event.place.scn.0, event.place.table, event.place.nth));
        }
        LogEvent::Progress(told) => {
            assert_eq!(told, progress);
            read.progresses += 1;
        }
    }
    Ok(true)
}

thread_local! {
    /// Names of the columns of the tables that the thread reads.
    static NAMES: std::cell::RefCell<Vec<Vec<String>>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Tells the columns of the tables that are read from here on.
pub fn reading(tables: &[CapturedTable]) {
    let names = tables.iter().map(|table| column_names(&table.table)).collect();
    NAMES.with(|all| *all.borrow_mut() = names);
}

fn column_names(table: &tidemark::catalog::Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}
