//! Any row, rendered in either form, is read back: by name and by index, with heads known and unknown in turn.

use tidemark::log::logminer::redo_sql::{Layout, Operation, Parser, Row, Statement, Value};

use crate::any;
use crate::model::{self, Bytes, Change, List, Meaning};
use crate::random::Random;
use crate::render::{self, Form};

const OPERATIONS: [Operation; 3] = [Operation::Insert, Operation::Update, Operation::Delete];

/// A table with the layout that a reader would keep for it.
struct Table {
    owner: Option<Bytes>,
    name: Bytes,
    columns: Vec<Bytes>,
    /// How many of `columns` the layout has: the statements may name more.
    known: usize,
    layout: Layout,
    form: Form,
}

impl Table {
    fn any(random: &mut Random) -> Table {
        let mut columns: Vec<Bytes> = vec![];
        for _ in 0..1 + random.below(12) {
            let name = any::name(random);
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        let owner = (!random.once_in(8)).then(|| any::name(random));
        let name = any::name(random);
        let known = if random.once_in(4) {
            columns.len() - 1
        } else {
            columns.len()
        };
        let layout = Layout::new(owner.as_deref(), &name, &columns[..known]);
        let form = random.pick(&[Form::Capitals, Form::Calls]);
        Table {
            owner,
            name,
            columns,
            known,
            layout,
            form,
        }
    }

    /// Some of the columns, most often all in their order, each with a value.
    fn any_list(&self, random: &mut Random, all: bool, form: Form) -> List {
        let mut columns = self.columns.clone();
        if !all || random.once_in(4) {
            random.shuffle(&mut columns);
            columns.truncate(1 + random.below(columns.len()));
        }
        columns
            .into_iter()
            .map(|column| (column, any::value(random, form, 0)))
            .collect()
    }

    fn any_change(&self, random: &mut Random, operation: Operation, form: Form) -> Change {
        let mut change = Change {
            owner: self.owner.clone(),
            table: self.name.clone(),
            ..Change::default()
        };
        match operation {
            Operation::Insert => change.values = self.any_list(random, true, form),
            _ => {
                if operation == Operation::Update {
                    change.set = self.any_list(random, false, form);
                }
                if !random.once_in(10) {
                    change.conditions = self.any_list(random, true, form);
                }
                change.row_id = random.once_in(6).then(|| Meaning::text("AAAR3qAAEAAAACXAAB"));
            }
        }
        change
    }
}

/// A statement of a table of its own.
pub fn any_statement(random: &mut Random) -> (Operation, Bytes) {
    let table = Table::any(random);
    let operation = random.pick(&OPERATIONS);
    let change = table.any_change(random, operation, table.form);
    (operation, render::statement(random, table.form, operation, &change))
}

fn lookup<'c>(lists: &[&'c List], column: &[u8]) -> Option<&'c Meaning> {
    lists
        .iter()
        .find_map(|list| list.iter().find(|(name, _)| name == column))
        .map(|(_, value)| value)
}

fn same(value: Option<Value<'_>>, expected: Option<&Meaning>) -> bool {
    match (value, expected) {
        (None, None) => true,
        (Some(value), Some(expected)) => model::meaning(&value).as_ref() == Some(expected),
        _ => false,
    }
}

/// Compares a row by index with the change that it was rendered from.
fn check_row(table: &Table, operation: Operation, change: &Change, row: &Row<'_>, shown: &str) {
    for (column, name) in table.columns[..table.known].iter().enumerate() {
        let (before, after) = match operation {
            Operation::Insert => (None, lookup(&[&change.values], name)),
            Operation::Delete => (lookup(&[&change.conditions], name), None),
            _ => (
                lookup(&[&change.conditions], name),
                lookup(&[&change.set, &change.conditions], name),
            ),
        };
        assert!(same(row.before(column), before), "before of {column}: {shown}");
        assert!(same(row.after(column), after), "after of {column}: {shown}");
    }
    let unknown = [&change.values, &change.set, &change.conditions]
        .into_iter()
        .flatten()
        .filter(|(name, _)| table.columns[table.known..].contains(name))
        .count();
    assert_eq!(row.unknown() as usize, unknown);
    assert!(same(row.row_id(), change.row_id.as_ref()), "ROWID");
    let known = |name: &Bytes| table.columns[..table.known].iter().position(|column| column == name);
    let set: Vec<u32> = change
        .set
        .iter()
        .filter_map(|(name, _)| known(name))
        .map(|column| column as u32)
        .collect();
    assert_eq!(row.set(), set);
    assert!(row.before(table.known).is_none() && row.after(table.known).is_none() && !row.is_skipped());
}

#[test]
fn any_row_is_read_back() {
    for seed in 0..3000 {
        let random = &mut Random::new(seed);
        let mut tables: Vec<Table> = (0..3).map(|_| Table::any(random)).collect();
        let mut statements: Vec<(usize, Operation, Change, Bytes)> = vec![];
        for _ in 0..60 {
            let at = random.below(tables.len());
            let table = &tables[at];
            let operation = random.pick(&OPERATIONS);
            // A layout belongs to one server, and so to one form; that both may come all the same is tried too.
            let form = if random.once_in(8) {
                random.pick(&[Form::Capitals, Form::Calls])
            } else {
                table.form
            };
            let change = table.any_change(random, operation, form);
            let text = render::statement(random, form, operation, &change);
            statements.push((at, operation, change, text));
        }
        let parser = Parser::new(random.once_in(2));
        let mut statement = Statement::default();
        let mut row = Row::default();
        for (at, operation, change, text) in &statements {
            let shown = String::from_utf8_lossy(text);
            parser
                .parse_into(*operation, text, &mut statement)
                .unwrap_or_else(|error| panic!("{error}: {shown}"));
            assert_eq!(model::change(&statement).as_ref(), Some(change), "{shown}");
            let table = &mut tables[*at];
            for _ in 0..2 {
                parser
                    .parse_row(*operation, text, &mut table.layout, &mut row)
                    .unwrap_or_else(|error| panic!("by index: {error}: {shown}"));
                check_row(table, *operation, change, &row, &shown);
            }
            let other = OPERATIONS[(OPERATIONS.iter().position(|known| known == operation).unwrap() + 1) % 3];
            assert!(
                parser.parse(other, text).is_err(),
                "the operation code decides: {shown}"
            );
        }
    }
}

#[test]
fn a_statement_of_another_table_is_refused() {
    let parser = Parser::new(false);
    let mut layout = Layout::new(Some(b"S"), b"T", ["A"]);
    let mut row = Row::default();
    let texts: [(Operation, &[u8]); 6] = [
        (Operation::Insert, br#"INSERT INTO "S"."U"("A") VALUES(1)"#),
        (Operation::Insert, br#"INSERT INTO "T"("A") VALUES(1)"#),
        (Operation::Update, br#"UPDATE "s"."T" SET "A" = 1"#),
        (Operation::Delete, br#"DELETE FROM "S"."T""""#),
        (Operation::Delete, br#"DELETE FROM "S.T""#),
        (Operation::Ddl, br#"INSERT INTO "S"."T"("A") VALUES(1)"#),
    ];
    for _ in 0..2 {
        for (operation, text) in texts {
            assert!(
                parser.parse_row(operation, text, &mut layout, &mut row).is_err(),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
        let right = br#"INSERT INTO "S"."T"("A") VALUES(1)"#;
        assert_eq!(
            parser.parse_row(Operation::Insert, right, &mut layout, &mut row),
            Ok(())
        );
    }
}

#[test]
fn malformed_statements_are_refused() {
    let parser = Parser::new(false);
    let lenient = Parser::new(true);
    let insert = |tail: &str| format!("INSERT INTO \"S\".\"T\"(\"A\", \"B\") VALUES({tail}");
    let values = [
        "",
        "1)",
        "1, 2",
        "1, 2) 3",
        "1, 2, 3)",
        "1 2)",
        "1,, 2)",
        "1, )",
        "'a, 2)",
        "1, 2x)",
        "1, 0x1)",
        "1, 0xG1)",
        "1, 1.2.3)",
        "1, 1E)",
        "1, --2)",
        "1, OUT_CLOB()",
        "1, OUT_CLOB('x'))",
        "1, OUT_NLOB)",
        "1, DATE)",
        "1, DATE'')",
        "1, DATE'a''b')",
        "1, UNISTR('\\00')",
        "1, UNISTR('\\00G0'))",
        "1, UNISTR(1))",
        "1, 'a' || )",
        "1, 'a' || 2)",
        "1, F(1)",
        "1, F(1,))",
        "1, F(,1))",
        "1, Unsupported)",
        "1, Unsupported Typed)",
        "1, NULLS)",
        "1, /* x 2)",
        "1, 2));",
        "1, 2);;",
        "1, 'a''')'",
        "1, INTERVAL'1' WEEK)",
        "1, \"A\")",
    ];
    for tail in values {
        let text = insert(tail);
        assert!(parser.parse(Operation::Insert, text.as_bytes()).is_err(), "{text}");
    }
    let updates = [
        "",
        " SET",
        " SET \"A\"",
        " SET \"A\" = ",
        " SET \"A\" IS NULL",
        " SET \"A\" = 1,",
        " SET \"A\" = 1 WHERE",
        " SET \"A\" = 1 WHERE \"A\"",
        " SET \"A\" = 1 WHERE \"A\" = 1 AND",
        " SET \"A\" = 1 WHERE \"A\" IS",
        " SET \"A\" = 1 WHERE \"A\" IS NOT NULL",
        " SET \"A\" = 1 WHERE \"A\" IS NULLS",
        " SET \"A\" = 1 OR \"B\" = 2",
        " SET \"A\" = 1, \"A\" = 2",
        " SET \"A\" = 1 WHERE \"B\" = 1 AND \"B\" = 1",
        " SET ROWID = 'x'",
        " SET \"\" = 1",
        " SET b.\"A\" = 1",
        " a SET b.\"A\" = 1",
        " SET \"A\" = 1 WHERE ROWID = 'x' AND ROWID = 'x'",
        " SET \"A\" = 1 WHERE \"A\" <> 1",
    ];
    for tail in updates {
        let text = format!("UPDATE \"S\".\"T\"{tail}");
        assert!(parser.parse(Operation::Update, text.as_bytes()).is_err(), "{text}");
        assert!(lenient.parse(Operation::Update, text.as_bytes()).is_err(), "{text}");
    }
    let deep = |depth| insert(&format!("1, {}1{})", "F(".repeat(depth), ")".repeat(depth)));
    assert!(parser.parse(Operation::Insert, deep(20).as_bytes()).is_ok());
    assert!(parser.parse(Operation::Insert, deep(100_000).as_bytes()).is_err());
}
