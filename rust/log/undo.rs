//! What a transaction undid before its COMMIT (ROLLBACK TO SAVEPOINT, a statement that failed half-way).
//!
//! Logs know two forms. *Compensating*: undoing writes records of its own, marked, newest change first, and each undoes
//! the newest change of the same table and row that is not undone yet. *Flagged*: the undone record itself carries the
//! mark, and nothing else is written. Which one a log uses is not documented everywhere; a text alone cannot always tell
//! (an INSERT and a marked DELETE of its row are both an insert taken back and a delete taken back). What can be told:
//! a marked record that could not undo the newest change of its row (it has no change, or not the opposite one) proves
//! the flagged form. So a form is assumed, kept to, and a contradiction is an error and never a guess.

use std::collections::HashMap;

use crate::log::transactions::Action;

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
    pub fn learn(&mut self, marked: usize, changes: usize) {
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
    pub at: usize,
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

/// Which records of a transaction do not go out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone(Vec<bool>);

impl Undone {
    /// Whether a record does not go out.
    pub fn contains(&self, nth: usize) -> bool {
        self.0.get(nth).copied().unwrap_or(false)
    }
}

/// Says which records of a committed transaction do not go out, each at constant cost.
///
/// # Errors
/// Contradiction with the form that the records before had.
pub fn resolve<'a>(steps: impl Iterator<Item = Step<'a>> + Clone, form: &mut Form) -> Result<Undone, Contradiction> {
    if *form == Form::Flagged {
        return Ok(Undone(steps.map(|step| step.roll_back).collect()));
    }
    match compensate(steps.clone()) {
        Ok(undone) => {
            *form = Form::Compensating;
            Ok(undone)
        }
        Err(at) if *form == Form::Unknown => {
            log::info!("the log marks undone changes themselves (record {at} undoes nothing)");
            *form = Form::Flagged;
            resolve(steps, form)
        }
        Err(at) => Err(Contradiction { at }),
    }
}

/// Takes marked records as compensating ones; fails with the first that undoes nothing.
fn compensate<'a>(steps: impl Iterator<Item = Step<'a>>) -> Result<Undone, usize> {
    let mut undone = Vec::new();
    // The newest change of each row that is not undone, and for each change the one of the same row before it.
    let mut newest: HashMap<(u32, &[u8]), (usize, Action)> = HashMap::new();
    let mut before: Vec<Option<(usize, Action)>> = Vec::new();
    for (nth, step) in steps.enumerate() {
        undone.push(step.roll_back);
        before.push(None);
        if !step.roll_back {
            before[nth] = newest.insert(step.row, (nth, step.action));
            continue;
        }
        match newest.get(&step.row).copied() {
            Some((last, action)) if undoes(step.action, action) => {
                undone[last] = true;
                match before[last] {
                    Some(earlier) => newest.insert(step.row, earlier),
                    None => newest.remove(&step.row),
                };
            }
            _ => return Err(nth),
        }
    }
    Ok(Undone(undone))
}

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
