//! A network between a job and its database that loses connections or goes silent: who connects tries again so often as it
//! is told, and nobody waits for ever.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidemark::config::Config;
use tidemark::database::Database;
use tidemark::enumerator;
use tidemark::enumerator::survey::Surveyor;
use tidemark::error::{Error, ErrorKind, Result};
use tidemark::reader::api::{Message, SourceReader};
use tidemark::reader::capture::Connector;

use crate::job::{Job, PATIENCE};
use crate::source::Source;
use crate::support::gate::Gate;
use crate::watch::Watch;

/// No task may take longer to end.
pub const LIMIT: Duration = Duration::from_secs(10);

/// A job's configuration through a gate.
fn through(source: &Source, gate: &Gate, options: &[(&str, Value)]) -> Arc<Config> {
    let mut all = vec![("hostname", json!("127.0.0.1")), ("port", json!(gate.port))];
    all.extend(options.iter().cloned());
    source.config(&all)
}

fn retries(count: u32) -> (&'static str, Value) {
    ("connect.max-retries", json!(count))
}

/// What connecting comes to, of an enumerator or a reader, and how many connections came to the gate.
fn connect(source: &Source, gate: &Gate, options: &[(&str, Value)], reads: bool) -> (Result<()>, usize) {
    let database = Database::new(through(source, gate, options)).unwrap();
    let before = gate.came();
    let connected = match reads {
        true => Connector::connect(&database).map(drop),
        false => Surveyor::connect(&database, None).map(drop),
    };
    (connected, gate.came() - before)
}

fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Connect { retryable: true, .. })
}

#[test]
fn enumerator_and_reader_try_a_connection_again_so_often_as_they_are_told() {
    for source in Source::each("retries", 1) {
        let gate = Gate::before(source.behind());
        for reads in [false, true] {
            gate.close(1000);
            let (refused, once) = connect(&source, &gate, &[retries(0)], reads);
            assert!(once > 0 && is_lost(&refused.unwrap_err()));
            let (refused, thrice) = connect(&source, &gate, &[retries(2)], reads);
            assert!(is_lost(&refused.unwrap_err()));
            // A driver may knock more than once for one connection.
            assert_eq!(thrice, 3 * once);
            gate.close(2 * once);
            connect(&source, &gate, &[retries(2)], reads).0.unwrap();
        }
    }
}

#[test]
fn what_no_attempt_can_mend_is_not_tried_again() {
    for source in Source::each("mended", 1) {
        let gate = Gate::before(source.behind());
        for (what, options) in source.refused() {
            for reads in [false, true] {
                let with = |count: u32| [&options[..], &[retries(count)]].concat();
                let (refused, once) = connect(&source, &gate, &with(0), reads);
                let Err(error) = refused else {
                    // A reader asks for no right of the enumerator's.
                    assert!(reads && what == "grant", "{what} is not refused");
                    continue;
                };
                assert!(!error.is_retryable(), "{what}: {error}");
                let (_, again) = connect(&source, &gate, &with(3), reads);
                assert_eq!(again, once, "{what}: {error}");
                assert_eq!(once == 0, what == "driver", "{what}: {error}");
            }
        }
    }
}

/// What is called returns within the limit.
pub fn returns(what: &str, call: impl FnOnce() + Send + 'static) {
    let (done, heard) = mpsc::channel();
    std::thread::spawn(move || {
        call();
        let _ = done.send(());
    });
    let heard = heard.recv_timeout(LIMIT);
    assert!(heard.is_ok(), "{what} hangs with its server");
}

fn reader_ends(reader: &Arc<dyn SourceReader>) {
    let (cancelled, closed) = (reader.clone(), reader.clone());
    returns("cancel", move || cancelled.cancel());
    returns("close", move || closed.close());
}

#[test]
fn a_reader_ends_in_time_while_it_connects_and_while_it_reads_though_nobody_answers() {
    let source = Source::one("silent", 3);
    let gate = Gate::before(source.behind());
    let config = through(&source, &gate, &[]);
    let mut job = Job::start(config.clone(), Arc::new(Watch::default()), 1).unwrap();
    job.catch_up(&source).unwrap();
    job.checkpoint().unwrap();
    let completed = job.completed().clone();
    gate.fall_silent();
    gate.wait_for_asker();
    reader_ends(job.reader(0));
    gate.speak();
    drop(job);
    gate.fall_silent();
    let job = Job::open(config, Arc::new(Watch::default()), 1, completed).unwrap();
    gate.wait_for_asker();
    reader_ends(job.reader(0));
    gate.speak();
}

#[test]
fn an_enumerator_ends_in_time_while_it_connects_and_while_it_asks_though_nobody_answers() {
    let source = Source::one("mute", 3);
    let gate = Gate::before(source.behind());
    for connected in [false, true] {
        let config = through(&source, &gate, &source.dropping());
        let database = Arc::new(Database::new(config.clone()).unwrap());
        let enumerator = enumerator::open(&config, database, 1, None).unwrap();
        enumerator.start().unwrap();
        // The third question is where to cut.
        for _ in 0..if connected { 2 } else { 0 } {
            enumerator.cut().unwrap();
            enumerator.cut_done().unwrap();
        }
        gate.fall_silent();
        let (done, cut) = mpsc::channel();
        std::thread::spawn({
            let enumerator = enumerator.clone();
            move || done.send(enumerator.cut())
        });
        gate.wait_for_asker();
        let (cancelled, closed) = (enumerator.clone(), enumerator.clone());
        returns("cancel", move || cancelled.cancel());
        returns("close", move || closed.close());
        let cut = cut
            .recv_timeout(LIMIT)
            .expect("the worker thread hangs with its server");
        assert!(matches!(cut.unwrap_err().kind(), ErrorKind::Closed));
        gate.speak();
    }
}

/// What the reader fails with.
fn failure(reader: &Arc<dyn SourceReader>) -> Error {
    let waited = Instant::now();
    loop {
        match reader.next(Duration::from_millis(100)) {
            Ok(Message::Rows(batch)) => drop(reader.consumed(batch.number()).unwrap()),
            Ok(_) => assert!(waited.elapsed() < PATIENCE, "it does not fail"),
            Err(error) => return error,
        }
    }
}

fn assert_timeout(error: &Error, limit: u64) {
    let ErrorKind::Timeout { seconds } = error.kind() else {
        panic!("{error}");
    };
    assert!(*seconds >= limit && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("does not mind being cancelled"), "{error}");
}

/// The driver itself has no limit here: nobody but the connector sees to it.
#[test]
fn a_server_that_does_not_answer_is_given_up_by_enumerator_and_reader() {
    let source = Source::one("given_up", 3);
    let gate = Gate::before(source.behind());
    let config = through(&source, &gate, &[("socket.timeout", json!(1000))]);
    let database = Arc::new(Database::new(config.clone()).unwrap());
    let enumerator = enumerator::open(&config, database, 1, None).unwrap();
    enumerator.start().unwrap();
    for _ in 0..2 {
        enumerator.cut().unwrap();
        enumerator.cut_done().unwrap();
    }
    let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
    job.catch_up(&source).unwrap();
    gate.fall_silent();
    let reader = job.reader(0).clone();
    let reading = std::thread::spawn(move || failure(&reader));
    assert_timeout(&enumerator.cut().unwrap_err(), 1);
    assert_timeout(&reading.join().unwrap(), 1);
    reader_ends(job.reader(0));
    gate.speak();
}

#[test]
fn a_connection_that_does_not_come_about_is_given_up_though_the_driver_waits() {
    let source = Source::one("waiting", 3);
    let gate = Gate::before(source.behind());
    gate.fall_silent();
    let brief = [("connect.timeout", json!(1000)), retries(0)];
    // The driver knows the limit.
    let (refused, _) = connect(&source, &gate, &brief, true);
    assert!(is_lost(&refused.unwrap_err()));
    // It has logged in, and goes on to ask without one.
    gate.speak();
    gate.fall_silent_after(4);
    let config = through(&source, &gate, &brief);
    let database = Arc::new(Database::new(config.clone()).unwrap());
    let enumerator = enumerator::open(&config, database, 1, None).unwrap();
    enumerator.start().unwrap();
    assert_timeout(&enumerator.cut().unwrap_err(), 1);
    gate.speak();
}
