//! What others do between any two statements of the barrier, and of a page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidemark::error::ErrorKind;
use tidemark::snapshot::wait::Clock;

use crate::between::{Between, Step};
use crate::cases::{commit_held, hold_commits, numbers, table, with_log};
use crate::log::make_slot;
use crate::support::Server;
use crate::support::postgres::{LOGICAL, clock, connect, dialect, shared};
use crate::{LONG, WAYS, Way, barrier, barrier_by, read, read_by};

/// In front of the place and not visible, behind it with an earlier number than the barrier's own, behind both: wherever a
/// commit falls, a page behind the barrier has it or the log from the barrier's place on.
#[test]
fn a_commit_between_any_two_statements_of_the_barrier_is_not_lost() {
    let server: &'static Server = Box::leak(Box::new(Server::start_with(LOGICAL)));
    for step in [Step::LogEnd, Step::OwnTransaction, Step::OldestOpen] {
        let name = format!("at_{step:?}").to_lowercase();
        let captured = table(server, &name);
        make_slot(server, &name);
        let held = Arc::new(Mutex::new(None));
        let (of_barrier, insert) = (held.clone(), format!("insert into public.{name} values (6, 6)"));
        let asked = Mutex::new(0);
        let at = move |now: Step| {
            let mut held = of_barrier.lock().unwrap();
            if now == step && held.is_none() {
                let hold = hold_commits(server);
                *held = Some((Some(hold), commit_held(server, insert.clone()).1));
            }
            if now == Step::OldestOpen {
                let mut asked = asked.lock().unwrap();
                *asked += 1;
                if let (2, Some((hold, _))) = (*asked, &mut *held) {
                    // The barrier waits for it.
                    hold.take();
                }
            }
        };
        let from = barrier_by(server, Between::new(dialect(), Box::new(at)), LONG).unwrap();
        let page = read(&mut captured.pages(server, LONG), &captured.chunk(None, None)).unwrap();
        let (hold, writer) = held.lock().unwrap().take().unwrap();
        drop(hold);
        writer.join().unwrap();
        let rows = with_log(server, &name, &name, from, page);
        assert_eq!(rows, numbers(server, &name), "{step:?}");
    }
}

/// Rows that come, go, change and change their keys, in front of each statement of a page: the page has them or the log.
#[test]
fn a_commit_between_any_two_statements_of_a_page_comes_once() {
    let server = shared();
    for way in WAYS {
        let read = match way {
            Way::Page => [Step::Select, Step::End],
            Way::Sorted => [Step::Keep, Step::Kept],
        };
        for step in [Step::Begin, Step::Seen, Step::DurableEnd].into_iter().chain(read) {
            let name = format!("{way:?}_{step:?}").to_lowercase();
            let captured = table(server, &name);
            make_slot(server, &name);
            let from = barrier(server, LONG).unwrap();
            let done = AtomicBool::new(false);
            let changes = format!(
                "begin; insert into public.{name} values (6, 6); update public.{name} set v = 20 where id = 2; \
                 delete from public.{name} where id = 3; savepoint s; update public.{name} set id = 40 where id = 4; commit"
            );
            let at = move |now: Step| {
                if now == step && !done.swap(true, Ordering::SeqCst) {
                    server.psql(&changes);
                }
            };
            let between = Between::new(dialect(), Box::new(at));
            let mut pages = captured.pages_by(server, between, LONG, Box::new(clock()));
            let page = read_by(way, &mut pages, &captured.chunk(None, None)).unwrap();
            let rows = with_log(server, &name, &name, from, page);
            assert_eq!(rows, numbers(server, &name), "{way:?}, {step:?}");
            assert_eq!(rows.len(), 5, "{way:?}, {step:?}");
            server.psql(&format!("select pg_drop_replication_slot('{name}')"));
        }
    }
}

#[test]
fn a_page_is_read_where_nothing_can_be_changed_and_all_selects_see_the_same() {
    let server = shared();
    let captured = table(server, "guarded");
    for way in WAYS {
        let read = |condition| {
            let between = Between::with_condition(dialect(), condition);
            let mut pages = captured.pages_by(server, between, LONG, Box::new(clock()));
            read_by(way, &mut pages, &captured.chunk(None, None))
        };
        read(
            "current_setting('transaction_read_only') = 'on' AND current_setting('transaction_isolation') = 'repeatable read'",
        )
        .unwrap();
        assert!(read("current_setting('transaction_read_only') = 'off'").is_err());
    }
}

/// Time that passes only while somebody waits.
struct Waited(Duration);

impl Clock for Waited {
    fn now(&self) -> Duration {
        self.0
    }

    fn pause(&mut self, duration: Duration) {
        self.0 += duration;
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

/// Records that nobody flushes, since their transaction is open: the log's durable end is taken along after 100 ms, and a
/// page does not wait for others to do so.
#[test]
fn a_page_on_an_idle_server_pushes_the_log_itself_and_not_at_once() {
    let settings = [
        LOGICAL,
        &["autovacuum = off", "bgwriter_delay = 10s", "wal_writer_delay = 10s"],
    ]
    .concat();
    let server = Server::start_with(&settings);
    let captured = table(&server, "idle");
    let mut writer = connect(&server);
    for way in WAYS {
        for (limit, is_pushed) in [(90, false), (300, true)] {
            writer.execute("begin").unwrap();
            writer.execute("update public.idle set v = v + 1").unwrap();
            let clock = Box::new(Waited(Duration::ZERO));
            let mut pages = captured.pages_by(&server, dialect(), Duration::from_millis(limit), clock);
            let read = read_by(way, &mut pages, &captured.chunk(None, None));
            match is_pushed {
                true => assert_eq!(read.unwrap().0, numbers(&server, "idle"), "{way:?}"),
                false => {
                    let error = read.unwrap_err();
                    assert!(matches!(error.kind(), ErrorKind::LogBehind { .. }), "{way:?}: {error}");
                }
            }
            writer.execute("rollback").unwrap();
        }
    }
}
