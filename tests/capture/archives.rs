//! What a server does with its archives while a job runs and while it is down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tidemark::error::{Error, ErrorKind};
use tidemark::offset::Offset;
use tidemark::position::Scn;

use crate::faults::{expire, failure};
use crate::job::{Job, PATIENCE, Turn};
use crate::source::Source;
use crate::warnings;
use crate::watch::{Watch, once};

fn switch(source: &Source) {
    source.run("call logminer.switch()");
}

/// The archive that is being written.
pub fn active(source: &Source) -> String {
    // A switched log has none before something is written.
    source.run("select pg_logical_emit_message(false, 'begin', '')");
    source.until(r#"select count(*) = 1 from "SYS"."V$ARCH_FILE" where "STATUS" = 'ACTIVE'"#);
    let path = source.run(r#"select "PATH" from "SYS"."V$ARCH_FILE" where "STATUS" = 'ACTIVE'"#);
    path.trim().to_owned()
}

/// What is the matter with an archive from now on.
pub fn fault(source: &Source, path: &str, what: &str) {
    source.run(&format!("call logminer.fault('{path}', '{what}')"));
}

fn oldest(source: &Source) -> u64 {
    source.number(r#"select min("ARCH_LSN") from "SYS"."V$ARCH_FILE""#)
}

fn gone(error: &Error) -> (Scn, Option<Scn>, &str) {
    match error.kind() {
        ErrorKind::LogGone { needed, oldest, detail } => (*needed, *oldest, detail),
        _ => panic!("{error}"),
    }
}

/// Lets the job turn until the log reader has read up to the end of now; nothing may come out.
fn quiet(job: &mut Job, watch: &Watch, source: &Source) {
    let (end, rows) = (source.log_end(), job.sink.log.len());
    job.run(|_| watch.complete_to.load(Ordering::SeqCst) >= end).unwrap();
    assert_eq!(job.sink.log.len(), rows);
}

/// F15, F48, F56: the rows of all users come as the archives become readable, none is lost at a switch, none comes twice
/// when a file is read again after it grew; a file listed twice is added once; one that comes late is waited for; files
/// that expire behind an idle job are no alarm; a killed server is connected to again.
#[test]
fn rows_come_through_switches_duplicates_late_files_and_restarts_of_the_server() {
    let source = Source::alone("ARCHIVES", 2);
    let watch = Arc::new(Watch::default());
    let mut job = Job::start(source.config(&[]), watch.clone(), 1).unwrap();
    job.catch_up(&source).unwrap();
    let mut id = 100;
    let mut insert = |rows: i64| {
        source.run(&format!(
            "insert into T select g, 'row' from generate_series({id}, {}) g",
            id + rows - 1
        ));
        id += rows;
        id - 1
    };
    // One that is open through all of it.
    let mut open = source.writer();
    open.run("begin; insert into T values (50, 'open')");

    // The active file grows, is switched, grows.
    for _ in 0..3 {
        let last = insert(5);
        job.run(|job| job.sink.table.contains_key(&last)).unwrap();
        switch(&source);
    }
    // Two destinations list it.
    for path in source
        .run(r#"select "PATH" from "SYS"."V$ARCH_FILE" order by "ARCH_LSN" desc limit 3"#)
        .lines()
    {
        fault(&source, path, "duplicate");
    }
    let last = insert(5);
    job.run(|job| job.sink.table.contains_key(&last)).unwrap();

    // The next file is not there yet: first it is not listed, then it cannot be opened.
    for what in ["unlisted", "lost"] {
        switch(&source);
        let late = active(&source);
        fault(&source, &late, what);
        let last = insert(5);
        switch(&source);
        insert(5);
        for _ in 0..50 {
            job.turn(0).unwrap();
        }
        assert!(
            !job.sink.table.contains_key(&last),
            "it lies in {late}, which is {what}"
        );
        fault(&source, &late, "none");
        job.run(|job| job.sink.table.contains_key(&(last + 5))).unwrap();
    }
    open.run("insert into T values (51, 'open'); commit");
    job.run(|job| job.sink.table.contains_key(&51)).unwrap();

    // Nothing is committed any more; what was read expires.
    for _ in 0..2 {
        switch(&source);
        quiet(&mut job, &watch, &source);
        let before = oldest(&source);
        source.run("call logminer.purge()");
        assert!(oldest(&source) > before);
        quiet(&mut job, &watch, &source);
    }
    let last = insert(5);
    job.run(|job| job.sink.table.contains_key(&last)).unwrap();

    // The server goes down and comes back.
    job.checkpoint().unwrap();
    source.stand_in.restart();
    insert(5);
    let error = job.run(|_| false).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    job = job.restart(1).unwrap();
    let last = insert(5);
    job.run(|job| job.sink.table.contains_key(&last)).unwrap();
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let pair = job
        .sink
        .transactions()
        .into_iter()
        .filter(|(_, rows)| *rows == 2)
        .count();
    assert_eq!(pair, 1, "the one that was open came whole");
}

/// The end that can be mined stays behind what a SELECT may have seen: no page goes out before it has come.
#[test]
fn a_page_waits_for_the_archive_that_lags() {
    let source = Source::alone("LAG", 2);
    let read = Arc::new(AtomicBool::new(false));
    let watch = Watch {
        after_select: Some(Box::new({
            let read = read.clone();
            move |_, _| read.store(true, Ordering::SeqCst)
        })),
        ..Watch::default()
    };
    let stand_in = source.stand_in.clone();
    let writer = Arc::new(Mutex::new(source.writer()));
    let writing = writer.clone();
    let hold = once(move || {
        stand_in.psql("call logminer.hold()");
        // Written, but flushed by nobody.
        let mut writer = writing.lock().unwrap();
        writer.run("begin; insert into T values (9, 'open')");
    });
    let watch = Watch {
        before_select: Some(Box::new(move |_, _| hold())),
        ..watch
    };
    let mut job = Job::of(&source, watch);
    job.run(|_| read.load(Ordering::SeqCst)).unwrap();
    for _ in 0..50 {
        assert_ne!(job.turn(0).unwrap(), Turn::Unit);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    source.run("call logminer.release()");
    job.run(|job| job.sink.table.len() == 2).unwrap();
    drop(writer);
}

/// What the error says must be enough to find the file: what is needed, what there is, and where it breaks off.
#[test]
fn a_log_that_is_gone_is_refused_with_position_and_file() {
    let source = Source::alone("EXPIRED", 2);
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    let needed = job.completed().stream().unwrap().offset.next_scn;
    source.run("insert into T values (100, 'x')");
    switch(&source);
    let second = active(&source);
    source.run("insert into T values (101, 'x')");
    switch(&source);
    source.run("insert into T values (102, 'x')");
    let from = job.completed().clone();
    let (config, watch) = (source.config(&[]), Arc::new(Watch::default()));
    let again = || failure(Job::open(config.clone(), watch.clone(), 1, from.clone()));
    drop(job);

    // A gap.
    fault(&source, &second, "unlisted");
    let error = again();
    let (missing, _, detail) = gone(&error);
    assert!(missing > needed, "{error}");
    let around = |shift: &str| {
        source.run(&format!(
        "select name from logminer.segments() where number = (select number {shift} 1 from logminer.segments() where name = right('{second}', 24))"
    ))
    };
    for name in [around("-"), around("+")] {
        assert!(detail.contains(name.trim()), "{name} is not in {detail}");
    }
    fault(&source, &second, "none");
    // Deleted by the server.
    source.run("call logminer.purge()");
    let error = again();
    let (missing, kept, detail) = gone(&error);
    assert_eq!((missing, kept), (needed, Some(Scn(oldest(&source)))));
    assert!(detail.contains(&active(&source)), "{detail}");
}

fn offset(job: &Job) -> Offset {
    job.completed().stream().unwrap().offset
}

/// Takes checkpoints until one needs the log from there on only.
fn checkpoint_from(job: &mut Job, scn: u64) {
    let waited = Instant::now();
    while offset(job).next_scn.0 < scn {
        job.turn(0).unwrap();
        job.checkpoint().unwrap();
        assert!(waited.elapsed() < PATIENCE);
    }
}

/// Files expire behind an idle job, which is restarted again and again: nothing is missing, so nothing is said. What expires
/// before it was read, or holds the beginning of what is open, is missing, whatever was in it.
#[test]
fn an_idle_database_outlives_its_archives_through_restarts_and_no_gap_passes_for_idleness() {
    let source = Source::alone("IDLE", 2);
    let watch = Arc::new(Watch::default());
    let mut job = Job::start(source.config(&[]), watch.clone(), 1).unwrap();
    job.catch_up(&source).unwrap();
    job.run(|job| metric(job, "openTransactions") == 0).unwrap();
    // The server ends a file and writes on, and nobody commits.
    let next_file = || {
        switch(&source);
        active(&source);
        source.number(r#"select "PREV_LSN" from "SYS"."V$ARCH_FILE" where "STATUS" = 'ACTIVE'"#)
    };
    quiet(&mut job, &watch, &source);
    job.checkpoint().unwrap();
    let first = job.completed().clone();
    for turn in 0..3 {
        let closed = next_file();
        quiet(&mut job, &watch, &source);
        let before = offset(&job).commit;
        checkpoint_from(&mut job, closed);
        if turn == 0 {
            assert_eq!(offset(&job).commit, before, "no record came");
        }
        expire(&source);
        assert!(oldest(&source) > before.scn.0);
        job = job.restart(1).unwrap();
        quiet(&mut job, &watch, &source);
    }
    source.run("insert into T values (100, 'x')");
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(job.sink.log.iter().filter(|row| row.id == 100).count(), 1);

    // The checkpoint from before the files were read cannot tell them from files with rows.
    let (config, from) = (source.config(&[]), first.stream().unwrap().offset.next_scn);
    let error = failure(Job::open(config.clone(), watch.clone(), 1, first));
    assert_eq!(gone(&error).0, from);

    // Down, and a file expires: one in which nothing was committed, one that holds a row. Both look the same.
    for row in [None, Some(101)] {
        job.run(|job| metric(job, "openTransactions") == 0).unwrap();
        job.checkpoint().unwrap();
        let (stood, needed) = (job.completed().clone(), offset(&job).next_scn);
        drop(job);
        next_file();
        if let Some(id) = row {
            source.run(&format!("insert into T values ({id}, 'missed')"));
        }
        next_file();
        let left = expire(&source);
        let error = failure(Job::open(config.clone(), watch.clone(), 1, stood));
        let (missing, kept, _) = gone(&error);
        assert_eq!((missing, kept), (needed, Some(left)), "{row:?}");
        assert!(error.to_string().contains("be the database ever so idle"), "{error}");
        job = Job::start(config.clone(), watch.clone(), 1).unwrap();
        job.catch_up(&source).unwrap();
    }

    // What is open keeps the file that it began in, though everything was read and nothing came since.
    let mut open = source.writer();
    open.run("begin; insert into T values (200, 'open')");
    job.run(|job| metric(job, "openTransactions") == 1).unwrap();
    let began = metric(&job, "oldestTransactionScn") as u64;
    job.checkpoint().unwrap();
    for _ in 0..2 {
        next_file();
        quiet(&mut job, &watch, &source);
    }
    checkpoint_from(&mut job, began);
    assert_eq!(offset(&job).next_scn, Scn(began));
    source.run("call logminer.purge()");
    let stood = job.completed().clone();
    // The database says a little less of where it began than its record: enumerator or reader comes first.
    let asked = source.number(r#"select "START_LSN" from "SYS"."V$TRX" where "START_LSN" > 0"#);
    let error = failure(Job::open(config, watch, 1, stood));
    assert!([Scn(began), Scn(asked)].contains(&gone(&error).0), "{error}");
    // The job itself has it.
    open.run("commit");
    job.run(|job| job.sink.table.contains_key(&200)).unwrap();
}

fn metric(job: &Job, name: &str) -> i64 {
    let metrics = job.reader(0).metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap().value
}

#[test]
fn gauges_tell_what_is_open_and_how_much_log_may_go() {
    let source = Source::alone("GAUGES", 2);
    let config = source.config(&[("log.headroom.warn", 1000.into())]);
    let mut job = Job::start(config, Arc::default(), 1).unwrap();
    job.catch_up(&source).unwrap();
    let open = [
        "openTransactions",
        "oldestTransactionAge",
        "oldestTransactionScn",
        "bufferedBytes",
    ];
    job.run(|job| open.iter().all(|name| metric(job, name) == 0)).unwrap();
    let before = source.log_end() as i64;
    let mut writer = source.writer();
    writer.run("begin; insert into T select g, repeat('x', 100) from generate_series(100, 109) g");
    source.run("insert into T values (200, 'v')");
    let after = source.log_end() as i64;
    job.run(|job| job.sink.table.contains_key(&200) && metric(job, "openTransactions") == 1)
        .unwrap();
    assert!((before..after).contains(&metric(&job, "oldestTransactionScn")));
    assert!(metric(&job, "bufferedBytes") > 1000);
    let age = metric(&job, "oldestTransactionAge");
    job.run(|job| metric(job, "oldestTransactionAge") > age + 50).unwrap();
    writer.run("commit");
    job.run(|job| job.sink.table.contains_key(&109)).unwrap();
    job.run(|job| open.iter().all(|name| metric(job, name) == 0)).unwrap();

    // What may be deleted grows with completed checkpoints, and shrinks as it is deleted.
    let headroom = |job: &Job| metric(job, "archiveHeadroomBytes");
    let sum = |job: &mut Job, id: i64| {
        source.run(&format!("insert into T values ({id}, 'v')"));
        job.run(|job| job.sink.table.contains_key(&id)).unwrap();
        source.number(r#"select coalesce(sum("FREE"), 0) from "SYS"."V$ARCH_FILE" where "STATUS" = 'INACTIVE'"#) as i64
    };
    switch(&source);
    sum(&mut job, 300);
    job.checkpoint().unwrap();
    let closed = sum(&mut job, 301);
    job.run(|job| headroom(job) == closed).unwrap();
    switch(&source);
    let more = sum(&mut job, 302);
    assert!(more > closed);
    job.run(|job| headroom(job) == closed).unwrap();
    sum(&mut job, 303);
    job.checkpoint().unwrap();
    job.run(|job| headroom(job) == more).unwrap();

    // What falls short of `log.headroom.warn` is said, and again once there was room enough.
    for round in 0..2 {
        let ((), said) = warnings::with("log.headroom.warn is 1000:", || {
            source.run("call logminer.purge()");
            sum(&mut job, 304 + 10 * round);
            job.run(|job| headroom(job) == 0).unwrap();
        });
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("headroom is 0 bytes") && said[0].contains("Keep archives longer"),
            "{said:?}"
        );
        source.run("insert into T select g, repeat('x', 100) from generate_series(1000, 1099) g");
        switch(&source);
        sum(&mut job, 305 + 10 * round);
        let ((), said) = warnings::with("log.headroom.warn is 1000:", || {
            job.checkpoint().unwrap();
            job.run(|job| headroom(job) > 1250).unwrap();
        });
        assert!(said.is_empty(), "{said:?}");
        source.run("delete from T where \"ID\" >= 1000");
    }
}
