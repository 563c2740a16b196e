//! Which rule is found behind an order of the probe.

use std::cmp::Ordering;

use super::*;

/// The probe as a server with this comparison places it.
fn placed(compare: impl Fn(&str, &str) -> Ordering) -> Vec<Placed> {
    let less = |text: &str| PROBE.iter().filter(|other| compare(other, text).is_lt()).count() as i64;
    let mut placed: Vec<Placed> = (PROBE.iter().enumerate())
        .map(|(number, text)| Placed {
            number,
            less: less(text),
        })
        .collect();
    placed.sort_by_key(|text| text.less);
    placed
}

fn strip(text: &str) -> &str {
    text.trim_end_matches(' ')
}

fn gb(text: &str) -> Vec<u8> {
    encoding_rs::GB18030.encode(text).0.into_owned()
}

fn lower(text: &str) -> String {
    text.to_lowercase()
}

#[test]
fn servers_by_bytes_case_and_blanks_are_told_apart() {
    let found = |compare: &dyn Fn(&str, &str) -> Ordering| judge(&PROBE, &placed(compare), false).unwrap();
    let order = |charset, case, strips| TextOrder {
        charset: Some(charset),
        case,
        strips,
    };
    let (utf8, gb18030) = (Charset::Utf8, Charset::Gb18030);
    assert_eq!(found(&|a, b| a.cmp(b)), order(utf8, Case::Counts, false));
    assert_eq!(found(&|a, b| strip(a).cmp(strip(b))), order(utf8, Case::Counts, true));
    assert_eq!(found(&|a, b| gb(a).cmp(&gb(b))), order(gb18030, Case::Counts, false));
    assert_eq!(
        found(&|a, b| gb(strip(a)).cmp(&gb(strip(b)))),
        order(gb18030, Case::Counts, true)
    );
    assert_eq!(found(&|a, b| lower(a).cmp(&lower(b))), order(utf8, Case::Lower, false));
    let upper = |text: &str| text.to_uppercase();
    assert_eq!(found(&|a, b| upper(a).cmp(&upper(b))), order(utf8, Case::Upper, false));
    let folded = |text: &str| gb(&lower(strip(text)));
    assert_eq!(
        found(&|a, b| folded(a).cmp(&folded(b))),
        order(gb18030, Case::Lower, true)
    );
}

/// The server's word counts where it says that it ignores case, whatever its literals do.
#[test]
fn a_server_that_says_that_it_ignores_case_is_believed() {
    let found = judge(&PROBE, &placed(|a, b| a.cmp(b)), true).unwrap();
    assert_eq!((found.charset, found.case), (None, Case::Lower));
}

/// By sound, by strokes, as dictionaries do: the order is not known, and equality is that of bytes.
#[test]
fn orders_of_words_sounds_and_strokes_are_not_known() {
    let by = |order: &'static str| {
        move |text: &str| -> Vec<usize> {
            let place = |letter| order.chars().position(|other| other == letter).unwrap();
            text.chars().map(place).collect()
        }
    };
    for order in [
        // The last with the ASCII of bytes, so that the Chinese part tells.
        " _!\u{ff01}~aAbBeé阿赣龙亍一",
        " !AB_ae~é\u{ff01}阿亍赣龙一",
        " !AB_ae~é\u{ff01}一亍龙阿赣",
        " !AB_ae~é\u{ff01}一亍阿龙赣",
    ] {
        let keys = by(order);
        let found = judge(&PROBE, &placed(|a, b| keys(a).cmp(&keys(b))), false).unwrap();
        assert_eq!(found.charset, None, "{order}");
        assert_eq!((found.case, found.strips), (Case::Counts, false));
    }
}

/// `<` and ORDER BY must agree: a page is bounded by the one and ordered by the other.
#[test]
fn an_order_that_is_not_that_of_comparison_is_not_known() {
    let mut rows = placed(|a, b| a.cmp(b));
    rows.swap(3, 9);
    assert_eq!(judge(&PROBE, &rows, false).unwrap().charset, None);
}

#[test]
fn texts_that_are_equal_by_no_known_rule_are_refused() {
    let widths = |text: &str| text.replace('\u{ff01}', "!");
    let error = judge(&PROBE, &placed(|a, b| widths(a).cmp(&widths(b))), false).unwrap_err();
    assert!(
        error.to_string().contains("takes '\u{ff01}' and '!' for equal"),
        "{error}"
    );
    let accents = |text: &str| text.replace('é', "e");
    assert!(judge(&PROBE, &placed(|a, b| accents(a).cmp(&accents(b))), false).is_err());
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    let whole = placed(|a, b| a.cmp(b));
    assert!(judge(&PROBE, &[], false).is_err());
    assert!(judge(&PROBE, &whole[1..], false).is_err());
    let mut twice = whole.clone();
    twice[0] = twice[1];
    assert!(judge(&PROBE, &twice, false).is_err());
    let mut other = whole;
    other[0].number = PROBE.len();
    assert!(judge(&PROBE, &other, false).is_err());
}

/// ISO 8859-1 is in the order of UTF-8; of a set that stands otherwise no order is known.
#[test]
fn a_server_that_cannot_hold_the_probe_is_asked_for_less() {
    let less = |text: &str| LATIN_PROBE.iter().filter(|other| **other < text).count() as i64;
    let mut placed: Vec<Placed> = (LATIN_PROBE.iter().enumerate())
        .map(|(number, text)| Placed {
            number,
            less: less(text),
        })
        .collect();
    placed.sort_by_key(|text| text.less);
    assert_eq!(judge(&LATIN_PROBE, &placed, false).unwrap(), TextOrder::BYTES);
    assert!(judge(&PROBE, &placed, false).is_err());
}
