//! Readers: class `io.tidemark.source.reader.NativeReader`.

use std::sync::Arc;
use std::time::Duration;

use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle};

use crate::bridge::frame::{self, FrameWriter};
use crate::bridge::handles::Handles;
use crate::bridge::throw::{Fault, Throw};
use crate::bridge::{array, text, unsigned};
use crate::config::Config;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::reader;
use crate::reader::api::{Message, RowsOut, SourceReader};
use crate::split::{ToEnumerator, ToReader};

static READERS: Handles<dyn SourceReader> = Handles::new();

const TAG_EVENTS: u8 = 2;
const TAG_END: u8 = 3;

/// Opens a reader; `temporary` is a JSON list of the folders for large transactions.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn open0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    config: JString<'l>,
    subtask: jint,
    temporary: JString<'l>,
) -> jlong {
    env.with_env(|env| -> std::result::Result<jlong, Fault> {
        let mut config = Config::from_json(&text(env, &config)?)?;
        config.temporary = serde_json::from_str(&text(env, &temporary)?)
            .map_err(|error| Error::from(ErrorKind::Internal(format!("the list of temporary folders: {error}"))))?;
        let config = Arc::new(config);
        let database = Arc::new(Database::new(config.clone())?);
        let subtask = unsigned(subtask, "a subtask")?;
        Ok(READERS.add(reader::open(&config, database, subtask)))
    })
    .resolve::<Throw>()
}

/// Starts it; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn start0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) -> JByteArray<'l> {
    env.with_env(|env| events(env, handle, |reader| reader.start()))
        .resolve::<Throw>()
}

/// Adds splits; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn add_splits0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    splits: JByteArray<'l>,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let splits = frame::read_splits(&env.convert_byte_array(splits)?)?;
        events(env, handle, |reader| reader.add_splits(splits))
    })
    .resolve::<Throw>()
}

/// Hands over an event of the enumerator; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn handle0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    event: JByteArray<'l>,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let event = ToReader::decode(&env.convert_byte_array(event)?)?;
        events(env, handle, |reader| reader.handle(event))
    })
    .resolve::<Throw>()
}

/// No split will come any more; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn no_more_splits0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| events(env, handle, |reader| reader.no_more_splits()))
        .resolve::<Throw>()
}

/// The next message: null for none, a batch (`reader::batch` has its layout), 2 and events, or 3 for the end.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn next0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let timeout = Duration::from_millis(unsigned(timeout_millis, "a timeout")?);
        match intern_next(handle, timeout)? {
            Message::Rows(batch) => array(env, batch.bytes()),
            other => array(env, &message(&other)),
        }
    })
    .resolve::<Throw>()
}

/// All rows of a batch are out; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn consumed0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    batch: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let batch = unsigned(batch, "a batch number")?;
        events(env, handle, |reader| reader.consumed(batch))
    })
    .resolve::<Throw>()
}

/// The splits of a checkpoint, taken when `rows` rows of a batch are out.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn snapshot0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
    batch: jlong,
    rows: jint,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let out = RowsOut {
            batch: unsigned(batch, "a batch number")?,
            rows: unsigned(rows, "a number of rows")?,
        };
        let splits = READERS
            .get(handle)?
            .snapshot(unsigned(checkpoint, "a checkpoint")?, out)?;
        array(env, &frame::splits(&splits))
    })
    .resolve::<Throw>()
}

/// A checkpoint is complete; returns events.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn checkpoint_complete0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let checkpoint = unsigned(checkpoint, "a checkpoint")?;
        events(env, handle, |reader| reader.checkpoint_complete(checkpoint))
    })
    .resolve::<Throw>()
}

/// The gauges.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn metrics0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) -> JByteArray<'l> {
    env.with_env(|env| {
        let metrics = READERS.get(handle)?.metrics();
        array(env, &frame::metrics(&metrics))
    })
    .resolve::<Throw>()
}

/// Wakes what waits. Nothing happens to a reader that is closed.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn cancel0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    env.with_env(|_| -> std::result::Result<(), Fault> {
        if let Ok(reader) = READERS.get(handle) {
            reader.cancel();
        }
        Ok(())
    })
    .resolve::<Throw>()
}

/// Closes a reader; a second time does nothing.
#[jni_mangle("io.tidemark.source.reader.NativeReader")]
pub extern "system" fn close0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    env.with_env(|_| -> std::result::Result<(), Fault> {
        if let Some(reader) = READERS.remove(handle) {
            reader.cancel();
            reader.close();
        }
        Ok(())
    })
    .resolve::<Throw>()
}

/// Ends every reader: the library is about to be unmapped.
pub(super) fn close_all() {
    let readers = READERS.drain();
    readers.iter().for_each(|reader| reader.cancel());
    readers.iter().for_each(|reader| reader.close());
}

fn events<'l>(
    env: &mut Env<'l>,
    handle: jlong,
    call: impl FnOnce(&dyn SourceReader) -> Result<Vec<ToEnumerator>>,
) -> std::result::Result<JByteArray<'l>, Fault> {
    let reader = READERS.get(handle)?;
    array(env, &frame::events(&call(&*reader)?))
}

fn intern_next(handle: jlong, timeout: Duration) -> Result<Message> {
    READERS.get(handle)?.next(timeout)
}

fn message(message: &Message) -> Vec<u8> {
    match message {
        Message::Nothing | Message::Rows(_) => Vec::new(),
        Message::End => vec![TAG_END],
        Message::Events(events) => {
            let mut out = FrameWriter::tagged(TAG_EVENTS);
            out.list(events, |out, event| out.bytes(&event.encode()));
            out.finish()
        }
    }
}
