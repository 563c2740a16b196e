//! A table without a key.

use std::sync::Arc;

use serde_json::json;

use crate::job::Job;
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// F36: it is refused by its name or, where that is asked for, read whole: rows that are alike are as many as they are.
#[test]
fn rows_that_are_alike_come_as_often_as_they_are_there_or_are_refused() {
    for plugin in PLUGINS {
        let source = Source::shared("keyless", plugin, 7);
        source
            .run(r#"alter table T drop constraint t_pkey; insert into T select 8, 'same' from generate_series(1, 3)"#);
        let mut refused = match Job::start(source.config(&[]), Arc::new(Watch::default()), 1) {
            Ok(mut job) => job.unit().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        refused.make_ascii_lowercase();
        let named = format!("{}.t", source.schema);
        assert!(
            refused.contains("table-without-key") && refused.contains(&named),
            "{refused}"
        );
        let options = [("table-without-key", json!("reread"))];
        let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
        job.sink.keyless = true;
        job.run(|job| job.streams && job.sink.log.len() >= 10).unwrap();
        assert_eq!(job.sink.snapshot_rows(), 10);
        let alike = job.sink.log.iter().filter(|row| row.v == "same").count();
        assert_eq!(alike, 3);
        let one = "(select min(ctid) from T where \"ID\" = 8)";
        source.run(&format!("delete from T where ctid = {one}"));
        source.run(&format!("update T set \"V\" = 'other' where ctid = {one}"));
        job.run(|job| job.sink.log.len() >= 13).unwrap();
        assert_eq!(
            job.sink.streamed(),
            [("-D", 8, "same"), ("-U", 8, "same"), ("+U", 8, "other")],
            "{plugin}"
        );
    }
}
