//! Indexes that have a table's rows in the order in which its key is compared here.

use crate::dialect::page::{KeyColumn, KeyIndex};
use crate::dialect::postgres::{BYTEWISE, NAME, Postgres, text};
use crate::dialect::{Dialect, Query};
use crate::odbc::ColumnSpec;
use crate::split::TableName;

/// The index whose first columns are those of the key, in its order, all of them ascending or all descending, texts by
/// their bytes: what the server takes for the pages' ORDER BY. There is none for a type that is compared by its text.
pub(super) fn index(postgres: &Postgres, table: &TableName, object_id: u64, key: &[KeyColumn<'_>]) -> KeyIndex {
    let names = postgres.names();
    let of = |name| names.of(name);
    let mut there = format!(
        "SELECT count(*) FROM {index} i JOIN {class} x ON x.oid = i.indexrelid JOIN {am} m ON m.oid = x.relam \
         WHERE i.indrelid = {object_id} AND m.amname = 'btree' AND i.indisvalid AND i.indislive AND i.indpred IS NULL \
         AND i.indoption[0] IN (0, 3)",
        index = of("index"),
        class = of("class"),
        am = of("am"),
    );
    for (place, column) in key.iter().enumerate() {
        let collation = match (column.shown, column.collated) {
            (true, _) => "NULL".to_owned(),
            (_, true) => format!("ANY (SELECT c.oid FROM {} c WHERE c.collname = 'C')", of("collation")),
            (_, false) => "a.attcollation".to_owned(),
        };
        there.push_str(&format!(
            " AND i.indoption[{place}] = i.indoption[0] AND EXISTS (SELECT 1 FROM {attribute} a JOIN {opclass} o \
             ON o.oid = i.indclass[{place}] WHERE a.attrelid = i.indrelid AND a.attname = {name} \
             AND a.attnum = i.indkey[{place}] AND i.indcollation[{place}] = {collation} \
             AND (o.opcdefault OR o.opcname = 'varchar_ops'))",
            attribute = of("attribute"),
            opclass = of("opclass"),
            name = text(column.name),
        ));
    }
    let mut create = String::from("CREATE INDEX CONCURRENTLY ON ");
    postgres.push_table(table, &mut create);
    for (place, column) in key.iter().enumerate() {
        create.push_str(if place == 0 { " (" } else { ", " });
        postgres.push_name(column.name, &mut create);
        create.push_str(if column.collated { BYTEWISE } else { "" });
    }
    create.push(')');
    KeyIndex {
        there: Query {
            sql: there,
            columns: vec![ColumnSpec::Int],
        },
        create: (!key.iter().any(|column| column.shown)).then_some(create),
    }
}

/// The schemas of the operators by which columns are equal in a table's unique indexes, but for the server's own: those of types that
/// an extension made, which a session finds by its `search_path` alone, and ours has none of theirs.
pub(super) fn operators(postgres: &Postgres, object_id: u64) -> Query {
    let of = |name| postgres.names().of(name);
    Query {
        sql: format!(
            "SELECT DISTINCT a.attname, n.nspname FROM {index} i JOIN {attribute} a ON a.attrelid = i.indrelid \
             CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) k(place) JOIN {opclass} c ON c.oid = i.indclass[k.place] \
             JOIN {am} m ON m.oid = c.opcmethod JOIN {amop} o ON o.amopfamily = c.opcfamily AND o.amopstrategy = 3 \
             AND o.amoplefttype = c.opcintype AND o.amoprighttype = c.opcintype \
             JOIN {operator} p ON p.oid = o.amopopr JOIN {namespace} n ON n.oid = p.oprnamespace \
             WHERE i.indrelid = {object_id} AND i.indisunique AND m.amname = 'btree' AND a.attnum = i.indkey[k.place] \
             AND n.nspname NOT IN ('pg_catalog', 'sys_catalog')",
            index = of("index"),
            attribute = of("attribute"),
            opclass = of("opclass"),
            am = of("am"),
            amop = of("amop"),
            operator = of("operator"),
            namespace = of("namespace"),
        ),
        columns: vec![NAME, NAME],
    }
}
