//! DBMS_LOGMNR and the views around it, as DM8 has them.

use std::fmt::Write;

use super::{Dameng, NAME, text};
use crate::dialect::Query;
use crate::dialect::mining::{Mining, MiningFault, Operation, Probe};
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::ColumnSpec;
use crate::position::{Scn, Xid};
use crate::split::TableName;

/// Options of ADD_LOGFILE by their integers: the constants' names are no words of every version's parser (measured).
const NEW: u32 = 1;
const ADDFILE: u32 = 3;

/// DICT_FROM_ONLINE_CATALOG, NO_SQL_DELIMITER, NO_ROWID_IN_STMT. Never COMMITTED_DATA_ONLY (2): with it a transaction
/// that began before the window is missing without an error.
const OPTIONS: u32 = 16 + 64 + 2048;

/// The widest SQL_REDO, in bytes: VARCHAR(4000) of the server's character set, up to twice that in UTF-8.
const REDO: ColumnSpec = ColumnSpec::Text { bytes: 8000 };

/// Operations whose records concern one object only, and need not be read for other objects than the captured tables.
const OF_OBJECTS: &str = "1, 2, 3, 4, 5, 13, 14, 37";

/// What is read beside the captured tables and the views of the dictionary that show to each user its own.
const VIEWS: [&str; 10] = [
    "SYSOBJECTS",
    "SYSHPARTTABLEINFO",
    "V$DM_INI",
    "V$DATABASE",
    "V$ARCH_FILE",
    "V$RLOG",
    "V$TRX",
    "V$LOGMNR_CONTENTS",
    "SYSCOLUMNS",
    "SYSCOLINFOS",
];

impl Mining for Dameng {
    fn visible_end(&self) -> Query {
        Query {
            sql: r#"SELECT "CUR_LSN" FROM "SYS"."V$RLOG""#.to_owned(),
            columns: vec![ColumnSpec::Int],
        }
    }

    fn incarnation(&self) -> Query {
        Query {
            sql: r#"SELECT "DB_MAGIC" FROM "SYS"."V$RLOG""#.to_owned(),
            columns: vec![ColumnSpec::Int],
        }
    }

    fn archives(&self) -> Query {
        Query {
            sql: concat!(
                r#"SELECT "PATH", "ARCH_LSN", "CLSN", "PREV_LSN", "FREE", "#,
                r#"CASE WHEN "STATUS" = 'ACTIVE' THEN 1 ELSE 0 END, "ARCH_SEQ", "DB_MAGIC" FROM "SYS"."V$ARCH_FILE""#
            )
            .to_owned(),
            columns: vec![
                ColumnSpec::Text { bytes: 2048 },
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
            ],
        }
    }

    fn open_transactions(&self) -> Query {
        Query {
            sql: r#"SELECT "ID", "START_LSN", "SESS_ID" FROM "SYS"."V$TRX""#.to_owned(),
            columns: vec![ColumnSpec::Int, ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    fn known_times(&self, local: &str) -> Query {
        // Every three seconds, of the last five days, emptied by a restart (manual). A clock that is set back makes a time
        // stand twice: the scn is that of the first.
        let at = format!("TIMESTAMP{}", text(local));
        Query {
            sql: format!(
                concat!(
                    r#"SELECT (SELECT MAX("LSN") FROM "SYS"."V$LSN_TIME" WHERE "TIME_DP" <= {} AND "LSN" <= "#,
                    r#"COALESCE((SELECT MIN("LSN") FROM "SYS"."V$LSN_TIME" WHERE "TIME_DP" > {}), {})), "#,
                    r#"MIN("TIME_DP"), MAX("TIME_DP") FROM "SYS"."V$LSN_TIME""#
                ),
                at,
                at,
                i64::MAX
            ),
            columns: vec![
                ColumnSpec::Int,
                ColumnSpec::Text { bytes: 40 },
                ColumnSpec::Text { bytes: 40 },
            ],
        }
    }

    fn times_probe(&self) -> Probe {
        probe("V$LSN_TIME")
    }

    fn setup(&self) -> Query {
        Query {
            sql: concat!(
                r#"SELECT "PARA_NAME", "PARA_VALUE" FROM "SYS"."V$DM_INI" "#,
                r#"WHERE "PARA_NAME" IN ('ARCH_INI', 'RLOG_APPEND_LOGIC', 'RLOG_IGNORE_TABLE_SET') "#,
                r#"UNION ALL SELECT 'ARCH_MODE', "ARCH_MODE" FROM "SYS"."V$DATABASE""#
            )
            .to_owned(),
            columns: vec![NAME, NAME],
        }
    }

    fn judge_setup(&self, settings: &[(String, String)]) -> Result<()> {
        let value = |wanted: &str| {
            settings
                .iter()
                .find(|(name, _)| name == wanted)
                .map_or("missing", |(_, value)| value.trim())
        };
        let mut faults: Vec<Error> = Vec::new();
        if value("ARCH_MODE") != "Y" || value("ARCH_INI") != "1" {
            let text = "the database does not archive its log (V$DATABASE.ARCH_MODE must be 'Y', ARCH_INI 1)";
            faults.push(ErrorKind::Setup(text.into()).into());
        }
        let logic = value("RLOG_APPEND_LOGIC");
        if logic != "2" {
            let text = format!(
                "RLOG_APPEND_LOGIC is {logic} and must be 2, else rows are not logged whole: \
                 SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2)"
            );
            faults.push(ErrorKind::LoggingMode(text).into());
        }
        let ignore = value("RLOG_IGNORE_TABLE_SET");
        if ignore != "1" {
            let text = format!(
                "RLOG_IGNORE_TABLE_SET is {ignore} and must be 1, else only tables with ADD LOGIC LOG are logged: \
                 SP_SET_PARA_VALUE(1, 'RLOG_IGNORE_TABLE_SET', 1)"
            );
            faults.push(ErrorKind::LoggingMode(text).into());
        }
        Error::all(faults)
    }

    fn probes(&self) -> Vec<Probe> {
        let package = Probe {
            query: Query {
                sql: self.end(),
                columns: Vec::new(),
            },
            needs: "SP_CREATE_SYSTEM_PACKAGES(1, 'DBMS_LOGMNR') and GRANT EXECUTE ON SYS.DBMS_LOGMNR".to_owned(),
        };
        VIEWS.iter().map(|view| probe(view)).chain([package]).collect()
    }

    fn logging_hint(&self) -> &'static str {
        "RLOG_APPEND_LOGIC must have been 2 when it was written: SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2)"
    }

    fn add_file(&self, path: &str, first: bool) -> String {
        format!(
            "CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => {}, OPTIONS => {})",
            text(path),
            if first { NEW } else { ADDFILE }
        )
    }

    fn start(&self, from: Scn) -> String {
        format!("CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => {from}, OPTIONS => {OPTIONS})")
    }

    fn end(&self) -> String {
        "CALL DBMS_LOGMNR.END_LOGMNR()".to_owned()
    }

    fn contents(&self, tables: &[&TableName]) -> Query {
        let mut sql = format!(
            concat!(
                r#"SELECT "SCN", "XID", "OPERATION_CODE", "ROLL_BACK", "SEG_OWNER", "TABLE_NAME", "ROW_ID", "DATA_OBJ#", "#,
                r#""DATA_OBJV#", "SQL_REDO", "RS_ID", "SSN", "CSF", "STATUS", "TIMESTAMP" FROM "SYS"."V$LOGMNR_CONTENTS" "#,
                r#"WHERE "OPERATION_CODE" NOT IN ({})"#
            ),
            OF_OBJECTS
        );
        for table in tables {
            let _ = write!(
                sql,
                r#" OR ("SEG_OWNER" = {} AND "TABLE_NAME" = {})"#,
                text(&table.schema),
                text(&table.name)
            );
        }
        Query {
            sql,
            columns: vec![
                ColumnSpec::Int,
                ColumnSpec::Binary { bytes: 18 },
                ColumnSpec::Int,
                ColumnSpec::Int,
                NAME,
                NAME,
                ColumnSpec::Text { bytes: 64 },
                ColumnSpec::Int,
                ColumnSpec::Int,
                REDO,
                ColumnSpec::Text { bytes: 64 },
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Text { bytes: 40 },
            ],
        }
    }

    fn operation(&self, code: i64) -> Option<Operation> {
        // The manual's list; the header of 2020 has 1 to 7, 36, 37 and 255 of it.
        Some(match code {
            1 => Operation::Insert,
            2 => Operation::Delete,
            3 => Operation::Update,
            4 => Operation::BatchUpdate,
            5 => Operation::Schema,
            6 => Operation::Start,
            7 => Operation::Commit,
            13 => Operation::LobBegin,
            14 => Operation::LobData,
            15 => Operation::Prepare,
            36 => Operation::Rollback,
            37 => Operation::Sequence,
            38 => Operation::CommitPrepared,
            255 => Operation::Unsupported,
            _ => return None,
        })
    }

    fn xid(&self, bytes: &[u8]) -> Option<Xid> {
        // BINARY(8), the transaction's BIGINT id, high byte first; some drivers give its hexadecimal digits.
        if let Ok(bytes) = bytes.try_into() {
            return Some(Xid(u64::from_be_bytes(bytes)));
        }
        let digits = bytes.strip_prefix(b"0x").unwrap_or(bytes);
        (digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit)).then_some(())?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().map(Xid)
    }

    fn fault(&self, native: i32) -> Option<MiningFault> {
        // Numbers and texts of the vendor's client library; -4546 was seen for a file that is not there.
        Some(match native {
            -4546 | -714 | -715 | -718 | -730 | -742 => MiningFault::MissingFile,
            -2844 => MiningFault::NotStarted,
            -2845 => MiningFault::AlreadyStarted,
            -2846 | -2851 => MiningFault::NoSession,
            -2847 => MiningFault::NoFiles,
            -2848 => MiningFault::DuplicateFile,
            -2853 => MiningFault::TooLate,
            _ => return None,
        })
    }

    fn switch_log(&self) -> String {
        "ALTER SYSTEM ARCHIVE LOG CURRENT".to_owned()
    }
}

fn probe(view: &str) -> Probe {
    Probe {
        query: Query {
            sql: format!(r#"SELECT 1 FROM "SYS"."{view}" WHERE 1 = 0"#),
            columns: vec![ColumnSpec::Int],
        },
        needs: format!("GRANT SELECT ON SYS.{view}"),
    }
}
