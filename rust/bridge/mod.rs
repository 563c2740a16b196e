//! The only room that knows Java.
