//! The stand-in that these tests share: it writes every statement to its log, and its records can be made to look broken.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::job::PATIENCE;
use crate::support::stand_in::StandIn;

/// What makes a record look broken: a word in its text.
const BROKEN: &str = r#"
alter view "SYS"."V$LOGMNR_CONTENTS" rename to "CONTENTS";
create view "SYS"."V$LOGMNR_CONTENTS" as
select "SCN", "XID", "ROLL_BACK", "SEG_OWNER", "TABLE_NAME", "ROW_ID", "DATA_OBJV#", "RS_ID", "SSN", "CSF", "TIMESTAMP",
       case when "SQL_REDO" like '%is corrupt%' then 1343 when "SQL_REDO" like '%has no words%' then 2 else "STATUS" end as "STATUS",
       case when "SQL_REDO" like '%is truncated%' then 5 else "OPERATION_CODE" end as "OPERATION_CODE",
       case when "SQL_REDO" like '%is truncated%' then 'TRUNCATE TABLE T'
            when "SQL_REDO" like '%makes the server fail%' then (1 / (length("SQL_REDO") - length("SQL_REDO")))::text
            when "SQL_REDO" like '%is no text%' then substr("SQL_REDO", 1, length("SQL_REDO") - 1)
            when "SQL_REDO" like '%is partial%' then regexp_replace("SQL_REDO", ' AND "N" = [0-9.E]+', '')
            else "SQL_REDO" end as "SQL_REDO",
       "DATA_OBJ#"
from "SYS"."CONTENTS";
grant select on "SYS"."V$LOGMNR_CONTENTS" to "TIDEMARK"
"#;

pub fn shared() -> &'static StandIn {
    static SHARED: OnceLock<StandIn> = OnceLock::new();
    SHARED.get_or_init(|| {
        let stand_in = StandIn::start(&[
            ("SEGMENT_MB", "1"),
            (
                "POSTGRES_OPTIONS",
                "log_statement = all\nlog_line_prefix = '%p %u '\nlog_min_error_statement = panic",
            ),
        ]);
        stand_in.psql(BROKEN);
        stand_in
    })
}

/// Table `T` in a schema of its own, with so many rows.
pub fn table(schema: &str, rows: usize) {
    shared().psql(&format!(
        r#"create schema "{schema}";
           create table "{schema}"."T" ("ID" bigint primary key, "N" decimal(20), "V" varchar(2000));
           insert into "{schema}"."T" select g, g, repeat('x', 100) from generate_series(1, {rows}) g;
           analyze "{schema}"."T""#
    ));
}

/// What the connector's sessions that once named a schema have been told, in order.
pub fn statements(schema: &str) -> Vec<(u32, String)> {
    let log = std::fs::read_to_string(shared().directory().join("server.log")).unwrap();
    let all: Vec<(u32, String)> = log
        .lines()
        .filter_map(|line| {
            let (process, rest) = line.split_once(' ')?;
            let (user, rest) = rest.split_once(' ')?;
            let (_, statement) = rest.split_once("statement: ")?;
            (user == "TIDEMARK").then_some((process.parse().ok()?, statement.to_owned()))
        })
        .collect();
    let name = format!("\"{schema}\"");
    let quoted = format!("'{schema}'");
    let of_it: Vec<u32> = all
        .iter()
        .filter(|(_, statement)| statement.contains(&name) || statement.contains(&quoted))
        .map(|(process, _)| *process)
        .collect();
    all.into_iter().filter(|(process, _)| of_it.contains(process)).collect()
}

pub fn count(schema: &str, words: &str) -> usize {
    let all = statements(schema);
    all.iter().filter(|(_, statement)| statement.contains(words)).count()
}

/// Waits until a question is answered with `t`.
pub fn until(question: &str) {
    let begun = Instant::now();
    while shared().psql(question).trim() != "t" {
        assert!(begun.elapsed() < PATIENCE, "it does not come to: {question}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
