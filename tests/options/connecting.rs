//! Options of connecting, and of calls that take too long.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::server::{shared, statements, table, until};

/// A port that passes on to the stand-in all but the first so many connections, which it closes at once.
struct Gate {
    port: u16,
    came: Arc<AtomicUsize>,
}

impl Gate {
    fn closing(first: usize) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let came = Arc::new(AtomicUsize::new(0));
        let server = format!("{}:{}", shared().value("HOST"), shared().value("PORT"));
        let count = came.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if count.fetch_add(1, Ordering::SeqCst) >= first {
                    let server = TcpStream::connect(&server).unwrap();
                    pass_on(client.try_clone().unwrap(), server.try_clone().unwrap());
                    pass_on(server, client);
                }
            }
        });
        Gate { port, came }
    }

    /// What the connector's first question to the database comes to, and how many connections were tried.
    fn connect(&self, options: &[(&str, Value)]) -> (tidemark::error::Result<()>, usize) {
        let mut all = vec![("port", self.port.into())];
        all.extend(options.iter().cloned());
        let result = Job::new(shared(), "RETRIES", &all).survey().map(drop);
        (result, self.came.load(Ordering::SeqCst))
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

fn retries(count: u32) -> (&'static str, Value) {
    ("connect.max-retries", count.into())
}

#[test]
fn a_connection_that_could_not_be_had_is_tried_again_so_often() {
    table("RETRIES", 1);
    let (result, once) = Gate::closing(1000).connect(&[retries(0)]);
    let error = result.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Connect { retryable: true, .. }),
        "{error}"
    );
    let (result, thrice) = Gate::closing(1000).connect(&[retries(2)]);
    result.unwrap_err();
    // A driver may knock more than once for one connection.
    assert_eq!(thrice, 3 * once);
    Gate::closing(2 * once).connect(&[retries(2)]).0.unwrap();
}

#[test]
fn a_wrong_password_is_not_tried_again() {
    table("RETRIES_PASSWORD", 1);
    let wrong = || ("password", Value::from("not-it"));
    let (result, once) = Gate::closing(0).connect(&[retries(0), wrong()]);
    let error = result.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Connect { retryable: false, .. }),
        "{error}"
    );
    let (_, again) = Gate::closing(0).connect(&[retries(3), wrong()]);
    assert_eq!(again, once);
}

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
