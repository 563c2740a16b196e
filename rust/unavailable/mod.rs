//! What becomes of a value that there is but that the log does not hold: one that is stored out of its row, say
//! (`value.unavailable`, design 8).
//!
//! Every image passes here before a codec sees it. Under `read-back` the row that comes is read again by its key, once
//! the database shows the transaction; what is read is the row's state of then, which a later change of the log may
//! have made. That change follows, so that the end is right. A row that leaves cannot be read any more; nor can one
//! that is gone by then. There, and everywhere under `placeholder`, stands a marker that no database makes by itself.
//! Under `fail` nothing is done, and the codec refuses the value. Which types can lack is the log's matter: on some
//! databases large objects alone, on others a value of any type that is stored out of its row. Text, bytes and types that go out
//! as text have a placeholder; a value of another one is refused, but of a row that was gone when it was looked up it is NULL:
//! whatever took the row follows.

mod complete;
pub mod look_up;
pub mod select;

pub use complete::{Around, Completed, Completion, Connect, Counts};

/// What stands for a value that cannot be had: as users of Debezium know it (its `unavailable.value.placeholder`); in a
/// binary column the bytes of this text.
pub const PLACEHOLDER: &str = "__debezium_unavailable_value";

/// `value.unavailable`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// Read the row again by its key.
    #[default]
    ReadBack,
    /// Send [`PLACEHOLDER`].
    Placeholder,
    /// Fail.
    Fail,
}
