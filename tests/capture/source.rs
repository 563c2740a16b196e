//! A captured table, those who write into it, and how a job finds it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tidemark::config::Config;
use tidemark::dialect::Dialect;
use tidemark::dialect::dameng::Dameng;
use tidemark::error::Result;
use tidemark::odbc::{Connection, Secret};

use crate::job::PATIENCE;
use crate::support::stand_in::StandIn;

const ADMIN_PASSWORD: &str = "Sysdba_9pw";

/// The password that jobs connect with.
pub const PASSWORD: &str = "Capture+7%pw";

/// A table `T` of `ID` and `V` in a schema of its own.
pub struct Source {
    /// Where it lives.
    pub stand_in: Arc<StandIn>,
    /// Its schema.
    pub schema: String,
}

fn start() -> StandIn {
    StandIn::start(&[
        ("SYSDBA_PASSWORD", ADMIN_PASSWORD),
        ("TIDEMARK_PASSWORD", PASSWORD),
        ("SEGMENT_MB", "1"),
    ])
}

impl Source {
    /// On the server that most tests share, with rows 1, 2, … up to `rows`, each of value `v`.
    pub fn shared(schema: &str, rows: u64) -> Source {
        static SHARED: OnceLock<Arc<StandIn>> = OnceLock::new();
        Source::on(SHARED.get_or_init(|| Arc::new(start())).clone(), schema, rows)
    }

    /// On a server of its own.
    pub fn alone(schema: &str, rows: u64) -> Source {
        Source::on(Arc::new(start()), schema, rows)
    }

    fn on(stand_in: Arc<StandIn>, schema: &str, rows: u64) -> Source {
        stand_in.psql(&format!(
            r#"create schema "{schema}"; create table "{schema}"."T" ("ID" bigint primary key, "V" varchar(200) not null);
               insert into "{schema}"."T" select g, 'v' from generate_series(1, {rows}) g; analyze "{schema}"."T""#
        ));
        Source {
            stand_in,
            schema: schema.to_owned(),
        }
    }

    /// Runs statements; `T` stands for the table.
    pub fn run(&self, sql: &str) -> String {
        self.stand_in.psql(&self.named(sql))
    }

    fn named(&self, sql: &str) -> String {
        sql.replace(" T ", &format!(r#" "{}"."T" "#, self.schema))
    }

    /// The end of the log, as a SELECT may have seen it.
    pub fn log_end(&self) -> u64 {
        self.number(r#"select "CUR_LSN" from "SYS"."V$RLOG""#)
    }

    /// What a question with one number for an answer is answered with.
    pub fn number(&self, question: &str) -> u64 {
        self.run(question).trim().parse().unwrap()
    }

    /// Waits until a question is answered with `t`.
    pub fn until(&self, question: &str) {
        let waited = Instant::now();
        while self.run(question).trim() != "t" {
            assert!(waited.elapsed() < PATIENCE, "it does not come to: {question}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A session.
    pub fn writer(&self) -> Writer {
        let mut endpoint = self.stand_in.endpoint();
        endpoint.username = "SYSDBA".into();
        endpoint.password = Secret::new(ADMIN_PASSWORD);
        Writer {
            connection: Connection::open(&Dameng.connection(&endpoint)).unwrap(),
            schema: self.schema.clone(),
        }
    }

    /// The table.
    pub fn table(&self) -> BTreeMap<i64, String> {
        let rows = self.run(r#"select "ID" || '|' || "V" from T "#);
        let row = |line: &str| {
            let (id, v) = line.split_once('|').unwrap();
            (id.parse().unwrap(), v.to_owned())
        };
        rows.lines().map(row).collect()
    }

    /// A job's configuration, with other options than these tests' usual ones where given.
    pub fn config(&self, options: &[(&str, Value)]) -> Arc<Config> {
        let endpoint = self.stand_in.endpoint();
        let mut all = Map::new();
        for (name, value) in [
            ("hostname", json!(endpoint.hostname)),
            ("port", json!(endpoint.port)),
            ("username", json!(endpoint.username)),
            ("password", json!(PASSWORD)),
            ("schema-name", json!(self.schema)),
            ("table-name", json!("T")),
            ("scan.incremental.snapshot.chunk.size", json!(2)),
            ("odbc.driver", json!(endpoint.driver)),
        ] {
            all.insert(name.to_owned(), value);
        }
        for (name, value) in endpoint.attributes {
            all.insert(format!("odbc.{name}"), json!(value));
        }
        for (name, value) in options {
            all.insert((*name).to_owned(), value.clone());
        }
        let json = json!({
            "connector": "dameng-cdc",
            "options": all,
            "columns": [
                {"name": "ID", "type": "BIGINT", "nullable": false},
                {"name": "V", "type": "STRING"},
                {"name": "at", "type": "BIGINT", "metadata": "scn"},
                {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
                {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
            ],
            "checkpointing": "aligned",
        });
        Arc::new(Config::from_json(&json.to_string()).unwrap())
    }

    /// Lets COMMITs wait for a standby that does not exist.
    pub fn hold_commits(&self) -> HeldCommits<'_> {
        self.wait_for_standby("nobody");
        HeldCommits(self)
    }

    fn wait_for_standby(&self, name: &str) {
        self.run(&format!("alter system set synchronous_standby_names = '{name}'"));
        self.run("select pg_reload_conf()");
        let waited = Instant::now();
        while self.run("show synchronous_standby_names").trim() != name {
            assert!(waited.elapsed() < PATIENCE);
        }
    }
}

/// COMMITs wait until it is dropped.
pub struct HeldCommits<'a>(&'a Source);

impl Drop for HeldCommits<'_> {
    fn drop(&mut self) {
        self.0.wait_for_standby("");
    }
}

/// A session on the table.
pub struct Writer {
    connection: Connection,
    schema: String,
}

impl Writer {
    /// Runs statements; `T` stands for the table.
    pub fn run(&mut self, sql: &str) {
        self.try_run(sql).unwrap();
    }

    /// Runs what may fail.
    pub fn try_run(&mut self, sql: &str) -> Result<()> {
        let sql = sql.replace(" T ", &format!(r#" "{}"."T" "#, self.schema));
        self.connection.execute(&sql)
    }
}
