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
