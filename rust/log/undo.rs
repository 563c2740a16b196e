//! What a transaction undid before its COMMIT (ROLLBACK TO SAVEPOINT, a statement that failed half-way).
//!
//! Logs know two forms. *Compensating*: undoing writes records of its own, marked, newest change first, and each undoes
//! the newest change of the same table and row that is not undone yet. *Flagged*: the undone record itself carries the
//! mark, and nothing else is written. Which one a log uses is not documented everywhere; a text alone cannot always tell
//! (an INSERT and a marked DELETE of its row are both an insert taken back and a delete taken back). What can be told:
//! a marked record that could not undo the newest change of its row (it has no change, or not the opposite one) proves
//! the flagged form. So a form is assumed, kept to, and a contradiction is an error and never a guess.

use std::collections::HashMap;

use crate::error::{ErrorKind, Result};
use crate::log::records::Action;

/// Which form the log has, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Not seen yet; taken as compensating until the log proves otherwise.
    #[default]
    Unknown,
    /// Marked records undo others. Assumed since `Unknown` records have been judged so.
    Compensating,
    /// Marked records are themselves undone.
    Flagged,
}

impl Form {
    /// Learns from a transaction that was rolled back whole: where its changes themselves are marked, none is left
    /// unmarked; where marked records undo others, those others are not marked.
    pub fn learn(&mut self, marked: u64, changes: u64) {
        if *self == Form::Unknown && marked > 0 {
            *self = if marked == changes {
                Form::Flagged
            } else {
                Form::Compensating
            };
        }
    }
}

/// The log marks undone changes in another form than the records judged before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {at} of the transaction is marked as undone in another form than those before it")]
pub struct Contradiction {
    /// The record, counted from zero.
    pub at: u64,
}

/// A record as far as undoing looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Table and row.
    pub row: (u32, &'a [u8]),
    /// What it does.
    pub action: Action,
    /// Whether it is marked.
    pub roll_back: bool,
}

/// Which records of a transaction do not go out: a bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    words: Vec<u64>,
}

impl Undone {
    fn of(records: u64) -> Self {
        Undone {
            words: vec![0; records.div_ceil(64) as usize],
        }
    }

    /// Whether a record does not go out.
    pub fn contains(&self, nth: u64) -> bool {
        let word = self.words.get((nth / 64) as usize).copied();
        word.is_some_and(|word| word >> (nth % 64) & 1 == 1)
    }

    /// The last of so many records that goes out.
    pub fn last_out(&self, records: u64) -> Option<u64> {
        (0..records).rev().find(|&nth| !self.contains(nth))
    }

    /// Memory that it takes.
    pub fn size(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    fn insert(&mut self, nth: u64) {
        if let Some(word) = self.words.get_mut((nth / 64) as usize) {
            *word |= 1 << (nth % 64);
        }
    }
}

/// The records of a transaction in log order, to be walked from the last to the first as often as is needed.
pub trait Steps {
    /// How many there are.
    fn count(&self) -> u64;

    /// Hands every record to `step`, the last one first, with its number from the first, until that says `false`.
    ///
    /// # Errors
    /// Those of reading what was spilled.
    fn walk_back(&self, step: &mut dyn FnMut(u64, Step<'_>) -> bool) -> Result<()>;
}

/// Says which records of a committed transaction do not go out, each at constant cost. Besides a bit a record it holds the
/// rows of changes that are taken back and not met yet; where these need more than `memory`, it walks once for each of
/// several parts of the rows.
///
/// # Errors
/// `CorruptLog` in contradiction with the form that the records before had; those of reading what was spilled.
pub fn resolve(steps: &impl Steps, form: &mut Form, memory: usize) -> Result<Undone> {
    if *form != Form::Flagged {
        match compensate(steps, memory)? {
            Ok(undone) => {
                *form = Form::Compensating;
                return Ok(undone);
            }
            Err(at) if *form == Form::Compensating => {
                return Err(ErrorKind::CorruptLog(Contradiction { at }.to_string()).into());
            }
            Err(at) => {
                log::info!("the log marks undone changes themselves (record {at} undoes nothing)");
                *form = Form::Flagged;
            }
        }
    }
    let mut undone = Undone::of(steps.count());
    steps.walk_back(&mut |nth, step| {
        if step.roll_back {
            undone.insert(nth);
        }
        true
    })?;
    Ok(undone)
}

/// Takes marked records as compensating ones; says which one undoes nothing, where one does.
fn compensate(steps: &impl Steps, memory: usize) -> Result<std::result::Result<Undone, u64>> {
    let mut parts = 1;
    loop {
        let mut undone = Undone::of(steps.count());
        let mut came = Came::Through;
        for part in 0..parts {
            came = walk(steps, (part, parts), memory, &mut undone)?;
            if !matches!(came, Came::Through) {
                break;
            }
        }
        match came {
            Came::Through => return Ok(Ok(undone)),
            Came::Upon(at) => return Ok(Err(at)),
            Came::TooFar => parts *= 2,
        }
    }
}

/// How a walk ended.
enum Came {
    /// Every marked record has undone one.
    Through,
    /// At a marked record that undoes nothing.
    Upon(u64),
    /// Too many rows waited.
    TooFar,
}

fn walk(steps: &impl Steps, (part, parts): (u32, u32), memory: usize, undone: &mut Undone) -> Result<Came> {
    let mut waiting = Waiting::default();
    let mut came = Came::Through;
    steps.walk_back(&mut |nth, step| {
        if step.roll_back {
            undone.insert(nth);
        }
        if !waiting.name(step.row, parts, part) {
            return true;
        }
        if step.roll_back {
            waiting.add(nth, step.action);
            if waiting.size > memory && waiting.rows.len() > 1 {
                came = Came::TooFar;
            }
        } else if let Some((marked, action)) = waiting.take() {
            undone.insert(nth);
            if !undoes(action, step.action) {
                came = Came::Upon(marked);
            }
        }
        matches!(came, Came::Through)
    })?;
    Ok(match (came, waiting.first()) {
        (Came::Through, Some(at)) => Came::Upon(at),
        (came, _) => came,
    })
}

/// Marked records whose changes were not met yet, walking back: the newest change of a row belongs to the first of its
/// marked ones, as brackets belong together.
#[derive(Default)]
struct Waiting {
    /// By row: its marked records, the first one last.
    rows: HashMap<Box<[u8]>, Vec<(u64, Action)>>,
    /// Memory that they take, about.
    size: usize,
    name: Vec<u8>,
}

impl Waiting {
    /// Looks at a row; `false` if it is not of this part of the rows.
    fn name(&mut self, (table, row): (u32, &[u8]), parts: u32, part: u32) -> bool {
        self.name.clear();
        self.name.extend_from_slice(&table.to_le_bytes());
        self.name.extend_from_slice(row);
        parts == 1 || crc32fast::hash(&self.name) % parts == part
    }

    fn add(&mut self, nth: u64, action: Action) {
        match self.rows.get_mut(&self.name[..]) {
            Some(marked) => marked.push((nth, action)),
            None => {
                self.size += self.name.len() + ROW;
                self.rows
                    .insert(self.name.clone().into_boxed_slice(), vec![(nth, action)]);
            }
        }
        self.size += size_of::<(u64, Action)>();
    }

    fn take(&mut self) -> Option<(u64, Action)> {
        let marked = self.rows.get_mut(&self.name[..])?;
        let last = marked.pop();
        self.size -= size_of::<(u64, Action)>();
        if marked.is_empty() {
            self.rows.remove(&self.name[..]);
            self.size -= self.name.len() + ROW;
        }
        last
    }

    fn first(&self) -> Option<u64> {
        self.rows.values().flatten().map(|(nth, _)| *nth).min()
    }
}

/// What a row takes in the map besides its name: key, vector, allocations, free places.
const ROW: usize = 160;

fn undoes(marked: Action, change: Action) -> bool {
    match marked {
        Action::Insert => change == Action::Delete,
        Action::Delete => change == Action::Insert,
        Action::Update => change == Action::Update,
        // What the log cannot show undoes whatever was last.
        Action::Unsupported => true,
        Action::Schema => change == Action::Schema,
    }
}
