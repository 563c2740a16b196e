//! What a job asks for: built once from JSON, validated whole; every error names its option.

mod form;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod options;
mod slots;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::pattern::{NamePattern, TablePatterns};
use crate::config::form::{FormName, form, refuse_columns, upsert_key};
use crate::config::options::Of;
use crate::config::slots::slots;
pub use crate::config::slots::{DdlCapture, SlotConfig};
use crate::config::values::Options;
use crate::dialect::slots::parse_lsn;
use crate::error::{Error, ErrorKind, Result};
use crate::log::LogStart;
use crate::log::OnFault;
use crate::odbc::Secret;
use crate::position::Scn;
use crate::row::codec::{Form, OnValueError};
use crate::row::layout::DeclaredColumn;
use crate::row::zone::Zone;
use crate::stream::OnTruncate;
use crate::unavailable::OnUnavailable;

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

const LOG_GONE: &str = "log.gone";
const MAX_AGE: &str = "transaction.max-age";
const ON_MAX_AGE: &str = "transaction.on-max-age";

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
    pub tables: TablePatterns,
    /// `scan.startup.mode`
    pub startup: StartupMode,
    /// `scan.incremental.snapshot.chunk.size`, in rows
    pub chunk_rows: usize,
    /// `scan.incremental.snapshot.chunk.key-column`
    pub chunk_key_column: Option<String>,
    /// `table-without-key`
    pub table_without_key: TableWithoutKey,
    /// How pages are read.
    pub snapshot: SnapshotConfig,
    /// How the log is read.
    pub log: LogConfig,
    /// The slot, where the log is read through one.
    pub slot: Option<SlotConfig>,
    /// `value.on-error`
    pub on_value_error: OnValueError,
    /// `value.unavailable`
    pub on_unavailable: OnUnavailable,
    /// `on-truncate`
    pub on_truncate: OnTruncate,
    /// `connect.timeout`
    pub connect_timeout: Duration,
    /// `connect.max-retries`
    pub connect_retries: u32,
    /// `socket.timeout`
    pub socket_timeout: Duration,
    /// `server-time-zone`
    pub server_time_zone: Zone,
    /// `odbc.driver`; without it the dialect's own.
    pub odbc_driver: Option<String>,
    /// `odbc.*` without that, names as the user wrote them.
    pub odbc: Attributes,
    /// The columns of each table that go downstream, in their order; `None`: all of them, in their natural types.
    pub columns: Option<Vec<DeclaredColumn>>,
    /// The form of the records, and `changelog-mode`.
    pub form: Form,
    /// The columns by which rows are kept downstream, where updates are told by them alone.
    pub upsert_key: Option<Vec<String>>,
    /// How the job takes checkpoints.
    pub checkpointing: Checkpointing,
    /// Where large transactions go; without any, the system's temporary folder.
    pub temporary: Vec<PathBuf>,
}

/// Attributes of the connection string, names and values. Only the names show themselves: there may be passwords among them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Attributes(pub BTreeMap<String, String>);

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// `scan.snapshot.*`
#[derive(Clone, Copy, Debug)]
pub struct SnapshotConfig {
    /// `scan.snapshot.connections`
    pub connections: usize,
    /// `scan.snapshot.fetch.size`, in rows
    pub fetch_rows: usize,
    /// `scan.snapshot.page.bytes`
    pub page_bytes: usize,
    /// `scan.snapshot.round.bytes`
    pub round_bytes: usize,
}

/// `log.*` and `transaction.*`
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// `log.fetch.size`, in rows
    pub fetch_rows: usize,
    /// `log.window.bytes`
    pub window_bytes: u64,
    /// `log.switch`
    pub may_switch: bool,
    /// `log.gone` = `resnapshot`: everything is read again where the log is gone that a state needs
    pub resnapshot: bool,
    /// `log.headroom.warn`, in bytes
    pub headroom_warn: u64,
    /// `log.on-corruption`
    pub on_corruption: OnFault,
    /// `log.on-dictionary-mismatch`
    pub on_mismatch: OnFault,
    /// `transaction.max-age`
    pub max_age: Option<Duration>,
    /// `transaction.on-max-age`
    pub on_max_age: OnFault,
    /// `transaction.memory`, in bytes
    pub transaction_memory: usize,
    /// `transaction.fragment.rows`
    pub fragment_rows: usize,
}

/// A connector, by the name that `'connector' = …` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `dameng-cdc`
    Dameng,
    /// `postgres-slot-cdc`
    Postgres,
    /// `kingbase-cdc`
    Kingbase,
}

impl Connector {
    /// All there are.
    pub const ALL: [Connector; 3] = [Connector::Dameng, Connector::Postgres, Connector::Kingbase];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Connector::Dameng => "dameng-cdc",
            Connector::Postgres => "postgres-slot-cdc",
            Connector::Kingbase => "kingbase-cdc",
        }
    }

    /// Which options it has beside those that all have.
    pub fn family(self) -> Of {
        match self {
            Connector::Dameng => Of::Mining,
            Connector::Postgres | Connector::Kingbase => Of::Slots,
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Connector::Dameng => 5236,
            Connector::Postgres => 5432,
            Connector::Kingbase => 54321,
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
    /// The log alone.
    Log(LogStart),
}

impl StartupMode {
    /// Whether the rows that are there are read.
    pub fn reads_tables(self) -> bool {
        matches!(self, StartupMode::Initial | StartupMode::Snapshot)
    }
}

/// `table-without-key`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableWithoutKey {
    /// The job does not start.
    #[default]
    Fail,
    /// It is read as one piece, from its beginning after every failure, and not corrected: at least once.
    Reread,
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
    #[serde(default)]
    columns: Option<Vec<DeclaredColumn>>,
    #[serde(default)]
    form: FormName,
    #[serde(default, rename = "primary-key")]
    primary_key: Option<Vec<String>>,
    checkpointing: Checkpointing,
}

impl Config {
    /// Reads what Java made of the table's or the builder's options: `{"connector": …, "options": {name: value, …},
    /// "columns": [{"name", "type", "precision", "scale", "length", "nullable", "metadata"}, …], "checkpointing":
    /// "disabled" | "aligned" | "unaligned", "form": "rows" | "json" | "changes", "primary-key": [name, …]}`. Values are
    /// texts, integers, and durations in milliseconds. Without `columns` all columns of each table go out; the form is
    /// `rows` if it is left out; a table of SQL without a PRIMARY KEY has an empty one.
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
        options.refuse_unknown(connector)?;
        let declared = json.columns.iter().flatten();
        declared.map(DeclaredColumn::kind).try_for_each(|kind| kind.map(drop))?;
        refuse_columns(json.form, json.columns.is_some())?;
        let form = form(json.form, &options, connector)?;
        let slot = match connector.family() {
            Of::Slots => Some(slots(&options)?),
            Of::Mining | Of::Every => None,
        };
        let config = Config {
            connector,
            hostname: options.text("hostname")?,
            port: match options.has("port") {
                true => options.integer("port")? as u16,
                false => connector.default_port(),
            },
            username: options.text("username")?,
            password: Secret::new(options.text("password")?),
            tables: TablePatterns {
                schema: names(&options, "schema-name")?,
                table: names(&options, "table-name")?,
                but: slot.iter().flat_map(SlotConfig::never_captured).collect(),
            },
            startup: startup(&options, connector)?,
            chunk_rows: options.integer("scan.incremental.snapshot.chunk.size")? as usize,
            chunk_key_column: options.optional_text("scan.incremental.snapshot.chunk.key-column")?,
            table_without_key: match options.says("table-without-key", "reread")? {
                true => TableWithoutKey::Reread,
                false => TableWithoutKey::Fail,
            },
            snapshot: SnapshotConfig {
                connections: options.integer("scan.snapshot.connections")? as usize,
                fetch_rows: options.integer("scan.snapshot.fetch.size")? as usize,
                page_bytes: options.integer("scan.snapshot.page.bytes")? as usize,
                round_bytes: options.integer("scan.snapshot.round.bytes")? as usize,
            },
            log: LogConfig {
                fetch_rows: options.integer("log.fetch.size")? as usize,
                window_bytes: options.integer("log.window.bytes")? as u64,
                may_switch: options.flag("log.switch")?,
                resnapshot: options.says(LOG_GONE, "resnapshot")?,
                headroom_warn: options.integer("log.headroom.warn")? as u64,
                on_corruption: on_fault(&options, "log.on-corruption")?,
                on_mismatch: on_fault(&options, "log.on-dictionary-mismatch")?,
                max_age: match options.has(MAX_AGE) {
                    true => Some(Duration::from_millis(options.integer(MAX_AGE)? as u64)),
                    false => None,
                },
                on_max_age: match (on_fault(&options, ON_MAX_AGE)?, options.has(ON_MAX_AGE)) {
                    (_, true) if !options.has(MAX_AGE) => {
                        let reason = format!("means something only where {MAX_AGE} is set");
                        return Err(refuse(ON_MAX_AGE, reason));
                    }
                    (on_max_age, _) => on_max_age,
                },
                transaction_memory: options.integer("transaction.memory")? as usize,
                fragment_rows: options.integer("transaction.fragment.rows")? as usize,
            },
            slot,
            on_value_error: match options.says("value.on-error", "null")? {
                true => OnValueError::Null,
                false => OnValueError::Fail,
            },
            on_unavailable: match options.text("value.unavailable")?.as_str() {
                "placeholder" => OnUnavailable::Placeholder,
                "fail" => OnUnavailable::Fail,
                _ => OnUnavailable::ReadBack,
            },
            on_truncate: match options.says("on-truncate", "ignore")? {
                true => OnTruncate::Ignore,
                false => OnTruncate::Fail,
            },
            connect_timeout: Duration::from_millis(options.integer("connect.timeout")? as u64),
            connect_retries: options.integer("connect.max-retries")? as u32,
            socket_timeout: Duration::from_millis(options.integer("socket.timeout")? as u64),
            server_time_zone: Zone::parse(
                &options
                    .optional_text("server-time-zone")?
                    .unwrap_or_else(|| "UTC".into()),
            )?,
            odbc_driver: options.optional_text("odbc.driver")?,
            odbc: Attributes(options.properties("odbc")?),
            columns: json.columns,
            upsert_key: upsert_key(&form, json.primary_key)?,
            form,
            checkpointing: json.checkpointing,
            temporary: Vec::new(),
        };
        config.refuse_impossible()?;
        Ok(config)
    }

    fn refuse_impossible(&self) -> Result<()> {
        if self.log.resnapshot && !self.startup.reads_tables() {
            let reason = "is 'resnapshot', which means something only where scan.startup.mode reads tables: 'initial' or 'snapshot'";
            return Err(refuse(LOG_GONE, reason.into()));
        }
        let database = self.slot.as_ref().map(|_| ("database", "database-name"));
        if let Some(driver) = self.odbc_driver.as_deref().filter(|driver| driver.contains(['{', '}'])) {
            return Err(refuse(
                "odbc.driver",
                format!("is '{driver}'; no driver's name or path has braces"),
            ));
        }
        for name in self.odbc.0.keys() {
            // What would end the attribute would set others.
            let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || " _-.".contains(letter);
            if name.trim().is_empty() || !name.chars().all(is_of_name) {
                let reason = "is no name of an attribute: letters, digits, blanks, '_', '-' and '.'";
                return Err(refuse(&format!("odbc.{name}"), reason.into()));
            }
            let mut own = OWN_ATTRIBUTES.iter().copied().chain(database);
            if let Some((_, own)) = own.find(|(taken, _)| name.eq_ignore_ascii_case(taken)) {
                return Err(refuse(&format!("odbc.{name}"), format!("is set by '{own}'")));
            }
        }
        Ok(())
    }
}

fn names(options: &Options, name: &str) -> Result<NamePattern> {
    NamePattern::parse(&options.text(name)?).map_err(|reason| refuse(name, reason))
}

fn startup(options: &Options, connector: Connector) -> Result<StartupMode> {
    const MODE: &str = "scan.startup.mode";
    const TIME: &str = "scan.startup.timestamp-millis";
    const SCN: &str = "scan.startup.specific-offset.scn";
    const LSN: &str = "scan.startup.specific-offset.lsn";
    let mode = options.text(MODE)?;
    let (refused, place): (&[&str], _) = match connector.family() {
        Of::Slots => (&["earliest-offset", "timestamp"], LSN),
        Of::Mining | Of::Every => (&["committed-offset"], SCN),
    };
    if refused.contains(&mode.as_str()) {
        return Err(refuse(
            MODE,
            format!("is '{mode}', which '{}' does not have", connector.name()),
        ));
    }
    for (option, of) in [(TIME, "timestamp"), (place, "specific-offset")] {
        if options.has(option) != (mode == of) {
            let reason = match mode == of {
                true => format!("must be set where {MODE} = '{of}'"),
                false => format!("means something only where {MODE} = '{of}'; it is '{mode}'"),
            };
            return Err(refuse(option, reason));
        }
    }
    Ok(match mode.as_str() {
        "snapshot" => StartupMode::Snapshot,
        "latest-offset" => StartupMode::Log(LogStart::Latest),
        "earliest-offset" => StartupMode::Log(LogStart::Earliest),
        "specific-offset" if place == LSN => {
            let text = options.text(LSN)?;
            let reason = || refuse(LSN, format!("is '{text}'; it must be an LSN such as 16/B374D848"));
            StartupMode::Log(LogStart::At(parse_lsn(&text).ok_or_else(reason)?))
        }
        "specific-offset" => StartupMode::Log(LogStart::At(Scn(options.integer(SCN)? as u64))),
        "committed-offset" => StartupMode::Log(LogStart::Committed),
        "timestamp" => StartupMode::Log(LogStart::Time(options.integer(TIME)?)),
        _ => StartupMode::Initial,
    })
}

fn on_fault(options: &Options, name: &str) -> Result<OnFault> {
    Ok(match options.says(name, "skip")? {
        true => OnFault::Skip,
        false => OnFault::Fail,
    })
}

fn refuse(option: &str, reason: String) -> Error {
    ErrorKind::Option {
        option: option.to_owned(),
        reason,
    }
    .into()
}

#[cfg(test)]
mod tests;
