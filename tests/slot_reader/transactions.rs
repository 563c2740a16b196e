//! Transactions as the slot gives them: whole, in the order of their commits, each once.

use std::time::Instant;

use tidemark::log::LogReader;
use tidemark::position::{CommitPosition, Position, Scn};

use crate::slots::{PATIENCE, PLUGINS, Read, Seen, Slot, now, psql, read_to, step};
use crate::support::postgres::{connect, shared};

#[test]
fn every_kind_of_change_comes_with_what_the_log_has_of_the_row_before() {
    psql("CREATE TABLE kinds(id int PRIMARY KEY, v text)");
    psql("CREATE TABLE kinds_full(id int PRIMARY KEY, v text); ALTER TABLE kinds_full REPLICA IDENTITY FULL");
    for plugin in PLUGINS {
        let slot = Slot::new("kinds", plugin, &["kinds", "kinds_full"]);
        for table in ["kinds", "kinds_full"] {
            psql(&format!(
                "INSERT INTO {table} VALUES (1, 'a'), (2, NULL); UPDATE {table} SET v = 'b' WHERE id = 1; \
                 UPDATE {table} SET id = 3 WHERE id = 2; DELETE FROM {table}"
            ));
        }
        let read = slot.read();
        assert_eq!(
            read.rows(),
            [
                "0 >id=1,v=a",
                "0 >id=2,v=NULL",
                "0 id=1,v=->id=1,v=b",
                "0 id=2,v=->id=3,v=NULL",
                "0 id=1,v=->",
                "0 id=3,v=->",
                "1 >id=1,v=a",
                "1 >id=2,v=NULL",
                "1 id=1,v=a>id=1,v=b",
                "1 id=2,v=NULL>id=3,v=NULL",
                "1 id=1,v=b>",
                "1 id=3,v=NULL>",
            ],
            "{plugin}"
        );
    }
}

#[test]
fn interleaved_transactions_come_in_the_order_of_their_commits_and_not_of_their_rows() {
    psql("CREATE TABLE mixed(id int PRIMARY KEY, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("mixed", plugin, &["mixed"]);
        let (mut first, mut second) = (connect(shared()), connect(shared()));
        for sql in ["BEGIN", "INSERT INTO public.mixed VALUES (1, 'first')"] {
            first.execute(sql).unwrap();
        }
        for sql in ["BEGIN", "INSERT INTO public.mixed VALUES (2, 'second')"] {
            second.execute(sql).unwrap();
        }
        first.execute("INSERT INTO public.mixed VALUES (3, 'first')").unwrap();
        second.execute("COMMIT").unwrap();
        first.execute("COMMIT").unwrap();
        psql("DELETE FROM mixed");
        let read = slot.read();
        assert_eq!(
            read.rows(),
            [
                "0 >id=2,v=second",
                "0 >id=1,v=first",
                "0 >id=3,v=first",
                "0 id=1,v=->",
                "0 id=2,v=->",
                "0 id=3,v=->",
            ],
            "{plugin}"
        );
        let [second, first, _] = &read.transactions[..] else {
            panic!("{:?}", read.transactions);
        };
        assert!(first.start < second.start && second.commit < first.commit, "{plugin}");
        assert!(
            first.micros > 1_600_000_000_000_000 && first.micros >= second.micros,
            "{plugin}"
        );
    }
}

#[test]
fn what_a_transaction_has_taken_back_does_not_come() {
    psql("CREATE TABLE undone(id int PRIMARY KEY, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("undone", plugin, &["undone"]);
        psql(
            "BEGIN; INSERT INTO undone VALUES (1, 'kept'); SAVEPOINT a; INSERT INTO undone VALUES (2, 'lost'); \
             SAVEPOINT b; INSERT INTO undone VALUES (3, 'lost'); ROLLBACK TO a; INSERT INTO undone VALUES (4, 'kept'); \
             RELEASE a; COMMIT",
        );
        psql("BEGIN; INSERT INTO undone VALUES (5, 'lost'); ROLLBACK");
        psql("BEGIN; INSERT INTO undone VALUES (6, 'prepared'); PREPARE TRANSACTION 'undone'");
        psql("INSERT INTO undone VALUES (7, 'between')");
        psql("BEGIN; INSERT INTO undone VALUES (8, 'lost'); PREPARE TRANSACTION 'never'");
        psql("COMMIT PREPARED 'undone'");
        psql("ROLLBACK PREPARED 'never'");
        let read = slot.read();
        assert_eq!(
            read.rows(),
            [
                "0 >id=1,v=kept",
                "0 >id=4,v=kept",
                "0 >id=7,v=between",
                "0 >id=6,v=prepared",
            ],
            "{plugin}"
        );
        psql("DELETE FROM undone");
    }
}

/// `F01`: a position is a commit's, and inside a transaction a row's among those that share its LSN.
#[test]
fn rows_that_share_an_lsn_are_told_apart_and_a_restart_skips_none() {
    psql("CREATE TABLE tick(id int PRIMARY KEY, v int)");
    for plugin in PLUGINS {
        let slot = Slot::new("tick", plugin, &["tick"]);
        for id in 1..=3 {
            psql(&format!("INSERT INTO tick VALUES ({id}, 0)"));
        }
        psql("COPY tick FROM PROGRAM 'seq -f \"%g,0\" 200 204' DELIMITER ','");
        let all = slot.read();
        assert_eq!(all.transactions.len(), 4, "{plugin}");
        let copied = &all.transactions[3];
        let (lsn, table, _) = copied.places[0];
        let expected: Vec<(u64, u64, u32)> = (0..5).map(|nth| (lsn, table, nth)).collect();
        assert_eq!(copied.places, expected, "{plugin}: rows of one COPY share an LSN");
        // From behind each of the transactions on come those behind it, as they were.
        for (number, seen) in all.transactions.iter().enumerate() {
            let position = Position::after(CommitPosition {
                scn: Scn(seen.commit),
                nth: 0,
            });
            let mut read = Read::default();
            read_to(&mut slot.open_at(position), now(), &mut read);
            assert_eq!(read.transactions, all.transactions[number + 1..], "{plugin}");
        }
        psql("TRUNCATE tick");
    }
}

/// `F01`: the COMMIT record of one transaction begins where that of the one before ends.
#[test]
fn commits_that_touch_are_both_read_behind_a_restart_between_them() {
    psql("CREATE TABLE touching(id int PRIMARY KEY)");
    let until = Instant::now() + PATIENCE;
    loop {
        psql("TRUNCATE touching");
        let slots = PLUGINS.map(|plugin| Slot::new("touching", plugin, &["touching"]));
        let mut sessions = [connect(shared()), connect(shared())];
        for (session, id) in sessions.iter_mut().zip(1..) {
            session.execute("BEGIN").unwrap();
            session
                .execute(&format!("INSERT INTO public.touching VALUES ({id})"))
                .unwrap();
        }
        for session in &mut sessions {
            session.execute("COMMIT").unwrap();
        }
        let read = slots.each_ref().map(|slot| slot.read().transactions);
        assert_eq!(read.each_ref().map(Vec::len), [2, 2]);
        let read_of_places = &read[0];
        for (slot, read) in slots.iter().zip(&read) {
            let position = Position::after(CommitPosition {
                scn: Scn(read[0].commit),
                nth: 0,
            });
            let mut rest = Read::default();
            read_to(&mut slot.open_at(position), now(), &mut rest);
            assert_eq!(rest.transactions, read[1..]);
            // A position in front of everything that commits from a place on, where a COMMIT record begins.
            let mut whole = Read::default();
            let at = |transaction: &Seen| Position::before(Scn(transaction.commit));
            read_to(&mut slot.open_at(at(&read_of_places[0])), now(), &mut whole);
            assert_eq!(whole.transactions, *read);
        }
        // One plugin says where a COMMIT record begins, the other one where it ends; others may write in between.
        let [binary, text] = &read;
        if binary[1].commit == text[0].next_scn {
            return;
        }
        assert!(Instant::now() < until, "no two commits touched");
    }
}

/// The end of the log that a call was made in front of is what was read, not one that is asked for behind it.
#[test]
fn what_commits_while_a_call_is_read_comes_with_the_next_one() {
    psql("CREATE TABLE meanwhile(id int PRIMARY KEY)");
    for plugin in PLUGINS {
        let slot = Slot::new("meanwhile", plugin, &["meanwhile"]);
        psql("INSERT INTO meanwhile VALUES (1)");
        let (mut reader, mut read) = (slot.open(), Read::default());
        let until = Instant::now() + PATIENCE;
        while read.transactions.is_empty() {
            step(&mut reader, &mut read).unwrap();
            assert!(Instant::now() < until);
        }
        // The call has given its last transaction and is not at its end.
        psql("INSERT INTO meanwhile VALUES (2)");
        read_to(&mut reader, now(), &mut read);
        assert_eq!(read.rows(), ["0 >id=1", "0 >id=2"], "{plugin}");
        psql("TRUNCATE meanwhile");
    }
}

#[test]
fn a_transaction_goes_out_in_fragments_while_it_is_read() {
    psql("CREATE TABLE large(id int PRIMARY KEY, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("large", plugin, &["large"]);
        psql("INSERT INTO large SELECT g, repeat('x', 100) FROM generate_series(1, 2500) g");
        psql("INSERT INTO large SELECT g, repeat('x', 100) FROM generate_series(3001, 4000) g");
        let mut settings = slot.settings();
        settings.slot.batch_changes = 10;
        let mut reader = slot.open_with(settings, slot.begin());
        let mut read = Read::default();
        // Other tests' transactions may stand in front.
        while read.open.is_none() && read.transactions.is_empty() {
            assert!(step(&mut reader, &mut read).unwrap());
        }
        let open = read.open.as_ref().unwrap();
        assert_eq!(open.fragments, [1000], "{plugin}");
        assert!(reader.figures().buffered_bytes < 1 << 20);
        read_to(&mut reader, now(), &mut read);
        let fragments: Vec<&[usize]> = read.transactions.iter().map(|seen| &*seen.fragments).collect();
        assert_eq!(fragments, [&[1000, 1000, 500][..], &[1000]], "{plugin}");
        psql("DROP TABLE large; CREATE TABLE large(id int PRIMARY KEY, v text)");
    }
}
