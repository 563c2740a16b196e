//! The start-up check.

use std::sync::{Mutex, MutexGuard, OnceLock};

use serde_json::{Value, json};
use tidemark::error::{Error, ErrorKind, Result};

use crate::grants;
use crate::job::Job;
use crate::support::stand_in::StandIn;

/// The stand-in of these tests, which take turns: each begins with [`granted`].
pub fn server() -> MutexGuard<'static, StandIn> {
    static SERVER: OnceLock<Mutex<StandIn>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Mutex::new(StandIn::start(&[])));
    server.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A server that is set up as `sql/setup/dameng.sql` does it, with a table `BIZ.T`: the user has what the script grants, and
/// nothing else but what every user has.
pub fn granted(stand_in: &StandIn) {
    stand_in.psql(
        r#"drop schema if exists "BIZ" cascade; create schema "BIZ";
           create table "BIZ"."T" ("ID" bigint primary key, "N" decimal(20), "V" varchar(2000));
           grant usage on schema "BIZ" to "TIDEMARK"; grant select on "BIZ"."T" to "TIDEMARK";
           revoke pg_read_all_data from "TIDEMARK"; revoke all on all tables in schema "SYS" from "TIDEMARK";
           revoke execute on all procedures in schema dbms_logmnr from "TIDEMARK";
           grant select on "SYS"."ALL_TABLES", "SYS"."ALL_TAB_COLUMNS", "SYS"."ALL_CONSTRAINTS", "SYS"."ALL_CONS_COLUMNS" to "TIDEMARK";
           update logminer.ini set para_value = '1' where para_name in ('ARCH_INI', 'RLOG_IGNORE_TABLE_SET');
           update logminer.ini set para_value = '2' where para_name = 'RLOG_APPEND_LOGIC'"#,
    );
    for (what, on) in grants::of(&grants::read(grants::SCRIPT)) {
        if let Some(given) = access(&what, &on) {
            stand_in.psql(&format!("grant {given} to \"TIDEMARK\""));
        }
    }
}

/// A right of DM8 in the stand-in's words; the right to connect it gives to every user.
fn access(what: &str, on: &str) -> Option<String> {
    match (what, on.split_once('.')) {
        ("EXECUTE", Some(("SYS", "DBMS_LOGMNR"))) => Some("execute on all procedures in schema dbms_logmnr".into()),
        ("SELECT", Some(("SYS", view))) => Some(format!("select on \"SYS\".\"{view}\"")),
        ("SELECT", Some((_, _))) | ("CREATE SESSION", None) => None,
        other => panic!("no such right is known: {other:?}"),
    }
}

pub fn survey(stand_in: &StandIn, options: &[(&str, Value)]) -> Result<()> {
    Job::new(stand_in, "BIZ", options).survey().map(drop)
}

pub fn refusal(stand_in: &StandIn, options: &[(&str, Value)]) -> Error {
    match survey(stand_in, options) {
        Ok(()) => panic!("the set-up is not refused"),
        Err(error) => error,
    }
}

/// A fault of the set-up, its repair, and what the report has to say of it.
struct Fault {
    made: String,
    mended: String,
    said: Vec<String>,
}

impl Fault {
    fn new(made: &str, mended: &str, said: &[&str]) -> Fault {
        Fault {
            made: made.into(),
            mended: mended.into(),
            said: said.iter().map(|&words| words.into()).collect(),
        }
    }

    fn setting(name: &str, right: &str, wrong: &str, said: &str) -> Fault {
        let set = |value: &str| format!("update logminer.ini set para_value = '{value}' where para_name = '{name}'");
        Fault::new(&set(wrong), &set(right), &[said])
    }

    /// Each of the rights that the script gives for every job, taken away.
    fn rights() -> Vec<Fault> {
        let script = grants::of(&grants::read(grants::SCRIPT));
        let rights = script.iter().filter(|(_, on)| on != grants::ONLY_FOR_TIMES);
        rights
            .filter_map(|(what, on)| {
                let access = access(what, on)?;
                let said = format!("GRANT {what} ON {on} is needed");
                Some(Fault::new(
                    &format!("revoke {access} from \"TIDEMARK\""),
                    &format!("grant {access} to \"TIDEMARK\""),
                    &[&said],
                ))
            })
            .collect()
    }

    fn settings() -> Vec<Fault> {
        vec![
            Fault::setting("ARCH_INI", "1", "0", "the database does not archive its log"),
            Fault::setting("RLOG_APPEND_LOGIC", "2", "1", "RLOG_APPEND_LOGIC is 1 and must be 2"),
            Fault::setting(
                "RLOG_IGNORE_TABLE_SET",
                "1",
                "0",
                "RLOG_IGNORE_TABLE_SET is 0 and must be 1",
            ),
        ]
    }

    fn tables() -> Vec<Fault> {
        vec![
            Fault::new(
                r#"alter table "BIZ"."T" rename to "ELSE""#,
                r#"alter table "BIZ"."ELSE" rename to "T""#,
                &["TM-1002", "no table"],
            ),
            Fault::new(
                r#"revoke select on "BIZ"."T" from "TIDEMARK""#,
                r#"grant select on "BIZ"."T" to "TIDEMARK""#,
                &["GRANT SELECT ON \"BIZ\".\"T\" is needed", "table BIZ.T"],
            ),
            Fault::new(
                r#"alter table "BIZ"."T" drop constraint "T_pkey""#,
                r#"alter table "BIZ"."T" add constraint "T_pkey" primary key ("ID")"#,
                &["TM-1002", "neither a primary key", "table BIZ.T"],
            ),
        ]
    }

    fn package() -> Fault {
        Fault::new(
            "alter schema dbms_logmnr rename to elsewhere",
            "alter schema elsewhere rename to dbms_logmnr",
            &["SP_CREATE_SYSTEM_PACKAGES(1, 'DBMS_LOGMNR')"],
        )
    }
}

/// Refused as all of these and nothing else.
fn says_exactly(error: &Error, faults: &[&Fault]) {
    let text = error.to_string();
    for words in faults.iter().flat_map(|fault| &fault.said) {
        assert!(text.contains(words.as_str()), "{words} is missing in {text}");
    }
    let count = match error.kind() {
        ErrorKind::Several(errors) => errors.len(),
        _ => 1,
    };
    assert_eq!(count, faults.len(), "{text}");
    assert!(!error.is_retryable(), "{text}");
}

#[test]
fn each_thing_that_stands_in_the_way_is_said_alone_where_it_is_alone() {
    let stand_in = server();
    granted(&stand_in);
    let faults = [
        Fault::rights(),
        Fault::settings(),
        Fault::tables(),
        vec![Fault::package()],
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    assert_eq!(faults.len(), 11 + 3 + 3 + 1);
    for fault in &faults {
        stand_in.psql(&fault.made);
        says_exactly(&refusal(&stand_in, &[]), &[fault]);
        stand_in.psql(&fault.mended);
    }
    survey(&stand_in, &[]).unwrap();
}

#[test]
fn everything_that_stands_in_the_way_is_said_at_once() {
    let stand_in = server();
    // Without rights on the dictionary no table can be judged; without those on the settings, no setting.
    let all_rights = Fault::rights();
    let readable = |fault: &&Fault| {
        !["SYS.SYS", "V$DM_INI", "V$DATABASE"]
            .iter()
            .any(|part| fault.said[0].contains(part))
    };
    let some_rights = Fault::rights().into_iter().filter(|fault| readable(&fault)).collect();
    let mut tables = Fault::tables();
    let key = tables.pop().unwrap();
    let grant = tables.pop().unwrap();
    for faults in [
        all_rights,
        [some_rights, Fault::settings(), vec![key]]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>(),
        [Fault::settings(), vec![grant, Fault::package()]]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>(),
    ] {
        granted(&stand_in);
        for fault in &faults {
            stand_in.psql(&fault.made);
        }
        let error = refusal(&stand_in, &[]);
        assert!(error.to_string().contains("TM-1005"), "{error}");
        says_exactly(&error, &faults.iter().collect::<Vec<_>>());
        // What is mended is said no more.
        for (number, fault) in faults.iter().enumerate() {
            stand_in.psql(&fault.mended);
            match &faults[number + 1..] {
                [] => survey(&stand_in, &[]).unwrap(),
                rest if number % 4 == 0 => says_exactly(&refusal(&stand_in, &[]), &rest.iter().collect::<Vec<_>>()),
                _ => {}
            }
        }
    }
}

/// Without a driver the server cannot be asked for anything: it is said by itself, and what to do about it.
#[test]
fn a_driver_that_is_missing_is_said_by_its_name_whatever_else_is_wrong() {
    let stand_in = server();
    granted(&stand_in);
    let missing = [("odbc.driver", json!("No Such Driver"))];
    for made in [None, Some(Fault::setting("ARCH_INI", "1", "0", ""))] {
        if let Some(fault) = made {
            stand_in.psql(&fault.made);
        }
        let error = refusal(&stand_in, &missing);
        assert!(
            matches!(error.kind(), ErrorKind::Connect { retryable: false, .. }),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("No Such Driver") && text.contains("odbcinst -q -d"),
            "{text}"
        );
    }
}
