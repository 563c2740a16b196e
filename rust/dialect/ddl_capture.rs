//! The connector's own capture of DDL statements: its table, and the script that makes it with its event triggers.

use crate::dialect::Query;
use crate::dialect::slots::Statements;
use crate::odbc::ColumnSpec;
use crate::split::TableName;

/// The script that makes all of it, as a DBA runs it too.
const SCRIPT: &str = include_str!("../../sql/kingbase/ddl_capture.sql");

/// Where the script stands, for a person.
pub const SCRIPT_FILE: &str = "sql/kingbase/ddl_capture.sql";

/// What it makes beside the table: the event triggers, each of which calls its functions.
const TRIGGERS: [&str; 2] = ["tidemark_ddl", "tidemark_drop"];

/// The table that it makes.
pub fn own_table() -> TableName {
    TableName {
        schema: "tidemark".into(),
        name: "trep_sync_ddl".into(),
    }
}

impl Statements {
    /// The script, as one text that is one transaction.
    pub fn ddl_capture_script(&self) -> String {
        // Comments have braces and question marks, which a driver may take for its own.
        let lines = SCRIPT.lines().filter(|line| !line.trim_start().starts_with("--"));
        let script = lines.collect::<Vec<_>>().join("\n");
        match self.names().of("class").starts_with("sys_") {
            true => under_sys_names(&script),
            false => script,
        }
    }

    /// How many of the event triggers are there and not disabled: one integer; `ddl_triggers` is how many there have to be.
    pub fn enabled_ddl_triggers(&self) -> Query {
        let names = TRIGGERS.map(|name| format!("'{name}'")).join(", ");
        Query {
            sql: format!(
                "SELECT count(*) FROM {} WHERE evtname IN ({names}) AND evtenabled <> 'D'",
                self.names().of("event_trigger")
            ),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// Whether the user may make event triggers: 1 or 0.
    pub fn may_make_event_triggers(&self) -> Query {
        Query {
            sql: format!(
                "SELECT CASE WHEN rolsuper THEN 1 ELSE 0 END FROM {} WHERE rolname = current_user",
                self.names().of("roles")
            ),
            columns: vec![ColumnSpec::Int],
        }
    }

    /// The names of a table's columns, by the number that the server gave the table.
    pub fn column_names(&self, number: u64) -> Query {
        Query {
            sql: format!(
                "SELECT attname::text FROM {} WHERE attrelid = {number} AND attnum > 0 AND NOT attisdropped",
                self.names().of("attribute")
            ),
            columns: vec![ColumnSpec::Text { bytes: 256 }],
        }
    }
}

/// How many event triggers there have to be.
pub const fn ddl_triggers() -> i64 {
    TRIGGERS.len() as i64
}

/// The script where a server has its system objects under `sys_` names, as its head says to make it.
fn under_sys_names(script: &str) -> String {
    let mut made = String::with_capacity(script.len() + 64);
    let mut rest = script;
    while let Some(at) = rest.find("pg_") {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        let in_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        made.push_str(if in_word { "pg_" } else { "sys_" });
        rest = &from["pg_".len()..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::slots::Names;

    #[test]
    fn the_script_has_the_names_of_the_server() {
        let script = |known: &str| {
            let names = Names::new(&["sys_", "pg_"], [known.to_owned()]);
            Statements::new(names).ddl_capture_script()
        };
        let (pg, sys) = (script("pg_class"), script("sys_class"));
        assert!(pg.contains("FROM pg_class c") && !pg.contains("sys_"), "{pg}");
        assert!(sys.contains("FROM sys_class c") && !sys.contains("pg_"), "{sys}");
        assert_eq!(under_sys_names("my_pg_x pg_x.pg_y(pg_)"), "my_pg_x sys_x.sys_y(sys_)");
        assert!(pg.starts_with("BEGIN;") && pg.ends_with("COMMIT;"), "{pg}");
    }
}
