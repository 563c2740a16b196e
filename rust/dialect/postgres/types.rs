//! Which type a column has, by its type's name in the catalogue: databases of the family number their types differently.
//! docs/postgres.md lists all of them; a test reads it.

use crate::dialect::postgres::NAME;
use crate::dialect::slots::Names;
use crate::dialect::{ColumnType, DictionaryColumn, Query};
use crate::odbc::ColumnSpec;

/// In a column's marks: generated from others.
const GENERATED: i64 = 1;

/// In a column's marks: ordered otherwise than by its bytes.
const COLLATED: i64 = 2;

/// The longest text that a column without a limit holds (the server's limit for one value).
const ANY_LENGTH: u32 = 1 << 30;

/// A table's columns. A domain's is the type that lies under it, with the modifier where it was given; a type of another
/// schema than the server's own has that in front of its name, since it may be named as one of these. Length, precision and
/// scale are read out of the modifier, whatever it means for the type.
pub(super) fn columns(names: &Names, schema: &str, name: &str) -> Query {
    let kind = names.of("type");
    let modifier = "b.mod - 4";
    Query {
        sql: format!(
            "WITH RECURSIVE under(attnum, typ, mod, required) AS (\
             SELECT a.attnum, a.atttypid, a.atttypmod, a.attnotnull FROM {attribute} a JOIN {class} c ON c.oid = a.attrelid \
             JOIN {namespace} n ON n.oid = c.relnamespace \
             WHERE a.attnum > 0 AND NOT a.attisdropped AND n.nspname = {schema} AND c.relname = {name} \
             UNION ALL SELECT u.attnum, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE u.mod END, \
             u.required OR t.typnotnull FROM under u JOIN {kind} t ON t.oid = u.typ WHERE t.typtype = 'd') \
             SELECT a.attname, CASE WHEN s.nspname IN ('pg_catalog', 'sys_catalog') THEN '' ELSE s.nspname || '.' END \
             || t.typname, CASE WHEN b.mod >= 0 THEN ({modifier})::bigint END, \
             CASE WHEN b.mod >= 0 THEN ((({modifier}) >> 16) & 65535)::bigint END, \
             CASE WHEN b.mod >= 0 THEN (((({modifier}) & 2047) # 1024) - 1024)::bigint END, \
             CASE WHEN b.required THEN 'N' ELSE 'Y' END \
             FROM under b JOIN {kind} t ON t.oid = b.typ AND t.typtype <> 'd' JOIN {namespace} s ON s.oid = t.typnamespace \
             JOIN {attribute} a ON a.attnum = b.attnum JOIN {class} c ON c.oid = a.attrelid \
             JOIN {namespace} n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {name} ORDER BY b.attnum",
            attribute = names.of("attribute"),
            class = names.of("class"),
            namespace = names.of("namespace"),
        ),
        columns: vec![
            NAME,
            ColumnSpec::Text { bytes: 512 },
            ColumnSpec::Int,
            ColumnSpec::Int,
            ColumnSpec::Int,
            ColumnSpec::Text { bytes: 8 },
        ],
    }
}

/// Which of a table's columns are generated, and which are ordered otherwise than by their bytes: by a collation of ICU
/// or by one of the C library that is none of these; the database's own, with number 100, is its `datcollate`.
pub(super) fn marks(names: &Names, object_id: u64) -> Query {
    const BYTEWISE: &str = "('C', 'POSIX', 'C.UTF-8', 'C.UTF8')";
    Query {
        sql: format!(
            "SELECT a.attname, (CASE WHEN a.attgenerated <> '' THEN {GENERATED} ELSE 0 END) + (CASE \
             WHEN a.attcollation = 0 THEN 0 WHEN c.collprovider = 'c' AND upper(c.collcollate) IN {BYTEWISE} THEN 0 \
             WHEN c.collprovider = 'd' AND coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c' \
             AND upper(d.datcollate) IN {BYTEWISE} THEN 0 ELSE {COLLATED} END) \
             FROM {attribute} a LEFT JOIN {collation} c ON c.oid = a.attcollation \
             JOIN {database} d ON d.datname = current_database() \
             WHERE a.attrelid = {object_id} AND a.attnum > 0 AND NOT a.attisdropped",
            attribute = names.of("attribute"),
            collation = names.of("collation"),
            database = names.of("database"),
        ),
        columns: vec![NAME, ColumnSpec::Int],
    }
}

/// Whether a column is ordered otherwise than by its bytes.
pub(super) fn is_collated(column: &DictionaryColumn) -> bool {
    column.marks & COLLATED != 0
}

/// Whether a column is generated from others.
pub(super) fn is_generated(column: &DictionaryColumn) -> bool {
    column.marks & GENERATED != 0
}

/// The type of a column by its name: PostgreSQL's, and those that databases of the family have beside them.
pub(super) fn column_type(column: &DictionaryColumn) -> ColumnType {
    let length = column.length.and_then(|length| u32::try_from(length).ok());
    let text = |padded| ColumnType::Text {
        length: Some(length.filter(|length| *length > 0).unwrap_or(ANY_LENGTH)),
        padded,
    };
    let name = column.type_name.to_ascii_lowercase();
    // Types that another database's mode adds stand in a schema of their own.
    let own = name.strip_prefix("sys.").filter(|own| *own != "date");
    match own.unwrap_or(&name) {
        "bool" => ColumnType::Boolean,
        "tinyint" | "int1" => ColumnType::Integer { bits: 8 },
        "int2" => ColumnType::Integer { bits: 16 },
        "int4" => ColumnType::Integer { bits: 32 },
        "int8" => ColumnType::Integer { bits: 64 },
        // Without a sign, of four bytes.
        "oid" => ColumnType::Integer { bits: 64 },
        "numeric" | "number" => decimal(column),
        "float4" | "binary_float" => ColumnType::Float { bits: 32 },
        "float8" | "binary_double" => ColumnType::Float { bits: 64 },
        "bpchar" | "nchar" => text(true),
        "varchar" | "varchar2" | "nvarchar" | "nvarchar2" | "text" | "name" | "char" | "clob" | "nclob" => text(false),
        "bytea" | "blob" | "raw" => ColumnType::Binary {
            length: Some(ANY_LENGTH),
        },
        "date" => ColumnType::Date,
        // Oracle's, which has a time of day.
        "sys.date" => ColumnType::Timestamp { precision: 0 },
        "time" => ColumnType::Time {
            precision: digits(column),
        },
        "timetz" => ColumnType::TimeZoned {
            precision: digits(column),
        },
        "timestamp" => ColumnType::Timestamp {
            precision: digits(column),
        },
        "timestamptz" => ColumnType::TimestampZoned {
            precision: digits(column),
        },
        // Of fixed length and in lower case, so that the order of its text is the server's.
        "uuid" => ColumnType::Shown { ordered: true },
        // Documents, arrays, ranges, enums, composites, networks, bits, intervals, money and whatever else there is or is
        // made by users: each has one text.
        _ => ColumnType::Shown { ordered: false },
    }
}

/// Whether the driver must see no more of a value than its text: of dates and times it makes other ones, without infinity
/// and offset. Of types that it does not know it gives the server's own text, which a cast need not be (`inet`).
pub(super) fn is_selected_as_text(kind: &ColumnType) -> bool {
    matches!(
        kind,
        ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::TimeZoned { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::TimestampZoned { .. }
            // A uuid, which it writes in upper case.
            | ColumnType::Shown { ordered: true }
    )
}

/// Without a precision the column holds any number.
fn decimal(column: &DictionaryColumn) -> ColumnType {
    let declared = column.precision.zip(column.scale);
    // A precision of up to 1000 digits; what does not fit here is any number.
    let declared = declared.and_then(|(precision, scale)| {
        Some((
            u8::try_from(precision).ok().filter(|digits| *digits > 0)?,
            i8::try_from(scale).ok()?,
        ))
    });
    match declared {
        Some((precision, scale)) => ColumnType::Decimal {
            precision: Some(precision),
            scale,
        },
        None => ColumnType::Decimal {
            precision: None,
            scale: 0,
        },
    }
}

/// Digits behind the second: the modifier as it is.
fn digits(column: &DictionaryColumn) -> u8 {
    let modifier = column.length.map(|length| length + 4);
    modifier
        .and_then(|digits| u8::try_from(digits).ok())
        .filter(|digits| *digits <= 6)
        .unwrap_or(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_name: &str, modifier: Option<i64>) -> ColumnType {
        let shifted = modifier.map(|modifier| modifier - 4);
        column_type(&DictionaryColumn {
            type_name: type_name.into(),
            length: shifted,
            precision: shifted.map(|modifier| (modifier >> 16) & 65535),
            scale: shifted.map(|modifier| ((modifier & 2047) ^ 1024) - 1024),
            marks: 0,
        })
    }

    #[test]
    fn modifiers_are_read_by_type() {
        let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
        assert_eq!(column("numeric", Some((20 << 16 | 4) + 4)), decimal(Some(20), 4));
        assert_eq!(
            column("number", Some((6 << 16 | (-2 & 2047)) + 4)),
            decimal(Some(6), -2)
        );
        assert_eq!(column("numeric", Some((1000 << 16) + 4)), decimal(None, 0));
        assert_eq!(column("numeric", None), decimal(None, 0));
        assert_eq!(column("timestamp", Some(3)), ColumnType::Timestamp { precision: 3 });
        assert_eq!(column("timestamptz", None), ColumnType::TimestampZoned { precision: 6 });
        assert_eq!(column("time", Some(0)), ColumnType::Time { precision: 0 });
        let text = |length, padded| ColumnType::Text {
            length: Some(length),
            padded,
        };
        assert_eq!(column("varchar2", Some(24)), text(20, false));
        assert_eq!(column("text", None), text(ANY_LENGTH, false));
        assert_eq!(column("bpchar", Some(14)), text(10, true));
        assert_eq!(column("sys.date", None), ColumnType::Timestamp { precision: 0 });
        assert_eq!(column("sys.varchar2", Some(24)), text(20, false));
        assert_eq!(column("biz.numeric", None), ColumnType::Shown { ordered: false });
    }
}
