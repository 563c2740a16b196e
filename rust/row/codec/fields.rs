//! The fields of a row.

use std::sync::atomic::Ordering;

use crate::catalog::ColumnType;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{Scn, Xid};
use crate::row::codec::plan::{Plan, Source};
use crate::row::codec::{Codec, OnValueError};
use crate::row::convert::{Conversion, Refusal};
use crate::row::fields::Fields;
use crate::row::layout::{FlinkType, Metadata};
use crate::row::value::{Image, Value, ValueBuffer};
use crate::row::zone::Zone;
use crate::row::{RowKind, RowOrigin, Updates};

/// The row at hand.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) plan: &'a Plan,
    pub(super) kind: RowKind,
    pub(super) values: &'a ValueBuffer,
    pub(super) image: Image,
    pub(super) origin: &'a RowOrigin,
}

impl Codec {
    /// Writes all fields of a row.
    pub(super) fn fields<F: Fields>(&self, writer: &mut F, row: &Row<'_>) -> Result<()> {
        for (at, field) in row.plan.fields.iter().enumerate() {
            match &field.source {
                Source::Column(column, conversion) => {
                    let value = row.values.get(row.image, *column);
                    match value {
                        Value::Absent | Value::Unavailable if self.is_known_by_key(row, *column) => writer.put_null(at),
                        _ => self.column(writer, at, row, value, *conversion)?,
                    }
                }
                Source::Gone => null(writer, at, row)?,
                Source::Metadata(metadata, kind) => self
                    .metadata(writer, at, row, *metadata, *kind)
                    .map_err(|refusal| row.refused(at, refusal))?,
            }
        }
        Ok(())
    }

    /// Whether a column says nothing of a row: who keeps rows by their key needs no other column of one that leaves. Flink itself
    /// puts the row that it has in its place, and takes NULL until then for a column that is NOT NULL too.
    fn is_known_by_key(&self, row: &Row<'_>, column: usize) -> bool {
        let leaves = row.kind == RowKind::Delete && self.writer.updates() == Updates::After;
        leaves && !row.plan.table.key.contains(&column)
    }

    #[inline]
    fn column<F: Fields>(
        &self,
        writer: &mut F,
        at: usize,
        row: &Row<'_>,
        value: Value<'_>,
        conversion: Conversion,
    ) -> Result<()> {
        match value {
            Value::Null => return null(writer, at, row),
            Value::Absent => return Err(row.absent(at)),
            Value::Unavailable => return Err(row.unavailable(at)),
            _ => {}
        }
        match conversion.write(writer, at, value, &self.zone) {
            Ok(()) => Ok(()),
            Err(refusal) if self.on_error == OnValueError::Null && row.plan.fields[at].nullable => {
                writer.put_null(at);
                if self.nulled.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!(
                        "values go out as NULL, as value.on-error = 'null' asks for; the first: {}",
                        row.refused(at, refusal)
                    );
                }
                Ok(())
            }
            Err(refusal) => Err(row.refused(at, refusal)),
        }
    }

    fn metadata<F: Fields>(
        &self,
        writer: &mut F,
        at: usize,
        row: &Row<'_>,
        metadata: Metadata,
        kind: FlinkType,
    ) -> std::result::Result<(), Refusal> {
        let text = match metadata {
            Metadata::TableName => row.plan.table.name.name.as_str(),
            Metadata::SchemaName => row.plan.table.name.schema.as_str(),
            Metadata::DatabaseName => self.database.as_str(),
            Metadata::RowKind => row.kind.symbol(),
            Metadata::OpTs => {
                let micros = row.origin.commit_micros;
                let nanos = micros.rem_euclid(1_000_000) as u32 * 1_000;
                if let FlinkType::TimestampLtz { precision } = kind {
                    writer.put_instant(at, micros.div_euclid(1_000_000), nanos, precision);
                }
                return Ok(());
            }
            Metadata::Scn => return identity(writer, at, row.origin.scn.map(|Scn(scn)| scn), kind),
            Metadata::TransactionId => return identity(writer, at, row.origin.xid.map(|Xid(xid)| xid), kind),
            Metadata::Fragment => {
                let number = row.origin.part.map(|part| part.number.into());
                return identity(writer, at, number, kind);
            }
            Metadata::LastFragment => {
                match row.origin.part {
                    Some(part) => writer.put_bool(at, part.last),
                    None => writer.put_null(at),
                }
                return Ok(());
            }
        };
        writer.put_text(at, text);
        Ok(())
    }
}

/// Writes the number of a transaction or of a place in the log; NULL where the snapshot has none.
fn identity<F: Fields>(
    writer: &mut F,
    at: usize,
    number: Option<u64>,
    kind: FlinkType,
) -> std::result::Result<(), Refusal> {
    let Some(number) = number else {
        writer.put_null(at);
        return Ok(());
    };
    match i64::try_from(number) {
        Ok(number) => {
            Conversion::new(&ColumnType::Integer { bits: 64 }, kind).write(writer, at, Value::Int(number), &Zone::UTC)
        }
        Err(_) => Err(Refusal::new(format!("{number} does not fit into 63 bits"))),
    }
}

fn null<F: Fields>(writer: &mut F, at: usize, row: &Row<'_>) -> Result<()> {
    if row.plan.fields[at].nullable {
        writer.put_null(at);
        return Ok(());
    }
    Err(row.refused(at, Refusal::new("it is NULL, and the job declares it NOT NULL".into())))
}

impl Row<'_> {
    pub(super) fn refused(&self, at: usize, refusal: Refusal) -> Error {
        self.error(ErrorKind::Value {
            column: self.plan.fields[at].name.clone(),
            key: self.plan.key_text(self.values, self.image),
            reason: refusal.to_string(),
        })
    }

    fn unavailable(&self, at: usize) -> Error {
        self.error(ErrorKind::ValueUnavailable {
            column: self.plan.fields[at].name.clone(),
            key: self.plan.key_text(self.values, self.image),
        })
    }

    fn absent(&self, at: usize) -> Error {
        self.error(ErrorKind::LoggingMode(format!(
            "the log's record of the row with key {} does not mention column '{}'",
            self.plan.key_text(self.values, self.image),
            self.plan.fields[at].name
        )))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::from(kind).on(&self.plan.table.name)
    }
}
