//! Damage to an input: what the formats are made of (numbers, lengths, words, quotes) is changed more often than chance would.

use fastrand::Rng;

/// Numbers at which counters and lengths break.
const EXTREMES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// The same in digits, and what else a number may be.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "-1",
    "00",
    "127",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "1e999",
    "0.00000000000000000000000000000000000000001",
    "",
];

/// Signs that formats are made of, and texts that no text of them is.
const SIGNS: [&[u8]; 34] = [
    b"'",
    b"''",
    b"\"",
    b"\"\"",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\\",
    b"|",
    b",",
    b";",
    b":",
    b".",
    b" ",
    b"\n",
    b"\0",
    b"--",
    b"/*",
    b"*/",
    b"$$",
    b"'; DROP TABLE t; --",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xe4\xb8\xad",
    b"\xef\xbb\xbf",
    b"\x1b",
    b"\x7f",
    b"\xc2\x85",
    b"\xe2\x80\xae",
];

/// Some changes to an input. `others` is what pieces come from, `words` what the format has.
pub(super) fn mutate(random: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>], words: &[&str]) {
    for _ in 0..=random.u8(0..4) {
        once(random, input, others, words);
    }
}

fn once(random: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>], words: &[&str]) {
    let length = input.len();
    let at = random.usize(0..=length);
    match random.u8(0..16) {
        0 => input.truncate(at),
        1 if at < length => input[at] ^= 1 << random.u8(0..8),
        2 if at < length => input[at] = random.u8(..),
        3 if at < length => drop(input.remove(at)),
        4 => input.insert(at, random.u8(..)),
        5 => {
            let end = (at + random.usize(0..24)).min(length);
            input.drain(at..end);
        }
        6 | 7 => {
            // A piece of another input, or of this one.
            let from = match others.is_empty() {
                true => input.clone(),
                false => others[random.usize(0..others.len())].clone(),
            };
            let piece = piece(random, &from, 32);
            input.splice(at..at, piece);
        }
        8 => {
            // A piece again and again.
            let piece = piece(random, input, 8).repeat(random.usize(2..40));
            input.splice(at..at, piece);
        }
        9 | 10 => {
            // A number's digits.
            if let Some(digits) = run(random, input, |byte| byte.is_ascii_digit()) {
                let number = NUMBERS[random.usize(0..NUMBERS.len())];
                input.splice(digits, number.bytes());
            }
        }
        11 => {
            // A number of some bytes, either end first.
            let bytes = 1 << random.u32(0..4);
            if at + bytes <= length {
                let number = EXTREMES[random.usize(0..EXTREMES.len())];
                let number = number.wrapping_add(random.u64(0..3)).wrapping_sub(1);
                match random.bool() {
                    true => input[at..at + bytes].copy_from_slice(&number.to_be_bytes()[8 - bytes..]),
                    false => input[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]),
                }
            }
        }
        12 => {
            // Two words change places.
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
            let (a, b) = (run(random, input, word), run(random, input, word));
            if let (Some(a), Some(b)) = (a, b) {
                let (a, b) = if a.start <= b.start { (a, b) } else { (b, a) };
                if a.end <= b.start {
                    let (first, last) = (input[a.clone()].to_vec(), input[b.clone()].to_vec());
                    input.splice(b, first);
                    input.splice(a, last);
                }
            }
        }
        13 => {
            let sign = SIGNS[random.usize(0..SIGNS.len())];
            input.splice(at..at, sign.iter().copied());
        }
        _ if !words.is_empty() => {
            let word = words[random.usize(0..words.len())];
            input.splice(at..at, word.bytes());
        }
        _ => {}
    }
}

fn piece(random: &mut Rng, of: &[u8], longest: usize) -> Vec<u8> {
    let start = random.usize(0..=of.len());
    let end = (start + random.usize(0..longest)).min(of.len());
    of[start..end].to_vec()
}

/// Where bytes of a kind stand side by side, near a random place.
fn run(random: &mut Rng, input: &[u8], of_kind: impl Fn(u8) -> bool) -> Option<std::ops::Range<usize>> {
    let from = random.usize(0..=input.len());
    let start = from + input[from..].iter().position(|&byte| of_kind(byte))?;
    let length = input[start..].iter().take_while(|&&byte| of_kind(byte)).count();
    Some(start..start + length)
}
