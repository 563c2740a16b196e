//! Rows of many megabytes, snapshot and log: what the process holds at once does not grow with how many there are. In a
//! process of its own, since that is asked of the kernel.

#[path = "options/job.rs"]
mod job;
mod support;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use job::{Job, PATIENCE};
use support::stand_in::StandIn;
use tidemark::reader::api::Message;
use tidemark::reader::batch::Batch;

/// Characters of a value, of two bytes each: 50 MB.
const LENGTH: usize = 25 << 20;
const MEGABYTE: usize = 1 << 20;

/// The most memory that this process has had since it was last asked, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    kilobytes << 10
}

/// The `ID`s of a batch's rows; each value must be as long as it was written and end as it began.
fn ids(batch: &Batch) -> Vec<i64> {
    let bytes = batch.bytes();
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    (0..batch.rows() as usize)
        .map(|row| {
            let start = u32_at(u32_at(16) + 4 * row);
            let (id, value) = (u64_at(start + 8) as i64, u64_at(start + 24));
            let (offset, length) = ((value >> 32) as usize, value as u32 as usize);
            assert_eq!(length, 2 * LENGTH, "row {id}");
            let value = &bytes[start + offset..][..length];
            assert_eq!(value[..2], *"ж".as_bytes());
            assert!(value[..length - 2] == value[2..], "row {id}");
            id
        })
        .collect()
}

fn snapshot(stand_in: &StandIn, rows: i64) -> usize {
    let options = [
        ("scan.snapshot.connections", 1.into()),
        ("scan.snapshot.round.bytes", (16 * MEGABYTE).into()),
    ];
    let job = Job::new(stand_in, "SNAP", &options);
    let mut chunks: VecDeque<_> = job.start_snapshot();
    stand_in.psql(&format!(r#"delete from "SNAP"."T" where "ID" > {rows}"#));
    let before = peak();
    let mut seen = Vec::new();
    job.drive(std::mem::take(&mut chunks), |batch| seen.extend(ids(batch)))
        .unwrap();
    job.reader.close();
    seen.sort_unstable();
    assert_eq!(seen, (1..=rows).collect::<Vec<_>>());
    peak() - before.min(peak())
}

fn log(stand_in: &StandIn, first: i64, rows: i64) -> usize {
    let job = Job::new(stand_in, "LOGGED", &[]);
    job.start_stream();
    let last = first + rows - 1;
    stand_in.psql(&format!(
        r#"insert into "LOGGED"."T" select g, 0, repeat('ж', {LENGTH}) from generate_series({first}, {last}) g"#
    ));
    let before = peak();
    let begun = Instant::now();
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        assert!(begun.elapsed() < PATIENCE, "{seen:?}");
        if let Message::Rows(batch) = job.reader.next(Duration::from_millis(50)).unwrap() {
            seen.extend(ids(&batch));
            job.reader.consumed(batch.number()).unwrap();
        }
    }
    assert_eq!(seen, (first..=last).collect::<Vec<_>>());
    assert_eq!(job.metric("valuesReadBack"), rows);
    peak() - before.min(peak())
}

#[test]
fn memory_does_not_grow_with_the_number_of_large_values() {
    let stand_in = StandIn::start(&[]);
    for schema in ["SNAP", "LOGGED"] {
        stand_in.psql(&format!(
            r#"update logminer.setting set value = 'out' where name = 'lob';
               create schema "{schema}"; create table "{schema}"."T" ("ID" bigint primary key, "N" int, "V" clob)"#
        ));
    }
    stand_in.psql(&format!(
        r#"set session_replication_role = replica;
           insert into "SNAP"."T" select g, 0, repeat('ж', {LENGTH}) from generate_series(1, 9) g"#
    ));
    let many = snapshot(&stand_in, 9);
    let few = snapshot(&stand_in, 3);
    println!(
        "snapshot of 3 rows of 50 MB: {} MB more than before, of 9: {} MB",
        few / MEGABYTE,
        many / MEGABYTE
    );
    let few_logged = log(&stand_in, 1, 3);
    let many_logged = log(&stand_in, 101, 9);
    println!(
        "log of 3 rows of 50 MB: {} MB more than before, of 9: {} MB",
        few_logged / MEGABYTE,
        many_logged / MEGABYTE
    );
    // Six more rows take 300 MB.
    assert!(many < few + 100 * MEGABYTE, "snapshot: {few} and {many}");
    assert!(
        many_logged < few_logged + 100 * MEGABYTE,
        "log: {few_logged} and {many_logged}"
    );
}
