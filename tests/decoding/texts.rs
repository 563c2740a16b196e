//! `test_decoding`: its text as `contrib/test_decoding` writes it.

use crate::{pairs, read};

fn of(text: &str) -> crate::Read {
    read("test_decoding", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_form_of_row_is_read() {
    assert_eq!(
        of("BEGIN").what,
        "Begin(Begin { xid: None, commit: None, micros: None })"
    );
    assert_eq!(
        of("BEGIN 735").what,
        "Begin(Begin { xid: Some(735), commit: None, micros: None })"
    );
    assert_eq!(of("COMMIT").what, "Commit(Commit { xid: None, micros: None })");
    assert_eq!(
        of("COMMIT (at 1970-01-01 00:00:01+00)").what,
        "Commit(Commit { xid: None, micros: Some(1000000) })"
    );
    assert_eq!(
        of("COMMIT 7 (at 1970-01-01 00:00:00.000001+00)").what,
        "Commit(Commit { xid: Some(7), micros: Some(1) })"
    );
    let insert = of("table public.t: INSERT: id[integer]:-1 n[numeric]:1.50 f[double precision]:NaN ok[boolean]:true");
    assert_eq!(insert.what, "insert public.t");
    let bare = [("id", "'-1'"), ("n", "'1.50'"), ("f", "'NaN'"), ("ok", "'true'")];
    assert_eq!(insert.new, pairs(&bare));
    let update = of("table a.b: UPDATE: id[integer]:1 big[text]:unchanged-toast-datum v[text]:null");
    assert_eq!(update.what, "update a.b none");
    assert_eq!(update.new, pairs(&[("id", "'1'"), ("big", "UNCHANGED"), ("v", "NULL")]));
    let moved = of("table a.b: UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 v[text]:'x'");
    assert_eq!(moved.what, "update a.b without nulls");
    assert_eq!(
        (moved.old, moved.new),
        (pairs(&[("id", "'1'")]), pairs(&[("id", "'2'"), ("v", "'x'")]))
    );
    let nothing_known = of("table a.b: UPDATE: old-key: new-tuple: id[integer]:2");
    assert_eq!(nothing_known.what, "update a.b without nulls");
    assert_eq!(of("table a.b: DELETE: id[integer]:1").old, pairs(&[("id", "'1'")]));
    assert_eq!(of("table a.b: DELETE: (no-tuple-data)").what, "delete a.b none");
    assert_eq!(of("table a.b: TRUNCATE: (no-flags)").what, "truncate a.b");
    assert_eq!(
        of("table a.b, \"C d\".\"e, f\": TRUNCATE: restart_seqs cascade").what,
        "truncate a.b \"C d\".\"e, f\""
    );
    let message = of("message: transactional: 1 prefix: a, sz: 2, sz: 12 content:b, sz: 4 con");
    assert!(message.what.starts_with("Message"), "{}", message.what);
}

/// `F08`: the text `null` is no NULL.
#[test]
fn the_text_null_is_no_null() {
    let row = of(
        "table public.txt: INSERT: id[integer]:1 c[text]:'null' j[jsonb]:'null' n[integer]:null e[text]:'' \
         u[text]:'unchanged-toast-datum'",
    );
    assert_eq!(
        row.new,
        pairs(&[
            ("id", "'1'"),
            ("c", "'null'"),
            ("j", "'null'"),
            ("n", "NULL"),
            ("e", "''"),
            ("u", "'unchanged-toast-datum'"),
        ])
    );
}

/// `F09`: names that need quotes, bit strings, and values that look like what stands around them.
#[test]
fn quoted_names_bit_strings_and_values_that_look_like_columns_are_exact() {
    let row = of(
        "table \"My Sch\".\"Ord.Li\"\"ne: \": UPDATE: old-key: id[integer]:1 new-tuple: \
         id[integer]:1 \"Sel [ect]: \"\"\"[text]:'O''Neil''\nline2 [text]:''x'' new-tuple: y[text]:''z' b3[bit]:B'101' \
         vb[bit varying]:B'' arr[text[]]:'{\"a,b\",\"c\\\"d\",NULL,\"null\"}' by[bytea]:'\\x00ff' \
         w[\"My Sch\".\"ty]pe: [1]\"]:'v' t[timestamp(3) without time zone]:'2024-01-01 00:00:00.123'",
    );
    assert_eq!(row.what, "update \"My Sch\".\"Ord.Li\"\"ne: \" without nulls");
    assert_eq!(
        row.new,
        pairs(&[
            ("id", "'1'"),
            (
                "\"Sel [ect]: \"\"\"",
                "'O'Neil'\nline2 [text]:'x' new-tuple: y[text]:'z'"
            ),
            ("b3", "'101'"),
            ("vb", "''"),
            ("arr", "'{\"a,b\",\"c\\\"d\",NULL,\"null\"}'"),
            ("by", "'\\x00ff'"),
            ("w", "'v'"),
            ("t", "'2024-01-01 00:00:00.123'"),
        ])
    );
}

#[test]
fn what_is_no_row_is_an_error() {
    for wrong in [
        "",
        "BEGI",
        "BEGIN x",
        "BEGIN 99999999999",
        "COMMIT 7 (at never)",
        "COMMIT 7 (at 2024-01-01 00:00:00+00",
        "COMMIT 7 ",
        "PREPARE TRANSACTION 'x', txid 7",
        "table t: INSERT: id[integer]:1",
        "table a.b: MERGE: id[integer]:1",
        "table a.b: INSERT",
        "table a.b: INSERT: id:1",
        "table a.b: INSERT: id[integer]1",
        "table a.b: INSERT: id[integer]:",
        "table a.b: INSERT: id[integer]:'x",
        "table a.b: INSERT: id[integer]:1  v[text]:'x'",
        "table a.b: INSERT: id[integer]:'x'y",
        "table a.b: INSERT: (no-tuple-data) ",
        "table a.b: UPDATE: old-key: id[integer]:1",
        "table a.b: UPDATE: id[integer]:1 new-tuple: id[integer]:1",
        "table a.b, c.d: INSERT: id[integer]:1",
        "table a.b: TRUNCATE: sometimes",
        "table \"a.b: INSERT: id[integer]:1",
        "message: transactional: 1 prefix: p, sz: 4 content:abc",
    ] {
        let error = read("test_decoding", wrong.as_bytes()).unwrap_err();
        assert!(error.contains("TM-3009"), "{wrong}: {error}");
    }
}

/// Random rows, written as the plugin writes them, come back as they were.
#[test]
fn random_rows_come_back() {
    let mut random = fastrand::Rng::with_seed(0x7465_7874);
    for _ in 0..20_000 {
        let columns: Vec<(String, String, String)> = (0..random.usize(1..6)).map(|_| column(&mut random)).collect();
        let cells: String = columns.iter().map(|(name, _, cell)| format!(" {name}{cell}")).collect();
        let expected: Vec<(String, String)> = columns
            .iter()
            .map(|(name, value, _)| (name.clone(), value.clone()))
            .collect();
        let table = format!("{}.{}", identifier(&mut random), identifier(&mut random));
        let insert = of(&format!("table {table}: INSERT:{cells}"));
        assert_eq!((&*insert.what, &insert.new), (&*format!("insert {table}"), &expected));
        let update = of(&format!("table {table}: UPDATE: old-key:{cells} new-tuple:{cells}"));
        assert_eq!((&update.old, &update.new), (&expected, &expected));
        assert_eq!(of(&format!("table {table}: DELETE:{cells}")).old, expected);
    }
}

const SIGNS: [&str; 16] = [
    "a",
    "Z",
    "0",
    " ",
    "'",
    "\"",
    "[",
    "]",
    ":",
    ".",
    ",",
    "\n",
    "é",
    "new-tuple:",
    "null",
    "\\",
];

fn signs(random: &mut fastrand::Rng, most: usize) -> String {
    (0..random.usize(0..=most))
        .map(|_| SIGNS[random.usize(0..SIGNS.len())])
        .collect()
}

fn identifier(random: &mut fastrand::Rng) -> String {
    match random.bool() {
        true => ["id", "v", "a_1"][random.usize(0..3)].to_owned(),
        false => format!("\"{}x\"", signs(random, 4).replace('"', "\"\"")),
    }
}

/// Name, value, and the text of type and value.
fn column(random: &mut fastrand::Rng) -> (String, String, String) {
    let name = identifier(random);
    let (kind, value, text) = match random.u8(0..6) {
        0 => ("integer", "'42'".to_owned(), "42".to_owned()),
        1 => ("text", "NULL".to_owned(), "null".to_owned()),
        2 => ("text", "UNCHANGED".to_owned(), "unchanged-toast-datum".to_owned()),
        3 => ("bit varying", "'0110'".to_owned(), "B'0110'".to_owned()),
        _ => {
            let text = signs(random, 8);
            (
                "character varying[]",
                format!("'{text}'"),
                format!("'{}'", text.replace('\'', "''")),
            )
        }
    };
    (name, value, format!("[{kind}]:{text}"))
}
