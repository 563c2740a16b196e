//! Which tables a job means: names in double quotes are exact, all else are anchored patterns over names as SQL reads
//! them without quotes.

use std::fmt;

use regex::{Regex, RegexBuilder};

use crate::split::TableName;

/// `schema-name` or `table-name`.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    alternatives: Vec<Alternative>,
}

#[derive(Clone, Debug)]
enum Alternative {
    /// A name in double quotes.
    Exact(String),
    Pattern {
        /// Without regard to case.
        any_case: Regex,
        /// As it stands, if it began with `(?-i)`. Others mean names that need no quotes for their case.
        cased: Option<Regex>,
    },
}

/// How a name stands to a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Another name.
    No,
    /// It would match if case did not count.
    ButForCase,
    /// It matches.
    Yes,
}

/// What case means in the names of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCase {
    /// Nothing, in any of them.
    Ignored,
    /// It tells names apart; one without quotes means upper-case letters.
    Upper,
    /// It tells names apart; one without quotes means lower-case letters.
    Lower,
}

impl NameCase {
    /// Whether a name is what SQL makes of it where it stands without quotes.
    fn is_bare(self, name: &str) -> bool {
        match self {
            NameCase::Ignored => true,
            NameCase::Upper => !name.bytes().any(|byte| byte.is_ascii_lowercase()),
            NameCase::Lower => !name.bytes().any(|byte| byte.is_ascii_uppercase()),
        }
    }
}

/// The tables of a job.
#[derive(Clone, Debug)]
pub struct TablePatterns {
    /// `schema-name`
    pub schema: NamePattern,
    /// `table-name`
    pub table: NamePattern,
    /// Tables that are never captured, whatever the patterns say.
    pub but: Vec<TableName>,
}

impl TablePatterns {
    /// How a table's two names stand to the patterns.
    pub fn fit(&self, schema: &str, table: &str, case: NameCase) -> Fit {
        if (self.but.iter()).any(|but| but.schema == schema && but.name == table) {
            return Fit::No;
        }
        self.schema.fit(schema, case).min(self.table.fit(table, case))
    }
}

impl fmt::Display for TablePatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema-name '{}' and table-name '{}'", self.schema, self.table)
    }
}

impl NamePattern {
    /// Reads alternatives between `|`: names in double quotes, inner ones doubled, and regular expressions, which must
    /// match a whole name.
    ///
    /// # Errors
    /// What is wrong with it, for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        let mut rest = Some(text);
        while let Some(here) = rest.map(str::trim_start) {
            let (alternative, behind) = match here.strip_prefix('"') {
                Some(inner) => quoted(inner)?,
                None => pattern(here)?,
            };
            alternatives.push(alternative);
            rest = behind;
        }
        Ok(NamePattern {
            text: text.to_owned(),
            alternatives,
        })
    }

    /// How a name stands to the pattern.
    pub fn fit(&self, name: &str, case: NameCase) -> Fit {
        let fits = self.alternatives.iter().map(|alternative| alternative.fit(name, case));
        fits.max().unwrap_or(Fit::No)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Alternative {
    fn fit(&self, name: &str, case: NameCase) -> Fit {
        let (alike, case_fits) = match self {
            Alternative::Exact(exact) => (exact.to_lowercase() == name.to_lowercase(), exact == name),
            Alternative::Pattern { any_case, cased } => (
                any_case.is_match(name),
                match cased {
                    Some(cased) => cased.is_match(name),
                    None => case.is_bare(name),
                },
            ),
        };
        match alike {
            false => Fit::No,
            true if case == NameCase::Ignored || case_fits => Fit::Yes,
            true => Fit::ButForCase,
        }
    }
}

/// Reads a name behind its opening quote, and what follows behind the `|`.
fn quoted(inner: &str) -> Result<(Alternative, Option<&str>), String> {
    let mut name = String::new();
    let mut rest = inner;
    loop {
        let (part, behind) = rest
            .split_once('"')
            .ok_or("a name in double quotes has no closing one")?;
        name.push_str(part);
        let Some(more) = behind.strip_prefix('"') else {
            rest = behind.trim_start();
            break;
        };
        name.push('"');
        rest = more;
    }
    if name.is_empty() {
        return Err("a name in double quotes is empty".into());
    }
    let behind = match rest.strip_prefix('|') {
        None if !rest.is_empty() => {
            return Err("a name in double quotes must stand alone or between '|'".into());
        }
        behind => behind,
    };
    Ok((Alternative::Exact(name), behind))
}

/// Reads a regular expression up to the next `|` outside of groups and classes.
fn pattern(text: &str) -> Result<(Alternative, Option<&str>), String> {
    let end = end_of_pattern(text)?;
    let behind = text.get(end + 1..);
    let own = text[..end].trim_end();
    if own.is_empty() {
        return Err("an alternative is empty".into());
    }
    let cased = own.strip_prefix("(?-i)");
    let any_case = compile(cased.unwrap_or(own), true)?;
    let cased = cased.map(|own| compile(own, false)).transpose()?;
    Ok((Alternative::Pattern { any_case, cased }, behind))
}

fn end_of_pattern(text: &str) -> Result<usize, String> {
    let (mut groups, mut classes, mut escaped) = (0_u32, 0_u32, false);
    let mut class_begins = false;
    for (place, letter) in text.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        let first_of_class = std::mem::take(&mut class_begins);
        match letter {
            '\\' => escaped = true,
            '[' => {
                classes += 1;
                class_begins = true;
            }
            '^' if first_of_class => class_begins = true,
            // At the beginning of a class it stands for itself.
            ']' if !first_of_class => classes = classes.saturating_sub(1),
            _ if classes > 0 => {}
            '(' => groups += 1,
            ')' => groups = groups.saturating_sub(1),
            '"' => return Err("a double quote inside a pattern must be written as \\\"".into()),
            '|' if groups == 0 => return Ok(place),
            _ => {}
        }
    }
    Ok(text.len())
}

fn compile(pattern: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(&format!(r"\A(?:{pattern})\z"))
        .case_insensitive(any_case)
        .dot_matches_new_line(true)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            format!(
                "'{pattern}' is not a regular expression: {}",
                reason.trim_start_matches("error: ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> NamePattern {
        NamePattern::parse(text).unwrap()
    }

    fn matches(text: &str, name: &str) -> bool {
        pattern(text).fit(name, NameCase::Upper) == Fit::Yes
    }

    /// What SQL means by a name, with and without quotes.
    #[test]
    fn names_are_read_as_sql_reads_them() {
        for text in ["orders", "ORDERS", "Orders"] {
            assert!(matches(text, "ORDERS"), "{text}");
            for other in ["orders", "Orders"] {
                assert_eq!(
                    pattern(text).fit(other, NameCase::Upper),
                    Fit::ButForCase,
                    "{text} {other}"
                );
                assert_eq!(pattern(text).fit(other, NameCase::Ignored), Fit::Yes, "{text} {other}");
            }
        }
        assert!(matches("\"orders\"", "orders") && !matches("\"orders\"", "ORDERS"));
        assert_eq!(pattern("\"orders\"").fit("ORDERS", NameCase::Upper), Fit::ButForCase);
        assert_eq!(pattern("\"orders\"").fit("ORDERS", NameCase::Ignored), Fit::Yes);
        assert!(matches("订单", "订单") && matches("\"Grün\"", "Grün"));
    }

    #[test]
    fn names_without_quotes_are_read_as_the_server_folds_them() {
        for text in ["orders", "ORDERS", "Orders"] {
            assert_eq!(pattern(text).fit("orders", NameCase::Lower), Fit::Yes, "{text}");
            assert_eq!(pattern(text).fit("Orders", NameCase::Lower), Fit::ButForCase, "{text}");
        }
        assert_eq!(pattern("\"Orders\"").fit("Orders", NameCase::Lower), Fit::Yes);
        assert_eq!(pattern("(?-i)Ord.*").fit("Orders", NameCase::Lower), Fit::Yes);
    }

    /// F27
    #[test]
    fn a_pattern_matches_whole_names_and_underscore_and_percent_are_plain() {
        assert!(matches("class_item", "CLASS_ITEM"));
        for other in ["X_CLASS_ITEM", "CLASSXITEM", "CLASS_ITEM2", "CLASS_ITEM\n"] {
            assert_eq!(pattern("class_item").fit(other, NameCase::Upper), Fit::No, "{other}");
        }
        assert!(matches("(a|class)_item", "CLASS_ITEM") && !matches("(a|class)_item", "X_CLASS_ITEM"));
        assert!(matches("a|class_item", "CLASS_ITEM") && !matches("class|item", "CLASS_ITEM"));
        assert!(matches("T%", "T%") && !matches("T%", "T1") && !matches("T_", "T1"));
        assert!(matches(".*", "A\nB") && matches("ORD_\\d+", "ORD_17") && !matches("ORD_\\d+", "ORD_"));
    }

    #[test]
    fn what_stands_in_quotes_is_no_pattern() {
        for (text, name) in [
            ("\"My.Tab\"\"le\"", "My.Tab\"le"),
            ("\"A.B\"", "A.B"),
            ("\"V$X\"", "V$X"),
            ("\"a|b\"", "a|b"),
            ("\"\"\"\"", "\""),
            (" \" x \" ", " x "),
            ("\".*\"", ".*"),
            ("\"it's 1; --\"", "it's 1; --"),
        ] {
            assert!(matches(text, name), "{text}");
        }
        assert!(!matches("\"A.B\"", "AXB") && !matches("\".*\"", "X"));
    }

    #[test]
    fn alternatives_of_both_kinds_stand_side_by_side() {
        let all = "\"orders\" | ITEM_\\d+|[|\"\\]](A|B)|[]|]x|(?-i)shard_[a-z]";
        for name in ["orders", "ITEM_1", "|A", "\"B", "]B", "|X", "]X", "shard_a"] {
            assert!(matches(all, name), "{name}");
        }
        for name in ["ORDERS", "item_1", "SHARD_A", "shard_A", "A", "", "|"] {
            assert!(!matches(all, name), "{name}");
        }
        assert_eq!(pattern("(?-i)shard_.").fit("SHARD_A", NameCase::Upper), Fit::ButForCase);
        assert_eq!(pattern("(?-i)shard_.").fit("SHARD_A", NameCase::Ignored), Fit::Yes);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, reason) in [
            ("A|", "empty"),
            ("|A", "empty"),
            (" ", "empty"),
            ("\"\"", "empty"),
            ("\"A", "no closing"),
            ("\"A\"B", "stand alone"),
            ("\"A\"\"", "no closing"),
            ("A\"B\"", "double quote inside"),
            ("(A", "'(A' is not a regular expression: unclosed group"),
            ("A)|(B", "not a regular expression"),
            ("*", "not a regular expression"),
            ("(?!A).*", "look-around"),
            ("A{1000}{1000}{1000}", "not a regular expression"),
        ] {
            let error = NamePattern::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
