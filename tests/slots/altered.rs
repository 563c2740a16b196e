//! Tables that are altered while the job is down or takes its snapshot, without captured statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::identity::{columns, streamed};
use crate::job::Job;
use crate::source::{PLUGINS, Source, shared_face};
use crate::watch::{Watch, once};

/// F46, F10: rows are read by the columns that they have in the log, not by those of the state or of now.
#[test]
fn a_column_added_while_the_job_is_down_is_null_in_older_rows() {
    for source in Source::of_each_kind("evolved", 2) {
        let start = |others| source.config_of(&[], columns(others));
        let mut job = Job::start(start(&[]), Arc::new(Watch::default()), 1).unwrap();
        job.sink.keyless = true;
        job.run_to_stream().unwrap();
        source.run("insert into T values (10, 'first')");
        job.run(|job| job.sink.log.len() == 3).unwrap();
        job.checkpoint().unwrap();
        let savepoint = job.completed().clone();
        drop(job);
        for statement in [
            "insert into T values (11, 'x')",
            r#"update T set "V" = 'y' where "ID" = 11"#,
            r#"alter table T add "NOTE" varchar(20)"#,
            "insert into T values (12, 'z', 'note')",
            r#"update T set "NOTE" = 'more' where "ID" in (11, 12)"#,
        ] {
            source.run(statement);
        }
        let declared = start(&[("NOTE", "STRING")]);
        let mut job = Job::open(declared, Arc::new(Watch::default()), 1, savepoint).unwrap();
        job.run(|job| job.sink.log.len() >= 3 + 8).unwrap();
        let rows = streamed(&job);
        let row = |kind: &str, id: u32, note: &str, v: &str| {
            let note = match note {
                "" => "Null".to_owned(),
                note => format!("Bytes({:?})", note.as_bytes()),
            };
            (kind.to_owned(), format!("[Integer({id}), {note}]"), v.to_owned())
        };
        let rows = rows[1..]
            .iter()
            .map(|(kind, key, v)| (kind.to_string(), key.to_string(), v.to_string()));
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                row("+I", 11, "", "x"),
                row("-U", 11, "", "x"),
                row("+U", 11, "", "y"),
                row("+I", 12, "note", "z"),
                row("-U", 11, "", "y"),
                row("+U", 11, "more", "y"),
                row("-U", 12, "note", "z"),
                row("+U", 12, "more", "z"),
            ]
        );
    }
}

/// Pages are read in the columns that their table has at that time, whether a SELECT would fail without that or not.
#[test]
fn what_is_done_to_a_table_during_the_snapshot_is_in_the_pages_behind_it() {
    for (name, statement, row) in [
        (
            "added",
            r#"alter table T add "B" int; insert into T values (29, 'new', 5)"#,
            r#"{"ID":29,"V":"new","B":5}"#,
        ),
        (
            "dropped",
            r#"alter table T drop "V"; insert into T values (29)"#,
            r#"{"ID":29}"#,
        ),
        (
            "retyped",
            r#"alter table T alter "V" type decimal(9, 3) using 1.125; insert into T values (29, 2)"#,
            r#"{"ID":29,"V":"2.000"}"#,
        ),
        (
            "renamed",
            r#"alter table T rename "V" to "W"; alter table T add "V" int; insert into T values (29, 'new', 5)"#,
            r#"{"ID":29,"W":"new","V":5}"#,
        ),
    ] {
        let schema = format!("during_{name}");
        let sources = [
            Source::shared(&schema, PLUGINS[0], 25),
            Source::shared(&schema, PLUGINS[1], 25),
            Source::on_face(shared_face(), &schema, 25),
        ];
        for source in sources {
            let (mut session, statement) = (source.connect(), source.named(statement));
            let change = once(move || session.execute(&statement).unwrap());
            let selects = AtomicUsize::new(0);
            let watch = Watch {
                before_select: Some(Box::new(move |_, _| {
                    if selects.fetch_add(1, Ordering::SeqCst) == 1 {
                        change();
                    }
                })),
                ..Watch::default()
            };
            let config = source.config_whole("json", &[("scan.snapshot.connections", json!(1))]);
            let mut job = Job::start(config, Arc::new(watch), 1).unwrap();
            job.run_to_stream().unwrap();
            assert_eq!(job.sink.table[&1], r#"{"ID":1,"V":"v"}"#, "{name}");
            assert_eq!(job.sink.table[&29], row, "{name}");
        }
    }
}
