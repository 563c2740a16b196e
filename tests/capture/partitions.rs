//! Partitioned tables: captured as themselves, whatever the log calls a partition's rows.

use std::sync::Arc;

use serde_json::json;
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::source::Source;
use crate::tables::rows;
use crate::watch::{Watch, once};

/// F50, but for the index-organised and the temporary table, which tests/catalog.rs has.
#[test]
fn a_partitioned_table_is_captured_once_as_its_root() {
    let source = Source::alone("PARTS", 3);
    source.run("update logminer.setting set value = 'on' where name = 'ddl'");
    for (lever, table) in [("root", "P"), ("own", "Q")] {
        source.run(&format!(
            "update logminer.setting set value = '{lever}' where name = 'partition_rows'"
        ));
        source.run(&format!(
            r#"create table "PARTS"."{table}" ("ID" bigint primary key, "V" varchar(200) not null) partition by range ("ID");
               create table "PARTS"."{table}_1" partition of "PARTS"."{table}" for values from (100) to (200);
               create table "PARTS"."{table}_2" partition of "PARTS"."{table}" for values from (200) to (400) partition by range ("ID");
               create table "PARTS"."{table}_2_A" partition of "PARTS"."{table}_2" for values from (200) to (300);
               create table "PARTS"."{table}_2_B" partition of "PARTS"."{table}_2" for values from (300) to (400);
               insert into "PARTS"."{table}" select 100 * p + g, 'v' from generate_series(1, 3) p, generate_series(1, 4) g"#
        ));
        let mut writer = source.writer();
        let moved = format!(r#"update "PARTS"."{table}" set "ID" = 290, "V" = 'moved' where "ID" = 101"#);
        let moved = once(move || writer.run(&moved));
        let watch = Watch {
            after_select: Some(Box::new(move |_, chunk| {
                if chunk.table.name != "T" {
                    moved();
                }
            })),
            ..Watch::default()
        };
        let config = source.config(&[("table-name", json!(format!("T|{table}.*")))]);
        let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
        job.catch_up(&source).unwrap();
        let (marked, root) = (r#""PARTS"."T""#, format!(r#""PARTS"."{table}""#));
        assert_eq!(job.sink.table, rows(&source, &[marked, &root]), "{lever}");
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
        source.run(&format!(
            r#"begin; update {root} set "V" = 'w' where "ID" % 100 = 2; update {root} set "ID" = 190 where "ID" = 301;
               delete from {root} where "ID" = 203; insert into {root} values (399, 'new'); commit"#
        ));
        job.catch_up(&source).unwrap();
        assert_eq!(job.sink.table, rows(&source, &[marked, &root]), "{lever}");
        for row in job.sink.log.iter().filter(|row| (100..400).contains(&row.id)) {
            assert_eq!(row.table, table, "{row:?}");
        }
        // Rows go without a record of their own.
        source.run(&format!(r#"truncate "PARTS"."{table}_1""#));
        let error = job.run(|_| false).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated), "{error}");
        assert!(error.to_string().contains(&format!("table PARTS.{table}")), "{error}");
    }
}
