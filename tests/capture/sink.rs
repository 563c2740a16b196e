//! Rows as they come out, and a sink that takes a changelog at its word.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use tidemark::reader::batch::Batch;
use tidemark::row::layout::{DeclaredColumn, FlinkType};

use crate::binary_row::{Read, read};

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `+I`, `-U`, `+U`, `-D`; of Debezium's events `r`, `c`, `u`, `d` and, for a change of shape, `ddl`.
    pub kind: &'static str,
    /// `ID`, or the number in front of `V` where the key is another one.
    pub id: i64,
    /// All key columns.
    pub key: String,
    /// `V`; `NULL` where it is that. Of an event its row as JSON, of an update the one after behind the one before and ` -> `,
    /// of a change of shape its statement.
    pub v: String,
    /// Where its transaction committed; `None` in snapshot rows.
    pub scn: Option<i64>,
    /// Its transaction; `None` in snapshot rows.
    pub xid: Option<i64>,
    /// Its table.
    pub table: String,
}

impl Row {
    /// Columns of the jobs: the key's, `V`, and the metadata `scn`, `transaction_id` and `table_name`.
    fn decode(bytes: &[u8], columns: &[DeclaredColumn]) -> Row {
        let kinds: Vec<FlinkType> = columns.iter().map(|column| column.kind().unwrap()).collect();
        let (kind, fields) = read(bytes, &kinds);
        let [key @ .., v, scn, xid, Read::Bytes(table)] = &fields[..] else {
            panic!("{fields:?}");
        };
        let text = |field: &Read| match field {
            Read::Null => "NULL".to_owned(),
            Read::Bytes(text) => String::from_utf8(text.clone()).unwrap(),
            other => panic!("{other:?}"),
        };
        let number = |field: &Read| match field {
            Read::Null => None,
            Read::Integer(number) => Some(*number),
            other => panic!("{other:?}"),
        };
        let v = text(v);
        let id = match columns[0].name.as_str() {
            "ID" => number(&key[0]),
            _ => v.split('.').next().and_then(|g| g.parse().ok()),
        };
        Row {
            kind: ["+I", "-U", "+U", "-D"][usize::from(kind)],
            id: id.unwrap(),
            key: format!("{key:?}"),
            v,
            scn: number(scn),
            xid: number(xid),
            table: String::from_utf8(table.clone()).unwrap(),
        }
    }
}

/// One of Debezium's events; of a change for Java no more than that it came.
fn event(json: &[u8]) -> Row {
    if !json.starts_with(b"{") {
        return Row {
            kind: "ddl",
            id: 0,
            key: String::new(),
            v: String::new(),
            scn: None,
            xid: None,
            table: String::new(),
        };
    }
    let event: Value = serde_json::from_slice(json).unwrap();
    let source = &event["source"];
    let number = |name: &str| source[name].as_str().map(|number| number.parse().unwrap());
    let images = [&event["before"], &event["after"]].map(|image| image.as_object());
    let row = images[1].or(images[0]);
    let texts: Vec<String> = images.iter().flatten().map(|image| json!(image).to_string()).collect();
    Row {
        kind: ["r", "c", "u", "d"]
            .into_iter()
            .find(|kind| event["op"] == **kind)
            .unwrap_or("ddl"),
        id: row.map_or(0, |row| row["ID"].as_i64().unwrap()),
        key: String::new(),
        v: match event["ddl"].as_str() {
            Some(statement) => statement.to_owned(),
            None => texts.join(" -> "),
        },
        scn: number("commit_scn"),
        xid: number("txId"),
        table: source["table"].as_str().unwrap().to_owned(),
    }
}

/// The units of a batch: rows that go out in one piece. Without columns they are events.
pub fn units(batch: &Batch, columns: &[DeclaredColumn]) -> Vec<Vec<Row>> {
    let bytes = batch.bytes();
    let int = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (rows, table) = (int(4), int(16));
    assert_eq!(rows, batch.rows() as usize);
    let mut units: Vec<Vec<Row>> = Vec::new();
    for row in 0..rows {
        let row_bytes = &bytes[int(table + 4 * row)..int(table + 4 * (row + 1))];
        let joined = bytes[table + 4 * (rows + 1) + row] == 1;
        let row = match columns {
            [] => event(row_bytes),
            columns => Row::decode(row_bytes, columns),
        };
        match units.last_mut().filter(|_| joined) {
            Some(unit) => unit.push(row),
            None => units.push(vec![row]),
        }
    }
    units
}

/// A table by its key, and all rows that made it. A row that does not fit what is there was lost or came twice before.
#[derive(Clone, Default)]
pub struct Sink {
    /// The table.
    pub table: BTreeMap<i64, String>,
    /// Everything since the start, in order.
    pub log: Vec<Row>,
    /// Rows have no key: they are only noted.
    pub keyless: bool,
    /// Values are read back: one that leaves need not be the one that came.
    pub later: bool,
}

impl Sink {
    /// Applies a unit.
    pub fn take(&mut self, unit: Vec<Row>) {
        for row in unit {
            match row.kind {
                _ if self.keyless => {}
                "ddl" => {
                    let statement = row.v.to_lowercase();
                    if statement.starts_with("truncate") || statement.starts_with("drop table") {
                        let of_it: HashSet<i64> = self
                            .log
                            .iter()
                            .filter(|other| other.table == row.table)
                            .map(|other| other.id)
                            .collect();
                        self.table.retain(|id, _| !of_it.contains(id));
                    }
                }
                // Columns may have come and gone since.
                "u" | "d" => {
                    assert!(self.table.remove(&row.id).is_some(), "{row:?} was not there");
                    if let ("u", Some((_, after))) = (row.kind, row.v.split_once(" -> ")) {
                        self.table.insert(row.id, after.to_owned());
                    }
                }
                "+I" | "+U" | "r" | "c" => assert_eq!(
                    self.table.insert(row.id, row.v.clone()),
                    None,
                    "{row:?} is there already"
                ),
                _ => {
                    let had = self.table.remove(&row.id);
                    let fits = had.as_ref() == Some(&row.v) || (self.later && had.is_some());
                    assert!(fits, "{row:?} was not there, but {had:?}");
                }
            }
            self.log.push(row);
        }
    }

    /// Kinds, keys and values of the rows of the log phase.
    pub fn streamed(&self) -> Vec<(&str, i64, &str)> {
        let streamed = self.log.iter().filter(|row| row.xid.is_some());
        streamed.map(|row| (row.kind, row.id, row.v.as_str())).collect()
    }

    /// How many rows are of the snapshot.
    pub fn snapshot_rows(&self) -> usize {
        self.log.iter().filter(|row| row.xid.is_none()).count()
    }

    /// Transactions of the log phase in the order of their rows; each must stand in one piece.
    pub fn transactions(&self) -> Vec<(i64, usize)> {
        let mut all: Vec<(i64, usize)> = Vec::new();
        for row in self.log.iter().filter(|row| row.xid.is_some()) {
            let xid = row.xid.unwrap();
            match all.last_mut() {
                Some((last, rows)) if *last == xid => *rows += 1,
                _ => {
                    assert!(
                        all.iter().all(|(other, _)| *other != xid),
                        "transaction {xid} comes in pieces"
                    );
                    all.push((xid, 1));
                }
            }
        }
        all
    }
}
