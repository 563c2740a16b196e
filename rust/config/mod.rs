//! What a job asks for: built once from JSON, validated whole; every error names its option.

pub mod options;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::options::{Default, OPTIONS, OptionKind, OptionSpec, find};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::Secret;
use crate::row::layout::DeclaredColumn;
use crate::row::zone::Zone;
use crate::split::TableName;

/// Attributes of the connection string that have options of their own, in lower case.
const OWN_ATTRIBUTES: &[(&str, &str)] = &[
    ("driver", "odbc.driver"),
    ("server", "hostname"),
    ("servername", "hostname"),
    ("tcp_port", "port"),
    ("port", "port"),
    ("uid", "username"),
    ("username", "username"),
    ("pwd", "password"),
    ("password", "password"),
    ("dsn", "odbc.driver"),
    ("filedsn", "odbc.driver"),
];

/// A validated job.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which connector, and so which database.
    pub connector: Connector,
    /// `hostname`
    pub hostname: String,
    /// `port`
    pub port: u16,
    /// `username`
    pub username: String,
    /// `password`
    pub password: Secret,
    /// `schema-name` and `table-name`
    pub table: Arc<TableName>,
    /// `scan.startup.mode`
    pub startup: StartupMode,
    /// `scan.incremental.snapshot.chunk.size`, in rows
    pub chunk_rows: usize,
    /// `connect.timeout`
    pub connect_timeout: Duration,
    /// `server-time-zone`
    pub server_time_zone: Zone,
    /// `odbc.driver`; without it the dialect's own.
    pub odbc_driver: Option<String>,
    /// `odbc.*` without that, names as the user wrote them.
    pub odbc: BTreeMap<String, String>,
    /// The columns that go downstream, in their order.
    pub columns: Vec<DeclaredColumn>,
    /// How the job takes checkpoints.
    pub checkpointing: Checkpointing,
}

/// A connector, by the name that `'connector' = …` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `dameng-cdc`
    Dameng,
}

impl Connector {
    const ALL: [Connector; 1] = [Connector::Dameng];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Connector::Dameng => "dameng-cdc",
        }
    }
}

/// `scan.startup.mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupMode {
    /// The rows that are there, then the log.
    Initial,
    /// The rows that are there, and the log up to the largest point of their pages.
    Snapshot,
    /// The log from now on.
    LatestOffset,
}

/// How the job takes checkpoints: what the gate between snapshot and stream has to know (design 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checkpointing {
    /// Not at all.
    Disabled,
    /// With aligned barriers.
    Aligned,
    /// With unaligned barriers, if only after a timeout.
    Unaligned,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    connector: String,
    options: Map<String, Value>,
    columns: Vec<DeclaredColumn>,
    checkpointing: Checkpointing,
}

impl Config {
    /// Reads what Java made of the table's or the builder's options: `{"connector": …, "options": {name: value, …},
    /// "columns": [{"name", "type", "precision", "scale", "length", "nullable", "metadata"}, …], "checkpointing":
    /// "disabled" | "aligned" | "unaligned"}`. Values are texts, integers, and durations in milliseconds.
    ///
    /// # Errors
    /// `Option`, which names the option; `Declaration`, which names the column.
    pub fn from_json(json: &str) -> Result<Self> {
        // The JSON is Java's, not the user's: its own faults are ours, and a text of serde may quote a password.
        let json: Json = serde_json::from_str(json).map_err(|error| {
            ErrorKind::Internal(format!(
                "the configuration has not the form that this build reads (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        let connector = Connector::ALL
            .into_iter()
            .find(|connector| connector.name() == json.connector)
            .ok_or_else(|| refuse("connector", format!("'{}' is not one of this build", json.connector)))?;
        let options = Options(json.options);
        options.refuse_unknown()?;
        json.columns.iter().try_for_each(|column| column.kind().map(drop))?;
        let config = Config {
            connector,
            hostname: options.text("hostname")?,
            port: options.integer("port")? as u16,
            username: options.text("username")?,
            password: Secret::new(options.text("password")?),
            table: Arc::new(TableName {
                schema: options.text("schema-name")?,
                name: options.text("table-name")?,
            }),
            startup: match options.text("scan.startup.mode")?.as_str() {
                "snapshot" => StartupMode::Snapshot,
                "latest-offset" => StartupMode::LatestOffset,
                _ => StartupMode::Initial,
            },
            chunk_rows: options.integer("scan.incremental.snapshot.chunk.size")? as usize,
            connect_timeout: Duration::from_millis(options.integer("connect.timeout")? as u64),
            server_time_zone: Zone::parse(
                &options
                    .optional_text("server-time-zone")?
                    .unwrap_or_else(|| "UTC".into()),
            )?,
            odbc_driver: options.optional_text("odbc.driver")?,
            odbc: options.properties("odbc")?,
            columns: json.columns,
            checkpointing: json.checkpointing,
        };
        config.refuse_impossible()?;
        Ok(config)
    }

    fn refuse_impossible(&self) -> Result<()> {
        for name in self.odbc.keys() {
            if let Some((_, own)) = OWN_ATTRIBUTES
                .iter()
                .find(|(taken, _)| name.eq_ignore_ascii_case(taken))
            {
                return Err(refuse(&format!("odbc.{name}"), format!("is set by '{own}'")));
            }
        }
        Ok(())
    }
}

/// The options as they came; each question is answered by the table of options.
struct Options(Map<String, Value>);

impl Options {
    fn refuse_unknown(&self) -> Result<()> {
        match self.0.keys().find(|name| find(name).is_none()) {
            None => Ok(()),
            Some(name) => Err(refuse(name, "there is no such option".into())),
        }
    }

    fn text(&self, name: &str) -> Result<String> {
        self.optional_text(name)?
            .ok_or_else(|| refuse(name, "must be set".into()))
    }

    fn optional_text(&self, name: &str) -> Result<Option<String>> {
        let spec = spec(name)?;
        let text = match (self.0.get(name), spec.default) {
            (None, Default::Text(default)) => return Ok(Some(default.to_owned())),
            (None, _) => return Ok(None),
            (Some(value), _) => text(name, value)?,
        };
        if let OptionKind::Choice(words) = spec.kind {
            if !words.contains(&text) {
                let words = words.join("', '");
                return Err(refuse(name, format!("is '{text}'; it must be one of '{words}'")));
            }
        }
        Ok(Some(text.to_owned()))
    }

    fn integer(&self, name: &str) -> Result<i64> {
        let spec = spec(name)?;
        let (min, max, unit) = match spec.kind {
            OptionKind::Integer { min, max } => (min, max, ""),
            OptionKind::Duration { min, max } => (min, max, " ms"),
            _ => return Err(no_such(name)),
        };
        let value = match (self.0.get(name), spec.default) {
            (None, Default::Number(default)) => default,
            (None, _) => return Err(refuse(name, "must be set".into())),
            (Some(value), _) => value
                .as_i64()
                .ok_or_else(|| refuse(name, format!("must be an integer{unit}")))?,
        };
        if !(min..=max).contains(&value) {
            return Err(refuse(
                name,
                format!("is {value}{unit}; it must be from {min} to {max}{unit}"),
            ));
        }
        Ok(value)
    }

    fn properties(&self, prefix: &str) -> Result<BTreeMap<String, String>> {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &self.0 {
            let is_one = find(name).is_some_and(|spec| spec.name == prefix);
            if let Some(rest) = name.get(prefix.len() + 1..).filter(|_| is_one) {
                if let Some(other) = all.keys().find(|other| other.eq_ignore_ascii_case(rest)) {
                    return Err(refuse(name, format!("is set twice, as '{prefix}.{other}' too")));
                }
                all.insert(rest.to_owned(), text(name, value)?.to_owned());
            }
        }
        Ok(all)
    }
}

fn spec(name: &str) -> Result<&'static OptionSpec> {
    OPTIONS
        .iter()
        .find(|option| option.name == name)
        .ok_or_else(|| no_such(name))
}

fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str> {
    let text = value.as_str().ok_or_else(|| refuse(name, "must be a text".into()))?;
    if text.trim().is_empty() {
        return Err(refuse(name, "must not be empty".into()));
    }
    if text.contains('\0') {
        return Err(refuse(name, "must not contain a NUL character".into()));
    }
    Ok(text)
}

fn refuse(option: &str, reason: String) -> Error {
    ErrorKind::Option {
        option: option.to_owned(),
        reason,
    }
    .into()
}

fn no_such(name: &str) -> Error {
    ErrorKind::Internal(format!("the table of options does not have '{name}' of this type")).into()
}

#[cfg(test)]
mod tests;
