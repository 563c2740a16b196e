//! Where a plugin's columns go: a table as the log describes it, in front of a captured table's shape.

use crate::catalog::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::log::decoding::binary::Form;
use crate::log::decoding::plugin::{Cell, Datum, Old, Row};
use crate::log::decoding::shapes::Shape;
use crate::log::decoding::test_decoding::unquoted;
use crate::log::decoding::values::put;
use crate::row::value::{Image, Value, ValueBuffer};

/// The columns of a table of the log (a captured one, or a partition), in the log's order.
#[derive(Debug)]
pub(super) struct Layout {
    /// The captured table's number.
    pub(super) table: u32,
    /// Which of its shapes the columns fit.
    pub(super) shape: usize,
    columns: Vec<Place>,
    /// Whether the log has the whole of old rows.
    is_full: bool,
    /// Columns of the shape that the replica identity has.
    identity: Vec<bool>,
}

#[derive(Debug)]
struct Place {
    /// As the log writes it.
    name: Box<[u8]>,
    /// The same without quotes.
    plain: Box<[u8]>,
    /// The name of its type, where the log says it.
    kind: Box<[u8]>,
    /// The binary form of its type, where that is known.
    form: Option<Form>,
    /// The column in the shape, if it is wanted there.
    column: Option<usize>,
    in_identity: bool,
}

/// A row before and after a change.
pub(super) type Images = (Option<Image>, Option<Image>);

/// A column of the log: its name as it is written there, and whether it is known to be of the replica identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: &'a [u8],
    pub(super) form: Option<Form>,
    pub(super) in_identity: bool,
}

impl Layout {
    pub(super) fn new(table: u32, (number, shape): (usize, &Shape), columns: &[Described<'_>], is_full: bool) -> Self {
        let mut identity = vec![false; shape.table.columns.len()];
        let places = columns.iter().map(|described| {
            let name = unquoted(described.name);
            let column = shape.column(&name);
            let in_identity = described.in_identity;
            if let Some(column) = column {
                identity[column] = in_identity;
            }
            Place {
                plain: name.into(),
                name: described.name.into(),
                kind: described.kind.into(),
                form: described
                    .form
                    .filter(|form| column.is_some_and(|column| form.fits(&shape.table.columns[column].kind))),
                column: column.filter(|&column| shape.wants(column)),
                in_identity,
            }
        });
        Layout {
            columns: places.collect(),
            table,
            shape: number,
            is_full,
            identity,
        }
    }

    /// Whether what is wanted of a row can be read in binary form.
    pub(super) fn has_forms(&self) -> bool {
        let mut wanted = self.columns.iter().filter(|place| place.column.is_some());
        wanted.all(|place| place.form.is_some())
    }

    /// Whether a new row has exactly these columns, in this order, with these types.
    pub(super) fn fits(&self, cells: &[Cell<'_>]) -> bool {
        let named = |(place, cell): (&Place, &Cell<'_>)| *place.name == *cell.name && *place.kind == *cell.kind;
        cells.len() == self.columns.len() && self.columns.iter().zip(cells).all(named)
    }

    fn named(&self, name: &[u8]) -> Option<(usize, &Place)> {
        let plain = unquoted(name);
        let mut places = self.columns.iter().enumerate();
        places.find(|(_, place)| *place.plain == *plain)
    }

    /// The images of an event with values.
    ///
    /// # Errors
    /// `Decoding` where the row does not fit the description; `LoggingMode` where the log lacks the key of a row that was.
    pub(super) fn images(&self, shape: &Shape, event: Kind, row: &Row<'_>, values: &mut ValueBuffer) -> Result<Images> {
        let filling = Filling { layout: self, shape };
        match event {
            Kind::Insert => Ok((None, Some(filling.of_new(&row.new, None, values)?))),
            Kind::Delete(old) => {
                let old = old.ok_or_else(|| no_identity(&shape.table))?;
                Ok((Some(filling.of_old(&row.old, old, values)?), None))
            }
            Kind::Update(Some(old)) => {
                let before = filling.of_old(&row.old, old, values)?;
                Ok((Some(before), Some(filling.of_new(&row.new, Some(before), values)?)))
            }
            Kind::Update(None) => {
                // The replica identity did not change; what it has of the row is all that is known of the old one.
                let after = filling.of_new(&row.new, None, values)?;
                let before = values.begin(shape.table.columns.len());
                for &column in &shape.table.key {
                    if !self.is_full && !self.identity[column] {
                        return Err(no_identity(&shape.table));
                    }
                    values.share(after, before, column);
                }
                Ok((Some(before), Some(after)))
            }
        }
    }
}

/// What an event says of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    Update(Option<Old>),
    Delete(Option<Old>),
}

struct Filling<'f> {
    layout: &'f Layout,
    shape: &'f Shape,
}

impl Filling<'_> {
    /// A row that is. A large value that did not change is that of the row that was, where the log has it.
    fn of_new(&self, cells: &[Cell<'_>], before: Option<Image>, values: &mut ValueBuffer) -> Result<Image> {
        let image = self.begin(values);
        if cells.len() != self.layout.columns.len() {
            return Err(ErrorKind::Decoding(format!(
                "a row has {} values, its table was described with {} columns",
                cells.len(),
                self.layout.columns.len()
            ))
            .into());
        }
        for (place, cell) in self.layout.columns.iter().zip(cells) {
            let Some(column) = place.column else { continue };
            match (cell.datum, before) {
                (Datum::Unchanged, Some(before)) if is_known(values.get(before, column)) => {
                    values.share(before, image, column);
                }
                (datum, _) => self.put(values, image, column, place.form, datum)?,
            }
        }
        Ok(image)
    }

    /// A row that was, as far as the log has it; the rest stays absent.
    fn of_old(&self, cells: &[Cell<'_>], old: Old, values: &mut ValueBuffer) -> Result<Image> {
        let image = values.begin(self.shape.table.columns.len());
        let is_whole = match old {
            Old::Whole => true,
            Old::Identity => false,
            Old::WithoutNulls => self.layout.is_full,
        };
        match old {
            Old::WithoutNulls => {
                if is_whole {
                    self.all_null(values, image);
                }
                let mut from = 0;
                for cell in cells {
                    let places = self.layout.columns.iter().enumerate().skip(from);
                    let found = places.into_iter().find(|(_, place)| *place.name == *cell.name);
                    let Some((at, place)) = found.or_else(|| self.layout.named(cell.name)) else {
                        continue;
                    };
                    from = at + 1;
                    // Where only the identity is logged NULL says nothing.
                    if let Some(column) = place.column.filter(|_| is_whole || cell.datum != Datum::Null) {
                        self.put(values, image, column, place.form, cell.datum)?;
                    }
                }
            }
            Old::Whole | Old::Identity => {
                if cells.len() != self.layout.columns.len() {
                    return Err(ErrorKind::Decoding(format!(
                        "an old row has {} values, its table was described with {} columns",
                        cells.len(),
                        self.layout.columns.len()
                    ))
                    .into());
                }
                if is_whole {
                    self.lacking(values, image);
                }
                for (place, cell) in self.layout.columns.iter().zip(cells) {
                    if let Some(column) = place.column.filter(|_| is_whole || place.in_identity) {
                        self.put(values, image, column, place.form, cell.datum)?;
                    }
                }
            }
        }
        let known = |&column: &usize| values.get(image, column) != Value::Absent || !self.shape.wants(column);
        match self.shape.table.key.iter().all(known) {
            true => Ok(image),
            false => Err(no_identity(&self.shape.table)),
        }
    }

    /// An image whose columns that the log need not have are unavailable.
    fn begin(&self, values: &mut ValueBuffer) -> Image {
        let image = values.begin(self.shape.table.columns.len());
        self.lacking(values, image);
        image
    }

    fn lacking(&self, values: &mut ValueBuffer, image: Image) {
        for &column in &self.shape.computed {
            values.set(image, column, Value::Unavailable);
        }
    }

    fn all_null(&self, values: &mut ValueBuffer, image: Image) {
        for place in &self.layout.columns {
            if let Some(column) = place.column {
                values.set(image, column, Value::Null);
            }
        }
    }

    fn put(
        &self,
        values: &mut ValueBuffer,
        image: Image,
        column: usize,
        form: Option<Form>,
        datum: Datum<'_>,
    ) -> Result<()> {
        let described = &self.shape.table.columns[column];
        put(values, image, column, (&described.kind, form), datum).map_err(|error| {
            let text = format!("column '{}': {error}", described.name);
            Error::from(ErrorKind::Decoding(text)).on(&self.shape.table.name)
        })
    }
}

fn is_known(value: Value<'_>) -> bool {
    !matches!(value, Value::Absent | Value::Unavailable)
}

fn no_identity(table: &Table) -> Error {
    let text = "the log has not the key of a row that was changed: ALTER TABLE … REPLICA IDENTITY FULL, or DEFAULT where the \
                key is the primary key";
    Error::from(ErrorKind::LoggingMode(text.into())).on(&table.name)
}
