//! What `sql/setup/dameng.sql` grants: all that the statements need, and no more.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::mining::Mining;
use tidemark::dialect::{Dialect, Query};
use tidemark::position::Scn;
use tidemark::split::TableName;

use crate::job::Job;
use crate::setup::{granted, refusal, server, survey};

/// The lines that give a right to the connector's user, without their comments: what is given, on what.
pub fn of(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(|line| line.trim().split("--").next().unwrap().trim());
    lines
        .filter_map(|line| line.strip_prefix("GRANT ")?.strip_suffix(" TO TIDEMARK;"))
        .map(|right| {
            let (what, on) = right.split_once(" ON ").unwrap_or((right, ""));
            (what.to_owned(), on.to_owned())
        })
        .collect()
}

pub fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

pub const SCRIPT: &str = "sql/setup/dameng.sql";
pub const ONLY_FOR_TIMES: &str = "SYS.V$LSN_TIME";

/// The objects of schema SYS that a text names, in SQL or in source text that holds SQL; without those that are open to
/// every user.
fn needing_a_grant(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\"", "\"");
    let names = text
        .split("\"SYS\".\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    names
        .filter(|name| !name.starts_with("ALL_") && *name != "{view}")
        .map(|name| format!("SYS.{name}"))
        .collect()
}

fn statements() -> Vec<Query> {
    let table = TableName {
        schema: "BIZ".into(),
        name: "T".into(),
    };
    let mut all = vec![
        Dameng.database_name(),
        Dameng.tables(),
        Dameng.partitions(&[1]),
        Dameng.names_have_case(),
        Dameng.table(&table),
        Dameng.columns(&table),
        Dameng.keys(&table),
        Dameng.sorted(&["a", "b"]),
        Dameng.column_marks(1).unwrap(),
        Dameng.visible_end(),
        Dameng.incarnation(),
        Dameng.archives(),
        Dameng.open_transactions(),
        Dameng.known_times("2026-01-02 10:20:30"),
        Dameng.setup(),
        Dameng.contents(&[&table]),
    ];
    let calls = [
        Dameng.add_file("a", true),
        Dameng.start(Scn(1)),
        Dameng.end(),
        Dameng.switch_log(),
    ];
    all.extend(calls.into_iter().map(|sql| Query {
        sql,
        columns: Vec::new(),
    }));
    all
}

#[test]
fn every_object_that_a_statement_reads_is_granted_and_no_other_one() {
    let texts: Vec<String> = statements().into_iter().map(|query| query.sql).collect();
    let read_by_statements = needing_a_grant(&texts.join("\n"));
    assert!(read_by_statements.contains(ONLY_FOR_TIMES));
    // A statement that the list above does not have.
    let sources = read("rust/dialect/dameng.rs") + &read("rust/dialect/dameng/mining.rs");
    assert_eq!(needing_a_grant(&sources), read_by_statements);

    // The check at the start asks for each of them.
    let probed = Dameng.probes().into_iter().chain([Dameng.times_probe()]);
    let probed: BTreeSet<String> = probed
        .filter_map(|probe| probe.needs.strip_prefix("GRANT SELECT ON ").map(str::to_owned))
        .collect();
    assert_eq!(probed, read_by_statements);

    for file in [SCRIPT, "docs/dameng.md"] {
        let text = read(file);
        let grants = of(&text);
        let selects: Vec<&String> = (grants.iter())
            .filter(|(what, on)| what == "SELECT" && on.starts_with("SYS."))
            .map(|(_, on)| on)
            .collect();
        let unique: BTreeSet<String> = selects.iter().map(|on| (*on).clone()).collect();
        assert_eq!(unique, read_by_statements, "{file}");
        assert_eq!(unique.len(), selects.len(), "{file} grants one twice");
        let others: Vec<_> = (grants.iter())
            .filter(|(what, on)| what != "SELECT" || on == ONLY_FOR_TIMES)
            .map(|(what, on)| (what.as_str(), on.as_str()))
            .collect();
        let session = ("CREATE SESSION", "");
        let package = ("EXECUTE", "SYS.DBMS_LOGMNR");
        assert_eq!(others, [session, package, ("SELECT", ONLY_FOR_TIMES)], "{file}");
        let marked =
            |line: &str| line.contains(ONLY_FOR_TIMES) && line.contains("only for scan.startup.mode = 'timestamp'");
        assert_eq!(text.lines().filter(|line| marked(line)).count(), 1, "{file}");
    }
    // The script sets what the check looks at.
    for line in [
        "SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2);",
        "SP_SET_PARA_VALUE(1, 'RLOG_IGNORE_TABLE_SET', 1);",
        "SP_CREATE_SYSTEM_PACKAGES(1, 'DBMS_LOGMNR');",
    ] {
        for file in [SCRIPT, "docs/dameng.md"] {
            assert!(read(file).contains(line), "{line} is missing in {file}");
        }
    }
}

/// The user has what the script gives and nothing else, and every single one of them is needed.
#[test]
fn a_user_with_exactly_the_scripts_grants_passes_the_check_and_captures() {
    let stand_in = server();
    granted(&stand_in);
    survey(&stand_in, &[]).unwrap();
    stand_in.psql(r#"insert into "BIZ"."T" values (1, 10, 'a'), (2, 20, 'b')"#);
    let none: [(&str, Value); 0] = [];
    assert_eq!(Job::new(&stand_in, "BIZ", &none).snapshot().unwrap().len(), 2);
    let job = Job::new(&stand_in, "BIZ", &none);
    job.start_stream();
    stand_in.psql(r#"insert into "BIZ"."T" values (3, 30, 'c')"#);
    assert_eq!(job.stream(1).unwrap()[0].1, 3);
    drop(job);

    // Times are asked for where the job begins at one.
    let known = r#"select count(*) > 0 from "SYS"."V$LSN_TIME""#;
    let begun = std::time::Instant::now();
    while stand_in.psql(known).trim() != "t" {
        assert!(begun.elapsed() < crate::job::PATIENCE, "no time is noted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let at_a_time = [
        ("scan.startup.mode", json!("timestamp")),
        ("scan.startup.timestamp-millis", json!(1_700_000_000_000_u64)),
    ];
    survey(&stand_in, &at_a_time).unwrap();
    stand_in.psql(r#"revoke select on "SYS"."V$LSN_TIME" from "TIDEMARK""#);
    survey(&stand_in, &[]).unwrap();
    let text = refusal(&stand_in, &at_a_time).to_string();
    assert!(text.contains("GRANT SELECT ON SYS.V$LSN_TIME is needed"), "{text}");
}
