//! Truth values, texts and binaries.

use crate::row::convert::{Refusal, quoted};

/// A truth value from its word or number.
pub(super) fn boolean(text: &[u8]) -> Result<bool, Refusal> {
    match text {
        b"1" | b"t" | b"T" => Ok(true),
        b"0" | b"f" | b"F" => Ok(false),
        _ if text.eq_ignore_ascii_case(b"true") => Ok(true),
        _ if text.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(Refusal::new(format!("{} is neither true nor false", quoted(text)))),
    }
}

/// A text as it is. Of a padded column the blanks at its end are left out: the column pads them, they say nothing, and
/// the log leaves them out where drivers put them in.
#[inline]
pub(super) fn unpadded(text: &[u8], padded: bool) -> &[u8] {
    let length = match padded {
        true => text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1),
        false => text.len(),
    };
    &text[..length]
}

/// The characters of a text.
pub(super) fn characters(text: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(text)
        .map_err(|error| Refusal::new(format!("{} is not UTF-8 at byte {}", quoted(text), error.valid_up_to())))
}

/// Appends the bytes that pairs of hexadecimal digits stand for.
pub(super) fn write_hex(text: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    let pairs = text.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::new(format!("{} has an odd number of digits", quoted(text))));
    }
    out.reserve(pairs.len());
    for pair in pairs {
        match (nibble(pair[0]), nibble(pair[1])) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return Err(Refusal::new(format!("{} is not hexadecimal", quoted(text)))),
        }
    }
    Ok(())
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_words_or_digits() {
        for text in ["1", "TRUE", "true", "t", "True"] {
            assert_eq!(boolean(text.as_bytes()).ok(), Some(true), "{text}");
        }
        for text in ["0", "FALSE", "false", "F"] {
            assert_eq!(boolean(text.as_bytes()).ok(), Some(false), "{text}");
        }
        for text in ["", "2", "-1", "yes", "10"] {
            assert!(boolean(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn only_padded_texts_lose_blanks_and_only_at_their_end() {
        assert_eq!(unpadded(b" a b  ", true), b" a b");
        assert_eq!(unpadded(b"    ", true), b"");
        assert_eq!(unpadded(b"a\t\n ", true), b"a\t\n");
        assert_eq!(unpadded(b"a  ", false), b"a  ");
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_refused() {
        let refusal = characters(b"ab\xb8\xc4").expect_err("refused").to_string();
        assert!(refusal.contains("not UTF-8 at byte 2"), "{refusal}");
    }

    #[test]
    fn hexadecimal_digits_come_in_pairs() {
        let bytes = |text: &[u8]| {
            let mut out = Vec::new();
            write_hex(text, &mut out).map(|()| out)
        };
        assert_eq!(bytes(b"00ffAb").ok(), Some(vec![0, 0xff, 0xab]));
        assert_eq!(bytes(b"").ok(), Some(vec![]));
        assert!(bytes(b"abc").is_err());
        assert!(bytes(b"0x01").is_err());
    }
}
