//! The words of a statement, as far as they are needed to tell what it does to its table.

use std::borrow::Cow;

/// A word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word<'a> {
    /// A bare word: a keyword, or a name that the database folds.
    Bare(&'a str),
    /// A name in double quotes, which it is without.
    Quoted(Cow<'a, str>),
    /// A text literal, a number or a sign.
    Other(&'a str),
}

impl Word<'_> {
    /// Whether it may name what a dictionary calls `name`: a bare word does whatever its case, since databases fold it
    /// differently.
    pub fn may_name(&self, name: &str) -> bool {
        match self {
            Word::Bare(word) => word.to_lowercase() == name.to_lowercase(),
            Word::Quoted(word) => word == name,
            Word::Other(_) => false,
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self, Word::Other(word) if *word == sign)
    }
}

/// Goes through the words of a statement; blanks and comments are none.
#[derive(Clone, Debug)]
pub struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// The words of a statement.
    pub fn of(statement: &'a str) -> Self {
        Words(statement)
    }

    /// What is left of the statement.
    pub fn rest(&self) -> &'a str {
        self.0
    }

    /// The next word in capitals, if it is a bare one.
    pub fn keyword(&mut self) -> Option<String> {
        match self.next() {
            Some(Word::Bare(word)) => Some(word.to_ascii_uppercase()),
            _ => None,
        }
    }

    /// The bare words up to the first that is not, in capitals.
    pub fn keywords(&mut self) -> impl Iterator<Item = String> {
        std::iter::from_fn(|| self.keyword())
    }

    /// Passes over the name of a table, whatever stands in front of its last part.
    pub fn name_of_table(&mut self) {
        let mut ahead = self.clone();
        if ahead.keyword().as_deref() == Some("IF") && ahead.keyword().as_deref() == Some("EXISTS") {
            *self = ahead;
        }
        loop {
            self.next();
            let mut ahead = self.clone();
            if !ahead.next().is_some_and(|word| word.is(".")) {
                return;
            }
            *self = ahead;
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (head, rest) = self.0.split_at(bytes);
        self.0 = rest;
        head
    }

    fn skip_blanks(&mut self) {
        loop {
            self.0 = self.0.trim_start();
            let rest = if self.0.starts_with("--") {
                self.0.split_once('\n').map(|(_, rest)| rest)
            } else if self.0.starts_with("/*") {
                self.0.split_once("*/").map(|(_, rest)| rest)
            } else {
                return;
            };
            self.0 = rest.unwrap_or_default();
        }
    }

    /// How far it is to the end of what is quoted, quotes and all; doubled quotes do not end it.
    fn quoted(&self, quote: char) -> usize {
        let mut rest = self.0[1..].char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            if character == quote && rest.next_if(|(_, next)| *next == quote).is_none() {
                return at + 2;
            }
        }
        self.0.len()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        self.skip_blanks();
        let first = self.0.chars().next()?;
        let in_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '#');
        Some(match first {
            '"' => {
                let quoted = self.take(self.quoted('"'));
                let name = quoted[1..].strip_suffix('"').unwrap_or(&quoted[1..]);
                Word::Quoted(match name.contains("\"\"") {
                    true => name.replace("\"\"", "\"").into(),
                    false => name.into(),
                })
            }
            '\'' => Word::Other(self.take(self.quoted('\''))),
            _ if in_word(first) => {
                let end = self.0.find(|character| !in_word(character)).unwrap_or(self.0.len());
                let word = self.take(end);
                match first.is_numeric() {
                    true => Word::Other(word),
                    false => Word::Bare(word),
                }
            }
            _ => Word::Other(self.take(first.len_utf8())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_what_looks_like_them() {
        let statement = "ALTER/* x */table \"a\"\"b\".T_1 -- DROP\n add \"x y\" varchar(20) default 'it''s \"q\"';";
        let words: Vec<Word<'_>> = Words::of(statement).collect();
        let expected = [
            Word::Bare("ALTER"),
            Word::Bare("table"),
            Word::Quoted("a\"b".into()),
            Word::Other("."),
            Word::Bare("T_1"),
            Word::Bare("add"),
            Word::Quoted("x y".into()),
            Word::Bare("varchar"),
            Word::Other("("),
            Word::Other("20"),
            Word::Other(")"),
            Word::Bare("default"),
            Word::Other("'it''s \"q\"'"),
            Word::Other(";"),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn no_text_is_too_broken_to_end() {
        for text in [
            "\"",
            "'",
            "\"\"\"",
            "'a''",
            "/*",
            "--",
            "\u{5217} \u{540d}",
            "é'ü",
            "\"é",
            "a.",
            "..",
            "\u{0}",
        ] {
            assert!(Words::of(text).count() <= text.chars().count(), "{text}");
        }
    }

    #[test]
    fn a_bare_word_names_a_column_in_any_case() {
        assert!(Word::Bare("note").may_name("NOTE"));
        assert!(Word::Quoted("NOTE".into()).may_name("NOTE"));
        assert!(!Word::Quoted("note".into()).may_name("NOTE"));
        assert!(!Word::Other("'NOTE'").may_name("NOTE"));
    }
}
