//! A log that says what a test wrote down, and rows of one text column behind a key of one letter or more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tidemark::catalog::change::{ChangeKind, SchemaChange};
use tidemark::error::{ErrorKind, Result};
use tidemark::log::{Change, Changes, Fragment, LogEvent, LogReader, Patience, Progress, SchemaEvent, TransactionHead};
use tidemark::position::{CommitPosition, Incarnation, Place, Position, Scn, Xid};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::PageRows;
use tidemark::snapshot::closed::SelectedPage;
use tidemark::snapshot::wait::Clock;
use tidemark::split::{Chunk, Key, KeyRange, TableName};

pub const INCARNATION: Incarnation = Incarnation(1);

pub fn tables() -> Vec<Arc<TableName>> {
    let table = |name: &str| {
        Arc::new(TableName {
            schema: "BIZ".into(),
            name: name.into(),
        })
    };
    vec![table("A"), table("B")]
}

pub fn key(text: &str) -> Key {
    Key(text.as_bytes().into())
}

/// `[lower, upper)`, an empty text being open.
pub fn range(lower: &str, upper: &str) -> KeyRange {
    let bound = |text: &str| (!text.is_empty()).then(|| key(text));
    KeyRange {
        lower: bound(lower),
        upper: bound(upper),
    }
}

pub fn chunk(table: usize, lower: &str, upper: &str) -> Chunk {
    Chunk {
        table: tables()[table].clone(),
        range: range(lower, upper),
    }
}

/// A page's rows: each text is a key, a colon and a value.
pub fn rows(texts: &[&str]) -> PageRows {
    let mut rows = PageRows::default();
    for text in texts {
        let (key, _) = text.split_once(':').unwrap();
        rows.push_encoded(key.as_bytes(), text.as_bytes());
    }
    rows
}

/// A page as a SELECT gives it.
pub fn selected(table: u32, chunk: Chunk, rows: PageRows, rest: Option<Key>) -> SelectedPage {
    SelectedPage {
        table,
        chunk,
        rows,
        rest,
        point: None,
    }
}

pub fn texts(rows: &PageRows) -> Vec<String> {
    let text = |row| String::from_utf8_lossy(rows.row(row)).into_owned();
    (0..rows.len()).map(text).collect()
}

/// Rows are "key:value", with the kind of a row of the log phase told beside it.
pub struct TextCodec;

impl RowCodec for TextCodec {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        match values.get(image, 0) {
            Value::Text(text) => {
                out.extend(text.split(|byte| *byte == b':').next().unwrap_or_default());
                Ok(())
            }
            other => Err(ErrorKind::Internal(format!("{other:?}")).into()),
        }
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
        if let Value::Text(text) = values.get(image, 0) {
            out.extend_from_slice(text);
        }
        Ok(())
    }
}

/// As [`TextCodec`], and changes of shape go downstream as their statements.
pub struct CarryingCodec;

impl RowCodec for CarryingCodec {
    fn key(&self, table: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        TextCodec.key(table, values, image, out)
    }

    fn row(
        &self,
        table: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        TextCodec.row(table, kind, values, image, origin, out)
    }

    fn schema_change(&self, _: u32, change: &SchemaChange, _: &RowOrigin, out: &mut Vec<u8>) -> Result<bool> {
        out.extend_from_slice(change.statement.as_bytes());
        Ok(true)
    }
}

/// What a test says of a change: before and after, an empty text being none, in table A or B.
pub type Told<'a> = (usize, &'a str, &'a str);

pub fn transaction(xid: u64, commit: (u64, u32), next_scn: u64, changes: &[Told<'_>]) -> LogEvent {
    fragment(xid, commit, next_scn, 0, true, changes)
}

/// Records of a transaction stand at scns that count up from ten times its xid, ten a fragment.
pub fn fragment(
    xid: u64,
    commit: (u64, u32),
    next_scn: u64,
    number: u32,
    last: bool,
    changes: &[Told<'_>],
) -> LogEvent {
    let mut told = Changes::default();
    for (nth, &(table, before, after)) in changes.iter().enumerate() {
        let mut image = |text: &str| {
            (!text.is_empty()).then(|| {
                let image = told.values.begin(1);
                told.values.set(image, 0, Value::Text(text.as_bytes()));
                image
            })
        };
        let (before, after) = (image(before), image(after));
        let scn = xid * 10 + u64::from(number) * 100 + nth as u64;
        told.rows.push(Change {
            table: table as u32,
            before,
            after,
            place: place(scn, table),
        });
    }
    LogEvent::Fragment(Fragment {
        head: TransactionHead {
            xid: Xid(xid),
            commit: at(commit),
            commit_micros: 0,
            start: Scn(1),
            next_scn: Scn(next_scn),
        },
        number,
        last,
        changes: told,
    })
}

pub fn place(scn: u64, table: usize) -> Place {
    Place {
        scn: Scn(scn),
        table: table as u64 + 500,
        ..Place::default()
    }
}

pub fn at((scn, nth): (u64, u32)) -> CommitPosition {
    CommitPosition { scn: Scn(scn), nth }
}

pub fn cut(scn: u64, commits: u32) -> Position {
    Position { scn: Scn(scn), commits }
}

/// A change of shape in a transaction of number 1000 and its scn, which is also that of its record; its end is to follow.
pub fn shape(table: usize, scn: u64, truncates: bool) -> LogEvent {
    shape_of(1000 + scn, (scn, 0), table, scn, truncates)
}

/// The end of the transaction of a [`shape`].
pub fn shaped(scn: u64) -> LogEvent {
    fragment(1000 + scn, (scn, 0), scn, 0, true, &[])
}

/// A change of shape in a transaction, its record at an scn.
pub fn shape_of(xid: u64, commit: (u64, u32), table: usize, scn: u64, truncates: bool) -> LogEvent {
    LogEvent::Schema(SchemaEvent {
        head: TransactionHead {
            xid: Xid(xid),
            commit: at(commit),
            commit_micros: 0,
            start: Scn(1),
            next_scn: Scn(scn),
        },
        table: table as u32,
        place: place(scn, table),
        change: SchemaChange {
            table: tables()[table].clone(),
            kind: if truncates {
                ChangeKind::Truncate
            } else {
                ChangeKind::Alter
            },
            statement: format!("change {scn}"),
            shape: None,
        },
    })
}

/// What the log does, one entry a poll; an entry says where the reader stands behind it.
pub struct Script {
    pub polls: VecDeque<(Option<LogEvent>, Progress)>,
    pub progress: Progress,
    pub visible_end: Vec<u64>,
    pub still_open: VecDeque<Vec<String>>,
    pub may_push: bool,
    pub pushes: u32,
    pub oldest_kept: u64,
    /// Calls in their order.
    pub calls: Vec<&'static str>,
}

#[derive(Clone)]
pub struct ScriptedLog(Arc<Mutex<Script>>);

impl ScriptedLog {
    /// A log that stands at the start of an empty scn and can be mined up to there.
    pub fn at(position: Position) -> Self {
        ScriptedLog(Arc::new(Mutex::new(Script {
            polls: VecDeque::new(),
            progress: Progress {
                position,
                next_scn: position.scn,
                complete_to: Some(position.scn),
            },
            visible_end: Vec::new(),
            still_open: VecDeque::new(),
            may_push: false,
            pushes: 0,
            oldest_kept: 0,
            calls: Vec::new(),
        })))
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }

    /// The next poll returns this, and the reader stands at `position`, mines from `next_scn` and is complete up to
    /// `complete_to` then.
    pub fn then(&self, event: Option<LogEvent>, position: Position, next_scn: u64, complete_to: u64) -> &Self {
        let progress = Progress {
            position,
            next_scn: Scn(next_scn),
            complete_to: Some(Scn(complete_to)),
        };
        self.script().polls.push_back((event, progress));
        self
    }
}

impl LogReader for ScriptedLog {
    fn poll(&mut self) -> Result<Option<LogEvent>> {
        let mut script = self.script();
        script.calls.push("poll");
        Ok(script.polls.pop_front().and_then(|(event, progress)| {
            script.progress = progress;
            event
        }))
    }

    fn progress(&self) -> Progress {
        self.script().progress
    }

    fn visible_end(&mut self) -> Result<Scn> {
        let mut script = self.script();
        script.calls.push("visible_end");
        Ok(Scn(script.visible_end.pop().unwrap_or_default()))
    }

    fn still_open(&mut self) -> Result<Vec<String>> {
        let mut script = self.script();
        script.calls.push("still_open");
        let open = script.still_open.front().cloned().unwrap_or_default();
        if script.still_open.len() > 1 {
            script.still_open.pop_front();
        }
        Ok(open)
    }

    fn push(&mut self) -> Result<bool> {
        let mut script = self.script();
        script.pushes += 1;
        Ok(script.may_push)
    }

    fn check_kept(&mut self, needed: Scn) -> Result<()> {
        let oldest = self.script().oldest_kept;
        if needed.0 >= oldest {
            return Ok(());
        }
        Err(ErrorKind::LogGone {
            needed,
            oldest: Some(Scn(oldest)),
            detail: "archive 1 is not there".into(),
        }
        .into())
    }

    fn incarnation(&self) -> Incarnation {
        INCARNATION
    }
}

/// Time that passes in pauses alone.
#[derive(Default)]
pub struct StillClock {
    pub now: Duration,
    pub stops_at: Option<Duration>,
}

impl Clock for StillClock {
    fn now(&self) -> Duration {
        self.now
    }

    fn pause(&mut self, duration: Duration) {
        self.now += duration;
    }

    fn is_stopped(&self) -> bool {
        self.stops_at.is_some_and(|stop| self.now >= stop)
    }
}

pub fn patience(limit: u64) -> Patience {
    Patience {
        limit: Duration::from_secs(limit),
        pause: Duration::from_secs(1),
    }
}
