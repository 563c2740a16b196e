//! A captured table, those who write into it, and how a job finds it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tidemark::config::Config;
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::{Dialect, Endpoint};
use tidemark::error::Result;
use tidemark::odbc::{Connection, Secret};

use crate::job::PATIENCE;
use crate::support::gate::Behind;
use crate::support::key_kinds::KeyKind;
use crate::support::stand_in::StandIn;

const ADMIN_PASSWORD: &str = "Sysdba_9pw";

/// The password that jobs connect with.
pub const PASSWORD: &str = "Capture+7%pw";

/// A table `T` of a key and `V` in a schema of its own.
pub struct Source {
    /// Where it lives.
    pub stand_in: Arc<StandIn>,
    /// Its schema.
    pub schema: String,
    /// What its rows are told by.
    id: &'static str,
    /// The declarations of the key's columns.
    declared: Vec<Value>,
}

/// A server.
pub fn start() -> StandIn {
    start_as(&[])
}

/// The same, made as the words of its script say.
pub fn start_as(making: &[(&str, &str)]) -> StandIn {
    let own = [
        ("SYSDBA_PASSWORD", ADMIN_PASSWORD),
        ("TIDEMARK_PASSWORD", PASSWORD),
        ("SEGMENT_MB", "1"),
    ];
    StandIn::start(&[&own, making].concat())
}

fn shared() -> Arc<StandIn> {
    static SHARED: OnceLock<Arc<StandIn>> = OnceLock::new();
    SHARED.get_or_init(|| Arc::new(start())).clone()
}

/// `DECIMAL(38, 10)` as a job's configuration has it.
fn declaration((name, kind, nullable): (&str, &str, bool)) -> Value {
    let (word, numbers) = kind.trim_end_matches(')').split_once('(').unwrap_or((kind, ""));
    let mut numbers = numbers.split(", ").filter_map(|number| number.parse::<u8>().ok());
    let mut column = json!({"name": name, "type": word, "nullable": nullable});
    if let Some(precision) = numbers.next() {
        column["precision"] = precision.into();
    }
    if let Some(scale) = numbers.next() {
        column["scale"] = scale.into();
    }
    column
}

impl Source {
    /// On the server that most tests share, with rows 1, 2, … up to `rows`, each of value `v`.
    pub fn shared(schema: &str, rows: u64) -> Source {
        Source::on(shared(), schema, rows)
    }

    /// On that server, with a key of a kind: `g` of a row from 1 to `rows` stands in front of its value, `g.0`.
    pub fn of_kind(schema: &str, kind: &KeyKind, rows: u64) -> Source {
        Source::of_kind_on(shared(), schema, kind, rows)
    }

    /// The same on a server of its own, made as the words of its script say.
    pub fn of_kind_alone(making: &[(&str, &str)], schema: &str, kind: &KeyKind, rows: u64) -> Source {
        Source::of_kind_on(Arc::new(start_as(making)), schema, kind, rows)
    }

    fn of_kind_on(stand_in: Arc<StandIn>, schema: &str, kind: &KeyKind, rows: u64) -> Source {
        stand_in.psql(&format!(
            r#"create schema "{schema}"; create table "{schema}"."T" ({}, "V" varchar(200) not null);
               insert into "{schema}"."T" select {}, g || '.0' from generate_series(1, {rows}) g; analyze "{schema}"."T""#,
            kind.columns, kind.values
        ));
        Source {
            stand_in,
            schema: schema.to_owned(),
            id: r#"split_part("V", '.', 1)"#,
            declared: kind.declared().into_iter().map(declaration).collect(),
        }
    }

    /// On one of two further servers that some tests share. Both write rows of their DDL into the log; one puts every record
    /// into words with today's dictionary, as DM8 was measured to do, the other leaves them as they were written.
    pub fn with_ddl(schema: &str, rows: u64, of_today: bool) -> Source {
        static SHARED: [OnceLock<Arc<StandIn>>; 2] = [OnceLock::new(), OnceLock::new()];
        let stand_in = SHARED[usize::from(of_today)].get_or_init(|| {
            let stand_in = start();
            stand_in.psql("update logminer.setting set value = 'on' where name = 'ddl'");
            if of_today {
                stand_in.psql("update logminer.setting set value = 'current' where name = 'dictionary'");
            }
            Arc::new(stand_in)
        });
        Source::on(stand_in.clone(), schema, rows)
    }

    /// One of each kind of database that is read this way.
    pub fn each(schema: &str, rows: u64) -> [Source; 1] {
        [Source::one(schema, rows)]
    }

    /// One of them.
    pub fn one(schema: &str, rows: u64) -> Source {
        Source::shared(&format!("GATED_{}", schema.to_uppercase()), rows)
    }

    /// Where its server listens.
    pub fn behind(&self) -> Behind {
        let endpoint = self.stand_in.endpoint();
        Behind::Tcp(format!("{}:{}", endpoint.hostname, endpoint.port))
    }

    /// Options that a database refuses for good, by what is wrong.
    pub fn refused(&self) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
        self.run(r#"do $$ begin if to_regrole('"BARE"') is null then create role "BARE" login password 'bare'; end if; end $$"#);
        vec![
            ("password", vec![("password", json!("not-it"))]),
            ("user", vec![("username", json!("NOBODY"))]),
            ("database", vec![("odbc.Database", json!("nowhere"))]),
            ("driver", vec![("odbc.driver", json!("No Such Driver"))]),
            ("grant", vec![("username", json!("BARE")), ("password", json!("bare"))]),
        ]
    }

    /// One whose log can be lost.
    pub fn losing(schema: &str, rows: u64) -> Source {
        Source::alone(&format!("LOSING_{}", schema.to_uppercase()), rows)
    }

    /// Another table on its server.
    pub fn beside(&self, schema: &str, rows: u64) -> Source {
        Source::on(self.stand_in.clone(), &schema.to_uppercase(), rows)
    }

    /// Whether an error is of its log.
    pub fn is_named_in(&self, error: &str) -> bool {
        error.contains(&self.stand_in.directory().display().to_string())
    }

    /// The log is gone that a job needs which is down.
    pub fn lose_log(&self) {
        self.run("insert into T values (500, 'x'); select pg_switch_wal(); delete from T where \"ID\" = 500");
        crate::faults::expire(self);
    }

    /// What has a job ask its database once more when it ends.
    pub fn dropping(&self) -> [(&'static str, Value); 0] {
        []
    }

    /// On a server of its own.
    pub fn alone(schema: &str, rows: u64) -> Source {
        Source::on(Arc::new(start()), schema, rows)
    }

    fn on(stand_in: Arc<StandIn>, schema: &str, rows: u64) -> Source {
        let columns = r#""ID" bigint primary key, "V" varchar(200) not null"#;
        let source = Source::of(stand_in, schema, columns);
        source.run(&format!(
            r#"insert into T select g, 'v' from generate_series(1, {rows}) g; analyze T "#
        ));
        source
    }

    /// An empty table of these columns, `ID` and `V` first.
    pub fn of(stand_in: Arc<StandIn>, schema: &str, columns: &str) -> Source {
        stand_in.psql(&format!(
            r#"create schema "{schema}"; create table "{schema}"."T" ({columns})"#
        ));
        Source {
            stand_in,
            schema: schema.to_owned(),
            id: r#""ID""#,
            declared: vec![json!({"name": "ID", "type": "BIGINT", "nullable": false})],
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
        self.writer_as(endpoint)
    }

    /// A session of the user that jobs connect as.
    pub fn writer_as_connector(&self) -> Writer {
        self.writer_as(self.stand_in.endpoint())
    }

    fn writer_as(&self, endpoint: Endpoint) -> Writer {
        Writer {
            connection: Connection::open(&Dameng.connection(&endpoint)).unwrap(),
            schema: self.schema.clone(),
        }
    }

    /// The table.
    pub fn table(&self) -> BTreeMap<i64, String> {
        self.table_of(r#""V""#)
    }

    /// The table, its value in other words.
    pub fn table_of(&self, value: &str) -> BTreeMap<i64, String> {
        let rows = self.run(&format!(r#"select {} || '|' || {value} from T "#, self.id));
        let row = |line: &str| {
            let (id, v) = line.split_once('|').unwrap();
            (id.parse().unwrap(), v.to_owned())
        };
        rows.lines().map(row).collect()
    }

    /// A job's configuration, with other options than these tests' usual ones where given.
    pub fn config(&self, options: &[(&str, Value)]) -> Arc<Config> {
        self.config_with("V", options)
    }

    /// The same with another column than `V`.
    pub fn config_with(&self, column: &str, options: &[(&str, Value)]) -> Arc<Config> {
        let mut columns = self.declared.clone();
        columns.extend([
            json!({"name": column, "type": "STRING"}),
            json!({"name": "at", "type": "BIGINT", "metadata": "scn"}),
            json!({"name": "by", "type": "BIGINT", "metadata": "transaction_id"}),
            json!({"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false}),
        ]);
        self.config_of(options, columns.into())
    }

    /// The same with all columns, in one of the forms of the DataStream API.
    pub fn config_whole(&self, form: &str, options: &[(&str, Value)]) -> Arc<Config> {
        self.config_in(form, options, None)
    }

    /// The same with other columns, of those types.
    pub fn config_of(&self, options: &[(&str, Value)], columns: Value) -> Arc<Config> {
        self.config_in("rows", options, Some(columns))
    }

    fn config_in(&self, form: &str, options: &[(&str, Value)], columns: Option<Value>) -> Arc<Config> {
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
        let mut json = json!({
            "connector": "dameng-cdc",
            "options": all,
            "form": form,
            "checkpointing": "aligned",
        });
        if let Some(columns) = columns {
            json["columns"] = columns;
        }
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
