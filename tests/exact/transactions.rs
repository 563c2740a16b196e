//! Transactions whose numbers a snapshot does not show as they are: too many savepoints, two phases; and a barrier made anew.

use std::collections::BTreeSet;

use tidemark::error::ErrorKind;

use crate::cases::{numbers, table, with_log};
use crate::log::{Transaction, make_slot, transactions};
use crate::support::Server;
use crate::support::postgres::{LOGICAL, connect, shared};
use crate::{LONG, SOON, WAYS, barrier, read, read_by};

/// What the slot of a table has of it.
fn of_table(server: &Server, name: &str) -> Vec<Transaction> {
    let mut log = transactions(server, name, name);
    log.retain(|transaction| !transaction.changes.is_empty());
    log
}

/// A session remembers 64 savepoints; of one that has more, snapshots show no savepoint's number at all.
#[test]
fn a_transaction_of_more_than_64_savepoints_comes_once() {
    let server = shared();
    for way in WAYS {
        let name = format!("many_{way:?}").to_lowercase();
        let many = table(server, &name);
        make_slot(server, &name);
        let from = barrier(server, LONG).unwrap();
        let mut writer = connect(server);
        writer.execute("begin").unwrap();
        for id in 6..=105 {
            writer.execute("savepoint s").unwrap();
            writer
                .execute(&format!("insert into public.{name} values ({id}, {id})"))
                .unwrap();
            if id % 10 == 0 {
                writer.execute("rollback to s").unwrap();
            }
        }
        let before = read_by(way, &mut many.pages(server, LONG), &many.chunk(None, Some(50))).unwrap();
        assert_eq!(before.0.len(), 5);
        writer.execute("commit").unwrap();
        let behind = read_by(way, &mut many.pages(server, LONG), &many.chunk(Some(50), None)).unwrap();
        assert_eq!(behind.0.len(), 50);
        let log = of_table(server, &name);
        let [only] = &log[..] else { panic!("{log:?}") };
        assert_eq!(only.changes.len(), 90);
        assert!(only.commit.scn.0 >= from.0);
        assert!(!before.1.includes(only.xid, only.commit), "{way:?}");
        assert!(behind.1.includes(only.xid, only.commit), "{way:?}");
    }
}

/// Prepared by one session and committed by another, between two pages.
#[test]
fn a_prepared_transaction_that_is_open_across_pages_comes_once() {
    let server = Server::start_with(LOGICAL);
    for way in WAYS {
        let name = format!("two_phases_{way:?}").to_lowercase();
        let prepared = table(&server, &name);
        make_slot(&server, &name);
        let from = barrier(&server, LONG).unwrap();
        server.psql(&format!(
            "begin; insert into public.{name} values (6, 6); update public.{name} set v = 20 where id = 2; \
             prepare transaction '{name}'"
        ));
        let open = read_by(way, &mut prepared.pages(&server, LONG), &prepared.chunk(None, None)).unwrap();
        assert_eq!(open.0.len(), 5);
        server.psql(&format!("commit prepared '{name}'"));
        let whole = read_by(way, &mut prepared.pages(&server, LONG), &prepared.chunk(None, None)).unwrap();
        assert_eq!(whole.0, numbers(&server, &name));
        let log = of_table(&server, &name);
        let [only] = &log[..] else { panic!("{log:?}") };
        assert_eq!(only.changes.len(), 2);
        assert!(only.commit.scn.0 >= from.0);
        assert!(!open.1.includes(only.xid, only.commit), "{way:?}");
        assert!(whole.1.includes(only.xid, only.commit), "{way:?}");
    }
}

/// A barrier whose wait has failed leaves nothing behind: the next one has a number and a place of its own.
#[test]
fn a_barrier_that_is_made_anew_waits_for_what_began_meanwhile() {
    let server = Server::start_with(LOGICAL);
    let anew = table(&server, "anew");
    make_slot(&server, "s");
    let (mut first, mut second) = (connect(&server), connect(&server));
    let mut held = BTreeSet::new();
    for (number, writer) in [&mut first, &mut second].into_iter().enumerate() {
        writer.execute("begin").unwrap();
        writer
            .execute(&format!("insert into public.anew values ({}, 0)", 6 + number))
            .unwrap();
        let error = barrier(&server, SOON).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotVisible { .. }), "{error}");
        held.insert(error.to_string());
    }
    first.execute("commit").unwrap();
    let error = barrier(&server, SOON).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotVisible { .. }), "{error}");
    held.insert(error.to_string());
    assert_eq!(held.len(), 3, "each names those who held it: {held:?}");
    second.execute("commit").unwrap();
    let behind = server.psql("select (pg_current_wal_insert_lsn() - '0/0')::bigint");
    let from = barrier(&server, LONG).unwrap();
    assert!(from.0 >= behind.trim().parse().unwrap(), "the place is that of now");
    let page = read(&mut anew.pages(&server, LONG), &anew.chunk(None, None)).unwrap();
    assert_eq!(with_log(&server, "s", "anew", from, page), numbers(&server, "anew"));
}
