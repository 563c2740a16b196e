//! A captured table of a PostgreSQL server or of the face of KingbaseES, and how a job finds it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tidemark::config::Config;
use tidemark::dialect::Endpoint;
use tidemark::dialect::kingbase::KINGBASE;
use tidemark::dialect::postgres::connection;
use tidemark::odbc::{Connection, Secret};

use crate::support::gate::Behind;
use crate::support::postgres::{connect, shared};
use crate::support::stand_in::StandIn;
use crate::support::{DRIVER, Server};

/// Where the table is.
#[derive(Clone, Copy)]
pub enum Place {
    /// PostgreSQL.
    Postgres(&'static Server),
    /// A server where nothing begins with `pg_`.
    Kingbase(&'static StandIn),
}

/// A table `t` of `id` and `v` in a schema of its own, which names the slot too.
pub struct Source {
    pub place: Place,
    pub schema: String,
    pub plugin: &'static str,
}

/// Plugins of every server here.
pub const PLUGINS: [&str; 2] = ["pgoutput", "test_decoding"];

/// The one face that the tests of a file share.
pub fn shared_face() -> &'static StandIn {
    static FACE: OnceLock<StandIn> = OnceLock::new();
    FACE.get_or_init(StandIn::face)
}

impl Source {
    /// On the server that the tests share, with rows 1, 2, … up to `rows`, each of value `v`.
    pub fn shared(schema: &str, plugin: &'static str, rows: u64) -> Source {
        Source::on(shared(), schema, plugin, rows)
    }

    /// The same on another server.
    pub fn on(server: &'static Server, schema: &str, plugin: &'static str, rows: u64) -> Source {
        let source = Source {
            place: Place::Postgres(server),
            schema: format!("{schema}_{plugin}"),
            plugin,
        };
        source.made("bigint", "text", rows)
    }

    /// The same on the face of KingbaseES, with types of the Oracle mode.
    pub fn face(schema: &str, rows: u64) -> Source {
        let source = Source::of_face(shared_face(), schema);
        source.made("number(18)", "varchar2(8000)", rows)
    }

    /// The same on another face, with a key as PostgreSQL has it.
    pub fn on_face(face: &'static StandIn, schema: &str, rows: u64) -> Source {
        Source::of_face(face, schema).made("bigint", "varchar2(8000)", rows)
    }

    fn of_face(face: &'static StandIn, schema: &str) -> Source {
        Source {
            place: Place::Kingbase(face),
            schema: format!("{schema}_face"),
            plugin: "test_decoding",
        }
    }

    /// One of each kind.
    pub fn of_each_kind(schema: &str, rows: u64) -> impl Iterator<Item = Source> {
        let plugins = PLUGINS.map(|plugin| (schema.to_owned(), Some(plugin)));
        let all = plugins.into_iter().chain([(schema.to_owned(), None)]);
        all.map(move |(schema, plugin)| match plugin {
            Some(plugin) => Source::shared(&schema, plugin, rows),
            None => Source::face(&schema, rows),
        })
    }

    /// One of each kind of database that is read this way.
    pub fn each(schema: &str, rows: u64) -> Vec<Source> {
        vec![
            Source::one(schema, rows),
            Source::face(&format!("gated_{schema}"), rows),
        ]
    }

    /// One of them.
    pub fn one(schema: &str, rows: u64) -> Source {
        Source::shared(&format!("gated_{schema}"), "pgoutput", rows)
    }

    /// Where its server listens.
    pub fn behind(&self) -> Behind {
        match self.place {
            Place::Postgres(server) => Behind::Unix(format!("{}/.s.PGSQL.5432", server.host()).into()),
            Place::Kingbase(face) => Behind::Tcp(format!("{}:{}", face.value("HOST"), face.value("PORT"))),
        }
    }

    /// Options that a database refuses for good, by what is wrong.
    pub fn refused(&self) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
        self.run(
            r#"do $$ begin if to_regrole('bare') is null then create role bare login password 'bare'; end if; end $$"#,
        );
        let mut refused = vec![
            ("user", vec![("username", json!("nobody_of_this_name"))]),
            ("database", vec![("database-name", json!("nowhere"))]),
            ("driver", vec![("odbc.driver", json!("No Such Driver"))]),
            ("grant", vec![("username", json!("bare")), ("password", json!("bare"))]),
        ];
        if matches!(self.place, Place::Kingbase(_)) {
            refused.push(("password", vec![("password", json!("not-it"))]));
        }
        refused
    }

    /// One whose log can be lost.
    pub fn losing(schema: &str, rows: u64) -> Source {
        Source::shared(&format!("losing_{schema}"), "pgoutput", rows)
    }

    /// Another table on its server.
    pub fn beside(&self, schema: &str, rows: u64) -> Source {
        Source::losing(schema, rows)
    }

    /// Whether an error is of its log.
    pub fn is_named_in(&self, error: &str) -> bool {
        error.contains(&format!("slot '{}'", self.slot()))
    }

    /// The log is gone that a job needs which is down.
    pub fn lose_log(&self) {
        let slot = format!("slot_name = '{}'", self.slot());
        self.run(&format!(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where {slot}"
        ));
    }

    /// What has a job ask its database once more when it ends.
    pub fn dropping(&self) -> [(&'static str, Value); 1] {
        [("slot.drop-on-stop", json!(true))]
    }

    fn made(self, id: &str, v: &str, rows: u64) -> Source {
        self.run(&format!("create schema {}", self.schema));
        self.run(&format!(r#"create table T ("ID" {id} primary key, "V" {v} not null)"#));
        self.run("alter table T replica identity full");
        self.run(&format!(
            "insert into T select g, 'v' from generate_series(1, {rows}) g"
        ));
        self
    }

    /// Runs statements; `T` stands for the table, and names of the system are PostgreSQL's.
    pub fn run(&self, sql: &str) -> String {
        match self.place {
            Place::Postgres(server) => server.psql(&self.named(sql)),
            Place::Kingbase(face) => face.psql(&self.named(sql)),
        }
    }

    /// The same for a session of one's own.
    pub fn named(&self, sql: &str) -> String {
        let sql = sql.replace(" T ", &format!(" {}.t ", self.schema));
        match self.place {
            Place::Postgres(_) => sql,
            Place::Kingbase(_) => sql.replace("pg_", "sys_"),
        }
    }

    /// A session of the tables' owner.
    pub fn connect(&self) -> Connection {
        match self.place {
            Place::Postgres(server) => connect(server),
            Place::Kingbase(face) => {
                let endpoint = Endpoint {
                    hostname: face.value("HOST").into(),
                    port: face.value("PORT").parse().unwrap(),
                    database: Some(face.value("DATABASE").into()),
                    username: face.value("ADMIN").into(),
                    password: Secret::new(face.value("ADMIN_PASSWORD")),
                    connect_timeout: Duration::from_secs(30),
                    statement_timeout: Some(Duration::from_secs(300)),
                    driver: Some(DRIVER.into()),
                    attributes: Vec::new(),
                };
                Connection::open(&connection(&KINGBASE, &endpoint)).unwrap()
            }
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

    /// The name of the slot.
    pub fn slot(&self) -> &str {
        &self.schema
    }

    /// What a question with one answer is answered with.
    pub fn ask(&self, question: &str) -> String {
        self.run(question).trim().to_owned()
    }

    /// A job's configuration, with other options than these tests' usual ones where given.
    pub fn config(&self, options: &[(&str, Value)]) -> Arc<Config> {
        self.try_config(options).unwrap()
    }

    /// A job of the DataStream API, by its form: all columns of the table.
    pub fn config_whole(&self, form: &str, options: &[(&str, Value)]) -> Arc<Config> {
        self.config_in(form, options, None).unwrap()
    }

    /// The same with other columns of the table.
    pub fn config_of(&self, options: &[(&str, Value)], columns: Value) -> Arc<Config> {
        self.config_in("rows", options, Some(columns)).unwrap()
    }

    pub fn try_config(&self, options: &[(&str, Value)]) -> tidemark::error::Result<Arc<Config>> {
        let columns = json!([
            {"name": "ID", "type": "BIGINT", "nullable": false},
            {"name": "V", "type": "STRING"},
            {"name": "at", "type": "BIGINT", "metadata": "scn"},
            {"name": "by", "type": "BIGINT", "metadata": "transaction_id"},
            {"name": "of", "type": "STRING", "metadata": "table_name", "nullable": false},
        ]);
        self.config_in("rows", options, Some(columns))
    }

    fn config_in(
        &self,
        form: &str,
        options: &[(&str, Value)],
        columns: Option<Value>,
    ) -> tidemark::error::Result<Arc<Config>> {
        let mut all = Map::new();
        let place = match self.place {
            Place::Postgres(server) => vec![
                ("hostname", json!(server.host())),
                ("username", json!("capture")),
                ("password", json!("not asked for")),
                ("database-name", json!("postgres")),
            ],
            Place::Kingbase(face) => vec![
                ("hostname", json!(face.value("HOST"))),
                ("port", json!(face.value("PORT").parse::<u16>().unwrap())),
                ("username", json!(face.value("USER"))),
                ("password", json!(face.value("PASSWORD"))),
                ("database-name", json!(face.value("DATABASE"))),
                ("odbc.driver", json!(DRIVER)),
            ],
        };
        let usual = [
            ("schema-name", json!(self.schema)),
            ("table-name", json!("t")),
            ("slot.name", json!(self.slot())),
            ("decoding.plugin.name", json!(self.plugin)),
            ("scan.incremental.snapshot.chunk.size", json!(10)),
        ];
        for (name, value) in place.into_iter().chain(usual) {
            all.insert(name.to_owned(), value);
        }
        let (mut checkpointing, mut key) = (json!("aligned"), json!(["ID"]));
        for (name, value) in options {
            match value {
                // None of the job's options, but of what surrounds it.
                value if *name == "checkpointing" => Some(std::mem::replace(&mut checkpointing, value.clone())),
                value if *name == "primary-key" => Some(std::mem::replace(&mut key, value.clone())),
                Value::Null => all.remove(*name),
                value => all.insert((*name).to_owned(), value.clone()),
            };
        }
        let mut json = json!({
            "connector": match self.place {
                Place::Postgres(_) => "postgres-slot-cdc",
                Place::Kingbase(_) => "kingbase-cdc",
            },
            "options": all,
            "checkpointing": checkpointing,
            "form": form,
        });
        if let Some(columns) = columns {
            json["columns"] = columns;
            json["primary-key"] = key;
        }
        Config::from_json(&json.to_string()).map(Arc::new)
    }
}

impl Drop for Source {
    /// So that slots of other tests have room, and the server need not keep its log.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.run(&format!(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = '{}' and not active",
                self.slot()
            ));
        }
    }
}
