//! Values as redo texts render them.

use crate::log::logminer::redo_sql::{Call, Text, Value as Redo};
use crate::row::value::{Image, Value, ValueBuffer};

/// Sets a value as the redo text has it.
pub(super) fn put(
    values: &mut ValueBuffer,
    image: Image,
    column: usize,
    value: &Redo<'_>,
) -> std::result::Result<(), String> {
    let plain = match *value {
        Redo::Null => Value::Null,
        Redo::Text(Text { raw, doubled: false }) => Value::Text(raw),
        Redo::Text(text) => {
            values.set_text(image, column, |out| text.decode_into(out));
            return Ok(());
        }
        Redo::Number(raw) => Value::Number(raw),
        Redo::Boolean(value) => Value::Int(i64::from(value)),
        Redo::Date(raw) => Value::Date(raw),
        Redo::Time(raw) => Value::Time(raw),
        Redo::Timestamp(raw) => Value::Timestamp(raw),
        Redo::Interval(raw) => Value::Text(raw),
        Redo::Hex(raw) => Value::Hex(raw),
        Redo::OutOfRow(_) => Value::Unavailable,
        Redo::Unsupported => return Err("the log could not render the value".into()),
        Redo::Expression(_) => {
            let mut decoded = Ok(());
            values.set_text(image, column, |out| decoded = value.decode_text(out));
            return decoded.map_err(|error| error.to_string());
        }
        Redo::Call(call) => call_value(&call)?,
    };
    values.set(image, column, plain);
    Ok(())
}

/// The value of a call, as far as logs render values by calls.
fn call_value<'a>(call: &Call<'a>) -> std::result::Result<Value<'a>, String> {
    if call.is("EMPTY_CLOB") {
        return Ok(Value::Text(b""));
    }
    if call.is("EMPTY_BLOB") {
        return Ok(Value::Hex(b""));
    }
    match call.args().next() {
        Some(Redo::Text(Text { raw, doubled: false })) => {
            if call.is("HEXTORAW") {
                return Ok(Value::Hex(raw));
            }
            if call.is("TO_TIMESTAMP") || call.is("TO_TIMESTAMP_TZ") || call.is("TO_DATE") {
                return Ok(Value::Timestamp(raw));
            }
            unknown(call)
        }
        _ => unknown(call),
    }
}

fn unknown<T>(call: &Call<'_>) -> std::result::Result<T, String> {
    Err(format!("call {} is not known", shortened(call.raw)))
}

/// A text for a message: its head, so that neither a message nor a log of messages grows with the data.
pub(super) fn shortened(text: &[u8]) -> String {
    const LONGEST: usize = 200;
    let head = String::from_utf8_lossy(text.get(..LONGEST).unwrap_or(text));
    if text.len() > LONGEST {
        format!("{head}… ({} bytes)", text.len())
    } else {
        head.into_owned()
    }
}
