//! How many connections a file needs, judged by the bytes per second with fewer of them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many to try first.
const FEW: usize = 3;

/// The share of a proportional gain that further connections must give, for still more to be tried.
const WORTHWHILE: f64 = 0.2;

/// A measurement takes this many round trips, and at least the shortest time.
const ROUND_TRIPS: u32 = 2;
const SHORTEST: Duration = Duration::from_millis(200);

/// Batches for each connection that make a measurement.
const BATCHES: usize = 2;

/// After this time, what limits a link is found out again.
const VALID: Duration = Duration::from_secs(60);

static KNOWN: Mutex<Option<HashMap<String, KnownServer>>> = Mutex::new(None);

/// What one file found out about its server; it holds for the next ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownServer {
    /// How many connections paid.
    pub(super) connections: usize,
    /// Bytes of each in a round trip, if they are few.
    pub(super) window: Option<f64>,
    pub(super) since: Instant,
}

impl KnownServer {
    /// What was found out a short time ago.
    pub(super) fn of(server: &str, now: Instant) -> Option<KnownServer> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref()?.get(server).filter(|known| now - known.since < VALID).copied()
    }

    /// Remembers it for the next files.
    pub(super) fn remember(self, server: &str) {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().insert(server.to_owned(), self);
    }
}

/// What arrived over all connections.
#[derive(Debug)]
struct Arrivals {
    /// A round trip after the connections became busy.
    since: Instant,
    batches: usize,
    bytes: u64,
}

/// Compares the rates with different numbers of connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionNeed {
    measured: Option<Arrivals>,
    /// The rate with fewer connections, and how many these were.
    earlier: Option<(usize, f64)>,
    settled: Option<Instant>,
}

impl ConnectionNeed {
    /// Most connections, including the first one.
    pub(super) const MOST: usize = 16;

    /// Whether nothing was measured yet.
    pub(super) fn is_new(&self) -> bool {
        self.earlier.is_none() && self.settled.is_none()
    }

    /// Takes the rate of the first connection as measured.
    pub(super) fn know_one(&mut self, rate: f64) {
        self.earlier = Some((1, rate));
    }

    /// Further connections would gain nothing, as far as those that there are show.
    pub(super) fn settle(&mut self, now: Instant) {
        // With others than were measured before, the gain is not known.
        (self.settled, self.earlier) = (Some(now), None);
    }

    /// Begins to measure: the connections become busy, or others. The first bytes arrive after a round trip.
    pub(super) fn restart(&mut self, round_trip: Duration, now: Instant) {
        self.measured = Some(Arrivals { since: now + round_trip, batches: 0, bytes: 0 });
    }

    /// A batch arrived over any of the connections.
    pub(super) fn arrived(&mut self, bytes: u64, now: Instant) {
        if let Some(arrivals) = self.measured.as_mut().filter(|arrivals| now >= arrivals.since) {
            arrivals.batches += 1;
            arrivals.bytes += bytes;
        }
    }

    /// Whether the number of connections is found.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        self.settled.is_some_and(|since| now - since < VALID)
    }

    /// The number of connections to have, where `open` ones are busy and reads wait for them. Beside one connection, others
    /// are opened at once: while they come up, its rate shows. Until it does, there are no more.
    pub(super) fn wanted(&mut self, open: usize, round_trip: Duration, now: Instant) -> usize {
        if self.is_settled(now) {
            return open;
        }
        if open == 1 {
            return FEW;
        }
        if self.is_new() {
            return open;
        }
        let Some(arrivals) = &self.measured else { return open };
        let time = now.saturating_duration_since(arrivals.since);
        if time < SHORTEST.max(ROUND_TRIPS * round_trip) || arrivals.batches < BATCHES * open {
            return open;
        }
        let rate = arrivals.bytes as f64 / time.as_secs_f64();
        let earlier = self.earlier.replace((open, rate));
        let pays = earlier.is_none_or(|(fewer, slower)| {
            let proportional = open as f64 / fewer as f64 - 1.0;
            rate >= slower * (1.0 + WORTHWHILE * proportional)
        });
        if pays && open < Self::MOST {
            return Self::MOST;
        }
        self.settle(now);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(100);

    /// The number of connections that a link leads to, on which each carries `each` bytes per second, and all together no
    /// more than `link`.
    fn connections(each: f64, link: f64) -> usize {
        let (mut need, mut open, mut now) = (ConnectionNeed::default(), 1, Instant::now());
        for _ in 0..20 {
            need.restart(TRIP, now);
            now += TRIP + Duration::from_secs(2);
            for _ in 0..BATCHES * open {
                need.arrived((2.0 * (open as f64 * each).min(link)) as u64 / (BATCHES * open) as u64, now);
            }
            if open > 1 && need.is_new() {
                need.know_one(each.min(link));
            }
            open = need.wanted(open, TRIP, now);
        }
        open
    }

    #[test]
    fn as_many_as_gain() {
        // 64 kB in each round trip, on 1 Gbit/s and on 6 Mbit/s.
        assert_eq!(connections(640e3, 125e6), 16);
        assert_eq!(connections(640e3, 0.75e6), FEW);
        // A window that fills the link.
        assert_eq!(connections(100e6, 12.5e6), FEW);
    }

    #[test]
    fn what_is_known_is_found_out_again_after_a_minute() {
        let (mut need, begin) = (ConnectionNeed::default(), Instant::now());
        need.settled = Some(begin);
        assert!(need.is_settled(begin + VALID / 2));
        assert!(!need.is_settled(begin + 2 * VALID));
    }

    #[test]
    fn a_short_time_shows_nothing() {
        let (mut need, begin) = (ConnectionNeed::default(), Instant::now());
        need.know_one(1e6);
        need.restart(TRIP, begin);
        for _ in 0..BATCHES * FEW {
            need.arrived(100 << 20, begin + 2 * TRIP);
        }
        assert_eq!(need.wanted(FEW, TRIP, begin + 2 * TRIP), FEW);
        assert_eq!(need.wanted(FEW, TRIP, begin + 4 * TRIP), ConnectionNeed::MOST);
    }
}
