//! Columns that the server fills: identities, defaults, virtual ones.

use tidemark::error::ErrorKind;
use tidemark::row::codec::OnValueError;
use tidemark::row::layout::{DeclaredColumn, FlinkType};
use tidemark::row::{RowCodec, RowKind, RowOrigin};

use crate::binary_row::Read;
use crate::phases::{Captured, declared, rows};
use crate::support::stand_in::StandIn;
use crate::values::stand_in;

const INT: FlinkType = FlinkType::Int;

fn captured(schema: &str, columns: &str) -> Captured {
    stand_in().psql(&format!(
        r#"create schema "{schema}"; create table "{schema}"."T" ({columns})"#
    ));
    Captured::new(stand_in(), schema, "T")
}

#[test]
fn an_identity_and_a_default_are_the_same_in_both_phases() {
    let mut captured = captured(
        "IDENTITY",
        r#""ID" int generated always as identity (start 100 increment 7) primary key, "V" varchar(10) default 'it''s', "N" int"#,
    );
    stand_in().psql(
        r#"insert into "IDENTITY"."T" ("N") values (1), (2); insert into "IDENTITY"."T" ("V", "N") values (null, 3)"#,
    );
    let inserted = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let snapshot = captured.snapshot(&codec).unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &inserted, |change| change.after),
        "inserted",
    );
    let fields: Vec<_> = snapshot.values().map(|row| captured.fields(&kinds, row)).collect();
    assert_eq!(fields[1]["ID"], Read::Integer(107));
    assert_eq!(fields[1]["V"], Read::Bytes(b"it's".to_vec()));
    assert_eq!(fields[2]["V"], Read::Null);
}

/// Rows that are older than the column have its default, in the table and in the images before an update.
#[test]
fn a_column_that_was_added_with_a_default_has_it_in_older_rows() {
    let first = captured("ADDED", r#""ID" int primary key, "V" int"#);
    stand_in().psql(r#"insert into "ADDED"."T" values (1, 1), (2, 2)"#);
    drop(first);
    stand_in().psql(r#"alter table "ADDED"."T" add "W" int default 42 not null"#);
    let mut captured = Captured::new(stand_in(), "ADDED", "T");
    stand_in().psql(r#"update "ADDED"."T" set "V" = 9"#);
    let updated = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let snapshot = captured.snapshot(&codec).unwrap();
    assert_eq!(
        captured.fields(&kinds, snapshot.values().next().unwrap())["W"],
        Read::Integer(42)
    );
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &updated, |change| change.after),
        "updated",
    );
}

#[test]
fn a_virtual_column_in_the_log_is_the_same_in_both_phases() {
    let mut captured = captured(
        "VIRTUAL",
        r#""ID" int primary key, "TWICE" int generated always as ("ID" * 2) stored, "V" int"#,
    );
    assert_eq!(
        captured
            .table
            .columns
            .iter()
            .map(|column| column.is_virtual)
            .collect::<Vec<_>>(),
        [false, true, false]
    );
    stand_in().psql(r#"insert into "VIRTUAL"."T" values (1, default, 1), (2, default, 2)"#);
    let inserted = captured.changes().unwrap();
    let kinds = captured.natural();
    let codec = captured.codec(&kinds, "UTC");
    let snapshot = captured.snapshot(&codec).unwrap();
    assert_eq!(
        captured.fields(&kinds, snapshot.values().next().unwrap())["TWICE"],
        Read::Integer(2)
    );
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &inserted, |change| change.after),
        "inserted",
    );
}

/// Whether a server's log holds it is not known. Where it does not, the value is unavailable: neither NULL nor an old one.
#[test]
fn a_virtual_column_that_the_log_lacks_is_not_null_by_accident() {
    static ALONE: std::sync::OnceLock<StandIn> = std::sync::OnceLock::new();
    let stand_in = ALONE.get_or_init(|| StandIn::start(&[]));
    stand_in.psql("update logminer.setting set value = 'absent' where name = 'virtual_column'");
    stand_in.psql(
        r#"create schema "V"; create table "V"."T" ("ID" int primary key, "N" int, "TWICE" int generated always as ("N" * 2) stored)"#,
    );
    let mut captured = Captured::new(stand_in, "V", "T");
    stand_in.psql(r#"insert into "V"."T" ("ID", "N") values (1, 1)"#);
    stand_in.psql(r#"update "V"."T" set "N" = 5"#);
    stand_in.psql(r#"delete from "V"."T""#);
    let changes = captured.changes().unwrap();
    assert_eq!(changes.len(), 3);
    let whole = captured.codec_of(&columns(&["ID", "N", "TWICE"]), "UTC", OnValueError::Null);
    let without = captured.codec_of(&columns(&["ID", "N"]), "UTC", OnValueError::Fail);
    for changes in &changes {
        let change = &changes.rows[0];
        for image in [change.before, change.after].into_iter().flatten() {
            let mut out = Vec::new();
            let mut encode = |codec: &dyn RowCodec| {
                codec.row(
                    0,
                    RowKind::Insert,
                    &changes.values,
                    image,
                    &RowOrigin::default(),
                    &mut out,
                )
            };
            encode(&*without).unwrap();
            let error = encode(&*whole).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ValueUnavailable { .. }), "{error}");
            assert!(
                error.to_string().contains("'TWICE' of the row with key ID=1"),
                "{error}"
            );
        }
    }
}

fn columns(names: &[&str]) -> Vec<DeclaredColumn> {
    names.iter().map(|name| declared(name, INT)).collect()
}
