//! `value.unavailable`: values that the log does not hold.

use std::time::{Duration, Instant};

use serde_json::Value;
use tidemark::error::ErrorKind;
use tidemark::reader::api::Message;
use tidemark::row::layout::{FlinkType, UNBOUNDED};

use crate::binary_row::{Read, read};
use crate::job::{Job, PATIENCE};
use crate::server::{count, shared};

/// Kind, `ID`, `N`, the head of `V`.
type Row = (u8, i64, Option<i64>, String);

fn lobs(schema: &str) {
    shared().psql(&format!(
        r#"update logminer.setting set value = 'out' where name = 'lob';
           create schema "{schema}"; create table "{schema}"."T" ("ID" bigint primary key, "N" decimal(20), "V" clob)"#
    ));
}

/// A row with a large value comes, changes, and goes; then a marker.
fn write(schema: &str) {
    shared().psql(&format!(
        r#"insert into "{schema}"."T" values (1, 1, rpad('A', 2000, 'A'));
           update "{schema}"."T" set "N" = 99999999999 where "ID" = 1;
           update "{schema}"."T" set "N" = 3, "V" = rpad('B', 2000, 'B') where "ID" = 1;
           delete from "{schema}"."T" where "ID" = 1;
           insert into "{schema}"."T" values (2, 2, rpad('C', 2000, 'C'));"#
    ));
}

fn stream(job: &Job, until: i64) -> Result<Vec<Row>, tidemark::error::Error> {
    const KINDS: [FlinkType; 3] = [
        FlinkType::BigInt,
        FlinkType::Int,
        FlinkType::VarChar { length: UNBOUNDED },
    ];
    let begun = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    while rows.last().is_none_or(|row| row.1 != until) {
        assert!(begun.elapsed() < PATIENCE, "{rows:?}");
        let Message::Rows(batch) = job.reader.next(Duration::from_millis(50))? else {
            continue;
        };
        let bytes = batch.bytes();
        let int = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        for row in 0..int(4) {
            let (kind, fields) = read(&bytes[int(int(16) + 4 * row)..int(int(16) + 4 * (row + 1))], &KINDS);
            let [Read::Integer(id), n, Read::Bytes(v)] = &fields[..] else {
                panic!("{fields:?}");
            };
            let n = match n {
                Read::Integer(n) => Some(*n),
                _ => None,
            };
            let v = String::from_utf8(v.clone()).unwrap();
            let v = if v.len() == 2000 { v[..1].to_owned() } else { v };
            rows.push((kind, *id, n, v));
        }
        job.reader.consumed(batch.number())?;
    }
    Ok(rows)
}

fn rows(rows: &[(u8, i64, Option<i64>, &str)]) -> Vec<Row> {
    let marked = |v: &str| v.replace('!', "__debezium_unavailable_value");
    rows.iter()
        .map(|(kind, id, n, v)| (*kind, *id, *n, marked(v)))
        .collect()
}

/// Numbers that do not fit go out as NULL beside them; a value that is not there never does.
#[test]
fn a_value_that_the_log_does_not_hold_is_read_back_marked_or_refused() {
    let options = |policy: Option<&'static str>| -> Vec<(&'static str, Value)> {
        let mut options = vec![("value.on-error", "null".into())];
        options.extend(policy.map(|policy| ("value.unavailable", policy.into())));
        options
    };
    lobs("READ_BACK");
    let job = Job::new(shared(), "READ_BACK", &options(None));
    job.start_stream();
    shared().psql(r#"insert into "READ_BACK"."T" values (7, 7, rpad('Z', 2000, 'Z'))"#);
    assert_eq!(stream(&job, 7).unwrap(), rows(&[(0, 7, Some(7), "Z")]));
    write("READ_BACK");
    let seen = stream(&job, 2).unwrap();
    // The first three may be read back before the row goes, or not; each is one or the other.
    for row in &seen[..5] {
        assert!(
            ["A", "B", "__debezium_unavailable_value"].contains(&row.3.as_str()),
            "{seen:?}"
        );
    }
    assert_eq!(seen[1].2, Some(1));
    assert_eq!(seen[2].2, None, "a number that does not fit");
    assert_eq!(seen[5..], rows(&[(3, 1, Some(3), "!"), (0, 2, Some(2), "C")]));
    assert!(count("READ_BACK", r#"WHERE "ID" IN (7)"#) >= 1);
    assert!(job.metric("valuesReadBack") >= 2 && job.metric("valuesUnavailable") >= 2);
    assert_eq!(job.metric("valuesReadBack") + job.metric("valuesGone"), 5);
    drop(job);

    lobs("PLACEHOLDER");
    let job = Job::new(shared(), "PLACEHOLDER", &options(Some("placeholder")));
    job.start_stream();
    write("PLACEHOLDER");
    assert_eq!(
        stream(&job, 2).unwrap(),
        rows(&[
            (0, 1, Some(1), "!"),
            (1, 1, Some(1), "!"),
            (2, 1, None, "!"),
            (1, 1, None, "!"),
            (2, 1, Some(3), "!"),
            (3, 1, Some(3), "!"),
            (0, 2, Some(2), "!"),
        ])
    );
    assert_eq!((job.metric("valuesReadBack"), job.metric("valuesGone")), (0, 0));
    assert!(job.metric("valuesUnavailable") >= 6);
    assert_eq!(count("PLACEHOLDER", r#"WHERE "ID""#), 0);
    drop(job);

    lobs("REFUSED");
    let job = Job::new(shared(), "REFUSED", &options(Some("fail")));
    job.start_stream();
    write("REFUSED");
    let error = stream(&job, 2).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ValueUnavailable { .. }), "{error}");
    let text = error.to_string();
    for part in ["TM-4002", "'V'", "ID=1", "REFUSED.T", "value.unavailable"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}
