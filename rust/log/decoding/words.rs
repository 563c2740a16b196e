//! The words of values that are short: dates and times, uuids, and room for others.

use std::io::Write;

use crate::dialect::date_of;
use crate::log::decoding::pgoutput::SERVER_EPOCH_MICROS;

/// Room for the words of a value that is not long.
pub(super) struct Words {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Words {
    fn default() -> Self {
        Words {
            bytes: [0; 64],
            length: 0,
        }
    }
}

/// A day, in microseconds.
pub(super) const DAY: i64 = 86_400_000_000;
/// Days from 1970-01-01 to where the server's begin.
const SERVER_EPOCH: i64 = SERVER_EPOCH_MICROS / DAY;

impl Words {
    /// Appends a word.
    pub(super) fn push(&mut self, word: &[u8]) {
        // The longest, a time of a year with six digits before Christ, has half of it.
        if let Some(room) = self.bytes.get_mut(self.length..self.length + word.len()) {
            room.copy_from_slice(word);
            self.length += word.len();
        }
    }

    /// Appends what is written; all of the words.
    pub(super) fn write(&mut self, words: std::fmt::Arguments<'_>) -> Result<&[u8], &'static str> {
        let mut rest = &mut self.bytes[self.length..];
        let room = rest.len();
        rest.write_fmt(words)
            .map_err(|_| "a value is longer than its type allows")?;
        self.length += room - rest.len();
        Ok(self.done())
    }

    /// All of the words.
    pub(super) fn done(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// A day by those since 2000-01-01.
    pub(super) fn date(&mut self, days: i32) -> &[u8] {
        match days {
            i32::MIN => self.push(b"-infinity"),
            i32::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(SERVER_EPOCH + i64::from(days));
                if is_before_christ {
                    self.push(b" BC");
                }
            }
        }
        self.done()
    }

    /// A time of day, 24:00:00 at most; `None` for none.
    pub(super) fn time(&mut self, micros: i64) -> Option<&[u8]> {
        (0..=DAY).contains(&micros).then(|| {
            self.of_day(micros);
            self.done()
        })
    }

    /// A time by the microseconds since 2000-01-01, with the words of its zone.
    pub(super) fn timestamp(&mut self, micros: i64, zone: &[u8]) -> &[u8] {
        match micros {
            i64::MIN => self.push(b"-infinity"),
            i64::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(SERVER_EPOCH + micros.div_euclid(DAY));
                self.push(b" ");
                self.of_day(micros.rem_euclid(DAY));
                self.push(zone);
                if is_before_christ {
                    self.push(b" BC");
                }
            }
        }
        self.done()
    }

    /// Appends a day by those since 1970-01-01; whether its year is before Christ.
    pub(super) fn day(&mut self, days: i64) -> bool {
        let (year, month, day) = date_of(days);
        // There is no year 0.
        let shown = if year > 0 { year } else { 1 - year };
        if shown < 10_000 {
            self.push(&four(shown as u16));
        } else {
            let (thousands, rest) = (shown / 10_000, shown % 10_000);
            let digits = four((thousands % 10_000) as u16);
            let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
            self.push(&digits[zeros..]);
            self.push(&four(rest as u16));
        }
        for part in [month, day] {
            self.push(b"-");
            self.push(&two(part as u16));
        }
        year <= 0
    }

    /// Appends a time of day with the digits of its second that say something.
    fn of_day(&mut self, micros: i64) {
        self.clock(micros);
        while self.done().ends_with(b"0") {
            self.length -= 1;
        }
        if self.done().ends_with(b".") {
            self.length -= 1;
        }
    }

    /// Appends a time of day with six digits of its second.
    pub(super) fn clock(&mut self, micros: i64) {
        let (seconds, micros) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
        for (part, mark) in [(seconds / 3600, b":"), (seconds / 60 % 60, b":"), (seconds % 60, b".")] {
            self.push(&two(part as u16));
            self.push(mark);
        }
        self.push(&four((micros / 100) as u16));
        self.push(&two((micros % 100) as u16));
    }

    /// As groups of digits.
    pub(super) fn uuid(&mut self, bytes: [u8; 16]) -> &[u8] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for (at, byte) in bytes.into_iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                self.push(b"-");
            }
            self.push(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        self.done()
    }
}

/// Two decimal digits of a number below 100.
fn two(number: u16) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// Four decimal digits of a number below 10,000.
pub(super) fn four(number: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (two(number / 100), two(number % 100));
    [a, b, c, d]
}
