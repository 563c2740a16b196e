//! A server that answers no more must not keep a task from ending.

use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::job::{Job, PATIENCE};
use crate::source::Source;
use crate::watch::Watch;

/// Ten seconds for the driver, as the reader grants it, and some for a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

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

/// What is called returns within the limit.
fn returns(what: &str, call: impl FnOnce() + Send + 'static) {
    let (done, heard) = mpsc::channel();
    std::thread::spawn(move || {
        call();
        let _ = done.send(());
    });
    let heard = heard.recv_timeout(LIMIT);
    assert!(heard.is_ok(), "{what} hangs with its server");
}

/// Waits until the reader's thread is in a call that does not come back: it notes no progress, and a row that is there
/// does not come.
fn assert_reader_lets_go(schema: &str, with_postmaster: bool) {
    let source = Source::alone(schema, 3);
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    let mut processes = sessions(&source);
    if with_postmaster {
        processes.push(postmaster(&source));
    }
    let stopped = Stopped::new(processes);
    let reader = job.reader(0).clone();
    returns("cancel", {
        let reader = reader.clone();
        move || reader.cancel()
    });
    returns("close", move || reader.close());
    drop(stopped);
    let waited = Instant::now();
    drop(job);
    while !sessions(&source).is_empty() {
        assert!(waited.elapsed() < PATIENCE, "sessions stay behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_reader_lets_go_of_hung_sessions() {
    assert_reader_lets_go("HUNG", false);
}

#[test]
fn a_reader_lets_go_of_a_hung_server() {
    assert_reader_lets_go("HUNG_SERVER", true);
}
