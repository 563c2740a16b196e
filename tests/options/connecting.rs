//! Calls that take too long; how connections are had is in `tests/capture/gated.rs`.

use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::server::{shared, statements, table, until};

#[test]
fn a_statement_that_takes_too_long_is_ended_with_a_timeout() {
    table("TIMEOUT", 10);
    let job = Job::new(shared(), "TIMEOUT", &[("socket.timeout", 1000.into())]);
    let chunks = job.start_snapshot();
    let mut lock = super::snapshot::locked("TIMEOUT");
    let error = job.rest_of_snapshot(chunks).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout { seconds: 1 }), "{error}");
    assert!(error.is_retryable());
    until(&super::snapshot::waiting("TIMEOUT", 0));
    lock.execute("rollback").unwrap();
}

#[test]
fn a_session_that_does_not_answer_at_all_is_given_up_and_counted() {
    table("HUNG", 0);
    let job = Job::new(shared(), "HUNG", &[("socket.timeout", 1000.into())]);
    job.start_stream();
    shared().psql(r#"insert into "HUNG"."T" values (1, 1, '')"#);
    job.stream(1).unwrap();
    let sessions = statements("HUNG");
    let (session, _) = sessions
        .iter()
        .rfind(|(_, statement)| statement.contains("START_LOGMNR"))
        .unwrap();
    let before = job.metric("callsAbandoned");
    let stopped = Stopped::new(*session);
    let error = job.stream_error();
    assert!(matches!(error.kind(), ErrorKind::Timeout { .. }), "{error}");
    job.reader.close();
    assert_eq!(job.metric("callsAbandoned"), before + 1);
    drop(stopped);
}

/// A process of the server that does nothing until this is dropped.
struct Stopped(u32);

impl Stopped {
    fn new(process: u32) -> Stopped {
        signal("-STOP", process);
        Stopped(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("-CONT", self.0);
    }
}

fn signal(name: &str, process: u32) {
    let status = std::process::Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}
