//! The table of types in docs/postgres.md, tried row by row on a server.

use tidemark::row::layout::natural;

use crate::{psql, read};

const PAGE: &str = include_str!("../../docs/postgres.md");

fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_type_becomes_what_the_page_says() {
    psql(
        "create schema doc; create type doc.mood as enum ('sad', 'ok'); create domain doc.price as numeric(8, 3) not null; \
         create domain doc.cheap as doc.price check (value < 10); create type doc.pair as (a int, b text); \
         create type doc.numeric as enum ('not a number')",
    );
    let rows = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| type of the column |"))
        .skip(2);
    let mut types = 0;
    for line in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let by_nature = quoted(cells[1])[0];
        for kind in quoted(cells[0]) {
            types += 1;
            psql(&format!("create table doc.t{types} (id int primary key, c {kind})"));
            let table = read("doc", &format!("t{types}")).unwrap();
            let found = natural(&table.columns[1].kind).unwrap_or_else(|| panic!("{kind}"));
            assert_eq!(found.to_string(), by_nature, "{kind}: {:?}", table.columns[1].kind);
        }
    }
    assert!(types > 45, "{types}");
    psql("create table doc.domains (id doc.cheap primary key, c doc.cheap, d doc.mood)");
    let nullable: Vec<bool> = read("doc", "domains")
        .unwrap()
        .columns
        .iter()
        .map(|column| column.nullable)
        .collect();
    assert_eq!(nullable, [false, false, true], "a domain's NOT NULL counts");
}
