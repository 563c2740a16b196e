//! The words of values that are short: floating-point numbers, dates and times, uuids.

use std::io::Write;

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

const DAY: i64 = 86_400_000_000;

impl Words {
    fn push(&mut self, word: &[u8]) {
        // The longest, a time of a year with six digits before Christ, has half of it.
        if let Some(room) = self.bytes.get_mut(self.length..self.length + word.len()) {
            room.copy_from_slice(word);
            self.length += word.len();
        }
    }

    fn done(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The shortest digits that stand for it.
    pub(super) fn float(&mut self, value: impl Into<f64> + std::fmt::Debug + Copy) -> &[u8] {
        let wide: f64 = value.into();
        if wide.is_nan() {
            self.push(b"NaN");
        } else if wide.is_infinite() {
            self.push(if wide > 0.0 { b"Infinity" } else { b"-Infinity" });
        } else {
            let mut rest = &mut self.bytes[..];
            let room = rest.len();
            // Its digits, of which there are 17 at most, and an exponent.
            let _ = write!(rest, "{value:?}");
            self.length = room - rest.len();
        }
        self.done()
    }

    pub(super) fn date(&mut self, days: i32) -> &[u8] {
        match days {
            i32::MIN => self.push(b"-infinity"),
            i32::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(days.into());
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

    pub(super) fn timestamp(&mut self, micros: i64, zone: &[u8]) -> &[u8] {
        match micros {
            i64::MIN => self.push(b"-infinity"),
            i64::MAX => self.push(b"infinity"),
            _ => {
                let is_before_christ = self.day(micros.div_euclid(DAY));
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

    /// A day since 2000-01-01; whether its year is before Christ.
    fn day(&mut self, days: i64) -> bool {
        let (year, month, day) = civil(days + 10_957);
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

    fn of_day(&mut self, micros: i64) {
        let (seconds, micros) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
        for (mark, part) in [
            (&b""[..], seconds / 3600),
            (b":", seconds / 60 % 60),
            (b":", seconds % 60),
        ] {
            self.push(mark);
            self.push(&two(part as u16));
        }
        if micros > 0 {
            self.push(b".");
            self.push(&four((micros / 100) as u16));
            self.push(&two((micros % 100) as u16));
            while self.bytes[self.length - 1] == b'0' {
                self.length -= 1;
            }
        }
    }

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

/// Year, month and day of a day since 1970-01-01 (H. Hinnant, "civil_from_days"); the year before 1 is 0.
pub(in crate::log::decoding) fn civil(days: i64) -> (i64, u32, u32) {
    let since = days + 719_468;
    let (era, day_of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097) as u32);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + i64::from(year_of_era) + i64::from(month <= 2), month, day)
}
