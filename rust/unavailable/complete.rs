//! Changes made whole: images that lack values go in, whole ones come out.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::{ColumnType, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Changes, LogReader, Patience};
use crate::row::RowCodec;
use crate::row::value::{Image, Value, ValueBuffer};
use crate::snapshot::wait::{Clock, until_visible};
use crate::unavailable::look_up::{FoundRows, KeyedSource, LookUp, table_key};
use crate::unavailable::{OnUnavailable, PLACEHOLDER};

/// Opens the connection for looking rows up; asked when the first value is needed, and again when it is lost.
pub type Connect = Box<dyn FnMut() -> Result<Box<dyn KeyedSource>> + Send>;

/// Bytes of rows that are looked up together; the row that goes beyond is the last one.
const ROOM: usize = 8 << 20;
/// Keys of one SELECT at most.
const MOST_KEYS: usize = 100;
/// How far to look for further changes whose rows are to be looked up.
const LOOK_AHEAD: usize = 1000;

/// Makes changes whole.
pub struct Completion {
    policy: OnUnavailable,
    /// By number, in the shapes that number the columns now.
    tables: Vec<Arc<Table>>,
    connect: Connect,
    source: Option<Box<dyn KeyedSource>>,
    /// How long to wait until the database shows what the log has handed out.
    visibility: Patience,
    found: FoundRows,
    /// Up to which change of the part at hand `found` has all rows that there are.
    until: usize,
    /// Bytes of a row, on the average of the last ones that were looked up.
    average: usize,
    /// For how many keys a SELECT may ask, by how many were asked for before: a driver may take all that it gives.
    most_keys: usize,
    /// For what needs no row looked up.
    scratch: ValueBuffer,
    counts: Counts,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values of rows that come, read by their keys.
    pub read_back: u64,
    /// Values of rows that come, but were gone when they were looked up.
    pub gone: u64,
    /// Placeholders sent, for these and for rows that leave.
    pub placeholders: u64,
}

/// The images of a change that go out, whole.
#[derive(Clone, Copy, Debug)]
pub struct Completed<'c> {
    /// Where their values lie.
    pub values: &'c ValueBuffer,
    /// The row before.
    pub before: Option<Image>,
    /// The row after.
    pub after: Option<Image>,
}

/// A change among others of its transaction, and what is needed to look rows up.
pub struct Around<'a> {
    /// Which of them it is.
    pub at: usize,
    /// Makes keys.
    pub codec: &'a dyn RowCodec,
    /// Whether the row of another change, by its table and key, will be asked for.
    pub wanted: &'a dyn Fn(u32, &[u8]) -> Result<bool>,
    /// The log that they come from.
    pub log: &'a mut dyn LogReader,
    /// Time, for waiting.
    pub clock: &'a mut dyn Clock,
}

/// What is to be looked up of one table.
struct Asked {
    table: u32,
    columns: Vec<usize>,
    keys: Vec<Vec<u8>>,
    /// Whether all rows that there are were read.
    answered: bool,
}

/// A change whose row is looked up.
struct Member {
    number: usize,
    asked: usize,
    table_key: Vec<u8>,
}

impl Completion {
    /// For the captured tables by their number.
    pub fn new(policy: OnUnavailable, tables: Vec<Arc<Table>>, visibility: Patience, connect: Connect) -> Self {
        Completion {
            policy,
            tables,
            connect,
            source: None,
            visibility,
            found: FoundRows::default(),
            until: 0,
            average: 0,
            most_keys: 1,
            scratch: ValueBuffer::default(),
            counts: Counts::default(),
        }
    }

    /// From here on values of a table come by the column numbers of this shape.
    pub fn reshape(&mut self, table: u32, shape: &Arc<Table>) {
        if let Some(known) = self.tables.get_mut(table as usize) {
            *known = shape.clone();
        }
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Begins another part of a transaction: what was read for the one before says nothing about this one.
    pub fn begin(&mut self) {
        self.found.clear();
        self.until = 0;
    }

    /// Makes those images of a change whole that go out.
    ///
    /// # Errors
    /// `NotVisible`, `Closed`, database errors.
    pub fn complete<'c>(
        &'c mut self,
        changes: &'c Changes,
        before: Option<Image>,
        after: Option<Image>,
        around: Around<'_>,
    ) -> Result<Completed<'c>> {
        let at = around.at;
        let as_they_are = Completed {
            values: &changes.values,
            before,
            after,
        };
        let change = &changes.rows[at];
        let lacks = |image: Option<Image>| image.is_some_and(|image| self.lacks(changes, change.table, image));
        let (before_lacks, after_lacks) = (lacks(before), lacks(after));
        if self.policy == OnUnavailable::Fail || !(before_lacks || after_lacks) {
            return Ok(as_they_are);
        }
        let mut found = None;
        let looks_up = after_lacks && self.policy == OnUnavailable::ReadBack;
        let has_key = self
            .tables
            .get(change.table as usize)
            .is_some_and(|table| !table.key.is_empty());
        if looks_up && !has_key {
            // Refused at the start; a column that came later is refused by its first value.
            return Ok(as_they_are);
        }
        if looks_up {
            let key = self.key(changes, around.codec, at)?;
            if at >= self.until {
                self.prepare(changes, around)?;
            }
            found = self.found.get(&key);
        }
        let Some(table) = self.tables.get(change.table as usize) else {
            return Ok(as_they_are);
        };
        let buffer = match looks_up {
            true => &mut self.found.values,
            false => {
                self.scratch.clear();
                &mut self.scratch
            }
        };
        let mut filled = Filling {
            from: &changes.values,
            table,
            buffer,
            counts: &mut self.counts,
            looks_up,
        };
        let whole_after = after.map(|image| filled.after(image, found));
        let unchanged = after.zip(whole_after);
        let whole_before = before.map(|image| filled.before(image, unchanged));
        Ok(Completed {
            values: buffer,
            before: whole_before,
            after: whole_after,
        })
    }

    fn lacks(&self, changes: &Changes, table: u32, image: Image) -> bool {
        self.lacking(changes, table, image).next().is_some()
    }

    /// The values of an image that the log does not hold, by their column, whatever their type. What is not read is not
    /// lacking.
    fn lacking(&self, changes: &Changes, table: u32, image: Image) -> impl Iterator<Item = usize> {
        let known = self.tables.get(table as usize).map_or(0, |table| table.columns.len());
        let columns = 0..known.min(changes.values.arity(image));
        columns.filter(move |&column| changes.values.get(image, column) == Value::Unavailable)
    }

    /// Table and key of the row that a change leaves.
    fn key(&self, changes: &Changes, codec: &dyn RowCodec, at: usize) -> Result<Vec<u8>> {
        let change = &changes.rows[at];
        let mut key = table_key(change.table, &[]);
        if let Some(image) = change.after {
            codec.key(change.table, &changes.values, image, &mut key)?;
        }
        Ok(key)
    }

    /// Looks the rows of a change and of some behind it up.
    fn prepare(&mut self, changes: &Changes, around: Around<'_>) -> Result<()> {
        const DOING: &str = "reading back values that the log does not hold";
        self.found.clear();
        // Else the row may be one from before the change, and no later change would set it right.
        until_visible(around.log, self.visibility, around.clock).map_err(|error| error.doing(DOING))?;
        let (mut asked, members, end) = self.plan(changes, &around)?;
        for one in &mut asked {
            let room = ROOM.saturating_sub(self.found.values.size());
            if room == 0 {
                break;
            }
            one.answered = self
                .look_up(one.table, &one.columns, &one.keys, room)
                .map_err(|error| error.doing(DOING))?;
        }
        let open = members
            .iter()
            .find(|member| !asked[member.asked].answered && self.found.get(&member.table_key).is_none());
        self.until = open.map_or(end, |member| member.number);
        self.most_keys = match open {
            Some(_) => 1,
            None => (4 * self.most_keys).min(MOST_KEYS),
        };
        if let (Some(first), true) = (members.first(), self.until == around.at) {
            let key = first.table_key[size_of::<u32>()..].to_vec();
            let one = &asked[first.asked];
            // The others have filled the room, and this one has to come.
            self.found.clear();
            self.look_up(one.table, &one.columns, &[key], usize::MAX)
                .map_err(|error| error.doing(DOING))?;
            self.until = around.at + 1;
        }
        if !self.found.is_empty() {
            self.average = self.found.values.size() / self.found.len();
        }
        Ok(())
    }

    /// What to look up for the changes from the one at hand on, and the first one for which it is not planned.
    fn plan(&self, changes: &Changes, around: &Around<'_>) -> Result<(Vec<Asked>, Vec<Member>, usize)> {
        let most = (ROOM / self.average.max(1)).clamp(1, self.most_keys);
        let mut asked: Vec<Asked> = Vec::new();
        let mut members = Vec::new();
        let mut keys = HashSet::new();
        let rows = &changes.rows;
        let end = rows.len().min(around.at + LOOK_AHEAD);
        for (number, change) in rows.iter().enumerate().take(end).skip(around.at) {
            let Some(after) = change.after.filter(|&after| self.lacks(changes, change.table, after)) else {
                continue;
            };
            let table_key = self.key(changes, around.codec, number)?;
            let key = &table_key[size_of::<u32>()..];
            if number > around.at && !(around.wanted)(change.table, key)? {
                continue;
            }
            let is_new = !keys.contains(&table_key);
            if is_new && keys.len() == most {
                return Ok((asked, members, number));
            }
            let place = match asked.iter().position(|asked| asked.table == change.table) {
                Some(place) => place,
                None => {
                    asked.push(Asked {
                        table: change.table,
                        columns: Vec::new(),
                        keys: Vec::new(),
                        answered: false,
                    });
                    asked.len() - 1
                }
            };
            let one = &mut asked[place];
            if is_new {
                one.keys.push(key.to_vec());
                keys.insert(table_key.clone());
            }
            for column in self.lacking(changes, change.table, after) {
                if !one.columns.contains(&column) {
                    one.columns.push(column);
                }
            }
            members.push(Member {
                number,
                asked: place,
                table_key,
            });
        }
        Ok((asked, members, end))
    }

    fn look_up(&mut self, number: u32, columns: &[usize], keys: &[Vec<u8>], room: usize) -> Result<bool> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let table = self.tables.get(number as usize).cloned();
        let table = table.ok_or_else(|| Error::from(ErrorKind::Internal(format!("there is no table {number}"))))?;
        let wanted = LookUp {
            number,
            table: &table,
            columns,
            keys: &keys,
            room,
        };
        let is_old = self.source.is_some();
        match self.try_look_up(&wanted) {
            // A connection that nobody used for long may have been closed.
            Err(error) if is_old && error.is_retryable() && !matches!(error.kind(), ErrorKind::Closed) => {
                log::warn!("the connection for reading values back is opened anew: {error}");
                self.source = None;
                self.try_look_up(&wanted)
            }
            read => read,
        }
    }

    fn try_look_up(&mut self, wanted: &LookUp<'_>) -> Result<bool> {
        let mut source = match self.source.take() {
            Some(source) => source,
            None => (self.connect)()?,
        };
        let all = source.look_up(wanted, &mut self.found);
        self.source = Some(source);
        all
    }
}

/// Puts whole images together.
struct Filling<'f> {
    from: &'f ValueBuffer,
    table: &'f Table,
    buffer: &'f mut ValueBuffer,
    counts: &'f mut Counts,
    looks_up: bool,
}

impl Filling<'_> {
    /// The row after: what the log has, then what was found, then placeholders.
    fn after(&mut self, image: Image, found: Option<Image>) -> Image {
        let arity = self.from.arity(image);
        let whole = match found {
            Some(found) => self.buffer.begin_copy(found),
            None => self.buffer.begin(arity),
        };
        for column in 0..arity {
            match self.from.get(image, column) {
                Value::Unavailable => {
                    if self.buffer.get(whole, column) != Value::Absent {
                        self.counts.read_back += 1;
                        continue;
                    }
                    self.counts.gone += u64::from(self.looks_up);
                    self.stand_in(whole, column);
                }
                value => self.buffer.set(whole, column, value),
            }
        }
        whole
    }

    /// The row before. `after`: the row after as it was and whole; a column that the change has left alone has the same
    /// value in both. What it has replaced nobody has any more.
    fn before(&mut self, image: Image, after: Option<(Image, Image)>) -> Image {
        let arity = self.from.arity(image);
        let whole = self.buffer.begin(arity);
        for column in 0..arity {
            match self.from.get(image, column) {
                Value::Unavailable => match after {
                    Some((was, whole_after)) if self.from.shares(image, was, column) => {
                        self.buffer.share(whole_after, whole, column);
                    }
                    _ => self.placeholder(whole, column),
                },
                value => self.buffer.set(whole, column, value),
            }
        }
        whole
    }

    /// What stands for a value of a row that was looked up and is gone: the change that took it follows, so that NULL does no
    /// harm where there is no placeholder.
    fn stand_in(&mut self, image: Image, column: usize) {
        self.placeholder(image, column);
        if self.looks_up && self.buffer.get(image, column) == Value::Unavailable {
            self.buffer.set(image, column, Value::Null);
        }
    }

    /// Without a placeholder of its type a value stays unavailable, which the codec refuses.
    fn placeholder(&mut self, image: Image, column: usize) {
        let value = match self.table.columns.get(column).map(|column| &column.kind) {
            Some(ColumnType::Text { .. } | ColumnType::Shown { .. }) => Value::Text(PLACEHOLDER.as_bytes()),
            Some(ColumnType::Binary { .. }) => Value::Bytes(PLACEHOLDER.as_bytes()),
            _ => Value::Unavailable,
        };
        self.counts.placeholders += u64::from(value != Value::Unavailable);
        self.buffer.set(image, column, value);
    }
}
