//! Tables from the dictionary of the stand-in for DM8.

mod support;

use support::stand_in::StandIn;
use tidemark::catalog::pattern::{NamePattern, TablePatterns};
use tidemark::catalog::{ColumnType, Found, Table, find, load};
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

/// A number that the log may write otherwise than the table is no key; where another one serves it is taken.
#[test]
fn a_key_that_cannot_be_ordered_is_passed_over_where_another_one_can() {
    StandIn::shared().psql(
        r#"create schema "CAT_KEYS"; create table "CAT_KEYS"."T" ("F" double primary key, "A" int not null, "B" varchar(9) not null,
             constraint "K" unique ("B", "A")); create table "CAT_KEYS"."ONE" ("F" double primary key)"#,
    );
    assert_eq!(read("CAT_KEYS", "T").unwrap().key, [2, 1]);
    let table = read("CAT_KEYS", "ONE").unwrap();
    let error = tidemark::catalog::key::KeyCodec::new(&table).unwrap_err();
    assert!(error.to_string().contains("key column 'F' has type Float"), "{error}");
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

fn look(stand_in: &StandIn, schema: &str, table: &str) -> Result<Found> {
    let wanted = TablePatterns {
        schema: NamePattern::parse(schema).unwrap(),
        table: NamePattern::parse(table).unwrap(),
        but: Vec::new(),
    };
    find(&mut stand_in.connect(), &Dameng, &wanted)
}

fn names(found: &[TableName]) -> Vec<String> {
    found.iter().map(TableName::to_string).collect()
}

/// Everything that a catalogue lists beside tables, under names that the pattern matches.
#[test]
fn views_partitions_temporary_tables_and_the_servers_own_schemas_never_match() {
    let stand_in = StandIn::shared();
    stand_in.psql(
        r#"create schema "CAT4"; create schema "SYSJOB"; create schema "CTISYS"; create schema "SYSDBA"; create table "SYSDBA"."CAT4_A" ("A" int primary key);
           create table "SYSJOB"."CAT4_A" ("A" int primary key); create table "CTISYS"."CAT4_A" ("A" int primary key);
           create table "CAT4"."CAT4_A" ("A" int primary key);
           create view "CAT4"."CAT4_V" as select * from "CAT4"."CAT4_A"; create unlogged table "CAT4"."CAT4_GTT" ("A" int primary key);
           create table "CAT4"."CAT4_P" ("A" int primary key) partition by range ("A");
           create table "CAT4"."CAT4_P_P1" partition of "CAT4"."CAT4_P" for values from (0) to (9);
           create table "CAT4"."CAT4_P_P2" partition of "CAT4"."CAT4_P" for values from (9) to (99) partition by range ("A");
           create table "CAT4"."CAT4_P_P2_S" partition of "CAT4"."CAT4_P_P2" for values from (9) to (50)"#,
    );
    let found = look(stand_in, ".*", "CAT4.*").unwrap();
    assert_eq!(names(&found.tables), ["CAT4.CAT4_A", "CAT4.CAT4_P", "SYSDBA.CAT4_A"]);
    let partitions = read("CAT4", "CAT4_P").unwrap().partitions;
    let parts: Vec<&str> = partitions.iter().map(|partition| partition.name.as_str()).collect();
    assert_eq!(parts, ["CAT4_P_P1", "CAT4_P_P2", "CAT4_P_P2_S"], "of all levels");
    for (schema, name) in [
        ("CAT4", "\"CAT4_V\""),
        ("CAT4", "\"CAT4_GTT\""),
        ("CAT4", "\"CAT4_P_P1\""),
        ("CAT4", "CAT4_P_P2_S"),
        ("SYSJOB", "CAT4_A"),
        ("SYS", ".*"),
    ] {
        let error = look(stand_in, schema, name).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Catalog(_)), "{error}");
    }
}

/// F27
#[test]
fn underscores_and_other_tables_of_like_names_are_told_apart() {
    let stand_in = StandIn::shared();
    stand_in.psql(
        r#"create schema "SCH_ORD"; create schema "SCHXORD"; create table "SCHXORD"."ITEM" ("B" int primary key);
           create table "SCH_ORD"."ITEM" ("A" int primary key, "C" int); create table "SCH_ORD"."CLASS_ITEM" ("A" int primary key);
           create table "SCH_ORD"."X_CLASS_ITEM" ("A" int primary key); create table "SCH_ORD"."CLASSXITEM" ("A" int primary key);
           create table "SCH_ORD"."A_ITEM" ("A" int primary key); create table "SCH_ORD"."A%\ITEM" ("A" int primary key)"#,
    );
    for (table, expected) in [
        ("item", &["SCH_ORD.ITEM"][..]),
        ("class_item", &["SCH_ORD.CLASS_ITEM"]),
        ("(class_item|(a|class)_item)", &["SCH_ORD.A_ITEM", "SCH_ORD.CLASS_ITEM"]),
        (r"a%\\item", &[r"SCH_ORD.A%\ITEM"]),
        (r#""A%\ITEM""#, &[r"SCH_ORD.A%\ITEM"]),
    ] {
        let found = look(stand_in, "sch_ord", table).unwrap();
        assert_eq!(names(&found.tables), expected, "{table}");
    }
    let table = read("SCH_ORD", "ITEM").unwrap();
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(columns, ["A", "C"]);
}

/// F54, on servers of both kinds.
#[test]
fn names_go_by_the_case_rules_of_the_server() {
    let cased = StandIn::shared();
    cased.psql(
        r#"create schema "CAT5"; create table "CAT5"."ORDERS" ("A" int primary key); create table "CAT5"."orders" ("A" int primary key);
           create table "CAT5"."Item" ("A" int primary key)"#,
    );
    for (schema, table, expected) in [
        ("cat5", "orders", &["CAT5.ORDERS"][..]),
        ("CAT5", "ORDERS", &["CAT5.ORDERS"]),
        ("\"CAT5\"", "\"orders\"", &["CAT5.orders"]),
        ("cat5", "orders|\"orders\"", &["CAT5.ORDERS", "CAT5.orders"]),
        ("cat5", "(?-i)[a-z]+", &["CAT5.orders"]),
    ] {
        assert_eq!(
            names(&look(cased, schema, table).unwrap().tables),
            expected,
            "{schema} {table}"
        );
    }
    let found = look(cased, "cat5", "orders").unwrap();
    assert_eq!(
        names(&found.but_for_case),
        ["CAT5.orders"],
        "it is not passed over in silence"
    );
    let error = look(cased, "cat5", "item").unwrap_err().to_string();
    assert!(error.contains("case apart there is CAT5.Item"), "{error}");

    let uncased = StandIn::start(&[("CASE_SENSITIVE", "0")]);
    uncased.psql(r#"create schema "Shop"; create table "Shop"."Order" ("Id" int primary key)"#);
    for table in ["ORDER", "order", "\"ORDER\"", "(?-i)ORDER", "o.*r"] {
        let found = look(&uncased, "shop", table).unwrap();
        assert_eq!(names(&found.tables), ["Shop.Order"], "{table}");
        assert!(found.but_for_case.is_empty());
    }
}
