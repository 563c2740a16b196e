//! The options of connectors that read logical slots.

use crate::catalog::statement::{Word, Words};
use crate::config::refuse;
use crate::config::values::Options;
use crate::dialect::ddl_capture;
use crate::error::Result;
use crate::split::TableName;

/// `slot.*` and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotConfig {
    /// `database-name`
    pub database: String,
    /// `slot.name`
    pub name: String,
    /// `slot.drop-on-stop`; without it that of a bounded job goes.
    pub drop_on_stop: bool,
    /// `decoding.plugin.name`; without it the first that the server has.
    pub plugin: Option<String>,
    /// `publication.name`
    pub publication: String,
    /// Nobody named the publication: it is of this slot alone.
    pub publication_is_own: bool,
    /// `scan.lsn-commit.checkpoints-num-delay`
    pub confirm_delay: usize,
    /// `ddl.capture` and `ddl.table`
    pub ddl: DdlCapture,
}

impl SlotConfig {
    /// Tables of DDL statements: they are read for what they say, and are never rows.
    pub(super) fn never_captured(&self) -> impl Iterator<Item = TableName> {
        [Some(ddl_capture::own_table()), self.ddl.table()].into_iter().flatten()
    }
}

/// From where what becomes of tables is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DdlCapture {
    /// From the log and the catalogue alone.
    #[default]
    Off,
    /// From the connector's own table of DDL statements, which is made where it is not there.
    Own,
    /// From a table of DDL statements that somebody else has made.
    Table(TableName),
}

impl DdlCapture {
    /// The table of DDL statements.
    pub fn table(&self) -> Option<TableName> {
        match self {
            DdlCapture::Off => None,
            DdlCapture::Own => Some(ddl_capture::own_table()),
            DdlCapture::Table(table) => Some(table.clone()),
        }
    }
}

const NAME: &str = "slot.name";
const LONGEST: usize = 63;
const PLUGIN: &str = "decoding.plugin.name";
const PUBLICATION: &str = "publication.name";

pub(super) fn slots(options: &Options) -> Result<SlotConfig> {
    let name = options.text(NAME)?;
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.len() > LONGEST || !name.bytes().all(fits) {
        let reason =
            format!("is '{name}'; a slot's name has lower-case letters, digits and underscores, {LONGEST} at most");
        return Err(refuse(NAME, reason));
    }
    let publication = options.optional_text(PUBLICATION)?;
    let plugin = options.optional_text(PLUGIN)?;
    if let Some(plugin) = plugin
        .as_deref()
        .filter(|plugin| publication.is_some() && *plugin != "pgoutput")
    {
        let reason = format!("means something only where {PLUGIN} = 'pgoutput'; it is '{plugin}'");
        return Err(refuse(PUBLICATION, reason));
    }
    let is_bounded = options.says("scan.startup.mode", "snapshot")?;
    Ok(SlotConfig {
        database: options.text("database-name")?,
        publication_is_own: publication.is_none(),
        publication: publication.unwrap_or_else(|| format!("tidemark_{name}")),
        drop_on_stop: options.flag_or("slot.drop-on-stop", is_bounded)?,
        plugin,
        confirm_delay: options.integer("scan.lsn-commit.checkpoints-num-delay")? as usize,
        ddl: ddl(options)?,
        name,
    })
}

const CAPTURE: &str = "ddl.capture";
const TABLE: &str = "ddl.table";

fn ddl(options: &Options) -> Result<DdlCapture> {
    let table = options.optional_text(TABLE)?;
    match (options.says(CAPTURE, "on")?, table) {
        (false, None) => Ok(DdlCapture::Off),
        (true, None) => Ok(DdlCapture::Own),
        (false, Some(text)) => qualified(&text).map(DdlCapture::Table).ok_or_else(|| {
            let reason = format!("is '{text}'; it must be schema.table, a name in double quotes being exact");
            refuse(TABLE, reason)
        }),
        (true, Some(_)) => {
            let own = ddl_capture::own_table();
            let reason = format!(
                "names a table that is there, and {CAPTURE} = 'on' makes {own}: set one of the two ({TABLE} reads {own} too, \
                 where a DBA has made it)"
            );
            Err(refuse(TABLE, reason))
        }
    }
}

/// Schema and table, bare names in lower case as these servers fold them.
fn qualified(text: &str) -> Option<TableName> {
    let mut words = Words::of(text);
    let name = |words: &mut Words<'_>| match words.next()? {
        Word::Bare(word) => Some(word.to_lowercase()),
        Word::Quoted(word) if !word.is_empty() => Some(word.into_owned()),
        _ => None,
    };
    let schema = name(&mut words)?;
    let is_joined = words.next() == Some(Word::Other("."));
    let table = name(&mut words)?;
    (is_joined && words.next().is_none()).then_some(TableName { schema, name: table })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_as_in_sql() {
        for (text, name) in [
            ("public.ddl_log", Some(("public", "ddl_log"))),
            (" Flysync . Trep_Sync_DDL ", Some(("flysync", "trep_sync_ddl"))),
            (r#""My.Schema".t"#, Some(("My.Schema", "t"))),
            (r#"s."A""b""#, Some(("s", "A\"b"))),
            ("table_alone", None),
            ("a.b.c", None),
            ("a.", None),
            (".b", None),
            ("'a'.b", None),
            ("a b", None),
            (r#""".b"#, None),
        ] {
            let expected = name.map(|(schema, name)| TableName {
                schema: schema.into(),
                name: name.into(),
            });
            assert_eq!(qualified(text), expected, "{text}");
        }
    }
}
