//! Text keys on servers that were made otherwise, and where the order of text is not known.

use std::sync::Arc;

use tidemark::catalog::text_order::{Case, Charset, TextOrder};
use tidemark::catalog::{Table, load};
use tidemark::dialect::dameng::Dameng;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, KeyRange, TableName};

use crate::support::stand_in::StandIn;
use crate::{WHOLE, cut_on, read, reader_on, table};

fn table_on(stand_in: &StandIn, schema: &str, rows: &str) -> Arc<Table> {
    stand_in.psql(&format!(
        r#"create schema "{schema}"; create table "{schema}"."T" ("K" varchar2, "N" int, "V" varchar(100), primary key ("K", "N"));
           insert into "{schema}"."T" {rows}"#
    ));
    let name = TableName {
        schema: schema.into(),
        name: "T".into(),
    };
    Arc::new(load(&mut stand_in.connect(), &Dameng, &name).unwrap())
}

/// The rows by chunks of three and pages of two, as the server orders them.
fn comes_in_the_servers_order(stand_in: &StandIn, schema: &str, table: &Arc<Table>) {
    let expected = stand_in.psql(&format!(
        r#"select '<' || "K"::text || '>|' || "N" from "{schema}"."T" order by "K", "N""#
    ));
    let expected: Vec<&str> = expected.lines().collect();
    let mut reader = reader_on(stand_in, table);
    let chunks = cut_on(stand_in, table, 3);
    assert_eq!(chunks.len(), expected.len().div_ceil(3));
    let limit = PageLimit { rows: 2, ..WHOLE };
    let rows: Vec<String> = chunks
        .iter()
        .flat_map(|chunk| read(&mut reader, chunk, limit))
        .map(|(_, row)| row[..row.rfind('|').unwrap()].to_owned())
        .collect();
    // psql prints no blanks at the end of a fixed text, the driver does: what is compared is the order.
    assert_eq!(
        rows.iter().map(|row| row.replace(' ', "")).collect::<Vec<_>>(),
        expected.iter().map(|row| row.replace(' ', "")).collect::<Vec<_>>()
    );
}

#[test]
fn a_server_that_compares_without_case_is_read_in_its_order() {
    let stand_in = StandIn::start(&[("CASE_SENSITIVE", "0")]);
    let rows = "select case g % 4 when 0 then 'K_' when 1 then 'kB' when 2 then 'Ka~' else '漢k' end || g / 8, g % 8, '' \
                from generate_series(1, 60) g";
    let table = table_on(&stand_in, "CASE", rows);
    let expected = TextOrder {
        case: Case::Lower,
        ..TextOrder::BYTES
    };
    assert_eq!(table.text_order, expected);
    comes_in_the_servers_order(&stand_in, "CASE", &table);
    stand_in.psql(r#"insert into "CASE"."T" values ('Ä', 1, '')"#);
    let whole = Chunk {
        table: table.name.clone(),
        range: KeyRange::ALL,
    };
    let error = reader_on(&stand_in, &table)
        .select(&whole, WHOLE, &mut PageRows::default())
        .unwrap_err();
    assert!(error.to_string().contains("a letter beyond ASCII in a key"), "{error}");
}

#[test]
fn a_gb18030_server_that_ignores_blanks_at_the_end_is_read_in_its_order() {
    let stand_in = StandIn::start(&[("BLANK_PAD_MODE", "0"), ("ENCODING", "EUC_CN")]);
    let rows = "select case g % 5 when 0 then '阿' when 1 then '一' when 2 then '亍' when 3 then 'a' else '龙' end || g / 10 || \
                repeat(' ', g % 3), g % 10, '' from generate_series(1, 60) g";
    let table = table_on(&stand_in, "BLANKS", rows);
    let expected = TextOrder {
        charset: Some(Charset::Gb18030),
        case: Case::Counts,
        strips: true,
    };
    assert_eq!(table.text_order, expected);
    comes_in_the_servers_order(&stand_in, "BLANKS", &table);
}

/// Where the order of text is not known the table is one chunk and one page, in an order of its own: the words'.
#[test]
fn a_table_whose_order_is_not_known_is_one_page() {
    let columns = r#""K" varchar(20) collate "und-x-icu" primary key, "V" varchar(20)"#;
    let ordered = table(
        "WORDS",
        columns,
        "select x, x from unnest(array['b', 'A', 'a', 'é', 'C', 'B']) x",
    );
    let mut unordered = (*ordered).clone();
    unordered.text_order.charset = None;
    let unordered = Arc::new(unordered);
    let chunks = cut_on(StandIn::shared(), &unordered, 2);
    assert_eq!(chunks.len(), 1);
    let mut reader = reader_on(StandIn::shared(), &unordered);
    let rows = read(&mut reader, &chunks[0], WHOLE);
    let texts: Vec<&str> = rows.iter().map(|(_, row)| row.as_str()).collect();
    assert_eq!(
        texts,
        ["<A>|<A>", "<B>|<B>", "<C>|<C>", "<a>|<a>", "<b>|<b>", "<é>|<é>"]
    );
    // What a failed reader had not sent is found again.
    let rest = Chunk {
        table: unordered.name.clone(),
        range: KeyRange {
            lower: Some(tidemark::split::Key(rows[3].0.clone().into())),
            upper: None,
        },
    };
    let again = read(&mut reader, &rest, WHOLE);
    assert_eq!(again, rows[3..]);
    let error = reader
        .select(&chunks[0], PageLimit { rows: 2, bytes: 50 }, &mut PageRows::default())
        .unwrap_err();
    assert!(error.to_string().contains("scan.snapshot.page.bytes"), "{error}");
    assert!(error.to_string().contains("WORDS.T"), "{error}");
}
