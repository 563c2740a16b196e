//! How a server compares text. Character set, case and blanks were decided when the database was made, and an order by
//! sound or strokes may have been chosen since: so the server is asked to sort some texts, and the one rule that gives
//! what it answers is taken.

use crate::catalog::key::compare_texts;
use crate::catalog::text_order::{Case, Charset, TextOrder};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::odbc::Connection;

/// What is sorted. All of it is in GB2312, so that every server has it: blanks and case; letters of which UTF-8 and
/// GB18030, sound, strokes and an order of words have another one first; and pairs that only such an order takes for equal.
pub const PROBE: [&str; 15] = [
    "!", "_", "a", "a ", "A", "B", "~", "e", "é", "\u{ff01}", "一", "亍", "赣", "阿", "龙",
];

/// What is sorted where a server cannot hold those: in ISO 8859-1 alone are all of these, and stand as in UTF-8.
pub const LATIN_PROBE: [&str; 12] = ["!", "_", "a", "a ", "A", "B", "~", "\u{80}", "¤", "é", "ð", "ÿ"];

/// What every server can hold. It does not tell how others are ordered.
const ASCII_PROBE: [&str; 7] = ["!", "_", "a", "a ", "A", "B", "~"];

/// SQLSTATE where a server's character set has not a character of a statement.
const NO_SUCH_CHARACTER: &str = "22P05";

/// Where in the probes stand what case, blanks and nothing at all make equal.
const LOWER: usize = 2;
const BLANK: usize = 3;
const UPPER: usize = 4;

/// A text of the probe as the server placed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub number: usize,
    /// How many are less.
    pub less: i64,
}

/// Has the server sort the probe.
///
/// # Errors
/// `Catalog` if it takes texts for equal that no rule here does; database errors.
pub fn measure(connection: &mut Connection, dialect: &dyn Dialect) -> Result<TextOrder> {
    for probe in [&PROBE[..], &LATIN_PROBE] {
        match measure_by(probe, connection, dialect) {
            Err(error) if lacks_character(&error) => {}
            measured => return measured,
        }
    }
    let known = measure_by(&ASCII_PROBE, connection, dialect)?;
    Ok(TextOrder { charset: None, ..known })
}

fn lacks_character(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Statement { state, .. } if state == NO_SUCH_CHARACTER)
}

fn measure_by(probe: &[&'static str], connection: &mut Connection, dialect: &dyn Dialect) -> Result<TextOrder> {
    let query = dialect.sorted(probe);
    let rows = connection.rows(&query.sql, &query.columns)?;
    let ignores_case = rows
        .iter()
        .any(|row| row.get(2).and_then(|field| field.int()) == Some(0));
    let placed = rows.iter().map(|row| {
        let int = |at: usize| row.get(at).and_then(|field| field.int());
        Some(Placed {
            number: int(0).and_then(|number| usize::try_from(number).ok())?,
            less: int(1)?,
        })
    });
    let placed: Vec<Placed> = placed.collect::<Option<_>>().ok_or_else(unsorted)?;
    judge(probe, &placed, ignores_case)
}

/// The rule by which a probe was placed, `ignores_case` where the server says that it does; in the order in which it came.
///
/// # Errors
/// As [`measure`].
pub fn judge(probe: &[&'static str], placed: &[Placed], ignores_case: bool) -> Result<TextOrder> {
    let mut less = vec![None; probe.len()];
    for text in placed {
        *less.get_mut(text.number).ok_or_else(unsorted)? = Some(text.less);
    }
    if placed.len() != probe.len() || less.contains(&None) {
        return Err(unsorted());
    }
    let less: Vec<i64> = less.into_iter().map(Option::unwrap_or_default).collect();
    let strips = less[LOWER] == less[BLANK];
    let ignores_case = ignores_case || less[LOWER] == less[UPPER];
    let cases: &[Case] = if ignores_case {
        &[Case::Lower, Case::Upper]
    } else {
        &[Case::Counts]
    };
    let in_order = placed.windows(2).all(|pair| pair[0].less <= pair[1].less);
    for charset in [Charset::Utf8, Charset::Gb18030] {
        for &case in cases {
            let order = TextOrder {
                charset: Some(charset),
                case,
                strips,
            };
            if in_order && fits(probe, &order, &less) {
                return Ok(order);
            }
        }
    }
    let unknown = TextOrder {
        charset: None,
        case: cases[0],
        strips,
    };
    match unexpected_tie(probe, &unknown, &less) {
        None => Ok(unknown),
        Some((a, b)) => Err(ErrorKind::Catalog(format!(
            "its key holds text, of which the server takes '{a}' and '{b}' for equal: which other ones is not known"
        ))
        .into()),
    }
}

fn fits(probe: &[&str], order: &TextOrder, less: &[i64]) -> bool {
    pairs(probe)
        .all(|(a, b)| compare_texts(order, probe[a], probe[b]).is_none_or(|expected| expected == less[a].cmp(&less[b])))
}

fn unexpected_tie(probe: &[&'static str], order: &TextOrder, less: &[i64]) -> Option<(&'static str, &'static str)> {
    let tie = pairs(probe).find(|&(a, b)| {
        less[a] == less[b] && compare_texts(order, probe[a], probe[b]).is_some_and(std::cmp::Ordering::is_ne)
    });
    tie.map(|(a, b)| (probe[a], probe[b]))
}

fn pairs(probe: &[&str]) -> impl Iterator<Item = (usize, usize)> + use<> {
    (0..probe.len()).flat_map(|a| (0..a).map(move |b| (a, b)))
}

fn unsorted() -> Error {
    ErrorKind::Catalog("the server does not say how it sorts texts".into()).into()
}

#[cfg(test)]
mod tests;
