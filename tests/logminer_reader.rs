//! The log reader over the stand-in's real, concurrent log, judged by what was committed.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::stand_in::StandIn;
use tidemark::catalog;
use tidemark::dialect::Dialect;
use tidemark::dialect::dameng::Dameng;
use tidemark::error::ErrorKind;
use tidemark::log::logminer::changes::CapturedTable;
use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::opener::LogMiner;
use tidemark::log::logminer::reader::Settings;
use tidemark::log::{LogEvent, LogReader, Opening, TransactionHead};
use tidemark::odbc::{Connection, Secret};
use tidemark::position::{Position, Scn, Xid};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::split::TableName;

const PASSWORD: &str = "Sysdba_9pw";

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

fn stand_in(environment: &[(&str, &str)]) -> StandIn {
    StandIn::start(&[environment, &[("SYSDBA_PASSWORD", PASSWORD)]].concat())
}

/// A session with a transaction begun.
fn writer(stand_in: &StandIn) -> Connection {
    let mut endpoint = stand_in.endpoint();
    endpoint.username = "SYSDBA".into();
    endpoint.password = Secret::new(PASSWORD);
    let mut connection = Connection::open(&Dameng.connection(&endpoint)).unwrap();
    connection.execute("begin").unwrap();
    connection
}

fn create(stand_in: &StandIn) {
    stand_in.psql(
        r#"create schema "BIZ"; create table "BIZ"."T" ("ID" bigint primary key, "V" varchar(20000), "N" int);
           create table "BIZ"."OTHER" ("ID" bigint primary key)"#,
    );
}

fn miner(stand_in: &StandIn, settings: Settings) -> LogMiner {
    let name = TableName {
        schema: "BIZ".into(),
        name: "T".into(),
    };
    let table = catalog::load(&mut stand_in.connect(), &Dameng, &name).unwrap();
    LogMiner::new(Arc::new(Dameng), vec![CapturedTable::whole(Arc::new(table))], settings)
}

/// Small windows and fragments, so that everything is cut.
fn small() -> Settings {
    Settings {
        window_bytes: 1,
        fragment: FragmentLimit {
            rows: 7,
            bytes: 1 << 20,
        },
        ..Settings::default()
    }
}

fn text(values: &ValueBuffer, image: Image, column: usize) -> String {
    match values.get(image, column) {
        Value::Null => "NULL".into(),
        Value::Number(bytes) | Value::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn row(values: &ValueBuffer, image: Option<Image>) -> Option<(i64, String)> {
    image.map(|image| {
        let id = text(values, image, 0).parse().unwrap();
        (id, format!("{},{}", text(values, image, 1), text(values, image, 2)))
    })
}

/// The rows that the transactions so far make, and where the last one ended.
#[derive(Default)]
struct Judge {
    table: BTreeMap<i64, String>,
    heads: Vec<TransactionHead>,
    /// Rows of the transaction that is half out.
    open: usize,
    changes: usize,
}

impl Judge {
    /// Applies an event; a row that does not start from what the table holds is out of order, lost or doubled.
    fn take(&mut self, event: LogEvent) {
        let LogEvent::Fragment(fragment) = event else {
            return;
        };
        assert_eq!(
            fragment.number == 0,
            self.open == 0,
            "fragments of one transaction follow one another"
        );
        for change in &fragment.changes.rows {
            let values = &fragment.changes.values;
            if let Some((id, before)) = row(values, change.before) {
                assert_eq!(self.table.remove(&id), Some(before), "row {id} at {}", change.place.scn);
            }
            if let Some((id, after)) = row(values, change.after) {
                assert_eq!(self.table.insert(id, after), None, "row {id} at {}", change.place.scn);
            }
            self.changes += 1;
        }
        self.open += 1;
        if fragment.last {
            self.open = 0;
            if let Some(last) = self.heads.last() {
                assert!(last.commit < fragment.head.commit, "commit order");
            }
            self.heads.push(fragment.head);
        }
    }

    /// Where to open a reader that goes on.
    fn opening(&self, first: Opening) -> Opening {
        self.heads.last().map_or(first, |head| Opening {
            mine_from: head.next_scn,
            position: Position::after(head.commit),
        })
    }
}

/// Reads until everything that stands in the log now has been read.
fn catch_up(reader: &mut dyn LogReader, judge: &mut Judge) {
    let end = reader.visible_end().unwrap();
    let waited = Instant::now();
    while judge.open > 0 || reader.progress().complete_to.is_none_or(|complete| complete < end) {
        if let Some(event) = reader.poll().unwrap() {
            judge.take(event);
        }
        assert!(
            waited.elapsed() < PATIENCE,
            "{:?} does not reach {end}",
            reader.progress()
        );
    }
}

fn table(stand_in: &StandIn) -> BTreeMap<i64, String> {
    let rows = stand_in
        .psql(r#"select "ID" || '|' || coalesce("V", 'NULL') || ',' || coalesce("N"::text, 'NULL') from "BIZ"."T""#);
    rows.lines()
        .map(|line| {
            let (id, row) = line.split_once('|').unwrap();
            (id.parse().unwrap(), row.to_owned())
        })
        .collect()
}

/// A psql script of transactions on rows of the writer's own and on rows that all writers share.
fn workload(writer: u64, transactions: u64) -> String {
    let mut state = writer.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % limit
    };
    let mut script = String::new();
    for transaction in 0..transactions {
        script.push_str("begin;");
        let shared = below(5);
        for change in 0..1 + below(if transaction % 10 == 0 { 60 } else { 6 }) {
            let own = writer * 1_000_000 + below(40);
            let long = if below(15) == 0 { 1800 } else { 3 };
            let value = format!("repeat('é''{change}', {long}) || '{transaction}'");
            match below(9) {
                0..=2 => script.push_str(&format!(
                    r#"insert into "BIZ"."T" values ({own}, {value}, {change}) on conflict ("ID") do update set "V" = {value};"#
                )),
                3 => script.push_str(&format!(r#"update "BIZ"."T" set "N" = null where "ID" = {own};"#)),
                4 => script.push_str(&format!(r#"delete from "BIZ"."T" where "ID" = {own};"#)),
                5 => script.push_str(&format!(
                    r#"update "BIZ"."T" set "ID" = "ID" + 100 where "ID" = {own} and not exists (select from "BIZ"."T" where "ID" = {own} + 100);"#
                )),
                6 => script.push_str(&format!(
                    r#"savepoint s; update "BIZ"."T" set "V" = 'gone' where "ID" / 1000000 = {writer}; rollback to s;"#
                )),
                7 => script.push_str(&format!(r#"update "BIZ"."T" set "N" = "N" + 1 where "ID" = {shared};"#)),
                _ => script.push_str("select pg_sleep(0.001);"),
            }
        }
        script.push_str(if below(6) == 0 { "rollback;" } else { "commit;" });
    }
    script
}

/// Ends the thread beside the writers, also when the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run_workload(environment: &[(&str, &str)], levers: &str, settings: &Settings) {
    let stand_in = stand_in(&[environment, &[("SEGMENT_MB", "1")]].concat());
    stand_in.psql(levers);
    create(&stand_in);
    let miner = miner(&stand_in, settings.clone());
    let (first, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    stand_in.psql(r#"insert into "BIZ"."T" select g, 'shared', 0 from generate_series(0, 4) g"#);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=5)
            .map(|writer| {
                let stand_in = &stand_in;
                scope.spawn(move || stand_in.psql(&workload(writer, 60)))
            })
            .collect();
        let (done, stand_in) = (&done, &stand_in);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                stand_in.psql("select pg_switch_wal(), pg_sleep(0.5)");
            }
        });
        let _done = Done(done);
        let mut restart = 20;
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            if let Some(event) = reader.poll().unwrap() {
                judge.take(event);
            }
            // Behind a whole transaction the reader is dropped and another one goes on.
            if judge.open == 0 && judge.heads.len() > restart {
                restart += 20;
                reader = miner.open(stand_in.connect(), judge.opening(first)).unwrap();
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
    });
    catch_up(&mut *reader, &mut judge);
    assert_eq!(judge.table, table(&stand_in));
    assert!(judge.heads.len() > 100, "{} transactions", judge.heads.len());
}

#[test]
fn a_concurrent_workload_read_with_restarts_makes_the_table() {
    run_workload(&[], "select", &small());
}

#[test]
fn commits_that_share_an_scn_make_the_table_too() {
    run_workload(
        &[],
        "update logminer.setting set value = '4096' where name = 'granularity'",
        &small(),
    );
}

#[test]
fn a_transaction_across_many_windows_and_a_restart_comes_whole_and_once() {
    let stand_in = stand_in(&[("SEGMENT_MB", "1")]);
    create(&stand_in);
    let miner = miner(&stand_in, small());
    let mut long = writer(&stand_in);
    long.execute(r#"insert into "BIZ"."T" values (0, 'long', 0)"#).unwrap();
    // Open before the reader is.
    let (first, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    for n in 1..20 {
        long.execute(&format!(r#"insert into "BIZ"."T" values ({n}, 'long', {n})"#))
            .unwrap();
        stand_in.psql(&format!(
            r#"insert into "BIZ"."T" values (100 + {n}, 'short', {n}); select pg_switch_wal()"#
        ));
        catch_up(&mut *reader, &mut judge);
        assert_eq!(judge.heads.len(), n, "only the short ones are committed");
        if n % 7 == 0 {
            reader = miner.open(stand_in.connect(), judge.opening(first)).unwrap();
        }
    }
    long.execute("commit").unwrap();
    catch_up(&mut *reader, &mut judge);
    assert_eq!(judge.table, table(&stand_in));
    assert_eq!(judge.heads.len(), 20);
    let head = judge.heads[19];
    // The list of open transactions may name a place a little in front of the START record, never one behind it.
    assert!(first.mine_from <= head.start, "the reader mines from its START");
    let files = stand_in.psql(&format!(
        r#"select count(*) from "SYS"."V$ARCH_FILE" where "CLSN" >= {} and "ARCH_LSN" <= {}"#,
        head.start, head.commit.scn
    ));
    assert!(files.trim().parse::<u32>().unwrap() >= 20);
    // A reader that begins behind its START looks for it further back.
    let late = Opening {
        mine_from: judge.heads[18].commit.scn,
        position: Position::before(head.commit.scn),
    };
    let mut reader = miner.open(stand_in.connect(), late).unwrap();
    let mut again = Judge::default();
    catch_up(&mut *reader, &mut again);
    assert_eq!((again.heads.len(), again.changes), (1, 20));
}

#[test]
fn a_commit_in_the_log_that_is_not_visible_yet_is_still_open() {
    let stand_in = stand_in(&[]);
    create(&stand_in);
    let miner = miner(&stand_in, Settings::default());
    let (_, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let standby = |name: &str| {
        stand_in.psql(&format!("alter system set synchronous_standby_names = '{name}'"));
        stand_in.psql("select pg_reload_conf()");
        let waited = Instant::now();
        while stand_in.psql("show synchronous_standby_names").trim() != name {
            assert!(waited.elapsed() < PATIENCE);
        }
    };
    standby("nobody");
    let mut held = writer(&stand_in);
    std::thread::scope(|scope| {
        held.execute(r#"insert into "BIZ"."T" values (1, 'held', 1)"#).unwrap();
        let commit = scope.spawn(move || held.execute("commit"));
        let mut judge = Judge::default();
        let waited = Instant::now();
        while judge.heads.is_empty() {
            if let Some(event) = reader.poll().unwrap() {
                judge.take(event);
            }
            assert!(waited.elapsed() < PATIENCE);
        }
        assert_eq!(table(&stand_in), BTreeMap::new(), "no SELECT sees it");
        let open = reader.still_open().unwrap();
        assert!(
            open.len() == 1 && open[0].contains(&judge.heads[0].xid.to_string()),
            "{open:?}"
        );
        // A reader that only notes it says so too.
        let after = Opening {
            mine_from: judge.heads[0].start,
            position: Position::after(judge.heads[0].commit),
        };
        let mut noting = miner.open(stand_in.connect(), after).unwrap();
        let mut nothing = Judge::default();
        catch_up(&mut *noting, &mut nothing);
        assert!(nothing.heads.is_empty());
        assert_eq!(noting.still_open().unwrap().len(), 1);
        standby("");
        commit.join().unwrap().unwrap();
        for reader in [&mut reader, &mut noting] {
            let waited = Instant::now();
            while !reader.still_open().unwrap().is_empty() {
                assert!(waited.elapsed() < PATIENCE);
            }
        }
        assert_eq!(table(&stand_in), judge.table);
    });
}

#[test]
fn an_empty_result_moves_no_position() {
    let stand_in = stand_in(&[]);
    create(&stand_in);
    let miner = miner(&stand_in, small());
    let (_, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    stand_in.psql(r#"insert into "BIZ"."T" values (1, 'a', 1)"#);
    catch_up(&mut *reader, &mut judge);
    let before = reader.progress();
    assert_eq!(before.position, Position::after(judge.heads[0].commit));
    // New files and a later end, but no record of a transaction.
    let visible = reader.visible_end().unwrap();
    stand_in.psql("select pg_logical_emit_message(false, 'nothing', 'at all'); select pg_switch_wal()");
    stand_in.psql("select pg_logical_emit_message(false, 'nothing', 'at all'); select pg_switch_wal()");
    assert!(reader.visible_end().unwrap() > visible);
    catch_up(&mut *reader, &mut judge);
    let after = reader.progress();
    assert_eq!(after.position, before.position);
    // Files that are closed and read whole are not needed again.
    let closed = stand_in.psql(r#"select max("PREV_LSN") from "SYS"."V$ARCH_FILE""#);
    assert!(before.next_scn < after.next_scn && after.next_scn <= Scn(closed.trim().parse().unwrap()));
    assert!(after.complete_to > before.complete_to);
    // Transactions of other tables move it, since their records do come.
    stand_in.psql(r#"insert into "BIZ"."OTHER" values (1)"#);
    catch_up(&mut *reader, &mut judge);
    assert!(reader.progress().position > before.position);
    assert_eq!(judge.heads.len(), 1);
}

#[test]
fn savepoints_undo_newest_first() {
    let script = r#"begin;
        insert into "BIZ"."T" values (1, '1', 1); savepoint s; update "BIZ"."T" set "V" = '2' where "ID" = 1;
        update "BIZ"."T" set "V" = '3' where "ID" = 1; rollback to s; update "BIZ"."T" set "V" = '4' where "ID" = 1; commit;
        begin; insert into "BIZ"."T" values (2, 'b', 1); savepoint s; update "BIZ"."T" set "V" = 'c' where "ID" = 2; rollback to s;
        update "BIZ"."T" set "V" = 'd' where "ID" = 2; savepoint t; delete from "BIZ"."T" where "ID" = 2; rollback to s; commit;
        begin; savepoint a; insert into "BIZ"."T" values (3, 'x', 1); savepoint b; delete from "BIZ"."T" where "ID" = 3;
        rollback to b; rollback to a; insert into "BIZ"."T" values (3, 'y', 1); commit"#;
    let stand_in = stand_in(&[]);
    create(&stand_in);
    let miner = miner(&stand_in, Settings::default());
    let (_, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    stand_in.psql(script);
    catch_up(&mut *reader, &mut judge);
    assert_eq!(judge.table, table(&stand_in));
    let rows: Vec<_> = judge.table.values().cloned().collect();
    assert_eq!(rows, ["4,1", "b,1", "y,1"]);
    assert_eq!(judge.changes, 4, "what was undone never comes");
}

#[test]
fn prepared_transactions_come_with_their_second_phase() {
    let stand_in = stand_in(&[]);
    create(&stand_in);
    let miner = miner(&stand_in, small());
    let (_, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    stand_in.psql(
        r#"begin; insert into "BIZ"."T" values (1, 'p', 1); prepare transaction 'p';
           begin; insert into "BIZ"."T" values (2, 'q', 1); prepare transaction 'q'; insert into "BIZ"."T" values (3, 'r', 1)"#,
    );
    catch_up(&mut *reader, &mut judge);
    assert_eq!(judge.heads.len(), 1);
    stand_in.psql("commit prepared 'p'; ");
    stand_in.psql("rollback prepared 'q'");
    catch_up(&mut *reader, &mut judge);
    assert_eq!(judge.table, table(&stand_in));
    assert!(judge.heads[1].start < judge.heads[0].start);
    assert!(reader.still_open().unwrap().is_empty());
    let _: (Xid, Scn) = (judge.heads[0].xid, judge.heads[0].start);
}

/// F48, over the server's own error.
#[test]
fn an_archive_that_is_listed_and_deleted_is_named() {
    let stand_in = stand_in(&[("SEGMENT_MB", "1")]);
    create(&stand_in);
    let miner = miner(&stand_in, small());
    let (_, mut reader) = miner.open_new(stand_in.connect()).unwrap();
    let mut judge = Judge::default();
    stand_in.psql(r#"insert into "BIZ"."T" values (1, 'a', 1)"#);
    catch_up(&mut *reader, &mut judge);
    stand_in.psql("call logminer.switch()");
    stand_in.psql("select pg_logical_emit_message(false, 'begin', '')");
    let waited = Instant::now();
    let lost = loop {
        let active = stand_in.psql(r#"select "PATH" from "SYS"."V$ARCH_FILE" where "STATUS" = 'ACTIVE'"#);
        if !active.trim().is_empty() {
            break active.trim().to_owned();
        }
        assert!(waited.elapsed() < PATIENCE);
    };
    stand_in.psql(&format!("call logminer.fault('{lost}', 'lost')"));
    stand_in.psql(r#"insert into "BIZ"."T" values (2, 'b', 1)"#);
    let waited = Instant::now();
    let error = loop {
        match reader.poll() {
            Ok(event) => event.into_iter().for_each(|event| judge.take(event)),
            Err(error) => break error,
        }
        assert!(waited.elapsed() < PATIENCE);
    };
    let ErrorKind::LogGone { needed, oldest, detail } = error.kind() else {
        panic!("{error}");
    };
    assert!(
        detail.contains(&format!("file '{lost}' is listed")) && detail.contains("-4546"),
        "{detail}"
    );
    let first = |which: &str| {
        let scn = stand_in.psql(&format!(
            r#"select min("ARCH_LSN") from "SYS"."V$ARCH_FILE" where {which}"#
        ));
        Scn(scn.trim().parse().unwrap())
    };
    assert_eq!(
        (*needed, *oldest),
        (first(&format!("\"PATH\" = '{lost}'")), Some(first("true")))
    );
    assert_eq!(judge.heads.len(), 1);
}
