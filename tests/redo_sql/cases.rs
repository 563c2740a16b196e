//! The statements of `tests/cases/sql_redo.jsonl`: each gives its answer, by name and by index.

use serde_json::{Map, Value as Json};
use tidemark::log::logminer::redo_sql::{Layout, Operation, Parser, RedoError, Row, Value};

fn cases() -> Vec<Json> {
    let text = include_str!("../cases/sql_redo.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case is JSON"))
        .collect()
}

/// The texts of the cases with their operations.
pub fn statements() -> Vec<(Operation, Vec<u8>)> {
    let operation = |case: &Json| Operation::from_name(case["op"].as_str()?);
    let text = |case: &Json| Some(case["sql"].as_str()?.as_bytes().to_vec());
    cases()
        .iter()
        .filter_map(|case| Some((operation(case)?, text(case)?)))
        .collect()
}

fn is_lenient(case: &Json) -> bool {
    case["note"].as_str().is_some_and(|note| note.contains("LENIENT"))
}

/// What the case says the answer is: itself without the text and the note.
fn answer(case: &Json) -> Json {
    let mut answer = case.as_object().expect("a case is an object").clone();
    answer.remove("sql");
    answer.remove("note");
    answer.into()
}

fn parse(parser: &Parser, case: &Json) -> Result<Json, RedoError> {
    let operation = Operation::from_name(case["op"].as_str().unwrap()).expect("a known operation");
    parser
        .parse(operation, case["sql"].as_str().unwrap().as_bytes())?
        .to_json()
}

#[test]
fn every_case_gives_its_answer() {
    let cases = cases();
    assert_eq!(cases.len(), 71);
    for case in &cases {
        let parser = Parser::new(is_lenient(case));
        assert_eq!(parse(&parser, case), Ok(answer(case)), "{case}");
    }
}

/// F05: DM's text is not Oracle's: blanks behind commas and none in front of brackets, bare numbers, times as typed literals.
#[test]
fn a_statement_in_the_words_of_dm_gives_exact_values() {
    let case = serde_json::json!({
        "op": "INSERT",
        "sql": "INSERT INTO \"SHOP\".\"ORD\"(\"OID\", \"QTY\", \"NOTE\", \"AT\", \"D\") VALUES(42, 7, 'x, y) VALUES (1', \
                TIMESTAMP'2025-01-02 03:04:05.678901', DATE'2025-01-02')",
        "owner": "SHOP",
        "table": "ORD",
        "after": {
            "OID": "42",
            "QTY": "7",
            "NOTE": "x, y) VALUES (1",
            "AT": {"fn": "TIMESTAMP", "args": ["2025-01-02 03:04:05.678901"]},
            "D": {"fn": "DATE", "args": ["2025-01-02"]},
        },
        "before": {},
    });
    assert_eq!(parse(&Parser::new(false), &case), Ok(answer(&case)));
}

#[test]
fn strict_mode_refuses_what_only_the_lenient_one_may_read() {
    let lenient: Vec<Json> = cases().into_iter().filter(is_lenient).collect();
    assert!(!lenient.is_empty());
    for case in &lenient {
        assert!(parse(&Parser::new(false), case).is_err(), "{case}");
    }
}

#[test]
fn lenient_mode_reads_correct_texts_as_the_strict_one() {
    for case in cases().iter().filter(|case| !is_lenient(case)) {
        assert_eq!(parse(&Parser::new(true), case), Ok(answer(case)), "{case}");
    }
}

/// The rows by index, each parsed three times: with a new layout, with the one that has just learnt it, with one that has learnt others.
#[test]
fn every_change_gives_its_row_by_index() {
    for case in &cases() {
        let (Some(table), Some(sql)) = (case["table"].as_str(), case["sql"].as_str()) else {
            continue;
        };
        let Some(operation @ (Operation::Insert | Operation::Update | Operation::Delete)) =
            Operation::from_name(case["op"].as_str().unwrap())
        else {
            continue;
        };
        let parser = Parser::new(is_lenient(case));
        let mut columns: Vec<&String> = vec![];
        for image in ["before", "after"] {
            for name in case[image].as_object().unwrap().keys() {
                if name != "ROWID" && !columns.contains(&name) {
                    columns.push(name);
                }
            }
        }
        columns.reverse();
        let mut layout = Layout::new(case["owner"].as_str().map(str::as_bytes), table.as_bytes(), &columns);
        let mut row = Row::default();
        for _ in 0..3 {
            parser
                .parse_row(operation, sql.as_bytes(), &mut layout, &mut row)
                .unwrap_or_else(|error| panic!("{error}: {case}"));
            assert_eq!(image(&columns, |column| row.after(column)), case["after"], "{case}");
            let mut before = image(&columns, |column| row.before(column));
            if let Some(Value::Text(row_id)) = row.row_id() {
                before["ROWID"] = std::str::from_utf8(row_id.raw).unwrap().into();
            }
            assert_eq!(before, case["before"], "{case}");
            let set: Vec<&String> = row.set().iter().map(|&column| columns[column as usize]).collect();
            assert_eq!(
                serde_json::to_value(set).unwrap(),
                case.get("set").cloned().unwrap_or(Json::Array(vec![]))
            );
            assert_eq!(row.unknown(), 0);
        }
    }
}

fn image<'a>(columns: &[&String], value: impl Fn(usize) -> Option<Value<'a>>) -> Json {
    let mut image = Map::new();
    for (column, name) in columns.iter().enumerate() {
        if let Some(value) = value(column) {
            image.insert((*name).clone(), value.to_json().unwrap());
        }
    }
    image.into()
}
