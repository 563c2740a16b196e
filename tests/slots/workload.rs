//! Random writers, random restarts, both plugins, the face of KingbaseES: the end is the table, nothing came twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

const KEYS: u64 = 60;
const RESTARTS: usize = 6;

/// A random transaction on rows that all writers share; each value is written once.
fn transaction(rng: &mut Rng, name: &str) -> Vec<String> {
    let mut all = vec!["begin".to_owned()];
    for change in 0..rng.u64(1..6) {
        let (id, other) = (rng.u64(1..KEYS), rng.u64(1..KEYS));
        // Some are out of their row, so that the log leaves them out of updates that leave them alone.
        let v = match rng.u32(0..5) {
            0 => format!("'{name}.{change}.' || (select string_agg(md5(g::text), '') from generate_series(1, 120) g)"),
            _ => format!("'{name}.{change}'"),
        };
        all.extend(match rng.u32(0..10) {
            0..=3 => vec![format!(
                r#"insert into T values ({id}, {v}) on conflict ("ID") do update set "V" = excluded."V""#
            )],
            4..=5 => vec![format!(r#"update T set "V" = {v} where "ID" = {id}"#)],
            6 => vec![format!(r#"delete from T where "ID" = {id}"#)],
            7..=8 => vec![format!(r#"update T set "ID" = {other} where "ID" = {id}"#)],
            _ => vec![
                "savepoint s".to_owned(),
                format!(r#"update T set "V" = 'gone' where "ID" between {id} and {id} + 5"#),
                "rollback to s".to_owned(),
            ],
        });
    }
    match rng.u32(0..7) {
        0 => all.push("rollback".to_owned()),
        1 => all.extend([
            format!("prepare transaction '{name}'"),
            format!("commit prepared '{name}'"),
        ]),
        _ => all.push("commit".to_owned()),
    }
    all
}

fn write(source: &Source, mut rng: Rng, name: &str, stop: &AtomicBool) {
    let mut connection = source.connect();
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        number += 1;
        for statement in transaction(&mut rng, &format!("{}.{name}.{number}", source.schema)) {
            if connection.execute(&source.named(&statement)).is_err() {
                let _ = connection.execute("rollback");
                break;
            }
        }
        connection.execute(&source.named("select pg_sleep(0.004)")).unwrap();
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn whatever_commits_when_each_change_comes_once() {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let sorted = Source::shared("load_sorted", "pgoutput", 50);
    // No index has this key in the order of its bytes: chunks are sorted, and their rows go out while they change.
    sorted.run(
        r#"alter table T drop constraint t_pkey, add "PAD" text collate "en-x-icu" not null default 'é', add unique ("ID"), add primary key ("PAD", "ID")"#,
    );
    for source in Source::of_each_kind("load", 50).chain([sorted]) {
        let stop = AtomicBool::new(false);
        let mut job = std::thread::scope(|scope| {
            let stopping = Stop(&stop);
            for writer in 0..4 {
                let (rng, source, stop) = (rng.fork(), &source, &stop);
                scope.spawn(move || write(source, rng, &format!("w{writer}"), stop));
            }
            let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
            for _ in 0..RESTARTS {
                let units = job.sink.log.len() + rng.usize(1..60);
                job.run(|job| job.sink.log.len() >= units).unwrap();
                if rng.bool() {
                    job.checkpoint().unwrap();
                }
                let units = job.sink.log.len() + rng.usize(0..20);
                job.run(|job| job.sink.log.len() >= units).unwrap();
                job = job.restart(rng.u32(1..3)).unwrap();
            }
            job.run_to_stream().unwrap();
            drop(stopping);
            job
        });
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        // Transactions of the log stand in one piece.
        job.sink.transactions();
    }
}
