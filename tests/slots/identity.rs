//! What the log has of rows that were and of values that stay, and what becomes of the rest.

use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// A key, a column `C` that is NOT NULL and others, `V` and what tests know a row by.
pub fn columns(others: &[(&str, &str)]) -> Value {
    let of = |name: &str, kind: &str, nullable: bool| json!({"name": name, "type": kind, "nullable": nullable});
    let mut columns = vec![of("ID", "BIGINT", false)];
    columns.extend(others.iter().map(|(name, kind)| of(name, kind, *name != "C")));
    columns.push(of("V", "STRING", true));
    for (name, kind, metadata, nullable) in [
        ("at", "BIGINT", "scn", true),
        ("by", "BIGINT", "transaction_id", true),
        ("of", "STRING", "table_name", false),
    ] {
        columns.push(json!({"name": name, "type": kind, "metadata": metadata, "nullable": nullable}));
    }
    json!(columns)
}

/// A job whose rows are only noted: a sink by key would take them.
fn started(source: &Source, options: &[(&str, Value)], others: &[(&str, &str)]) -> tidemark::error::Result<Job> {
    let mut job = Job::start(
        source.config_of(options, columns(others)),
        Arc::new(Watch::default()),
        1,
    )?;
    job.sink.keyless = true;
    job.run_to_stream()?;
    Ok(job)
}

pub fn streamed(job: &Job) -> Vec<(&str, &str, &str)> {
    let rows = job.sink.log.iter().filter(|row| row.xid.is_some());
    rows.map(|row| (row.kind, row.key.as_str(), row.v.as_str())).collect()
}

const C: [(&str, &str); 1] = [("C", "INT")];

/// An update, a key change and a delete by each replica identity: `upsert` has of a row that leaves its key alone, or all of it,
/// and never a value that the log has not; `all` has whole rows or does not start.
#[test]
fn each_replica_identity_gives_what_it_has() {
    let upsert = [("changelog-mode", json!("upsert"))];
    for plugin in PLUGINS {
        let source = Source::shared("identities", plugin, 1);
        source.run(r#"alter table T add "C" int not null default 7; create unique index other on T ("ID")"#);
        for (identity, known) in [
            ("default", false),
            ("using index other", false),
            ("full", true),
            ("nothing", false),
        ] {
            source.run(&format!("alter table T replica identity {identity}"));
            if identity == "nothing" {
                for options in [&upsert[..], &[]] {
                    let error = started(&source, options, &C).map(drop).unwrap_err();
                    let statement = format!("ALTER TABLE {}.t REPLICA IDENTITY FULL", source.schema);
                    assert!(error.to_string().contains(&statement), "{plugin}: {error}");
                }
                continue;
            }
            for (options, is_all) in [(&upsert[..], false), (&[], true)] {
                let started = started(&source, options, &C);
                if is_all && !known {
                    let error = started.map(drop).unwrap_err();
                    let statement = format!("ALTER TABLE {}.t REPLICA IDENTITY FULL", source.schema);
                    assert!(
                        error.to_string().contains(&statement) && !error.is_retryable(),
                        "{plugin}: {error}"
                    );
                    continue;
                }
                let mut job = started.unwrap();
                source.run("delete from T where \"ID\" > 1");
                source.run(r#"insert into T values (2, 'a')"#);
                source.run(r#"update T set "V" = 'b' where "ID" = 2; update T set "ID" = 3 where "ID" = 2; delete from T where "ID" = 3"#);
                let row = |id: u32, c: &str| format!("[Integer({id}), {c}]");
                let (two, three) = (row(2, "Integer(7)"), row(3, "Integer(7)"));
                // What is not known is NULL, in a column that is NOT NULL too.
                let gone = |id: u32| row(id, if known { "Integer(7)" } else { "Null" });
                let (two_gone, three_gone) = (gone(2), gone(3));
                let v = if known { "b" } else { "NULL" };
                let mut expected = vec![("+I", &*two, "a")];
                if is_all {
                    expected.push(("-U", &*two, "a"));
                }
                expected.extend([
                    ("+U", &*two, "b"),
                    ("-D", &*two_gone, v),
                    ("+I", &*three, "b"),
                    ("-D", &*three_gone, v),
                ]);
                job.run(|job| streamed(job).len() >= expected.len()).unwrap();
                assert_eq!(streamed(&job), expected, "{plugin}, {identity}");
            }
        }
    }
}

/// Types that may be stored out of their row, as they are declared in Flink, and a large value of each.
const KINDS: [(&str, &str, &str); 11] = [
    ("text", "STRING", "noise"),
    ("varchar(9000)", "STRING", "noise"),
    ("char(9000)", "STRING", "noise"),
    ("bytea", "BYTES", "decode(noise || noise, 'hex')"),
    ("numeric", "STRING", "digits::numeric"),
    ("jsonb", "STRING", "json_build_object('k', noise)::jsonb"),
    ("json", "STRING", "json_build_object('k', noise)"),
    ("text[]", "STRING", "array[noise, 'it''s']"),
    ("int[]", "STRING", "array(select g from generate_series(1, 2500) g)"),
    ("bit varying", "STRING", "repeat(digits, 4)::varbit"),
    ("tsvector", "STRING", "to_tsvector('simple', words)"),
];

/// `F09`, `F44`. A value of any type that an update leaves alone is never NULL: of the old row, where the log has it; else read back,
/// or what `value.unavailable` says.
#[test]
fn a_value_of_any_type_that_stays_out_of_its_row_is_whole_or_what_the_job_says() {
    let names: Vec<String> = (0..KINDS.len()).map(|number| format!("K{number}")).collect();
    let declared: Vec<(&str, &str)> = names
        .iter()
        .zip(KINDS)
        .map(|(name, kind)| (name.as_str(), kind.1))
        .collect();
    for plugin in PLUGINS {
        let source = Source::shared("kinds", plugin, 0);
        for (name, (kind, ..)) in names.iter().zip(KINDS) {
            source.run(&format!(
                r#"alter table T add "{name}" {kind}; alter table T alter "{name}" set storage external"#
            ));
        }
        let insert = |id: u32| {
            let values: Vec<&str> = KINDS.iter().map(|kind| kind.2).collect();
            source.run(&format!(
                "insert into T select {id}, 'a', {} from (select string_agg(md5(g::text), '') as noise, \
                 string_agg(md5(g::text), ' ') as words, \
                 string_agg((g % 2)::text, '') || repeat('1', 6000) as digits from generate_series(1, 100) g) x",
                values.join(", ")
            ));
        };
        let change = |id: u32| source.run(&format!(r#"update T set "V" = 'b' where "ID" = {id}"#));
        let upsert = |policy: &str| {
            [
                ("changelog-mode", json!("upsert")),
                ("value.unavailable", json!(policy)),
            ]
        };
        let inserted = |job: &Job| streamed(job)[0].1.to_owned();

        // The old row has them.
        insert(1);
        let mut job = started(&source, &[], &declared).unwrap();
        change(1);
        job.run(|job| streamed(job).len() >= 2).unwrap();
        let whole = job.sink.log[0].key.clone();
        assert!(whole.len() > 40_000 && !whole.contains("Null"), "{whole}");
        assert_eq!(streamed(&job), [("-U", &*whole, "a"), ("+U", &*whole, "b")], "{plugin}");
        drop(job);

        source.run("alter table T replica identity default");
        let mut job = started(&source, &upsert("read-back"), &declared).unwrap();
        insert(2);
        change(2);
        job.run(|job| streamed(job).len() >= 2).unwrap();
        assert_eq!(streamed(&job)[1], ("+U", &*inserted(&job), "b"), "{plugin}");
        // A row that is gone when it is looked up: its DELETE follows.
        job.behind_its_back(|| {
            change(2);
            source.run(r#"delete from T where "ID" = 2"#);
        });
        job.run(|job| streamed(job).len() >= 4).unwrap();
        let (_, gone, _) = streamed(&job)[2];
        assert_eq!(
            gone.matches("Null").count(),
            1,
            "numeric alone has no placeholder: {gone}"
        );
        assert_eq!(streamed(&job)[3].0, "-D");
        drop(job);

        let wide: Vec<(&str, &str)> = declared.iter().copied().filter(|(name, _)| *name != "K4").collect();
        let mut job = started(&source, &upsert("placeholder"), &wide).unwrap();
        insert(3);
        change(3);
        job.run(|job| streamed(job).len() >= 2).unwrap();
        let marker = format!("{:?}", tidemark::unavailable::PLACEHOLDER.as_bytes());
        let with_markers = streamed(&job)[1].1.to_owned();
        let rest = with_markers.replace(&marker, "marker");
        assert_eq!(rest.matches("marker").count(), wide.len(), "{plugin}: {rest}");
        drop(job);
        for (policy, column) in [("fail", 0), ("placeholder", 4)] {
            let mut job = started(&source, &upsert(policy), &declared[column..=column]).unwrap();
            change(3);
            let error = job.run(|job| !streamed(job).is_empty()).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::ValueUnavailable { .. }),
                "{plugin}: {error}"
            );
            assert!(error.to_string().contains(&format!("'{}'", names[column])), "{error}");
        }
    }
}

/// The log of `pgoutput` has no generated columns: of a row that is they are read back, of one that was a text is the placeholder and a
/// number an error. `test_decoding` has them all.
#[test]
fn generated_columns_are_what_the_log_has_of_them_read_back_or_an_error_by_name() {
    let marker = format!("Bytes({:?})", tidemark::unavailable::PLACEHOLDER.as_bytes());
    let text = |text: &str| format!("Bytes({:?})", text.as_bytes());
    for plugin in PLUGINS {
        let source = Source::shared("generated", plugin, 1);
        source.run(
            r#"alter table T add "TWICE" bigint generated always as ("ID" * 2) stored, add "LOUD" text generated always as (upper("V")) stored"#,
        );
        let (twice, loud) = (("TWICE", "BIGINT"), ("LOUD", "STRING"));
        let change = |id: u32| {
            source.run(&format!("insert into T values ({id}, 'a')"));
            source.run(&format!(r#"update T set "V" = 'b' where "ID" = {id}"#));
        };
        let mut job = started(&source, &[], &[loud]).unwrap();
        change(5);
        job.run(|job| streamed(job).len() >= 3).unwrap();
        let has_all = plugin == "test_decoding";
        let was = if has_all { text("A") } else { marker.clone() };
        let expected = format!("[Integer(5), {was}]");
        let of = |kind: &str| {
            streamed(&job)
                .into_iter()
                .find(|row| row.0 == kind)
                .unwrap()
                .1
                .to_owned()
        };
        assert_eq!(
            (of("-U"), of("+U")),
            (expected, format!("[Integer(5), {}]", text("B"))),
            "{plugin}"
        );
        drop(job);
        let mut job = started(&source, &[], &[twice]).unwrap();
        change(6);
        let done = job.run(|job| streamed(job).len() >= 3);
        if has_all {
            done.unwrap();
            assert!(streamed(&job).iter().all(|row| row.1 == "[Integer(6), Integer(12)]"));
        } else {
            let error = done.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ValueUnavailable { .. }), "{error}");
            assert!(error.to_string().contains("column 'TWICE'"), "{error}");
        }
        drop(job);
        let mut job = started(&source, &[("changelog-mode", json!("upsert"))], &[twice, loud]).unwrap();
        change(7);
        job.run(|job| streamed(job).len() >= 2).unwrap();
        let expected = format!("[Integer(7), Integer(14), {}]", text("B"));
        assert_eq!(streamed(&job)[1].1, expected, "{plugin}");
    }
}
