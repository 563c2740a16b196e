//! Numbers: exact from text to integers and decimals of 38 digits, no step through a floating-point number.
//!
//! Nothing is rounded in silence: digits that the declared type has no place for must be zeros. `1.00` is an INT, `1.5`
//! is none. (FLOAT and DOUBLE are the exception by nature: the nearest one is taken.)

use crate::row::convert::{Refusal, quoted};

/// The most digits that a decimal of Flink has.
pub(super) const MAX_DIGITS: u32 = 38;

/// The farthest place before or behind the point that a text's exponent may reach; no database's numbers go there.
const MAX_EXPONENT: i64 = 1_000;

const POWERS: [u128; 39] = {
    let mut powers = [1; 39];
    let mut at = 1;
    while at < 39 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// An integer between two bounds.
pub(super) fn integer(text: &[u8], least: i64, greatest: i64) -> Result<i64, Refusal> {
    let value = match small(text) {
        Some(value) => i128::from(value),
        None => large_decimal(text, 0)?,
    };
    match i64::try_from(value) {
        Ok(value) if (least..=greatest).contains(&value) => Ok(value),
        _ => Err(Refusal::new(format!(
            "{} is not between {least} and {greatest}",
            quoted(text)
        ))),
    }
}

/// A decimal as its unscaled value.
#[inline]
pub(super) fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i128, Refusal> {
    let unscaled = match small_decimal(text, scale) {
        Some(unscaled) => i128::from(unscaled),
        None => large_decimal(text, scale)?,
    };
    within(unscaled, precision).ok_or_else(|| too_wide(&quoted(text), precision, scale))
}

#[cold]
fn large_decimal(text: &[u8], scale: u8) -> Result<i128, Refusal> {
    Number::parse(text)?.scaled(scale, text)
}

/// An integer as the unscaled value of a decimal.
pub(super) fn decimal_of_integer(value: i64, precision: u8, scale: u8) -> Result<i128, Refusal> {
    i128::from(value)
        .checked_mul(POWERS[usize::from(scale)] as i128)
        .and_then(|unscaled| within(unscaled, precision))
        .ok_or_else(|| too_wide(&value.to_string(), precision, scale))
}

fn within(unscaled: i128, precision: u8) -> Option<i128> {
    (unscaled.unsigned_abs() < POWERS[usize::from(precision)]).then_some(unscaled)
}

fn too_wide(value: &str, precision: u8, scale: u8) -> Refusal {
    Refusal::new(format!(
        "{value} has more digits before the point than DECIMAL({precision}, {scale}) has place for"
    ))
}

/// The usual short integer without a point or an exponent.
fn small(text: &[u8]) -> Option<i64> {
    small_decimal(text, 0)
}

/// The usual short number without an exponent, times `10^scale`; `None` also where digits would be lost. It saves the
/// arithmetic in 128 bits.
#[inline]
fn small_decimal(text: &[u8], scale: u8) -> Option<i64> {
    /// Digits that an `i64` always holds.
    const MOST: usize = 18;
    let (negative, rest) = sign(text);
    if rest.len() > MOST {
        return None;
    }
    let mut value = 0_i64;
    let mut point = None;
    for (at, byte) in rest.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + i64::from(digit);
        } else if *byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let fraction = point.map_or(0, |at| rest.len() - at - 1);
    let digits = rest.len() - usize::from(point.is_some());
    let more = usize::from(scale).checked_sub(fraction)?;
    if digits == 0 || digits + more > MOST {
        return None;
    }
    let value = value * POWERS[more] as i64;
    Some(if negative { -value } else { value })
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// `±digits × 10^exponent`.
struct Number {
    negative: bool,
    digits: u128,
    exponent: i64,
}

impl Number {
    fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let written = Written::parse(text)?;
        let mut number = Number {
            negative: written.negative,
            digits: 0,
            exponent: written.exponent,
        };
        let (mut count, mut zeros) = (0, 0);
        for digit in written.digits() {
            if digit == 0 {
                zeros += u32::from(count > 0);
                continue;
            }
            count += zeros + 1;
            if count > MAX_DIGITS {
                return Err(Refusal::new(format!(
                    "{} has more than {MAX_DIGITS} digits",
                    quoted(text)
                )));
            }
            number.digits = number.digits * POWERS[zeros as usize + 1] + u128::from(digit);
            zeros = 0;
        }
        number.exponent += i64::from(zeros) - written.fraction.len() as i64;
        Ok(number)
    }

    /// The number times `10^scale`, which must be whole.
    fn scaled(&self, scale: u8, text: &[u8]) -> Result<i128, Refusal> {
        if self.digits == 0 {
            return Ok(0);
        }
        let shift = self.exponent + i64::from(scale);
        let Ok(shift) = usize::try_from(shift) else {
            return Err(Refusal::new(match scale {
                0 => format!("{} is not a whole number", quoted(text)),
                _ => format!("{} has more than {scale} digits behind the point", quoted(text)),
            }));
        };
        let magnitude = POWERS
            .get(shift)
            .and_then(|power| self.digits.checked_mul(*power))
            .and_then(|magnitude| i128::try_from(magnitude).ok())
            .ok_or_else(|| Refusal::new(format!("{} is too large", quoted(text))))?;
        Ok(if self.negative { -magnitude } else { magnitude })
    }
}

/// The parts of a number's text.
struct Written<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Written<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, Refusal> {
        let refused = || Refusal::new(format!("{} is not a number", quoted(text)));
        let (negative, rest) = sign(text);
        let (whole, rest) = leading_digits(rest);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => leading_digits(rest),
            _ => (&rest[..0], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(refused());
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => exponent(rest).ok_or_else(refused)?,
            _ => return Err(refused()),
        };
        Ok(Written {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.whole.iter().chain(self.fraction).map(|byte| byte - b'0')
    }
}

fn leading_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    let mut value = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
        if value > MAX_EXPONENT {
            return None;
        }
    }
    (!digits.is_empty()).then_some(if negative { -value } else { value })
}

/// A number's text in the one form that it has downstream: no exponent, no zeros at either end that say nothing, no
/// `-0`. So `1E+3`, `1000.00` and `+1000` are the same text, whichever of them the driver or the log uses.
pub(super) fn write_plain(text: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    let written = Written::parse(text)?;
    let length = (written.whole.len() + written.fraction.len()) as i64;
    let leading = written.digits().take_while(|digit| *digit == 0).count();
    let trailing = written
        .fraction
        .iter()
        .rev()
        .chain(written.whole.iter().rev())
        .take_while(|byte| **byte == b'0')
        .count();
    let digits = written
        .digits()
        .take(length as usize - trailing.min(length as usize))
        .skip(leading);
    let point = written.whole.len() as i64 + written.exponent - leading as i64;
    let count = length - leading as i64 - trailing as i64;
    if count <= 0 {
        out.push(b'0');
        return Ok(());
    }
    if written.negative {
        out.push(b'-');
    }
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
    }
    for (at, digit) in digits.enumerate() {
        if at > 0 && at as i64 == point {
            out.push(b'.');
        }
        out.push(b'0' + digit);
    }
    if point > count {
        out.resize(out.len() + (point - count) as usize, b'0');
    }
    Ok(())
}

/// The nearest DOUBLE. Infinities and NaN pass if they are written so; a finite number beyond the type's range is
/// refused. A NaN is always the same NaN.
pub(super) fn double(text: &[u8]) -> Result<f64, Refusal> {
    float(text, f64::NAN, |value| value.is_nan(), |value| value.is_infinite())
}

/// The nearest FLOAT, found from the text in one step; else as [`double`].
pub(super) fn single(text: &[u8]) -> Result<f32, Refusal> {
    float(text, f32::NAN, |value| value.is_nan(), |value| value.is_infinite())
}

fn float<T: std::str::FromStr + Copy>(
    text: &[u8],
    nan: T,
    is_nan: fn(&T) -> bool,
    is_infinite: fn(&T) -> bool,
) -> Result<T, Refusal> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.parse::<T>().ok());
    let Some(value) = parsed else {
        return Err(Refusal::new(format!("{} is not a number", quoted(text))));
    };
    if is_nan(&value) {
        return Ok(nan);
    }
    if is_infinite(&value) && text.iter().any(u8::is_ascii_digit) {
        return Err(Refusal::new(format!(
            "{} is beyond the range of the type",
            quoted(text)
        )));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        result.expect_err("refused").to_string()
    }

    #[test]
    fn integers_are_exact_and_bounded() {
        let int = |text: &str| integer(text.as_bytes(), -128, 127);
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("+7", 7),
            ("127", 127),
            ("-128", -128),
            ("1.00", 1),
            ("1E2", 100),
            ("1200e-1", 120),
            ("00000000000000000000000012", 12),
            ("0.0E-900", 0),
            ("12.", 12),
        ] {
            assert_eq!(int(text).ok(), Some(value), "{text}");
        }
        assert!(reason(int("128")).contains("not between -128 and 127"));
        assert!(reason(int("1.5")).contains("'1.5' is not a whole number"));
        assert!(reason(int(".5")).contains("not a whole number"));
        assert!(reason(int("1E30")).contains("not between"));
        assert!(reason(int("1E300")).contains("too large"));
        for text in [
            "", "-", ".", "1e", "1e+", "--1", "1 ", "0x1", "NaN", "Inf", "1,5", "1.2.3", "e5", "1E99999",
        ] {
            assert!(reason(int(text)).contains("not a number"), "{text}");
        }
        assert_eq!(
            integer(b"-9223372036854775808", i64::MIN, i64::MAX).ok(),
            Some(i64::MIN)
        );
        assert!(integer(b"9223372036854775808", i64::MIN, i64::MAX).is_err());
    }

    #[test]
    fn decimals_are_exact_to_38_digits_and_never_rounded() {
        let nines = "9".repeat(38);
        let greatest = 10_i128.pow(38) - 1;
        for (text, precision, scale, value) in [
            ("1234.5678", 10, 4, 12_345_678),
            ("1234.56780000", 10, 4, 12_345_678),
            ("-.5", 3, 2, -50),
            ("5.", 3, 2, 500),
            ("1E+3", 4, 0, 1000),
            ("1.5e-3", 9, 4, 15),
            ("0", 38, 38, 0),
            ("7", 38, 37, 7 * 10_i128.pow(37)),
            (nines.as_str(), 38, 0, greatest),
            (&format!("-{nines}.000"), 38, 0, -greatest),
            (&format!("0.{nines}"), 38, 38, greatest),
            (&format!("{}1.5{}", "0".repeat(60), "0".repeat(60)), 2, 1, 15),
        ] {
            assert_eq!(decimal(text.as_bytes(), precision, scale).ok(), Some(value), "{text}");
        }
        assert!(reason(decimal(b"1.005", 10, 2)).contains("more than 2 digits behind the point"));
        assert!(reason(decimal(b"100", 4, 2)).contains("DECIMAL(4, 2)"));
        assert!(reason(decimal(b"1234567890123456789", 18, 0)).contains("DECIMAL(18, 0)"));
        assert!(reason(decimal(format!("1{nines}").as_bytes(), 38, 0)).contains("more than 38 digits"));
        assert!(reason(decimal(b"1E38", 38, 0)).contains("DECIMAL(38, 0)"));
        assert!(reason(decimal(b"9e38", 38, 0)).contains("too large"));
        assert!(reason(decimal(b"NaN", 38, 0)).contains("not a number"));
    }

    #[test]
    fn one_number_has_one_text() {
        let plain = |text: &str| {
            let mut out = Vec::new();
            write_plain(text.as_bytes(), &mut out).expect("a number");
            String::from_utf8(out).expect("ASCII")
        };
        for (text, expected) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("000", "0"),
            ("0E5", "0"),
            ("1.50", "1.5"),
            ("+1E+3", "1000"),
            ("1000.00", "1000"),
            (".5", "0.5"),
            ("-00.05", "-0.05"),
            ("12.5E-3", "0.0125"),
            ("12.5E1", "125"),
            ("12.5E3", "12500"),
            ("1.25E1", "12.5"),
            ("0.00120E2", "0.12"),
            ("100", "100"),
            (
                "123456789012345678901234567890123456789012.5",
                "123456789012345678901234567890123456789012.5",
            ),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest_ones() {
        assert_eq!(double(b"3.25159E0").ok(), Some(3.25159));
        assert_eq!(double(b"Inf").ok(), Some(f64::INFINITY));
        assert_eq!(double(b"-Infinity").ok(), Some(f64::NEG_INFINITY));
        assert_eq!(double(b"-nan").map(f64::to_bits).ok(), Some(0x7ff8_0000_0000_0000));
        assert_eq!(single(b"nan").map(f32::to_bits).ok(), Some(0x7fc0_0000));
        assert!(reason(double(b"1E400")).contains("beyond the range"));
        assert!(reason(single(b"1E39")).contains("beyond the range"));
        assert!(reason(double(b"one")).contains("not a number"));
        // Through a DOUBLE this would come out as the even neighbour: the text is just above the middle of two FLOATs.
        assert_eq!(single(b"1.000000059604644775390625000001").ok(), Some(1.000_000_1));
    }
}
