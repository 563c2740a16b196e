//! Values of all kinds: every plugin gives the same, and what the table has.

use std::sync::Arc;

use tidemark::catalog::load;
use tidemark::log::captured::CapturedTable;
use tidemark::row::value::Value;
use tidemark::split::TableName;

use tidemark::dialect::postgres::{POSTGRES, connection};
use tidemark::odbc::{ColumnSpec, Connection};

use crate::slots::{PLUGINS, Read, Slot, changes, now, psql, read_to};
use crate::support::postgres::{connect, dialect, endpoint, shared};

fn captured(schema: &str, name: &str) -> CapturedTable {
    let name = TableName {
        schema: schema.into(),
        name: name.into(),
    };
    CapturedTable::whole(Arc::new(load(&mut connect(shared()), &*dialect(), &name).unwrap()))
}

/// `F08`, `F09`, `F33`: texts that look like NULL or like columns, names that need quotes, bits, arrays, bytes, infinities.
#[test]
fn every_plugin_gives_the_same_values() {
    psql(
        r#"CREATE SCHEMA "My Sch"; CREATE TYPE "My Sch"."mo od" AS ENUM ('so so', 'it''s');
           CREATE DOMAIN "My Sch".price AS numeric(8, 3);
           CREATE TABLE "My Sch"."Ord.Line"(id int PRIMARY KEY, "Sel ""ect" text, vc varchar(20), ch char(5), ok boolean,
             si smallint, bi bigint, n numeric, p "My Sch".price, r real, d double precision, dt date, t time, tz timetz,
             ts timestamp, tstz timestamptz, iv interval, by bytea, b3 bit(3), vb varbit(8), arr text[], ia int[],
             mo "My Sch"."mo od", j json, jb jsonb, u uuid, rg int4range, ip inet, mn money, px point)"#,
    );
    let slots = PLUGINS.map(|plugin| Slot::of("values_of", plugin, vec![captured("My Sch", "Ord.Line")]));
    psql(
        r#"SET timezone = 'Asia/Shanghai'; SET datestyle = 'German'; SET bytea_output = 'escape'; SET intervalstyle = 'iso_8601';
           INSERT INTO "My Sch"."Ord.Line" VALUES
           (1, E'O''Neil''\nline2 [text]:''x''', 'null', 'ab', true, -7, 9223372036854775807, 1.50, 12345.678, 0.1, 1e300,
            '2024-02-29', '23:59:59.999999', '12:00+05:30', '2024-02-29 12:00:00.5', '2024-02-29 12:00:00+08',
            '1 year 2 days 03:04:05', '\x00ff27', B'101', B'1', ARRAY['a,b', 'c"d', NULL, 'null', 'it''s'], ARRAY[1, NULL],
            'it''s', '{"a": "''"}', '"null"', '00000000-0000-0000-0000-00000000000a', '[1,5)', '10.0.0.1', 12.5, '(1,-2)'),
           (2, '', 'nullable@ex.org', NULL, false, 0, 0, 'NaN', 0, 'NaN', 'Infinity', 'infinity', '00:00', '00:00-00',
            '-infinity', 'infinity', '-1 day', '', B'000', B'', '{}', NULL, 'so so', 'null', 'null', NULL, 'empty', '::1', 0, NULL),
           (3, NULL, NULL, NULL, NULL, NULL, NULL, '-Infinity', NULL, '-Infinity', 'NaN', '4713-01-01 BC', NULL, NULL,
            '0044-03-15 BC', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
           UPDATE "My Sch"."Ord.Line" SET vc = 'changed' WHERE id = 1"#,
    );
    let [binary, text] = slots.each_ref().map(Slot::read);
    assert_eq!(binary.rows(), text.rows());
    let first = binary.rows()[0];
    for part in [
        "Sel \"ect=O'Neil'\nline2 [text]:'x',",
        "vc=null,",
        "ok=1,",
        "n=1.50,",
        "p=12345.678,",
        "d=1e+300,",
        "dt=2024-02-29,",
        "tz=12:00:00+05:30,",
        "tstz=2024-02-29 04:00:00+00,",
        "by=x00ff27,",
        "b3=101,",
        "arr={\"a,b\",\"c\\\"d\",NULL,\"null\",it's},",
        "mo=it's,",
        "jb=\"null\",",
    ] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    let second = binary.rows()[1];
    for part in [
        "Sel \"ect=,",
        "ch=NULL,",
        "n=NaN,",
        "d=Infinity,",
        "dt=infinity,",
        "ts=-infinity,",
        "j=null,",
        "jb=null,",
    ] {
        assert!(second.contains(part), "{part} is not in {second}");
    }
    let third = binary.rows()[2];
    assert!(
        third.contains("dt=4713-01-01 BC,") && third.contains("Sel \"ect=NULL,"),
        "{third}"
    );
    assert_eq!(binary.rows().len(), 4);
}

/// The first value of each row that a slot has; of a text nothing but that it is one.
fn first_values(slot: &Slot) -> Vec<Value<'static>> {
    let log = changes(&mut slot.open());
    let rows = log
        .iter()
        .flat_map(|changes| changes.rows.iter().map(move |row| (changes, row)));
    rows.map(|(changes, row)| match changes.values.get(row.after.unwrap(), 0) {
        Value::Int(value) => Value::Int(value),
        _ => Value::Number(b""),
    })
    .collect()
}

/// Of numbers that are sent as such the reader has numbers; of any table with a type that it does not know so, texts.
#[test]
fn pgoutput_gives_values_in_binary_form_unless_a_type_is_not_known_in_it() {
    psql(
        "CREATE TABLE plain_values(id int PRIMARY KEY, v text); CREATE TABLE odd_values(id int PRIMARY KEY, v int[]); \
         CREATE DOMAIN counted AS int; CREATE TABLE user_values(id counted PRIMARY KEY, v text)",
    );
    for (table, is_binary) in [("plain_values", true), ("odd_values", false), ("user_values", false)] {
        let slot = Slot::new(table, "pgoutput", &[table]);
        psql(&format!("INSERT INTO {table} VALUES (1, NULL), (2, NULL)"));
        let expected = match is_binary {
            true => vec![Value::Int(1), Value::Int(2)],
            false => vec![Value::Number(b""); 2],
        };
        assert_eq!(first_values(&slot), expected, "{table}");
    }
    psql("DROP TABLE plain_values, odd_values, user_values; DROP DOMAIN counted");
}

/// Values of some types have no binary form, which is an error of the server, and of tables too that are not captured.
#[test]
fn types_without_a_binary_form_do_not_keep_the_log_from_being_read() {
    psql("CREATE TABLE acls(id int PRIMARY KEY, v aclitem[]); CREATE TABLE without_acls(id int PRIMARY KEY, v text)");
    for captured in ["acls", "without_acls"] {
        let slot = Slot::new(&format!("of_{captured}"), "pgoutput", &[captured]);
        if captured != "acls" {
            psql(&format!("ALTER PUBLICATION {} ADD TABLE acls", slot.name));
        }
        psql(
            "INSERT INTO acls VALUES (1, '{pg_monitor=r/pg_monitor}'); INSERT INTO without_acls VALUES (1, '{pg_monitor=r/pg_monitor}'); \
             INSERT INTO acls VALUES (2, NULL); INSERT INTO without_acls VALUES (2, NULL)",
        );
        let expected = ["0 >id=1,v={pg_monitor=r/pg_monitor}", "0 >id=2,v=NULL"];
        assert_eq!(slot.read().rows(), expected, "{captured}");
        psql("TRUNCATE acls, without_acls");
    }
    psql("DROP TABLE acls, without_acls");
}

/// A column of a type that is not known in binary form may come in the middle of a transaction, some of which went on: what is
/// left of it is read as texts, each row once, at its place.
#[test]
fn a_type_that_is_not_known_in_binary_form_may_come_while_a_transaction_is_read() {
    for (number, change) in [
        "ALTER TABLE turning ADD extra int[]",
        "ALTER TABLE turning ALTER v TYPE citext_of_turning",
        "ALTER TABLE turning ALTER v TYPE int USING 7",
    ]
    .iter()
    .enumerate()
    {
        psql(
            "CREATE DOMAIN citext_of_turning AS text; CREATE TABLE turning(id int PRIMARY KEY, v text); \
             CREATE TABLE beside(id int PRIMARY KEY, v text)",
        );
        let slots = PLUGINS.map(|plugin| Slot::new(&format!("turning_{number}"), plugin, &["turning", "beside"]));
        // Rows of one statement stand at one place of the log.
        psql(&format!(
            "INSERT INTO beside VALUES (0, 'before'); BEGIN; INSERT INTO turning SELECT g, g FROM generate_series(1, 9) g; \
             INSERT INTO beside VALUES (1, 'x'), (2, 'y'); {change}; \
             INSERT INTO turning SELECT g, g FROM generate_series(11, 17) g; INSERT INTO beside VALUES (3, 'z'); COMMIT; \
             INSERT INTO turning VALUES (20, 20); INSERT INTO beside VALUES (4, 'behind')"
        ));
        let [binary, text] = slots.each_ref().map(|slot| {
            let mut settings = slot.settings();
            settings.fragment.rows = 2;
            let mut read = Read::default();
            read_to(&mut slot.open_with(settings, slot.begin()), now(), &mut read);
            read
        });
        assert_eq!(binary.rows().len(), 22, "{change}");
        assert_eq!(binary.rows(), text.rows(), "{change}");
        drop(slots);
        psql("DROP TABLE turning, beside; DROP DOMAIN citext_of_turning");
    }
}

/// A value has one text in pages, in the log and read back, whatever the user's sessions, the driver or its options are set to.
#[test]
fn sessions_are_set_whatever_user_driver_and_options_say() {
    psql(
        "CREATE ROLE otherwise SUPERUSER LOGIN; ALTER ROLE otherwise SET intervalstyle = 'iso_8601'; \
         ALTER ROLE otherwise SET timezone = 'Asia/Kathmandu'; ALTER ROLE otherwise SET bytea_output = 'escape'; \
         ALTER ROLE otherwise SET search_path = public; ALTER ROLE otherwise SET row_security = on; \
         ALTER ROLE otherwise SET default_transaction_isolation = 'serializable'; \
         ALTER ROLE otherwise SET standard_conforming_strings = off; ALTER ROLE otherwise SET lc_monetary = 'en_US.UTF-8'; \
         ALTER ROLE otherwise SET synchronous_commit = 'remote_apply'; ALTER ROLE otherwise SET default_transaction_read_only = on",
    );
    let mut endpoint = endpoint(shared());
    endpoint.username = "otherwise".into();
    // psqlODBC sets these two itself, and then what it is told to.
    let told = "set datestyle to 'German'; set extra_float_digits to -5";
    endpoint.attributes.push(("ConnSettings".into(), told.into()));
    let mut connection = Connection::open(&connection(&POSTGRES, &endpoint)).unwrap();
    for (name, value) in [
        ("datestyle", "ISO, YMD"),
        ("intervalstyle", "postgres"),
        ("timezone", "UTC"),
        ("bytea_output", "hex"),
        ("extra_float_digits", "2"),
        ("lc_monetary", "C"),
        ("standard_conforming_strings", "on"),
        ("search_path", "pg_catalog, sys_catalog"),
        ("row_security", "off"),
        ("synchronous_commit", "local"),
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
    ] {
        let question = format!("SELECT current_setting('{name}')");
        let rows = connection.rows(&question, &[ColumnSpec::Text { bytes: 100 }]).unwrap();
        assert_eq!(rows[0][0].text(), Some(value), "{name}");
    }
    drop(connection);
    psql("DROP ROLE otherwise");
}
