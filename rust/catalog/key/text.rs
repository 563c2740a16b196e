//! Text and bytes of a key: in the order of the server's own bytes, with zeros escaped and two zeros at the end.

use encoding_rs::{EncoderResult, GB18030};

use super::take;
use crate::catalog::text_order::{Case, Charset, TextOrder};

/// How a column's text becomes bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Blanks at the end do not count.
    strips: bool,
    charset: Charset,
    case: Case,
}

impl Form {
    /// Of a column; `padded`: CHAR.
    pub(super) fn new(order: &TextOrder, padded: bool) -> Self {
        Form {
            strips: padded || order.strips,
            // Of an order that is not known equality is all that is wanted.
            charset: order.charset.unwrap_or_default(),
            case: order.case,
        }
    }

    /// A number for each form, for ever.
    pub(super) fn number(self) -> u8 {
        let charset = match self.charset {
            Charset::Utf8 => 0,
            Charset::Gb18030 => 1,
        };
        let case = match self.case {
            Case::Counts => 0,
            Case::Lower => 2,
            Case::Upper => 4,
        };
        charset + case + u8::from(self.strips) * 8
    }
}

pub(super) fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        push(byte, out);
    }
    out.extend_from_slice(&[0, 0]);
}

fn push(byte: u8, out: &mut Vec<u8>) {
    out.push(byte);
    if byte == 0 {
        out.push(0xff);
    }
}

/// Appends a text, of which something may be there already where it is refused.
pub(super) fn push_text(text: &[u8], form: Form, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let text = if form.strips { stripped(text)? } else { text };
    if form.charset == Charset::Utf8 && form.case == Case::Counts {
        // What is no text cannot be put into a statement again.
        std::str::from_utf8(text).map_err(|_| "not UTF-8")?;
        push_bytes(text, out);
        return Ok(());
    }
    for run in text.chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        if run[0].is_ascii() {
            run.iter().for_each(|&byte| push(folded(byte, form.case), out));
        } else {
            push_beyond_ascii(run, form, out)?;
        }
    }
    out.extend_from_slice(&[0, 0]);
    Ok(())
}

fn stripped(text: &[u8]) -> Result<&[u8], &'static str> {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    // The database may compare the blanks; without them, what sorts before a blank would be in the wrong place.
    if text[..end].iter().any(|&byte| byte < b' ') {
        return Err(
            "a control character in a key whose blanks at the end do not count: its order differs from the bytes'",
        );
    }
    Ok(&text[..end])
}

fn folded(byte: u8, case: Case) -> u8 {
    match case {
        Case::Counts => byte,
        Case::Lower => byte.to_ascii_lowercase(),
        Case::Upper => byte.to_ascii_uppercase(),
    }
}

fn push_beyond_ascii(run: &[u8], form: Form, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let run = std::str::from_utf8(run).map_err(|_| "not UTF-8")?;
    if form.case != Case::Counts && run.chars().any(has_case) {
        return Err("a letter beyond ASCII in a key that the server compares without case");
    }
    match form.charset {
        Charset::Utf8 => out.extend_from_slice(run.as_bytes()),
        Charset::Gb18030 => push_gb18030(run, out)?,
    }
    Ok(())
}

/// Which of them a server folds, and to what, differs.
fn has_case(letter: char) -> bool {
    let is_itself =
        |mut folded: Box<dyn Iterator<Item = char>>| folded.next() == Some(letter) && folded.next().is_none();
    !is_itself(Box::new(letter.to_lowercase())) || !is_itself(Box::new(letter.to_uppercase()))
}

fn push_gb18030(run: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    for letter in run.chars() {
        if is_moved(letter) {
            return Err("a character whose code differs between the editions of GB18030");
        }
        let (mut utf8, mut code) = ([0; 4], [0; 8]);
        let mut encoder = GB18030.new_encoder();
        let text = letter.encode_utf8(&mut utf8);
        let (EncoderResult::InputEmpty, _, length) =
            encoder.encode_from_utf8_without_replacement(text, &mut code, true)
        else {
            return Err("a character that GB18030 does not have");
        };
        out.extend_from_slice(&code[..length]);
    }
    Ok(())
}

/// Private use, and what came from there into Unicode with the editions of 2005 and 2022.
fn is_moved(letter: char) -> bool {
    matches!(letter,
        '\u{e000}'..='\u{f8ff}' | '\u{1e3f}' | '\u{9fb4}'..='\u{9fbb}' | '\u{fe10}'..='\u{fe19}'
        | '\u{20087}' | '\u{20089}' | '\u{200cc}' | '\u{215d7}' | '\u{2298f}' | '\u{241fe}')
}

pub(super) fn push_hex(digits: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if digits.len() % 2 == 1 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for pair in digits.chunks_exact(2) {
        push((digit(pair[0])? * 16 + digit(pair[1])?) as u8, out);
    }
    out.extend_from_slice(&[0, 0]);
    Some(())
}

/// The text, as the server would compare it.
pub(super) fn take_text(from: &mut &[u8], form: Form) -> Option<String> {
    let bytes = take_bytes(from)?;
    match form.charset {
        Charset::Utf8 => String::from_utf8(bytes).ok(),
        Charset::Gb18030 => GB18030
            .decode_without_bom_handling_and_without_replacement(&bytes)
            .map(Into::into),
    }
}

pub(super) fn take_bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        match take::<1>(from)?[0] {
            0 => match take::<1>(from)?[0] {
                0 => return Some(out),
                0xff => out.push(0),
                _ => return None,
            },
            byte => out.push(byte),
        }
    }
}
