//! Numbers of any length in their binary form, and their words.

use crate::log::decoding::words::four;

/// `numeric` as `numeric_send` writes it: how many digits, the weight of the first one, sign, digits behind the point that
/// are shown, the digits.
pub(super) struct Numeric<'a> {
    weight: i16,
    sign: u16,
    scale: u16,
    digits: &'a [u8],
}

const BASE: u16 = 10_000;
const NEGATIVE: u16 = 0x4000;

impl<'a> Numeric<'a> {
    /// Reads one; `None` if it is none.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, digits) = bytes.split_first_chunk::<8>()?;
        let [count, weight, sign, scale] = [0, 2, 4, 6].map(|at| u16::from_be_bytes([head[at], head[at + 1]]));
        let numeric = Numeric {
            weight: weight as i16,
            sign,
            scale,
            digits,
        };
        let known = matches!(sign, 0 | NEGATIVE) || (numeric.special().is_some() && count == 0);
        // Behind the point there are 16,383 digits at most (the manual).
        let fits = digits.len() == 2 * usize::from(count) && scale < 0x4000;
        let is_digit = |digit: &[u8]| u16::from_be_bytes([digit[0], digit[1]]) < BASE;
        (known && fits && digits.chunks_exact(2).all(is_digit)).then_some(numeric)
    }

    fn special(&self) -> Option<&'static [u8]> {
        Some(match self.sign {
            0xC000 => b"NaN",
            0xD000 => b"Infinity",
            0xF000 => b"-Infinity",
            _ => return None,
        })
    }

    /// A digit by its weight; those that are not there are 0.
    fn digit(&self, weight: i32) -> u16 {
        let at = usize::try_from(i32::from(self.weight) - weight).ok();
        let digit = at.and_then(|at| self.digits.get(2 * at..2 * at + 2));
        digit.map_or(0, |digit| u16::from_be_bytes([digit[0], digit[1]]))
    }

    /// Appends its words.
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        if let Some(special) = self.special() {
            out.extend_from_slice(special);
            return;
        }
        if self.sign == NEGATIVE {
            out.push(b'-');
        }
        let weight = i32::from(self.weight).max(0);
        let first = four(self.digit(weight));
        let zeros = first.iter().take(3).take_while(|digit| **digit == b'0').count();
        out.extend_from_slice(&first[zeros..]);
        for weight in (0..weight).rev() {
            out.extend_from_slice(&four(self.digit(weight)));
        }
        let mut left = usize::from(self.scale);
        if left > 0 {
            out.push(b'.');
        }
        let mut weight = -1;
        while left > 0 {
            let shown = left.min(4);
            out.extend_from_slice(&four(self.digit(weight))[..shown]);
            left -= shown;
            weight -= 1;
        }
    }
}
