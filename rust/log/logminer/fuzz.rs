//! Damaged rows of mining, and damaged redo texts. (`tests/redo_sql` holds what is read of texts against another parser.)

use std::sync::Arc;

use crate::catalog::text_order::TextOrder;
use crate::catalog::{Column, ColumnType, Table};
use crate::dialect::dameng::Dameng;
use crate::dialect::mining::Mining;
use crate::error::{Error, ErrorKind, Result};
use crate::fuzz::Target;
use crate::log::captured::CapturedTable;
use crate::log::logminer::reader::{LogMinerReader, Settings};
use crate::log::logminer::redo_sql::{Layout, Operation, Parser, Row, Value};
use crate::log::logminer::source::{
    Archive, ContentsRow, KnownTimes, LogSource, MiningCall, MissingFile, OpenTransaction,
};
use crate::log::{LogEvent, LogReader, OnFault, Opening};
use crate::position::{Incarnation, Position, Scn, Xid};
use crate::split::TableName;

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "redo text",
        files: &[
            "log/logminer/redo_sql/cursor.rs",
            "log/logminer/redo_sql/decode.rs",
            "log/logminer/redo_sql/grammar.rs",
            "log/logminer/redo_sql/json.rs",
            "log/logminer/redo_sql/large.rs",
            "log/logminer/redo_sql/layout.rs",
            "log/logminer/redo_sql/lenient.rs",
            "log/logminer/redo_sql/literal.rs",
            "log/logminer/redo_sql/mod.rs",
            "log/logminer/redo_sql/scan.rs",
            "log/logminer/redo_sql/statement.rs",
            "log/logminer/redo_sql/token.rs",
            "log/logminer/redo_sql/value.rs",
        ],
        corpus: || {
            let texts = cases().map(|(operation, sql)| [&[operation], sql.as_bytes()].concat());
            texts.filter(|input| redo_text(input)).collect()
        },
        words: &[
            "'",
            "''",
            "\"",
            "(",
            ")",
            ",",
            ";",
            "||",
            " AND ",
            " WHERE ",
            " SET ",
            "UNISTR('",
            "\\D83D",
            "TIMESTAMP'",
            "OUT_CLOB",
            "0x",
            "NULL",
            " IS NULL",
            "/*",
            "*/",
            "INTERVAL'1' DAY",
            "Unsupported Type",
            "ROWID",
            "EMPTY_BLOB()",
            "TO_DATE(",
            "HEXTORAW('",
            "dbms_lob.write(",
            "F(",
        ],
        read: redo_text,
        ..Target::USUAL
    },
    Target {
        name: "rows of mining",
        files: &[
            "log/logminer/changes.rs",
            "log/logminer/contents.rs",
            "log/logminer/history.rs",
            "log/logminer/reader.rs",
            "log/logminer/session.rs",
            "log/logminer/shape.rs",
            "log/logminer/windows.rs",
        ],
        corpus: || {
            let logs = [LOG, UNDONE, ALTERED];
            logs.map(|log| log.as_bytes().to_vec()).into()
        },
        words: &[
            "|6|",
            "|7|",
            "|36|",
            "|1|",
            "|3|",
            "|5|",
            "|255|",
            "|13|",
            "\n",
            "|",
            "100|9|7|0||||0|0||||0|0|2024-01-31 12:00:00|\n",
            "T",
            "S",
            "1343",
            "2",
        ],
        inputs: 12_000,
        long: 12,
        read: mined,
        // A row is a record with its text, its places in several maps, and what comes of it.
        bytes_a_byte: 1_500,
        bytes: 1 << 20,
    },
];

/// The operations' numbers and the texts of the published cases.
fn cases() -> impl Iterator<Item = (u8, String)> {
    let cases = include_str!("../../../tests/cases/sql_redo.jsonl").lines();
    cases.filter_map(|case| {
        let case: serde_json::Value = serde_json::from_str(case).ok()?;
        let operation = Operation::from_name(case["op"].as_str()?)?;
        let number = OPERATIONS.iter().position(|other| *other == operation)?;
        Some((number as u8, case["sql"].as_str()?.to_owned()))
    })
}

const OPERATIONS: [Operation; 8] = [
    Operation::Insert,
    Operation::Update,
    Operation::Delete,
    Operation::SelectLobLocator,
    Operation::LobWrite,
    Operation::LobTrim,
    Operation::LobErase,
    Operation::XmlWrite,
];

fn redo_text(input: &[u8]) -> bool {
    let Some((&operation, text)) = input.split_first() else {
        return false;
    };
    let operation = OPERATIONS[usize::from(operation) % OPERATIONS.len()];
    let strict = Parser::new(false).parse(operation, text);
    let lenient = Parser::new(true).parse(operation, text);
    let Ok(statement) = strict else {
        return false;
    };
    // What the strict one reads, the lenient one reads as that.
    let same = lenient.unwrap();
    assert_eq!((&statement.values, &statement.set), (&same.values, &same.set));
    let inside = |bytes: &[u8]| {
        bytes.is_empty()
            || text.as_ptr_range().contains(&bytes.as_ptr())
            || b"TRUEFALSE".windows(bytes.len()).any(|word| word == bytes)
    };
    let all = statement
        .values
        .iter()
        .chain(&statement.set)
        .chain(&statement.conditions);
    for (name, value) in all {
        assert!(inside(name.raw) && inside(value.bytes()));
        let mut decoded = Vec::new();
        let _ = value.decode_text(&mut decoded);
        // Three bytes of UTF-8 at most for the four digits of a code.
        assert!(decoded.len() <= value.bytes().len().max(1) * 3);
        if let Value::Call(call) = value {
            assert!(call.args().count() <= text.len());
        }
    }
    let _ = statement.to_json();
    if let (Operation::Insert | Operation::Update | Operation::Delete, Some(table)) =
        (statement.operation, statement.table)
    {
        let (mut owner, mut name) = (Vec::new(), Vec::new());
        table.decode_into(&mut name);
        let owner = statement.owner.map(|of| {
            of.decode_into(&mut owner);
            owner
        });
        let columns = [b"ORDER_ID".to_vec(), b"BUYER".to_vec(), b"QTY".to_vec()];
        let mut layout = Layout::new(owner.as_deref(), &name, &columns);
        let mut row = Row::default();
        // Once it has learnt how the text is built it says the same as before.
        let parser = Parser::new(false);
        let first = parser.parse_row(operation, text, &mut layout, &mut row).is_ok();
        let images = |row: &Row<'_>| {
            format!(
                "{:?}",
                (0..3)
                    .map(|column| (row.before(column), row.after(column)))
                    .collect::<Vec<_>>()
            )
        };
        let learnt = images(&row);
        let mut row = Row::default();
        assert_eq!(parser.parse_row(operation, text, &mut layout, &mut row).is_ok(), first);
        assert!(first && images(&row) == learnt);
    }
    true
}

/// Rows of the view, a line each: scn, transaction, code, mark, owner, table, row, object, its version, record set, number, continued,
/// status, time, text.
const LOG: &str = "\
10|1|6|0|||||0||0|0|0|2024-01-31 12:00:00|
11|1|1|0|S|T|R1|100|1|0x1|1|0|0||INSERT INTO \"S\".\"T\"(\"ID\", \"V\") VALUES(1, 'it''s')
11|2|6|0|||||0||0|0|0|2024-01-31 12:00:00|
12|2|1|0|S|T|R2|100|1|0x2|1|1|0||INSERT INTO \"S\".\"T\"(\"ID\", \"V\") VALUES(2,
12|2|1|0|S|T|R2|100|1|0x2|2|0|0|| 'two')
13|1|3|0|S|T|R1|100|1|0x1|2|0|0||UPDATE \"S\".\"T\" SET \"V\" = NULL WHERE \"ID\" = 1 AND \"V\" = 'it''s'
14|1|7|0||||0|0||0|0|0|2024-01-31 12:00:01|
14|2|7|0||||0|0||0|0|0|2024-01-31 12:00:01|
";

const UNDONE: &str = "\
10|1|6|0|||||0||0|0|0|2024-01-31 12:00:00|
11|1|1|0|S|T|R1|100|1|0x1|1|0|0||INSERT INTO \"S\".\"T\"(\"ID\", \"V\") VALUES(1, 'x')
12|1|2|1|S|T|R1|100|1|0x1|2|0|0||DELETE FROM \"S\".\"T\" WHERE \"ID\" = 1 AND \"V\" = 'x'
13|1|1|0|S|T|R2|100|1|0x1|3|0|0||INSERT INTO \"S\".\"T\"(\"ID\", \"V\") VALUES(2, OUT_CLOB)
14|3|6|0|||||0||0|0|0||
15|3|36|0||||0|0||0|0|0||
16|1|15|0||||0|0||0|0|0||
17|1|38|0||||0|0||0|0|0|2024-01-31 12:00:01.5|
";

const ALTERED: &str = "\
10|1|6|0|||||0||0|0|0|2024-01-31 12:00:00|
11|1|5|0|S|T||100|1|0x1|1|0|0||ALTER TABLE \"S\".\"T\" ADD \"N\" INT
12|1|7|0||||0|0||0|0|0|2024-01-31 12:00:01|
13|2|6|0|||||0||0|0|0|2024-01-31 12:00:00|
14|2|2|0|S|T|R1|100|2|0x1|1|0|0||DELETE FROM \"S\".\"T\" WHERE \"ID\" = 1 AND \"V\" IS NULL
15|2|37|0||||0|0||0|0|0||
16|2|7|0||||0|0||0|0|0|2024-01-31 12:00:01|
";

/// Reads a log to its end, or to its first error.
fn mined(log: &[u8]) -> bool {
    let opening = Opening {
        mine_from: Scn(0),
        position: Position::before(Scn(0)),
    };
    let (mut outcomes, mut seen) = (Vec::new(), Vec::new());
    for on_fault in [OnFault::Fail, OnFault::Skip] {
        let settings = Settings {
            on_corruption: on_fault,
            on_mismatch: on_fault,
            on_lost_start: on_fault,
            ..Settings::default()
        };
        let mut reader = LogMinerReader::open(
            Lines(log),
            vec![CapturedTable::whole(Arc::new(table()))],
            settings,
            opening,
        )
        .unwrap();
        let mut changes = Vec::new();
        let mut position = reader.progress().position;
        let outcome = loop {
            match reader.poll() {
                Ok(Some(LogEvent::Fragment(fragment))) => {
                    for row in &fragment.changes.rows {
                        assert!(row.before.is_some() || row.after.is_some());
                        changes.push((fragment.head.commit, fragment.head.xid, row.place));
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            assert!(reader.progress().position >= position);
            position = reader.progress().position;
        };
        // In the order of commits, and each record once.
        assert!(changes.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{changes:?}");
        let mut places: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0] != pair[1]), "{places:?}");
        let lines = log.split(|&byte| byte == b'\n').count();
        assert!(changes.len() <= lines);
        if let Err(error) = &outcome {
            assert!(!error.to_string().contains("TM-9"), "{error}");
        }
        outcomes.push(outcome);
        seen.push(changes);
    }
    // Where nothing is wrong there is nothing to skip.
    if outcomes[0].is_ok() {
        assert!(outcomes[1].is_ok());
        assert_eq!(seen[0], seen[1]);
    }
    outcomes[0].is_ok()
}

fn table() -> Table {
    table_of("S", "T", "V")
}

fn table_of(schema: &str, table: &str, value: &str) -> Table {
    let column = |name: &str, kind| Column {
        name: name.into(),
        kind,
        nullable: true,
        is_virtual: false,
        collated: false,
    };
    let text = ColumnType::Text {
        length: Some(100),
        padded: false,
    };
    Table {
        name: Arc::new(TableName {
            schema: schema.into(),
            name: table.into(),
        }),
        object_id: 100,
        version: 1,
        columns: vec![column("ID", ColumnType::Integer { bits: 64 }), column(value, text)],
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: TextOrder::BYTES,
    }
}

/// A log as one file, its rows lines.
struct Lines<'l>(&'l [u8]);

/// The row that a line says.
fn row(line: &[u8]) -> Option<ContentsRow<'_>> {
    let fields: Vec<&[u8]> = line.splitn(15, |&byte| byte == b'|').collect();
    let [
        scn,
        xid,
        code,
        mark,
        owner,
        table,
        row_id,
        object,
        version,
        rs_id,
        ssn,
        continued,
        status,
        time,
        redo,
    ] = fields[..]
    else {
        return None;
    };
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<i64>().ok();
    let text = |bytes| (!<[u8]>::is_empty(bytes)).then_some(bytes);
    let code = number(code)?;
    Some(ContentsRow {
        scn: Scn(number(scn)? as u64),
        xid: Xid(number(xid)? as u64),
        code,
        operation: Dameng.operation(code),
        roll_back: mark == b"1",
        owner,
        table,
        row_id,
        object_id: number(object).unwrap_or(0) as u64,
        object_version: number(version).unwrap_or(0) as u32,
        redo: text(redo),
        rs_id,
        ssn: number(ssn).unwrap_or(0) as u32,
        continued: continued == b"1",
        status: number(status).unwrap_or(0) as i32,
        time: text(time),
    })
}

impl LogSource for Lines<'_> {
    fn archives(&mut self) -> Result<Vec<Archive>> {
        let scns = self.0.split(|&byte| byte == b'\n').filter_map(row).map(|row| row.scn);
        Ok(vec![Archive {
            path: "one".into(),
            first: Scn(1),
            last: scns.max().unwrap_or(Scn(1)),
            previous: Scn(0),
            sequence: 1,
            bytes: self.0.len() as u64,
            active: true,
        }])
    }

    fn visible_end(&mut self) -> Result<Scn> {
        Ok(Scn(0))
    }

    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>> {
        Ok(Vec::new())
    }

    fn known_times(&mut self, _local: &str) -> Result<KnownTimes> {
        Ok(KnownTimes::default())
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        Ok(Incarnation(1))
    }

    fn switch_log(&mut self) -> Result<()> {
        Err(ErrorKind::Closed.into())
    }

    fn mine(&mut self, call: &MiningCall<'_>, take: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let mut rows: Vec<ContentsRow<'_>> = self.0.split(|&byte| byte == b'\n').filter_map(row).collect();
        rows.sort_by_key(|row| row.scn);
        rows.iter().filter(|row| row.scn >= call.from).try_for_each(take)
    }

    fn missing_file(&self, _error: &Error) -> Option<MissingFile> {
        None
    }

    fn check_setup(&mut self) -> Result<()> {
        Ok(())
    }
}

/// As long as the database lets a name be, in quotes and in characters of three bytes; texts that are cut inside of one.
#[test]
fn names_of_128_bytes_that_are_sql_are_captured() {
    let long = format!("{}'\"", "\u{8ba2}".repeat(42));
    let (schema, value) = ("x'; DROP TABLE t; --", format!("\"{}\u{e9}", "$$\\".repeat(41)));
    assert_eq!((long.len(), value.len()), (128, 126));
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let text = "\u{4e2d}'; DROP TABLE t; --\\";
    let names = [schema, &long, "ID", &value].map(quoted);
    let [owner, table, id, column] = &names;
    let redo = format!(
        "INSERT INTO {owner}.{table}({id}, {column}) VALUES(7, '{}')",
        text.replace('\'', "\'\'")
    );
    let mut log = b"10|1|6|0|||||0||0|0|0|2024-01-31 12:00:00|\n".to_vec();
    let pieces: Vec<&[u8]> = redo.as_bytes().chunks(100).collect();
    for (nth, piece) in pieces.iter().enumerate() {
        let continued = u8::from(nth + 1 < pieces.len());
        log.extend(format!("11|1|1|0|{schema}|{long}|R1|100|1|0x1|{nth}|{continued}|0||").bytes());
        log.extend(*piece);
        log.push(b'\n');
    }
    log.extend(b"12|1|7|0||||0|0||0|0|0|2024-01-31 12:00:01|\n");
    let opening = Opening {
        mine_from: Scn(0),
        position: Position::before(Scn(0)),
    };
    let captured = CapturedTable::whole(Arc::new(table_of(schema, &long, &value)));
    let mut reader = LogMinerReader::open(Lines(&log), vec![captured], Settings::default(), opening).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = reader.poll().unwrap() {
        if let LogEvent::Fragment(fragment) = event {
            for row in &fragment.changes.rows {
                let image = row.after.unwrap();
                let values = [0, 1].map(|column| format!("{:?}", fragment.changes.values.get(image, column)));
                seen.push(values);
            }
        }
    }
    let expected = [format!("Number({:?})", b"7"), format!("Text({:?})", text.as_bytes())];
    assert_eq!(seen, [expected]);
}
