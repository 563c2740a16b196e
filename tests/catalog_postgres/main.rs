//! Tables, types, keys and plain pages from PostgreSQL's catalogue, on a server of it.

mod documented;
#[path = "../support/postgres_keys.rs"]
mod key_kinds;
mod keys;
mod matching;
#[path = "../support/mod.rs"]
mod support;
mod values;

use std::sync::Arc;

use support::postgres::{connect, dialect, shared};
use tidemark::catalog::{Table, load};
use tidemark::error::Result;
use tidemark::split::TableName;

fn psql(sql: &str) -> String {
    shared().psql(sql)
}

fn name(schema: &str, name: &str) -> TableName {
    TableName {
        schema: schema.into(),
        name: name.into(),
    }
}

fn read(schema: &str, table: &str) -> Result<Arc<Table>> {
    load(&mut connect(shared()), &*dialect(), &name(schema, table)).map(Arc::new)
}
