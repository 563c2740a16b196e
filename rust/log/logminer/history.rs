//! What statements did to a captured table, as far as the log was read: whether a text of an older record, which today's
//! dictionary has put into words, can be trusted.

use crate::catalog::statement::{Word, Words};
use crate::catalog::{Column, Table};

/// A statement, by the shape that it left behind.
#[derive(Clone, Debug)]
struct Step {
    /// The table, by the database's number of it, and its version behind the statement.
    shape: (u64, u32),
    statement: String,
}

/// What was done to the tables that had one name.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// By table and version.
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
        let shape = (object_id, version);
        let place = self.steps.partition_point(|step| step.shape < shape);
        let known = self.steps[place..].iter().take_while(|step| step.shape == shape);
        if version == 0 || known.into_iter().any(|step| step.statement == statement) {
            return;
        }
        self.steps.insert(
            place,
            Step {
                shape,
                statement: statement.to_owned(),
            },
        );
    }

    /// What was done to the table behind one version, up to another.
    pub(super) fn between(&self, object_id: u64, older: u32, newer: u32) -> Between<'_> {
        let up_to = |version: u32| self.steps.partition_point(|step| step.shape <= (object_id, version));
        let (from, to) = (up_to(older), up_to(newer));
        Between {
            // Log comes in order: with a later one, all before it are here.
            is_known: up_to(newer.saturating_sub(1)) < up_to(u32::MAX),
            steps: &self.steps[from..to.max(from)],
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
        self.steps.iter().any(|step| adds(&step.statement, column))
    }

    /// A statement that may have dropped a column.
    pub(super) fn dropped(&self) -> Option<&'h str> {
        let drops = |step: &&Step| drops_column(&step.statement);
        self.steps.iter().find(drops).map(|step| step.statement.as_str())
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

/// What stands behind `ALTER TABLE name`; `None` for another statement.
fn actions(statement: &str) -> Option<Words<'_>> {
    let mut words = Words::of(statement);
    if words.keyword().as_deref() != Some("ALTER") || words.keyword().as_deref() != Some("TABLE") {
        return None;
    }
    words.name_of_table();
    Some(words)
}

/// Whether a statement that alters a table only adds to it (columns, constraints, partitions, logging), so that what is
/// there already stays what it is; `None` for one that is no `ALTER TABLE`. Some databases take several actions at once.
fn alters(statement: &str) -> Option<bool> {
    let words = actions(statement)?;
    let does = |what: &[&str]| {
        let (mut depth, mut begins) = (0, true);
        words.clone().any(|word| {
            let found = begins && depth == 0 && is_one_of(&word, what);
            depth += i32::from(word == Word::Other("(")) - i32::from(word == Word::Other(")"));
            begins = word == Word::Other(",");
            found
        })
    };
    Some(does(&["ADD"]) && !does(&["DROP", "RENAME", "MODIFY", "ALTER"]))
}

/// Whether a statement adds a column of that name: `ADD [COLUMN] [IF NOT EXISTS] name …`, several in parentheses, or
/// several times `ADD`.
fn adds(statement: &str, column: &str) -> bool {
    if alters(statement) != Some(true) {
        return false;
    }
    // How deep in parentheses a word stands, and those between which columns stand.
    let (mut depth, mut of_columns) = (0, 0);
    let mut begins = true;
    for word in actions(statement).into_iter().flatten() {
        match &word {
            Word::Other("(") => {
                depth += 1;
                of_columns = if begins { depth } else { of_columns };
            }
            Word::Other(")") => {
                depth -= 1;
                of_columns = of_columns.min(depth);
            }
            Word::Other(",") => begins = depth == of_columns,
            word if begins && is_one_of(word, &["ADD", "COLUMN", "IF", "NOT", "EXISTS"]) => {}
            word => {
                if begins && !is_one_of(word, &NOT_COLUMNS) && word.may_name(column) {
                    return true;
                }
                begins = false;
            }
        }
    }
    false
}

/// What can be added and dropped besides columns. A column that is called so stands in quotes.
const NOT_COLUMNS: [&str; 8] = [
    "CONSTRAINT",
    "PRIMARY",
    "UNIQUE",
    "FOREIGN",
    "CHECK",
    "PARTITION",
    "SUBPARTITION",
    "LOGIC",
];

fn is_one_of(word: &Word<'_>, keywords: &[&str]) -> bool {
    matches!(word, Word::Bare(word) if keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)))
}

/// `DROP [COLUMN] name`, perhaps as one of several actions.
fn drops_column(statement: &str) -> bool {
    let mut drops = false;
    actions(statement).into_iter().flatten().any(|word| {
        let found = drops && !matches!(word, Word::Other(_)) && !is_one_of(&word, &NOT_COLUMNS);
        drops = is_one_of(&word, &["DROP"]);
        found
    })
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
    fn a_table_made_anew_has_a_history_of_its_own() {
        let mut history = history(&[(2, "ALTER TABLE T DROP A")]);
        history.add(8, 1, "CREATE TABLE T (A INT)");
        assert!(history.between(7, 1, 2).moved("A").is_some());
        assert!(history.between(7, 1, 2).is_known && !history.between(7, 2, 3).is_known);
        assert!(history.between(8, 0, 1).is_known && !history.between(8, 1, 2).is_known);
    }

    #[test]
    fn what_a_statement_adds_is_told_from_what_it_only_names() {
        for (statement, added, not_added) in [
            ("ALTER TABLE T ADD n INT CHECK (N > A)", &["N"][..], &["A", "INT"][..]),
            (
                "alter table s.t add column if not exists \"x y\" int",
                &["x y"],
                &["IF"],
            ),
            (
                "ALTER TABLE T ADD (A DECIMAL(10, 2) DEFAULT 5, \"B\" INT)",
                &["A", "B"],
                &["INT"],
            ),
            ("ALTER TABLE T ADD COLUMN(A INT)", &["A"], &["COLUMN"]),
            (
                "alter table T add A decimal(3, 1), add B int default length('C')",
                &["A", "B"],
                &["C"],
            ),
            ("ALTER TABLE T ADD CONSTRAINT C CHECK (A > B)", &[], &["C", "A", "B"]),
            ("ALTER TABLE T ADD UNIQUE (A, B)", &[], &["A", "B"]),
            ("ALTER TABLE T ADD A INT, DROP B", &[], &["A", "B"]),
            ("ALTER TABLE T MODIFY A INT", &[], &["A"]),
            ("CREATE TABLE T (ADD_A INT)", &[], &["ADD_A"]),
        ] {
            for column in added {
                assert!(adds(statement, column), "{column}: {statement}");
            }
            for column in not_added {
                assert!(!adds(statement, column), "{column}: {statement}");
            }
        }
    }

    #[test]
    fn a_statement_that_does_more_than_add_may_move_what_it_names() {
        let several = history(&[(2, "ALTER TABLE T ADD A INT, DROP COLUMN B, ALTER C TYPE INT")]);
        let between = several.between(7, 1, 2);
        assert!(["B", "C"].iter().all(|column| between.moved(column).is_some()));
    }

    #[test]
    fn a_dropped_column_is_told_from_what_else_can_be_dropped() {
        for (statement, drops) in [
            ("ALTER TABLE T DROP COLUMN A", true),
            ("alter table \"T\" drop \"CONSTRAINT\" cascade", true),
            ("ALTER TABLE T DROP A", true),
            ("ALTER TABLE T ADD A INT, DROP B", true),
            ("ALTER TABLE T DROP CONSTRAINT A", false),
            ("ALTER TABLE T DROP PRIMARY KEY", false),
            ("ALTER TABLE T DROP PARTITION P1", false),
            ("ALTER TABLE T DROP LOGIC LOG", false),
            ("ALTER TABLE T ADD \"DROP\" INT", false),
            ("DROP INDEX A", false),
            ("COMMENT ON TABLE T IS 'DROP COLUMN A'", false),
        ] {
            let history = history(&[(2, statement)]);
            assert_eq!(history.between(7, 1, 2).dropped().is_some(), drops, "{statement}");
        }
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
