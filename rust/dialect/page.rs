//! The statements that read a table by its key: the same in every database but for quoting and cutting off.
//!
//! `(a, b) >= (1, 2)` is `a > 1 OR a = 1 AND b >= 2` in words that every database has. An index serves the first column of
//! it alone: all rows of `a = 1` would be passed over for each page and each step of cutting, the square of their number
//! in all. So each side of the OR, a [`Segment`], has a statement of its own, which the index serves whole; they follow one
//! another in key order.

use std::fmt::Write;

use crate::dialect::{Dialect, Literal, Query};
use crate::split::TableName;

/// A half-open range of keys, in literals; what is left out is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds<'a> {
    /// First key inside, a literal a key column.
    pub lower: Option<&'a [Literal]>,
    /// First key beyond.
    pub upper: Option<&'a [Literal]>,
}

/// Keys that agree in their first columns, and of the next one lie between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    equal: &'a [Literal],
    /// With whether it is inside.
    lower: Option<(&'a Literal, bool)>,
    upper: Option<&'a Literal>,
}

impl<'a> Bounds<'a> {
    /// The segments of the range, in key order; no two share a key.
    pub fn segments(&self) -> Vec<Segment<'a>> {
        self.split(true)
    }

    /// The segments of the range without its first key, in key order; no two share a key.
    pub fn segments_behind(&self) -> Vec<Segment<'a>> {
        self.split(false)
    }

    fn split(&self, from_lower: bool) -> Vec<Segment<'a>> {
        let (lower, upper) = (self.lower.unwrap_or_default(), self.upper.unwrap_or_default());
        let common = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
        if common == lower.len().max(upper.len()) && common > 0 {
            return Vec::new();
        }
        let inside = |column: usize| from_lower && column + 1 == lower.len();
        let from = |column: usize| lower.get(column).map(|value| (value, inside(column)));
        let above = (common + 1..lower.len()).rev().map(|column| Segment {
            equal: &lower[..column],
            lower: from(column),
            upper: None,
        });
        let between = Segment {
            equal: if lower.is_empty() {
                &upper[..common]
            } else {
                &lower[..common]
            },
            lower: from(common),
            upper: upper.get(common),
        };
        let below = (common + 1..upper.len()).map(|column| Segment {
            equal: &upper[..column],
            lower: None,
            upper: upper.get(column),
        });
        above.chain([between]).chain(below).collect()
    }
}

/// A table as its rows are read.
#[derive(Clone, Copy, Debug)]
pub struct TableRows<'a> {
    /// Its name.
    pub name: &'a TableName,
    /// They lie in its partitions; else those of tables below it are not its own.
    pub of_parts: bool,
}

/// A column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is text that the database orders otherwise than by its bytes, unless it is told to.
    pub collated: bool,
    /// Whether it is of a type that the database orders otherwise than by the bytes of the text that it writes for it.
    pub shown: bool,
}

/// An index that has a table's rows in the order of a key, as keys are compared here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyIndex {
    /// How many there are of it: one integer.
    pub there: Query,
    /// What makes one, unless none can.
    pub create: Option<String>,
}

/// A page to read.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// The table.
    pub table: TableRows<'a>,
    /// The columns that are wanted, as [`Dialect::push_selected`] writes them.
    pub columns: &'a [String],
    /// The key's columns, in the key's order.
    pub key: &'a [KeyColumn<'a>],
    /// Which rows.
    pub segment: Segment<'a>,
    /// At most so many.
    pub rows: usize,
}

/// The rows of a page in key order, at most as many as requested.
pub fn page(dialect: &dyn Dialect, request: &PageRequest<'_>) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&request.columns.join(", "));
    push_from(dialect, request.table, request.key, &request.segment, &mut out);
    push_order(dialect, request.table.name, request.key, &mut out);
    dialect.push_limit(request.rows, 0, &mut out);
    out
}

/// All rows of a table, in any order; columns as in [`PageRequest`].
pub fn whole(dialect: &dyn Dialect, table: TableRows<'_>, columns: &[String]) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&columns.join(", "));
    push_from_table(dialect, table, &mut out);
    out
}

/// Rows that are sorted by the key because no index has them in its order.
#[derive(Clone, Copy, Debug)]
pub struct SortRequest<'a> {
    /// The table.
    pub table: TableRows<'a>,
    /// The columns that are wanted, as [`Dialect::push_selected`] writes them.
    pub columns: &'a [String],
    /// The key's columns, in the key's order.
    pub key: &'a [KeyColumn<'a>],
    /// Which rows; those of all segments are read at once.
    pub segments: &'a [Segment<'a>],
}

/// The rows of a request in key order.
pub fn sorted(dialect: &dyn Dialect, request: &SortRequest<'_>) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&request.columns.join(", "));
    push_from_table(dialect, request.table, &mut out);
    push_any(dialect, request, &mut out);
    push_order(dialect, request.table.name, request.key, &mut out);
    out
}

/// Of the rows of a request in key order each that stands a multiple of `rows` behind the first one; of a wider multiple
/// where that were more than `most` of them.
pub fn cuts(dialect: &dyn Dialect, request: &SortRequest<'_>, rows: usize, most: usize) -> String {
    let names: Vec<String> = (0..request.columns.len()).map(|number| format!("k{number}")).collect();
    let mut out = format!("SELECT {} FROM (SELECT ", names.join(", "));
    for (column, name) in request.columns.iter().zip(&names) {
        let _ = write!(out, "{column} AS {name}, ");
    }
    out.push_str("ROW_NUMBER() OVER (");
    push_order(dialect, request.table.name, request.key, &mut out);
    out.push_str(") AS n, COUNT(*) OVER () AS c");
    push_from_table(dialect, request.table, &mut out);
    push_any(dialect, request, &mut out);
    let _ = write!(
        out,
        ") s WHERE n > 1 AND MOD(n - 1, GREATEST({rows}, c / {most} + 1)) = 0 ORDER BY n"
    );
    out
}

fn push_any(dialect: &dyn Dialect, request: &SortRequest<'_>, out: &mut String) {
    let mut word = " WHERE (";
    for segment in request.segments {
        let mut conditions = String::new();
        push_conditions(dialect, request.table, request.key, segment, &mut conditions);
        // The one segment of all keys has none.
        if let Some(conditions) = conditions.strip_prefix(" WHERE ") {
            out.push_str(word);
            out.push_str(conditions);
            word = ") OR (";
        }
    }
    if word != " WHERE (" {
        out.push(')');
    }
}

/// The row that stands `skip` rows behind the request's first one, in key order; of how many it asks counts nothing.
pub fn cut(dialect: &dyn Dialect, request: &PageRequest<'_>, skip: usize) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&request.columns.join(", "));
    push_from(dialect, request.table, request.key, &request.segment, &mut out);
    push_order(dialect, request.table.name, request.key, &mut out);
    dialect.push_limit(1, skip, &mut out);
    out
}

/// How many rows a segment has.
pub fn count(dialect: &dyn Dialect, table: TableRows<'_>, key: &[KeyColumn<'_>], segment: &Segment<'_>) -> String {
    let mut out = String::from("SELECT COUNT(*)");
    push_from(dialect, table, key, segment, &mut out);
    out
}

fn push_order(dialect: &dyn Dialect, table: &TableName, key: &[KeyColumn<'_>], out: &mut String) {
    out.push_str(" ORDER BY ");
    for (number, column) in key.iter().enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        dialect.push_key(table, column, out);
    }
}

fn push_from_table(dialect: &dyn Dialect, table: TableRows<'_>, out: &mut String) {
    out.push_str(" FROM ");
    dialect.push_rows(table, out);
}

fn push_from(
    dialect: &dyn Dialect,
    table: TableRows<'_>,
    key: &[KeyColumn<'_>],
    segment: &Segment<'_>,
    out: &mut String,
) {
    push_from_table(dialect, table, out);
    push_conditions(dialect, table, key, segment, out);
}

fn push_conditions(
    dialect: &dyn Dialect,
    table: TableRows<'_>,
    key: &[KeyColumn<'_>],
    segment: &Segment<'_>,
    out: &mut String,
) {
    let mut word = " WHERE ";
    let mut push = |column: usize, operator: &str, value: &Literal| {
        out.push_str(word);
        word = " AND ";
        dialect.push_key(table.name, &key[column], out);
        out.push_str(operator);
        dialect.push_literal(value, out);
    };
    for (column, value) in segment.equal.iter().enumerate() {
        push(column, " = ", value);
    }
    let column = segment.equal.len();
    if let Some((lower, inside)) = segment.lower {
        push(column, if inside { " >= " } else { " > " }, lower);
    }
    if let Some(upper) = segment.upper {
        push(column, " < ", upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(key: [u8; 3]) -> Vec<Literal> {
        key.iter().map(|digit| Literal::Number(digit.to_string())).collect()
    }

    fn value(literal: &Literal) -> u8 {
        match literal {
            Literal::Number(digits) => digits.parse().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn holds(segment: &Segment<'_>, key: [u8; 3]) -> bool {
        let column = segment.equal.len();
        segment
            .equal
            .iter()
            .zip(key)
            .all(|(literal, digit)| value(literal) == digit)
            && segment.lower.is_none_or(|(lower, inside)| match inside {
                true => value(lower) <= key[column],
                false => value(lower) < key[column],
            })
            && segment.upper.is_none_or(|upper| key[column] < value(upper))
    }

    /// For all pairs of bounds among 64 keys of three columns.
    #[test]
    fn segments_are_the_range_in_order_and_share_no_key() {
        let keys: Vec<[u8; 3]> = (0..64).map(|n| [n / 16, n / 4 % 4, n % 4]).collect();
        let bounds = || std::iter::once(None).chain(keys.iter().copied().map(Some));
        for lower in bounds() {
            for upper in bounds() {
                if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
                    continue;
                }
                let (low, high) = (lower.map(literals), upper.map(literals));
                let range = Bounds {
                    lower: low.as_deref(),
                    upper: high.as_deref(),
                };
                let held = |segments: &[Segment<'_>]| -> Vec<[u8; 3]> {
                    let held = segments
                        .iter()
                        .flat_map(|segment| keys.iter().copied().filter(|key| holds(segment, *key)));
                    held.collect()
                };
                let mut expected: Vec<[u8; 3]> = (keys.iter().copied())
                    .filter(|key| lower.is_none_or(|lower| lower <= *key) && upper.is_none_or(|upper| *key < upper))
                    .collect();
                assert_eq!(held(&range.segments()), expected, "{lower:?} {upper:?}");
                expected.retain(|key| Some(*key) != lower);
                assert_eq!(held(&range.segments_behind()), expected, "behind {lower:?} {upper:?}");
            }
        }
    }
}
