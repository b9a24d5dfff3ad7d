//! The origin of a file: time and UUID, the two parts that differ from one run to the next.

use sapwood_core::random_bytes;
use std::fmt;

/// A date and time as ROOT packs it: 6 bits for the years since 1995, 4 for the month, 5 for the day, 5 for the
/// hour, 6 for the minute, 6 for the second; local time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Datime(pub u32);

impl Datime {
    /// Packs a date and a time; years before 1995 or after 2058 are clamped.
    pub fn new(year: i32, (month, day): (u32, u32), (hour, minute, second): (u32, u32, u32)) -> Self {
        let year = (year.clamp(1995, 2058) - 1995).unsigned_abs();
        Datime(
            year << 26
                | (month & 15) << 22
                | (day & 31) << 17
                | (hour & 31) << 12
                | (minute & 63) << 6
                | second & 63,
        )
    }

    /// The local time now.
    pub fn now() -> Self {
        use chrono::{Datelike, Timelike};
        let now = chrono::Local::now();
        Datime::new(now.year(), (now.month(), now.day()), (now.hour(), now.minute(), now.second()))
    }
}

impl fmt::Debug for Datime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Datime(packed) = *self;
        let bits = |from: u32, width: u32| packed >> from & ((1 << width) - 1);
        write!(
            f,
            "{}-{:02}-{:02} {:02}:{:02}:{:02}",
            1995 + bits(26, 6),
            bits(22, 4),
            bits(17, 5),
            bits(12, 5),
            bits(6, 6),
            bits(0, 6)
        )
    }
}

/// The time and the UUID that a file is written with. Files of the same origin and content are equal byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The time.
    pub time: Datime,
    /// The file's UUID. The UUIDs of its directories are derived from it.
    pub uuid: [u8; 16],
}

impl FileStamp {
    /// Now, with a random UUID.
    pub fn now() -> Self {
        let mut uuid = random_bytes();
        // Version 4, variant 1: RFC 9562.
        uuid[6] = uuid[6] & 0x0F | 0x40;
        uuid[8] = uuid[8] & 0x3F | 0x80;
        FileStamp { time: Datime::now(), uuid }
    }

    /// The UUID of the directory whose record lies at an offset.
    pub(super) fn uuid_at(&self, offset: u64) -> [u8; 16] {
        let number = u128::from_be_bytes(self.uuid);
        // The last 48 bits are the node's, in any version of a UUID.
        (number ^ u128::from(offset) & 0xFFFF_FFFF_FFFF).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_packed_as_root_does() {
        let datime = Datime::new(2026, (11, 21), (14, 5, 59));
        assert_eq!(datime.0, 31 << 26 | 11 << 22 | 21 << 17 | 14 << 12 | 5 << 6 | 59);
        assert_eq!(format!("{datime:?}"), "2026-11-21 14:05:59");
        assert_eq!(Datime::new(1970, (1, 1), (0, 0, 0)).0 >> 26, 0);
    }

    #[test]
    fn two_origins_differ_in_their_uuid() {
        let (a, b) = (FileStamp::now(), FileStamp::now());
        assert_ne!(a.uuid, b.uuid);
        assert_eq!(a.uuid[6] >> 4, 4);
        assert_ne!(a.uuid_at(300), a.uuid);
        assert_eq!(a.uuid_at(0), a.uuid);
    }
}
