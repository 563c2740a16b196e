//! In which form records go downstream, and the options that not every form has.

use serde::Deserialize;

use crate::config::values::Options;
use crate::config::{Connector, refuse};
use crate::error::{ErrorKind, Result};
use crate::row::codec::Form;
use crate::row::debezium_json::{Decimals, JsonSettings, Times};

/// The form that Java asks for, by the method that the source was built with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FormName {
    /// SQL, and `build`.
    #[default]
    Rows,
    /// `buildJson`
    Json,
    /// `buildChanges`
    Changes,
}

const DECIMALS: &str = "decimal.handling.mode";
const TIMES: &str = "time.precision.mode";
const SCHEMA_CHANGES: &str = "include.schema.changes";
const CHANGELOG: &str = "changelog-mode";

/// The form with its options; refuses those of another form.
pub(super) fn form(name: FormName, options: &Options, connector: Connector) -> Result<Form> {
    if name != FormName::Json {
        if let Some(option) = [DECIMALS, TIMES].into_iter().find(|option| options.is_set(option)) {
            return Err(refuse(
                option,
                "is for the DataStream API's JSON alone (buildJson)".into(),
            ));
        }
    }
    if name == FormName::Rows && options.is_set(SCHEMA_CHANGES) {
        return Err(refuse(
            SCHEMA_CHANGES,
            "is for the DataStream API's JSON and changes alone (buildJson, buildChanges)".into(),
        ));
    }
    let schema_changes = options.flag(SCHEMA_CHANGES)?;
    let upsert = options.says(CHANGELOG, "upsert")?;
    if upsert && name != FormName::Rows {
        return Err(refuse(
            CHANGELOG,
            "is 'upsert', which is for rows: in JSON and as a change an update is one record".into(),
        ));
    }
    Ok(match name {
        FormName::Rows => Form::Rows { upsert },
        FormName::Json => Form::Json(JsonSettings {
            decimals: match options.text(DECIMALS)?.as_str() {
                "precise" => Decimals::Precise,
                "double" => Decimals::Double,
                _ => Decimals::String,
            },
            times: match options.text(TIMES)?.as_str() {
                "iso-8601" => Times::Iso8601,
                "adaptive" => Times::Adaptive,
                _ => Times::Sql,
            },
            schema_changes,
            ..JsonSettings::new(connector.name())
        }),
        FormName::Changes => Form::Changes { schema_changes },
    })
}

/// Refuses declared columns where every table has all of its own.
pub(super) fn refuse_columns(name: FormName, declared: bool) -> Result<()> {
    if declared && name != FormName::Rows {
        return Err(ErrorKind::Declaration(
            "columns and metadata are declared for rows alone: in JSON and as changes each table has all its columns"
                .into(),
        )
        .into());
    }
    Ok(())
}

/// The declared PRIMARY KEY that rows are kept by downstream, where that matters.
pub(super) fn upsert_key(form: &Form, declared: Option<Vec<String>>) -> Result<Option<Vec<String>>> {
    match form {
        Form::Rows { upsert: true } => match declared {
            Some(key) if key.is_empty() => Err(refuse(
                CHANGELOG,
                "is 'upsert', which needs a PRIMARY KEY declared in the table".into(),
            )),
            declared => Ok(declared),
        },
        _ => Ok(None),
    }
}
