//! The only room that knows Java. One file a Java class with native methods (`library`, `reader`, `enumerator`); their
//! exported functions are thin and never fail otherwise than by a Java exception, and the `intern_` functions behind them
//! do the work.
//!
//! Nothing here keeps a reference to a Java class, or calls Java from a thread of its own: either would keep Flink's class
//! loader, and so this copy of the library, for ever. A thread-local value with a destructor keeps the library mapped too,
//! until its thread ends: what Flink calls on threads that outlive a job (opening an enumerator, gauges, `JNI_OnUnload`)
//! must not make one.

mod enumerator;
mod frame;
#[cfg(test)]
pub(crate) mod fuzz;
mod handles;
mod library;
mod lines;
mod reader;
mod throw;

use jni::Env;
use jni::objects::{JByteArray, JString};

use crate::bridge::throw::Fault;
use crate::error::ErrorKind;

/// A text from Java.
fn text(env: &Env<'_>, from: &JString<'_>) -> Result<String, Fault> {
    Ok(from.try_to_string(env)?)
}

/// A byte array for Java; `null` for no bytes, which is how "nothing" crosses.
fn array<'l>(env: &mut Env<'l>, bytes: &[u8]) -> Result<JByteArray<'l>, Fault> {
    if bytes.is_empty() {
        return Ok(JByteArray::default());
    }
    Ok(env.byte_array_from_slice(bytes)?)
}

/// A number from Java that cannot be negative.
fn unsigned<T, U: TryFrom<T>>(value: T, what: &str) -> Result<U, Fault> {
    U::try_from(value).map_err(|_| Fault::Core(ErrorKind::Internal(format!("{what} from Java is negative")).into()))
}
