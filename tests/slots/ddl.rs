//! What becomes of tables, captured by event triggers and read back from the slot, among the changes of a job.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::partitions::partitioned;
use crate::source::{Place, Source};
use crate::support::Server;
use crate::support::postgres::LOGICAL;
use crate::support::stand_in::StandIn;
use crate::watch::Watch;

/// Where statements come from.
const CAPTURES: [&str; 2] = ["own", "four"];

/// A server of these tests' own: event triggers see what is done in the whole database.
fn server() -> &'static Server {
    static SERVER: std::sync::OnceLock<Server> = std::sync::OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Server::start_with(LOGICAL);
        server.psql(FOUR_COLUMNS);
        server
    })
}

/// The same with the face of KingbaseES.
fn face() -> &'static StandIn {
    static FACE: std::sync::OnceLock<StandIn> = std::sync::OnceLock::new();
    FACE.get_or_init(|| {
        let face = StandIn::face();
        face.psql(FOUR_COLUMNS);
        face
    })
}

/// Each plugin on PostgreSQL, and the one that KingbaseES has.
const PLACES: [&str; 3] = ["pgoutput", "test_decoding", "face"];

/// A table as Kingbase FlySync has it, four columns and all that happens: duplicates, temporary tables, tags of other objects.
const FOUR_COLUMNS: &str = r#"
CREATE SCHEMA fly;
CREATE TABLE fly.trep_sync_ddl (exe_time timestamptz, tg_tag text, search_path text, command text);
ALTER TABLE fly.trep_sync_ddl REPLICA IDENTITY FULL;
CREATE FUNCTION fly.note() RETURNS event_trigger LANGUAGE plpgsql AS $f$ BEGIN
  INSERT INTO fly.trep_sync_ddl VALUES (clock_timestamp(), TG_TAG, current_setting('search_path'), current_query());
END $f$;
CREATE EVENT TRIGGER fly_end ON ddl_command_end EXECUTE FUNCTION fly.note();
CREATE EVENT TRIGGER fly_drop ON sql_drop EXECUTE FUNCTION fly.note();
"#;

/// Event triggers tell of what any session does, and a text alone does not say to which schema's table: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn source(name: &str, place: &'static str) -> Source {
    match place {
        "face" => Source::on_face(face(), name, 2),
        plugin => Source::on(server(), name, plugin, 2),
    }
}

fn options(source: &Source, capture: &str) -> Vec<(&'static str, Value)> {
    let mut options = vec![match capture {
        "own" => ("ddl.capture", json!("on")),
        _ => ("ddl.table", json!("fly.trep_sync_ddl")),
    }];
    if let (Place::Kingbase(face), "own") = (source.place, capture) {
        // Whoever makes event triggers is a superuser.
        options.push(("username", json!(face.value("ADMIN"))));
        options.push(("password", json!(face.value("ADMIN_PASSWORD"))));
    }
    options.push(("include.schema.changes", json!(true)));
    options
}

fn started(source: &Source, capture: &str) -> Job {
    let config = source.config_whole("json", &options(source, capture));
    let mut job = Job::start(config, Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
    // So that it is known where the job goes on.
    job.checkpoint().unwrap();
    job
}

fn events(job: &Job) -> Vec<(&str, &str)> {
    let streamed = job.sink.log.iter().filter(|row| row.xid.is_some());
    streamed.map(|row| (row.kind, row.v.as_str())).collect()
}

/// Each statement by itself, in one session.
fn each(source: &Source, statements: &[&str]) {
    let mut connection = source.connect();
    for statement in statements {
        connection.execute(&source.named(statement)).unwrap();
    }
}

/// Lets so many events out, with a checkpoint behind every one and a restart from it.
fn with_restarts(mut job: Job, count: usize) -> Job {
    while events(&job).len() < count {
        job.unit().unwrap();
        job.checkpoint().unwrap();
        job = job.restart(1).unwrap();
    }
    job
}

/// What is done, and the events that come of it.
fn steps() -> Vec<(&'static str, &'static str)> {
    vec![
        ("insert into T values (11, 'a')", r#"{"ID":11,"V":"a"}"#),
        (r#"alter table T add "B" int"#, "ddl"),
        (r#"insert into T values (12, 'b', 2)"#, r#"{"ID":12,"V":"b","B":2}"#),
        ("create temp table t(x int)", ""),
        ("alter table t add y int", ""),
        ("drop table t", ""),
        ("create index on T (\"V\")", ""),
        ("comment on table T is 'alter table T add z int'", ""),
        ("grant select on T to public", ""),
        (r#"alter table T rename "B" to "BB""#, "ddl"),
        ("insert into T values (13, 'c', 3)", r#"{"ID":13,"V":"c","BB":3}"#),
        (r#"alter table T alter "BB" type text"#, "ddl"),
        (
            r#"insert into T values (14, 'd', 'x')"#,
            r#"{"ID":14,"V":"d","BB":"x"}"#,
        ),
        ("update DDL set tg_tag = 'ALTER TABLE'", ""),
        ("delete from DDL", ""),
        (r#"alter table T drop column "BB""#, "ddl"),
        ("insert into T values (15, 'e')", r#"{"ID":15,"V":"e"}"#),
        ("truncate T ", "TRUNCATE"),
        ("insert into T values (16, 'f')", r#"{"ID":16,"V":"f"}"#),
    ]
}

/// `F30`. ADD, RENAME, MODIFY, DROP and TRUNCATE stand among the rows where they were done, once, and a restart behind each changes
/// nothing. Temporary tables, statements about other things, and what becomes of the captured statements are none.
#[test]
fn statements_stand_among_the_rows_where_they_were_done() {
    let _alone = alone();
    for (place, capture) in PLACES.into_iter().flat_map(|place| CAPTURES.map(|of| (place, of))) {
        let source = source(&format!("steps_{capture}"), place);
        let mut job = started(&source, capture);
        let table = if capture == "own" {
            "tidemark.trep_sync_ddl"
        } else {
            "fly.trep_sync_ddl"
        };
        let mut expected = Vec::new();
        let mut session = source.connect();
        for (statement, event) in steps() {
            let statement = source.named(statement).replace("DDL", table);
            session.execute(&statement).unwrap();
            match event {
                "" => continue,
                "ddl" => expected.push(("ddl", statement)),
                "TRUNCATE" => expected.push(("ddl", format!("TRUNCATE TABLE {}.t", source.schema))),
                row => expected.push(("c", row.to_owned())),
            }
            job = with_restarts(job, expected.len());
        }
        let events: Vec<(&str, String)> = events(&job).into_iter().map(|(kind, v)| (kind, v.to_owned())).collect();
        assert_eq!(events, expected, "{place}, {capture}");
    }
}

/// Everything is there before the first of it is read, in one transaction: a restart behind every boundary of it loses nothing
/// and gives nothing twice, whatever shares a place in the log.
#[test]
fn a_restart_behind_any_event_of_a_transaction_with_statements_goes_on_there() {
    let _alone = alone();
    for (place, capture) in PLACES.into_iter().flat_map(|place| CAPTURES.map(|of| (place, of))) {
        let source = source(&format!("inside_{capture}"), place);
        let job = started(&source, capture);
        let statements = [
            "begin",
            "insert into T values (11, 'a')",
            r#"alter table T add "B" int default 5"#,
            r#"alter table T add "C" int, add "D" int"#,
            "insert into T values (12, 'b', 1, 2, 3), (13, 'c', 4, 5, 6)",
            r#"alter table T alter "C" set default 1"#,
            r#"alter table T alter "C" set default 2"#,
            r#"alter table T alter "C" set default 1"#,
            r#"update T set "V" = 'x' where "ID" > 11"#,
            r#"alter table T add "E" int"#,
            "truncate T ",
            "insert into T values (14, 'd', 7, 8, 9, 10)",
            "commit",
            "insert into T values (15, 'e')",
        ];
        each(&source, &statements);
        let row = |id: u32, v: &str, rest: &str| format!(r#"{{"ID":{id},"V":"{v}"{rest}}}"#);
        let ddl = |at: usize| ("ddl", source.named(statements[at]));
        let (b, c) = (r#","B":1,"C":2,"D":3"#, r#","B":4,"C":5,"D":6"#);
        let expected = [
            ("c", row(11, "a", "")),
            ddl(2),
            ddl(3),
            ("c", row(12, "b", b)),
            ("c", row(13, "c", c)),
            ddl(5),
            ddl(6),
            ddl(7),
            ("u", format!("{} -> {}", row(12, "b", b), row(12, "x", b))),
            ("u", format!("{} -> {}", row(13, "c", c), row(13, "x", c))),
            ddl(9),
            ("ddl", format!("TRUNCATE TABLE {}.t", source.schema)),
            ("c", row(14, "d", r#","B":7,"C":8,"D":9,"E":10"#)),
            ("c", row(15, "e", r#","B":5,"C":1,"D":null,"E":null"#)),
        ];
        let job = with_restarts(job, expected.len());
        let events: Vec<(&str, String)> = events(&job).into_iter().map(|(kind, v)| (kind, v.to_owned())).collect();
        assert_eq!(events, expected, "{place}, {capture}");
    }
}

fn refusal(source: &Source, options: &[(&str, Value)]) -> String {
    let mut job = Job::start(source.config_whole("json", options), Arc::new(Watch::default()), 1).unwrap();
    let error = job.run_to_stream().unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    error.to_string()
}

/// In a database where nothing is captured yet.
#[test]
fn what_capturing_statements_lacks_is_said_at_the_start_with_what_to_do() {
    let _alone = alone();
    let server: &'static Server = Box::leak(Box::new(Server::start_with(LOGICAL)));
    let source = Source::on(server, "lacking", "pgoutput", 3);
    source.run(
        r#"create role "reader" login replication; grant usage on schema lacking_pgoutput to "reader";
        grant select on T to "reader"; create publication tidemark_lacking_pgoutput for table T "#,
    );
    let by_reader = [("username", json!("reader")), ("ddl.capture", json!("on"))];
    let report = refusal(&source, &by_reader);
    for part in [
        "ddl.capture = 'on'",
        "a superuser alone",
        "sql/kingbase/ddl_capture.sql",
    ] {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
    for (statement, parts) in [
        ("select 1", &["option 'ddl.table'", "x.ddl_log, which is not there"][..]),
        (
            "create schema x; create table x.ddl_log(tg_tag text, cmd text)",
            &["no column search_path, command"],
        ),
        (
            "alter table x.ddl_log add search_path text, add command text",
            &[
                "no replica identity",
                "ALTER TABLE \"x\".\"ddl_log\" REPLICA IDENTITY FULL",
            ],
        ),
    ] {
        source.run(statement);
        let report = refusal(&source, &[("ddl.table", json!("X.ddl_log"))]);
        for part in parts {
            assert!(report.contains(part), "{part} is missing in {report}");
        }
    }
    // Once a superuser has run the script, who owns nothing of it lacks the publication alone.
    server.script("sql/kingbase/ddl_capture.sql", &[]);
    let report = refusal(&source, &by_reader);
    let statement = "ALTER PUBLICATION \"tidemark_lacking_pgoutput\" ADD TABLE ONLY \"tidemark\".\"trep_sync_ddl\"";
    assert!(report.contains(statement), "{report}");
    source.run(&statement.replace('"', ""));
    let mut job = Job::start(source.config_whole("json", &by_reader), Arc::new(Watch::default()), 1).unwrap();
    job.run_to_stream().unwrap();
}

/// Whatever the patterns say.
#[test]
fn the_statements_are_never_rows() {
    let _alone = alone();
    for (place, capture) in PLACES.into_iter().flat_map(|place| CAPTURES.map(|of| (place, of))) {
        let source = source(&format!("all_{capture}"), place);
        let mut options = options(&source, capture);
        let of_capture = if capture == "own" { "" } else { "|fly" };
        let schemas = format!("{}|tidemark{of_capture}", source.schema);
        options.extend([("schema-name", json!(schemas)), ("table-name", json!(".*"))]);
        let mut job = Job::start(source.config_whole("json", &options), Arc::new(Watch::default()), 1).unwrap();
        job.run_to_stream().unwrap();
        each(
            &source,
            &[r#"alter table T add "B" int"#, "insert into T values (11, 'a', 1)"],
        );
        job.run(|job| events(job).len() >= 2).unwrap();
        assert!(
            job.sink.log.iter().all(|row| row.table == "t"),
            "{place}, {capture}: {:?}",
            job.sink.log
        );
    }
}

/// A table that is dropped and made again is the captured one again, also for who comes back when all is over; rows follow where
/// they are published. As rows of SQL, a table that is gone is an error by name.
#[test]
fn a_table_that_is_dropped_and_made_again_goes_on() {
    let _alone = alone();
    for (place, capture) in PLACES.into_iter().flat_map(|place| CAPTURES.map(|of| (place, of))) {
        for stopped in [false, true] {
            let source = source(&format!("anew_{capture}_{}", u8::from(stopped)), place);
            let mut job = started(&source, capture);
            if !stopped {
                each(&source, &["insert into T values (10, 'x')"]);
                job.run(|job| events(job).len() == 1).unwrap();
                job.checkpoint().unwrap();
            }
            let create = r#"create table T ("ID" bigint primary key, "W" int)"#;
            let mut connection = source.connect();
            for statement in [
                "insert into T values (11, 'a')",
                "drop table T ",
                create,
                "alter table T replica identity full",
            ] {
                connection.execute(&source.named(statement)).unwrap();
            }
            if place == "pgoutput" {
                let publish = format!("alter publication tidemark_{} add table T ", source.slot());
                connection.execute(&source.named(&publish)).unwrap();
            }
            connection
                .execute(&source.named("insert into T values (12, 5)"))
                .unwrap();
            let expected = [
                ("c", r#"{"ID":11"#.to_owned()),
                ("ddl", source.named("drop table T ").trim().to_owned()),
                ("ddl", source.named(create)),
                ("ddl", source.named("alter table T replica identity full")),
                ("c", r#"{"ID":12,"W":5}"#.to_owned()),
            ];
            let skipped = usize::from(!stopped);
            if stopped {
                job = job.restart(1).unwrap();
            }
            job = with_restarts(job, expected.len() + skipped);
            let events = &events(&job)[skipped..];
            assert_eq!(events.len(), expected.len(), "{place}, {capture}: {events:?}");
            for (event, expected) in events.iter().zip(&expected) {
                let fits = event.0 == expected.0 && event.1.starts_with(&expected.1);
                assert!(fits, "{place}, {capture}, {stopped}: {event:?} is not {expected:?}");
            }
        }
    }
    for (capture, statement, how) in CAPTURES.into_iter().flat_map(|of| {
        [
            (of, "drop table T ", "dropped"),
            (of, "alter table T rename to u", "renamed"),
        ]
    }) {
        let source = source(&format!("gone_{capture}_{how}"), "pgoutput");
        let options = &options(&source, capture)[..1];
        let mut job = Job::start(source.config(options), Arc::new(Watch::default()), 1).unwrap();
        job.run_to_stream().unwrap();
        each(&source, &["insert into T values (11, 'a')", statement]);
        let error = job.run(|job| job.sink.log.iter().any(|row| row.id == 12)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("the table was {how}: {}", source.named(statement).trim())),
            "{error}"
        );
    }
}

/// A table of DDL statements without what was done: names by the search_path of the session, `"$user"` too, a table by its new name,
/// and of a block of code what it mentions. A restart behind each changes nothing.
#[test]
fn a_text_alone_is_enough() {
    let _alone = alone();
    for place in PLACES {
        let source = source("texts", place);
        let mut job = started(&source, "four");
        let schema = &source.schema;
        // In one transaction, so that each is a place inside of it.
        let role = format!(
            "create role {schema} superuser; set session authorization {schema}; set search_path to \"$user\", public; \
             alter table t add \"C\" int"
        );
        let block = format!(r#"do $$ begin execute 'alter table {schema}.t add "D" int'; end $$"#);
        let statements = [
            format!("begin; set search_path to nowhere, {schema}"),
            r#"alter table "t" add "B" int"#.to_owned(),
            block.clone(),
            source.named("alter table T rename to u"),
            r#"alter table u add "E" int"#.to_owned(),
            r#"alter table u rename to t"#.to_owned(),
            r#"create table if not exists other_of_texts(a int); drop table other_of_texts"#.to_owned(),
            source.named("insert into T values (11, 'a'); commit"),
        ];
        job.behind_its_back(|| {
            let texts: Vec<&str> = statements.iter().map(String::as_str).collect();
            each(&source, &texts);
        });
        job = with_restarts(job, 6);
        let told: Vec<String> = events(&job).iter().map(|(_, v)| (*v).to_owned()).collect();
        assert_eq!(told[..told.len() - 1], statements[1..6], "{place}");
        source.run(&role);
        job.run(|job| events(job).len() == told.len() + 1).unwrap();
        let (kind, last) = *events(&job).last().unwrap();
        assert_eq!((kind, last), ("ddl", "alter table t add \"C\" int"), "{place}");
    }
}

/// A partition that went while the job was down is told of at its place: what it had before is the root's, what it has behind
/// is not, also where it came only then.
#[test]
fn partitions_that_come_and_go_while_the_job_is_down_are_told_of_where_they_did() {
    let _alone = alone();
    for (place, capture) in PLACES.into_iter().flat_map(|place| CAPTURES.map(|of| (place, of))) {
        for how in ["detach", "drop"] {
            let source = source(&format!("parts_{capture}_{how}"), place);
            partitioned(&source);
            let mut job = started(&source, capture);
            each(&source, &["insert into T values (7, 'first')"]);
            job.run(|job| events(job).len() == 1).unwrap();
            job.checkpoint().unwrap();
            let completed = job.completed().clone();
            drop(job);
            let schema = &source.schema;
            let gone = |part: &str| match how {
                "detach" => source.named(&format!("alter table T detach partition {schema}.{part}")),
                _ => format!("drop table {schema}.{part}"),
            };
            let create = source.named(&format!(
                "create table {schema}.brief partition of T for values from (100) to (200)"
            ));
            let identity = format!("alter table {schema}.brief replica identity full");
            let statements = [
                "insert into T values (11, 'a')",
                r#"update T set "V" = 'b' where "ID" = 11"#,
                &gone("high"),
                &match how {
                    "detach" => format!("insert into {schema}.high values (12, 'behind')"),
                    _ => format!(r#"create table {schema}.high ("ID" bigint primary key, "V" text)"#),
                },
                &format!("insert into {schema}.high values (13, 'behind')"),
                &create,
                &identity,
                "insert into T values (111, 'c')",
                &gone("brief"),
                "insert into T values (5, 'd')",
            ];
            each(&source, &statements);
            let config = source.config_whole("json", &options(&source, capture));
            let mut job = Job::open(config, Arc::new(Watch::default()), 1, completed).unwrap();
            let row = |id: u32, v: &str| format!(r#"{{"ID":{id},"V":"{v}"}}"#);
            let mut expected = vec![
                row(7, "first"),
                row(11, "a"),
                format!("{} -> {}", row(11, "a"), row(11, "b")),
                gone("high"),
                row(111, "c"),
                gone("brief"),
                row(5, "d"),
            ];
            if how == "detach" {
                // The root is altered, and loses rows.
                expected.insert(6, gone("brief"));
                expected.insert(4, gone("high"));
            }
            job.run(|job| events(job).len() >= expected.len()).unwrap();
            let told: Vec<&str> = events(&job).iter().map(|(_, v)| *v).collect();
            assert_eq!(told, expected, "{place}, {capture}, {how}");
        }
    }
}
