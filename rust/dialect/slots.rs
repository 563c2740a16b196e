//! What the databases with logical slots have in common: the SQL of slots, publications and the log's end.
//!
//! Functions and views have one name each, but not one prefix: `pg_` or `sys_`. [`Names`] says which, once a connection
//! has been asked; [`Statements`] are the texts with the names that are there. Result columns are taken by place, since
//! older servers call them otherwise.

pub mod changes;
mod publications;
mod tables;

use std::collections::BTreeSet;

use crate::dialect::{Dialect, Query};
use crate::odbc::ColumnSpec;
use crate::position::{Lsn, Scn};

pub use changes::PluginCall;
pub use tables::Relation;

/// A name of the dictionary: 63 bytes.
const NAME: ColumnSpec = ColumnSpec::Text { bytes: 256 };

/// A word of a server: a setting's value, a slot's status.
const WORD: ColumnSpec = ColumnSpec::Text { bytes: 256 };

/// A database whose log is read through logical slots.
pub trait Slots: Dialect {
    /// What the names of system functions and views may begin with, the preferred one first.
    fn prefixes(&self) -> &'static [&'static str] {
        &["pg_", "sys_"]
    }

    /// The output plugins that can be read, the preferred one first.
    fn plugins(&self) -> &'static [&'static str] {
        &["pgoutput", "test_decoding"]
    }

    /// What the session of a log reader is set to, where the server knows it; each may fail.
    fn reader_session(&self) -> Vec<String> {
        // A large transaction is then spilled to the server's disk early (measured: 8 MB of memory instead of 85).
        [
            "SET logical_decoding_work_mem = '16MB'",
            // A call's rows are kept and sorted: both fit, and need no file (measured: a third quicker).
            "SET work_mem = '160MB'",
            // What is sorted is grouped as it comes; tables in memory would be filled for nothing.
            "SET enable_hashagg = off",
        ]
        .map(str::to_owned)
        .into()
    }

    /// Functions and relations of the system's schemas that have one of the prefixes, as a server may list them: one text a
    /// row. Several questions, of which the first that does not fail is answered.
    fn system_names(&self) -> Vec<Query> {
        let prefixes = self.prefixes();
        let of_system = |prefix: &str, column: &str| {
            format!(
                "{column} IN (SELECT oid FROM {prefix}namespace WHERE nspname IN ('pg_catalog', 'sys_catalog', 'sys'))"
            )
        };
        prefixes
            .iter()
            .map(|prefix| {
                // `_` stands for any character in LIKE, which does no harm here.
                let like = |column: &str| {
                    let words: Vec<String> = prefixes
                        .iter()
                        .map(|prefix| format!("{column} LIKE '{prefix}%'"))
                        .collect();
                    format!("({})", words.join(" OR "))
                };
                Query {
                    sql: format!(
                        "SELECT proname::text FROM {prefix}proc WHERE {} AND {} UNION SELECT relname::text FROM {prefix}class \
                         WHERE {} AND relkind IN ('r', 'v') AND {}",
                        like("proname"),
                        of_system(prefix, "pronamespace"),
                        like("relname"),
                        of_system(prefix, "relnamespace")
                    ),
                    columns: vec![NAME],
                }
            })
            .collect()
    }
}

/// Which of the prefixes a name has on a server.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: BTreeSet<String>,
    prefixes: &'static [&'static str],
}

impl Names {
    /// The names that a server has listed.
    pub fn new(prefixes: &'static [&'static str], known: impl IntoIterator<Item = String>) -> Self {
        Names {
            known: known.into_iter().collect(),
            prefixes,
        }
    }

    /// A name with the prefix that the server has it by; the preferred one where it has neither, so that its error tells
    /// the name.
    pub fn of(&self, name: &str) -> String {
        let prefixed = |prefix: &&str| format!("{prefix}{name}");
        let mut all = self.prefixes.iter().map(prefixed);
        let there = all.clone().find(|name| self.known.contains(name));
        there.or_else(|| all.next()).unwrap_or_else(|| name.to_owned())
    }

    /// Whether the server has it.
    pub fn has(&self, name: &str) -> bool {
        self.known.contains(&self.of(name))
    }
}

/// The texts, with the names that a server has.
#[derive(Clone, Debug)]
pub struct Statements {
    names: Names,
}

impl Statements {
    /// With these names.
    pub fn new(names: Names) -> Self {
        Statements { names }
    }

    /// The names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    fn of(&self, name: &str) -> String {
        self.names.of(name)
    }

    /// An LSN as an integer.
    fn number(lsn: &str) -> String {
        format!("({lsn} - '0/0'::pg_lsn)::bigint")
    }

    /// Whether pgoutput can give values in binary form: since version 14, as the view of slots' statistics.
    pub fn gives_binary(&self) -> bool {
        self.names.has("stat_replication_slots")
    }

    /// Whether the server is a standby: one integer, 1 or 0.
    pub fn is_standby(&self) -> Query {
        Query {
            sql: format!("SELECT CASE WHEN {}() THEN 1 ELSE 0 END", self.of("is_in_recovery")),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// Which log this is, one integer: the identifier that a database cluster is made with; negative ones are large
    /// positive ones. A slot that was carried over a fail-over goes on in the same log.
    pub fn system_identifier(&self) -> Query {
        Query {
            sql: format!("SELECT system_identifier FROM {}()", self.of("control_system")),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// The log's end: up to where it is flushed, up to where it is inserted, and the newest transaction (64 bits, one that
    /// had not begun to commit); integers.
    pub fn log_end(&self) -> Query {
        Query {
            sql: format!(
                "SELECT {}, {}, txid_snapshot_xmax(txid_current_snapshot())",
                Self::number(&format!("{}()", self.of("current_wal_flush_lsn"))),
                Self::number(&format!("{}()", self.of("current_wal_insert_lsn"))),
            ),
            columns: vec![ColumnSpec::Int; 3],
        }
    }

    /// Which transactions a SELECT sees now, as one text `xmin:xmax:xid,xid,…`.
    pub fn snapshot(&self) -> Query {
        Query {
            sql: "SELECT txid_current_snapshot()::text".to_owned(),
            columns: vec![ColumnSpec::LongText],
        }
    }

    /// The sessions that transactions (64 bits) run in that may not be over: transaction modulo 2^32, a description. A
    /// prepared transaction has none.
    pub fn sessions(&self) -> Query {
        Query {
            sql: format!(
                "SELECT backend_xid::text::bigint, 'pid ' || pid || coalesce(' of user ' || usename, '') || \
                 coalesce(', waiting for ' || wait_event, '') FROM {} WHERE backend_xid IS NOT NULL",
                self.of("stat_activity")
            ),
            columns: vec![ColumnSpec::Int, ColumnSpec::Text { bytes: 1024 }],
        }
    }

    /// Makes a slot. Not undone by a rollback. The result: where the log can be read from, an integer.
    pub fn create_slot(&self, slot: &str, plugin: &str, temporary: bool) -> Query {
        self.made(&format!(
            "{}({}, {}, {temporary})",
            self.of("create_logical_replication_slot"),
            text(slot),
            text(plugin)
        ))
    }

    /// Makes a temporary slot that stands where another one stands. The result: where that is, an integer.
    pub fn copy_slot(&self, from: &str, to: &str) -> Query {
        self.made(&format!(
            "{}({}, {}, true)",
            self.of("copy_logical_replication_slot"),
            text(from),
            text(to)
        ))
    }

    /// Name and LSN in their order, whatever they are called.
    fn made(&self, call: &str) -> Query {
        Query {
            sql: format!("SELECT {} FROM {call} AS made(name, lsn)", Self::number("made.lsn")),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// Drops a slot that nobody uses.
    pub fn drop_slot(&self, slot: &str) -> String {
        format!("SELECT {}({})", self.of("drop_replication_slot"), text(slot))
    }

    /// Moves a slot: what commits before `to` does not come from it any more.
    pub fn advance_slot(&self, slot: &str, to: Lsn) -> String {
        format!(
            "SELECT 1 FROM {}({}, {}::pg_lsn)",
            self.of("replication_slot_advance"),
            text(slot),
            text(&lsn(to))
        )
    }

    /// What there is to know of a slot, in the columns of [`status`]; no row if it is not there. Columns that the server's
    /// version does not have are NULL.
    pub fn slot_status(&self, slot: &str) -> Query {
        let word = |name: &str| format!("row_to_json(s)->>'{name}'");
        let place = |name: &str| Self::number(&format!("s.{name}"));
        let columns = [
            "s.plugin::text".to_owned(),
            "s.slot_type::text".to_owned(),
            "s.database::text".to_owned(),
            "s.active_pid::bigint".to_owned(),
            place("restart_lsn"),
            place("confirmed_flush_lsn"),
            word("wal_status"),
            format!("({})::bigint", word("safe_wal_size")),
            word("invalidation_reason"),
            Self::number(&format!("{}()", self.of("current_wal_insert_lsn"))),
            format!(
                "(SELECT concat_ws(', ', nullif(a.application_name, ''), 'from ' || a.client_addr::text, a.state) FROM {} a \
                 WHERE a.pid = s.active_pid)",
                self.of("stat_activity")
            ),
        ];
        Query {
            sql: format!(
                "SELECT {} FROM {} s WHERE s.slot_name = {}",
                columns.join(", "),
                self.of("replication_slots"),
                text(slot)
            ),
            columns: vec![
                WORD,
                WORD,
                NAME,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                WORD,
                ColumnSpec::Int,
                WORD,
                ColumnSpec::Int,
                ColumnSpec::Text { bytes: 1024 },
            ],
        }
    }

    /// What the server is set to that capture needs: name and value, texts; and how many slots there are (`slots`).
    pub fn settings(&self) -> Query {
        Query {
            sql: format!(
                "SELECT name::text, setting::text FROM {} WHERE name IN ('wal_level', 'max_replication_slots', \
                 'max_wal_senders', 'server_version_num', 'server_encoding', 'client_encoding') \
                 UNION ALL SELECT 'slots', count(*)::text FROM {}",
                self.of("settings"),
                self.of("replication_slots")
            ),
            columns: vec![NAME, WORD],
        }
    }

    /// Writes a message into the log; a transactional one commits and so pushes the log to disk.
    pub fn message(&self, transactional: bool, prefix: &str, content: &str) -> String {
        format!(
            "SELECT 1 FROM {}({transactional}, {}, {})",
            self.of("logical_emit_message"),
            text(prefix),
            text(content)
        )
    }
}

/// The columns of [`Statements::slot_status`], by number.
pub mod status {
    /// The output plugin; text, NULL for a physical slot.
    pub const PLUGIN: usize = 0;
    /// `logical` or `physical`; text.
    pub const KIND: usize = 1;
    /// The database that it belongs to; text.
    pub const DATABASE: usize = 2;
    /// The process that uses it; integer or NULL.
    pub const PID: usize = 3;
    /// The log is kept from here on; integer, NULL if it is kept no more.
    pub const RESTART: usize = 4;
    /// What commits before here does not come any more; integer.
    pub const CONFIRMED: usize = 5;
    /// `reserved`, `extended`, `unreserved`, `lost`; text, NULL before version 13.
    pub const WAL_STATUS: usize = 6;
    /// How many bytes may be written before the slot is in danger; integer, NULL without a limit.
    pub const SAFE_BYTES: usize = 7;
    /// Why it cannot be used any more; text or NULL.
    pub const INVALIDATION: usize = 8;
    /// Where the log ends; integer.
    pub const LOG_END: usize = 9;
    /// The session that uses it, for a person; text or NULL.
    pub const SESSION: usize = 10;
}

/// A text literal that means the same whatever `standard_conforming_strings` is.
fn text(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

/// An LSN as the server writes it.
pub fn lsn(lsn: Lsn) -> String {
    format!("{:X}/{:X}", lsn.0 >> 32, lsn.0 & u64::from(u32::MAX))
}

/// An LSN as the server writes it, or as a plain number.
pub fn parse_lsn(text: &str) -> Option<Scn> {
    // Numbers as Rust reads them may have a sign.
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'/') {
        return None;
    }
    let number = match text.split_once('/') {
        Some((high, low)) => {
            let half = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
            half(high)? << 32 | half(low)?
        }
        None => text.parse().ok()?,
    };
    Some(Scn(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_prefix_that_the_server_has_it_by() {
        let known = ["pg_class", "sys_class", "sys_replication_slots"].map(str::to_owned);
        let names = Names::new(&["pg_", "sys_"], known);
        assert_eq!(names.of("class"), "pg_class");
        assert_eq!(names.of("replication_slots"), "sys_replication_slots");
        assert_eq!(names.of("publication"), "pg_publication");
        assert!(names.has("replication_slots") && !names.has("publication"));
    }

    #[test]
    fn lsns_are_read_as_they_are_written() {
        for number in [0, 1, 0xDEAD_BEEF, 0x1_0000_0000, 0x12_3456_789A] {
            assert_eq!(parse_lsn(&lsn(Lsn(number))), Some(Scn(number)));
            assert_eq!(parse_lsn(&number.to_string()), Some(Scn(number)));
        }
        assert_eq!(lsn(Lsn(0x16_B374_D848)), "16/B374D848");
        for wrong in ["", "/", "1/", "g/1", "1/1/1", "-1", "1/123456789", "+1", "+1/1", "1/+1"] {
            assert_eq!(parse_lsn(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_mean_themselves() {
        assert_eq!(text("it's"), "'it''s'");
        assert_eq!(text("a\\'b"), "E'a\\\\''b'");
    }
}
