//! Dameng DM8. Where a statement or a number comes from is said beside it: the vendor's manual, its view dictionary, or
//! measured on a server by others; docs/dameng.md has the sources.

mod mining;
mod types;

use std::fmt::Write;

use crate::dialect::{ColumnType, Dialect, DictionaryColumn, Endpoint, Literal, Query};
use crate::odbc::{ColumnSpec, ConnectionSettings, Diagnostic, Verdict, bracketed_number, by_sqlstate};
use crate::split::TableName;

/// The dialect of Dameng DM8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dameng;

/// The name under which the vendor's driver stands in odbcinst.ini (ODBC guide).
const DRIVER: &str = "DM8 ODBC DRIVER";

/// A name of the dictionary: VARCHAR(128), in UTF-8 at most four bytes a character.
const NAME: ColumnSpec = ColumnSpec::Text { bytes: 512 };

/// The schemas of the server's own users (vendor's community). SYSDBA's is not among them: many sites keep their tables
/// there.
const SYSTEM_SCHEMAS: &str = "'SYS', 'SYSSSO', 'SYSAUDITOR', 'SYSDBO', 'SYSDBAOPER', 'CTISYS', 'SYSJOB'";

impl Dialect for Dameng {
    fn connection(&self, endpoint: &Endpoint) -> ConnectionSettings {
        let own = [
            ("SERVER", endpoint.hostname.clone()),
            // The guide's word, and the one that most other drivers have; neither minds the other.
            ("TCP_PORT", endpoint.port.to_string()),
            ("PORT", endpoint.port.to_string()),
            // Else the driver takes the character set of the client's locale.
            ("CHARACTER_CODE", "PG_UTF8".to_owned()),
        ];
        ConnectionSettings {
            driver: endpoint.driver.clone().unwrap_or_else(|| DRIVER.to_owned()),
            attributes: own
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .chain(endpoint.attributes.iter().cloned())
                .collect(),
            username: endpoint.username.clone(),
            password: endpoint.password.clone(),
            connect_timeout: endpoint.connect_timeout,
            statement_timeout: endpoint.statement_timeout,
            stream_long_values: false,
            session: Vec::new(),
            classify,
        }
    }

    fn classify(&self, diagnostic: &Diagnostic) -> Verdict {
        classify(diagnostic)
    }

    fn push_literal(&self, literal: &Literal, out: &mut String) {
        match literal {
            Literal::Number(digits) => out.push_str(digits),
            Literal::Text(text) => push_text(text, out),
            Literal::Bytes(bytes) => {
                out.push_str("0x");
                for byte in bytes {
                    let _ = write!(out, "{byte:02X}");
                }
            }
            Literal::Boolean(value) => out.push(if *value { '1' } else { '0' }),
            Literal::Date(text) => push_prefixed("DATE", text, out),
            Literal::Time(text) => push_prefixed("TIME", text, out),
            Literal::Timestamp(text) | Literal::TimestampZoned(text) => push_prefixed("TIMESTAMP", text, out),
        }
    }

    fn push_limit(&self, rows: usize, skip: usize, out: &mut String) {
        let _ = write!(out, " LIMIT {rows}");
        if skip > 0 {
            let _ = write!(out, " OFFSET {skip}");
        }
    }

    fn database_name(&self) -> Query {
        Query {
            sql: r#"SELECT "NAME" FROM "SYS"."V$DATABASE""#.to_owned(),
            columns: vec![NAME],
        }
    }

    fn tables(&self) -> Query {
        // A partition is a table of its own, named after its root and itself; SYSHPARTTABLEINFO (system tables of the
        // manual) knows it as PART_TABLE_ID.
        Query {
            sql: format!(
                "SELECT S.\"NAME\", T.\"NAME\" FROM \"SYS\".\"SYSOBJECTS\" S, \"SYS\".\"SYSOBJECTS\" T \
                 WHERE S.\"TYPE$\" = 'SCH' AND T.\"SCHID\" = S.\"ID\" AND T.\"TYPE$\" = 'SCHOBJ' \
                 AND T.\"SUBTYPE$\" = 'UTAB' AND S.\"NAME\" NOT IN ({SYSTEM_SCHEMAS}) \
                 AND NOT EXISTS (SELECT 1 FROM \"SYS\".\"SYSHPARTTABLEINFO\" P WHERE P.\"PART_TABLE_ID\" = T.\"ID\") \
                 AND NOT EXISTS (SELECT 1 FROM \"SYS\".\"ALL_TABLES\" A WHERE A.\"OWNER\" = S.\"NAME\" \
                 AND A.\"TABLE_NAME\" = T.\"NAME\" AND A.\"TEMPORARY\" = 'Y')"
            ),
            columns: vec![NAME, NAME],
        }
    }

    fn partitions(&self, of: &[u64]) -> Query {
        let numbers: Vec<String> = of.iter().map(u64::to_string).collect();
        Query {
            sql: format!(
                "SELECT T.\"ID\", T.\"NAME\" FROM \"SYS\".\"SYSHPARTTABLEINFO\" P, \"SYS\".\"SYSOBJECTS\" T \
                 WHERE T.\"ID\" = P.\"PART_TABLE_ID\" AND P.\"BASE_TABLE_ID\" IN ({}) ORDER BY T.\"ID\"",
                numbers.join(", ")
            ),
            columns: vec![ColumnSpec::Int, NAME],
        }
    }

    fn names_have_case(&self) -> Query {
        // CASE_SENSITIVE of dminit.
        Query {
            sql: "SELECT SF_GET_CASE_SENSITIVE_FLAG()".to_owned(),
            columns: vec![ColumnSpec::Int],
        }
    }

    fn table(&self, table: &TableName) -> Query {
        let (schema, name) = (text(&table.schema), text(&table.name));
        Query {
            sql: format!(
                "SELECT S.\"NAME\", T.\"NAME\", T.\"ID\", T.\"INFO4\" FROM \"SYS\".\"SYSOBJECTS\" S, \"SYS\".\"SYSOBJECTS\" T \
                 WHERE S.\"TYPE$\" = 'SCH' AND T.\"SCHID\" = S.\"ID\" AND T.\"TYPE$\" = 'SCHOBJ' \
                 AND T.\"SUBTYPE$\" = 'UTAB' AND S.\"NAME\" = {schema} AND T.\"NAME\" = {name}"
            ),
            columns: vec![NAME, NAME, ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    fn versions(&self, object_ids: &[u64]) -> Query {
        // INFO4 of a table: its low four bytes are the table's version (system tables of the manual).
        let ids: Vec<String> = object_ids.iter().map(u64::to_string).collect();
        Query {
            sql: format!(
                "SELECT \"ID\", \"INFO4\" FROM \"SYS\".\"SYSOBJECTS\" WHERE \"TYPE$\" = 'SCHOBJ' \
                 AND \"SUBTYPE$\" = 'UTAB' AND \"ID\" IN ({})",
                ids.join(", ")
            ),
            columns: vec![ColumnSpec::Int, ColumnSpec::Int],
        }
    }

    fn columns(&self, table: &TableName) -> Query {
        let (schema, name) = (text(&table.schema), text(&table.name));
        Query {
            sql: format!(
                "SELECT \"COLUMN_NAME\", \"DATA_TYPE\", \"DATA_LENGTH\", \"DATA_PRECISION\", \"DATA_SCALE\", \"NULLABLE\" \
                 FROM \"SYS\".\"ALL_TAB_COLUMNS\" WHERE \"OWNER\" = {schema} AND \"TABLE_NAME\" = {name} \
                 ORDER BY \"COLUMN_ID\""
            ),
            columns: vec![
                NAME,
                NAME,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Int,
                ColumnSpec::Text { bytes: 8 },
            ],
        }
    }

    fn keys(&self, table: &TableName) -> Query {
        let (schema, name) = (text(&table.schema), text(&table.name));
        Query {
            sql: format!(
                "SELECT C.\"CONSTRAINT_TYPE\", C.\"CONSTRAINT_NAME\", K.\"COLUMN_NAME\", K.\"POSITION\" \
                 FROM \"SYS\".\"ALL_CONSTRAINTS\" C, \"SYS\".\"ALL_CONS_COLUMNS\" K \
                 WHERE K.\"OWNER\" = C.\"OWNER\" AND K.\"CONSTRAINT_NAME\" = C.\"CONSTRAINT_NAME\" \
                 AND K.\"TABLE_NAME\" = C.\"TABLE_NAME\" AND C.\"CONSTRAINT_TYPE\" IN ('P', 'U') \
                 AND C.\"STATUS\" = 'ENABLED' AND C.\"OWNER\" = {schema} AND C.\"TABLE_NAME\" = {name} \
                 ORDER BY C.\"CONSTRAINT_TYPE\", C.\"CONSTRAINT_NAME\", K.\"POSITION\""
            ),
            columns: vec![ColumnSpec::Text { bytes: 8 }, NAME, NAME, ColumnSpec::Int],
        }
    }

    fn sorted(&self, texts: &[&str]) -> Query {
        // CASE_SENSITIVE of dminit is asked for (0: text is compared without case too, in the vendor's words), CHARSET,
        // BLANK_PAD_MODE with SPACE_COMPARE_MODE and the order by sound or strokes show themselves.
        let list: Vec<String> = (texts.iter().enumerate())
            .map(|(number, word)| {
                format!(
                    "SELECT {number} AS \"N\", CAST({} AS VARCHAR2) AS \"C\" FROM DUAL",
                    text(word)
                )
            })
            .collect();
        let list = list.join(" UNION ALL ");
        Query {
            sql: format!(
                "SELECT P.\"N\", (SELECT COUNT(*) FROM ({list}) Q WHERE Q.\"C\" < P.\"C\"), SF_GET_CASE_SENSITIVE_FLAG() \
                 FROM ({list}) P ORDER BY P.\"C\""
            ),
            columns: vec![ColumnSpec::Int; 3],
        }
    }

    fn column_marks(&self, object_id: u64) -> Option<Query> {
        Some(Query {
            sql: format!(
                "SELECT C.\"NAME\", I.\"INFO1\" FROM \"SYS\".\"SYSCOLUMNS\" C, \"SYS\".\"SYSCOLINFOS\" I \
                 WHERE C.\"ID\" = I.\"ID\" AND C.\"COLID\" = I.\"COLID\" AND I.\"ID\" = {object_id}"
            ),
            columns: vec![NAME, ColumnSpec::Int],
        })
    }

    fn column_type(&self, column: &DictionaryColumn) -> ColumnType {
        types::column_type(column)
    }

    fn is_virtual(&self, column: &DictionaryColumn) -> bool {
        types::is_virtual(column)
    }

    fn push_selected(&self, name: &str, kind: &ColumnType, out: &mut String) {
        match kind {
            // A driver may leave the offset out, and shows a local timestamp on the session's clock.
            ColumnType::TimestampZoned { precision } | ColumnType::TimestampLocal { precision } => {
                out.push_str("TO_CHAR(");
                self.push_name(name, out);
                out.push_str(", 'YYYY-MM-DD HH24:MI:SS");
                if *precision > 0 {
                    let _ = write!(out, ".FF{precision}");
                }
                out.push_str(" TZH:TZM')");
            }
            _ => self.push_name(name, out),
        }
    }
}

/// The vendor's numbers (its client library's table) where the driver or the head of the text gives one, else SQLSTATE.
fn classify(diagnostic: &Diagnostic) -> Verdict {
    let native = if diagnostic.native < 0 {
        diagnostic.native
    } else {
        bracketed_number(&diagnostic.message).unwrap_or(diagnostic.native)
    };
    let retryable = match native {
        // System suspended, shut down, session disabled, suspend mode, standby mode; session limit, connection lost,
        // host not reached, connection timeout, lock timeout, deadlock.
        -515 | -536 | -522 | -709 | -708 | -6001 | -6010 | -6012 | -6029 | -6407 | -6403 => true,
        // Wrong user or password, password expired, too many failed logins: trying again would lock the account.
        -200 | -2503 | -2508 | -6015 => false,
        _ => by_sqlstate(diagnostic).retryable,
    };
    Verdict { native, retryable }
}

fn push_text(text: &str, out: &mut String) {
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
}

fn push_prefixed(word: &str, text: &str, out: &mut String) {
    out.push_str(word);
    push_text(text, out);
}

fn text(text: &str) -> String {
    let mut out = String::new();
    push_text(text, &mut out);
    out
}

#[cfg(test)]
mod tests;
