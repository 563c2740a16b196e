//! How text is compared.

/// How a server compares text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOrder {
    /// The character set by whose bytes it is ordered; `None` for an order that is not known here.
    pub charset: Option<Charset>,
    /// What case means.
    pub case: Case,
    /// Whether blanks at the end of VARCHAR do not count, as those of CHAR never do.
    pub strips: bool,
}

impl TextOrder {
    /// By its bytes in UTF-8, all of them.
    pub const BYTES: TextOrder = TextOrder {
        charset: Some(Charset::Utf8),
        case: Case::Counts,
        strips: false,
    };
}

/// A character set by whose bytes text is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    #[default]
    Utf8,
    /// GB18030.
    Gb18030,
}

/// What case means where texts are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Letters that differ in case differ.
    #[default]
    Counts,
    /// They are equal, in the place of the lower case ones.
    Lower,
    /// They are equal, in the place of the upper case ones.
    Upper,
}
