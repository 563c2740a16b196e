//! A captured table of a PostgreSQL server, and how a job finds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tidemark::config::Config;

use crate::support::Server;
use crate::support::postgres::shared;

/// A table `t` of `id` and `v` in a schema of its own, which names the slot too.
pub struct Source {
    pub server: &'static Server,
    pub schema: String,
    pub plugin: &'static str,
}

/// Plugins of every server here.
pub const PLUGINS: [&str; 2] = ["pgoutput", "test_decoding"];

impl Source {
    /// On the server that the tests share, with rows 1, 2, … up to `rows`, each of value `v`.
    pub fn shared(schema: &str, plugin: &'static str, rows: u64) -> Source {
        Source::on(shared(), schema, plugin, rows)
    }

    /// The same on another server.
    pub fn on(server: &'static Server, schema: &str, plugin: &'static str, rows: u64) -> Source {
        let source = Source {
            server,
            schema: format!("{schema}_{plugin}"),
            plugin,
        };
        source.run(&format!("create schema {}", source.schema));
        source.run(r#"create table T ("ID" bigint primary key, "V" text not null); "#);
        source.run("alter table T replica identity full");
        source.run(&format!(
            "insert into T select g, 'v' from generate_series(1, {rows}) g"
        ));
        source
    }

    /// Runs statements; `T` stands for the table.
    pub fn run(&self, sql: &str) -> String {
        self.server.psql(&self.named(sql))
    }

    /// The same for a session of one's own.
    pub fn named(&self, sql: &str) -> String {
        sql.replace(" T ", &format!(" {}.t ", self.schema))
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
        for (name, value) in [
            ("hostname", json!(self.server.host())),
            ("username", json!("capture")),
            ("password", json!("not asked for")),
            ("database-name", json!("postgres")),
            ("schema-name", json!(self.schema)),
            ("table-name", json!("t")),
            ("slot.name", json!(self.slot())),
            ("decoding.plugin.name", json!(self.plugin)),
            ("scan.incremental.snapshot.chunk.size", json!(10)),
        ] {
            all.insert(name.to_owned(), value);
        }
        for (name, value) in options {
            match value {
                Value::Null => all.remove(*name),
                value => all.insert((*name).to_owned(), value.clone()),
            };
        }
        let mut json = json!({
            "connector": "postgres-slot-cdc",
            "options": all,
            "checkpointing": "aligned",
            "form": form,
        });
        if let Some(columns) = columns {
            json["columns"] = columns;
            json["primary-key"] = json!(["ID"]);
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
