//! The statements that read a table by its key: the same in every database but for quoting and cutting off.

use crate::dialect::{Dialect, Literal};
use crate::split::TableName;

/// A half-open range of keys, in literals; what is left out is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds<'a> {
    /// First key inside, a literal a key column.
    pub lower: Option<&'a [Literal]>,
    /// First key beyond.
    pub upper: Option<&'a [Literal]>,
}

/// A page to read.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// The table.
    pub table: &'a TableName,
    /// The columns that are wanted, as [`Dialect::push_selected`] writes them.
    pub columns: &'a [String],
    /// The key's columns, in the key's order.
    pub key: &'a [&'a str],
    /// Which rows.
    pub bounds: Bounds<'a>,
    /// At most so many.
    pub rows: usize,
}

/// The rows of a page in key order, at most as many as requested.
pub fn page(dialect: &dyn Dialect, request: &PageRequest<'_>) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&request.columns.join(", "));
    push_from(dialect, request.table, request.key, &request.bounds, &mut out);
    push_order(dialect, request.key, &mut out);
    dialect.push_limit(request.rows, 0, &mut out);
    out
}

/// All rows of a table, in any order; columns as in [`PageRequest`].
pub fn whole(dialect: &dyn Dialect, table: &TableName, columns: &[String]) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&columns.join(", "));
    push_from(dialect, table, &[], &Bounds::default(), &mut out);
    out
}

/// The key of the row that stands `skip` rows behind the first one inside the bounds, in key order.
pub fn cut(dialect: &dyn Dialect, table: &TableName, key: &[&str], bounds: &Bounds<'_>, skip: usize) -> String {
    let mut out = String::from("SELECT ");
    push_list(dialect, key, &mut out);
    push_from(dialect, table, key, bounds, &mut out);
    push_order(dialect, key, &mut out);
    dialect.push_limit(1, skip, &mut out);
    out
}

fn push_list(dialect: &dyn Dialect, names: &[&str], out: &mut String) {
    for (number, name) in names.iter().enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        dialect.push_name(name, out);
    }
}

fn push_order(dialect: &dyn Dialect, key: &[&str], out: &mut String) {
    out.push_str(" ORDER BY ");
    push_list(dialect, key, out);
}

fn push_from(dialect: &dyn Dialect, table: &TableName, key: &[&str], bounds: &Bounds<'_>, out: &mut String) {
    out.push_str(" FROM ");
    dialect.push_name(&table.schema, out);
    out.push('.');
    dialect.push_name(&table.name, out);
    let mut word = " WHERE ";
    if let Some(lower) = bounds.lower {
        out.push_str(word);
        push_side(dialect, key, lower, ">", ">=", out);
        word = " AND ";
    }
    if let Some(upper) = bounds.upper {
        out.push_str(word);
        push_side(dialect, key, upper, "<", "<", out);
    }
}

/// `(a, b) >= (1, 2)` in words that every database has and whose first one an index can serve:
/// `"A" >= 1 AND ("A" > 1 OR "B" >= 2)`.
fn push_side(dialect: &dyn Dialect, key: &[&str], values: &[Literal], strict: &str, last: &str, out: &mut String) {
    let push = |column: usize, operator: &str, out: &mut String| {
        dialect.push_name(key[column], out);
        out.push(' ');
        out.push_str(operator);
        out.push(' ');
        dialect.push_literal(&values[column], out);
    };
    let columns = key.len().min(values.len());
    for column in 0..columns {
        if column + 1 == columns {
            push(column, last, out);
        } else {
            push(column, &format!("{strict}="), out);
            out.push_str(" AND (");
            push(column, strict, out);
            out.push_str(" OR ");
        }
    }
    for _ in 1..columns {
        out.push(')');
    }
}
