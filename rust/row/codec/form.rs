//! The forms of a row downstream, and the events of those that carry both images.

use crate::error::{ErrorKind, Result};
use crate::row::change::ChangeBytes;
use crate::row::codec::{Codec, Plan, Row};
use crate::row::debezium_json::{DebeziumJson, JsonSettings};
use crate::row::envelope::{Described, Envelope, Event, Operation, Side};
use crate::row::value::{Image, ValueBuffer};
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
    Changes,
}

pub(super) enum Writer {
    Rows(Updates),
    Json(DebeziumJson),
    Changes(ChangeBytes),
}

impl Writer {
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
        let tables: Vec<Described<'_>> = self.tables.iter().map(|plan| plan.described(&self.database)).collect();
        self.writer = match form {
            Form::Rows { upsert: false } => Writer::Rows(Updates::Halves),
            Form::Rows { upsert: true } => Writer::Rows(Updates::After),
            Form::Json(settings) => Writer::Json(DebeziumJson::new(settings, &tables)),
            Form::Changes => Writer::Changes(ChangeBytes::new(&tables)),
        };
        self
    }

    pub(super) fn event(
        &self,
        table: u32,
        images: Images,
        values: &ValueBuffer,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let event = Event {
            table: table as usize,
            operation: images.operation(origin),
            origin,
        };
        match &self.writer {
            Writer::Rows(_) => Err(ErrorKind::Internal("rows in Flink's layout are no events".into()).into()),
            Writer::Json(json) => self.enveloped(json, &event, images, values, out),
            Writer::Changes(changes) => self.enveloped(changes, &event, images, values, out),
        }
    }

    fn enveloped<E: Envelope>(
        &self,
        envelope: &E,
        event: &Event<'_>,
        images: Images,
        values: &ValueBuffer,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let plan = self.plan(event.table as u32)?;
        envelope.begin(event, out);
        for (side, image) in [(Side::Before, images.before), (Side::After, images.after)] {
            let Some(image) = image else {
                envelope.no_image(side, out);
                continue;
            };
            let row = Row {
                plan,
                kind: RowKind::Insert,
                values,
                image,
                origin: event.origin,
            };
            self.fields(&mut envelope.image(event, side, out), &row)?;
            envelope.end_image(out);
        }
        envelope.end(event, out);
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
