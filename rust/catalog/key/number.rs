//! Numbers of a key: integers in eight bytes, decimals exact and of any length.
//!
//! A decimal is 0.d1d2d3… × 10^e with d1 ≠ 0: a byte for its sign, e in two bytes, the digits two a byte, a byte that
//! ends them. All of a negative one's bytes but the first are inverted. What is no number, where a database has such, is a
//! byte alone: NaN comes behind all numbers, as PostgreSQL has it.

use super::take;

const NEGATIVE_INFINITY: u8 = 0;
const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
const INFINITY: u8 = 4;
const NAN: u8 = 5;

/// What is no number: its text and its byte.
const SPECIAL: [(&str, u8); 3] = [("-Infinity", NEGATIVE_INFINITY), ("Infinity", INFINITY), ("NaN", NAN)];

/// Pairs of digits are written as 1 to 100, so that the end sorts before them.
const END: u8 = 0;

/// Turns the order of signed numbers into that of unsigned ones.
const SIGN: u64 = 1 << 63;

pub(super) fn push_integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u64 ^ SIGN).to_be_bytes());
}

pub(super) fn take_integer(from: &mut &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(take(from)?) ^ SIGN) as i64)
}

/// An integer's text; also with a fraction or an exponent that leave it one.
pub(super) fn parse_integer(text: &[u8]) -> Option<i64> {
    let number = Number::parse(text)?;
    if number.is_zero() {
        return Some(0);
    }
    // 19 digits at most, none behind the point.
    if number.exponent > 19 || number.exponent < number.significant {
        return None;
    }
    let mut value: i128 = number.digits().fold(0, |value, digit| value * 10 + i128::from(digit));
    for _ in number.significant..number.exponent {
        value *= 10;
    }
    i64::try_from(if number.negative { -value } else { value }).ok()
}

/// An integer as text.
pub(super) fn digits(value: i64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

pub(super) fn push_decimal(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let Some(number) = Number::parse(text) else {
        let (_, byte) = SPECIAL.iter().find(|(special, _)| special.as_bytes() == text)?;
        out.push(*byte);
        return Some(());
    };
    if number.is_zero() {
        out.push(ZERO);
        return Some(());
    }
    let exponent = i16::try_from(number.exponent).ok()? as u16 ^ 0x8000;
    out.push(if number.negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    out.extend_from_slice(&exponent.to_be_bytes());
    let mut digits = number.digits();
    while let Some(first) = digits.next() {
        out.push(first * 10 + digits.next().unwrap_or(0) + 1);
    }
    out.push(END);
    if number.negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(())
}

/// The number as text without an exponent.
pub(super) fn take_decimal(from: &mut &[u8]) -> Option<String> {
    let negative = match take::<1>(from)?[0] {
        ZERO => return Some("0".to_owned()),
        NEGATIVE => true,
        POSITIVE => false,
        other => {
            let (special, _) = SPECIAL.iter().find(|(_, byte)| *byte == other)?;
            return Some((*special).to_owned());
        }
    };
    let flip = if negative { 0xff } else { 0 };
    let exponent = take::<2>(from)?.map(|byte| byte ^ flip);
    let exponent = i32::from((u16::from_be_bytes(exponent) ^ 0x8000) as i16);
    let mut digits = String::new();
    loop {
        match take::<1>(from)?[0] ^ flip {
            END => break,
            pair @ 1..=100 => {
                digits.push(char::from(b'0' + (pair - 1) / 10));
                digits.push(char::from(b'0' + (pair - 1) % 10));
            }
            _ => return None,
        }
    }
    let digits = digits.trim_end_matches('0');
    let mut out = String::from(if negative { "-" } else { "" });
    let whole = usize::try_from(exponent).unwrap_or(0);
    if whole == 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize));
        out.push_str(digits);
    } else if whole >= digits.len() {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
    Some(out)
}

/// A number's text, taken apart without copying it.
struct Number<'a> {
    negative: bool,
    /// From the first digit that is not zero to the last one, with the point perhaps among them; empty for zero.
    text: &'a [u8],
    /// How many digits those are.
    significant: i32,
    /// The number is 0.digits × 10^exponent.
    exponent: i32,
}

impl<'a> Number<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (mantissa, power) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            None => (text, 0),
            Some(at) => (&text[..at], power(&text[at + 1..])?),
        };
        let point = mantissa.iter().position(|&byte| byte == b'.');
        let digits = mantissa.len() - usize::from(point.is_some());
        if digits == 0 || mantissa.iter().filter(|byte| !byte.is_ascii_digit()).count() != usize::from(point.is_some())
        {
            return None;
        }
        let nonzero = |byte: &u8| matches!(byte, b'1'..=b'9');
        let Some(first) = mantissa.iter().position(nonzero) else {
            return Some(Number {
                negative: false,
                text: b"",
                significant: 0,
                exponent: 0,
            });
        };
        let last = mantissa.iter().rposition(nonzero)?;
        let inside = point.is_some_and(|point| first < point && point < last);
        let point = i32::try_from(point.unwrap_or(mantissa.len())).ok()?;
        let (first_place, length) = (i32::try_from(first).ok()?, i32::try_from(last + 1 - first).ok()?);
        // Places in front of the point, or zeros behind it as a negative number.
        let before = if first_place < point {
            point - first_place
        } else {
            point + 1 - first_place
        };
        Some(Number {
            negative,
            text: &mantissa[first..=last],
            significant: length - i32::from(inside),
            exponent: before.checked_add(power)?,
        })
    }

    fn is_zero(&self) -> bool {
        self.text.is_empty()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.text.iter().filter(|&&byte| byte != b'.').map(|byte| byte - b'0')
    }
}

fn power(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    let value = digits.iter().try_fold(0i32, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i32::from(byte - b'0'))
    })?;
    Some(if negative { -value } else { value })
}
