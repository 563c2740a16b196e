//! The one table of options: what there is, of which type, with which default and range, and what it means. The
//! configuration is read by it, Java's options and docs/options.md are tested against it.

use serde::{Serialize, Serializer, ser::SerializeStruct};

/// An option of a job.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// As the user writes it.
    pub name: &'static str,
    /// Which connectors have it.
    pub of: Of,
    /// What values it takes.
    pub kind: OptionKind,
    /// What it is if it is left out.
    pub default: Default,
    /// One sentence for the documentation.
    pub doc: &'static str,
}

/// Which connectors have an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All.
    Every,
    /// Those that mine log files: `dameng-cdc`.
    Mining,
    /// Those that read logical slots: `postgres-slot-cdc` and `kingbase-cdc`.
    Slots,
}

/// What values an option takes.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    /// Text, not empty.
    Text,
    /// Text that is never shown.
    Secret,
    /// An integer in a range, ends included.
    Integer {
        /// Least.
        min: i64,
        /// Greatest.
        max: i64,
    },
    /// A duration in a range, ends included; a number of milliseconds in the configuration's JSON.
    Duration {
        /// Least, in milliseconds.
        min: i64,
        /// Greatest, in milliseconds.
        max: i64,
    },
    /// A number of bytes in a range, ends included.
    Bytes {
        /// Least.
        min: i64,
        /// Greatest.
        max: i64,
    },
    /// Yes or no.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time zone: an IANA name or an offset such as `+08:00`.
    TimeZone,
    /// Any number of texts whose names begin with the option's name and a dot.
    Properties,
}

/// What an option is if it is left out.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// It must not be left out.
    Required,
    /// Nothing.
    None,
    /// This text.
    Text(&'static str),
    /// This number; milliseconds for a duration.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Whatever this says; the part that knows it fills it in.
    Described(&'static str),
}

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

/// Every option, beside Flink's own `connector`.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "hostname",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "Host name or address of the database server.",
    },
    OptionSpec {
        name: "port",
        of: Of::Every,
        kind: OptionKind::Integer { min: 1, max: 65_535 },
        default: Default::Described("5236 (`dameng-cdc`), 5432 (`postgres-slot-cdc`), 54321 (`kingbase-cdc`)"),
        doc: "Port of the database server.",
    },
    OptionSpec {
        name: "username",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "User that reads the tables and the log.",
    },
    OptionSpec {
        name: "password",
        of: Of::Every,
        kind: OptionKind::Secret,
        default: Default::Required,
        doc: "Password of that user; never shown in plans, logs and errors.",
    },
    OptionSpec {
        name: "schema-name",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "Schemas of the captured tables: a name as SQL has it, or a pattern of whole names (below).",
    },
    OptionSpec {
        name: "table-name",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "The captured tables: a name as SQL has it, or a pattern of whole names (below).",
    },
    OptionSpec {
        name: "scan.startup.mode",
        of: Of::Every,
        kind: OptionKind::Choice(&[
            "initial",
            "snapshot",
            "latest-offset",
            "earliest-offset",
            "specific-offset",
            "timestamp",
            "committed-offset",
        ]),
        default: Default::Text("initial"),
        doc: "Where to start: the rows that are there and then the log (`initial`), the rows that are there and no more \
              (`snapshot`, bounded), or the log alone: from now on (`latest-offset`), all that is kept of it \
              (`earliest-offset`), from a place on (`specific-offset`), from a time on (`timestamp`) or from where the slot \
              stands (`committed-offset`). Slots have no `earliest-offset` and no `timestamp`, mining no `committed-offset`.",
    },
    OptionSpec {
        name: "scan.startup.specific-offset.scn",
        of: Of::Mining,
        kind: OptionKind::Integer { min: 1, max: i64::MAX },
        default: Default::None,
        doc: "The scn (on Dameng the LSN) that `specific-offset` starts at: what commits there or later comes, each \
              transaction whole.",
    },
    OptionSpec {
        name: "scan.startup.timestamp-millis",
        of: Of::Mining,
        kind: OptionKind::Integer {
            min: 0,
            max: 253_370_764_800_000,
        },
        default: Default::None,
        doc: "The time that `timestamp` starts at, in milliseconds since the epoch: the first transaction that committed \
              then or later comes, and all behind it.",
    },
    OptionSpec {
        name: "scan.incremental.snapshot.chunk.size",
        of: Of::Every,
        kind: OptionKind::Integer {
            min: 2,
            max: 10_000_000,
        },
        default: Default::Number(8096),
        doc: "Rows of a chunk as it is planned, and at most of a page as it is read.",
    },
    OptionSpec {
        name: "scan.incremental.snapshot.chunk.key-column",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::None,
        doc: "Column of the key by which tables are cut and read first, the key's other columns behind it; without it the \
              key's own order. An index should begin with it. A column that is not in the key is refused.",
    },
    OptionSpec {
        name: "table-without-key",
        of: Of::Every,
        kind: OptionKind::Choice(&["fail", "reread"]),
        default: Default::Text("fail"),
        doc: "What to do about a table with neither a primary key nor a unique key of NOT NULL columns, when its rows are to be \
              read: fail, or read it as one piece, each row at least once (below).",
    },
    OptionSpec {
        name: "scan.snapshot.connections",
        of: Of::Every,
        kind: OptionKind::Integer { min: 1, max: 64 },
        default: Default::Number(2),
        doc: "Connections over which one reader reads pages at the same time; the log has one more.",
    },
    OptionSpec {
        name: "scan.snapshot.fetch.size",
        of: Of::Every,
        kind: OptionKind::Integer { min: 1, max: 100_000 },
        default: Default::Number(1024),
        doc: "Rows of one fetch while a page is read; fewer where values of any length are read or the buffers would grow \
              too large.",
    },
    OptionSpec {
        name: "scan.snapshot.page.bytes",
        of: Of::Every,
        kind: OptionKind::Bytes { min: KIB, max: GIB },
        default: Default::Number(16 * MIB),
        doc: "Bytes of a page at most, keys included, but one row at least.",
    },
    OptionSpec {
        name: "scan.snapshot.round.bytes",
        of: Of::Every,
        kind: OptionKind::Bytes {
            min: KIB,
            max: 16 * GIB,
        },
        default: Default::Number(64 * MIB),
        doc: "Bytes of the pages that one advance of the log corrects together: no further page is begun once they are held. The first round is full at 4 mb and each one behind a full one at twice as much, up to this, so that first rows go out soon. The rows of the round before may still be on their way out.",
    },
    OptionSpec {
        name: "log.fetch.size",
        of: Of::Mining,
        kind: OptionKind::Integer { min: 1, max: 100_000 },
        default: Default::Number(2000),
        doc: "Rows of one fetch while the log is read; fewer where the buffers would grow too large.",
    },
    OptionSpec {
        name: "log.window.bytes",
        of: Of::Mining,
        kind: OptionKind::Bytes {
            min: MIB,
            max: 1024 * GIB,
        },
        default: Default::Number(512 * MIB),
        doc: "Bytes of log files that one mining call reads, and one file at least.",
    },
    OptionSpec {
        name: "log.switch",
        of: Of::Mining,
        kind: OptionKind::Flag,
        default: Default::Flag(false),
        doc: "Whether the server may be told to begin a new log file when the end that can be mined stays behind (needs a grant).",
    },
    OptionSpec {
        name: "log.on-corruption",
        of: Of::Mining,
        kind: OptionKind::Choice(&["fail", "skip"]),
        default: Default::Text("fail"),
        doc: "What to do about a log record that cannot be read, be its block corrupt (TM-3004) or its text in no form that is \
              known (TM-3007): fail, or go on without it, warn and count it (`recordsSkipped`).",
    },
    OptionSpec {
        name: "log.gone",
        of: Of::Every,
        kind: OptionKind::Choice(&["fail", "resnapshot"]),
        default: Default::Text("fail"),
        doc: "What to do where the log is gone that a restored job needs (TM-3001, TM-3010, TM-3011): fail, or read all tables again, as a job does that begins, and go on from there (`resnapshot`, where `scan.startup.mode` reads tables). That repairs neither rows that were deleted in the gap, which stay downstream, nor whatever counts rows ([more](operations.md#when-the-log-is-gone)).",
    },
    OptionSpec {
        name: "log.headroom.warn",
        of: Of::Every,
        kind: OptionKind::Bytes {
            min: 0,
            max: 1024 * GIB,
        },
        default: Default::Number(256 * MIB),
        doc: "The log's headroom (`archiveHeadroomBytes`) below which a warning says what to do, once until there is room again; 0 for none.",
    },
    OptionSpec {
        name: "log.on-dictionary-mismatch",
        of: Of::Every,
        kind: OptionKind::Choice(&["fail", "skip"]),
        default: Default::Text("fail"),
        doc: "What to do about a record of another shape of its table, or of a table of which it cannot be told whether it was \
              a partition: fail, or go on without it, warn and count it (`recordsSkipped`).",
    },
    OptionSpec {
        name: "transaction.memory",
        of: Of::Mining,
        kind: OptionKind::Bytes {
            min: MIB,
            max: 1024 * GIB,
        },
        default: Default::Number(256 * MIB),
        doc: "Memory that the changes of all transactions that have not ended may take in a reader; of larger ones the largest go to \
              files in Flink's temporary folders (`io.tmp.dirs`) until they end (`spilledBytes`).",
    },
    OptionSpec {
        name: "transaction.max-age",
        of: Of::Mining,
        kind: OptionKind::Duration {
            min: 1_000,
            max: 31_536_000_000,
        },
        default: Default::None,
        doc: "How long a transaction may stay open, by the times in the log; it holds the log from its START on. Warned of from \
              three quarters on.",
    },
    OptionSpec {
        name: "transaction.on-max-age",
        of: Of::Mining,
        kind: OptionKind::Choice(&["fail", "skip"]),
        default: Default::Text("fail"),
        doc: "What to do about a transaction that is older than `transaction.max-age`, which has to be set: fail (TM-6003), or \
              leave all of it out even if it commits, warn and count it (`transactionsSkipped`).",
    },
    OptionSpec {
        name: "transaction.fragment.rows",
        of: Of::Every,
        kind: OptionKind::Integer {
            min: 1,
            max: 10_000_000,
        },
        default: Default::Number(10_000),
        doc: "Rows of a committed transaction that are decoded and handed on at once.",
    },
    OptionSpec {
        name: "value.on-error",
        of: Of::Every,
        kind: OptionKind::Choice(&["fail", "null"]),
        default: Default::Text("fail"),
        doc: "What to do about a value that does not fit its declared type: fail, or send NULL and count it (`valuesNulled`); \
              a column declared NOT NULL fails in any case.",
    },
    OptionSpec {
        name: "value.unavailable",
        of: Of::Every,
        kind: OptionKind::Choice(&["read-back", "placeholder", "fail"]),
        default: Default::Text("read-back"),
        doc: "What to do about a value that the log does not hold (one that is stored out of its row): read the row by its key, which \
              gives the value of then, not that of the change (`valuesReadBack`); send `__debezium_unavailable_value`, as is \
              done where the row is gone by then (`valuesGone`, `valuesUnavailable`); or fail.",
    },
    OptionSpec {
        name: "on-truncate",
        of: Of::Every,
        kind: OptionKind::Choice(&["fail", "ignore"]),
        default: Default::Text("fail"),
        doc: "What to do when the table is truncated: fail, or leave its rows downstream, warn and count it \
              (`truncatesIgnored`).",
    },
    OptionSpec {
        name: "changelog-mode",
        of: Of::Every,
        kind: OptionKind::Choice(&["all", "upsert"]),
        default: Default::Text("all"),
        doc: "How updates go out: as the row before (`-U`) and after (`+U`), or as the row after alone (`upsert`), which needs \
              a declared PRIMARY KEY of the table's key columns. A change of the key is a delete and an insert in both.",
    },
    OptionSpec {
        name: "decimal.handling.mode",
        of: Of::Every,
        kind: OptionKind::Choice(&["string", "precise", "double"]),
        default: Default::Text("string"),
        doc: "How exact numbers stand in JSON: as a text, as a number with all its digits, or as the nearest DOUBLE.",
    },
    OptionSpec {
        name: "time.precision.mode",
        of: Of::Every,
        kind: OptionKind::Choice(&["sql", "iso-8601", "adaptive"]),
        default: Default::Text("sql"),
        doc: "How dates and times stand in JSON: as Flink's formats read them with `timestamp-format.standard` = `SQL` or \
              `ISO-8601`, or as Debezium's numbers since 1970 (days; milli-, micro- or nanoseconds by the column's precision).",
    },
    OptionSpec {
        name: "include.schema.changes",
        of: Of::Every,
        kind: OptionKind::Flag,
        default: Default::Flag(false),
        doc: "Whether statements that alter, empty, rename or drop a table go out among its changes, in JSON and as `Change`, in \
              front of the first row of the new shape. A DROP, RENAME or TRUNCATE that went out is no failure, whatever \
              `on-truncate` and `log.on-dictionary-mismatch` say.",
    },
    OptionSpec {
        name: "connect.timeout",
        of: Of::Every,
        kind: OptionKind::Duration {
            min: 1_000,
            max: 3_600_000,
        },
        default: Default::Number(30_000),
        doc: "How long to wait for a connection, and for a slot that another session, dead perhaps, still reads.",
    },
    OptionSpec {
        name: "connect.max-retries",
        of: Of::Every,
        kind: OptionKind::Integer { min: 0, max: 100 },
        default: Default::Number(3),
        doc: "How often a connection that could not be had is tried again, after a pause that doubles from 0.5 s to 10 s, where \
              the error says that this can help (never after a wrong password).",
    },
    OptionSpec {
        name: "socket.timeout",
        of: Of::Every,
        kind: OptionKind::Duration {
            min: 1_000,
            max: 86_400_000,
        },
        default: Default::Number(600_000),
        doc: "How long a statement may take. A call that hangs beyond it in spite of being cancelled is given up with its \
              thread and connection, warned of and counted (`callsAbandoned`).",
    },
    OptionSpec {
        name: "server-time-zone",
        of: Of::Every,
        kind: OptionKind::TimeZone,
        default: Default::Described("the time zone of the JVM that plans the job"),
        doc: "Time zone of the database server: commit times, and timestamps without a zone that are read as \
              TIMESTAMP_LTZ, are taken as local times there.",
    },
    OptionSpec {
        name: "odbc.driver",
        of: Of::Every,
        kind: OptionKind::Text,
        default: Default::Described("the name under which the database's own driver installs itself"),
        doc: "The ODBC driver: its name in odbcinst.ini or the path of its library.",
    },
    OptionSpec {
        name: "odbc",
        of: Of::Every,
        kind: OptionKind::Properties,
        default: Default::None,
        doc: "Further attributes of the ODBC connection string, as `odbc.NAME`.",
    },
    OptionSpec {
        name: "database-name",
        of: Of::Slots,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "The database; a slot belongs to one.",
    },
    OptionSpec {
        name: "slot.name",
        of: Of::Slots,
        kind: OptionKind::Text,
        default: Default::Required,
        doc: "The durable slot: lower-case letters, digits and underscores, 63 at most. It is made where it is not there, keeps the \
              server's log while the job is down, and is of one job alone; beside it stands a temporary one, its name and `_r`.",
    },
    OptionSpec {
        name: "slot.drop-on-stop",
        of: Of::Slots,
        kind: OptionKind::Flag,
        default: Default::Described("`true` where `scan.startup.mode` = `snapshot`, else `false`"),
        doc: "Whether the slot is dropped, and its publication if `publication.name` is not set, when the job ends, is cancelled or \
              fails for good: no checkpoint and no savepoint of it can be restored then. It stays where the job's end is an error \
              after which Flink may restart it.",
    },
    OptionSpec {
        name: "decoding.plugin.name",
        of: Of::Slots,
        kind: OptionKind::Choice(&["pgoutput", "test_decoding"]),
        default: Default::Described("the first that the server has"),
        doc: "The output plugin of a slot that is made.",
    },
    OptionSpec {
        name: "publication.name",
        of: Of::Slots,
        kind: OptionKind::Text,
        default: Default::Described("`tidemark_` and the slot's name"),
        doc: "The publication that `pgoutput` reads. It is made for the captured tables where it is not there, and gets those of them \
              that it lacks; rows of other tables in it are passed over. `test_decoding` has none.",
    },
    OptionSpec {
        name: "ddl.capture",
        of: Of::Slots,
        kind: OptionKind::Choice(&["off", "on"]),
        default: Default::Text("off"),
        doc: "Whether what becomes of tables is captured: a job that begins makes table `tidemark.trep_sync_ddl` and the event triggers \
              that write DDL statements into it where they are not there (which a superuser alone may), and reads them back in order.",
    },
    OptionSpec {
        name: "ddl.table",
        of: Of::Slots,
        kind: OptionKind::Text,
        default: Default::None,
        doc: "A table of DDL statements that is there already, as `schema.table`: Kingbase FlySync's, whose columns `tg_tag`, \
              `search_path` and `command` are read, or `tidemark.trep_sync_ddl` where a DBA has made it.",
    },
    OptionSpec {
        name: "scan.lsn-commit.checkpoints-num-delay",
        of: Of::Slots,
        kind: OptionKind::Integer { min: 1, max: 1_000 },
        default: Default::Number(3),
        doc: "By how many checkpoints the slot stays behind the newest complete one, so that so many can be restored: those before \
              cannot.",
    },
    OptionSpec {
        name: "scan.startup.specific-offset.lsn",
        of: Of::Slots,
        kind: OptionKind::Text,
        default: Default::None,
        doc: "The LSN that `specific-offset` starts at, as the server writes it (`16/B374D848`): what commits there or later comes. \
              The slot must be there and not have moved beyond.",
    },
];

/// The entry of an option as the user wrote it, `odbc.NAME` being one of `odbc`.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    let exact = OPTIONS
        .iter()
        .find(|option| option.name == name && !matches!(option.kind, OptionKind::Properties));
    exact.or_else(|| {
        OPTIONS.iter().find(|option| {
            matches!(option.kind, OptionKind::Properties)
                && name
                    .strip_prefix(option.name)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .is_some_and(|rest| !rest.is_empty())
        })
    })
}

impl Serialize for OptionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match self.kind {
            OptionKind::Text => "text",
            OptionKind::Secret => "secret",
            OptionKind::Integer { max, .. } if max > i64::from(i32::MAX) => "long",
            OptionKind::Integer { .. } => "integer",
            OptionKind::Duration { .. } => "duration",
            OptionKind::Bytes { .. } => "bytes",
            OptionKind::Flag => "flag",
            OptionKind::Choice(_) => "choice",
            OptionKind::TimeZone => "time-zone",
            OptionKind::Properties => "properties",
        };
        let mut out = serializer.serialize_struct("option", 8)?;
        out.serialize_field("name", self.name)?;
        let of = match self.of {
            Of::Every => "every",
            Of::Mining => "mining",
            Of::Slots => "slots",
        };
        out.serialize_field("of", of)?;
        out.serialize_field("type", kind)?;
        match self.default {
            Default::Required => out.serialize_field("required", &true)?,
            Default::None => {}
            Default::Text(text) => out.serialize_field("default", text)?,
            Default::Number(number) => out.serialize_field("default", &number)?,
            Default::Flag(flag) => out.serialize_field("default", &flag)?,
            Default::Described(text) => out.serialize_field("default-is", text)?,
        }
        match self.kind {
            OptionKind::Integer { min, max } | OptionKind::Duration { min, max } | OptionKind::Bytes { min, max } => {
                out.serialize_field("min", &min)?;
                out.serialize_field("max", &max)?;
            }
            OptionKind::Choice(values) => out.serialize_field("values", values)?,
            _ => {}
        }
        out.serialize_field("doc", self.doc)?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The option's row in docs/options.md.
    fn row(option: &OptionSpec) -> String {
        let milliseconds = |value: i64| match value {
            value if value % 1000 == 0 => format!("{} s", value / 1000),
            value => format!("{value} ms"),
        };
        let bytes = |value: i64| match value {
            value if value % GIB == 0 => format!("{} gb", value / GIB),
            value if value % MIB == 0 => format!("{} mb", value / MIB),
            value => format!("{} kb", value / KIB),
        };
        let values = match option.kind {
            OptionKind::Text | OptionKind::Secret | OptionKind::Properties => "text".to_owned(),
            OptionKind::Integer { min, max } => format!("integer, {min} to {max}"),
            OptionKind::Duration { min, max } => {
                format!("duration, {} to {}", milliseconds(min), milliseconds(max))
            }
            OptionKind::Bytes { min, max } => format!("size, {} to {}", bytes(min), bytes(max)),
            OptionKind::Flag => "`true`, `false`".to_owned(),
            OptionKind::Choice(words) => format!("`{}`", words.join("`, `")),
            OptionKind::TimeZone => "`Asia/Shanghai`, `+08:00`".to_owned(),
        };
        let default = match option.default {
            Default::Required => "required".to_owned(),
            Default::None => String::new(),
            Default::Text(text) => format!("`{text}`"),
            Default::Number(number) => match option.kind {
                OptionKind::Duration { .. } => milliseconds(number),
                OptionKind::Bytes { .. } => bytes(number),
                _ => number.to_string(),
            },
            Default::Flag(flag) => format!("`{flag}`"),
            Default::Described(text) => text.to_owned(),
        };
        let name = match option.kind {
            OptionKind::Properties => format!("{}.*", option.name),
            _ => option.name.to_owned(),
        };
        format!("| `{name}` | {values} | {default} | {} |", option.doc)
    }

    #[test]
    fn the_documentation_has_these_options_and_no_other() {
        let page = include_str!("../../docs/options.md");
        for (head, of) in [
            ("| option |", Of::Every),
            ("| option of `dameng-cdc` |", Of::Mining),
            ("| option of slots |", Of::Slots),
        ] {
            let documented: Vec<&str> = page
                .lines()
                .skip_while(|line| !line.starts_with(head))
                .skip(2)
                .take_while(|line| line.starts_with('|'))
                .collect();
            let rows: Vec<String> = OPTIONS.iter().filter(|option| option.of == of).map(row).collect();
            assert_eq!(documented, rows, "the table must be:\n{}", rows.join("\n"));
        }
    }

    #[test]
    fn an_option_is_found_by_the_name_that_the_user_writes() {
        assert_eq!(find("port").map(|option| option.name), Some("port"));
        assert_eq!(find("odbc.driver").map(|option| option.name), Some("odbc.driver"));
        assert_eq!(find("odbc.Fetch").map(|option| option.name), Some("odbc"));
        for unknown in ["ports", "odbc", "odbc.", "odbcx", ""] {
            assert!(find(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn no_option_stands_twice() {
        for (index, option) in OPTIONS.iter().enumerate() {
            assert!(!OPTIONS[..index].iter().any(|other| other.name == option.name));
        }
    }
}
