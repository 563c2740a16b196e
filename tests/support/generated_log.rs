//! A log with one large transaction and small ones that commit beside it, made as it is read, so that nobody holds it.

#![allow(dead_code)]

use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::mining::Mining;
use tidemark::error::{Error, Result};
use tidemark::log::logminer::source::{
    Archive, ContentsRow, KnownTimes, LogSource, MiningCall, MissingFile, OpenTransaction,
};
use tidemark::position::{Incarnation, Scn, Xid};

/// The transaction that is large.
pub const LARGE: u64 = 1;

/// How the large transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    /// After ROLLBACK TO SAVEPOINT took back so many of its last rows by records of their own.
    Undone(u64),
    Rollback,
}

/// What the log holds.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Inserts of the large transaction.
    pub rows: u64,
    /// Bytes of the text of each.
    pub text: usize,
    /// A small transaction of one row commits after so many of them.
    pub small_every: u64,
    pub end: End,
}

pub struct GeneratedLog {
    plan: Plan,
    /// Done before each row of the large transaction, which is given.
    pub before: Option<Box<dyn FnMut(u64) + Send>>,
    /// Records of all mining calls.
    pub records: u64,
}

const TIME: &[u8] = b"2026-01-02 03:04:05.678901";

impl GeneratedLog {
    pub fn new(plan: Plan) -> Self {
        GeneratedLog {
            plan,
            before: None,
            records: 0,
        }
    }

    fn last(&self) -> u64 {
        let undone = match self.plan.end {
            End::Undone(rows) => rows,
            _ => 0,
        };
        let small = 3 * (self.plan.rows / self.plan.small_every);
        1 + self.plan.rows + small + undone + 1
    }
}

struct Writer<'a> {
    scn: u64,
    from: u64,
    records: u64,
    row: &'a mut dyn FnMut(&ContentsRow<'_>) -> Result<()>,
}

impl Writer<'_> {
    fn write(&mut self, xid: u64, code: i64, roll_back: bool, row_id: &[u8], redo: &[u8]) -> Result<()> {
        self.scn += 1;
        if self.scn < self.from {
            return Ok(());
        }
        self.records += 1;
        let is_row = !redo.is_empty();
        (self.row)(&ContentsRow {
            scn: Scn(self.scn),
            xid: Xid(xid),
            code,
            operation: Dameng.operation(code),
            roll_back,
            owner: if is_row { b"S" } else { b"" },
            table: if is_row { b"T" } else { b"" },
            row_id,
            object_id: if is_row { 7 } else { 0 },
            object_version: 0,
            redo: is_row.then_some(redo),
            rs_id: b"0",
            ssn: 0,
            continued: false,
            status: 0,
            time: Some(TIME),
        })
    }
}

impl LogSource for GeneratedLog {
    fn archives(&mut self) -> Result<Vec<Archive>> {
        Ok(vec![Archive {
            path: "file".into(),
            first: Scn(1),
            last: Scn(self.last()),
            previous: Scn(0),
            sequence: 1,
            bytes: 1 << 20,
            active: true,
        }])
    }

    fn visible_end(&mut self) -> Result<Scn> {
        Ok(Scn(self.last()))
    }

    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>> {
        Ok(Vec::new())
    }

    fn known_times(&mut self, _: &str) -> Result<KnownTimes> {
        Ok(KnownTimes::default())
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        Ok(Incarnation(1))
    }

    fn switch_log(&mut self) -> Result<()> {
        Ok(())
    }

    fn mine(&mut self, call: &MiningCall<'_>, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let plan = self.plan;
        let text = "x".repeat(plan.text);
        let mut out = Writer {
            scn: 0,
            from: call.from.0,
            records: 0,
            row,
        };
        let (mut row_id, mut redo) = (String::new(), String::new());
        let mut insert = |id: u64, row_id: &mut String| {
            use std::fmt::Write;
            row_id.clear();
            redo.clear();
            write!(row_id, "AAAAAAAA{id:010}").unwrap();
            write!(redo, r#"INSERT INTO "S"."T"("ID", "V") VALUES({id}, '{text}')"#).unwrap();
            redo.clone()
        };
        out.write(LARGE, 6, false, b"", b"")?;
        for id in 1..=plan.rows {
            if let Some(before) = &mut self.before {
                before(id);
            }
            let redo = insert(id, &mut row_id);
            out.write(LARGE, 1, false, row_id.as_bytes(), redo.as_bytes())?;
            if id % plan.small_every == 0 {
                let xid = LARGE + id;
                out.write(xid, 6, false, b"", b"")?;
                let redo = format!(r#"INSERT INTO "S"."T"("ID", "V") VALUES({}, 'small')"#, plan.rows + id);
                out.write(xid, 1, false, b"small", redo.as_bytes())?;
                out.write(xid, 7, false, b"", b"")?;
            }
        }
        if let End::Undone(rows) = plan.end {
            for id in (plan.rows - rows + 1..=plan.rows).rev() {
                insert(id, &mut row_id);
                let redo = format!(r#"DELETE FROM "S"."T" WHERE "ID" = {id}"#);
                out.write(LARGE, 2, true, row_id.as_bytes(), redo.as_bytes())?;
            }
        }
        let end = if plan.end == End::Rollback { 36 } else { 7 };
        out.write(LARGE, end, false, b"", b"")?;
        self.records += out.records;
        Ok(())
    }

    fn missing_file(&self, _: &Error) -> Option<MissingFile> {
        None
    }

    fn check_setup(&mut self) -> Result<()> {
        Ok(())
    }
}
