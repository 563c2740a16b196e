//! The zone of the database's clock (`server-time-zone`): turns times without an offset into instants. The only file
//! that knows the zone library.
//!
//! Zones by name come from the time zone database inside the library, not from the machine's, so that all readers of a
//! job agree. As in Java, a time that a clock change skips is read with the offset before the change, and one that comes
//! twice means the first.

use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, civil};

use crate::error::{ErrorKind, Result};
use crate::row::time::{DateTime, offset_seconds};

/// An offset, or a zone by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Inner);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner {
    Fixed(i32),
    Named(TimeZone),
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Zone = Zone(Inner::Fixed(0));

    /// Reads `UTC`, `Z`, `+08:00`, `GMT+8`, `UTC-05:30` or a name such as `Asia/Shanghai`.
    ///
    /// # Errors
    /// `Option` for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let offset = ["UTC", "GMT", "UT"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        if offset.is_empty() && !text.is_empty() {
            return Ok(Zone::UTC);
        }
        if let Some(seconds) = offset_seconds(offset.as_bytes()) {
            return Ok(Zone(Inner::Fixed(seconds)));
        }
        match TimeZoneDatabase::bundled().get(text) {
            Ok(zone) => Ok(Zone(Inner::Named(zone))),
            Err(_) => Err(ErrorKind::Option {
                option: "server-time-zone".into(),
                reason: format!("'{text}' is neither an offset such as +08:00 nor a zone such as Asia/Shanghai"),
            }
            .into()),
        }
    }

    /// Microseconds since the epoch of a time on the database's clock, as its log writes them: `YYYY-MM-DD
    /// hh:mm:ss[.f{1,9}]`. An offset in the text wins over the zone; digits beyond the microsecond are cut.
    ///
    /// # Errors
    /// `CorruptLog` if the text is not such a time.
    pub fn epoch_micros(&self, text: &[u8]) -> Result<i64> {
        let at = DateTime::parse(text).map_err(|refusal| ErrorKind::CorruptLog(refusal.to_string()))?;
        Ok(at.epoch_seconds(self) * 1_000_000 + i64::from(at.nanos / 1_000))
    }

    /// The time on the zone's clock at so many seconds since the epoch: `YYYY-MM-DD hh:mm:ss`.
    ///
    /// # Errors
    /// `Option` for years that no calendar has.
    pub fn local(&self, epoch_seconds: i64) -> Result<String> {
        let zone = match &self.0 {
            Inner::Fixed(seconds) => Offset::from_seconds(*seconds).map(TimeZone::fixed),
            Inner::Named(zone) => Ok(zone.clone()),
        };
        let at = zone.and_then(|zone| Timestamp::from_second(epoch_seconds).map(|at| zone.to_datetime(at)));
        let at = at.map_err(|error| ErrorKind::Option {
            option: "server-time-zone".into(),
            reason: format!("has no time for {epoch_seconds} s since the epoch: {error}"),
        })?;
        Ok(at.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// Seconds east of UTC at a time on the zone's clock.
    pub(super) fn offset_seconds(&self, at: &DateTime) -> i32 {
        match &self.0 {
            Inner::Fixed(seconds) => *seconds,
            Inner::Named(zone) => named(zone, at),
        }
    }
}

fn named(zone: &TimeZone, at: &DateTime) -> i32 {
    let (hour, minute, second) = (
        at.second_of_day / 3600,
        at.second_of_day / 60 % 60,
        at.second_of_day % 60,
    );
    let civil = civil::DateTime::constant(
        at.year as i16,
        at.month as i8,
        at.day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        0,
    );
    let offset = match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    offset.seconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(zone: &str, text: &str) -> i64 {
        let micros = Zone::parse(zone)
            .and_then(|zone| zone.epoch_micros(text.as_bytes()))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(micros % 1_000_000, 0);
        micros / 1_000_000
    }

    #[test]
    fn zones_are_offsets_or_names() {
        for (zone, offset) in [
            ("UTC", 0),
            ("Z", 0),
            ("GMT", 0),
            ("+08:00", 28_800),
            ("+8", 28_800),
            ("-0530", -19_800),
            ("GMT+8", 28_800),
            ("UTC-05:30", -19_800),
            ("Asia/Shanghai", 28_800),
            ("asia/shanghai", 28_800),
        ] {
            assert_eq!(seconds(zone, "2024-03-01 08:00:00"), 1_709_280_000 - offset, "{zone}");
        }
        for zone in ["", "+25:00", "Mars/Olympus", "UTC+", "8"] {
            let error = Zone::parse(zone).expect_err(zone).to_string();
            assert!(error.contains("server-time-zone"), "{error}");
        }
    }

    /// What `LocalDateTime.parse(text).atZone(ZoneId.of(zone)).toEpochSecond()` gives in Java.
    #[test]
    fn named_zones_agree_with_java() {
        for (zone, text, expected) in [
            ("Asia/Shanghai", "0001-01-01 00:00:00", -62_135_625_943),
            ("Asia/Shanghai", "1900-12-31 23:59:59", -2_177_481_944),
            ("Asia/Shanghai", "1986-05-04 02:30:00", 515_529_000),
            ("Asia/Shanghai", "1986-09-14 01:30:00", 527_013_000),
            ("Asia/Shanghai", "9999-12-31 23:59:59", 253_402_271_999),
            ("America/New_York", "9999-12-31 23:59:59", 253_402_318_799),
            ("America/New_York", "2024-11-03 01:30:00", 1_730_611_800),
            ("America/New_York", "2024-03-10 02:30:00", 1_710_055_800),
            ("America/New_York", "2050-07-01 00:00:00", 2_540_260_800),
        ] {
            assert_eq!(seconds(zone, text), expected, "{zone} {text}");
        }
    }

    #[test]
    fn a_moment_has_its_time_on_the_zone_s_clock() {
        for (zone, at, expected) in [
            ("UTC", 0, "1970-01-01 00:00:00"),
            ("+08:00", 1_709_280_000, "2024-03-01 16:00:00"),
            ("Asia/Shanghai", 253_370_764_800, "9999-01-01 08:00:00"),
            ("America/New_York", 1_730_611_800, "2024-11-03 01:30:00"),
            ("America/New_York", 1_730_615_400, "2024-11-03 01:30:00"),
        ] {
            let zone = Zone::parse(zone).expect("zone");
            assert_eq!(zone.local(at).expect("a time"), expected);
        }
        assert!(Zone::UTC.local(i64::MAX).is_err());
    }

    #[test]
    fn the_log_s_times_are_microseconds() {
        let zone = Zone::parse("+08:00").expect("zone");
        assert_eq!(zone.epoch_micros(b"1970-01-01 08:00:00.123456789").ok(), Some(123_456));
        assert_eq!(zone.epoch_micros(b"1970-01-01 07:59:59.999999").ok(), Some(-1));
        assert!(
            zone.epoch_micros(b"now")
                .expect_err("no time")
                .to_string()
                .contains("TM-3004")
        );
    }
}
