//! The log reader over scripted logs: every rule of reading has a test by its name, and a random property over all.

mod files;
mod gone;
mod max_age;
mod openings;
mod order;
#[path = "../support/plain_table.rs"]
mod plain_table;
mod random;
mod records;
#[path = "../support/scripted_log.rs"]
mod scripted_log;
mod slow;
mod spill;
mod starts;
mod statements;
mod undone;
mod unreadable;
#[allow(dead_code)]
#[path = "../support/warnings.rs"]
mod warnings;

use std::sync::Arc;
use std::time::Duration;

use scripted_log::{Line, RowOrder, ScriptedLog};
use tidemark::catalog::change::ChangeKind;
use tidemark::error::{Error, ErrorKind};
use tidemark::log::OnFault;
use tidemark::log::logminer::changes::CapturedTable;
use tidemark::log::logminer::delivery::FragmentLimit;
use tidemark::log::logminer::reader::{LogMinerReader, Settings};
use tidemark::log::undo::Form;
use tidemark::log::{LogEvent, LogReader, Opening, Progress};
use tidemark::position::{CommitPosition, Place, Position, Scn};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::zone::Zone;

fn table() -> CapturedTable {
    plain_table::table(100)
}

fn insert(id: u64, value: &str) -> String {
    format!(r#"INSERT INTO "S"."T"("ID", "V") VALUES({id}, '{value}')"#)
}

fn update(id: u64, old: &str, new: &str) -> String {
    format!(r#"UPDATE "S"."T" SET "V" = '{new}' WHERE "ID" = {id} AND "V" = '{old}'"#)
}

fn delete(id: u64, value: &str) -> String {
    format!(r#"DELETE FROM "S"."T" WHERE "ID" = {id} AND "V" = '{value}'"#)
}

fn start(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 6)
}

fn commit(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 7)
}

fn rollback(scn: u64, xid: u64) -> Line {
    Line::new(scn, xid, 36)
}

fn ins(scn: u64, xid: u64, id: u64, value: &str) -> Line {
    Line::dml(scn, xid, 1, &format!("R{id}"), &insert(id, value))
}

fn upd(scn: u64, xid: u64, id: u64, old: &str, new: &str) -> Line {
    Line::dml(scn, xid, 3, &format!("R{id}"), &update(id, old, new))
}

fn del(scn: u64, xid: u64, id: u64, value: &str) -> Line {
    Line::dml(scn, xid, 2, &format!("R{id}"), &delete(id, value))
}

/// A transaction as a consumer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    xid: u64,
    commit: (u64, u32),
    /// `id=value` of the images, joined by `>`.
    rows: Vec<String>,
    places: Vec<String>,
    next_scn: u64,
}

fn image(values: &ValueBuffer, image: Option<Image>) -> String {
    let Some(image) = image else {
        return "-".into();
    };
    let id = match values.get(image, 0) {
        Value::Number(digits) => String::from_utf8(digits.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    match values.get(image, 1) {
        Value::Text(text) => format!("{id}={}", std::str::from_utf8(text).unwrap()),
        Value::Null => format!("{id}=NULL"),
        Value::Unavailable => format!("{id}=?"),
        other => panic!("{other:?}"),
    }
}

fn place(place: &Place) -> String {
    let rs_id = String::from_utf8_lossy(place.rs_id.as_bytes()).into_owned();
    format!("{}/{}/{rs_id}/{}/{}", place.scn, place.table, place.ssn, place.nth)
}

#[derive(Debug, Default)]
struct Read {
    transactions: Vec<Seen>,
    schemas: Vec<(usize, String, bool)>,
    fragments: Vec<(u64, u32, bool, usize)>,
    error: Option<Error>,
}

/// Polls until nothing more comes.
fn read(reader: &mut dyn LogReader) -> Read {
    let mut out = Read::default();
    let mut open: Option<Seen> = None;
    let mut position = reader.progress().position;
    loop {
        let event = match reader.poll() {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                out.error = Some(error);
                break;
            }
        };
        assert!(reader.progress().position >= position, "the position never moves back");
        position = reader.progress().position;
        match event {
            LogEvent::Fragment(fragment) => {
                let head = fragment.head;
                assert!(
                    fragment.last || !position.includes(head.commit),
                    "a transaction is not out before its last fragment"
                );
                assert!(
                    position.includes(head.commit) || reader.progress().next_scn <= head.start,
                    "what is half out is still needed"
                );
                let seen = open.get_or_insert_with(|| Seen {
                    xid: head.xid.0,
                    commit: (head.commit.scn.0, head.commit.nth),
                    rows: Vec::new(),
                    places: Vec::new(),
                    next_scn: head.next_scn.0,
                });
                assert_eq!(seen.xid, head.xid.0, "a transaction goes out whole");
                for row in &fragment.changes.rows {
                    let values = &fragment.changes.values;
                    seen.rows
                        .push(format!("{}>{}", image(values, row.before), image(values, row.after)));
                    seen.places.push(place(&row.place));
                }
                out.fragments
                    .push((head.xid.0, fragment.number, fragment.last, fragment.changes.rows.len()));
                if fragment.last {
                    out.transactions.extend(open.take());
                }
            }
            LogEvent::Schema(event) => {
                let before = out.transactions.len();
                let truncates = event.change.kind == ChangeKind::Truncate;
                out.schemas.push((before, event.change.statement, truncates));
            }
            LogEvent::Progress(progress) => assert_eq!(progress, reader.progress()),
        }
    }
    assert!(open.is_none() || out.error.is_some(), "a transaction without an end");
    out
}

fn at(mine_from: u64, position: u64) -> Opening {
    Opening {
        mine_from: Scn(mine_from),
        position: Position::before(Scn(position)),
    }
}

fn open_with(log: &ScriptedLog, opening: Opening, settings: Settings) -> LogMinerReader<ScriptedLog> {
    LogMinerReader::open(log.clone(), vec![table()], settings, opening).unwrap()
}

fn open(log: &ScriptedLog, mine_from: u64, position: u64) -> LogMinerReader<ScriptedLog> {
    open_with(log, at(mine_from, position), Settings::default())
}

fn read_lines(lines: Vec<Line>) -> Read {
    read(&mut open(&ScriptedLog::new(lines, vec![]), 0, 0))
}

fn rows(read: &Read) -> Vec<(u64, Vec<&str>)> {
    assert!(read.error.is_none(), "{:?}", read.error);
    let transactions = read.transactions.iter();
    transactions
        .map(|seen| (seen.xid, seen.rows.iter().map(String::as_str).collect()))
        .collect()
}

fn failure(lines: Vec<Line>) -> Error {
    read_lines(lines).error.expect("the log must be refused")
}
