//! The statement that reads rows by their keys: the same in every database but for quoting.

use crate::dialect::page::TableRows;
use crate::dialect::{Dialect, Literal};

/// Rows to read.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRequest<'a> {
    /// The table.
    pub table: TableRows<'a>,
    /// The columns that are wanted, as [`Dialect::push_selected`] writes them.
    pub columns: &'a [String],
    /// The key's columns, in the key's order, each with the schema of its operators where a statement has to name that.
    pub key: &'a [(&'a str, Option<&'a str>)],
    /// The keys, a literal a key column; at least one.
    pub keys: &'a [Vec<Literal>],
}

/// The rows that have one of the keys, in any order.
pub fn rows_with_keys(dialect: &dyn Dialect, request: &KeyedRequest<'_>) -> String {
    let mut out = String::from("SELECT ");
    out.push_str(&request.columns.join(", "));
    out.push_str(" FROM ");
    dialect.push_rows(request.table, &mut out);
    out.push_str(" WHERE ");
    match request.key {
        [(column, None)] => {
            dialect.push_name(column, &mut out);
            out.push_str(" IN (");
            for (number, key) in request.keys.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                key.iter().for_each(|literal| dialect.push_literal(literal, &mut out));
            }
            out.push(')');
        }
        columns => {
            for (number, key) in request.keys.iter().enumerate() {
                out.push_str(if number > 0 { " OR (" } else { "(" });
                for (place, ((column, operators), literal)) in columns.iter().zip(key).enumerate() {
                    out.push_str(if place > 0 { " AND " } else { "" });
                    dialect.push_name(column, &mut out);
                    match operators {
                        None => out.push_str(" = "),
                        Some(schema) => {
                            out.push_str(" OPERATOR(");
                            dialect.push_name(schema, &mut out);
                            out.push_str(".=) ");
                        }
                    }
                    dialect.push_literal(literal, &mut out);
                }
                out.push(')');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dameng::Dameng;
    use crate::split::TableName;

    #[test]
    fn rows_are_asked_for_by_one_column_or_several() {
        let table = TableName {
            schema: "BIZ".into(),
            name: "DOCS".into(),
        };
        let number = |number: &str| Literal::Number(number.into());
        let sql = |key: &[&str], keys: &[Vec<Literal>]| {
            rows_with_keys(
                &Dameng,
                &KeyedRequest {
                    table: TableRows {
                        name: &table,
                        of_parts: false,
                    },
                    columns: &["\"ID\"".into(), "\"BODY\"".into()],
                    key: &key.iter().map(|column| (*column, None)).collect::<Vec<_>>(),
                    keys,
                },
            )
        };
        assert_eq!(
            sql(&["ID"], &[vec![number("1")], vec![number("-2")]]),
            r#"SELECT "ID", "BODY" FROM "BIZ"."DOCS" WHERE "ID" IN (1, -2)"#
        );
        let text = |text: &str| Literal::Text(text.into());
        assert_eq!(
            sql(
                &["A", "B"],
                &[vec![number("1"), text("it's")], vec![number("2"), text("")]]
            ),
            r#"SELECT "ID", "BODY" FROM "BIZ"."DOCS" WHERE ("A" = 1 AND "B" = 'it''s') OR ("A" = 2 AND "B" = '')"#
        );
    }
}
