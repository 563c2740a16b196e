//! Events: a row with its images before and after, and what is known of it. The forms of the DataStream API that carry
//! them differ in how they write it down.

use crate::row::RowOrigin;
use crate::row::fields::Fields;

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// It was there when the snapshot was read.
    Read,
    Create,
    Update,
    Delete,
}

/// What is said of an event beside its images.
#[derive(Clone, Copy)]
pub(super) struct Event<'a> {
    pub(super) operation: Operation,
    pub(super) origin: &'a RowOrigin,
}

/// A table as its events name it.
pub(super) struct Described<'a> {
    pub(super) database: &'a str,
    pub(super) schema: &'a str,
    pub(super) table: &'a str,
    pub(super) columns: Vec<&'a str>,
}

/// Which of the two images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// Writes events: `begin`, both sides, each with an image or without one, `end`.
pub(super) trait Envelope {
    /// What of a table's events is always the same.
    type Table;

    /// Takes the fields of an image; all of them are written.
    type Image<'o>: Fields
    where
        Self: 'o;

    fn begin(&self, table: &Self::Table, event: &Event<'_>, out: &mut Vec<u8>);

    fn no_image(&self, side: Side, out: &mut Vec<u8>);

    fn image<'o>(&'o self, table: &'o Self::Table, side: Side, out: &'o mut Vec<u8>) -> Self::Image<'o>;

    fn end_image(&self, out: &mut Vec<u8>);

    fn end(&self, table: &Self::Table, event: &Event<'_>, out: &mut Vec<u8>);
}
