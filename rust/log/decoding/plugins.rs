//! The output plugins that can be read.

use crate::dialect::slots::PluginCall;
use crate::error::Result;
use crate::log::decoding::decoderbufs::Decoderbufs;
use crate::log::decoding::pgoutput::Pgoutput;
use crate::log::decoding::plugin::{Event, Plugin, Row};
use crate::log::decoding::test_decoding::TestDecoding;

/// The plugin of a slot.
#[derive(Clone, Debug)]
pub enum AnyPlugin {
    /// `pgoutput`
    Pgoutput(Pgoutput),
    /// `test_decoding`
    TestDecoding(TestDecoding),
    /// `decoderbufs`
    Decoderbufs(Decoderbufs),
}

impl AnyPlugin {
    /// The plugin of a name; `None` for one that cannot be read. With `is_binary` it gives values in binary form, if it can.
    pub fn of_name(name: &str, is_binary: bool) -> Option<Self> {
        Some(match name {
            "pgoutput" => AnyPlugin::Pgoutput(Pgoutput { is_binary }),
            "test_decoding" => AnyPlugin::TestDecoding(TestDecoding),
            "decoderbufs" => AnyPlugin::Decoderbufs(Decoderbufs::default()),
            _ => return None,
        })
    }
}

impl Plugin for AnyPlugin {
    fn name(&self) -> &'static str {
        match self {
            AnyPlugin::Pgoutput(plugin) => plugin.name(),
            AnyPlugin::TestDecoding(plugin) => plugin.name(),
            AnyPlugin::Decoderbufs(plugin) => plugin.name(),
        }
    }

    fn next<'a>(&mut self, data: &mut &'a [u8], row: &mut Row<'a>) -> Result<Event<'a>> {
        match self {
            AnyPlugin::Pgoutput(plugin) => plugin.next(data, row),
            AnyPlugin::TestDecoding(plugin) => plugin.next(data, row),
            AnyPlugin::Decoderbufs(plugin) => plugin.next(data, row),
        }
    }

    fn call<'p>(&self, publications: &'p str) -> PluginCall<'p> {
        match self {
            AnyPlugin::Pgoutput(plugin) => plugin.call(publications),
            AnyPlugin::TestDecoding(plugin) => plugin.call(publications),
            AnyPlugin::Decoderbufs(plugin) => plugin.call(publications),
        }
    }
}
