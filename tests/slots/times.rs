//! Times in both phases.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::job::Job;
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// Where calendars, clocks and zones part.
const TIMES: [&str; 8] = [
    "0001-01-01 00:00:00",
    "1582-10-04 12:00:00",
    "1582-10-10 00:00:00",
    "1582-10-15 00:00:00.000001",
    "1900-12-31 23:59:59",
    "1986-05-04 02:30:00",
    "2024-03-01 08:00:00",
    "9999-12-31 23:59:59.999999",
];

/// F25, F45: a wall clock's time is the one that was written, an instant is the one that was meant, before the start and behind it,
/// whatever zone the writer's session had.
#[test]
fn times_are_the_same_in_a_page_and_in_the_log_whatever_the_zones() {
    for plugin in PLUGINS {
        let source = Source::shared("times", plugin, 0);
        source.run("alter table T add ts timestamp(6), add tz timestamptz(6), add d date");
        let insert = |zone: &str, first: usize| {
            for (number, time) in TIMES.iter().enumerate() {
                source.run(&format!(
                    "set timezone = '{zone}'; insert into T values ({}, 'v', '{time}', '{time}+00', '{time}')",
                    first + number
                ));
            }
        };
        insert("Asia/Shanghai", 0);
        let mut job = Job::start(source.config_whole("json", &[]), Arc::new(Watch::default()), 1).unwrap();
        job.run(|job| job.streams && job.sink.log.len() >= TIMES.len()).unwrap();
        insert("America/New_York", 100);
        job.run(|job| job.sink.log.len() >= 2 * TIMES.len()).unwrap();
        let row = |id: i64| {
            let row = job.sink.log.iter().find(|row| row.id == id).unwrap();
            let mut row: Value = serde_json::from_str(&row.v).unwrap();
            row["ID"] = json!(0);
            row
        };
        for (number, time) in TIMES.iter().enumerate() {
            let (page, log) = (row(number as i64), row(number as i64 + 100));
            assert_eq!(page, log, "{plugin}: {time}");
            let written = source.ask(&format!(
                "select to_char(timestamp '{time}', 'YYYY-MM-DD HH24:MI:SS.US') || ' ' || date '{time}'"
            ));
            let came = [&page["ts"], &page["d"]].map(|value| value.as_str().unwrap());
            assert_eq!(came.join(" "), written, "{plugin}");
            assert_eq!(page["tz"], format!("{}Z", came[0]), "{plugin}");
        }
    }
}
