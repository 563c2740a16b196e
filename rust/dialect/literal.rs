//! Values as they are put into a statement.

use crate::row::value::Value;

/// A value that a dialect can write down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Digits with an optional sign and point; `NaN`, `Infinity` or `-Infinity` where the database has them.
    Number(String),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// True or false.
    Boolean(bool),
    /// `YYYY-MM-DD`, with `-` in front before the year 0; here and in timestamps `infinity` or `-infinity` where the database has them.
    Date(String),
    /// `hh:mm:ss[.f{1,9}]`.
    Time(String),
    /// `YYYY-MM-DD hh:mm:ss[.f{1,9}]`.
    Timestamp(String),
    /// `YYYY-MM-DD hh:mm:ss[.f{1,9}] ±hh:mm`.
    TimestampZoned(String),
}

impl Literal {
    /// The same as a record of the log would have it.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Literal::Number(text) => Value::Number(text.as_bytes()),
            Literal::Text(text) => Value::Text(text.as_bytes()),
            Literal::Bytes(bytes) => Value::Bytes(bytes),
            Literal::Boolean(value) => Value::Int((*value).into()),
            Literal::Date(text) => Value::Date(text.as_bytes()),
            Literal::Time(text) => Value::Time(text.as_bytes()),
            Literal::Timestamp(text) | Literal::TimestampZoned(text) => Value::Timestamp(text.as_bytes()),
        }
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day that many days from 1970-01-01: year, month, day (H. Hinnant, "civil_from_days"); the year before 1 is 0.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097) as u32;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = i64::from(year_of_era) + era * 400 + i64::from(month <= 2);
    (year, month.into(), day.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for day in (-800_000..2_000_000).step_by(97) {
            let (year, month, date) = date_of(day);
            assert_eq!(days(year, month, date), day);
        }
        assert_eq!(date_of(19_782), (2024, 2, 29));
    }
}
