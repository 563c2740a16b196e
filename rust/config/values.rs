//! Options as they came from Java, read by the table of options.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config::options::{Default, OPTIONS, Of, OptionKind, OptionSpec, find};
use crate::config::{Connector, refuse};
use crate::error::{Error, ErrorKind, Result};

/// The options as they came; each question is answered by the table of options.
pub(super) struct Options(pub(super) Map<String, Value>);

impl Options {
    /// Refuses what is no option, or none of this connector.
    pub(super) fn refuse_unknown(&self, connector: Connector) -> Result<()> {
        for name in self.0.keys() {
            let spec = find(name).ok_or_else(|| refuse(name, "there is no such option".into()))?;
            if spec.of != Of::Every && spec.of != connector.family() {
                return Err(refuse(name, format!("is no option of '{}'", connector.name())));
            }
        }
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<String> {
        self.optional_text(name)?
            .ok_or_else(|| refuse(name, "must be set".into()))
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>> {
        let spec = spec(name)?;
        let text = match (self.0.get(name), spec.default) {
            (None, Default::Text(default)) => return Ok(Some(default.to_owned())),
            (None, _) => return Ok(None),
            (Some(value), _) => text(name, value)?,
        };
        if let OptionKind::Choice(words) = spec.kind {
            if !words.contains(&text) {
                let words = words.join("', '");
                return Err(refuse(name, format!("is '{text}'; it must be one of '{words}'")));
            }
        }
        Ok(Some(text.to_owned()))
    }

    pub(super) fn integer(&self, name: &str) -> Result<i64> {
        let spec = spec(name)?;
        let (min, max, unit) = match spec.kind {
            OptionKind::Integer { min, max } => (min, max, ""),
            OptionKind::Duration { min, max } => (min, max, " ms"),
            OptionKind::Bytes { min, max } => (min, max, " bytes"),
            _ => return Err(no_such(name)),
        };
        let value = match (self.0.get(name), spec.default) {
            (None, Default::Number(default)) => default,
            (None, _) => return Err(refuse(name, "must be set".into())),
            (Some(value), _) => value
                .as_i64()
                .ok_or_else(|| refuse(name, format!("must be an integer{unit}")))?,
        };
        if !(min..=max).contains(&value) {
            return Err(refuse(
                name,
                format!("is {value}{unit}; it must be from {min} to {max}{unit}"),
            ));
        }
        Ok(value)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        match (self.0.get(name), spec(name)?.default) {
            (None, Default::Flag(default)) => self.flag_or(name, default),
            (None, _) => Err(no_such(name)),
            (Some(_), _) => self.flag_or(name, false),
        }
    }

    /// The same where what holds without it depends on other options.
    pub(super) fn flag_or(&self, name: &str, default: bool) -> Result<bool> {
        self.0.get(name).map_or(Ok(default), |value| {
            let flag = value.as_bool();
            flag.ok_or_else(|| refuse(name, "must be true or false".into()))
        })
    }

    /// Whether the user set an option.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether an option of two words has the second one.
    pub(super) fn says(&self, name: &str, word: &str) -> Result<bool> {
        Ok(self.text(name)? == word)
    }

    pub(super) fn properties(&self, prefix: &str) -> Result<BTreeMap<String, String>> {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &self.0 {
            let is_one = find(name).is_some_and(|spec| spec.name == prefix);
            if let Some(rest) = name.get(prefix.len() + 1..).filter(|_| is_one) {
                if let Some(other) = all.keys().find(|other| other.eq_ignore_ascii_case(rest)) {
                    return Err(refuse(name, format!("is set twice, as '{prefix}.{other}' too")));
                }
                all.insert(rest.to_owned(), text(name, value)?.to_owned());
            }
        }
        Ok(all)
    }
}

fn spec(name: &str) -> Result<&'static OptionSpec> {
    OPTIONS
        .iter()
        .find(|option| option.name == name)
        .ok_or_else(|| no_such(name))
}

fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str> {
    let text = value.as_str().ok_or_else(|| refuse(name, "must be a text".into()))?;
    if text.trim().is_empty() {
        return Err(refuse(name, "must not be empty".into()));
    }
    if text.contains('\0') {
        return Err(refuse(name, "must not contain a NUL character".into()));
    }
    Ok(text)
}

fn no_such(name: &str) -> Error {
    ErrorKind::Internal(format!("the table of options does not have '{name}' of this type")).into()
}
