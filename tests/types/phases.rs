//! The same rows as the snapshot and as the log give them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidemark::catalog::key::KeyCodec;
use tidemark::catalog::{Table, load};
use tidemark::dialect::dameng::Dameng;
use tidemark::error::Result;
use tidemark::log::logminer::changes;
use tidemark::log::logminer::opener::LogMiner;
use tidemark::log::logminer::reader::Settings;
use tidemark::log::{Changes, LogEvent, LogReader};
use tidemark::odbc::Connection;
use tidemark::row::codec::{CapturedTable, Codec, OnValueError};
use tidemark::row::layout::{DeclaredColumn, FlinkType, OutputSource, natural, resolve};
use tidemark::row::value::Image;
use tidemark::row::zone::Zone;
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::snapshot::select::PageReader;
use tidemark::snapshot::{PageLimit, PageRows, PageSource};
use tidemark::split::{Chunk, KeyRange, TableName};

use crate::binary_row::{Read, read};
use crate::support::stand_in::StandIn;

const PATIENCE: Duration = Duration::from_secs(60);

/// Rows by key.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A table that is captured.
pub struct Captured {
    /// Its description.
    pub table: Arc<Table>,
    log: Box<dyn LogReader>,
    connect: Box<dyn Fn() -> Connection>,
}

impl Captured {
    /// A table from here on.
    pub fn new(stand_in: &'static StandIn, schema: &str, name: &str) -> Captured {
        Captured::over(schema, name, move || stand_in.connect())
    }

    /// The same over connections of another kind.
    pub fn over(schema: &str, name: &str, connect: impl Fn() -> Connection + 'static) -> Captured {
        let name = TableName {
            schema: schema.into(),
            name: name.into(),
        };
        let table = Arc::new(load(&mut connect(), &Dameng, &name).unwrap());
        let whole = vec![changes::CapturedTable::whole(table.clone())];
        let (_, log) = LogMiner::new(Arc::new(Dameng), whole, Settings::default())
            .open_new(connect())
            .unwrap();
        Captured {
            table,
            log,
            connect: Box::new(connect),
        }
    }

    /// An encoder into these types, column by column; what does not fit goes out as NULL.
    pub fn codec(&self, kinds: &[FlinkType], zone: &str) -> Arc<Codec> {
        let declared: Vec<DeclaredColumn> = self
            .table
            .columns
            .iter()
            .zip(kinds)
            .map(|(column, kind)| declared(&column.name, *kind))
            .collect();
        self.codec_of(&declared, zone, OnValueError::Null)
    }

    /// An encoder of declared columns.
    pub fn codec_of(&self, declared: &[DeclaredColumn], zone: &str, on_error: OnValueError) -> Arc<Codec> {
        let captured = CapturedTable {
            table: (*self.table).clone(),
            key: Arc::new(KeyCodec::new(&self.table).unwrap()),
            columns: resolve(declared, &self.table).unwrap(),
        };
        Arc::new(Codec::new(
            vec![captured],
            "DAMENG",
            Zone::parse(zone).unwrap(),
            on_error,
        ))
    }

    /// The natural types of the columns.
    pub fn natural(&self) -> Vec<FlinkType> {
        let kind = |column: &tidemark::catalog::Column| natural(&column.kind).unwrap();
        self.table.columns.iter().map(kind).collect()
    }

    /// The table as the snapshot reads it.
    pub fn snapshot(&self, codec: &Arc<Codec>) -> Result<Rows> {
        let tables = [(self.table.clone(), codec.needed_columns(0))];
        let mut reader = PageReader::new((self.connect)(), Arc::new(Dameng), codec.clone(), &tables, 100)?;
        let chunk = Chunk {
            table: self.table.name.clone(),
            range: KeyRange {
                lower: None,
                upper: None,
            },
        };
        let mut rows = PageRows::default();
        let limit = PageLimit {
            rows: 100_000,
            bytes: usize::MAX,
        };
        assert_eq!(reader.select(&chunk, limit, &mut rows)?, None);
        let row = |number| (rows.key(number).to_vec(), rows.row(number).to_vec());
        Ok((0..rows.len()).map(row).collect())
    }

    /// What was committed since the last call.
    pub fn changes(&mut self) -> Result<Vec<Changes>> {
        let end = self.log.visible_end()?;
        let mut all = Vec::new();
        let waited = Instant::now();
        while self.log.progress().complete_to.is_none_or(|complete| complete < end) {
            if let Some(LogEvent::Fragment(fragment)) = self.log.poll()? {
                all.push(fragment.changes);
            }
            assert!(waited.elapsed() < PATIENCE);
        }
        Ok(all)
    }

    /// Fails with the columns in which rows differ.
    pub fn require_same(&self, kinds: &[FlinkType], left: &Rows, right: &Rows, what: &str) {
        assert_eq!(left.len(), right.len(), "{what}");
        for (key, row) in left {
            let other = right
                .get(key)
                .unwrap_or_else(|| panic!("{what}: key {key:?} is missing"));
            if row == other {
                continue;
            }
            let (fields, others) = (read(row, kinds).1, read(other, kinds).1);
            for (column, (field, other)) in self.table.columns.iter().zip(fields.iter().zip(&others)) {
                assert_eq!(field, other, "{what}: {} {:?}", column.name, column.kind);
            }
            panic!("{what}: {row:?} {other:?}");
        }
    }

    /// Fields of a row by column name.
    pub fn fields(&self, kinds: &[FlinkType], row: &[u8]) -> BTreeMap<String, Read> {
        let names = self.table.columns.iter().map(|column| column.name.clone());
        names.zip(read(row, kinds).1).collect()
    }
}

/// Images of changes as rows of the snapshot, so that their bytes can be compared.
pub fn rows(codec: &Codec, changes: &[Changes], image: impl Fn(&tidemark::log::Change) -> Option<Image>) -> Rows {
    let mut rows = Rows::new();
    for changes in changes {
        for change in &changes.rows {
            let Some(image) = image(change) else { continue };
            let (mut key, mut row) = (Vec::new(), Vec::new());
            codec.key(0, &changes.values, image, &mut key).unwrap();
            codec
                .row(
                    0,
                    RowKind::Insert,
                    &changes.values,
                    image,
                    &RowOrigin::default(),
                    &mut row,
                )
                .unwrap();
            assert_eq!(rows.insert(key, row), None, "a row came twice");
        }
    }
    rows
}

/// A column as a job declares it.
pub fn declared(name: &str, kind: FlinkType) -> DeclaredColumn {
    let text = kind.to_string();
    let (precision, scale) = match kind {
        FlinkType::Decimal { precision, scale } => (Some(precision), Some(scale)),
        FlinkType::Time { precision } | FlinkType::Timestamp { precision } | FlinkType::TimestampLtz { precision } => {
            (Some(precision), None)
        }
        _ => (None, None),
    };
    DeclaredColumn {
        name: name.to_owned(),
        type_name: text.split('(').next().unwrap_or(&text).to_owned(),
        precision,
        scale,
        length: None,
        nullable: true,
        metadata: None,
    }
}

/// Every type of Flink that a column may be declared as.
pub fn possible(table: &Table, column: usize) -> Vec<FlinkType> {
    let name = &table.columns[column].name;
    let fits = |kind: &FlinkType| {
        resolve(&[declared(name, *kind)], table)
            .is_ok_and(|found| matches!(found[0].source, OutputSource::Column(number) if number == column))
    };
    KINDS.into_iter().filter(fits).collect()
}

/// Every type of Flink that there is for columns, lengths and precisions aside.
pub const KINDS: [FlinkType; 18] = [
    FlinkType::Boolean,
    FlinkType::TinyInt,
    FlinkType::SmallInt,
    FlinkType::Int,
    FlinkType::BigInt,
    FlinkType::Float,
    FlinkType::Double,
    FlinkType::Decimal {
        precision: 38,
        scale: 18,
    },
    FlinkType::Char { length: 20 },
    FlinkType::VarChar {
        length: i32::MAX as u32,
    },
    FlinkType::Binary { length: 20 },
    FlinkType::VarBinary {
        length: i32::MAX as u32,
    },
    FlinkType::Date,
    FlinkType::Time { precision: 3 },
    FlinkType::Timestamp { precision: 9 },
    FlinkType::Timestamp { precision: 3 },
    FlinkType::TimestampLtz { precision: 9 },
    FlinkType::TimestampLtz { precision: 0 },
];
