//! Keys of every kind, whose rows change while they are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use serde_json::json;
use tidemark::odbc::Connection;

use crate::job::Job;
use crate::key_kinds::{KINDS, SETUP};
use crate::source::{PLUGINS, Source};
use crate::watch::Watch;

/// Rows that each table begins with.
const ROWS: u64 = 35;
/// Behind the thousands of an `ID` the table, in front the key's number.
const TABLE: u64 = 1000;

/// A table for each kind, `t` beside them.
struct Tables<'a> {
    source: &'a Source,
    /// The key's number of the next row, of all tables.
    next: u64,
}

impl Tables<'_> {
    fn create(&self) {
        for (number, (columns, values)) in KINDS.iter().enumerate() {
            let (table, first) = (self.name(number), self.id(number, 0));
            self.source.run(&format!(
                r#"create table {table} ({columns}, "ID" bigint not null, "V" text not null); alter table {table} replica identity full;
                   insert into {table} select {values}, {first} + g, 'v' from generate_series(1, {ROWS}) g"#
            ));
        }
    }

    fn name(&self, number: usize) -> String {
        format!("{}.k{number}", self.source.schema)
    }

    fn id(&self, number: usize, g: u64) -> u64 {
        (number as u64 + 1) * TABLE + g
    }

    /// A change of a row of one of them.
    fn change(&mut self, rng: &mut Rng) -> String {
        let number = rng.usize(..KINDS.len());
        let (columns, values) = KINDS[number];
        let (table, id) = (self.name(number), self.id(number, rng.u64(1..=ROWS)));
        self.next += 1;
        let g = self.next;
        let new = self.id(number, g);
        match rng.u8(0..5) {
            0 => format!(r#"delete from {table} where "ID" = {id}"#),
            1 => format!("insert into {table} select {values}, {new}, 'new' from generate_series({g}, {g}) g"),
            2 => {
                let key = if columns.contains(", b ") { "a, b" } else { "a" };
                format!(
                    r#"update {table} set ({key}) = (select {values} from generate_series({g}, {g}) g), "ID" = {new}, "V" = 'moved' where "ID" = {id}"#
                )
            }
            _ => format!(r#"update {table} set "V" = 'changed {g}' where "ID" = {id}"#),
        }
    }

    /// What stands in them.
    fn content(&self) -> BTreeMap<i64, String> {
        let each = (0..KINDS.len()).map(|number| format!(r#"select "ID", "V" from {}"#, self.name(number)));
        let all: Vec<String> = each.collect();
        let rows = self.source.run(&format!(
            r#"select "ID" || '|' || "V" from ({} union all select "ID", "V" from T ) all_of_them"#,
            all.join(" union all ")
        ));
        let row = |line: &str| {
            let (id, v) = line.split_once('|').unwrap();
            (id.parse().unwrap(), v.to_owned())
        };
        rows.lines().map(row).collect()
    }
}

fn execute(connection: &mut Connection, statement: &str) {
    connection
        .execute(statement)
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// F07, F12, F13, F43 for every kind of key: a key has the same bytes in a page and in the log of each plugin, or a change is
/// judged by another range than its row was read in. F03: a transaction that is open across all pages comes from the log.
#[test]
fn rows_of_every_kind_of_key_change_while_they_are_read() {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    Source::shared("keyed_setup", "pgoutput", 1).run(SETUP);
    for plugin in PLUGINS {
        let source = Source::shared("keyed", plugin, 3);
        let mut rng = Rng::with_seed(seed);
        let mut tables = Tables {
            source: &source,
            next: 60,
        };
        tables.create();
        let options = [("table-name", json!("(?-i)t|k[0-9]+"))];
        let mut job = Job::start(source.config(&options), Arc::new(Watch::default()), 1).unwrap();
        job.unit().unwrap();
        let (mut open, mut writer) = (source.connect(), source.connect());
        for connection in [&mut open, &mut writer] {
            execute(connection, "set search_path = public");
        }
        // A row that the open transaction has locked is for later.
        execute(&mut writer, "set lock_timeout = '1ms'");
        execute(&mut open, "begin");
        for (number, (_, values)) in KINDS.iter().enumerate() {
            let (table, old, new) = (tables.name(number), tables.id(number, ROWS), tables.id(number, 50));
            execute(
                &mut open,
                &format!(r#"update {table} set "V" = 'open' where "ID" = {old}"#),
            );
            execute(
                &mut open,
                &format!("insert into {table} select {values}, {new}, 'open' from generate_series(50, 50) g"),
            );
        }
        while !job.streams {
            for _ in 0..rng.u8(1..4) {
                let change = tables.change(&mut rng);
                if let Err(error) = writer.execute(&change) {
                    assert!(error.to_string().contains("lock timeout"), "{change}: {error}");
                }
            }
            let units = job.sink.log.len() + rng.usize(1..40);
            job.run(|job| job.streams || job.sink.log.len() >= units).unwrap();
        }
        execute(&mut open, "commit");
        job.catch_up(&source).unwrap();
        let changed = job.sink.streamed().iter().filter(|row| row.0 != "+I").count();
        assert!(changed > KINDS.len(), "{changed} changes came from the log");
        assert_eq!(job.sink.table, tables.content(), "{plugin}");
        job.sink.transactions();
    }
}
