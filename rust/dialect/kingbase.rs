//! KingbaseES: PostgreSQL's statements under names of its own. No server of it was at hand; docs/kingbase.md says where
//! each of these comes from.

use crate::dialect::postgres::Brand;

/// KingbaseES V8R6 and later (a kernel of PostgreSQL 12).
pub const KINGBASE: Brand = Brand {
    name: "KingbaseES",
    // The section that its installer writes into odbcinst.ini.
    driver: "KingbaseES 8 ODBC Driver",
    database: "test",
    prefixes: &["sys_", "pg_"],
    plugins: &["pgoutput", "test_decoding"],
    own_schemas: &[
        "sys",
        "sys_hm",
        "sysaudit",
        "sysmac",
        "anon",
        "src_restrict",
        "xlog_record_read",
        "dbms_sql",
    ],
    has_other_bytes: true,
};
