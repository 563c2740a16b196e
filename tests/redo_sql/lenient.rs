//! The lenient mode: what it reads, and that it moves no text into another column.

use tidemark::log::logminer::redo_sql::{Layout, Operation, Parser, Row};

use crate::model::{self, Bytes, Meaning};

/// What lenient mode reads as the values of a list, having checked that strict mode refuses the text.
fn read(operation: Operation, text: &str) -> Vec<(Bytes, Meaning)> {
    assert!(Parser::new(false).parse(operation, text.as_bytes()).is_err(), "{text}");
    let statement = Parser::new(true)
        .parse(operation, text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let change = model::change(&statement).unwrap();
    let lists = change
        .values
        .into_iter()
        .chain(change.set)
        .chain(change.conditions)
        .collect::<Vec<_>>();
    // By index it is the same.
    let names: Vec<&Bytes> = lists.iter().map(|(name, _)| name).collect();
    let mut layout = Layout::new(change.owner.as_deref(), &change.table, &names);
    let mut row = Row::default();
    for _ in 0..2 {
        Parser::new(true)
            .parse_row(operation, text.as_bytes(), &mut layout, &mut row)
            .unwrap();
        for (column, (_, value)) in lists.iter().enumerate() {
            assert_eq!(
                row.after(column).and_then(|value| model::meaning(&value)).as_ref(),
                Some(value),
                "{text}"
            );
        }
    }
    lists
}

/// Texts after whose apostrophe something follows that could end a value, were it not for what comes then.
#[test]
fn a_text_goes_on_where_the_statement_does_not() {
    let texts = [
        "l'arbre tombe",
        "l', autre",
        "d'un) point",
        "d'un);",
        "rock 'n' roll",
        "a' b' c'd",
        "x' = 'y",
        "l' and b",
        "l' where b",
        "l', \"Q\" b",
        "l' and \"Q\" b",
    ];
    for text in texts {
        let list = read(
            Operation::Insert,
            &format!("insert into \"S\".\"T\"(\"A\",\"B\") values ('{text}','b');"),
        );
        assert_eq!(list[0].1, Meaning::text(text));
        assert_eq!(list[1].1, Meaning::text("b"));
        let list = read(
            Operation::Insert,
            &format!("INSERT INTO \"T\"(\"A\", \"B\") VALUES(1, '{text}')"),
        );
        assert_eq!(list[1].1, Meaning::text(text));
        let list = read(
            Operation::Update,
            &format!("update \"S\".\"T\" set \"A\" = '{text}', \"B\" = 'b' where \"C\" = '{text}' and \"D\" IS NULL;"),
        );
        assert_eq!(list[0].1, Meaning::text(text));
        assert_eq!(list[2].1, Meaning::text(text));
        let list = read(
            Operation::Update,
            &format!("update \"S\".\"T\" a set a.\"A\" = 'b' where a.\"C\" = '{text}'"),
        );
        assert_eq!(list[1].1, Meaning::text(text));
    }
}

/// Not every text can be told; but then the statement is refused.
#[test]
fn a_text_that_looks_like_the_statement_is_refused() {
    let parser = Parser::new(true);
    for text in ["l','x", "l', NULL, 'x", "l', 1"] {
        let text = format!("insert into \"S\".\"T\"(\"A\",\"B\") values ('{text}','b');");
        assert!(parser.parse(Operation::Insert, text.as_bytes()).is_err(), "{text}");
    }
}

/// A text with an apostrophe that was not doubled in a call stays refused: only the row's own texts are printed so.
#[test]
fn arguments_and_operands_stay_strict() {
    let parser = Parser::new(true);
    for value in ["F('a'b')", "UNISTR('a'b')", "'c' || 'a'b'", "DATE'a'b'"] {
        let text = format!("insert into \"S\".\"T\"(\"A\",\"B\") values ({value},'b');");
        assert!(parser.parse(Operation::Insert, text.as_bytes()).is_err(), "{text}");
    }
}

/// A text with an apostrophe that was not doubled, between others: read as it stands, or refused, and never moved into another column.
#[test]
fn lenient_mode_keeps_each_text_in_its_column() {
    let texts = [
        "l'arbre tombe",
        "rock 'n' roll",
        "'",
        "it's Ann's",
        "a'",
        "'a",
        "d'Or, d'Argent",
        "x' y",
    ];
    let parser = Parser::new(true);
    for first in texts {
        for second in texts {
            let text = format!("insert into \"S\".\"T\"(\"A\",\"B\",\"C\") values ('{first}','{second}',NULL);");
            if let Ok(statement) = parser.parse(Operation::Insert, text.as_bytes()) {
                let read = model::change(&statement).unwrap();
                assert_eq!(read.values[0].1, Meaning::text(first), "{text}");
                assert_eq!(read.values[1].1, Meaning::text(second), "{text}");
            }
            let text = format!("update \"S\".\"T\" set \"A\" = '{first}' where \"B\" = '{second}' and \"C\" IS NULL;");
            if let Ok(statement) = parser.parse(Operation::Update, text.as_bytes()) {
                let read = model::change(&statement).unwrap();
                assert_eq!(read.set[0].1, Meaning::text(first), "{text}");
                assert_eq!(read.conditions[0].1, Meaning::text(second), "{text}");
            }
        }
    }
    let plain = "insert into \"S\".\"T\"(\"A\",\"B\") values ('rock 'n' roll','a'',''b');";
    let read = model::change(&parser.parse(Operation::Insert, plain.as_bytes()).unwrap()).unwrap();
    assert_eq!(
        read.values,
        [
            (b"A".to_vec(), Meaning::text("rock 'n' roll")),
            (b"B".to_vec(), Meaning::text("a','b"))
        ]
    );
}
