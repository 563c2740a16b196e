//! Rows with two large objects whose values the log leaves out, and the database that has them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::error::{ErrorKind, Result};
use tidemark::log::{Change, Changes, Fragment, LogEvent, TransactionHead};
use tidemark::position::{Scn, Xid};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::unavailable::look_up::{FoundRows, KeyedSource, LookUp};
use tidemark::unavailable::{Completion, OnUnavailable};

use crate::scripted::{at, patience, place, tables};

/// `K`, `N`, `BODY`, `RAW`: a row is their texts with bars between them, `?` being a value that the log does not hold, `-` one that nobody wants.
const COLUMNS: usize = 4;

/// Tables A and B.
pub fn captured() -> Vec<Arc<Table>> {
    let text = |length| ColumnType::Text { length, padded: false };
    let kinds = [
        text(Some(10)),
        ColumnType::Integer { bits: 64 },
        text(None),
        ColumnType::Binary { length: None },
    ];
    let columns = ["K", "N", "BODY", "RAW"].iter().zip(kinds);
    let columns: Vec<Column> = columns
        .map(|(name, kind)| Column {
            name: (*name).into(),
            kind,
            nullable: true,
            is_virtual: false,
            collated: false,
        })
        .collect();
    let table = |name| {
        Arc::new(Table {
            name,
            object_id: 1,
            version: 0,
            columns: columns.clone(),
            key: vec![0],
            partitions: Vec::new(),
            is_partitioned: false,
            text_order: tidemark::catalog::text_order::TextOrder::BYTES,
        })
    };
    tables().into_iter().map(table).collect()
}

/// Rows as they are told, and refused like the real ones.
pub struct Docs;

impl RowCodec for Docs {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        match values.get(image, 0) {
            Value::Text(text) => out.extend_from_slice(text),
            other => return Err(ErrorKind::Internal(format!("{other:?}")).into()),
        }
        Ok(())
    }

    fn row(
        &self,
        _: u32,
        _: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for column in 0..COLUMNS {
            match values.get(image, column) {
                Value::Text(bytes) | Value::Bytes(bytes) | Value::Number(bytes) => out.extend_from_slice(bytes),
                Value::Null => out.extend_from_slice(b"NULL"),
                Value::Absent => {}
                Value::Unavailable => {
                    return Err(ErrorKind::ValueUnavailable {
                        column: column.to_string(),
                        key: "?".into(),
                    }
                    .into());
                }
                other => return Err(ErrorKind::Internal(format!("{other:?}")).into()),
            }
            out.push(b'|');
        }
        out.pop();
        Ok(())
    }
}

fn set(values: &mut ValueBuffer, image: Image, column: usize, text: &str) {
    let value = match (text, column) {
        ("?", _) => Value::Unavailable,
        ("-", _) => Value::Absent,
        ("NULL", _) => Value::Null,
        (text, 1) => Value::Number(text.as_bytes()),
        (text, 3) => Value::Bytes(text.as_bytes()),
        (text, _) => Value::Text(text.as_bytes()),
    };
    values.set(image, column, value);
}

/// A change of table A: the row before, and what is set, by column; without a row before all of it.
#[derive(Clone, Debug)]
pub enum Doc {
    Insert(String),
    Update(String, Vec<(usize, String)>),
    Delete(String),
}

pub fn insert(row: &str) -> Doc {
    Doc::Insert(row.into())
}

pub fn update(row: &str, sets: &[(usize, &str)]) -> Doc {
    let sets = sets.iter().map(|(column, text)| (*column, (*text).to_owned()));
    Doc::Update(row.into(), sets.collect())
}

pub fn delete(row: &str) -> Doc {
    Doc::Delete(row.into())
}

pub fn changes(docs: &[Doc]) -> Changes {
    let mut told = Changes::default();
    for (nth, doc) in docs.iter().enumerate() {
        let mut image = |row: &str| {
            let image = told.values.begin(COLUMNS);
            for (column, text) in row.split('|').enumerate() {
                set(&mut told.values, image, column, text);
            }
            image
        };
        let (before, after) = match doc {
            Doc::Insert(row) => (None, Some(image(row))),
            Doc::Delete(row) => (Some(image(row)), None),
            Doc::Update(row, sets) => {
                let before = image(row);
                let after = told.values.begin_copy(before);
                for (column, text) in sets {
                    set(&mut told.values, after, *column, text);
                }
                (Some(before), Some(after))
            }
        };
        told.rows.push(Change {
            table: 0,
            before,
            after,
            place: place(1000 + nth as u64, 0),
        });
    }
    told
}

/// A transaction that commits there.
pub fn transaction(commit: u64, docs: &[Doc]) -> LogEvent {
    LogEvent::Fragment(Fragment {
        head: TransactionHead {
            xid: Xid(commit),
            commit: at((commit, 0)),
            commit_micros: 0,
            start: Scn(1),
            next_scn: Scn(commit),
        },
        number: 0,
        last: true,
        changes: changes(docs),
    })
}

/// What the database has when it is asked, and what it was asked.
#[derive(Default)]
pub struct Store {
    /// `BODY` and `RAW` by key.
    pub rows: BTreeMap<String, (String, String)>,
    /// Columns and keys of each SELECT.
    pub asked: Vec<(Vec<usize>, Vec<String>)>,
    pub connections: usize,
    /// So many of the next SELECTs fail as if the connection were lost.
    pub lost: usize,
    /// Most bytes that were ever held.
    pub most: usize,
}

#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Store>>);

impl Shared {
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap()
    }

    pub fn put(&self, key: &str, body: &str, raw: &str) {
        self.store().rows.insert(key.into(), (body.into(), raw.into()));
    }

    pub fn completion(&self, policy: OnUnavailable) -> Completion {
        let shared = self.clone();
        let connect = move || -> Result<Box<dyn KeyedSource>> {
            shared.store().connections += 1;
            Ok(Box::new(shared.clone()))
        };
        Completion::new(policy, captured(), patience(10), Box::new(connect))
    }
}

impl KeyedSource for Shared {
    fn look_up(&mut self, wanted: &LookUp<'_>, into: &mut FoundRows) -> Result<bool> {
        let LookUp {
            number,
            columns,
            keys,
            room,
            ..
        } = *wanted;
        let mut store = self.store();
        let text = |key: &&[u8]| String::from_utf8_lossy(key).into_owned();
        store.asked.push((columns.to_vec(), keys.iter().map(text).collect()));
        if store.lost > 0 {
            store.lost -= 1;
            return Err(ErrorKind::Statement {
                message: "connection lost".into(),
                state: "08S01".into(),
                native: 0,
                retryable: true,
            }
            .into());
        }
        // Rows come in an order of their own.
        for (nth, key) in keys.iter().rev().enumerate() {
            if let Some((body, raw)) = store.rows.get(&text(key)) {
                let image = into.values.begin(COLUMNS);
                for &column in columns {
                    set(&mut into.values, image, column, if column == 2 { body } else { raw });
                }
                into.add(number, key, image);
            }
            if into.values.size() >= room && nth + 1 < keys.len() {
                store.most = store.most.max(into.values.size());
                return Ok(false);
            }
        }
        store.most = store.most.max(into.values.size());
        Ok(true)
    }
}
