//! A server that answers no more must not keep a task from ending.

use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tidemark::database::Database;
use tidemark::enumerator;
use tidemark::error::ErrorKind;

use crate::gated::{LIMIT, returns};
use crate::job::{Job, PATIENCE};
use crate::source::Source;
use crate::watch::Watch;

fn signal(name: &str, processes: &[String]) {
    let sent = Command::new("kill")
        .arg(format!("-{name}"))
        .arg("--")
        .args(processes)
        .status()
        .unwrap();
    assert!(sent.success());
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Lets stopped processes go on, also when the test fails.
struct Stopped(Vec<String>);

impl Stopped {
    fn new(processes: Vec<String>) -> Stopped {
        assert!(!processes.is_empty());
        signal("STOP", &processes);
        Stopped(processes)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("CONT", &self.0);
    }
}

fn sessions(source: &Source) -> Vec<String> {
    lines(&source.run("select pid from pg_stat_activity where usename = 'TIDEMARK'"))
}

fn postmaster(source: &Source) -> String {
    let file = source.stand_in.directory().join("data/postmaster.pid");
    std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned()
}

/// Waits until a request waits for a stopped session: it stands unread at the server's end of a connection.
fn wait_for_unanswered(source: &Source) {
    let port = format!("0100007F:{:04X}", source.stand_in.endpoint().port);
    let waited = Instant::now();
    while !std::fs::read_to_string("/proc/net/tcp").unwrap().lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1] == port && fields[4].split(':').nth(1).is_some_and(|unread| unread != "00000000")
    }) {
        assert!(waited.elapsed() < PATIENCE, "nobody asks anything");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for_no_session(source: &Source) {
    let waited = Instant::now();
    while !sessions(source).is_empty() {
        assert!(waited.elapsed() < PATIENCE, "sessions stay behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn reader_lets_go(schema: &str, with_postmaster: bool) {
    let source = Source::alone(schema, 3);
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    let mut processes = sessions(&source);
    if with_postmaster {
        processes.push(postmaster(&source));
    }
    let stopped = Stopped::new(processes);
    wait_for_unanswered(&source);
    let reader = job.reader(0).clone();
    returns("cancel", {
        let reader = reader.clone();
        move || reader.cancel()
    });
    returns("close", move || reader.close());
    drop(stopped);
    drop(job);
    wait_for_no_session(&source);
}

#[test]
fn a_reader_lets_go_of_hung_sessions() {
    reader_lets_go("HUNG", false);
}

#[test]
fn a_reader_lets_go_of_a_hung_server() {
    reader_lets_go("HUNG_SERVER", true);
}

fn enumerator_lets_go(schema: &str, with_postmaster: bool) {
    let source = Source::alone(schema, 3);
    let config = source.config(&[]);
    let database = Arc::new(Database::new(config.clone()).unwrap());
    let enumerator = enumerator::open(&config, database, 1, None).unwrap();
    enumerator.start().unwrap();
    enumerator.cut().unwrap();
    enumerator.cut_done().unwrap();
    enumerator.cut().unwrap();
    enumerator.cut_done().unwrap();
    let mut processes = sessions(&source);
    if with_postmaster {
        processes.push(postmaster(&source));
    }
    let stopped = Stopped::new(processes);
    let (done, cut) = mpsc::channel();
    std::thread::spawn({
        let enumerator = enumerator.clone();
        move || done.send(enumerator.cut())
    });
    wait_for_unanswered(&source);
    returns("cancel", {
        let enumerator = enumerator.clone();
        move || enumerator.cancel()
    });
    returns("close", {
        let enumerator = enumerator.clone();
        move || enumerator.close()
    });
    let cut = cut
        .recv_timeout(LIMIT)
        .expect("the worker thread hangs with its server");
    assert!(matches!(cut.unwrap_err().kind(), ErrorKind::Closed));
    drop((stopped, enumerator));
    wait_for_no_session(&source);
}

#[test]
fn an_enumerator_lets_go_of_hung_sessions() {
    enumerator_lets_go("HUNG_CUT", false);
}

#[test]
fn an_enumerator_lets_go_of_a_hung_server() {
    enumerator_lets_go("HUNG_CUT_SERVER", true);
}
