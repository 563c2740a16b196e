//! The forms of a row downstream, and the events of those that carry both images.

use crate::catalog::change::{ChangeKind, SchemaChange};
use crate::error::{ErrorKind, Result};
use crate::row::change::{ChangeBytes, TableBytes};
use crate::row::codec::Codec;
use crate::row::codec::fields::Row;
use crate::row::codec::newest::Newest;
use crate::row::codec::plan::Plan;
use crate::row::debezium_json::{DebeziumJson, JsonSettings, TableNames};
use crate::row::envelope::{Described, Envelope, Event, Operation, Side};
use crate::row::value::Image;
use crate::row::{RowKind, RowOrigin, Updates};

/// What rows are downstream.
#[derive(Clone, Debug)]
pub enum Form {
    /// Rows in Flink's layout.
    Rows {
        /// Whether an update is its new image alone (`changelog-mode = upsert`).
        upsert: bool,
    },
    /// Debezium's envelopes as JSON, an update being one.
    Json(JsonSettings),
    /// What Java's `Change` reads, an update being one.
    Changes {
        /// `include.schema.changes`
        schema_changes: bool,
    },
}

pub(super) enum Writer {
    Rows(Updates),
    Json(DebeziumJson),
    Changes(ChangeBytes),
}

/// What the events of a table always say of it, in the form at hand.
pub(super) enum Label {
    None,
    Json(TableNames),
    Changes(TableBytes),
}

impl Writer {
    pub(super) fn label(&self, plan: &Plan, database: &str) -> Label {
        match self {
            Writer::Rows(_) => Label::None,
            Writer::Json(_) => Label::Json(TableNames::new(&plan.described(database))),
            Writer::Changes(_) => Label::Changes(TableBytes::new(&plan.described(database))),
        }
    }

    pub(super) fn updates(&self) -> Updates {
        match self {
            Writer::Rows(updates) => *updates,
            Writer::Json(_) | Writer::Changes(_) => Updates::Joined,
        }
    }
}

/// The images of an event.
#[derive(Clone, Copy)]
pub(super) struct Images {
    pub(super) before: Option<Image>,
    pub(super) after: Option<Image>,
}

impl Images {
    /// Those of a row that is not an update.
    pub(super) fn of(kind: RowKind, image: Image) -> Self {
        match kind {
            RowKind::Insert | RowKind::UpdateAfter => Images {
                before: None,
                after: Some(image),
            },
            RowKind::Delete | RowKind::UpdateBefore => Images {
                before: Some(image),
                after: None,
            },
        }
    }

    fn operation(self, origin: &RowOrigin) -> Operation {
        match self {
            Images { before: None, .. } if origin.xid.is_none() => Operation::Read,
            Images { before: None, .. } => Operation::Create,
            Images { after: None, .. } => Operation::Delete,
            _ => Operation::Update,
        }
    }
}

impl Codec {
    /// The same encoder into another form.
    #[must_use]
    pub fn with_form(mut self, form: Form) -> Self {
        self.writer = match form {
            Form::Rows { upsert: false } => Writer::Rows(Updates::Halves),
            Form::Rows { upsert: true } => Writer::Rows(Updates::After),
            Form::Json(settings) => Writer::Json(DebeziumJson::new(settings)),
            Form::Changes { schema_changes } => Writer::Changes(ChangeBytes { schema_changes }),
        };
        let tables = std::mem::take(&mut self.tables);
        let labelled = tables.into_iter().filter_map(|plan| {
            let mut plan = plan.into_inner()?;
            plan.label = self.writer.label(&plan, &self.database);
            Some(Newest::new(plan))
        });
        self.tables = labelled.collect();
        self
    }

    /// Appends a change of a table's shape; whether this form carries them. What leaves the shape as it is does not go out.
    pub(super) fn shape_event(
        &self,
        table: u32,
        change: &SchemaChange,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if change.kind == ChangeKind::Other {
            return Ok(false);
        }
        let plan = self.plan(table)?;
        Ok(match (&self.writer, &plan.label) {
            (Writer::Json(json), Label::Json(names)) => json.schema_change(names, change, &self.database, origin, out),
            (Writer::Changes(changes), Label::Changes(names)) => changes.schema_change(names, change, origin, out),
            _ => false,
        })
    }

    /// Appends an event. `row` says everything of it but its images.
    pub(super) fn event(&self, row: &Row<'_>, images: Images, out: &mut Vec<u8>) -> Result<()> {
        let event = Event {
            operation: images.operation(row.origin),
            origin: row.origin,
        };
        let with = |image: Option<Image>| image.map(|image| Row { image, ..*row });
        let images = [(Side::Before, with(images.before)), (Side::After, with(images.after))];
        match (&self.writer, &row.plan.label) {
            (Writer::Json(json), Label::Json(table)) => self.enveloped((json, table), images, &event, out),
            (Writer::Changes(changes), Label::Changes(table)) => self.enveloped((changes, table), images, &event, out),
            _ => Err(ErrorKind::Internal("rows in Flink's layout are no events".into()).into()),
        }
    }

    fn enveloped<E: Envelope>(
        &self,
        (envelope, table): (&E, &E::Table),
        images: [(Side, Option<Row<'_>>); 2],
        event: &Event<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        envelope.begin(table, event, out);
        for (side, row) in images {
            let Some(row) = row else {
                envelope.no_image(side, out);
                continue;
            };
            self.fields(&mut envelope.image(table, side, out), &row)?;
            envelope.end_image(out);
        }
        envelope.end(table, event, out);
        Ok(())
    }
}

impl Plan {
    fn described<'a>(&'a self, database: &'a str) -> Described<'a> {
        Described {
            database,
            schema: &self.table.name.schema,
            table: &self.table.name.name,
            columns: self.fields.iter().map(|field| field.name.as_str()).collect(),
        }
    }
}
