//! A statement as JSON, for people and for tests.
//!
//! An object with `op`, `owner`, `table`, `after`, `before` and, of an UPDATE, `set`; see `docs/redo-example.md`.

use serde_json::{Map, Value as Json, json};

use super::error::{Fault, RedoError};
use super::large::Large;
use super::statement::{Operation, Statement};
use super::value::{Call, Name, OutOfRow, Value};

impl Operation {
    /// The operation as JSON names it.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Skip => "SKIP",
            Operation::Insert => "INSERT",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Ddl => "DDL",
            Operation::SelectLobLocator => "SELECT_LOB_LOCATOR",
            Operation::LobWrite => "LOB_WRITE",
            Operation::LobTrim => "LOB_TRIM",
            Operation::LobErase => "LOB_ERASE",
            Operation::XmlBegin => "XML_BEGIN",
            Operation::XmlWrite => "XML_WRITE",
            Operation::XmlEnd => "XML_END",
        }
    }

    /// The operation of a name.
    pub fn from_name(name: &str) -> Option<Operation> {
        const ALL: [Operation; 12] = [
            Operation::Skip,
            Operation::Insert,
            Operation::Update,
            Operation::Delete,
            Operation::Ddl,
            Operation::SelectLobLocator,
            Operation::LobWrite,
            Operation::LobTrim,
            Operation::LobErase,
            Operation::XmlBegin,
            Operation::XmlWrite,
            Operation::XmlEnd,
        ];
        ALL.into_iter().find(|operation| operation.name() == name)
    }
}

impl Statement<'_> {
    /// The statement as JSON. Fails where a value is no text: bytes that are not UTF-8, half of a surrogate pair.
    pub fn to_json(&self) -> Result<Json, RedoError> {
        let mut after = Map::new();
        let mut before = Map::new();
        for (name, value) in &self.conditions {
            let value = value.to_json()?;
            if self.operation == Operation::Update {
                after.insert(name_json(name)?, value.clone());
            }
            before.insert(name_json(name)?, value);
        }
        for (name, value) in self.values.iter().chain(&self.set) {
            after.insert(name_json(name)?, value.to_json()?);
        }
        if let Some(row_id) = &self.row_id {
            before.insert("ROWID".to_owned(), row_id.to_json()?);
        }
        self.large_json(&mut after)?;
        let mut object = Map::new();
        object.insert("op".to_owned(), self.operation.name().into());
        object.insert(
            "owner".to_owned(),
            self.owner.as_ref().map(name_json).transpose()?.into(),
        );
        object.insert(
            "table".to_owned(),
            self.table.as_ref().map(name_json).transpose()?.into(),
        );
        object.insert("after".to_owned(), after.into());
        object.insert("before".to_owned(), before.into());
        if self.operation == Operation::Update {
            let names: Result<Vec<_>, _> = self.set.iter().map(|(name, _)| name_json(name)).collect();
            object.insert("set".to_owned(), names?.into());
        }
        Ok(object.into())
    }

    fn large_json(&self, after: &mut Map<String, Json>) -> Result<(), RedoError> {
        for large in &self.large {
            let (key, value) = match large {
                Large::Locator { column, kind } => {
                    (name_json(column)?, call_json("LOB_LOCATOR", vec![text_json(kind)?]))
                }
                Large::Document { column } => (name_json(column)?, call_json("XML_LOCATOR", vec![])),
                Large::Write { offset, length, data } => (
                    "$lob".to_owned(),
                    call_json("WRITE", vec![digits(*offset), digits(*length), data.to_json()?]),
                ),
                Large::Trim { length } => ("$lob".to_owned(), call_json("TRIM", vec![digits(*length)])),
                Large::Erase { offset, length } => (
                    "$lob".to_owned(),
                    call_json("ERASE", vec![digits(*offset), digits(*length)]),
                ),
                Large::DocumentPiece { length, data } => {
                    let data = match data {
                        Value::Hex(raw) => call_json("HEXTORAW", vec![text_json(raw)?]),
                        other => other.to_json()?,
                    };
                    (
                        "$xml".to_owned(),
                        call_json("WRITE", vec![digits(length.unwrap_or(0)), data]),
                    )
                }
            };
            // One block may hold several calls: the second makes it a list.
            match after.get_mut(&key) {
                None => drop(after.insert(key, value)),
                Some(Json::Array(list)) => list.push(value),
                Some(first) => *first = Json::Array(vec![first.take(), value]),
            }
        }
        Ok(())
    }
}

fn digits(number: u64) -> Json {
    number.to_string().into()
}

fn call_json(name: &str, args: Vec<Json>) -> Json {
    json!({ "fn": name, "args": args })
}

fn string(bytes: Vec<u8>) -> Result<String, RedoError> {
    String::from_utf8(bytes).map_err(|error| Fault::NotUtf8.at(error.utf8_error().valid_up_to()))
}

fn text_json(bytes: &[u8]) -> Result<Json, RedoError> {
    string(bytes.to_vec()).map(Json::from)
}

fn name_json(name: &Name<'_>) -> Result<String, RedoError> {
    let mut bytes = Vec::new();
    name.decode_into(&mut bytes);
    string(bytes)
}

impl Value<'_> {
    /// The value as JSON.
    pub fn to_json(&self) -> Result<Json, RedoError> {
        let typed = |name: &str, raw: &[u8]| Ok(call_json(name, vec![text_json(raw)?]));
        match self {
            Value::Null => Ok(Json::Null),
            Value::Text(_) | Value::Expression(_) => {
                let mut bytes = Vec::new();
                self.decode_text(&mut bytes)?;
                string(bytes).map(Json::from)
            }
            Value::Number(_) | Value::Boolean(_) => text_json(self.bytes()),
            Value::Date(raw) => typed("DATE", raw),
            Value::Time(raw) => typed("TIME", raw),
            Value::Timestamp(raw) => typed("TIMESTAMP", raw),
            Value::Interval(raw) => typed("INTERVAL", raw),
            Value::Hex(raw) => typed("HEX", raw),
            Value::Call(call) => function_json(call),
            Value::OutOfRow(OutOfRow { binary, handle }) => {
                let name = if *binary { "OUT_BLOB" } else { "OUT_CLOB" };
                let args: Result<Vec<_>, _> = handle.iter().map(|handle| text_json(handle)).collect();
                Ok(call_json(name, args?))
            }
            Value::Unsupported => Ok(call_json("UNSUPPORTED_TYPE", vec![])),
        }
    }
}

fn function_json(call: &Call<'_>) -> Result<Json, RedoError> {
    let mut name = Vec::new();
    call.name_into(&mut name);
    let args: Result<Vec<_>, _> = call.args().map(|value| value.to_json()).collect();
    Ok(call_json(&string(name)?, args?))
}
