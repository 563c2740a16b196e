//! Large values: byte for byte through snapshot and log, and without the process holding more of them than a few rows,
//! however many there are. In a process of its own, since its memory is counted: what this crate allocates to the byte,
//! what the driver takes besides as the kernel sees it.

#[path = "support/counting.rs"]
mod counting;
#[path = "options/job.rs"]
mod job;
mod support;

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use counting::Allocated;
use job::{Job, PATIENCE};
use serde_json::{Value, json};
use support::postgres::{connect as postgres, dialect, shared};
use support::stand_in::StandIn;
use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::load;
use tidemark::reader::api::Message;
use tidemark::reader::batch::Batch;
use tidemark::row::value::{Image, Value as ColumnValue, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, KeyRange, TableName};

const MEGABYTE: usize = 1 << 20;

unsafe extern "C" {
    fn mallopt(parameter: i32, value: i32) -> i32;
}

/// Has large blocks of the driver go back to the kernel when they are freed, whatever was freed before.
fn give_back_at_once() {
    const M_MMAP_THRESHOLD: i32 = -3;
    // SAFETY: No pointers are passed; the C library takes it at any time.
    assert_eq!(unsafe { mallopt(M_MMAP_THRESHOLD, 256 << 10) }, 1);
}

/// The most memory that was held at once, beyond what was there before.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// By this crate.
    own: usize,
    /// By the process, the driver's among it.
    resident: usize,
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [own, resident] = [self.own, self.resident].map(|bytes| bytes / MEGABYTE);
        write!(f, "{own} MB, {resident} MB with the driver's")
    }
}

fn resident_peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

fn peak_of(run: impl FnOnce()) -> Peak {
    // The kernel's mark is set to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let resident = resident_peak();
    let allocated = Allocated::begin();
    run();
    Peak {
        own: allocated.bytes(),
        resident: resident_peak().saturating_sub(resident),
    }
}

/// The rows of a batch: `ID`, and the bytes of two columns of any length at the places behind.
fn rows(batch: &Batch) -> impl Iterator<Item = (i64, [&[u8]; 2])> {
    let bytes = batch.bytes();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let place = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    (0..batch.rows() as usize).map(move |row| {
        let start = place(place(16) + 4 * row);
        let value = |column: usize| {
            let word = number(start + 8 + 8 * column);
            let (offset, length) = ((word >> 32) as usize, word as u32 as usize);
            &bytes[start + offset..][..length]
        };
        (number(start + 8) as i64, [value(1), value(2)])
    })
}

fn columns() -> Value {
    json!([
        {"name": "ID", "type": "BIGINT", "nullable": false},
        {"name": "C", "type": "STRING"},
        {"name": "B", "type": "BYTES"},
    ])
}

fn table(stand_in: &StandIn, schema: &str, key: &str) {
    stand_in.psql(&format!(
        r#"create schema "{schema}"; create table "{schema}"."T" ("ID" bigint {key}, "C" clob, "B" blob);
           alter table "{schema}"."T" alter "C" set storage external, alter "B" set storage external"#
    ));
}

/// Hands the log's rows on until all that are awaited are out.
fn stream(job: &Job, last: i64, mut take: impl FnMut(&Batch)) {
    let mut quiet = Instant::now();
    let mut seen = 0;
    while seen != last {
        assert!(quiet.elapsed() < PATIENCE, "row {seen} was the last one to come");
        if let Message::Rows(batch) = job.reader.next(Duration::from_millis(50)).unwrap() {
            quiet = Instant::now();
            seen = rows(&batch).last().unwrap().0;
            take(&batch);
            job.reader.consumed(batch.number()).unwrap();
        }
    }
}

/// Text of characters of one to four bytes, apostrophes and line ends among them, and bytes; after some hundred thousand of
/// them the same again.
fn contents(seed: u64, size: usize) -> (String, Vec<u8>) {
    const CHARACTERS: [char; 16] = [
        'a', '\'', '\n', '\\', '"', 'é', 'ж', '字', '名', '𝄞', ' ', '%', '0', ';', 'Z', '—',
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let text: String = (0..300_007).map(|_| CHARACTERS[random.usize(..16)]).collect();
    let bytes: Vec<u8> = (0..700_001).map(|_| random.u8(..)).collect();
    (text.repeat(size / text.len() + 1), bytes.repeat(size / bytes.len() + 1))
}

/// One test at a time: all of them count the memory of the one process.
fn alone() -> MutexGuard<'static, StandIn> {
    static SERVER: OnceLock<Mutex<StandIn>> = OnceLock::new();
    let start = || {
        give_back_at_once();
        let stand_in = StandIn::start(&[]);
        stand_in.psql("update logminer.setting set value = 'out' where name = 'lob'");
        Mutex::new(stand_in)
    };
    // A test that failed has left nothing behind that counts.
    let server = SERVER.get_or_init(start).lock();
    server.unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn values_of_1_and_50_megabytes_are_whole() {
    let stand_in = &*alone();
    let expected = [(1, MEGABYTE), (2, 50 * MEGABYTE)].map(|(id, size)| contents(id, size));
    let mut insert = String::new();
    for (id, (text, bytes)) in expected.iter().enumerate() {
        for (what, content) in [("text", text.as_bytes()), ("bytes", bytes)] {
            std::fs::write(stand_in.directory().join(format!("{what}{id}")), content).unwrap();
        }
        let file = |what: &str| {
            let path = stand_in.directory().display();
            format!("pg_read_binary_file('{path}/{what}{id}')")
        };
        insert.push_str(&format!(
            r#"insert into "SCHEMA"."T" values ({}, convert_from({}, 'UTF8'), {});"#,
            id + 1,
            file("text"),
            file("bytes")
        ));
    }
    for schema in ["WHOLE", "WHOLE_LOGGED"] {
        table(stand_in, schema, "primary key");
    }
    let unlogged = format!("set session_replication_role = replica; {insert}");
    stand_in.psql(&unlogged.replace("SCHEMA", "WHOLE"));
    let mut seen = Vec::new();
    let mut check = |batch: &Batch| {
        for (id, [text, bytes]) in rows(batch) {
            let (expected_text, expected_bytes) = &expected[id as usize - 1];
            let is_whole = text == expected_text.as_bytes() && bytes == expected_bytes;
            assert!(is_whole, "row {id} came as {} and {} bytes", text.len(), bytes.len());
            seen.push(id);
        }
    };
    let snapshot = peak_of(|| {
        let job = Job::of(stand_in, "WHOLE", columns(), &[]);
        let chunks = job.start_snapshot();
        job.drive(chunks, &mut check).unwrap();
    });
    let log = peak_of(|| {
        let job = Job::of(stand_in, "WHOLE_LOGGED", columns(), &[]);
        job.start_stream();
        stand_in.psql(&insert.replace("SCHEMA", "WHOLE_LOGGED"));
        stream(&job, 2, &mut check);
        assert_eq!(job.metric("valuesReadBack"), 4);
    });
    assert_eq!(seen, [1, 2, 1, 2]);
    let row = 100 * MEGABYTE;
    for (what, peak) in [("snapshot", snapshot), ("log", log)] {
        println!("{what} of a row of {} MB: {peak}", row / MEGABYTE);
        assert!(peak.own < 5 * row && peak.resident < 9 * row, "{what}: {peak}");
    }
}

/// Bytes of a row.
const ROW: usize = 2 * MEGABYTE;
const FEW: usize = 4;
const MANY: usize = 36;

/// A row with this `ID`, as a SELECT gives it.
fn row(id: &str) -> String {
    let quarter = ROW / 4;
    format!("{id}, repeat('ж', {quarter}), decode(repeat('00ff', {quarter}), 'hex')")
}

/// Of the rows that are more, half may be held at most: what waits on its way depends on the threads.
fn is_flat(what: &str, peak_of: impl Fn(usize) -> Peak) {
    let (few, many) = (peak_of(FEW), peak_of(MANY));
    println!(
        "{what}, rows of {} MB: {few} for {FEW}, {many} for {MANY}",
        ROW / MEGABYTE
    );
    let slack = (MANY - FEW) * ROW / 2;
    assert!(many.own < few.own + slack, "{what}: {few}, {many}");
    assert!(many.resident < few.resident + slack, "{what}: {few}, {many}");
}

/// Whether the driver takes a few rows at a time, many at a time, or all that a statement gives; read by the key, or
/// without one.
#[test]
fn a_snapshot_holds_a_page_however_many_rows_there_are() {
    let stand_in = &*alone();
    for (key, suffix) in [("primary key", ""), ("", "_KEYLESS")] {
        for count in [FEW, MANY] {
            let schema = format!("ROWS_{count}{suffix}");
            table(stand_in, &schema, key);
            stand_in.psql(&format!(
                r#"set session_replication_role = replica;
                   insert into "{schema}"."T" select {} from generate_series(1, {count}) g"#,
                row("g")
            ));
        }
    }
    let peak = |suffix: &str, fetch: &str, declare: &str, count: usize| {
        let options = [
            ("scan.snapshot.connections", 1.into()),
            ("scan.snapshot.page.bytes", (5 * MEGABYTE).into()),
            ("scan.snapshot.round.bytes", (5 * MEGABYTE).into()),
            ("table-without-key", "reread".into()),
            ("value.unavailable", "placeholder".into()),
            ("odbc.Fetch", fetch.into()),
            ("odbc.UseDeclareFetch", declare.into()),
        ];
        peak_of(|| {
            let job = Job::of(stand_in, &format!("ROWS_{count}{suffix}"), columns(), &options);
            let chunks = job.start_snapshot();
            let mut seen = 0;
            job.drive(chunks, |batch| seen += batch.rows() as usize).unwrap();
            assert_eq!(seen, count);
        })
    };
    is_flat("a driver that takes 1000 rows", |count| peak("", "1000", "1", count));
    is_flat("a driver that takes a whole result", |count| peak("", "1", "0", count));
    is_flat("without a key", |count| peak("_KEYLESS", "1", "1", count));
}

/// Bytes of each row's key and values, which need no more than to be counted.
struct Counted(KeyCodec);

impl RowCodec for Counted {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> tidemark::error::Result<()> {
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
    ) -> tidemark::error::Result<()> {
        for column in 1..7 {
            match values.get(image, column) {
                ColumnValue::Text(text) | ColumnValue::Bytes(text) => out.extend_from_slice(text),
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    }
}

/// Texts, bytes, arrays, documents and ranges have any length on a PostgreSQL server, whatever its catalogue says.
#[test]
fn a_page_of_any_type_without_a_length_holds_no_more_than_its_bytes() {
    let _alone = alone();
    let server = shared();
    let sixth = ROW / 6;
    for count in [FEW, MANY] {
        server.psql(&format!(
            "create schema rows_{count}; create table rows_{count}.t (id int primary key, a text, b bytea, c text[], d json, \
             e jsonb, f int4multirange); insert into rows_{count}.t \
             select g, repeat('x', {sixth}), decode(repeat('0f', {sixth}), 'hex'), array[repeat('a', {sixth}), null, 'b'], \
             json_build_object('a', repeat('\"', {sixth} / 2)), jsonb_build_array(g, repeat('x', {sixth})), \
             (select range_agg(int4range(h * 2, h * 2 + 1)) from generate_series(1000000, 1000000 + {sixth} / 18) h) \
             from generate_series(1, {count}) g"
        ));
    }
    let peak = |count: usize| {
        let name = TableName {
            schema: format!("rows_{count}"),
            name: "t".into(),
        };
        let table = Arc::new(load(&mut postgres(server), &*dialect(), &name).unwrap());
        let limit = PageLimit {
            rows: 1000,
            bytes: 5 * MEGABYTE,
        };
        peak_of(|| {
            let codec = Arc::new(Counted(KeyCodec::new(&table).unwrap()));
            let tables = [(table.clone(), vec![true; 7])];
            let mut reader = PageReader::new(postgres(server), dialect(), codec, &tables, 1024).unwrap();
            let mut rest = Chunk {
                table: table.name.clone(),
                range: KeyRange::ALL,
            };
            let (mut rows, mut bytes) = (0, 0);
            loop {
                let mut page = PageRows::default();
                rest.range.lower = reader.select(&rest, limit, &mut page).unwrap();
                (rows, bytes) = (rows + page.len(), bytes + page.size());
                if rest.range.lower.is_none() {
                    break;
                }
            }
            assert_eq!(rows, count);
            assert!(bytes > count * (ROW - ROW / 10), "{bytes}");
        })
    };
    is_flat("all types without a length", peak);
}

/// Values that are read back and values in the text, in a transaction for each row; values that are read back in one for
/// all, which is buffered without them.
#[test]
fn the_log_holds_a_few_rows_however_many_there_are() {
    let stand_in = &*alone();
    table(stand_in, "LOGGED", "primary key");
    let last = Cell::new(0);
    let peak = |commit: &str, read_back: bool, count: usize| {
        let options = [("log.window.bytes", MEGABYTE.into())];
        let first = last.get() + 1;
        last.set(last.get() + count);
        peak_of(|| {
            let job = Job::of(stand_in, "LOGGED", columns(), &options);
            job.start_stream();
            stand_in.psql(&format!(
                r#"do $$ begin for g in {first}..{} loop insert into "LOGGED"."T" select {}; {commit} end loop; end $$"#,
                last.get(),
                row("g")
            ));
            stream(&job, last.get() as i64, |_| ());
            let values = if read_back { 2 * count as i64 } else { 0 };
            assert_eq!(job.metric("valuesReadBack"), values);
        })
    };
    is_flat("read back, a transaction a row", |count| peak("commit;", true, count));
    is_flat("read back, one transaction", |count| peak("", true, count));
    stand_in.psql("update logminer.setting set value = 'inline' where name = 'lob'");
    is_flat("in the text, a transaction a row", |count| {
        peak("commit;", false, count)
    });
    stand_in.psql("update logminer.setting set value = 'out' where name = 'lob'");
}
