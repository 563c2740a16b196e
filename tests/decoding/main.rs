//! What output plugins say, read: each format by examples, by random rows written in it, and with random damage.

mod buffers;
mod damage;
mod messages;
mod texts;

use tidemark::log::decoding::plugin::{Cell, Datum, Event, Old, Plugin, Row, TableRef};
use tidemark::log::decoding::plugins::AnyPlugin;

/// An event with what it borrows made its own.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    what: String,
    old: Vec<(String, String)>,
    new: Vec<(String, String)>,
}

fn read(plugin: &str, data: &[u8]) -> Result<Read, String> {
    let mut plugin = AnyPlugin::of_name(plugin, false).unwrap();
    let mut row = Row::default();
    let event = plugin.read(data, &mut row).map_err(|error| error.to_string())?;
    let cells = |cells: &[Cell<'_>]| cells.iter().map(|cell| (utf8(cell.name), value(cell.datum))).collect();
    Ok(Read {
        what: match event {
            Event::Insert(table) => format!("insert {}", name(table)),
            Event::Update(table, old) => format!("update {} {}", name(table), known(old)),
            Event::Delete(table, old) => format!("delete {} {}", name(table), known(old)),
            Event::Truncate => {
                let tables: Vec<String> = row.tables.iter().map(|table| name(*table)).collect();
                format!("truncate {}", tables.join(" "))
            }
            Event::Relation(relation) => {
                let columns: Vec<String> = row
                    .columns
                    .iter()
                    .map(|column| {
                        let key = if column.in_identity { "*" } else { "" };
                        format!("{}{key} {} {}", utf8(column.name), column.kind, column.modifier)
                    })
                    .collect();
                let identity = char::from(relation.identity);
                let (schema, name) = (utf8(relation.schema), utf8(relation.name));
                format!(
                    "relation {} {schema}.{name} {identity}: {}",
                    relation.number,
                    columns.join(", ")
                )
            }
            other => format!("{other:?}"),
        },
        old: cells(&row.old),
        new: cells(&row.new),
    })
}

fn known(old: Option<Old>) -> &'static str {
    match old {
        None => "none",
        Some(Old::Identity) => "identity",
        Some(Old::Whole) => "whole",
        Some(Old::WithoutNulls) => "without nulls",
    }
}

fn name(table: TableRef<'_>) -> String {
    match table {
        TableRef::Number(number) => number.to_string(),
        TableRef::Name(name) => utf8(name),
        TableRef::Plain(schema, name) => format!("{}|{}", utf8(schema), utf8(name)),
    }
}

fn value(datum: Datum<'_>) -> String {
    match datum {
        Datum::Null => "NULL".into(),
        Datum::Unchanged => "UNCHANGED".into(),
        Datum::Text(text) => format!("'{}'", utf8(text)),
        Datum::Doubled(text) => format!("'{}'", utf8(text).replace("''", "'")),
        Datum::Bytes(bytes) => format!("bytes {bytes:?}"),
        other => format!("{other:?}"),
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn pairs(cells: &[(&str, &str)]) -> Vec<(String, String)> {
    cells
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
