//! What statements did to a captured table, as far as the log was read: whether a text of an older record, which today's
//! dictionary has put into words, can be trusted.

use crate::catalog::statement::Words;
use crate::catalog::{Column, Table};

/// A statement, by the shape that it left behind.
#[derive(Clone, Debug)]
struct Step {
    version: u32,
    statement: String,
}

/// What was done to one table of one number.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    object_id: u64,
    /// By version; statements that leave the version as it was are not here.
    steps: Vec<Step>,
}

/// What lies between an older record's shape and the one that its text was made by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'h> {
    steps: &'h [Step],
    /// Whether these are all statements that there were.
    pub(super) is_known: bool,
}

impl History {
    /// Notes a statement.
    pub(super) fn add(&mut self, object_id: u64, version: u32, statement: &str) {
        if object_id != self.object_id {
            *self = History {
                object_id,
                steps: Vec::new(),
            };
        }
        let place = self.steps.partition_point(|step| step.version < version);
        let known = self.steps[place..].iter().take_while(|step| step.version == version);
        if version == 0 || known.into_iter().any(|step| step.statement == statement) {
            return;
        }
        self.steps.insert(
            place,
            Step {
                version,
                statement: statement.to_owned(),
            },
        );
    }

    /// What was done to the table behind one version, up to another.
    pub(super) fn between(&self, object_id: u64, older: u32, newer: u32) -> Between<'_> {
        let steps = match self.object_id == object_id {
            true => &self.steps[..],
            false => &[],
        };
        let from = steps.partition_point(|step| step.version <= older);
        let to = steps.partition_point(|step| step.version <= newer);
        Between {
            // Log comes in order: with a later one, all before it are here.
            is_known: steps.last().is_some_and(|step| step.version >= newer),
            steps: &steps[from..to],
        }
    }
}

impl<'h> Between<'h> {
    /// The statement by which a column may hold something else today than when the record was written: one that alters the
    /// table, names the column and does more than add something.
    pub(super) fn moved(&self, column: &str) -> Option<&'h str> {
        let moves = |step: &&Step| alters(&step.statement) == Some(false) && names(&step.statement, column);
        self.steps.iter().find(moves).map(|step| step.statement.as_str())
    }

    /// Whether a statement added the column.
    pub(super) fn added(&self, column: &str) -> bool {
        self.steps
            .iter()
            .any(|step| alters(&step.statement) == Some(true) && names(&step.statement, column))
    }
}

/// Whether values of one column's type mean the same when they are read as another's.
pub(super) fn means_the_same(before: &Column, after: &Column) -> bool {
    use crate::catalog::ColumnType::{Binary, Decimal, Text};
    match (&before.kind, &after.kind) {
        (Text { padded: before, .. }, Text { padded: after, .. }) => before == after,
        (Decimal { scale: before, .. }, Decimal { scale: after, .. }) => before == after,
        (Binary { .. }, Binary { .. }) => true,
        (before, after) => before == after,
    }
}

/// A column by its name.
pub(super) fn column<'t>(table: &'t Table, name: &str) -> Option<&'t Column> {
    table.columns.iter().find(|column| column.name == name)
}

/// Whether a statement that alters a table only adds to it (columns, constraints, partitions, logging), so that what is
/// there already stays what it is; `None` for one that is no `ALTER TABLE`.
fn alters(statement: &str) -> Option<bool> {
    let mut words = Words::of(statement);
    if words.keyword().as_deref() != Some("ALTER") || words.keyword().as_deref() != Some("TABLE") {
        return None;
    }
    words.name_of_table();
    Some(words.keyword().as_deref() == Some("ADD"))
}

fn names(statement: &str, column: &str) -> bool {
    Words::of(statement).any(|word| word.may_name(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(steps: &[(u32, &str)]) -> History {
        let mut history = History::default();
        for (version, statement) in steps {
            history.add(7, *version, statement);
        }
        history
    }

    #[test]
    fn a_column_is_moved_by_a_statement_that_names_it_and_is_no_addition() {
        let history = history(&[
            (2, "ALTER TABLE T ADD COLUMN N INT CHECK (N > A)"),
            (3, "ALTER TABLE T DROP COLUMN b"),
            (4, "ALTER TABLE T RENAME COLUMN \"X\" TO \"a\""),
            (5, "ALTER TABLE T MODIFY C VARCHAR(40) DEFAULT 'D'"),
            (5, "CREATE INDEX I ON T(A)"),
        ]);
        let between = history.between(7, 1, 5);
        assert!(between.is_known);
        assert!(between.added("N") && !between.added("B"));
        for column in ["B", "X", "a", "C"] {
            assert!(between.moved(column).is_some(), "{column}");
        }
        for column in ["A", "N", "D", "ID"] {
            assert!(between.moved(column).is_none(), "{column}");
        }
        // Only what lies between counts.
        assert!(history.between(7, 3, 5).moved("B").is_none());
        assert!(history.between(7, 1, 2).moved("B").is_none());
        assert!(history.between(8, 1, 5).moved("B").is_none());
    }

    #[test]
    fn what_is_done_farther_on_in_the_log_is_not_known() {
        let history = history(&[(3, "ALTER TABLE T ADD N INT"), (3, "ALTER TABLE T ADD N INT"), (0, "x")]);
        assert!(history.between(7, 2, 3).is_known);
        assert!(!history.between(7, 2, 4).is_known);
        assert!(!history.between(9, 2, 3).is_known);
        assert_eq!(history.steps.len(), 1);
    }
}
