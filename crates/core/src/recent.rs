//! The best of recent measurements.

use std::time::{Duration, Instant};

/// The best measurement counts for at least this long, and at most for twice as long.
const AGE: Duration = Duration::from_secs(30);

/// The best recent measurement: it counts for 30 to 60 seconds.
///
/// ```
/// use sapwood_core::RecentBest;
/// use std::time::{Duration, Instant};
/// let (mut fastest, now) = (RecentBest::default(), Instant::now());
/// fastest.add(9, u64::max, now);
/// fastest.add(5, u64::max, now + Duration::from_secs(45));
/// assert_eq!(fastest.get(u64::max), Some(9));
/// fastest.add(6, u64::max, now + Duration::from_secs(90));
/// assert_eq!(fastest.get(u64::max), Some(6));
/// ```
#[derive(Debug)]
pub struct RecentBest<T> {
    now: Option<T>,
    before: Option<T>,
    since: Option<Instant>,
}

impl<T> Default for RecentBest<T> {
    fn default() -> Self {
        RecentBest { now: None, before: None, since: None }
    }
}

impl<T: Copy> RecentBest<T> {
    /// Adds a measurement. `better` chooses one of two, such as `u64::max`.
    pub fn add(&mut self, value: T, better: fn(T, T) -> T, at: Instant) {
        let age = self.since.map(|since| at.saturating_duration_since(since));
        if age.is_none_or(|age| age > AGE) {
            self.before = self.now.take().filter(|_| age.is_some_and(|age| age <= 2 * AGE));
            self.since = Some(at);
        }
        self.now = Some(self.now.map_or(value, |best| better(best, value)));
    }

    /// The best one of those that were added recently; `None` if there is none.
    pub fn get(&self, better: fn(T, T) -> T) -> Option<T> {
        match (self.now, self.before) {
            (Some(now), Some(before)) => Some(better(now, before)),
            (now, before) => now.or(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_measurements_expire() {
        let (mut best, begin) = (RecentBest::default(), Instant::now());
        best.add(9, u64::max, begin);
        best.add(5, u64::max, begin + AGE * 3 / 2);
        assert_eq!(best.get(u64::max), Some(9));
        best.add(6, u64::max, begin + AGE * 3);
        assert_eq!(best.get(u64::max), Some(6));
        best.add(1, u64::max, begin + AGE * 9);
        assert_eq!(best.get(u64::max), Some(1));
    }
}
