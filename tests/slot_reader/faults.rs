//! What can happen to a slot, its copy, and the sessions that use them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidemark::dialect::postgres::{POSTGRES, connection};
use tidemark::error::{Error, ErrorKind};
use tidemark::log::decoding::confirm::Confirmer;
use tidemark::log::decoding::reader::{SlotReader, cut};
use tidemark::log::decoding::session::copy_name;
use tidemark::log::decoding::slot::{self, SlotStatus};
use tidemark::log::{LogEvent, LogReader};
use tidemark::odbc::{CancelToken, Connection};
use tidemark::position::{CommitPosition, Lsn, Position, Scn};

use crate::slots::{PATIENCE, PLUGINS, Read, Slot, connector, now, psql, read_to, step};
use crate::support::Server;
use crate::support::postgres::{LOGICAL, connect, dialect, endpoint, settings, shared};

fn status(slot: &str) -> Option<SlotStatus> {
    let mut connection = connect(shared());
    let statements = slot::resolve_names(&mut connection, &*dialect()).unwrap();
    slot::status(&mut connection, &statements, slot).unwrap()
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(slot: &Slot) {
    let copy = copy_name(&slot.name);
    psql(&format!(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{copy}'"
    ));
}

fn after(commit: u64) -> Position {
    Position::after(CommitPosition {
        scn: Scn(commit),
        nth: 0,
    })
}

#[test]
fn a_killed_session_is_replaced_and_no_row_comes_twice_or_not_at_all() {
    psql("CREATE TABLE killed(id int PRIMARY KEY, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("killed", plugin, &["killed"]);
        psql("INSERT INTO killed VALUES (0, 'first')");
        // Rows of a COPY share LSNs: fragments end among them.
        psql(&format!(
            "COPY killed FROM PROGRAM 'seq -f \"%g,{}\" 1 6000' DELIMITER ','",
            "x".repeat(50)
        ));
        psql("DELETE FROM killed WHERE id > 5990");
        let whole = slot.read();
        let mut settings = slot.settings();
        settings.fragment.rows = 700;
        let mut reader = slot.open_with(settings, slot.begin());
        let mut read = Read::default();
        let mut steps = 0;
        let limit = Instant::now() + PATIENCE * 3;
        while read.transactions.len() < 3 {
            if steps % 3 == 1 {
                kill(&slot);
            }
            steps += 1;
            assert!(
                Instant::now() < limit,
                "it does not come forward: {} rows",
                read.rows().len()
            );
            step(&mut reader, &mut read).unwrap();
        }
        assert_eq!(read.rows(), whole.rows(), "{plugin}");
        let places = |read: &Read| {
            read.transactions
                .iter()
                .map(|seen| seen.places.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&read), places(&whole), "{plugin}");
        psql("TRUNCATE killed");
    }
}

#[test]
fn a_slot_that_was_confirmed_beyond_the_state_is_fatal_and_says_so() {
    psql("CREATE TABLE ahead(id int PRIMARY KEY)");
    let slot = Slot::new("ahead", "pgoutput", &["ahead"]);
    psql("INSERT INTO ahead VALUES (1)");
    psql("INSERT INTO ahead VALUES (2)");
    let read = slot.read();
    let first = after(read.transactions[0].commit);
    psql(&format!(
        "SELECT pg_replication_slot_advance('{}', pg_current_wal_lsn())",
        slot.name
    ));
    let at = tidemark::log::Opening {
        mine_from: Scn(cut(first).0),
        position: first,
    };
    let error = slot.try_open_with(slot.settings(), at).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::SlotAhead { .. }), "{error}");
    assert!(
        !error.is_retryable() && error.to_string().contains("TM-3010"),
        "{error}"
    );
    psql(&format!("SELECT pg_drop_replication_slot('{}')", slot.name));
    let error = slot.try_open_with(slot.settings(), at).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::SlotLost { .. }), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[test]
fn a_second_job_is_told_who_has_the_slot_and_a_dead_one_is_waited_for() {
    psql("CREATE TABLE busy(id int PRIMARY KEY)");
    let slot = Slot::new("busy", "test_decoding", &["busy"]);
    let mut first = slot.open();
    let mut hasty = slot.settings();
    hasty.slot.patience.limit = Duration::from_millis(100);
    let error = slot.try_open_with(hasty, slot.begin()).err().unwrap();
    let ErrorKind::SlotBusy { holder, .. } = error.kind() else {
        panic!("{error}");
    };
    let pid = psql(&format!(
        "SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{}'",
        copy_name(&slot.name)
    ));
    assert!(
        holder.contains(&format!("pid {}", pid.trim())) && error.is_retryable(),
        "{error}"
    );
    // The first one is not hurt, and once it is dead the second one goes on.
    psql("INSERT INTO busy VALUES (1)");
    let mut read = Read::default();
    read_to(&mut first, now(), &mut read);
    assert_eq!(read.rows(), ["0 >id=1"]);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| slot.read().transactions);
        drop(first);
        assert_eq!(second.join().unwrap(), read.transactions);
    });
}

/// `F53`: a reader that ends leaves no slot but the durable one, and that one goes when it is told to.
#[test]
fn no_slot_is_left_behind() {
    psql("CREATE TABLE clean(id int PRIMARY KEY)");
    let slot = Slot::new("clean", "pgoutput", &["clean"]);
    let reader = slot.open();
    assert!(status(&copy_name(&slot.name)).is_some());
    drop(reader);
    until("the copy is there", || status(&copy_name(&slot.name)).is_none());
    let name = slot.name.clone();
    assert!(status(&name).is_some(), "the durable slot survives a stop");
    drop(slot);
    assert_eq!(status(&name), None);
}

/// `F35`: quiet captured tables on a busy server do not hold the log, neither from the start on nor later.
#[test]
fn an_idle_table_lets_the_log_go_while_others_are_written() {
    psql("CREATE TABLE quiet(id int PRIMARY KEY); CREATE TABLE noisy(id int, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("quiet", plugin, &["quiet"]);
        let confirmer = Confirmer::new(connector(shared()), dialect(), &slot.name);
        let mut position = slot.begin().position;
        for _ in 0..3 {
            let mut reader = slot.open_at(position);
            for _ in 0..2 {
                psql("INSERT INTO noisy SELECT g, repeat('x', 100) FROM generate_series(1, 500) g");
                let end = now();
                let mut read = Read::default();
                read_to(&mut reader, end, &mut read);
                assert!(
                    read.transactions.is_empty() && read.progresses > 0,
                    "{plugin}: {read:?} to {end}, {:?}",
                    reader.progress()
                );
                let progress = reader.progress();
                assert!(
                    progress.position.scn.0 >= end && progress.next_scn.0 >= end,
                    "{plugin}: {progress:?}"
                );
                confirmer.confirm(Lsn(progress.next_scn.0));
                until("the slot does not follow", || {
                    status(&slot.name).unwrap().confirmed >= Some(Lsn(end)) && confirmer.confirmed() >= Some(Lsn(end))
                });
                position = progress.position;
            }
        }
        // What was begun before all that and commits behind it is not lost.
        psql("INSERT INTO quiet VALUES (1)");
        let mut read = Read::default();
        read_to(&mut slot.open_at(position), now(), &mut read);
        assert_eq!(read.rows(), ["0 >id=1"], "{plugin}");
        psql("DELETE FROM quiet");
    }
}

#[test]
fn the_log_may_go_from_under_a_transaction_that_is_open() {
    psql("CREATE TABLE lasting(id int PRIMARY KEY)");
    for plugin in PLUGINS {
        let slot = Slot::new("lasting", plugin, &["lasting"]);
        let mut long = connect(shared());
        long.execute("BEGIN").unwrap();
        long.execute("INSERT INTO public.lasting VALUES (1)").unwrap();
        psql("INSERT INTO lasting VALUES (2)");
        let mut reader = slot.open();
        let mut read = Read::default();
        read_to(&mut reader, now(), &mut read);
        let progress = reader.progress();
        drop(reader);
        psql(&format!(
            "SELECT pg_replication_slot_advance('{}', '0/0'::pg_lsn + {})",
            slot.name, progress.next_scn
        ));
        long.execute("COMMIT").unwrap();
        read_to(&mut slot.open_at(progress.position), now(), &mut read);
        assert_eq!(read.rows(), ["0 >id=2", "0 >id=1"], "{plugin}");
        psql("DELETE FROM lasting");
    }
}

#[test]
fn confirming_never_waits_never_goes_back_and_keeps_what_is_not_confirmed() {
    psql("CREATE TABLE confirmed(id int PRIMARY KEY)");
    let slot = Slot::new("confirmed", "pgoutput", &["confirmed"]);
    for id in 1..=4 {
        psql(&format!("INSERT INTO confirmed VALUES ({id})"));
    }
    let all = slot.read().transactions;
    let confirmer = Confirmer::new(connector(shared()), dialect(), &slot.name);
    confirmer.confirm(Lsn(all[1].next_scn));
    until("the slot does not move", || {
        confirmer.confirmed() == Some(Lsn(all[1].next_scn))
    });
    confirmer.confirm(Lsn(all[0].next_scn));
    assert_eq!(status(&slot.name).unwrap().confirmed, Some(Lsn(all[1].next_scn)));
    let mut read = Read::default();
    read_to(&mut slot.open_at(after(all[1].commit)), now(), &mut read);
    assert_eq!(read.transactions, all[2..]);
    // While somebody has the slot's place locked, and with a slot that is gone, nothing comes back but a warning.
    let lost = Confirmer::new(connector(shared()), dialect(), "no_such_slot");
    lost.confirm(Lsn(1));
    lost.confirm(Lsn(2));
    drop(lost);
}

/// `F29`: which plugins a server has is found by trying them.
#[test]
fn plugins_that_the_server_lacks_are_found_out() {
    let mut connection = connect(shared());
    let statements = slot::resolve_names(&mut connection, &*dialect()).unwrap();
    let usable =
        |wanted: &[&'static str]| slot::usable_plugins(&mut || Ok(connect(shared())), &statements, wanted, "probing");
    assert_eq!(
        usable(&["no_plugin", "test_decoding", "pgoutput"]).unwrap(),
        ["test_decoding", "pgoutput"]
    );
    let error = usable(&["no_plugin", "mpp_decoder"]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Setup(_)), "{error}");
    assert!(
        error.to_string().contains("no_plugin") && error.to_string().contains("mpp_decoder"),
        "{error}"
    );
    assert_eq!(status("probing"), None);
}

#[test]
fn messages_are_no_rows() {
    psql("CREATE TABLE told(id int PRIMARY KEY)");
    for plugin in PLUGINS {
        let slot = Slot::new("told", plugin, &["told"]);
        psql("SELECT pg_logical_emit_message(true, 'a', 'table public.told: INSERT: id[integer]:9')");
        psql("SELECT pg_logical_emit_message(false, 'a', 'COMMIT')");
        psql(
            "BEGIN; INSERT INTO told VALUES (1); SELECT pg_logical_emit_message(true, 'b', ''); \
              SELECT pg_logical_emit_message(false, 'c', E'x\\ny'); COMMIT",
        );
        psql("BEGIN; SELECT pg_logical_emit_message(false, 'd', 'survives'); ROLLBACK; DELETE FROM told");
        assert_eq!(slot.read().rows(), ["0 >id=1", "0 id=1>"], "{plugin}");
    }
}

/// The log is taken from under the slot, as max_slot_wal_keep_size allows it.
#[test]
fn a_slot_that_is_about_to_be_lost_or_lost_is_named() {
    let settings = [LOGICAL, &["max_slot_wal_keep_size = 16MB", "min_wal_size = 32MB"]].concat();
    let server = Server::start_with(&settings);
    let mut connection = connect(&server);
    server.psql("CREATE TABLE t(id int)");
    server.psql("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
    let statements = slot::resolve_names(&mut connection, &*dialect()).unwrap();
    let look = |connection: &mut _| slot::status(connection, &statements, "s").unwrap().unwrap();
    let begin = look(&mut connection);
    begin.check("s").unwrap();
    assert!(begin.safe_bytes.is_some() && begin.retained() < 1 << 20, "{begin:?}");
    for _ in 0..4 {
        server.psql("INSERT INTO t VALUES (1)");
        server.psql("SELECT pg_switch_wal()");
    }
    let late = look(&mut connection);
    assert!(late.retained() > 32 << 20, "{late:?}");
    let error = late.check("s").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotUnreserved { .. }) && error.is_retryable(),
        "{error}"
    );
    late.check_lost("s").unwrap();
    server.psql("CHECKPOINT");
    let error: Error = look(&mut connection).check("s").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SlotLost { .. }) && !error.is_retryable(),
        "{error}"
    );
}

/// Calls of test_decoding as of a server that has much to decode: the first two have so much that they never end, each one behind
/// them takes three seconds. However fast the machine is.
const SLOW_CALLS: &str = "
    CREATE SCHEMA slow;
    CREATE SEQUENCE slow.calls;
    CREATE FUNCTION slow.pg_logical_slot_get_changes(
        slot name, upto pg_lsn, changes int, VARIADIC options text[], OUT lsn pg_lsn, OUT xid xid, OUT data text
    ) RETURNS SETOF record LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_sleep(CASE WHEN nextval('slow.calls') <= 2 THEN 3600 ELSE 3 END);
        RETURN QUERY SELECT * FROM pg_catalog.pg_logical_slot_get_changes(slot, upto, changes, VARIADIC options);
    END $$;
    GRANT USAGE ON SCHEMA slow TO PUBLIC;
    GRANT USAGE ON SEQUENCE slow.calls TO PUBLIC";

/// The server decodes a transaction whole before it gives any of it: one that takes longer than a call may is waited for longer,
/// and not begun again for ever.
#[test]
fn a_transaction_that_takes_longer_to_decode_than_a_call_may_comes_all_the_same() {
    psql("CREATE TABLE giant(id int PRIMARY KEY, v text)");
    psql(SLOW_CALLS);
    let slot = Slot::new("giant", "test_decoding", &["giant"]);
    let rows = 1_000;
    psql(&format!(
        "INSERT INTO giant SELECT g, 'x' FROM generate_series(1, {rows}) g"
    ));
    // Both the server and, as a reader does it, a watch end a call beyond `socket.timeout`.
    let tokens: Arc<Mutex<Vec<CancelToken>>> = Arc::default();
    let (opened, watched) = (tokens.clone(), tokens);
    let asks = AtomicBool::new(true);
    let hasty = move || {
        // The first one is for questions, which are asked once: a busy machine may take long for an answer.
        if asks.swap(false, Ordering::SeqCst) {
            return Connection::open(&settings(shared()));
        }
        let mut endpoint = endpoint(shared());
        endpoint.statement_timeout = Some(Duration::from_secs(1));
        let mut connection = Connection::open(&connection(&POSTGRES, &endpoint))?;
        connection.execute("SET search_path = slow, pg_catalog")?;
        opened.lock().unwrap().push(connection.cancel_token());
        Ok(connection)
    };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                let is_late = |token: &&CancelToken| token.busy_for().is_some_and(|busy| busy > Duration::from_secs(1));
                for token in watched.lock().unwrap().iter().filter(is_late) {
                    token.cancel_aside();
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let _stopping = Ended(&ended);
        let mut reader =
            SlotReader::open(Arc::new(hasty), dialect(), &slot.tables, slot.settings(), slot.begin()).unwrap();
        let (mut came, since) = (0, Instant::now());
        while came < rows {
            assert!(since.elapsed() < 6 * PATIENCE, "{came} of {rows} rows came");
            match reader.poll().unwrap() {
                Some(LogEvent::Fragment(fragment)) => came += fragment.changes.rows.len(),
                Some(_) => {}
                None => drop(reader.push().unwrap()),
            }
        }
        assert_eq!(came, rows);
    });
    let calls: u64 = psql("SELECT last_value FROM slow.calls").trim().parse().unwrap();
    assert!(calls >= 3, "{calls} calls");
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
