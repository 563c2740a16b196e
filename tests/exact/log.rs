//! The server's log as its own plugin `test_decoding` words it: an independent reference.

use tidemark::position::{CommitPosition, Scn, Xid};

use crate::support::Server;

/// A row before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub before: Option<(i64, i64)>,
    pub after: Option<(i64, i64)>,
}

/// A committed transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub xid: Xid,
    pub commit: CommitPosition,
    pub changes: Vec<Change>,
}

pub fn make_slot(server: &Server, slot: &str) {
    server.psql(&format!(
        "select pg_create_logical_replication_slot('{slot}', 'test_decoding')"
    ));
}

/// All that a slot has of a table, in commit order.
pub fn transactions(server: &Server, slot: &str, table: &str) -> Vec<Transaction> {
    let rows = server.psql(&format!(
        "select (lsn - '0/0')::bigint, xid, data from pg_logical_slot_get_changes('{slot}', null, null)"
    ));
    let mut all = Vec::new();
    let mut changes = Vec::new();
    let prefix = format!("table public.{table}: ");
    for row in rows.lines() {
        let fields: Vec<&str> = row.splitn(3, '|').collect();
        let [lsn, xid, data] = fields[..] else { panic!("{row}") };
        if data.starts_with("COMMIT") {
            // The row says where the COMMIT record ends; it lies in front of that.
            all.push(Transaction {
                xid: Xid(xid.parse().unwrap()),
                commit: CommitPosition {
                    scn: Scn(lsn.parse::<u64>().unwrap() - 1),
                    nth: 0,
                },
                changes: std::mem::take(&mut changes),
            });
        } else if let Some(data) = data.strip_prefix(&prefix) {
            changes.push(change(data));
        }
    }
    all
}

fn change(data: &str) -> Change {
    let (what, values) = data.split_once(": ").unwrap();
    let row = |text: &str| {
        let number = |name: &str| {
            let (_, rest) = text.split_once(&format!("{name}[integer]:")).unwrap();
            rest.split(' ').next().unwrap().parse::<i64>().unwrap()
        };
        Some((number("id"), number("v")))
    };
    match what {
        "INSERT" => Change {
            before: None,
            after: row(values),
        },
        "DELETE" => Change {
            before: row(values),
            after: None,
        },
        "UPDATE" => match values.split_once("new-tuple:") {
            Some((old, new)) => Change {
                before: row(old),
                after: row(new),
            },
            None => panic!("no old row: {values}"),
        },
        other => panic!("{other}"),
    }
}
