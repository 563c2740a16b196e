//! Rows come in the order of the commits.

use std::sync::Arc;

use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

/// F38, F56: 200 updates of one row beside transactions that stay open and end in mixed order, and parents and children in transactions of
/// their own; some of them by the job's own user. Rows come in the order of the commits, not of the first changes.
#[test]
fn short_transactions_on_one_row_come_in_commit_order_whatever_else_is_open() {
    for source in Source::of_each_kind("in_order", 1) {
        let mut job = Job::start(source.config(&[]), Arc::new(Watch::default()), 1).unwrap();
        job.catch_up(&source).unwrap();
        let run = |connection: &mut tidemark::odbc::Connection, sql: &str| {
            connection.execute(&source.named(sql)).unwrap();
        };
        let open = (0..6).map(|n| {
            let mut writer = source.connect();
            run(&mut writer, "begin");
            run(&mut writer, &format!("insert into T values ({}, 'open')", 100 + n));
            writer
        });
        let mut open: Vec<_> = open.collect();
        let (mut short, mut expected) = (source.connect(), Vec::new());
        for n in 1..=200_i64 {
            run(&mut short, &format!(r#"update T set "V" = '{n}' where "ID" = 1"#));
            expected.push(format!("+U 1 {n}"));
            match n % 33 {
                0 => {
                    // 3, 0, 2, 1, … of those that are left: neither first in, first out, nor last in, first out.
                    let left = open.len();
                    let mut writer = open.remove((n as usize / 33 * 3) % left);
                    run(&mut writer, &format!("insert into T values ({}, 'late')", 200 + n));
                    run(&mut writer, "commit");
                    expected.push(format!("+I {} late", 200 + n));
                }
                11 => {
                    run(&mut short, &format!("insert into T values ({}, 'parent')", 1000 + n));
                    run(&mut short, &format!("insert into T values ({}, 'child')", 2000 + n));
                    expected.push(format!("+I {} parent", 1000 + n));
                    expected.push(format!("+I {} child", 2000 + n));
                }
                _ => {}
            }
        }
        assert!(open.is_empty());
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, source.table());
        let rows = job.sink.streamed();
        let rows = rows
            .iter()
            .filter(|row| row.0 != "-U" && row.2 != "open" && row.2 != "marker");
        let rows: Vec<String> = rows.map(|(kind, id, v)| format!("{kind} {id} {v}")).collect();
        assert_eq!(rows, expected);
    }
}
