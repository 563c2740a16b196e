//! Random transactions of several sessions, read whole, in pieces, by killed sessions and from restarts: always the same,
//! and what they leave is what the tables have.

use std::collections::BTreeMap;

use tidemark::odbc::Connection;
use tidemark::position::{CommitPosition, Position, Scn};

use crate::slots::{PLUGINS, Read, Seen, Slot, now, psql, read_to, step};
use crate::support::postgres::{connect, shared};
use tidemark::log::decoding::session::copy_name;

const TABLES: [&str; 3] = ["walk_a", "walk_b", "walk_p"];

/// Sessions that write side by side; each has keys of its own, so that none waits for another.
struct Writers {
    sessions: Vec<Connection>,
    /// Whether a session is in a transaction, and how many savepoints it has set there.
    open: Vec<Option<u32>>,
    random: fastrand::Rng,
    prepared: Vec<String>,
}

impl Writers {
    fn new(sessions: usize, seed: u64) -> Self {
        Writers {
            sessions: (0..sessions).map(|_| connect(shared())).collect(),
            open: vec![None; sessions],
            random: fastrand::Rng::with_seed(seed),
            prepared: Vec::new(),
        }
    }

    fn run(&mut self, session: usize, sql: &str) {
        self.sessions[session]
            .execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn change(&mut self, session: usize) -> String {
        let table = TABLES[self.random.usize(0..TABLES.len())];
        let key = 10 * self.random.usize(0..8) + session;
        let value = match self.random.u8(0..6) {
            0 => "NULL".to_owned(),
            1 => "'null'".to_owned(),
            2 => "E'it''s\\nnew-tuple: id[integer]:1'".to_owned(),
            3 => format!("repeat(md5('{}'), 100)", self.random.u32(0..9)),
            _ => format!("'{}'", self.random.u32(0..1000)),
        };
        let other = 10 * self.random.usize(0..8) + session;
        match self.random.u8(0..8) {
            0..3 => format!(
                "INSERT INTO public.{table} VALUES ({key}, {value}, {other}) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v"
            ),
            3 => format!(
                "INSERT INTO public.{table} SELECT g * 10 + {session}, {value}, g FROM generate_series(0, 7) g \
                 ON CONFLICT DO NOTHING"
            ),
            4 => format!("UPDATE public.{table} SET v = {value} WHERE id = {key}"),
            5 => format!("UPDATE public.{table} SET n = n + 1 WHERE id % 10 = {session}"),
            6 => format!(
                "UPDATE public.{table} SET id = {other} WHERE id = {key} \
                 AND NOT EXISTS (SELECT 1 FROM public.{table} WHERE id = {other})"
            ),
            _ => format!("DELETE FROM public.{table} WHERE id = {key}"),
        }
    }

    fn step(&mut self) {
        let session = self.random.usize(0..self.sessions.len());
        match self.open[session] {
            None => {
                if self.random.bool() {
                    let sql = self.change(session);
                    return self.run(session, &sql);
                }
                self.run(session, "BEGIN");
                self.open[session] = Some(0);
            }
            Some(savepoints) => match self.random.u8(0..14) {
                0 => self.end(session, "COMMIT"),
                1 => self.end(session, "ROLLBACK"),
                2 => {
                    let name = format!("walk_{session}_{}", self.random.u64(..));
                    self.end(session, &format!("PREPARE TRANSACTION '{name}'"));
                    // At once or later, by whomever; its rows are locked until then, by the session's own keys alone.
                    let end = if self.random.bool() { "COMMIT" } else { "ROLLBACK" };
                    self.prepared.push(format!("{end} PREPARED '{name}'"));
                    self.end_prepared();
                }
                3 => {
                    self.run(session, &format!("SAVEPOINT s{savepoints}"));
                    self.open[session] = Some(savepoints + 1);
                }
                4 if savepoints > 0 => {
                    let back = self.random.u32(0..savepoints);
                    self.run(session, &format!("ROLLBACK TO s{back}"));
                    self.open[session] = Some(back + 1);
                }
                _ => {
                    let sql = self.change(session);
                    self.run(session, &sql);
                }
            },
        }
    }

    fn end(&mut self, session: usize, how: &str) {
        self.run(session, how);
        self.open[session] = None;
    }

    fn end_prepared(&mut self) {
        for statement in std::mem::take(&mut self.prepared) {
            psql(&statement);
        }
    }

    fn finish(&mut self) {
        for session in 0..self.sessions.len() {
            if self.open[session].is_some() {
                self.end(session, "COMMIT");
            }
        }
    }
}

/// The rows that changes leave, by table and key.
fn left(transactions: &[Seen]) -> BTreeMap<(String, String), String> {
    let mut rows = BTreeMap::new();
    for row in transactions.iter().flat_map(|seen| &seen.rows) {
        let (table, images) = row.split_once(' ').unwrap();
        let (before, after) = images.split_once('>').unwrap();
        let key = |image: &str| (table.to_owned(), image.split_once(',').unwrap().0.to_owned());
        if !before.is_empty() {
            assert!(
                rows.remove(&key(before)).is_some(),
                "a row goes that was not there: {row}"
            );
        }
        if !after.is_empty() {
            assert_eq!(
                rows.insert(key(after), after.to_owned()),
                None,
                "a row comes twice: {row}"
            );
        }
    }
    rows
}

fn tables() -> BTreeMap<(String, String), String> {
    let mut rows = BTreeMap::new();
    for (number, table) in TABLES.iter().enumerate() {
        let found = psql(&format!(
            "SELECT 'id=' || id || ',v=' || coalesce(replace(v, E'\\n', '~'), 'NULL') || ',n=' || n FROM {table}"
        ));
        for row in found.lines() {
            let row = row.replace('~', "\n");
            let key = row.split_once(',').unwrap().0.to_owned();
            rows.insert((number.to_string(), key), row);
        }
    }
    rows
}

/// Reads from the slot's beginning with random batches and fragments, sessions that are killed and readers that begin anew
/// behind a transaction.
fn read_roughly(slot: &Slot, end: u64, random: &mut fastrand::Rng) -> Vec<Seen> {
    let mut read = Read::default();
    let mut at = slot.begin();
    loop {
        let mut settings = slot.settings();
        settings.slot.batch_changes = random.u64(1..200);
        settings.fragment.rows = random.usize(1..20);
        let mut reader = slot.open_with(settings, at);
        read.open = None;
        for _ in 0..random.usize(1..60) {
            if random.u8(0..20) == 0 {
                let copy = copy_name(&slot.name);
                psql(&format!(
                    "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{copy}'"
                ));
            }
            step(&mut reader, &mut read).unwrap();
        }
        if random.u8(0..8) == 0 {
            read_to(&mut reader, end, &mut read);
            return read.transactions;
        }
        if let Some(last) = read.transactions.last() {
            let position = Position::after(CommitPosition {
                scn: Scn(last.commit),
                nth: 0,
            });
            at = tidemark::log::Opening {
                mine_from: position.scn,
                position,
            };
        }
    }
}

/// Without what depends on the size of fragments, and on where a plugin says that a transaction commits.
fn plain(transactions: &[Seen]) -> Vec<Seen> {
    let plain = |seen: &Seen| Seen {
        fragments: Vec::new(),
        commit: 0,
        next_scn: 0,
        ..seen.clone()
    };
    transactions.iter().map(plain).collect()
}

#[test]
fn random_transactions_are_read_the_same_by_every_plugin_at_every_pace() {
    psql(
        "CREATE TABLE walk_a(id int PRIMARY KEY, v text, n int); CREATE TABLE walk_b(id int PRIMARY KEY, v text, n int);
         CREATE TABLE walk_p(id int PRIMARY KEY, v text, n int) PARTITION BY RANGE (id);
         CREATE TABLE walk_p_low PARTITION OF walk_p FOR VALUES FROM (0) TO (40);
         CREATE TABLE walk_p_high(n int, id int NOT NULL, v text); ALTER TABLE walk_p_high REPLICA IDENTITY FULL;
         ALTER TABLE walk_p ATTACH PARTITION walk_p_high DEFAULT;
         ALTER TABLE walk_b REPLICA IDENTITY FULL; ALTER TABLE walk_a ALTER v SET STORAGE EXTERNAL;
         ALTER TABLE walk_a REPLICA IDENTITY FULL; ALTER TABLE walk_p REPLICA IDENTITY FULL;
         ALTER TABLE walk_p_low REPLICA IDENTITY FULL;",
    );
    for seed in 0..2 {
        let slots = PLUGINS.map(|plugin| Slot::new("walk", plugin, &TABLES));
        let before = tables();
        let mut writers = Writers::new(4, seed);
        for _ in 0..300 {
            writers.step();
        }
        writers.finish();
        let end = now();
        let whole: Vec<Vec<Seen>> = slots.iter().map(|slot| slot.read().transactions).collect();
        assert!(whole[0].len() > 30, "seed {seed}");
        assert_eq!(plain(&whole[0]), plain(&whole[1]), "seed {seed}");
        if before.is_empty() {
            assert_eq!(left(&whole[0]), tables(), "seed {seed}");
        }
        let mut random = fastrand::Rng::with_seed(seed);
        for (slot, whole) in slots.iter().zip(&whole) {
            for _ in 0..2 {
                let rough = read_roughly(slot, end, &mut random);
                let of = |transactions: &[Seen]| transactions.iter().map(|seen| seen.commit).collect::<Vec<_>>();
                assert_eq!(of(&rough), of(whole), "seed {seed}");
                assert_eq!(plain(&rough), plain(whole), "seed {seed}");
            }
        }
        psql("TRUNCATE walk_a, walk_b, walk_p");
    }
}
