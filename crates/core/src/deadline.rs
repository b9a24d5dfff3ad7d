//! No wait is unbounded.

use std::time::{Duration, Instant};

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

    /// The deadline at that moment.
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
