//! The tables of docs/types.md, tried row by row.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidemark::catalog::{Column, Table};
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::{ColumnType, Dialect, DictionaryColumn};
use tidemark::row::layout::{FlinkType, natural, resolve};
use tidemark::split::TableName;

use crate::phases::{declared, possible};

const PAGE: &str = include_str!("../../docs/types.md");

/// The rows of the table whose head begins so: the cells.
fn rows(head: &str) -> Vec<Vec<&'static str>> {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// What stands between backticks, and what follows each up to the next.
fn quoted(cell: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    parts[1..].chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

/// `NUMBER(6, -2)` and what is said of it, as the dictionary has it.
fn dictionary(name: &str, said: &str) -> DictionaryColumn {
    let number = |text: &str| text.trim().parse::<i64>().unwrap();
    let numbers: Vec<i64> = match name.split_once('(') {
        Some((_, rest)) => rest.split_once(')').unwrap().0.split(',').map(number).collect(),
        None => Vec::new(),
    };
    let after = |words: &str| {
        let (_, rest) = said.split_once(words)?;
        let digits = rest
            .trim_start()
            .split(|letter: char| !letter.is_ascii_digit())
            .next()?;
        Some(number(digits))
    };
    let is_number = name.contains("NUM") || name.contains("DEC");
    let first = numbers.first().copied();
    let scale = if is_number { numbers.get(1).copied() } else { first };
    let scale = after("scale is").or(scale);
    DictionaryColumn {
        type_name: name.into(),
        length: first.or(Some(8)),
        precision: first.filter(|_| is_number),
        scale: scale.or(Some(0)),
        marks: after("bit").map_or(0, |bit| 1 << bit),
    }
}

fn table(kind: ColumnType) -> Table {
    Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        version: 0,
        columns: vec![Column {
            name: "C".into(),
            kind,
            nullable: true,
            is_virtual: false,
            collated: false,
        }],
        key: vec![0],
        text_order: Default::default(),
        partitions: Vec::new(),
        is_partitioned: false,
    }
}

/// A type's name without lengths; those that are one type with another length have one name.
fn root(text: &str) -> String {
    match text.split('(').next().unwrap() {
        "BYTES" => "VARBINARY",
        "STRING" => "VARCHAR",
        other => other,
    }
    .to_owned()
}

#[test]
fn each_type_becomes_what_the_page_says() {
    let mut last = BTreeSet::new();
    let mut types = 0;
    for cells in rows("| type of the column | by nature") {
        let [names, by_nature, declarable] = cells[..] else {
            panic!("{cells:?}");
        };
        if declarable != "the same" {
            last = quoted(declarable).into_iter().map(|(kind, _)| root(kind)).collect();
        }
        for (name, said) in quoted(names) {
            let kind = Dameng.column_type(&dictionary(name, said));
            let table = table(kind.clone());
            let found: BTreeSet<String> = possible(&table, 0).iter().map(|kind| root(&kind.to_string())).collect();
            assert_eq!(found, last, "{name} {said}: {kind:?}");
            let natural = natural(&kind).unwrap_or_else(|| panic!("{name}: {kind:?}"));
            assert_eq!(natural.to_string(), quoted(by_nature)[0].0, "{name} {said}: {kind:?}");
            assert!(resolve(&[declared("C", natural)], &table).is_ok(), "{name}");
            types += 1;
        }
    }
    assert!(types > 60, "{types}");
}

#[test]
fn each_refused_type_is_refused_in_those_words() {
    let all = rows("| type of the column | error TM-1004");
    assert_eq!(all.len(), 3);
    for cells in all {
        let words = quoted(cells[1])[0].0;
        for (name, said) in quoted(cells[0]) {
            let kind = Dameng.column_type(&dictionary(name, said));
            assert_eq!(natural(&kind), None, "{name}");
            let table = table(kind);
            assert!(possible(&table, 0).is_empty(), "{name}");
            let error = resolve(&[declared("C", FlinkType::VarChar { length: 20 })], &table)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("TM-1004") && error.contains(words) && error.contains(name),
                "{error}"
            );
        }
    }
}

/// What the dictionary says with other numbers: F41.
#[test]
fn odd_precisions_and_scales_are_no_failure() {
    let number = |precision, scale| {
        Dameng.column_type(&DictionaryColumn {
            type_name: "NUMBER".into(),
            length: Some(22),
            precision,
            scale,
            marks: 0,
        })
    };
    let any = ColumnType::Decimal {
        precision: None,
        scale: 0,
    };
    for (precision, scale) in [
        (None, None),
        (Some(0), Some(0)),
        (Some(0), Some(-127)),
        (None, Some(-127)),
        (Some(126), Some(129)),
        (Some(10), Some(4000)),
        (Some(-1), Some(0)),
    ] {
        assert_eq!(number(precision, scale), any, "({precision:?}, {scale:?})");
    }
    assert_eq!(
        number(Some(3), Some(5)),
        ColumnType::Decimal {
            precision: Some(3),
            scale: 5
        }
    );
}
