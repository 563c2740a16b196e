//! The library as a whole: class `io.tidemark.Native`.

use std::ffi::c_void;

use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{JavaVM, jint};
use jni::{EnvUnowned, jni_mangle};

use crate::bridge::throw::{Fault, Throw, install_panic_hook};
use crate::bridge::{array, enumerator, lines, reader, text, unsigned};
use crate::config::Config;
use crate::config::options::OPTIONS;
use crate::error::ErrorKind;

/// Version and git revision, separated by a blank: Java refuses another build's library by it.
pub(super) const IDENTITY: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("TIDEMARK_REVISION"));

/// Prepares the library: panics and log lines up to a level (0 none … 5 trace) go to the queue. Returns the identity.
#[jni_mangle("io.tidemark.Native")]
pub extern "system" fn start0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, log_level: jint) -> JString<'l> {
    env.with_env(|env| -> Result<JString<'l>, Fault> {
        if cfg!(target_endian = "big") {
            return Err(ErrorKind::Setup("rows are laid out for little-endian machines only".into()).into());
        }
        lines::install(unsigned(log_level, "the log level")?);
        install_panic_hook();
        Ok(env.new_string(IDENTITY)?)
    })
    .resolve::<Throw>()
}

/// The waiting log lines, or null.
#[jni_mangle("io.tidemark.Native")]
pub extern "system" fn drain_log0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    env.with_env(|env| array(env, &lines::drain())).resolve::<Throw>()
}

/// The table of options as JSON.
#[jni_mangle("io.tidemark.Native")]
pub extern "system" fn options0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>) -> JString<'l> {
    env.with_env(|env| -> Result<JString<'l>, Fault> {
        let json = serde_json::to_string(OPTIONS).map_err(|error| ErrorKind::Internal(error.to_string()))?;
        Ok(env.new_string(json)?)
    })
    .resolve::<Throw>()
}

/// Throws if a configuration is not valid.
#[jni_mangle("io.tidemark.Native")]
pub extern "system" fn validate0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, config: JString<'l>) {
    env.with_env(|env| -> Result<(), Fault> {
        Config::from_json(&text(env, &config)?)?;
        Ok(())
    })
    .resolve::<Throw>()
}

/// Panics with a text: for the test that a panic becomes an exception with its text.
#[jni_mangle("io.tidemark.Native")]
pub extern "system" fn panic0<'l>(mut env: EnvUnowned<'l>, _class: JClass<'l>, with: JString<'l>) {
    env.with_env(|env| -> Result<(), Fault> { std::panic::panic_any(text(env, &with)?) })
        .resolve::<Throw>()
}

/// The JVM calls this just before it unmaps the library, when the class loader that loaded it is collected. Threads
/// that still run our code must be gone when it returns.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnUnload(_vm: *mut JavaVM, _reserved: *mut c_void) {
    // Nobody is left who could take an exception.
    let _ = std::panic::catch_unwind(|| {
        reader::close_all();
        enumerator::close_all();
    });
}
