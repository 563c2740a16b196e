//! A job's reader over the stand-in, driven as Flink drives it. A bench uses a part of it.

#![allow(dead_code)]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidemark::config::Config;
use tidemark::database::Database;
use tidemark::enumerator::survey::{Survey, Surveyor};
use tidemark::error::{Error, Result};
use tidemark::log::LogStart;
use tidemark::reader;
use tidemark::reader::api::{Message, SourceReader};
use tidemark::reader::batch::Batch;
use tidemark::split::{Chunk, Split, StreamSplit, TableName, ToEnumerator};

use crate::support::stand_in::StandIn;

/// Longest wait for what must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A row as it left the reader: kind, `ID`, and `N` if it is not NULL.
pub type Row = (u8, i64, Option<i32>);

pub struct Job {
    pub database: Arc<Database>,
    pub reader: Arc<dyn SourceReader>,
    table: TableName,
}

impl Job {
    /// A job over `ID`, `N` and `V` of table `T` of a schema, with these options beside those that say where it is.
    pub fn new(stand_in: &StandIn, schema: &str, options: &[(&str, Value)]) -> Job {
        let columns = json!([
            {"name": "ID", "type": "BIGINT", "nullable": false},
            {"name": "N", "type": "INTEGER", "nullable": true},
            {"name": "V", "type": "VARCHAR", "length": 2147483647, "nullable": true},
        ]);
        Job::of(stand_in, schema, columns, options)
    }

    /// A job over other columns.
    pub fn of(stand_in: &StandIn, schema: &str, columns: Value, options: &[(&str, Value)]) -> Job {
        let mut all = json!({
            "username": stand_in.value("USER"),
            "password": stand_in.value("PASSWORD"),
            "hostname": stand_in.value("HOST"),
            "port": stand_in.value("PORT").parse::<u16>().unwrap(),
            "schema-name": schema,
            "table-name": "T",
            "odbc.driver": crate::support::DRIVER,
            "odbc.Database": stand_in.value("DATABASE"),
            "odbc.UseDeclareFetch": "1",
            "odbc.Fetch": "1",
            "odbc.Protocol": "7.4-1",
            "odbc.BoolsAsChar": "0",
        });
        for (name, value) in options {
            all[*name] = value.clone();
        }
        let config = json!({
            "connector": "dameng-cdc",
            "options": all,
            "columns": columns,
            "checkpointing": "aligned",
        });
        let config = Config::from_json(&config.to_string()).unwrap();
        let database = Database::new(Arc::new(config.clone())).unwrap();
        Job {
            reader: reader::open(&config, Arc::new(database.clone()), 0),
            database,
            table: TableName {
                schema: schema.into(),
                name: "T".into(),
            },
        }
    }

    pub fn survey(&self) -> Result<Box<dyn Survey>> {
        Surveyor::connect(&self.database, None)
    }

    /// All chunks of the table.
    pub fn chunks(&self) -> Vec<Chunk> {
        let mut survey = self.survey().unwrap();
        let mut chunks: Vec<Chunk> = Vec::new();
        loop {
            let lower = chunks.last().and_then(|chunk| chunk.range.upper.clone());
            chunks.extend(survey.cut(&self.table, lower.as_ref()).unwrap());
            if chunks.last().unwrap().range.upper.is_none() {
                return chunks;
            }
        }
    }

    /// Starts the reader on the table's rows; [`Job::rest_of_snapshot`] goes on.
    pub fn start_snapshot(&self) -> VecDeque<Chunk> {
        let chunks = self.chunks().into();
        self.reader.start().unwrap();
        chunks
    }

    /// Answers requests until all rows are out.
    pub fn rest_of_snapshot(&self, chunks: VecDeque<Chunk>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.drive(chunks, |batch| rows.extend(decode(batch)))?;
        Ok(rows)
    }

    /// Answers requests and hands batches on until all are out.
    pub fn drive(&self, mut chunks: VecDeque<Chunk>, mut take: impl FnMut(&Batch)) -> Result<()> {
        let mut quiet = Instant::now();
        loop {
            let message = self.reader.next(Duration::from_millis(50))?;
            if !matches!(message, Message::Nothing) {
                quiet = Instant::now();
            }
            match message {
                Message::Nothing => assert!(quiet.elapsed() < PATIENCE, "the snapshot does not end"),
                Message::End => return Ok(()),
                Message::Rows(batch) => {
                    take(&batch);
                    self.reader.consumed(batch.number())?;
                }
                Message::Events(events) => {
                    for _ in events.iter().filter(|event| **event == ToEnumerator::Request) {
                        match chunks.pop_front() {
                            Some(chunk) => self.reader.add_splits(vec![Split::Chunk(chunk)])?,
                            None => self.reader.no_more_splits()?,
                        };
                    }
                }
            }
        }
    }

    /// The rows of the table.
    pub fn snapshot(&self) -> Result<Vec<Row>> {
        let chunks = self.start_snapshot();
        let rows = self.rest_of_snapshot(chunks);
        self.reader.close();
        rows
    }

    /// Starts the reader on the log from now on.
    pub fn start_stream(&self) {
        let mut survey = self.survey().unwrap();
        let split = StreamSplit {
            offset: survey.start_of_log(LogStart::Latest).unwrap(),
            end: None,
            needed: 0,
            ranges: Vec::new(),
            tables: Vec::new(),
            partitions: Vec::new(),
        };
        self.reader.start().unwrap();
        self.reader.add_splits(vec![Split::Stream(split)]).unwrap();
    }

    /// The next rows of the log, so many.
    pub fn stream(&self, count: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let begun = Instant::now();
        while rows.len() < count {
            assert!(begun.elapsed() < PATIENCE, "{} of {count} rows came", rows.len());
            if let Message::Rows(batch) = self.reader.next(Duration::from_millis(50))? {
                rows.extend(decode(&batch));
                self.reader.consumed(batch.number())?;
            }
        }
        Ok(rows)
    }

    /// What the log phase fails with.
    pub fn stream_error(&self) -> Error {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "the log phase does not fail");
            match self.reader.next(Duration::from_millis(50)) {
                Ok(Message::Rows(batch)) => drop(self.reader.consumed(batch.number()).unwrap()),
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }

    pub fn metric(&self, name: &str) -> i64 {
        let metrics = self.reader.metrics();
        metrics.iter().find(|metric| metric.name == name).unwrap().value
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.reader.close();
    }
}

/// The rows of a batch: of Flink's layout only what three columns need.
fn decode(batch: &Batch) -> Vec<Row> {
    const NULLS: usize = 8;
    let bytes = batch.bytes();
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let table = u32_at(16);
    (0..batch.rows() as usize)
        .map(|row| {
            let row = &bytes[u32_at(table + 4 * row)..];
            let id = i64::from_le_bytes(row[NULLS..NULLS + 8].try_into().unwrap());
            let n = i32::from_le_bytes(row[NULLS + 8..NULLS + 12].try_into().unwrap());
            let is_null = row[1] & 0b10 != 0;
            (row[0], id, (!is_null).then_some(n))
        })
        .collect()
}
