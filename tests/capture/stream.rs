//! The log phase: long transactions, shared scns, a quiet log.

use crate::job::Job;
use crate::source::Source;
use crate::watch::{Watch, once};

/// Twenty mining calls and archives lie between its first record and its COMMIT, and three restarts.
#[test]
fn transaction_across_many_windows_and_a_restart() {
    let source = Source::shared("WINDOWS", 2);
    let mut long = source.writer();
    long.run("begin; insert into T values (100, 'long')");
    let mut job = Job::of(&source, Watch::default());
    for n in 1..20 {
        long.run(&format!("insert into T values ({}, 'long')", 100 + n));
        source.run("select pg_switch_wal()");
        job.catch_up(&source).unwrap();
        if n % 6 == 0 {
            job.checkpoint().unwrap();
            job = job.restart(1).unwrap();
        }
    }
    assert!(job.sink.table.range(100..200).next().is_none());
    long.run("commit");
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    assert_eq!(job.sink.table.range(100..200).count(), 20);
    let transactions = job.sink.transactions();
    assert_eq!(transactions.iter().filter(|(_, rows)| *rows == 20).count(), 1);
    assert_eq!(transactions.len(), 21, "each marker and the long one");
}

/// Neither point nor offset can say "up to this scn": page and stream take commits of one scn apart, also after a restart
/// behind any of them.
#[test]
fn commits_that_share_an_scn() {
    let source = Source::alone("SHARED_SCN", 4);
    source.run("update logminer.setting set value = '65536' where name = 'granularity'");
    let script = |name: &str, from: i64| -> String {
        (from..from + 10)
            .map(|n| {
                format!(
                    r#"begin; insert into T values ({n}, '{name}'); update T set "V" = '{name} {n}' where "ID" <= 4; commit;"#
                )
            })
            .collect()
    };
    let (mut beside, statements) = (source.writer(), script("during", 10));
    let during = once(move || statements.split_inclusive("commit;").for_each(|sql| beside.run(sql)));
    let mut job = Job::of(
        &source,
        Watch {
            after_select: Some(Box::new(move |_, _| during())),
            ..Watch::default()
        },
    );
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    source.run(&script("after", 30));
    let mut units = 0;
    while job.sink.table != source.table() {
        job.unit().unwrap();
        units += 1;
        if units % 9 == 0 {
            job.checkpoint().unwrap();
            job.unit().unwrap();
            job = job.restart(1).unwrap();
        }
    }
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let transactions = job.sink.transactions();
    assert!(
        transactions[transactions.len() - 11..][..10]
            .iter()
            .all(|(_, rows)| *rows == 9),
        "{transactions:?}"
    );
    let mut scns: Vec<_> = job.sink.log.iter().filter_map(|row| row.scn).collect();
    scns.dedup();
    assert!(
        scns.len() < transactions.len() / 2,
        "{scns:?} of {} commits",
        transactions.len()
    );
}

/// F38: 200 updates of one row beside transactions that stay open and end in mixed order, and parents and children in
/// transactions of their own: rows come in the order of the commits, not of the first changes.
#[test]
fn short_transactions_on_one_row_come_in_commit_order_whatever_else_is_open() {
    let source = Source::shared("IN_ORDER", 1);
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    let mut open: Vec<_> = (0..6)
        .map(|n| {
            let mut writer = source.writer();
            writer.run(&format!("begin; insert into T values ({}, 'open')", 100 + n));
            writer
        })
        .collect();
    let (mut short, mut expected) = (source.writer(), Vec::new());
    for n in 1..=200_i64 {
        short.run(&format!(r#"update T set "V" = '{n}' where "ID" = 1"#));
        expected.push(vec![1, 1]);
        match n % 33 {
            0 => {
                // 3, 0, 2, 1, … of those that are left: neither first in, first out, nor last in, first out.
                let left = open.len();
                let mut writer = open.remove((n as usize / 33 * 3) % left);
                writer.run(&format!("insert into T values ({}, 'late'); commit", 200 + n));
                expected.push(vec![0, 200 + n]);
            }
            11 => {
                short.run(&format!("insert into T values ({}, 'parent')", 1000 + n));
                short.run(&format!("insert into T values ({}, 'child of {}')", 2000 + n, 1000 + n));
                expected.extend([vec![1000 + n], vec![2000 + n]]);
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let values: Vec<String> = job
        .sink
        .streamed()
        .iter()
        .filter(|(kind, id, _)| (*kind, *id) == ("+U", 1))
        .map(|(_, _, v)| (*v).to_owned())
        .collect();
    assert_eq!(values, (1..=200).map(|n: i64| n.to_string()).collect::<Vec<_>>());
    // The first row of an open one says which it was; the order of the rest is all there is to know.
    let mut rows = job.sink.log.iter().filter(|row| row.xid.is_some()).map(|row| row.id);
    let mut come: Vec<Vec<i64>> = job
        .sink
        .transactions()
        .into_iter()
        .map(|(_, size)| rows.by_ref().take(size).collect())
        .filter(|ids: &Vec<i64>| ids[0] < 1_000_000)
        .collect();
    for ids in come.iter_mut().filter(|ids| (100..200).contains(&ids[0])) {
        ids[0] = 0;
    }
    assert_eq!(come, expected);
    let scns: Vec<_> = job.sink.log.iter().filter_map(|row| row.scn).collect();
    assert!(scns.is_sorted(), "{scns:?}");
}

/// F56: who wrote a row does not matter: neither the connector's own user nor SYSDBA is left out; nor does it when its
/// transaction began.
#[test]
fn changes_by_the_connectors_own_user_and_by_the_administrator_are_captured() {
    let source = Source::shared("WRITERS", 1);
    let own = source.stand_in.endpoint().username;
    source.run(&format!(
        r#"grant usage on schema "WRITERS" to "{own}"; grant select, insert, update, delete on T to "{own}";
           create table "WRITERS"."ASIDE" ("ID" bigint primary key); grant insert on "WRITERS"."ASIDE" to "{own}""#
    ));
    let (mut connector, mut administrator) = (source.writer_as_connector(), source.writer());
    let mut job = Job::of(&source, Watch::default());
    job.catch_up(&source).unwrap();
    for (writer, id) in [(&mut connector, 10), (&mut administrator, 20)] {
        writer.run(&format!("insert into T values ({id}, 'a'), ({}, 'gone')", id + 1));
        writer.run(&format!(r#"update T set "V" = 'b' where "ID" = {id}"#));
        writer.run(&format!(r#"delete from T where "ID" = {}"#, id + 1));
        // Its START and first record are mined long before it touches the table.
        writer.run(&format!(r#"begin; insert into "WRITERS"."ASIDE" values ({id})"#));
    }
    for _ in 0..2 {
        source.run("select pg_switch_wal()");
        job.catch_up(&source).unwrap();
    }
    for (writer, id) in [(&mut connector, 10), (&mut administrator, 20)] {
        writer.run(&format!("insert into T values ({}, 'later')", id + 2));
        writer.run("commit");
    }
    job.catch_up(&source).unwrap();
    assert_eq!(job.sink.table, source.table());
    let streamed = job.sink.streamed();
    for id in [10, 20] {
        for row in [
            ("+I", id, "a"),
            ("-U", id, "a"),
            ("+U", id, "b"),
            ("+I", id + 1, "gone"),
            ("-D", id + 1, "gone"),
            ("+I", id + 2, "later"),
        ] {
            assert!(streamed.contains(&row), "{row:?} is missing in {streamed:?}");
        }
    }
}
