//! Rows of the captured tables in the form that they have downstream, and their keys: the one encoder of snapshot and
//! log.

mod fields;
mod form;
mod newest;
mod plan;

pub use form::Form;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::Table;
use crate::catalog::change::SchemaChange;
use crate::catalog::key::KeyCodec;
use crate::error::{Error, ErrorKind, Result};
use crate::row::binary_row::{BinaryRow, MAX_ROW_SIZE};
use crate::row::codec::fields::Row;
use crate::row::codec::form::{Images, Writer};
use crate::row::codec::newest::Newest;
use crate::row::codec::plan::{Plan, has_key_of, key_of};
use crate::row::convert::Refusal;
use crate::row::layout::OutputColumn;
use crate::row::value::{Image, Value, ValueBuffer};
use crate::row::zone::Zone;
use crate::row::{RowCodec, RowKind, RowOrigin, Updates};

/// Makes the key of a row: bytes that compare as the database orders the keys.
pub trait KeyEncoder: Send + Sync {
    /// Appends the key; `value` gives a column's value by its number in the table.
    ///
    /// # Errors
    /// A key column is absent, NULL or not of its type.
    fn encode<'v>(&self, value: &dyn Fn(usize) -> Value<'v>, out: &mut Vec<u8>) -> Result<()>;

    /// Whether these bytes can be one of its keys.
    ///
    /// # Errors
    /// `State`: they cannot.
    fn check(&self, _key: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl KeyEncoder for KeyCodec {
    fn encode<'v>(&self, value: &dyn Fn(usize) -> Value<'v>, out: &mut Vec<u8>) -> Result<()> {
        KeyCodec::encode(self, value, out)
    }

    fn check(&self, key: &[u8]) -> Result<()> {
        KeyCodec::check(self, key)
    }
}

/// Of a table without a key: nothing, so that no change of such a table is a change of its key.
#[derive(Clone, Copy, Debug)]
pub struct NoKey;

impl KeyEncoder for NoKey {
    fn encode<'v>(&self, _: &dyn Fn(usize) -> Value<'v>, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// What happens to a value that does not fit its declared type (`value.on-error`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnValueError {
    /// The job fails with table, key, column and reason.
    #[default]
    Fail,
    /// It goes out as NULL and is counted; a column that is declared NOT NULL still fails.
    Null,
}

/// A captured table and what of it goes downstream.
pub struct CapturedTable {
    /// The table.
    pub table: Table,
    /// Makes its keys.
    pub key: Arc<dyn KeyEncoder>,
    /// The columns downstream, found in the table (`layout::resolve`).
    pub columns: Vec<OutputColumn>,
}

/// Finds what of another shape of a captured table goes downstream.
pub type Prepare = dyn Fn(&Table) -> Result<CapturedTable> + Send + Sync;

/// What must be read of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// For each column whether it is: those that go downstream and those of the key.
    pub columns: Vec<bool>,
    /// The columns downstream that the table has no more.
    pub gone: Vec<String>,
    /// Whether rows go out with all columns that they have, whatever their table has later.
    pub whole: bool,
}

/// The encoder.
pub struct Codec {
    /// Each by its table's newest shape: a plan is replaced whole.
    tables: Vec<Newest<Plan>>,
    prepare: Option<Arc<Prepare>>,
    writer: Writer,
    database: String,
    zone: Zone,
    on_error: OnValueError,
    nulled: AtomicU64,
}

impl Codec {
    /// An encoder of tables, numbered as they come, into rows whose updates are two. `database` is what `database_name` says; `zone` is that of the
    /// database's clock.
    pub fn new(tables: Vec<CapturedTable>, database: &str, zone: Zone, on_error: OnValueError) -> Self {
        Codec {
            tables: tables.into_iter().map(Plan::new).map(Newest::new).collect(),
            prepare: None,
            writer: Writer::Rows(Updates::Halves),
            database: database.to_owned(),
            zone,
            on_error,
            nulled: AtomicU64::new(0),
        }
    }

    /// The same encoder for tables that may change their shape.
    #[must_use]
    pub fn with_shapes(mut self, prepare: Arc<Prepare>) -> Self {
        self.prepare = Some(prepare);
        self
    }

    /// Which columns of a table must be read. None for a table that is not there.
    pub fn needed_columns(&self, table: u32) -> Vec<bool> {
        self.plan(table)
            .map_or_else(|_| Vec::new(), |plan| plan.needed.columns.clone())
    }

    /// What must be read of a table in a shape that need not be the one at hand.
    ///
    /// # Errors
    /// `DictionaryMismatch` if rows of this shape cannot go where those of the captured one went.
    pub fn needed_of(&self, table: u32, shape: &Table) -> Result<Needed> {
        let plan = self.plan(table)?;
        match *plan.table == *shape {
            true => Ok(plan.needed.clone()),
            false => self.plan_of(plan, shape).map(|plan| plan.needed),
        }
    }

    /// The plan for another shape of a table. Its key must be the same: chunks, ranges and pages stand on it.
    fn plan_of(&self, plan: &Plan, shape: &Table) -> Result<Plan> {
        let mismatch = |text: String| Error::from(ErrorKind::DictionaryMismatch(text)).on(&shape.name);
        let prepare = self
            .prepare
            .as_ref()
            .ok_or_else(|| mismatch("the table has changed its shape".into()))?;
        if !has_key_of(shape, &plan.table) {
            let (was, is) = (key_of(&plan.table), key_of(shape));
            return Err(mismatch(format!("the table's key was {was} and is {is} now")));
        }
        let captured = prepare(shape).map_err(|error| match error.kind() {
            ErrorKind::Declaration(text) => mismatch(format!("the table was altered: {text}")),
            _ => error,
        })?;
        let mut plan = Plan::new(captured);
        plan.label = self.writer.label(&plan, &self.database);
        Ok(plan)
    }

    /// The key of an image for a person: `ID=5, CODE='a'`.
    pub fn key_text(&self, table: u32, values: &ValueBuffer, image: Image) -> String {
        match self.plan(table) {
            Ok(plan) => plan.key_text(values, image),
            Err(_) => "?".into(),
        }
    }

    #[inline]
    fn plan(&self, table: u32) -> Result<&Plan> {
        self.tables
            .get(table as usize)
            .and_then(Newest::get)
            .ok_or_else(|| ErrorKind::Internal(format!("there is no table {table} among the captured ones")).into())
    }

    /// Appends what `write` appends; nothing if that fails or becomes larger than Flink takes.
    fn append(&self, row: &Row<'_>, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = out.len();
        write(out)
            .and_then(|()| match out.len() - start > MAX_ROW_SIZE {
                true => Err(row.refused(0, Refusal::new("the row is larger than 2 GiB".into()))),
                false => Ok(()),
            })
            .inspect_err(|_| out.truncate(start))
    }
}

impl RowCodec for Codec {
    fn key(&self, table: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        let plan = self.plan(table)?;
        let start = out.len();
        plan.key
            .encode(&|column| values.get(image, column), out)
            .map_err(|error| {
                out.truncate(start);
                error.on(&plan.table.name)
            })
    }

    fn check_key(&self, table: u32, key: &[u8]) -> Result<()> {
        let plan = self.plan(table)?;
        plan.key.check(key).map_err(|error| error.on(&plan.table.name))
    }

    fn row(
        &self,
        table: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let plan = self.plan(table)?;
        let row = Row {
            plan,
            kind,
            values,
            image,
            origin,
        };
        self.append(&row, out, |out| match &self.writer {
            Writer::Rows(_) => self.fields(&mut BinaryRow::begin(out, row.plan.fields.len(), kind), &row),
            _ => self.event(&row, Images::of(kind, image), out),
        })
    }

    fn updates(&self) -> Updates {
        self.writer.updates()
    }

    fn update(
        &self,
        table: u32,
        values: &ValueBuffer,
        (before, after): (Image, Image),
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let plan = self.plan(table)?;
        let row = Row {
            plan,
            kind: RowKind::UpdateAfter,
            values,
            image: after,
            origin,
        };
        let images = Images {
            before: Some(before),
            after: Some(after),
        };
        self.append(&row, out, |out| self.event(&row, images, out))
    }

    fn schema_change(&self, table: u32, change: &SchemaChange, origin: &RowOrigin, out: &mut Vec<u8>) -> Result<bool> {
        self.shape_event(table, change, origin, out)
    }

    fn reshape(&self, table: u32, shape: &Arc<Table>) -> Result<()> {
        let plan = self.plan(table)?;
        if Arc::ptr_eq(&plan.table, shape) || (self.prepare.is_none() && *plan.table == **shape) {
            return Ok(());
        }
        let mut new = self.plan_of(plan, shape)?;
        new.table = shape.clone();
        if new.needed.gone != plan.needed.gone && !new.needed.gone.is_empty() {
            let gone = new.needed.gone.join(", ");
            log::warn!(
                "table {} has no column {gone} any more: NULL goes out in its place",
                shape.name
            );
        }
        if let Some(place) = self.tables.get(table as usize) {
            place.replace(new);
        }
        Ok(())
    }

    fn shape(&self, table: u32) -> Option<Arc<Table>> {
        Some(self.plan(table).ok()?.table.clone())
    }

    fn nulled_values(&self) -> u64 {
        self.nulled.load(Ordering::Relaxed)
    }
}
