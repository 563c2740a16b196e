//! What is wrong with a redo text, and where.

/// Why a redo text was refused. The text is never guessed at: one that is not understood to its last byte is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset} of the redo text")]
pub struct RedoError {
    /// What was wrong.
    pub fault: Fault,
    /// Where in the text, in bytes from its start.
    pub offset: usize,
}

/// The kinds of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The grammar wants something else here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A text literal runs to the end of the statement (an apostrophe that was not doubled, or a piece that is missing).
    #[error("text literal without closing quote")]
    UnclosedText,
    /// A quoted name runs to the end of the statement.
    #[error("quoted name without closing quote")]
    UnclosedName,
    /// `""`, which names nothing.
    #[error("empty name")]
    EmptyName,
    /// No literal, call or word known as a value.
    #[error("no known form of a value")]
    UnknownValue,
    /// A number with a wrong form.
    #[error("malformed number")]
    BadNumber,
    /// `0x` with an odd count of digits or another character.
    #[error("malformed hexadecimal literal")]
    BadHex,
    /// `DATE''` and the like: empty, or with a quote inside.
    #[error("malformed date, time or interval literal")]
    BadTyped,
    /// A backslash in UNISTR without four hexadecimal digits or a second backslash.
    #[error("malformed escape in UNISTR")]
    BadEscape,
    /// UNISTR with half of a surrogate pair: no text has it.
    #[error("half of a surrogate pair in UNISTR")]
    LoneSurrogate,
    /// Calls nested deeper than any redo text has them.
    #[error("calls nested too deeply")]
    TooDeep,
    /// A column stands twice in one list.
    #[error("column named twice")]
    DuplicateColumn,
    /// The statement is of another table than the one that it is read for.
    #[error("statement of another table")]
    OtherTable,
    /// A statement of 4 GiB or more.
    #[error("statement too long")]
    TooLong,
    /// `dbms_lob` counts from 1.
    #[error("offset or length out of range")]
    BadOffset,
    /// The text of a value or a name is not UTF-8 (only where a form asks for it: the parser itself takes bytes).
    #[error("not UTF-8")]
    NotUtf8,
}

/// The cursor has failed, and knows with what: so an answer stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed;

impl Fault {
    pub(super) fn at(self, offset: usize) -> RedoError {
        RedoError { fault: self, offset }
    }
}
