//! Exact pages: `txid_current_snapshot` and its kin, which every version has.

use crate::dialect::postgres::Postgres;
use crate::dialect::slots::Names;
use crate::dialect::visibility::Visibility;
use crate::dialect::{Dialect, Query};
use crate::odbc::ColumnSpec;
use crate::position::Xid;
use crate::split::TableName;

/// A snapshot's text: three numbers and the open transactions between them, of which there may be thousands.
const SNAPSHOT: ColumnSpec = ColumnSpec::Text { bytes: 1 << 18 };

/// A cursor of ours; those of the driver have other names.
const KEPT: &str = "tidemark_sorted";

impl Visibility for Postgres {
    fn is_standby(&self) -> Query {
        integer(format!(
            "SELECT CASE WHEN {}() THEN 1 ELSE 0 END",
            self.names.of("is_in_recovery")
        ))
    }

    fn log_end(&self) -> Query {
        integer(format!("SELECT {}", bytes(&self.names, "current_wal_insert_lsn")))
    }

    fn durable_end(&self) -> Query {
        integer(format!("SELECT {}", bytes(&self.names, "current_wal_flush_lsn")))
    }

    fn own_transaction(&self) -> Query {
        integer("SELECT txid_current()".to_owned())
    }

    fn oldest_open(&self) -> Query {
        integer("SELECT txid_snapshot_xmin(txid_current_snapshot())".to_owned())
    }

    fn open_before(&self, xid: Xid) -> Query {
        // Locks show 32 bits of a transaction's number, everybody's to everybody.
        let (locks, prepared) = (self.names.of("locks"), self.names.of("prepared_xacts"));
        let before = |number: &str| {
            format!(
                "({} - {number}::text::bigint) & 4294967295 BETWEEN 1 AND 2147483647",
                xid.0
            )
        };
        Query {
            sql: format!(
                "SELECT 'pid ' || l.pid FROM {locks} l WHERE l.locktype = 'transactionid' AND l.granted \
                 AND l.mode = 'ExclusiveLock' AND l.pid IS NOT NULL AND {} \
                 UNION SELECT 'prepared transaction ' || quote_literal(p.gid) FROM {prepared} p WHERE {} ORDER BY 1",
                before("l.transactionid"),
                before("p.transaction")
            ),
            columns: vec![ColumnSpec::Text { bytes: 512 }],
        }
    }

    fn begin_snapshot(&self, table: &TableName) -> Vec<String> {
        // The lock first: an ALTER that rewrites the table between snapshot and SELECT would leave it empty for the
        // SELECT, and says nothing in the log.
        let mut lock = String::from("LOCK TABLE ");
        self.push_table(table, &mut lock);
        lock.push_str(" IN ACCESS SHARE MODE");
        vec![
            "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            lock,
        ]
    }

    fn seen(&self) -> Query {
        Query {
            sql: format!(
                "SELECT {}, txid_current_snapshot()::text",
                bytes(&self.names, "current_wal_insert_lsn")
            ),
            columns: vec![ColumnSpec::Int, SNAPSHOT],
        }
    }

    fn end_snapshot(&self) -> String {
        "COMMIT".to_owned()
    }

    fn keep_result(&self, select: &str) -> Vec<String> {
        vec![
            format!("DECLARE {KEPT} NO SCROLL CURSOR WITH HOLD FOR {select}"),
            self.end_snapshot(),
        ]
    }

    fn kept_rows(&self, rows: usize) -> String {
        format!("FETCH FORWARD {rows} FROM {KEPT}")
    }

    fn drop_kept(&self) -> String {
        format!("CLOSE {KEPT}")
    }

    fn push_log(&self) -> Query {
        integer(format!(
            "SELECT ({}(true, 'tidemark', '') IS NOT NULL)::int",
            self.names.of("logical_emit_message")
        ))
    }
}

fn bytes(names: &Names, lsn: &str) -> String {
    format!("({}() - '0/0'::pg_lsn)::bigint", names.of(lsn))
}

fn integer(sql: String) -> Query {
    Query {
        sql,
        columns: vec![ColumnSpec::Int],
    }
}
