//! Errors and panics become Java exceptions here, and only here.

use std::any::Any;
use std::cell::RefCell;

use jni::errors::ErrorPolicy;
use jni::objects::{JThrowable, JValue};
use jni::{Env, jni_sig, jni_str};

use crate::error::{Error, ErrorKind};

/// What a native function fails with.
pub(super) enum Fault {
    /// An error of the core.
    Core(Error),
    /// An error of JNI itself; often a Java exception that is already on its way.
    Jni(jni::errors::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Core(error)
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Fault::Core(kind.into())
    }
}

impl From<jni::errors::Error> for Fault {
    fn from(error: jni::errors::Error) -> Self {
        Fault::Jni(error)
    }
}

thread_local! {
    /// Where the last panic of this thread came up; the hook knows it, the payload does not.
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Logs panics instead of printing them to standard error, and notes their place.
pub(super) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map(|place| format!("{}:{}", place.file(), place.line()));
        ::log::error!(
            "panic in thread {:?} at {}: {}",
            std::thread::current().name().unwrap_or("?"),
            place.as_deref().unwrap_or("?"),
            panic_text(info.payload())
        );
        PANIC_PLACE.with(|last| *last.borrow_mut() = place);
    }));
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// Throws what the static method `TidemarkException.of(code, message, retryable)` makes of an error.
pub(super) struct Throw;

impl<T: Default> ErrorPolicy<T, Fault> for Throw {
    type Captures<'u: 'n, 'n> = ();

    fn on_error<'u: 'n, 'n>(env: &mut Env<'u>, _: &mut (), fault: Fault) -> jni::errors::Result<T> {
        match fault {
            Fault::Core(error) => throw(env, &error)?,
            // A Java exception that came up in a call of ours goes on as it is.
            Fault::Jni(_) if env.exception_check() => {}
            Fault::Jni(error) => throw(env, &ErrorKind::Internal(format!("JNI: {error}")).into())?,
        }
        Ok(T::default())
    }

    fn on_panic<'u: 'n, 'n>(
        env: &mut Env<'u>,
        _: &mut (),
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let place = PANIC_PLACE.with(|last| last.borrow_mut().take());
        let text = format!("panic: {} ({})", panic_text(&*payload), place.as_deref().unwrap_or("?"));
        // A payload may panic when it is dropped, and nobody would catch that.
        std::mem::forget(payload);
        if !env.exception_check() {
            throw(env, &ErrorKind::Internal(text).into())?;
        }
        Ok(T::default())
    }
}

fn throw(env: &mut Env<'_>, error: &Error) -> jni::errors::Result<()> {
    let kind = error.kind().to_string();
    let code = kind.split_once(' ').map_or("", |(code, _)| code);
    let code = env.new_string(code)?;
    let message = env.new_string(error.to_string())?;
    // By name each time: the class loader is the caller's, and no reference to it is kept.
    let exception = env
        .call_static_method(
            jni_str!("io/tidemark/TidemarkException"),
            jni_str!("of"),
            jni_sig!("(Ljava/lang/String;Ljava/lang/String;Z)Ljava/lang/RuntimeException;"),
            &[
                JValue::Object(&code),
                JValue::Object(&message),
                JValue::Bool(error.is_retryable()),
            ],
        )?
        .l()?;
    let exception = env.cast_local::<JThrowable<'_>>(exception)?;
    match env.throw(exception) {
        // The one way in which throwing reports success.
        Err(jni::errors::Error::JavaException) => Ok(()),
        other => other,
    }
}
