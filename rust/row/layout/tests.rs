use std::sync::Arc;

use super::*;
use crate::catalog::{Column, ColumnType};
use crate::split::TableName;

fn table(columns: &[(&str, ColumnType)]) -> Table {
    Table {
        name: Arc::new(TableName {
            schema: "BIZ".into(),
            name: "ORDERS".into(),
        }),
        object_id: 1,
        version: 0,
        columns: columns
            .iter()
            .map(|(name, kind)| Column {
                name: (*name).to_owned(),
                kind: kind.clone(),
                nullable: true,
                is_virtual: false,
                collated: false,
            })
            .collect(),
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: crate::catalog::text_order::TextOrder::BYTES,
    }
}

fn declared(json: &str) -> Vec<DeclaredColumn> {
    serde_json::from_str(json).expect("columns")
}

fn refusal(json: &str, table: &Table) -> String {
    resolve(&declared(json), table).expect_err("refused").to_string()
}

fn orders() -> Table {
    table(&[
        ("ID", ColumnType::Integer { bits: 64 }),
        (
            "Note",
            ColumnType::Text {
                length: None,
                padded: false,
            },
        ),
        (
            "NOTE",
            ColumnType::Text {
                length: Some(20),
                padded: true,
            },
        ),
        ("SEAL", ColumnType::Binary { length: None }),
        ("SHAPE", ColumnType::Unsupported("DMGEO".into())),
    ])
}

#[test]
fn columns_arrive_as_json_and_are_found() {
    let columns = resolve(
        &declared(
            r#"[{"name":"seal","type":"VARBINARY","length":2147483647},
                {"name":"ID","type":"DECIMAL","precision":20,"scale":2,"nullable":false,"metadata":null},
                {"name":"at","type":"TIMESTAMP_WITH_LOCAL_TIME_ZONE","precision":3,"metadata":"op_ts"},
                {"name":"Note","type":"STRING"}]"#,
        ),
        &orders(),
    )
    .expect("resolved");
    let found: Vec<_> = columns
        .iter()
        .map(|c| (c.kind.to_string(), c.nullable, c.source))
        .collect();
    assert_eq!(
        found,
        [
            ("BYTES".to_owned(), true, OutputSource::Column(3)),
            ("DECIMAL(20, 2)".to_owned(), false, OutputSource::Column(0)),
            (
                "TIMESTAMP_LTZ(3)".to_owned(),
                true,
                OutputSource::Metadata(Metadata::OpTs)
            ),
            ("STRING".to_owned(), true, OutputSource::Column(1)),
        ]
    );
}

#[test]
fn a_name_is_exact_or_the_only_one_but_for_case() {
    let text = refusal(r#"[{"name":"note","type":"STRING"}]"#, &orders());
    assert!(text.contains("'note' may mean 'Note' or 'NOTE'"), "{text}");
    let text = refusal(r#"[{"name":"GHOST","type":"STRING"}]"#, &orders());
    assert!(
        text.contains("no column 'GHOST'; it has ID, Note, NOTE, SEAL, SHAPE"),
        "{text}"
    );
    let text = refusal(r#"[{"name":"id","type":"INT"},{"name":"ID","type":"INT"}]"#, &orders());
    assert!(text.contains("'id' and 'ID' both mean column 'ID'"), "{text}");
    assert!(text.contains("BIZ.ORDERS"), "{text}");
}

#[test]
fn what_cannot_fit_is_refused_with_what_can() {
    let text = refusal(r#"[{"name":"SEAL","type":"VARCHAR"}]"#, &orders());
    assert!(
        text.contains("'SEAL' is a large binary in the table and cannot be read as STRING; possible are BYTES"),
        "{text}"
    );
    let text = refusal(r#"[{"name":"SHAPE","type":"STRING"}]"#, &orders());
    assert!(text.contains("DMGEO"), "{text}");
    let text = refusal(r#"[{"name":"ID","type":"ROW"}]"#, &orders());
    assert!(text.contains("ROW"), "{text}");
    let text = refusal(r#"[{"name":"ID","type":"DECIMAL","precision":39}]"#, &orders());
    assert!(text.contains("DECIMAL(39, 0)"), "{text}");
    let text = refusal(
        r#"[{"name":"t","type":"TIMESTAMP","precision":3,"metadata":"op_ts"}]"#,
        &orders(),
    );
    assert!(text.contains("TIMESTAMP_LTZ(3)"), "{text}");
    let text = refusal(r#"[{"name":"t","type":"STRING","metadata":"rowid"}]"#, &orders());
    assert!(text.contains("table_name, schema_name"), "{text}");
}

/// The list that an error offers and the rule that decides must not drift apart.
#[test]
fn every_type_offered_is_accepted() {
    let columns = [
        ColumnType::Boolean,
        ColumnType::Integer { bits: 32 },
        ColumnType::Decimal {
            precision: None,
            scale: 0,
        },
        ColumnType::Float { bits: 64 },
        ColumnType::Text {
            length: None,
            padded: false,
        },
        ColumnType::Binary { length: None },
        ColumnType::Date,
        ColumnType::Time { precision: 0 },
        ColumnType::Timestamp { precision: 6 },
        ColumnType::TimestampZoned { precision: 6 },
    ];
    let all = [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "DECIMAL",
        "FLOAT",
        "DOUBLE",
        "CHAR",
        "VARCHAR",
        "STRING",
        "BINARY",
        "VARBINARY",
        "BYTES",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMP_LTZ",
    ];
    for kind in columns {
        let table = table(&[("C", kind.clone())]);
        let tried = |type_name: &str| resolve(&declared(&format!(r#"[{{"name":"C","type":"{type_name}"}}]"#)), &table);
        let refused = all
            .iter()
            .filter_map(|type_name| tried(type_name).err())
            .next_back()
            .expect("a refusal");
        let text = refused.to_string();
        let offered: Vec<&str> = text
            .split("possible are ")
            .nth(1)
            .and_then(|rest| rest.split("; table").next())
            .expect("an offer")
            .split(", ")
            .collect();
        for type_name in all {
            assert_eq!(
                tried(type_name).is_ok(),
                offered.contains(&type_name),
                "{kind:?} as {type_name}: {text}"
            );
        }
    }
}

#[test]
fn a_declared_key_is_the_tables_in_any_order_and_case_or_refused() {
    let integer = ColumnType::Integer { bits: 64 };
    let mut table = table(&[("ID", integer.clone()), ("REGION", integer.clone()), ("CODE", integer)]);
    table.key = vec![1, 0];
    let tried = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        require_key(Some(&names), &table)
    };
    tried(&["ID", "REGION"]).expect("the key");
    tried(&["region", "id"]).expect("the key");
    for wrong in [&["ID"][..], &["ID", "REGION", "CODE"], &["CODE"], &["ID", "ID"]] {
        let text = tried(wrong).expect_err("not the key").to_string();
        assert!(text.contains("must be the table's key (REGION, ID)"), "{text}");
    }
    assert!(tried(&["NO"]).is_err());
    require_key(None, &table).expect("nothing is declared");
    table.key.clear();
    let text = require_key(None, &table).expect_err("no key").to_string();
    assert!(text.contains("must have a key"), "{text}");
}
