//! Rounds over the reader that mines.

use std::sync::Arc;

use tidemark::catalog::{Column, ColumnType, Table};
use tidemark::error::{ErrorKind, Result};
use tidemark::log::logminer::changes::CapturedTable;
use tidemark::log::logminer::reader::{LogMinerReader, Settings};
use tidemark::position::{CommitPosition, Point, Scn};
use tidemark::row::value::{Image, Value, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::page::{RoundLimits, Rounds};
use tidemark::snapshot::{PageLimit, PageRounds, PageRows};
use tidemark::split::{Chunk, KeyRange, TableName};

use crate::mined_log::{Line, ScriptedLog};
use crate::scripted::{StillClock, patience, selected, texts};

/// Key and row are the number in the first column.
struct Numbers;

impl RowCodec for Numbers {
    fn key(&self, _: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        match values.get(image, 0) {
            Value::Number(digits) => {
                out.extend_from_slice(digits);
                Ok(())
            }
            other => Err(ErrorKind::Internal(format!("{other:?}")).into()),
        }
    }

    fn row(
        &self,
        table: u32,
        _: RowKind,
        values: &ValueBuffer,
        image: Image,
        _: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.key(table, values, image, out)
    }
}

fn table() -> Arc<Table> {
    Arc::new(Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 7,
        version: 0,
        columns: vec![Column {
            name: "ID".into(),
            kind: ColumnType::Integer { bits: 64 },
            nullable: false,
            is_virtual: false,
            collated: false,
        }],
        key: vec![0],
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: tidemark::catalog::text_order::TextOrder::BYTES,
    })
}

/// What is in a page is in its point: also when a record in front of the transaction has just shown that the log is
/// read far enough.
#[test]
fn the_point_includes_every_transaction_that_corrected_the_page() {
    for between in 0..4 {
        let mut lines = vec![Line::new(10, 1, 6)];
        lines.push(Line::dml(11, 1, 1, "R1", r#"INSERT INTO "S"."T"("ID") VALUES(1)"#));
        lines.extend((0..between).map(|nth| Line::new(12 + nth, 2 + nth, 6)));
        lines.push(Line::new(20, 1, 7));
        lines.push(Line::new(21, 9, 6));
        let log = ScriptedLog::new(lines, Vec::new());
        log.script().archived = 1;
        log.script().visible = Some(11);
        let captured = vec![CapturedTable::whole(table())];
        let (opening, reader) = LogMinerReader::open_new(log.clone(), captured, Settings::default()).unwrap();
        let limits = RoundLimits {
            page: PageLimit { rows: 10, bytes: 1000 },
            round_bytes: 1000,
            visibility: patience(10),
            log_end: patience(10),
        };
        let mut clock = StillClock::default();
        let mut rounds = Rounds::new(Box::new(reader), Arc::new(Numbers), opening.position, limits);
        let ticket = rounds.begin_page(&mut clock).unwrap();
        let chunk = Chunk {
            table: table().name.clone(),
            range: KeyRange::ALL,
        };
        rounds
            .add_page(ticket, selected(0, chunk, PageRows::default(), None))
            .unwrap();
        let written = log.script().lines.len();
        log.script().archived = written;
        let page = rounds.close(&mut clock).unwrap().pages.remove(0);
        let commit = CommitPosition { scn: Scn(20), nth: 0 };
        let Point::Position(point) = page.point else {
            panic!("{:?}", page.point)
        };
        assert_eq!(
            texts(&page.rows).len(),
            usize::from(point.includes(commit)),
            "{between}: {point}"
        );
    }
}
