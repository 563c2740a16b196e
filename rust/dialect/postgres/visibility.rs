//! Exact pages: `txid_current_snapshot` and its kin, which every version has.

use crate::dialect::postgres::Postgres;
use crate::dialect::slots::Names;
use crate::dialect::visibility::Visibility;
use crate::dialect::{Dialect, Query};
use crate::odbc::ColumnSpec;
use crate::position::{TransactionSnapshot, Xid};
use crate::split::TableName;

/// A snapshot's text: three numbers and the open transactions between them, of which there may be thousands.
const SNAPSHOT: ColumnSpec = ColumnSpec::Text { bytes: 1 << 18 };

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

    fn snapshot(&self, text: &str) -> Option<TransactionSnapshot> {
        let mut parts = text.split(':');
        let mut number = || parts.next()?.parse().ok().map(Xid);
        let (xmin, xmax) = (number()?, number()?);
        let open = parts.next()?.split(',').filter(|xid| !xid.is_empty());
        let open: Option<Vec<Xid>> = open.map(|xid| xid.parse().ok().map(Xid)).collect();
        let mut open = open?;
        open.sort_unstable();
        Some(TransactionSnapshot {
            xmin,
            xmax,
            open: open.into(),
        })
    }

    fn end_snapshot(&self) -> String {
        "COMMIT".to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::postgres::POSTGRES;

    #[test]
    fn a_snapshot_is_read_as_the_server_writes_it() {
        let dialect = Postgres::new(&POSTGRES, Names::default());
        let seen = |text: &str| dialect.snapshot(text);
        let snapshot = seen("10:20:10,14,15").unwrap();
        assert_eq!((snapshot.xmin, snapshot.xmax), (Xid(10), Xid(20)));
        assert_eq!(*snapshot.open, [Xid(10), Xid(14), Xid(15)]);
        assert!(seen("10:10:").unwrap().open.is_empty());
        for text in ["", "10", "10:20", "a:b:", "1:2:x"] {
            assert_eq!(seen(text), None, "{text}");
        }
    }
}
