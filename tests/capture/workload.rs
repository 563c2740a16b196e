//! Random writers, random kills, coarse scns: the end is the table, nothing came twice, transactions stand in one piece
//! and in commit order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use crate::job::Job;
use crate::source::{Source, Writer};
use crate::watch::Watch;

const KEYS: u64 = 60;
const RESTARTS: usize = 8;

/// The words for a value that says what it was written by.
pub type Words = fn(&str) -> String;

/// A random transaction on rows that all writers share; each value of `V` is written once.
fn transaction(rng: &mut Rng, name: &str, words: Words) -> Vec<String> {
    let mut statements = vec!["begin".to_owned()];
    for change in 0..rng.u64(1..6) {
        let (id, other, v) = (rng.u64(1..KEYS), rng.u64(1..KEYS), words(&format!("{name}.{change}")));
        statements.extend(match rng.u32(0..10) {
            0..=3 => vec![format!(
                r#"insert into T values ({id}, {v}) on conflict ("ID") do update set "V" = excluded."V""#
            )],
            4..=5 => vec![format!(r#"update T set "V" = {v} where "ID" = {id}"#)],
            6 => vec![format!(r#"delete from T where "ID" = {id}"#)],
            7..=8 => vec![format!(r#"update T set "ID" = {other}, "V" = {v} where "ID" = {id}"#)],
            _ => vec![
                "savepoint s".to_owned(),
                format!(r#"update T set "V" = 'gone' where "ID" between {id} and {id} + 5"#),
                "rollback to s".to_owned(),
            ],
        });
    }
    statements.push(if rng.u32(0..6) == 0 { "rollback" } else { "commit" }.to_owned());
    statements
}

/// Writes until told to stop. What a deadlock or a key that is taken ends is rolled back.
fn write(writer: &mut Writer, mut rng: Rng, name: &str, words: Words, stop: &AtomicBool) {
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        number += 1;
        for statement in transaction(&mut rng, &format!("{name}.{number}"), words) {
            if writer.try_run(&statement).is_err() {
                writer.run("rollback");
                break;
            }
        }
        writer.run("select pg_sleep(0.003)");
    }
}

/// Stops the writers, also when the test fails.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Adds a column that the job does not declare, or drops the one that is there.
fn alter(writer: &mut Writer, seed: u64, nth: u64) {
    let column = format!("X{seed}_{}", nth / 2);
    writer.run(&match nth % 2 {
        0 => format!(r#"alter table T add "{column}" int default {nth}"#),
        _ => format!(r#"alter table T drop column "{column}""#),
    });
}

/// `later`: values are read back.
pub fn run(source: &Source, seed: u64, words: Words, later: bool) {
    run_with(source, seed, words, later, false);
}

fn run_with(source: &Source, seed: u64, words: Words, later: bool, ddl: bool) {
    println!("seed {seed}");
    source.run("delete from T where true");
    source.run(&format!(
        "insert into T select g, {} from generate_series(1, {KEYS}) g",
        words("v")
    ));
    let mut rng = Rng::with_seed(seed);
    let config = source.config(&[("scan.incremental.snapshot.chunk.size", 7.into())]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for writer in 0..4 {
            let (rng, stop, mut session) = (rng.fork(), &stop, source.writer());
            scope.spawn(move || write(&mut session, rng, &format!("{writer}"), words, stop));
        }
        let mut altering = source.writer();
        let mut altered = 0..;
        let mut between_units = |rng: &mut Rng| {
            if ddl && rng.u32(0..8) == 0 {
                altered
                    .next()
                    .into_iter()
                    .for_each(|nth| alter(&mut altering, seed, nth));
            }
        };
        let mut job = Job::start(config, Arc::new(Watch::default()), 3).unwrap();
        job.sink.later = later;
        for _ in 0..RESTARTS {
            for _ in 0..rng.usize(0..4) {
                for _ in 0..rng.usize(1..60) {
                    between_units(&mut rng);
                    job.unit().unwrap();
                }
                let checkpoint = job.take_checkpoint().unwrap();
                if rng.u32(0..4) > 0 {
                    job.complete(checkpoint).unwrap();
                }
            }
            job = job.restart([1, 3, 3, 3][rng.usize(0..4)]).unwrap();
            job.sink.later = later;
        }
        drop(_stop);
        job.catch_up(source).unwrap();
        job.sink.transactions();
        let scns: Vec<_> = job.sink.log.iter().filter_map(|row| row.scn).collect();
        assert!(scns.is_sorted(), "commit order");
        assert!(scns.len() > 100, "{} rows of the log", scns.len());
        // A writer may have been in its last transaction while the marker was written.
        job.run(|job| job.sink.table == source.table()).unwrap();
    });
}

/// The range of seeds that `TIDEMARK_SEEDS` asks for, as 5..20, or the usual ones.
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(asked) = std::env::var("TIDEMARK_SEEDS") else {
        return usual;
    };
    let (from, to) = asked.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

/// Each statement meets pages, corrections and rows that are older than it; every text is made with the dictionary of the
/// moment.
#[test]
fn restarts_under_a_random_workload_with_ddl() {
    let source = Source::alone("RANDOM_DDL", KEYS);
    source.run("call logminer.as_dm8()");
    for seed in seeds(1..3) {
        run_with(&source, seed, |v| format!("'{v}'"), false, true);
    }
}

#[test]
fn restarts_under_a_random_workload() {
    let source = Source::alone("RANDOM", KEYS);
    source.run("update logminer.setting set value = '8192' where name = 'granularity'");
    for seed in seeds(1..4) {
        run(&source, seed, |v| format!("'{v}'"), false);
    }
}
