//! The model's database as the mining reader asks it: archived files, mining calls whose rows carry redo texts, and
//! the open transactions.

use std::sync::Arc;

use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::mining::Mining;
use tidemark::error::{Error, Result};
use tidemark::log::logminer::changes::CapturedTable;
use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::reader::Settings;
use tidemark::log::logminer::source::{
    Archive, ContentsRow, KnownTimes, LogSource, MiningCall, MissingFile, OpenTransaction,
};
use tidemark::position::{Incarnation, Scn, Xid};

use crate::codec::table_names;
use crate::database::{Database, Kind, Record, RowChange, Shared};
use crate::log::INCARNATION;

/// A mining session over the model's database.
pub struct Mined {
    pub database: Shared,
}

/// What a file holds at least.
const FILE: usize = 12;
/// The database's number of the first table.
const OBJECT: u64 = 500;

/// The tables as the reader captures them.
pub fn captured() -> Vec<CapturedTable> {
    let column = |name: &str, kind| Column {
        name: name.into(),
        kind,
        nullable: false,
        is_virtual: false,
        collated: false,
    };
    let integer = || ColumnType::Integer { bits: 64 };
    let large = || ColumnType::Text {
        length: None,
        padded: false,
    };
    let table = |(number, name): (usize, &Arc<_>)| {
        CapturedTable::whole(Arc::new(Table {
            name: Arc::clone(name),
            object_id: OBJECT + number as u64,
            version: 0,
            columns: vec![column("K", integer()), column("V", integer()), column("B", large())],
            key: vec![0],
            partitions: Vec::new(),
            is_partitioned: false,
            text_order: tidemark::catalog::text_order::TextOrder::BYTES,
        }))
    };
    table_names().iter().enumerate().map(table).collect()
}

/// Small fragments and small windows, so that a run has many of both.
pub fn settings(seed: u64) -> Settings {
    Settings {
        window_bytes: FILE as u64 * (1 + seed % 4),
        fragment: FragmentLimit {
            rows: 1 + (seed % 3) as usize,
            bytes: 1000,
        },
        may_switch: true,
        ..Settings::default()
    }
}

/// Where the files begin: a file ends where the scn changes.
fn boundaries(database: &Database) -> Vec<usize> {
    let mut starts = vec![0];
    for number in 1..database.archived {
        let size = number - starts.last().unwrap_or(&0);
        if size >= FILE && database.log[number].scn != database.log[number - 1].scn {
            starts.push(number);
        }
    }
    starts
}

fn redo(change: &RowChange) -> (i64, String) {
    let table = &table_names()[change.table as usize].name;
    match (change.before, change.after) {
        (None, Some((key, version))) => (
            1,
            format!(r#"INSERT INTO "BIZ"."{table}"("K", "V", "B") VALUES({key}, {version}, OUT_CLOB)"#),
        ),
        (Some((key, version)), None) => (
            2,
            format!(r#"DELETE FROM "BIZ"."{table}" WHERE "K" = {key} AND "V" = {version} AND "B" = OUT_CLOB"#),
        ),
        (before, after) => {
            let ((old, was), (key, version)) = (before.unwrap_or_default(), after.unwrap_or_default());
            let set = if old == key {
                String::new()
            } else {
                format!(r#""K" = {key}, "#)
            };
            (
                3,
                format!(
                    r#"UPDATE "BIZ"."{table}" SET {set}"V" = {version}, "B" = OUT_CLOB WHERE "K" = {old} AND "V" = {was}"#
                ),
            )
        }
    }
}

fn hand_over(record: &Record, number: usize, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
    let (code, table, text) = match record.kind {
        Kind::Start => (6, None, None),
        Kind::Commit => (7, None, None),
        Kind::Rollback => (36, None, None),
        Kind::Change(change) => {
            let (code, text) = redo(&change);
            (code, Some(change.table), Some(text))
        }
        Kind::Schema { table, truncates } => {
            let name = &table_names()[table as usize].name;
            let text = if truncates {
                format!("TRUNCATE TABLE BIZ.{name}")
            } else {
                format!("ALTER TABLE BIZ.{name} ADD N INT")
            };
            (5, Some(table), Some(text))
        }
    };
    let set = format!("{:08x}", record.scn);
    let row_id = format!("R{number}");
    row(&ContentsRow {
        scn: Scn(record.scn),
        xid: Xid(record.xid),
        code,
        operation: Dameng.operation(code),
        owner: if table.is_some() { b"BIZ" } else { b"" },
        table: table.map_or(b"", |table| table_names()[table as usize].name.as_bytes()),
        row_id: row_id.as_bytes(),
        object_id: table.map_or(0, |table| OBJECT + u64::from(table)),
        redo: text.as_ref().map(|text| text.as_bytes()),
        rs_id: set.as_bytes(),
        time: Some(b"2026-01-02 03:04:05.678901"),
        ..ContentsRow::default()
    })
}

impl LogSource for Mined {
    fn archives(&mut self) -> Result<Vec<Archive>> {
        let database = self.database.after_others();
        let scn = |number: usize| database.log.get(number).map_or(0, |record| record.scn);
        let before = |number: usize| number.checked_sub(1).map_or(0, scn);
        let starts = boundaries(&database);
        let files = starts.iter().enumerate().map(|(number, &start)| {
            let next = starts.get(number + 1).copied();
            Archive {
                path: number.to_string(),
                first: Scn(scn(start)),
                last: Scn(next.map_or_else(|| database.minable_end(), before)),
                previous: Scn(before(start)),
                sequence: number as u64,
                bytes: (next.unwrap_or(database.archived) - start) as u64,
                active: next.is_none(),
            }
        });
        Ok(files.collect())
    }

    fn visible_end(&mut self) -> Result<Scn> {
        Ok(Scn(self.database.after_others().visible_end()))
    }

    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>> {
        let database = self.database.after_others();
        let open = database.listed().map(|(xid, start)| OpenTransaction {
            xid: Xid(xid),
            start: start.map(Scn),
            session: format!("session {xid}"),
        });
        Ok(open.collect())
    }

    fn known_times(&mut self, _: &str) -> Result<KnownTimes> {
        Ok(KnownTimes::default())
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        Ok(INCARNATION)
    }

    fn switch_log(&mut self) -> Result<()> {
        let mut database = self.database.lock();
        database.archived = database.log.len();
        Ok(())
    }

    fn mine(&mut self, call: &MiningCall<'_>, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let database = self.database.after_others();
        let starts = boundaries(&database);
        for file in call.files {
            let number: usize = file.path.parse().unwrap_or_default();
            let end = starts.get(number + 1).copied().unwrap_or(database.archived);
            let start = starts.get(number).copied().unwrap_or(end);
            for (number, record) in database.log[start..end].iter().enumerate() {
                if record.scn >= call.from.0 {
                    hand_over(record, start + number, row)?;
                }
            }
        }
        Ok(())
    }

    fn missing_file(&self, _: &Error) -> Option<MissingFile> {
        None
    }

    fn check_setup(&mut self) -> Result<()> {
        Ok(())
    }
}
