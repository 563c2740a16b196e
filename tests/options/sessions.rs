//! Sessions that the server has ended are opened again, set up as those before.

use serde_json::Value;

use crate::job::Job;
use crate::server::{shared, statements, table, until};

/// What a session's setting is asked for by, and told by.
const NAMED: &str = "set up by an attribute";

fn job() -> Job {
    let options: [(&str, Value); 3] = [
        // psqlODBC's attribute for statements of a new session; the driver takes + for a blank.
        ("odbc.ConnSettings", format!("set application_name to '{NAMED}'").into()),
        ("socket.timeout", 77_000.into()),
        ("value.unavailable", "read-back".into()),
    ];
    Job::new(shared(), "SESSIONS", &options)
}

/// What each session of the job was told before it was asked anything, by its process; ascending.
fn openings() -> Vec<(u32, Vec<String>)> {
    let mut sessions: Vec<(u32, Vec<String>)> = Vec::new();
    let mut asked = Vec::new();
    for (process, statement) in statements("SESSIONS") {
        if !sessions.iter().any(|(known, _)| *known == process) {
            sessions.push((process, Vec::new()));
        }
        // The driver puts each question into a cursor.
        let is_question = statement.starts_with("BEGIN") || statement.starts_with("CALL");
        if is_question {
            asked.push(process);
        } else if !asked.contains(&process) {
            let (_, told) = sessions.iter_mut().find(|(known, _)| *known == process).unwrap();
            told.push(statement);
        }
    }
    sessions
}

fn processes() -> Vec<u32> {
    let rows = shared().psql(&format!(
        "select pid from pg_stat_activity where usename = 'TIDEMARK' and application_name = '{NAMED}'"
    ));
    rows.lines().map(|line| line.parse().unwrap()).collect()
}

/// The session that reads rows back by their keys.
fn by_key() -> u32 {
    let all = statements("SESSIONS");
    let read = all
        .iter()
        .rfind(|(_, statement)| statement.contains(r#""SESSIONS"."T" WHERE "ID" IN"#));
    read.unwrap().0
}

fn end(processes: &[u32]) {
    for process in processes {
        shared().psql(&format!("select pg_terminate_backend({process})"));
        until(&format!(
            "select not exists (select from pg_stat_activity where pid = {process})"
        ));
    }
}

fn insert(id: i64) {
    shared().psql(&format!(
        r#"insert into "SESSIONS"."T" values ({id}, {id}, rpad('x', 2000, 'x'))"#
    ));
}

#[test]
fn a_session_that_is_opened_again_is_set_up_as_the_one_before() {
    table("SESSIONS", 0);
    shared().psql(r#"alter table "SESSIONS"."T" alter "V" type clob; update logminer.setting set value = 'out' where name = 'lob'"#);
    let first = job();
    first.start_stream();
    insert(1);
    assert_eq!(first.stream(1).unwrap(), [(0, 1, Some(1))]);
    // One that the job itself opens again: for values that the log does not hold.
    let reads_back = by_key();
    end(&[reads_back]);
    insert(2);
    assert_eq!(first.stream(1).unwrap(), [(0, 2, Some(2))]);
    assert_eq!(first.metric("valuesReadBack"), 2);
    assert_ne!(by_key(), reads_back);
    // All others by a restart.
    let before = processes();
    assert!(before.len() >= 2, "{before:?}");
    end(&before);
    let error = first.stream_error();
    assert!(error.is_retryable(), "{error}");
    drop(first);
    let second = job();
    second.start_stream();
    insert(3);
    assert_eq!(second.stream(1).unwrap(), [(0, 3, Some(3))]);
    let after = processes();
    assert!(after.len() >= 2 && after.iter().all(|process| !before.contains(process)));

    let openings = openings();
    let told = |process: &u32| {
        let of_it = openings.iter().find(|(known, _)| known == process);
        &of_it.unwrap_or_else(|| panic!("{process} is not in {openings:?}")).1
    };
    let model = told(&reads_back);
    assert!(model.iter().any(|statement| statement.contains(NAMED)), "{model:?}");
    assert!(
        model
            .iter()
            .any(|statement| statement.contains("statement_timeout = 77000")),
        "{model:?}"
    );
    for process in before.iter().chain(&after) {
        assert_eq!(told(process), model, "{process}");
    }
}
