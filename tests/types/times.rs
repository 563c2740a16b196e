//! Clocks, calendars and zones.

use tidemark::odbc::Connection;
use tidemark::row::codec::OnValueError;
use tidemark::row::layout::{DeclaredColumn, FlinkType};

use crate::binary_row::{Read, read};
use crate::phases::{Captured, declared, rows};
use crate::values::stand_in;

/// Wall clocks, and what they are in milliseconds since 1970 on the same clock (`java.time.LocalDateTime` in UTC).
const CLOCKS: [(&str, i64, u32); 7] = [
    ("0001-01-01 00:00:00", -62_135_596_800_000, 0),
    ("1582-10-04 00:00:00", -12_220_243_200_000, 0),
    ("1582-10-10 12:00:00", -12_219_681_600_000, 0),
    ("1582-10-15 00:00:00", -12_219_292_800_000, 0),
    ("1900-12-31 23:59:59", -2_177_452_801_000, 0),
    ("1986-05-04 02:30:00", 515_557_800_000, 0),
    ("9999-12-31 23:59:59.999999", 253_402_300_799_999, 999_000),
];

fn timestamp(name: &str) -> DeclaredColumn {
    declared(name, FlinkType::Timestamp { precision: 6 })
}

fn instant(name: &str) -> DeclaredColumn {
    declared(name, FlinkType::TimestampLtz { precision: 6 })
}

/// F45: in year 1, around the change of calendars, before standard time and in a hour that clocks skipped. The zone of
/// the database's clock, which has all of that, changes nothing; nor does the session's, nor the machine's.
#[test]
fn wall_clocks_stay_what_they_are_in_every_year() {
    stand_in().psql(
        r#"create schema "CLOCKS"; create table "CLOCKS"."T" ("ID" int primary key, "AT" timestamp(6), "DAY" date, "OF" date_with_time)"#,
    );
    let mut captured = Captured::over("CLOCKS", "T", in_zone("Asia/Shanghai"));
    for (id, (clock, _, _)) in CLOCKS.iter().enumerate() {
        stand_in().psql(&format!(
            r#"insert into "CLOCKS"."T" values ({id}, '{clock}', '{}', '{}')"#,
            &clock[..10],
            &clock[..19]
        ));
    }
    let inserted = captured.changes().unwrap();
    let columns = [
        declared("ID", FlinkType::Int),
        timestamp("AT"),
        declared("DAY", FlinkType::Date),
        declared("OF", FlinkType::Timestamp { precision: 0 }),
    ];
    let kinds: Vec<_> = columns.iter().map(|column| column.kind().unwrap()).collect();
    let codec = captured.codec_of(&columns, "Asia/Shanghai", OnValueError::Fail);
    let snapshot = captured.snapshot(&codec).unwrap();
    captured.require_same(
        &kinds,
        &snapshot,
        &rows(&codec, &inserted, |change| change.after),
        "inserted",
    );
    for (row, (clock, millis, nanos)) in snapshot.values().zip(CLOCKS) {
        let fields = read(row, &kinds).1;
        assert_eq!(fields[1], Read::Timestamp(millis, nanos), "{clock}");
        assert_eq!(fields[2], Read::Integer(millis.div_euclid(86_400_000)), "{clock}");
        assert_eq!(fields[3], Read::Timestamp(millis.div_euclid(1000) * 1000, 0), "{clock}");
    }
}

/// Connections whose session is in a zone of its own.
fn in_zone(zone: &'static str) -> impl Fn() -> Connection + 'static {
    move || {
        let mut connection = stand_in().connect();
        connection.execute(&format!("set time zone '{zone}'")).unwrap();
        connection
    }
}

/// F25: the server's clock in three zones, the reader's session in another one. A wall clock stays; a point in time is the
/// same one in the snapshot and in the log; a wall clock that is declared as a point in time is read on the server's.
#[test]
fn zones_of_server_and_session_change_no_value() {
    for (number, (server, offset)) in [("+08:00", 8), ("UTC", 0), ("-05:00", -5)].into_iter().enumerate() {
        let schema = format!("ZONES{number}");
        stand_in().psql(&format!(
            r#"update logminer.setting set value = '{}' where name = 'offset';
               create schema "{schema}"; create table "{schema}"."T" ("ID" int primary key, "TS" timestamp(6), "AS_INSTANT" timestamp(6),
                 "TZ" timestamptz(6), "TL" timestamp_local)"#,
            if server == "UTC" { "+00:00" } else { server }
        ));
        for session in ["<+08>-08", "UTC", "<-05>+05", "<+0545>-05:45"] {
            stand_in().psql(&format!(
                r#"set session_replication_role = replica; truncate "{schema}"."T""#
            ));
            let mut captured = Captured::over(&schema, "T", in_zone(session));
            stand_in().psql(&format!(
                r#"insert into "{schema}"."T" values
                   (1, '2024-03-01 08:00:00', '2024-03-01 08:00:00', '2024-03-01 08:00:00+08', '2024-03-01 08:00:00+08'),
                   (2, '0002-01-01 00:00:00', '0002-01-01 00:00:00', '0002-01-01 00:00:00-11:30', '0002-01-01 00:00:00-11:30')"#
            ));
            let inserted = captured.changes().unwrap();
            let columns = [
                declared("ID", FlinkType::Int),
                timestamp("TS"),
                instant("AS_INSTANT"),
                instant("TZ"),
                instant("TL"),
            ];
            let kinds: Vec<_> = columns.iter().map(|column| column.kind().unwrap()).collect();
            let codec = captured.codec_of(&columns, server, OnValueError::Fail);
            let snapshot = captured.snapshot(&codec).unwrap();
            let what = format!("server {server}, session {session}");
            captured.require_same(
                &kinds,
                &snapshot,
                &rows(&codec, &inserted, |change| change.after),
                &what,
            );
            let fields = read(snapshot.values().next().unwrap(), &kinds).1;
            const CLOCK: i64 = 1_709_280_000_000;
            let expected = [
                CLOCK,
                CLOCK - offset * 3_600_000,
                CLOCK - 8 * 3_600_000,
                CLOCK - 8 * 3_600_000,
            ];
            assert_eq!(fields[1..], expected.map(|millis| Read::Timestamp(millis, 0)), "{what}");
        }
    }
}
