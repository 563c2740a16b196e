//! The start-up check.

use serde_json::Value;
use tidemark::error::{Error, ErrorKind};

use crate::job::Job;
use crate::support::stand_in::StandIn;

fn refusal(stand_in: &StandIn) -> Error {
    let none: [(&str, Value); 0] = [];
    match Job::new(stand_in, "BIZ", &none).survey() {
        Ok(_) => panic!("the set-up is not refused"),
        Err(error) => error,
    }
}

#[test]
fn everything_that_stands_in_the_way_is_said_at_once() {
    let stand_in = StandIn::start(&[]);
    stand_in.psql(
        r#"create schema "BIZ"; create table "BIZ"."T" ("ID" bigint, "N" decimal(20), "V" varchar(2000));
           revoke pg_read_all_data from "TIDEMARK"; grant usage on schema "BIZ" to "TIDEMARK";
           revoke select on "SYS"."V$TRX", "SYS"."V$ARCH_FILE" from "TIDEMARK";
           revoke execute on all procedures in schema dbms_logmnr from "TIDEMARK";
           update logminer.ini set para_value = '1' where para_name = 'RLOG_APPEND_LOGIC';
           update logminer.ini set para_value = '0' where para_name = 'RLOG_IGNORE_TABLE_SET'"#,
    );
    let text = refusal(&stand_in).to_string();
    for part in [
        "TM-1005",
        "GRANT SELECT ON SYS.V$TRX is needed",
        "GRANT SELECT ON SYS.V$ARCH_FILE is needed",
        "GRANT EXECUTE ON SYS.DBMS_LOGMNR is needed",
        "RLOG_APPEND_LOGIC is 1 and must be 2",
        "RLOG_IGNORE_TABLE_SET is 0 and must be 1",
        "table BIZ.T",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // What is repaired is said no more; the last one is said as itself.
    stand_in.psql(
        r#"grant select on "SYS"."V$TRX", "SYS"."V$ARCH_FILE" to "TIDEMARK"; grant pg_read_all_data to "TIDEMARK";
           grant execute on all procedures in schema dbms_logmnr to "TIDEMARK";
           update logminer.ini set para_value = '2' where para_name = 'RLOG_APPEND_LOGIC'"#,
    );
    let text = refusal(&stand_in).to_string();
    assert!(
        text.contains("TM-1005 2 things") && text.contains("primary key"),
        "{text}"
    );
    stand_in.psql(r#"update logminer.ini set para_value = '1' where para_name = 'RLOG_IGNORE_TABLE_SET'"#);
    let error = refusal(&stand_in);
    assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
    stand_in.psql(r#"alter table "BIZ"."T" add primary key ("ID")"#);
    let none: [(&str, Value); 0] = [];
    Job::new(&stand_in, "BIZ", &none).survey().unwrap();
}
