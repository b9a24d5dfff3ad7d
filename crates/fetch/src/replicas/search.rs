//! When to search for a further source.

use std::time::{Duration, Instant};

/// The longest time between two searches.
const LONGEST: Duration = Duration::from_secs(120);

/// The pause after the first search that found nothing, while there is a source to read from.
const PAUSE: Duration = Duration::from_secs(5);

/// The same while there is none.
const SHORT_PAUSE: Duration = Duration::from_secs(1);

/// The searches for further sources. Pure: the time is an argument.
#[derive(Debug, Default)]
pub(crate) struct Search {
    under_way: bool,
    /// Searches in a row that found nothing.
    fruitless: u32,
    last: Option<Instant>,
    /// Searches while enough sources were read.
    beyond: u32,
    /// When the last of them was due, or reading began.
    counted: Option<Instant>,
}

impl Search {
    /// Whether the last search found that there is nothing more.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.fruitless > 0 && !self.under_way
    }

    /// Starts a search, if it is time for one.
    pub(crate) fn begin(&mut self, have_one: bool, now: Instant) -> bool {
        let due = self.due(have_one).is_none_or(|due| due <= now);
        let begin = due && !self.under_way;
        self.under_way |= begin;
        begin
    }

    /// Starts a search while enough sources are read: first after this interval of reading, which doubles each
    /// time.
    pub(crate) fn begin_beyond(&mut self, interval: Duration, now: Instant) -> bool {
        let since = *self.counted.get_or_insert(now);
        let pause = interval.saturating_mul(2_u32.saturating_pow(self.beyond.min(30)));
        let pause = pause.min(LONGEST.max(interval));
        let begin =
            !interval.is_zero() && now.saturating_duration_since(since) >= pause && self.begin(true, now);
        if begin {
            self.beyond += 1;
            self.counted = Some(now);
        }
        begin
    }

    /// When the next search may start; `None` if at once.
    pub(crate) fn due(&self, have_one: bool) -> Option<Instant> {
        let first = if have_one { PAUSE } else { SHORT_PAUSE };
        let doubled = 2_u32.saturating_pow(self.fruitless.checked_sub(1)?.min(30));
        Some(self.last? + first.saturating_mul(doubled).min(LONGEST))
    }

    /// A search ended.
    pub(crate) fn end(&mut self, found: bool, now: Instant) {
        self.under_way = false;
        self.last = Some(now);
        self.fruitless = if found { 0 } else { self.fruitless.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fruitless_searches_back_off() {
        let (mut search, mut now) = (Search::default(), Instant::now());
        assert!(search.begin(true, now) && !search.begin(true, now));
        search.end(true, now);
        assert!(search.begin(true, now), "what was found does not end the search");
        for pause in [5, 10, 20, 40, 80, 120, 120] {
            search.end(false, now);
            assert!(search.is_exhausted());
            let pause = Duration::from_secs(pause);
            assert!(!search.begin(true, now + pause - Duration::from_millis(1)));
            now += pause;
            assert!(search.begin(true, now));
        }
    }
}
