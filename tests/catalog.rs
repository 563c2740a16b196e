//! Tables from the dictionary of the stand-in for DM8.

mod support;

use support::stand_in::StandIn;
use tidemark::catalog::{ColumnType, Table, load};
use tidemark::dialect::dameng::Dameng;
use tidemark::error::{ErrorKind, Result};
use tidemark::split::TableName;

fn read(schema: &str, name: &str) -> Result<Table> {
    let table = TableName {
        schema: schema.into(),
        name: name.into(),
    };
    load(&mut StandIn::shared().connect(), &Dameng, &table)
}

#[test]
fn a_table_comes_with_its_types_and_its_primary_key_in_the_keys_order() {
    let stand_in = StandIn::shared();
    stand_in.psql(
        r#"create schema "CAT1"; create table "CAT1"."it's ""A""" (
             "T" tinyint, "S" smallint, "I" int, "B" bigint not null, "D" decimal(20,4), "N" decimal, "R" real, "F" double,
             "C" char(10), "V" varchar(20) not null, "L" clob, "X" blob, "DAY" date, "TIM" time(3), "TS" timestamp(6), "lower" int,
             primary key ("V", "B"))"#,
    );
    let table = read("CAT1", "it's \"A\"").unwrap();
    let object = stand_in.psql(r#"select '"CAT1"."it''s ""A"""'::regclass::oid"#);
    assert_eq!(table.object_id, object.trim().parse::<u64>().unwrap());
    let text = |length, padded| ColumnType::Text { length, padded };
    let expected = [
        ("T", ColumnType::Integer { bits: 8 }),
        ("S", ColumnType::Integer { bits: 16 }),
        ("I", ColumnType::Integer { bits: 32 }),
        ("B", ColumnType::Integer { bits: 64 }),
        (
            "D",
            ColumnType::Decimal {
                precision: Some(20),
                scale: 4,
            },
        ),
        (
            "N",
            ColumnType::Decimal {
                precision: None,
                scale: 0,
            },
        ),
        ("R", ColumnType::Float { bits: 32 }),
        ("F", ColumnType::Float { bits: 64 }),
        ("C", text(Some(10), true)),
        ("V", text(Some(20), false)),
        ("L", text(None, false)),
        ("X", ColumnType::Binary { length: None }),
        ("DAY", ColumnType::Date),
        ("TIM", ColumnType::Time { precision: 3 }),
        ("TS", ColumnType::Timestamp { precision: 6 }),
        ("lower", ColumnType::Integer { bits: 32 }),
    ];
    assert_eq!(table.columns.len(), expected.len());
    for (column, (name, kind)) in table.columns.iter().zip(&expected) {
        assert_eq!((column.name.as_str(), &column.kind), (*name, kind));
        assert_eq!(column.nullable, !["B", "V"].contains(name), "{name}");
    }
    assert_eq!(table.key, [9, 3]);
}

#[test]
fn without_a_primary_key_a_unique_key_serves_if_none_of_its_columns_may_be_null() {
    let stand_in = StandIn::shared();
    stand_in.psql(
        r#"create schema "CAT2";
           create table "CAT2"."U" ("A" int, "B" int not null, "C" int not null, "D" int not null,
             constraint "K1" unique ("A"), constraint "K2" unique ("A", "B"), constraint "K3" unique ("D", "C"), constraint "K4" unique ("B"));
           create table "CAT2"."NONE" ("A" int unique)"#,
    );
    assert_eq!(read("CAT2", "U").unwrap().key, [3, 2]);
    assert!(read("CAT2", "NONE").unwrap().key.is_empty());
}

#[test]
fn a_table_that_is_not_there_is_named_case_and_all() {
    StandIn::shared().psql(r#"create schema "CAT3"; create table "CAT3"."T" ("A" int primary key)"#);
    for (schema, name) in [("CAT3", "t"), ("cat3", "T"), ("CAT3", "T%"), ("CAT3", "' OR 1=1 --")] {
        let error = read(schema, name).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
        assert!(error.to_string().contains(&format!("table {schema}.{name}")), "{error}");
    }
    assert!(read("CAT3", "T").is_ok());
}
