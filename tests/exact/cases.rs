//! The cases that a comparison of places in the log gets wrong, each by itself.

use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidemark::error::ErrorKind;
use tidemark::odbc::ColumnSpec;
use tidemark::position::{Lsn, Scn};

use crate::log::{make_slot, transactions};
use crate::support::Server;
use crate::support::postgres::{LOGICAL, connect, shared};
use crate::{Captured, Contained, LONG, SOON, WAYS, barrier, read, read_by};

pub fn table(server: &Server, name: &str) -> Captured {
    server.psql(&format!(
        "create table public.{name} (id integer primary key, v integer); alter table public.{name} replica identity full; \
         insert into public.{name} select g, g from generate_series(1, 5) g"
    ));
    Captured::new(server, name)
}

/// The rows of a page with the changes that the log has for it from a place on.
pub fn with_log(server: &Server, slot: &str, table: &str, from: Lsn, (rows, point): Contained) -> Vec<(i64, i64)> {
    let mut rows = rows;
    for transaction in transactions(server, slot, table) {
        if transaction.commit.scn < Scn(from.0) || point.includes(transaction.xid, transaction.commit) {
            continue;
        }
        for change in transaction.changes {
            if let Some(before) = change.before {
                let at = rows
                    .iter()
                    .position(|row| *row == before)
                    .expect("a row that leaves is there");
                rows.remove(at);
            }
            rows.extend(change.after);
        }
    }
    rows.sort_unstable();
    rows
}

pub fn numbers(server: &Server, table: &str) -> Vec<(i64, i64)> {
    let text = server.psql(&format!("select id, v from public.{table} order by id"));
    let row = |line: &str| {
        let (id, v) = line.split_once('|').unwrap();
        (id.parse().unwrap(), v.parse().unwrap())
    };
    text.lines().map(row).collect()
}

/// While it lives, commits wait for a standby that is not there: they stand in the log and are not visible.
pub struct HeldCommits(&'static Server);

pub fn hold_commits(server: &'static Server) -> HeldCommits {
    server.psql("alter system set synchronous_standby_names = 'nobody'");
    server.psql("select pg_reload_conf()");
    HeldCommits(server)
}

impl Drop for HeldCommits {
    fn drop(&mut self) {
        self.0.psql("alter system reset synchronous_standby_names");
        self.0.psql("select pg_reload_conf()");
    }
}

/// A writer whose commit is held, and its process.
pub fn commit_held(server: &'static Server, statement: String) -> (i64, JoinHandle<()>) {
    let (send, pid) = channel();
    let writer = std::thread::spawn(move || {
        let mut connection = connect(server);
        let pid = connection.int("select pg_backend_pid()", &[ColumnSpec::Int]).unwrap();
        send.send(pid.unwrap()).unwrap();
        connection.execute("set synchronous_commit = on").unwrap();
        connection.execute(&statement).unwrap();
    });
    let pid = pid.recv().unwrap();
    let waits = format!("select wait_event from pg_stat_activity where pid = {pid}");
    let since = Instant::now();
    while server.psql(&waits).trim() != "SyncRep" {
        assert!(since.elapsed() < LONG, "the commit does not wait");
        std::thread::sleep(Duration::from_millis(5));
    }
    (pid, writer)
}

/// In the log, not in the table: the place of the COMMIT says nothing of what a SELECT sees.
#[test]
fn a_commit_that_waits_for_a_standby_is_in_no_page_and_comes_from_the_log() {
    let server: &'static Server = Box::leak(Box::new(Server::start_with(LOGICAL)));
    let held = table(server, "held");
    make_slot(server, "s");
    // Before anything waits.
    let from = barrier(server, LONG).unwrap();
    let hold = hold_commits(server);
    let (pid, writer) = commit_held(server, "insert into public.held values (6, 6)".into());
    let error = barrier(server, SOON).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotVisible { .. }), "{error}");
    assert!(error.to_string().contains(&format!("pid {pid}")), "{error}");
    let page = read(&mut held.pages(server, LONG), &held.chunk(None, None)).unwrap();
    assert_eq!(page.0.len(), 5, "it is not visible yet");
    let held_one = server.psql("select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()");
    assert_eq!(held_one.trim(), "t", "and yet in the log, in front of the page's end");
    assert_eq!(with_log(server, "s", "held", from, page).len(), 6);
    drop(hold);
    writer.join().unwrap();
    barrier(server, LONG).unwrap();
}

/// A transaction that is open across every page, a restart among them, and commits behind them all.
#[test]
fn a_transaction_open_across_every_chunk_comes_once() {
    let server = shared();
    let open = table(server, "open_one");
    make_slot(server, "open_one");
    barrier(server, LONG).unwrap();
    let mut writer = connect(server);
    writer.execute("begin").unwrap();
    writer
        .execute("insert into public.open_one values (0, 0), (6, 6)")
        .unwrap();
    writer.execute("savepoint s").unwrap();
    writer
        .execute("update public.open_one set v = -3 where id = 3")
        .unwrap();
    let mut pages = open.pages(server, LONG);
    let low = read(&mut pages, &open.chunk(None, Some(3))).unwrap();
    // What commits meanwhile lies in front of the end of the next page.
    server.psql("update public.open_one set v = 50 where id = 5");
    drop(pages);
    let high = read(&mut open.pages(server, LONG), &open.chunk(Some(3), None)).unwrap();
    writer.execute("commit").unwrap();
    let mut of_log = transactions(server, "open_one", "open_one");
    of_log.retain(|transaction| !transaction.changes.is_empty());
    assert_eq!(of_log.len(), 2);
    assert!(
        high.1.includes(of_log[0].xid, of_log[0].commit),
        "the update that a page has"
    );
    assert!(!low.1.includes(of_log[1].xid, of_log[1].commit) && !high.1.includes(of_log[1].xid, of_log[1].commit));
}

/// A prepared transaction holds the barrier as an open one does, and has no process.
#[test]
fn the_barrier_names_who_holds_it() {
    let server = Server::start_with(LOGICAL);
    table(&server, "p");
    server.psql("begin; insert into public.p values (9, 9); prepare transaction 'it''s mine'");
    let error = barrier(&server, SOON).unwrap_err();
    assert!(
        error.to_string().contains("prepared transaction 'it''s mine'"),
        "{error}"
    );
    server.psql("commit prepared 'it''s mine'");
    let mut other = connect(&server);
    other.execute("begin").unwrap();
    other.execute("insert into public.p values (10, 10)").unwrap();
    let error = barrier(&server, SOON).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotVisible { .. }) && error.is_retryable(),
        "{error}"
    );
    assert!(error.to_string().contains("pid "), "{error}");
    other.execute("commit").unwrap();
    barrier(&server, SOON).unwrap();
    // Who only reads holds nothing.
    other
        .execute("begin transaction isolation level repeatable read")
        .unwrap();
    other.execute("select count(*) from public.p").unwrap();
    barrier(&server, SOON).unwrap();
}

/// With the snapshot before the lock the page would be empty, and the log has nothing of it.
#[test]
fn a_rewriting_alter_leaves_no_empty_page() {
    let server = shared();
    let altered = table(server, "altered");
    let mut other = connect(server);
    for way in WAYS {
        other.execute("begin").unwrap();
        other
            .execute("alter table public.altered alter v type integer using v + 0")
            .unwrap();
        std::thread::scope(|scope| {
            let page =
                scope.spawn(|| read_by(way, &mut altered.pages(server, LONG), &altered.chunk(None, None)).unwrap());
            let waiting = "select count(*) from pg_locks where relation = 'public.altered'::regclass and not granted";
            while server.psql(waiting).trim() == "0" {
                std::thread::sleep(Duration::from_millis(5));
            }
            other.execute("commit").unwrap();
            assert_eq!(page.join().unwrap().0, numbers(server, "altered"), "{way:?}");
        });
    }
}

/// What its snapshot sees never comes from the log, so that a column that a SELECT does not name would be lost. Nothing of the attempt
/// is left: its snapshot would lack what comes later.
#[test]
fn a_page_is_not_read_in_other_columns_than_its_table_has() {
    let server = shared();
    let evolved = table(server, "evolved");
    let mut id = 100;
    for way in WAYS {
        let mut pages = evolved.pages(server, LONG);
        for (there, back) in [
            ("add w integer default 3", "drop w"),
            ("alter v type bigint", "alter v type integer"),
            ("rename v to w", "rename w to v"),
        ] {
            server.psql(&format!("alter table evolved {there}"));
            let error = read_by(way, &mut pages, &evolved.chunk(None, None)).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Altered) && error.is_retryable(),
                "{way:?}, {there}: {error}"
            );
            id += 1;
            server.psql(&format!(
                "set lock_timeout = '20s'; alter table evolved {back}; insert into evolved values ({id}, 1)"
            ));
            let (rows, _) = read_by(way, &mut pages, &evolved.chunk(None, None)).unwrap();
            assert_eq!(rows, numbers(server, "evolved"), "{way:?}, {back}");
        }
    }
    let mut pages = evolved.pages(server, LONG);
    server.psql("drop table evolved; create table evolved (id integer primary key, v integer)");
    let error = read(&mut pages, &evolved.chunk(None, None)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Altered), "{error}");
}

/// The rows of a table that is published late are in a page if the log does not have them.
#[test]
fn a_table_that_is_published_under_an_open_transaction_loses_none_of_its_rows() {
    let server = Server::start_with(LOGICAL);
    let late = table(&server, "late");
    table(&server, "early");
    server.psql("create publication p for table public.early");
    server.psql("select pg_create_logical_replication_slot('s', 'pgoutput')");
    let mut writer = connect(&server);
    writer.execute("begin").unwrap();
    writer.execute("insert into public.late values (6, 6)").unwrap();
    server.psql("alter publication p add table public.late");
    let error = barrier(&server, SOON).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotVisible { .. }), "{error}");
    std::thread::scope(|scope| {
        let passed = scope.spawn(|| barrier(&server, LONG).unwrap());
        writer.execute("insert into public.late values (7, 7)").unwrap();
        writer.execute("commit").unwrap();
        passed.join().unwrap();
    });
    let (rows, _) = read(&mut late.pages(&server, LONG), &late.chunk(None, None)).unwrap();
    assert_eq!(rows, numbers(&server, "late"));
    let relations = server.psql(
        "select count(*) from pg_logical_slot_peek_binary_changes('s', null, null, 'proto_version', '1', 'publication_names', 'p') \
         where get_byte(data, 0) = ascii('I')",
    );
    assert_eq!(
        relations.trim(),
        "1",
        "of the two rows the log has only the one behind the change of the publication"
    );
}

/// Seen by a SELECT, but not on disk: the page waits, and a crash cannot take its rows back.
#[test]
fn an_asynchronous_commit_that_a_page_has_survives_a_crash() {
    let mut settings = LOGICAL.to_vec();
    settings.extend([
        "wal_writer_delay = 10s",
        "wal_writer_flush_after = 1GB",
        "synchronous_commit = off",
    ]);
    let server = Server::start_with(&settings);
    let lost = table(&server, "lost");
    for (way, id) in WAYS.into_iter().zip(6..) {
        server.psql("checkpoint");
        server.psql(&format!("insert into public.lost values ({id}, 0)"));
        let (rows, _) = read_by(way, &mut lost.pages(&server, LONG), &lost.chunk(None, None)).unwrap();
        assert_eq!(rows.len(), id);
        server.crash();
        assert_eq!(numbers(&server, "lost"), rows, "{way:?}");
    }
}

#[test]
fn a_standby_is_refused() {
    let server = Server::start_with(LOGICAL);
    table(&server, "t");
    let standby = server.standby();
    let error = barrier(&standby, LONG).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Setup(_)) && !error.is_retryable(),
        "{error}"
    );
    assert!(error.to_string().contains("is a standby"), "{error}");
}
