//! Text and bytes of a key: as they are, with zeros escaped and two zeros at the end.

use super::take;

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

/// Blanks at the end of `padded` text do not count.
pub(super) fn push_text(text: &[u8], padded: bool, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if !padded {
        push_bytes(text, out);
        return Ok(());
    }
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    // The database compares the blanks; without them, what sorts before a blank would be in the wrong place.
    if text[..end].iter().any(|&byte| byte < b' ') {
        return Err("a control character in a blank-padded key, whose order differs from the bytes'");
    }
    push_bytes(&text[..end], out);
    Ok(())
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
