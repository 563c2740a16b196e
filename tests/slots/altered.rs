//! Tables that are altered while the job is down, without captured statements.

use std::sync::Arc;

use crate::identity::{columns, streamed};
use crate::job::Job;
use crate::source::Source;
use crate::watch::Watch;

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
