//! The words of floating-point numbers.
//!
//! Of the decimals that lie nearer to a number than to its neighbours the server writes one of those with the fewest
//! digits: the nearest, of two the one whose last digit is even. One that lies half way to a neighbour does not count,
//! though it is read as the number where that is the even one of the two, since not every reader knows that (source:
//! its `src/common/ryu_common.h`, `f2s.c` and `d2s.c`, versions 12 and later; measured: four million numbers of version
//! 15, picked where such decimals are, have the same words).

use std::fmt::LowerExp;
use std::str::FromStr;

use crate::log::decoding::words::Words;

/// `real` or `double precision`.
pub(super) trait Float: Copy + zmij::Float + Into<f64> + LowerExp + FromStr {
    /// From this power of ten on a number is written with an exponent.
    const EXPONENT_FROM: i32;

    /// The number without its sign, which is finite, as a whole number and the power of two that it is multiplied by.
    fn parts(self) -> (u64, i32);
}

impl Float for f32 {
    const EXPONENT_FROM: i32 = 6;

    fn parts(self) -> (u64, i32) {
        parts(self.to_bits().into(), 23, 8)
    }
}

impl Float for f64 {
    const EXPONENT_FROM: i32 = 15;

    fn parts(self) -> (u64, i32) {
        parts(self.to_bits(), 52, 11)
    }
}

/// Of the bits of a number, of which so many are its fraction, those above its exponent, the highest its sign.
fn parts(bits: u64, fraction_bits: u32, exponent_bits: u32) -> (u64, i32) {
    let fraction = bits & ((1 << fraction_bits) - 1);
    let exponent = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
    // The power of two of the smallest numbers, whose highest bit is not left out.
    let smallest = 2 - (1 << (exponent_bits - 1)) - fraction_bits as i32;
    match exponent {
        0 => (fraction, smallest),
        _ => (fraction | 1 << fraction_bits, smallest + exponent - 1),
    }
}

/// Numbers below it, which are most, have no decimal of 17 digits half way to a neighbour: a number half way is an odd one
/// of 24 bits at least (`double precision`: 53) times a power of two, and of quarters at the finest.
const PLAIN_BELOW: f64 = 1_000_000.0;

impl Words {
    /// Appends a number in the words of the server's output function; all of the words.
    pub(super) fn float<F: Float>(&mut self, value: F) -> &[u8] {
        let wide: f64 = value.into();
        let size = wide.abs();
        if wide.is_sign_negative() && !wide.is_nan() {
            self.push(b"-");
        }
        if (0.0001..PLAIN_BELOW).contains(&size) {
            let mut shortest = zmij::Buffer::new();
            let shortest = shortest.format_finite(value).trim_start_matches('-');
            self.push(shortest.strip_suffix(".0").unwrap_or(shortest).as_bytes());
        } else if wide.is_nan() {
            self.push(b"NaN");
        } else if wide.is_infinite() {
            self.push(b"Infinity");
        } else if size == 0.0 {
            self.push(b"0");
        } else {
            self.decimal(&Decimal::of(value), F::EXPONENT_FROM);
        }
        self.done()
    }

    fn decimal(&mut self, decimal: &Decimal, exponent_from: i32) {
        let (digits, power) = (decimal.digits(), decimal.power);
        let whole = (power + 1) as usize;
        if power < -4 || power >= exponent_from {
            self.push(&digits[..1]);
            if digits.len() > 1 {
                self.push(b".");
                self.push(&digits[1..]);
            }
            let sign = if power < 0 { '-' } else { '+' };
            // Of the 64 bytes a number takes 24 at most.
            let _ = self.write(format_args!("e{sign}{:02}", power.unsigned_abs()));
        } else if power < 0 {
            self.push(&b"0.000"[..1 + power.unsigned_abs() as usize]);
            self.push(digits);
        } else if digits.len() > whole {
            self.push(&digits[..whole]);
            self.push(b".");
            self.push(&digits[whole..]);
        } else {
            self.push(digits);
            self.push(&b"000000000000000"[..whole - digits.len()]);
        }
    }
}

/// Digits, neither the first nor the last of which is zero.
struct Decimal {
    bytes: [u8; 24],
    count: usize,
    /// The power of ten of the first digit.
    power: i32,
}

impl Decimal {
    /// What the server writes of a number that is finite and not zero.
    fn of<F: Float>(value: F) -> Self {
        let shortest = Decimal::read(zmij::Buffer::new().format_finite(value));
        if shortest.is_half_way(value) {
            return shortest.beside(value);
        }
        shortest
    }

    /// Of digits with a point and an exponent or without.
    fn read(text: &str) -> Self {
        let mut decimal = Decimal {
            bytes: [0; 24],
            count: 0,
            power: -1,
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut is_whole = true;
        for byte in mantissa.bytes() {
            match byte {
                b'.' => is_whole = false,
                b'0' if decimal.count == 0 => decimal.power -= i32::from(!is_whole),
                b'0'..=b'9' => {
                    decimal.bytes[decimal.count] = byte;
                    decimal.count += 1;
                    decimal.power += i32::from(is_whole);
                }
                _ => {}
            }
        }
        decimal.power += exponent.parse::<i32>().unwrap_or(0);
        while decimal.digits().ends_with(b"0") {
            decimal.count -= 1;
        }
        decimal
    }

    fn digits(&self) -> &[u8] {
        &self.bytes[..self.count]
    }

    /// The number whose digits these are.
    fn whole(&self) -> u64 {
        (self.digits().iter()).fold(0, |whole, digit| whole * 10 + u64::from(digit - b'0'))
    }

    /// Whether it, the shortest, lies half way between a number and one of the number's neighbours. Below a power of two the
    /// neighbour is nearer, but half way to it no shortest decimal lies.
    fn is_half_way<F: Float>(&self, value: F) -> bool {
        let (mantissa, power) = value.parts();
        [2 * mantissa - 1, 2 * mantissa + 1]
            .into_iter()
            .any(|odd| self.is(odd, power - 1))
    }

    /// Whether it is an odd number of 24 bits at least (`double precision`: 53) times a power of two.
    fn is(&self, odd: u64, power: i32) -> bool {
        let exponent = self.power + 1 - self.count as i32;
        // No more than 17 digits and a power of ten make that up only if five to that power is a part of the odd number,
        // or has room beside it in the digits.
        if !(-2..=23).contains(&exponent) {
            return false;
        }
        let whole = u128::from(self.whole());
        let twos = whole.trailing_zeros() as i32;
        let fives = 5u128.pow(exponent.unsigned_abs());
        let (ours, theirs) = match exponent {
            0.. => ((whole >> twos) * fives, u128::from(odd)),
            _ => (whole >> twos, u128::from(odd) * fives),
        };
        ours == theirs && twos + exponent == power
    }

    /// What the server writes where this one, the shortest, is half way: the nearest as long, or the next longer.
    fn beside<F: Float>(self, value: F) -> Self {
        let is_the_same = |read: F| read.into() == value.into();
        (self.count..=17)
            .map(|count| format!("{value:.*e}", count - 1))
            .filter(|nearest| nearest.parse().is_ok_and(is_the_same))
            .map(|nearest| Decimal::read(&nearest))
            .find(|nearest| !nearest.is_half_way(value))
            .unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule itself over a number as whole units: all decimals are tried, place by place, with whole numbers.
    fn by_the_rule(mantissa: u64, power: i32) -> (u128, i32) {
        // Everything times so many twos that quarters of the last bit are whole, and so many tens that digits are.
        let twos = (2 - power).max(0);
        let tens = if power < 0 { 19 } else { 0 };
        let scaled = |quarters: u64| (u128::from(quarters) * 10u128.pow(tens)) << (power - 2 + twos);
        let value = scaled(4 * mantissa);
        // Below a power of two the neighbour is nearer.
        let below = scaled(4 * mantissa - if mantissa.is_power_of_two() { 1 } else { 2 });
        let above = scaled(4 * mantissa + 2);
        let found = (0..32).rev().find_map(|place| {
            let unit = 10u128
                .pow(place)
                .checked_mul(1 << twos)
                .filter(|unit| *unit <= value * 2)?;
            let floor = value / unit;
            [floor, floor + 1]
                .into_iter()
                .filter(|digits| below < digits * unit && digits * unit < above)
                .min_by_key(|digits| ((digits * unit).abs_diff(value), digits % 2))
                .map(|digits| (digits, place as i32 - tens as i32))
        });
        let (mut digits, mut place) = found.unwrap();
        while digits % 10 == 0 {
            (digits, place) = (digits / 10, place + 1);
        }
        (digits, place)
    }

    fn require_the_rule<F: Float + std::fmt::Debug>(value: F) {
        let (mantissa, power) = value.parts();
        let rule = by_the_rule(mantissa, power);
        let mut words = Words::default();
        let words = Decimal::read(std::str::from_utf8(words.float(value)).unwrap());
        for decimal in [Decimal::of(value), words] {
            let exponent = decimal.power + 1 - decimal.count as i32;
            assert_eq!((u128::from(decimal.whole()), exponent), rule, "{value:?}");
        }
    }

    #[test]
    fn digits_are_the_fewest_that_stand_for_a_number_alone_and_the_even_ones_of_two() {
        let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
        println!("SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut half_way = 0;
        for _ in 0..200_000 {
            // As many bits as a number has, or fewer, so that some are powers of two; in a range that whole numbers show.
            let bits = rng.u32(1..=24);
            let single = (rng.u32(1 << (bits - 1)..1 << bits)) as f32 * 2f32.powi(rng.i32(-12..60));
            require_the_rule(single);
            let bits = rng.u32(1..=53);
            let double = (rng.u64(1 << (bits - 1)..1 << bits)) as f64 * 2f64.powi(rng.i32(-6..50));
            require_the_rule(double);
            // What is half way and has a five in it is short more often than others.
            let fives = 5u64.pow(rng.u32(0..20));
            let least = (1 << 53) / fives;
            let text = ((rng.u64(least..=least * 2) | 1) * fives).to_string();
            let double: f64 = text.parse().unwrap();
            require_the_rule(double * 2f64.powi(rng.i32(0..40)));
            half_way += usize::from(Decimal::read(&text).is_half_way(double));
        }
        assert!(half_way > 100_000, "{half_way} are half way");
    }

    #[test]
    fn no_shortest_decimal_lies_half_way_below_a_power_of_two() {
        fn require<F: Float + std::fmt::Debug>(value: F) {
            let (mantissa, power) = value.parts();
            let shortest = Decimal::read(zmij::Buffer::new().format_finite(value));
            assert!(!shortest.is(4 * mantissa - 1, power - 2), "{value:?}");
        }
        (2..255).for_each(|exponent| require(f32::from_bits(exponent << 23)));
        (2..2047).for_each(|exponent| require(f64::from_bits(exponent << 52)));
    }
}
