//! Deadlines: no wait is unbounded. Times, as callers state them.

use std::time::{Duration, Instant};

/// For ever, as a time that can be added to others.
const FOREVER: Duration = Duration::from_secs(1_000_000_000_000_000);

/// The time that a caller states in seconds, which may be infinite; `None` if it is negative or not a number.
pub fn stated_time(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(FOREVER).min(FOREVER))
}

/// The moment at which a call gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// One hour from now: the default of a call, generous and never infinite.
    pub const DEFAULT: Duration = Duration::from_secs(3600);

    /// The longest time that may be requested.
    pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

    /// The deadline `time` from now, at most [`Deadline::LONGEST`].
    pub fn after(time: Duration) -> Self {
        Deadline(Instant::now() + time.min(Self::LONGEST))
    }

    /// The deadline at a given moment.
    pub fn at(moment: Instant) -> Self {
        Deadline(moment)
    }

    /// The moment itself.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// The time left; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// True when it has passed.
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// The earlier of this deadline and `time` from now.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        self.min(Deadline::after(time))
    }
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline::after(Self::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_options_may_be_infinite_but_not_negative() {
        assert_eq!(stated_time(2.5), Some(Duration::from_millis(2500)));
        assert_eq!([1e16, 1e300, f64::INFINITY].map(stated_time), [Some(FOREVER); 3]);
        assert_eq!([-1.0, f64::NEG_INFINITY, f64::NAN].map(stated_time), [None; 3]);
        let _ = Instant::now() + FOREVER;
    }
}
