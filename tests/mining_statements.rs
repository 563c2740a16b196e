//! The mining statements over ODBC, against the stand-in for DM8: each runs as it stands, and its columns and errors
//! come back as the dialect says.

mod support;

use support::stand_in::StandIn;
use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::mining::{Mining, MiningFault, Operation, contents};
use tidemark::error::{Error, ErrorKind};
use tidemark::odbc::{Connection, Field};
use tidemark::position::Scn;
use tidemark::row::zone::Zone;
use tidemark::split::TableName;

fn number(connection: &mut Connection, query: tidemark::dialect::Query) -> i64 {
    connection.rows(&query.sql, &query.columns).unwrap()[0][0]
        .int()
        .unwrap()
}

/// Path, first and last scn of the files, in log order.
fn files(connection: &mut Connection) -> Vec<(String, i64, i64)> {
    let query = Dameng.archives();
    let mut files: Vec<_> = connection
        .rows(&query.sql, &query.columns)
        .unwrap()
        .iter()
        .map(|row| {
            (
                row[0].text().unwrap().to_owned(),
                row[1].int().unwrap(),
                row[2].int().unwrap(),
            )
        })
        .collect();
    files.sort_by_key(|file| file.1);
    files
}

fn fault(error: &Error) -> Option<MiningFault> {
    match error.kind() {
        ErrorKind::Statement { native, .. } => Dameng.fault(*native),
        other => panic!("{other}"),
    }
}

#[test]
fn the_servers_setup_is_judged_by_what_it_says() {
    let mut connection = StandIn::shared().connect();
    let query = Dameng.setup();
    let rows = connection.rows(&query.sql, &query.columns).unwrap();
    let settings: Vec<(String, String)> = rows
        .iter()
        .map(|row| (row[0].text().unwrap().to_owned(), row[1].text().unwrap().to_owned()))
        .collect();
    assert_eq!(settings.len(), 4);
    Dameng.judge_setup(&settings).unwrap();
}

#[test]
fn a_session_gives_the_records_of_the_captured_tables_and_every_transactions_end() {
    let stand_in = StandIn::shared();
    let mut connection = stand_in.connect();
    stand_in.psql(
        r#"create schema "MINE"; create table "MINE"."T" ("ID" int primary key, "V" varchar(8000));
           create table "MINE"."OTHER" ("ID" int primary key)"#,
    );
    let from = number(&mut connection, Dameng.visible_end());
    stand_in.psql(r#"insert into "MINE"."T" values (1, repeat('ж', 3000))"#);
    stand_in.psql(r#"insert into "MINE"."OTHER" values (1)"#);
    stand_in.psql(r#"begin; insert into "MINE"."T" values (2, 'x'); rollback"#);
    let to = number(&mut connection, Dameng.visible_end());
    assert!(to > from);
    let incarnation = number(&mut connection, Dameng.incarnation());
    assert!(incarnation != 0);
    let open = Dameng.open_transactions();
    connection.rows(&open.sql, &open.columns).unwrap();
    // The archives follow the log by themselves.
    while files(&mut connection).last().unwrap().2 < to {
        std::thread::yield_now();
    }

    for (nth, file) in files(&mut connection).iter().enumerate() {
        connection.execute(&Dameng.add_file(&file.0, nth == 0)).unwrap();
    }
    connection.execute(&Dameng.start(Scn(from as u64))).unwrap();
    let table = TableName {
        schema: "MINE".into(),
        name: "T".into(),
    };
    let query = Dameng.contents(&[&table]);
    let mut redo = Vec::new();
    let mut pieces = 0;
    let mut inserts = Vec::new();
    let mut ends = Vec::new();
    let mut cursor = connection.query(&query.sql, &query.columns, 100).unwrap();
    while let Some(batch) = cursor.next().unwrap() {
        let column = |number: usize| batch.column(number);
        for row in 0..batch.rows() {
            let scn = column(contents::SCN).int(row).unwrap();
            assert!(scn >= from);
            let xid = Dameng.xid(column(contents::XID).bytes(row).unwrap()).unwrap();
            let operation = Dameng.operation(column(contents::OPERATION).int(row).unwrap()).unwrap();
            let micros = Zone::UTC
                .epoch_micros(column(contents::TIMESTAMP).bytes(row).unwrap())
                .unwrap();
            assert!(micros > 1_700_000_000_000_000);
            match operation {
                Operation::Insert => {
                    assert_eq!(column(contents::OWNER).text(row).unwrap(), Some("MINE"));
                    assert_eq!(column(contents::TABLE).text(row).unwrap(), Some("T"));
                    assert!(column(contents::OBJECT).int(row).is_some_and(|object| object > 0));
                    assert!(!column(contents::ROW_ID).is_null(row));
                    assert_eq!(column(contents::SSN).int(row), Some(pieces));
                    redo.extend_from_slice(column(contents::REDO).bytes(row).unwrap());
                    pieces += 1;
                    if column(contents::CONTINUED).int(row) == Some(0) {
                        inserts.push((xid, String::from_utf8(std::mem::take(&mut redo)).unwrap()));
                        pieces = 0;
                    }
                }
                Operation::Commit | Operation::Rollback => ends.push((xid, operation)),
                Operation::Start => assert!(column(contents::TABLE).bytes(row).is_none_or(<[u8]>::is_empty)),
                other => panic!("{other:?}"),
            }
        }
    }
    drop(cursor);
    connection.execute(&Dameng.end()).unwrap();

    let long = format!(
        "INSERT INTO \"MINE\".\"T\"(\"ID\", \"V\") VALUES(1, '{}')",
        "ж".repeat(3000)
    );
    let short = "INSERT INTO \"MINE\".\"T\"(\"ID\", \"V\") VALUES(2, 'x')".to_owned();
    assert_eq!(
        inserts.iter().map(|insert| &insert.1).collect::<Vec<_>>(),
        [&long, &short]
    );
    let end_of = |wanted| {
        ends.iter()
            .find(|(xid, _)| *xid == wanted)
            .map(|(_, operation)| *operation)
    };
    assert_eq!(end_of(inserts[0].0), Some(Operation::Commit));
    assert_eq!(end_of(inserts[1].0), Some(Operation::Rollback));
    // The other table's transaction: its end is there, its row is not.
    assert!(ends.len() >= 3);
}

#[test]
fn mining_faults_are_told_by_their_numbers() {
    let mut connection = StandIn::shared().connect();
    let error = connection.execute(&Dameng.end()).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::NoSession));
    let error = connection.execute(&Dameng.start(Scn(1))).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::NoFiles));
    let error = connection
        .execute(&Dameng.add_file("/no/such/file's.log", true))
        .unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::MissingFile));
    let file = files(&mut connection).pop().unwrap();
    connection.execute(&Dameng.add_file(&file.0, true)).unwrap();
    let error = connection.execute(&Dameng.add_file(&file.0, false)).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::DuplicateFile));
    let contents = Dameng.contents(&[]);
    let error = connection.rows(&contents.sql, &contents.columns).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::NotStarted));
    connection.execute(&Dameng.start(Scn(file.1 as u64))).unwrap();
    let error = connection.execute(&Dameng.start(Scn(1))).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::AlreadyStarted));
    let error = connection.execute(&Dameng.add_file(&file.0, false)).unwrap_err();
    assert_eq!(fault(&error), Some(MiningFault::TooLate));
    connection.execute(&Dameng.end()).unwrap();
    assert_eq!(
        connection.rows("SELECT 1", &[tidemark::odbc::ColumnSpec::Int]).unwrap(),
        [[Field::Int(1)]]
    );
}
