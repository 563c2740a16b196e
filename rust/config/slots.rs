//! The options of connectors that read logical slots.

use crate::config::refuse;
use crate::config::values::Options;
use crate::error::Result;

/// `slot.*` and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotConfig {
    /// `database-name`
    pub database: String,
    /// `slot.name`
    pub name: String,
    /// `slot.drop-on-stop`
    pub drop_on_stop: bool,
    /// `decoding.plugin.name`; without it the first that the server has.
    pub plugin: Option<String>,
    /// `publication.name`
    pub publication: String,
    /// `scan.lsn-commit.checkpoints-num-delay`
    pub confirm_delay: usize,
}

const NAME: &str = "slot.name";
const LONGEST: usize = 63;

pub(super) fn slots(options: &Options) -> Result<SlotConfig> {
    let name = options.text(NAME)?;
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.len() > LONGEST || !name.bytes().all(fits) {
        let reason =
            format!("is '{name}'; a slot's name has lower-case letters, digits and underscores, {LONGEST} at most");
        return Err(refuse(NAME, reason));
    }
    let publication = options.optional_text("publication.name")?;
    Ok(SlotConfig {
        database: options.text("database-name")?,
        publication: publication.unwrap_or_else(|| format!("tidemark_{name}")),
        drop_on_stop: options.flag("slot.drop-on-stop")?,
        plugin: options.optional_text("decoding.plugin.name")?,
        confirm_delay: options.integer("scan.lsn-commit.checkpoints-num-delay")? as usize,
        name,
    })
}
