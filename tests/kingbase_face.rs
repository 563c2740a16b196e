//! KingbaseES's dialect on the face of one (`sql/kingbase/face.sh`): names, types, slots and rows where there is nothing that
//! begins with `pg_`, no pgoutput, no empty text.

mod support;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use support::stand_in::StandIn;
use tidemark::catalog::load;
use tidemark::dialect::kingbase::KINGBASE;
use tidemark::dialect::postgres::{Postgres, connection};
use tidemark::dialect::slots::{Names, Statements};
use tidemark::dialect::{Dialect, Endpoint};
use tidemark::log::OnFault;
use tidemark::log::captured::CapturedTable;
use tidemark::log::decoding::reader::{Settings, SlotReader};
use tidemark::log::decoding::settings::SlotSettings;
use tidemark::log::decoding::slot;
use tidemark::log::{FragmentLimit, LogEvent, LogReader, Opening, Patience};
use tidemark::odbc::{Connection, ConnectionSettings, Secret};
use tidemark::position::{Position, Scn};
use tidemark::row::layout::natural;
use tidemark::row::value::Value;
use tidemark::split::TableName;

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

fn face() -> &'static StandIn {
    static SHARED: OnceLock<StandIn> = OnceLock::new();
    SHARED.get_or_init(StandIn::face)
}

/// As the connector connects, but for the driver's name.
fn settings() -> ConnectionSettings {
    let face = face();
    connection(
        &KINGBASE,
        &Endpoint {
            hostname: face.value("HOST").into(),
            port: face.value("PORT").parse().unwrap(),
            database: None,
            username: face.value("USER").into(),
            password: Secret::new(face.value("PASSWORD")),
            connect_timeout: Duration::from_secs(30),
            statement_timeout: Some(Duration::from_secs(300)),
            driver: Some(support::DRIVER.into()),
            attributes: Vec::new(),
        },
    )
}

fn connect() -> Connection {
    Connection::open(&settings()).unwrap()
}

/// The statements with the names that the server has, and the dialect that knows them.
fn dialect() -> (Statements, Arc<Postgres>) {
    let statements = slot::resolve_names(&mut connect(), &Postgres::new(&KINGBASE, Names::default())).unwrap();
    let dialect = Postgres::new(&KINGBASE, statements.names().clone());
    (statements, Arc::new(dialect))
}

fn table(name: &str) -> CapturedTable {
    let name = TableName {
        schema: "public".into(),
        name: name.into(),
    };
    CapturedTable::whole(Arc::new(load(&mut connect(), &*dialect().1, &name).unwrap()))
}

#[test]
fn every_name_is_found_with_its_own_prefix() {
    let (statements, _) = dialect();
    for name in [
        "proc",
        "class",
        "replication_slots",
        "current_wal_flush_lsn",
        "copy_logical_replication_slot",
        "logical_slot_get_changes",
    ] {
        assert_eq!(statements.names().of(name), format!("sys_{name}"));
    }
}

#[test]
fn types_of_the_oracle_mode_are_known_by_their_names() {
    face().psql(
        "CREATE TABLE kinds(id number(10) PRIMARY KEY, n number, p number(12,2), v varchar2(20), w nvarchar2(20), c clob, b blob, r raw, \
         d date, i tinyint, f binary_float, g binary_double, big bigint, txt text, stamp timestamp(3))",
    );
    let table = table("kinds").table;
    let natures: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let nature =
                natural(&column.kind).map_or_else(|| format!("{:?}", column.kind), |nature| nature.to_string());
            format!("{} {nature}", column.name)
        })
        .collect();
    assert_eq!(
        natures,
        [
            "id DECIMAL(10, 0)",
            "n STRING",
            "p DECIMAL(12, 2)",
            "v STRING",
            "w STRING",
            "c STRING",
            "b BYTES",
            "r BYTES",
            "d TIMESTAMP(0)",
            "i TINYINT",
            "f FLOAT",
            "g DOUBLE",
            "big BIGINT",
            "txt STRING",
            "stamp TIMESTAMP(3)",
        ]
    );
    assert_eq!(table.key, [0], "a key of type number orders chunks");
    let index = dialect()
        .1
        .key_index(&table.name, table.object_id, &table.key_columns())
        .unwrap();
    let indexes = connect().rows(&index.there.sql, &index.there.columns).unwrap();
    assert_eq!(indexes[0][0].int(), Some(1), "by the key's own index");
}

/// `F29`: pgoutput is not there; test_decoding serves, under names of the server's own.
#[test]
fn rows_come_through_test_decoding_where_there_is_no_pgoutput() {
    face().psql(
        "CREATE TABLE read(id number(10) PRIMARY KEY, p number(12,2), v varchar2(20), d date, b blob); ALTER TABLE read REPLICA IDENTITY FULL",
    );
    let (statements, dialect) = dialect();
    let error = slot::create(&mut connect(), &statements, "refused", "pgoutput").unwrap_err();
    assert!(error.to_string().contains("pgoutput"), "{error}");
    let start = slot::create(&mut connect(), &statements, "read", "test_decoding").unwrap();
    face().psql(
        "INSERT INTO read VALUES (1, 1.5, 'a', timestamp '2024-02-29 10:11:12.7', '\\x00ff'), (2, -7, '', NULL, NULL); \
         UPDATE read SET v = '', id = 3 WHERE id = 1; DELETE FROM read WHERE id = 2",
    );
    let tables = [table("read")];
    let at = Opening {
        mine_from: Scn(start.0),
        position: Position::before(Scn(start.0)),
    };
    let settings = Settings {
        slot: SlotSettings {
            ddl_table: None,
            on_mismatch: OnFault::Fail,
            look_every: Duration::from_secs(1),
            slot: "read".into(),
            publications: Vec::new(),
            exclusive: true,
            batch_changes: 100_000,
            patience: Patience {
                limit: PATIENCE,
                pause: Duration::from_millis(20),
            },
        },
        fragment: FragmentLimit {
            rows: 1_000,
            bytes: 1 << 20,
        },
        selection: None,
        partitions: Vec::new(),
    };
    let mut reader = SlotReader::open(
        Arc::new(|| Connection::open(&self::settings())),
        dialect,
        &tables,
        settings,
        at,
    )
    .unwrap();
    let mut rows = Vec::new();
    let until = Instant::now() + PATIENCE;
    while rows.len() < 4 {
        assert!(Instant::now() < until, "{rows:?}");
        let Some(LogEvent::Fragment(fragment)) = reader.poll().unwrap() else {
            reader.push().unwrap();
            continue;
        };
        for change in &fragment.changes.rows {
            let image = |image| {
                let value = |number| match fragment.changes.values.get(image, number) {
                    Value::Null => "NULL".to_owned(),
                    Value::Number(text) | Value::Text(text) | Value::Timestamp(text) | Value::Hex(text) => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    other => format!("{other:?}"),
                };
                (0..5).map(value).collect::<Vec<_>>().join(" ")
            };
            rows.push(format!(
                "{} -> {}",
                change.before.map(image).unwrap_or_default(),
                change.after.map(image).unwrap_or_default()
            ));
        }
    }
    drop(reader);
    slot::drop_slot(&mut connect(), &statements, "read").unwrap();
    assert_eq!(
        rows,
        [
            " -> 1 1.50 a 2024-02-29 10:11:12 00ff",
            " -> 2 -7.00 NULL NULL NULL",
            "1 1.50 a 2024-02-29 10:11:12 00ff -> 3 1.50 NULL 2024-02-29 10:11:12 00ff",
            "2 -7.00 NULL NULL NULL -> ",
        ]
    );
}
