//! A table for every kind of key in one source, whole rows as events: large values, columns that come and go, TRUNCATE,
//! archives that stay behind, and readers that are killed. The end is the tables, and behind the snapshot the log is what
//! PostgreSQL's own decoding says it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::job::Job;
use crate::sink::Row;
use crate::source::{Source, Writer};
use crate::support::key_kinds::{KeyKind, all};
use crate::watch::Watch;
use crate::workload::{Stop, seeds};

const SCHEMA: &str = "KINDS";
/// Keys of a table. `ID` says which one a row has, and behind the thousands which table.
const KEYS: u64 = 8;
const RESTARTS: usize = 2;

/// The stand-in's parser knows no binary literal of DM8's, so that key cannot be cut by, nor read back.
fn kinds() -> Vec<KeyKind> {
    all().into_iter().filter(|kind| kind.name != "VARBINARY").collect()
}

/// What a table has besides its key.
struct Table {
    kind: KeyKind,
    /// `ID` of the key of `g` is this and `g`.
    first: u64,
}

impl Table {
    fn all() -> Vec<Table> {
        let numbered = kinds().into_iter().zip(1..);
        numbered
            .map(|(kind, nth): (KeyKind, u64)| Table {
                kind,
                first: nth * 1000,
            })
            .collect()
    }

    fn name(&self) -> String {
        format!(r#""{SCHEMA}"."{}""#, self.kind.name)
    }

    /// Its key's columns, and `ID`.
    fn columns(&self) -> String {
        let declared = self.kind.declared();
        let quoted: Vec<String> = declared.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
        format!(r#"{}, "ID""#, quoted.join(", "))
    }

    /// What they are for `g`.
    fn values(&self) -> String {
        format!("{}, {} + g", self.kind.values, self.first)
    }

    fn create(&self, source: &Source) {
        let (name, columns, values) = (self.name(), self.columns(), self.values());
        source.run(&format!(
            r#"create table {name} ({}, "ID" bigint not null, "V" varchar(40) not null, "DOC" clob);
               alter table {name} replica identity full;
               insert into {name} ({columns}, "V", "DOC")
               select {values}, 'first', repeat('d', g * 37 % 11 * 100) from generate_series(1, {KEYS}, 2) g;
               analyze {name}"#,
            self.kind.columns
        ));
    }
}

/// A large value, or none, around where the log stops to hold them and beyond.
fn doc(rng: &mut Rng) -> String {
    let length = match rng.u32(0..20) {
        0..=1 => return "null".into(),
        2..=4 => 0,
        5..=11 => rng.u32(898..903),
        12..=14 => 4096,
        15 => rng.u32(100_000..200_000),
        _ => rng.u32(1..200),
    };
    format!("repeat('{}', {length})", rng.alphabetic())
}

/// One change; each `V` is written once.
fn change(rng: &mut Rng, tables: &[Table], v: &str) -> Vec<String> {
    let table = rng.choice(tables).unwrap();
    let (name, columns, values) = (table.name(), table.columns(), table.values());
    let (g, other, doc) = (rng.u64(1..=KEYS), rng.u64(1..=KEYS), doc(rng));
    let id = table.first + g;
    vec![match rng.u32(0..12) {
        0..=3 => format!(
            r#"insert into {name} ({columns}, "V", "DOC") select {values}, '{v}', {doc} from (select {g} as g) s on conflict do nothing"#
        ),
        4..=5 => format!(r#"update {name} set "V" = '{v}', "DOC" = {doc} where "ID" = {id}"#),
        6..=7 => format!(r#"update {name} set "V" = '{v}' where "ID" = {id}"#),
        8 => format!(r#"delete from {name} where "ID" = {id}"#),
        9..=10 => format!(
            r#"update {name} set ({columns}, "V") = (select {values}, '{v}' from (select {other} as g) s)
               where "ID" = {id} and not exists (select 1 from {name} where "ID" = {} + {other})"#,
            table.first
        ),
        _ => {
            return vec![
                "savepoint s".to_owned(),
                format!(r#"update {name} set "V" = 'undone', "DOC" = {doc} where "ID" <= {id}"#),
                format!(r#"delete from {name} where "ID" = {id}"#),
                "rollback to s".to_owned(),
            ];
        }
    }]
}

fn transaction(rng: &mut Rng, tables: &[Table], name: &str) -> Vec<String> {
    let mut statements = vec!["begin".to_owned()];
    for nth in 0..rng.u64(1..6) {
        statements.extend(change(rng, tables, &format!("{name}.{nth}")));
    }
    statements.push(if rng.u32(0..6) == 0 { "rollback" } else { "commit" }.to_owned());
    statements
}

/// Writes until told to stop, and never while `pause` is taken. What a deadlock or a key that is taken ends is rolled back.
fn write(writer: &mut Writer, mut rng: Rng, name: &str, pause: &RwLock<()>, stop: &AtomicBool) {
    let tables = Table::all();
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        number += 1;
        let statements = transaction(&mut rng, &tables, &format!("{name}.{number}"));
        let goes_on = pause.read().unwrap();
        for statement in statements {
            if writer.try_run(&statement).is_err() {
                writer.run("rollback");
                break;
            }
        }
        drop(goes_on);
        writer.run("select pg_sleep(0.02)");
    }
}

/// Holds the archiver back and lets it go on, by turns; now and then an archive ends.
fn lag(source: &Source, mut rng: Rng, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        source.run("call logminer.hold()");
        std::thread::sleep(Duration::from_millis(rng.u64(0..100)));
        source.run("call logminer.release()");
        if rng.u32(0..3) == 0 {
            source.run("call logminer.switch()");
        }
        std::thread::sleep(Duration::from_millis(rng.u64(0..400)));
    }
}

/// What is done to the tables themselves, on one session that waits only so long for others.
struct Altering<'a> {
    source: &'a Source,
    session: Writer,
    pause: &'a RwLock<()>,
    tables: Vec<Table>,
    /// The column that came last, of a table by its place.
    columns: BTreeMap<usize, String>,
    made: usize,
}

impl Altering<'_> {
    fn run(&mut self, sql: &str) {
        self.session.run("set lock_timeout = '30s'");
        self.session.run(sql);
    }

    /// A column of one of two tables comes; one goes once all that was written with it is out and kept, since rows that are
    /// read behind its end cannot be had whole; a table is emptied once a checkpoint of the log phase is complete.
    fn next(&mut self, rng: &mut Rng, job: &mut Job, may_take: bool) {
        let nth = [8, 17][rng.usize(0..2)];
        let table = self.tables[nth].name();
        if may_take && rng.u32(0..3) == 0 {
            let emptied = rng.choice(&self.tables).unwrap().name();
            return self.run(&format!("truncate {emptied}"));
        }
        match self.columns.get(&nth).cloned() {
            None => {
                self.made += 1;
                let column = format!("X{}", self.made);
                self.run(&format!(
                    r#"alter table {table} add "{column}" varchar(20) default 'x'"#
                ));
                self.columns.insert(nth, column);
            }
            Some(column) if may_take => {
                let _nobody_writes = self.pause.write().unwrap();
                job.catch_up(self.source).unwrap();
                job.checkpoint().unwrap();
                self.run(&format!(r#"alter table {table} drop column "{column}""#));
                self.columns.remove(&nth);
            }
            Some(_) => {}
        }
    }
}

/// A change as both readings of the log have it: what it is, its table, `ID`, `V` before and after.
type Told = (&'static str, String, i64, Option<String>, Option<String>);

fn field(image: &Value, name: &str) -> Option<String> {
    image[name].as_str().map(str::to_owned)
}

/// Reads a row of the sink; statements other than TRUNCATE are `None`.
fn told(row: &Row) -> Option<Told> {
    let image = |text: &str| field(&serde_json::from_str(text).unwrap(), "V");
    let (before, after) = match row.kind {
        "ddl" if row.v.starts_with("truncate") => (None, None),
        "ddl" => return None,
        "u" => {
            let (before, after) = row.v.split_once(" -> ").unwrap();
            (image(before), image(after))
        }
        "d" => (image(&row.v), None),
        _ => (None, image(&row.v)),
    };
    Some((row.kind, row.table.clone(), row.id, before, after))
}

/// Transactions of the job's log, from one on, in its order.
fn transactions_of(log: &[Row], from: i64) -> Vec<(i64, Vec<Told>)> {
    let mut all: Vec<(i64, Vec<Told>)> = Vec::new();
    for row in log.iter().skip_while(|row| row.xid != Some(from)) {
        let Some(told) = told(row) else { continue };
        let xid = row.xid.unwrap();
        match all.last_mut() {
            Some((last, changes)) if *last == xid => changes.push(told),
            _ => all.push((xid, vec![told])),
        }
    }
    all
}

/// A line of PostgreSQL's own decoding: a change, or two where the key is another one behind it.
fn decoded(line: &str) -> Vec<Told> {
    let Some((table, change)) = line
        .strip_prefix(&format!("table \"{SCHEMA}\".\""))
        .and_then(|rest| rest.split_once("\": "))
    else {
        return Vec::new();
    };
    let image = |text: &str| {
        let behind = |what: &str| text.split_once(what).unwrap().1;
        let id = behind("\"ID\"[bigint]:").split(' ').next().unwrap().parse().unwrap();
        let v = behind("\"V\"[character varying]:'").split('\'').next().unwrap();
        (id, Some(v.to_owned()))
    };
    let table = table.to_owned();
    match change.split_once(": ").unwrap() {
        ("INSERT", row) => {
            let (id, v) = image(row);
            vec![("c", table, id, None, v)]
        }
        ("DELETE", row) => {
            let (id, v) = image(row);
            vec![("d", table, id, v, None)]
        }
        ("UPDATE", rows) => {
            let (before, after) = rows.split_once(" new-tuple: ").unwrap();
            let ((old, was), (new, is)) = (image(before), image(after));
            if old == new {
                vec![("u", table, new, was, is)]
            } else {
                vec![("d", table.clone(), old, was, None), ("c", table, new, None, is)]
            }
        }
        _ => vec![("ddl", table, 0, None, None)],
    }
}

/// All transactions that changed one of the tables, in commit order.
fn transactions_decoded(source: &Source) -> Vec<(i64, Vec<Told>)> {
    let lines = source.run(
        "select xid::text || '|' || data from pg_logical_slot_get_changes('judge', null, null) where data ~ '^(BEGIN|table)'",
    );
    let mut all: Vec<(i64, Vec<Told>)> = Vec::new();
    for line in lines.lines() {
        let (xid, data) = line.split_once('|').unwrap();
        match data.starts_with("BEGIN") {
            true => all.push((xid.parse().unwrap(), Vec::new())),
            false => all.last_mut().unwrap().1.extend(decoded(data)),
        }
    }
    all.retain(|(_, changes)| !changes.is_empty());
    all
}

/// What stands in the tables: `V` and the large value by `ID`.
fn content(source: &Source, tables: &[Table]) -> BTreeMap<i64, (String, Option<String>)> {
    let mut content = BTreeMap::new();
    for table in tables {
        let rows = source.run(&format!(
            r#"select json_build_array("ID", "V", "DOC"::text) from {}"#,
            table.name()
        ));
        content.extend(rows.lines().map(|row| {
            let row: (i64, String, Option<String>) = serde_json::from_str(row).unwrap();
            (row.0, (row.1, row.2))
        }));
    }
    content
}

fn content_of(job: &Job) -> BTreeMap<i64, (String, Option<String>)> {
    let rows = job.sink.table.range(1000..1_000_000);
    rows.map(|(id, row)| {
        let read: Value = serde_json::from_str(row).unwrap();
        let v = field(&read, "V").unwrap_or_else(|| panic!("{id}: {row:.400}"));
        (*id, (v, field(&read, "DOC")))
    })
    .collect()
}

/// The first place where two readings part, in few words.
fn require_equal(job: &[(i64, Vec<Told>)], decoded: &[(i64, Vec<Told>)]) {
    for (nth, (ours, theirs)) in job.iter().zip(decoded).enumerate() {
        assert_eq!(ours, theirs, "transaction {nth} of {}", decoded.len());
    }
    assert_eq!(job.len(), decoded.len());
}

fn run(seed: u64) {
    println!("seed {seed}");
    let source = Source::alone(SCHEMA, 0);
    let tables = Table::all();
    tables.iter().for_each(|table| table.create(&source));
    source.run("call logminer.as_dm8()");
    source.run("select pg_create_logical_replication_slot('judge', 'test_decoding')");
    let mut rng = Rng::with_seed(seed);
    let config = source.config_whole(
        "json",
        &[
            ("table-name", json!(".*")),
            ("include.schema.changes", json!(true)),
            ("scan.incremental.snapshot.chunk.size", json!(4)),
        ],
    );
    let (stop, pause) = (AtomicBool::new(false), RwLock::new(()));
    std::thread::scope(|scope| {
        let stopping = Stop(&stop);
        for writer in 0..3 {
            let (rng, stop, pause, mut session) = (rng.fork(), &stop, &pause, source.writer());
            scope.spawn(move || write(&mut session, rng, &format!("{writer}"), pause, stop));
        }
        let lagging = rng.fork();
        let (stop, source_of_lag) = (&stop, &source);
        scope.spawn(move || lag(source_of_lag, lagging, stop));
        let mut altering = Altering {
            source: &source,
            session: source.writer(),
            pause: &pause,
            tables: Table::all(),
            columns: BTreeMap::new(),
            made: 0,
        };
        let mut job = Job::start(config, Arc::new(Watch::default()), 3).unwrap();
        let mut streams = false;
        for restart in 0..2 * RESTARTS {
            // Half of it in the snapshot, half behind it.
            if restart == RESTARTS {
                job.catch_up(&source).unwrap();
                job.checkpoint().unwrap();
                streams = true;
            }
            for _ in 0..rng.usize(0..4) {
                for _ in 0..rng.usize(1..50) {
                    if rng.u32(0..12) == 0 {
                        altering.next(&mut rng, &mut job, streams);
                    }
                    job.unit().unwrap();
                }
                let checkpoint = job.take_checkpoint().unwrap();
                if rng.u32(0..4) > 0 {
                    job.complete(checkpoint).unwrap();
                }
            }
            job = job.restart([1, 3, 3, 3][rng.usize(0..4)]).unwrap();
        }
        drop(stopping);
        // A writer may be in its last transaction.
        drop(pause.write().unwrap());
        job.catch_up(&source).unwrap();
        assert_eq!(content_of(&job), content(&source, &tables));
        job.sink.transactions();
        let scns: Vec<_> = job.sink.log.iter().filter_map(|row| row.scn).collect();
        assert!(scns.is_sorted(), "commit order");
        // The first marker was written once the snapshot was over.
        let marker = job.sink.log.iter().find(|row| row.id == 1_000_000).unwrap();
        let marker = marker.xid.unwrap();
        let mut all = transactions_decoded(&source);
        all.drain(..all.iter().position(|(xid, _)| *xid == marker).unwrap());
        let ours = transactions_of(&job.sink.log, marker);
        require_equal(&ours, &all);
        assert!(all.len() > 30, "{} transactions", all.len());
        let met: BTreeSet<&String> = all
            .iter()
            .flat_map(|(_, changes)| changes)
            .map(|told| &told.1)
            .collect();
        println!(
            "{} transactions on {} tables, {} columns",
            all.len(),
            met.len(),
            altering.made
        );
    });
}

#[test]
fn restarts_under_a_random_workload_of_all_kinds_of_keys() {
    for seed in seeds(1..2) {
        run(seed);
    }
}
