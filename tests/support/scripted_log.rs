//! A log without a database: records as a test lays them, cut into archived files, mined as a server would.

#![allow(dead_code)]

use std::sync::{Arc, Mutex, MutexGuard};

use tidemark::catalog::{Table, TableVersion};
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::mining::Mining;
use tidemark::error::{Error, ErrorKind, Result};
use tidemark::log::logminer::source::{
    Archive, ContentsRow, KnownTimes, LogSource, MiningCall, MissingFile, OpenTransaction,
};
use tidemark::position::{Incarnation, Scn, Xid};

/// A row of the view, owned.
#[derive(Clone, Debug)]
pub struct Line {
    pub scn: u64,
    pub xid: u64,
    pub code: i32,
    pub roll_back: bool,
    /// Whether the mark shows only once this line is mined in the same call.
    pub undone_by: Option<usize>,
    pub table: &'static str,
    pub row_id: String,
    pub object: u64,
    /// The number of the shape that the table had.
    pub version: u32,
    pub redo: Option<Vec<u8>>,
    pub rs_id: String,
    pub ssn: u32,
    pub continued: bool,
    pub status: i32,
    /// The record's time on the server's clock.
    pub time: String,
    /// A record of a kind that no call returns.
    pub hidden: bool,
    /// Which record of the log the row belongs to: pieces of a text share it.
    pub record: usize,
}

impl Line {
    pub fn new(scn: u64, xid: u64, code: i32) -> Self {
        Line {
            scn,
            xid,
            code,
            roll_back: false,
            undone_by: None,
            table: "",
            row_id: String::new(),
            object: 0,
            version: 0,
            redo: None,
            rs_id: format!("0x{scn:08x}"),
            ssn: 0,
            continued: false,
            status: 0,
            time: "2026-01-02 03:04:05.678901".into(),
            hidden: false,
            record: 0,
        }
    }

    pub fn dml(scn: u64, xid: u64, code: i32, row_id: &str, redo: &str) -> Self {
        Line {
            table: "T",
            object: 7,
            row_id: row_id.into(),
            redo: Some(redo.as_bytes().to_vec()),
            ..Line::new(scn, xid, code)
        }
    }

    pub fn marked(mut self) -> Self {
        self.roll_back = true;
        self
    }
}

/// How the view orders the rows of one mining call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// As they stand in the log.
    Interleaved,
    /// Each transaction's rows together, in commit order, the uncommitted ones behind.
    Contiguous,
}

/// What a test can see and change while a reader runs.
pub struct Script {
    pub lines: Vec<Line>,
    /// How many lines each file holds; what is left belongs to the file that is being written.
    pub files: Vec<usize>,
    /// How many lines are archived.
    pub archived: usize,
    /// How many files are gone.
    pub purged: usize,
    /// How many lines become archived with each question for the files.
    pub growth: usize,
    pub order: RowOrder,
    /// Open in the database though the log has its COMMIT.
    pub held: Vec<u64>,
    /// What V is asked to be; the last archived scn otherwise.
    pub visible: Option<u64>,
    /// Mining calls made, with their files.
    pub calls: Vec<Vec<String>>,
    /// The bytes of the files of each.
    pub bytes: Vec<u64>,
    /// Mining calls that fail as if a file had gone.
    pub vanish: usize,
    pub questions: usize,
    /// The end of the last file, where records of other kinds have moved it beyond the last line.
    pub end: Option<u64>,
    /// Files that cannot be opened.
    pub lost: Vec<String>,
    /// Files that are not listed.
    pub unlisted: Vec<String>,
    /// Files that are listed once more, in another destination and with so many lines less.
    pub copies: Vec<(String, usize)>,
    /// The file that could not be opened.
    pub refused: Option<String>,
    /// A call for files of more bytes takes too long, in the middle of its rows.
    pub slow: Option<u64>,
    /// The server's settings are wrong.
    pub unlogged: bool,
    /// How often the settings were looked at.
    pub setups: usize,
    /// What is noted of the log by the server's clock.
    pub times: Vec<(String, u64)>,
    /// The one table as the dictionary has it, for a server that can be asked.
    pub today: Option<Table>,
}

#[derive(Clone)]
pub struct ScriptedLog(Arc<Mutex<Script>>);

impl ScriptedLog {
    pub fn new(lines: Vec<Line>, files: Vec<usize>) -> Self {
        let archived = lines.len();
        let mut lines = lines;
        let mut record = 0;
        for line in &mut lines {
            line.record = record;
            record += usize::from(!line.continued);
        }
        ScriptedLog(Arc::new(Mutex::new(Script {
            lines,
            files,
            archived,
            purged: 0,
            growth: 0,
            order: RowOrder::Interleaved,
            held: Vec::new(),
            visible: None,
            calls: Vec::new(),
            bytes: Vec::new(),
            vanish: 0,
            questions: 0,
            end: None,
            lost: Vec::new(),
            unlisted: Vec::new(),
            copies: Vec::new(),
            refused: None,
            slow: None,
            unlogged: false,
            setups: 0,
            times: Vec::new(),
            today: None,
        })))
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }
}

impl Script {
    /// Opens files, unless one of them is lost.
    fn add(&mut self, files: &[Archive]) -> Result<()> {
        let mut paths = files.iter().map(|file| &file.path);
        let lost = paths.find(|path| self.lost.contains(path)).cloned();
        self.refused.clone_from(&lost);
        if lost.is_some() || self.vanish > 0 {
            self.vanish = self.vanish.saturating_sub(1);
            return Err(ErrorKind::Statement {
                message: "[-4546] file open failure".into(),
                state: "HY000".into(),
                native: -4546,
                retryable: false,
            }
            .into());
        }
        Ok(())
    }

    /// Files as ranges of lines, only as far as they are archived.
    fn ranges(&self) -> Vec<(usize, usize, bool)> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for &size in &self.files {
            ranges.push((start, start + size, false));
            start += size;
        }
        ranges.push((start, self.lines.len(), true));
        ranges.retain(|range| range.0 < self.archived || range.0 == 0);
        if let Some(last) = ranges.last_mut() {
            last.1 = last.1.min(self.archived);
            last.2 = true;
        }
        ranges
    }

    fn scn_before(&self, line: usize) -> u64 {
        line.checked_sub(1).map_or(0, |last| self.lines[last].scn)
    }

    fn archives(&self) -> Vec<Archive> {
        let ranges = self.ranges();
        let files = ranges.iter().enumerate().skip(self.purged);
        files
            .map(|(number, &(start, end, active))| Archive {
                path: format!("file{number}"),
                first: Scn(self.lines.get(start).map_or(0, |line| line.scn)),
                last: Scn(self.end.filter(|_| active).unwrap_or_else(|| self.scn_before(end))),
                previous: Scn(self.scn_before(start)),
                sequence: number as u64,
                bytes: (end - start) as u64 * 10,
                active,
            })
            .flat_map(|file| {
                let copy = self.copies.iter().find(|(path, _)| *path == file.path);
                let copy = copy.map(|(path, behind)| {
                    let number: usize = path["file".len()..].parse().unwrap();
                    let (start, end, _) = ranges[number];
                    let end = start.max(end.saturating_sub(*behind));
                    Archive {
                        path: format!("copy/{path}"),
                        last: Scn(self.scn_before(end)),
                        bytes: (end - start) as u64 * 10,
                        ..file.clone()
                    }
                });
                [Some(file), copy].into_iter().flatten()
            })
            .filter(|file| !self.unlisted.contains(&file.path))
            .collect()
    }

    fn rows(&self, files: &[Archive], from: u64) -> Vec<Line> {
        let ranges = self.ranges();
        let mut rows: Vec<Line> = Vec::new();
        let mut seen = 0;
        for file in files {
            let number = file.path.rsplit("file").next().unwrap();
            let (start, mut end, _) = ranges[number.parse::<usize>().unwrap()];
            if let Some((_, behind)) = self.copies.iter().find(|(path, _)| file.path == format!("copy/{path}")) {
                end = start.max(end.saturating_sub(*behind));
            }
            rows.extend(
                self.lines[start..end]
                    .iter()
                    .filter(|line| line.scn >= from && !line.hidden)
                    .cloned(),
            );
            seen = seen.max(end);
        }
        for row in &mut rows {
            row.roll_back |= row.undone_by.is_some_and(|by| by < seen);
        }
        if self.order == RowOrder::Contiguous {
            let commit_of = |xid: u64| rows.iter().position(|row| row.xid == xid && matches!(row.code, 7 | 38));
            let ends: Vec<usize> = rows
                .iter()
                .map(|row| commit_of(row.xid).unwrap_or(usize::MAX))
                .collect();
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by_key(|&row| (ends[row], if ends[row] == usize::MAX { rows[row].xid } else { 0 }));
            rows = order.into_iter().map(|row| rows[row].clone()).collect();
        }
        rows
    }

    /// Transactions that have begun and have no end.
    fn open(&self) -> Vec<OpenTransaction> {
        let mut open: Vec<OpenTransaction> = Vec::new();
        for line in &self.lines {
            match line.code {
                6 => open.push(OpenTransaction {
                    xid: Xid(line.xid),
                    start: Some(Scn(line.scn)),
                    session: format!("session {}", line.xid),
                }),
                7 | 36 | 38 if !self.held.contains(&line.xid) => open.retain(|open| open.xid.0 != line.xid),
                _ => {}
            }
        }
        open
    }
}

impl LogSource for ScriptedLog {
    fn archives(&mut self) -> Result<Vec<Archive>> {
        let mut script = self.script();
        script.questions += 1;
        script.archived = (script.archived + script.growth).min(script.lines.len());
        Ok(script.archives())
    }

    fn visible_end(&mut self) -> Result<Scn> {
        let script = self.script();
        Ok(Scn(script
            .visible
            .unwrap_or_else(|| script.scn_before(script.archived))))
    }

    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>> {
        Ok(self.script().open())
    }

    fn known_times(&mut self, local: &str) -> Result<KnownTimes> {
        let script = self.script();
        let later = script.times.iter().find(|(time, _)| &**time > local);
        let known = script.times.iter().rev();
        let mut known = known.filter(|(time, scn)| &**time <= local && later.is_none_or(|later| *scn <= later.1));
        let text = |(time, _): &(String, u64)| time.clone();
        Ok(KnownTimes {
            scn: known.next().map(|(_, scn)| Scn(*scn)),
            noted: script.times.first().map(text).zip(script.times.last().map(text)),
        })
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        Ok(Incarnation(1))
    }

    fn switch_log(&mut self) -> Result<()> {
        let mut script = self.script();
        script.archived = script.lines.len();
        Ok(())
    }

    fn probe(&mut self, files: &[Archive]) -> Result<()> {
        self.script().add(files)
    }

    fn mine(&mut self, call: &MiningCall<'_>, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let bytes: u64 = call.files.iter().map(|file| file.bytes).sum();
        let (rows, slow) = {
            let mut script = self.script();
            script
                .calls
                .push(call.files.iter().map(|file| file.path.clone()).collect());
            script.bytes.push(bytes);
            script.add(call.files)?;
            let rows = script.rows(call.files, call.from.0);
            (rows, script.slow.is_some_and(|slow| bytes > slow))
        };
        let come = if slow { rows.len() / 2 } else { rows.len() };
        for line in &rows[..come] {
            row(&ContentsRow {
                scn: Scn(line.scn),
                xid: Xid(line.xid),
                code: i64::from(line.code),
                operation: Dameng.operation(i64::from(line.code)),
                roll_back: line.roll_back,
                owner: if line.table.is_empty() { b"" } else { b"S" },
                table: line.table.as_bytes(),
                row_id: line.row_id.as_bytes(),
                object_id: line.object,
                object_version: line.version,
                redo: line.redo.as_deref(),
                rs_id: line.rs_id.as_bytes(),
                ssn: line.ssn,
                continued: line.continued,
                status: line.status,
                time: Some(line.time.as_bytes()),
            })?;
        }
        match slow {
            true => Err(ErrorKind::Timeout { seconds: 1 }.into()),
            false => Ok(()),
        }
    }

    fn versions(&mut self, _: &[u64]) -> Result<Option<Vec<TableVersion>>> {
        let today = &self.script().today;
        Ok(today.as_ref().map(|table| vec![TableVersion::of(table)]))
    }

    fn shape(&mut self, _: u32) -> Result<Option<Table>> {
        Ok(self.script().today.clone())
    }

    fn missing_file(&self, error: &Error) -> Option<MissingFile> {
        match error.kind() {
            ErrorKind::Statement {
                native: -4546 | -2847,
                message,
                ..
            } => Some(MissingFile {
                path: self.script().refused.clone(),
                message: message.clone(),
            }),
            _ => None,
        }
    }

    fn check_setup(&mut self) -> Result<()> {
        let mut script = self.script();
        script.setups += 1;
        match script.unlogged {
            true => Err(ErrorKind::LoggingMode("it is off".into()).into()),
            false => Ok(()),
        }
    }
}
