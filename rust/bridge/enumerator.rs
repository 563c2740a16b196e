//! Enumerators: class `io.tidemark.source.enumerator.NativeEnumerator`.

use std::sync::Arc;

use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle};

use crate::bridge::handles::Handles;
use crate::bridge::throw::{Fault, Throw};
use crate::bridge::{array, frame, text, unsigned};
use crate::config::Config;
use crate::database::Database;
use crate::enumerator;
use crate::enumerator::api::{Action, Enumerator};
use crate::error::Result;
use crate::split::ToEnumerator;

static ENUMERATORS: Handles<dyn Enumerator> = Handles::new();

/// Opens an enumerator; `state` is null where there is none.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn open0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    config: JString<'l>,
    parallelism: jint,
    state: JByteArray<'l>,
) -> jlong {
    env.with_env(|env| -> std::result::Result<jlong, Fault> {
        let config = Arc::new(Config::from_json(&text(env, &config)?)?);
        let state = if state.is_null() {
            None
        } else {
            Some(env.convert_byte_array(state)?)
        };
        let enumerator = enumerator::open(
            &config,
            Arc::new(Database::new(config.clone())?),
            unsigned(parallelism, "a parallelism")?,
            state.as_deref(),
        )?;
        Ok(ENUMERATORS.add(enumerator))
    })
    .resolve::<Throw>()
}

/// Starts it; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn start0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) -> JByteArray<'l> {
    env.with_env(|env| actions(env, handle, |enumerator| enumerator.start()))
        .resolve::<Throw>()
}

/// Says which readers Flink's context lists now: a u32 each.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn listed0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    subtasks: JByteArray<'l>,
) {
    env.with_env(|env| -> std::result::Result<(), Fault> {
        let subtasks = frame::read_numbers(&env.convert_byte_array(subtasks)?);
        ENUMERATORS.get(handle)?.listed(&subtasks);
        Ok(())
    })
    .resolve::<Throw>()
}

/// Registers a reader; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn register0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    subtask: jint,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let subtask = unsigned(subtask, "a subtask")?;
        actions(env, handle, |enumerator| enumerator.register(subtask))
    })
    .resolve::<Throw>()
}

/// Hands over an event of a reader; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn handle0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    subtask: jint,
    event: JByteArray<'l>,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let subtask = unsigned(subtask, "a subtask")?;
        let event = ToEnumerator::decode(&env.convert_byte_array(event)?)?;
        actions(env, handle, |enumerator| enumerator.handle(subtask, event))
    })
    .resolve::<Throw>()
}

/// Takes back the splits of a subtask that was reset; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn add_splits_back0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    splits: JByteArray<'l>,
    subtask: jint,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let splits = frame::read_splits(&env.convert_byte_array(splits)?)?;
        let subtask = unsigned(subtask, "a subtask")?;
        actions(env, handle, |enumerator| enumerator.add_splits_back(splits, subtask))
    })
    .resolve::<Throw>()
}

/// The state that belongs to a checkpoint.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn snapshot0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let state = ENUMERATORS
            .get(handle)?
            .snapshot(unsigned(checkpoint, "a checkpoint")?)?;
        Ok::<_, Fault>(env.byte_array_from_slice(&state)?)
    })
    .resolve::<Throw>()
}

/// A checkpoint is complete; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn checkpoint_complete0<'l>(
    mut env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
) -> JByteArray<'l> {
    env.with_env(|env| {
        let checkpoint = unsigned(checkpoint, "a checkpoint")?;
        actions(env, handle, |enumerator| enumerator.checkpoint_complete(checkpoint))
    })
    .resolve::<Throw>()
}

/// Cuts on: blocks.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn cut0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    env.with_env(|_| -> std::result::Result<(), Fault> { Ok(ENUMERATORS.get(handle)?.cut()?) })
        .resolve::<Throw>()
}

/// Takes what was cut; returns actions.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn cut_done0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) -> JByteArray<'l> {
    env.with_env(|env| actions(env, handle, |enumerator| enumerator.cut_done()))
        .resolve::<Throw>()
}

/// The gauges.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn metrics0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) -> JByteArray<'l> {
    env.with_env(|env| {
        let metrics = ENUMERATORS.get(handle)?.metrics();
        array(env, &frame::metrics(&metrics))
    })
    .resolve::<Throw>()
}

/// Closes an enumerator, waking what waits; a second time does nothing.
#[jni_mangle("io.tidemark.source.enumerator.NativeEnumerator")]
pub extern "system" fn close0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    env.with_env(|_| -> std::result::Result<(), Fault> {
        if let Some(enumerator) = ENUMERATORS.remove(handle) {
            enumerator.cancel();
            enumerator.close();
        }
        Ok(())
    })
    .resolve::<Throw>()
}

/// Ends every enumerator: the library is about to be unmapped.
pub(super) fn close_all() {
    let enumerators = ENUMERATORS.drain();
    enumerators.iter().for_each(|enumerator| enumerator.cancel());
    enumerators.iter().for_each(|enumerator| enumerator.close());
}

fn actions<'l>(
    env: &mut Env<'l>,
    handle: jlong,
    call: impl FnOnce(&dyn Enumerator) -> Result<Vec<Action>>,
) -> std::result::Result<JByteArray<'l>, Fault> {
    let enumerator = ENUMERATORS.get(handle)?;
    array(env, &frame::actions(&call(&*enumerator)?))
}
