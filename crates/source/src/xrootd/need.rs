//! How many connections a file needs, judged by the bytes per second with fewer of them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many times as many to try next.
const STEP: usize = 4;

/// The share of a proportional gain that further connections must give, for still more to be tried.
const WORTHWHILE: f64 = 0.3;

/// A measurement takes this many round trips, and at least the shortest time.
const ROUND_TRIPS: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(300);

/// Bytes for each connection that make a measurement.
const BYTES: u64 = 256 << 10;

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

/// Compares the rates with different numbers of connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionNeed {
    /// Since when the connections are busy, and the bytes that have arrived since.
    measured: Option<(Instant, u64)>,
    /// The rate with fewer connections, and how many these were.
    earlier: Option<(usize, f64)>,
    settled: Option<Instant>,
}

impl ConnectionNeed {
    /// Most connections, including the first one.
    pub(super) const MOST: usize = 16;

    /// Takes the rate of one connection as measured, if none was measured yet.
    pub(super) fn know_one(&mut self, rate: f64) {
        if self.earlier.is_none() && self.settled.is_none() {
            self.earlier = Some((1, rate));
        }
    }

    /// Begins to measure: the connections become busy, or others.
    pub(super) fn restart(&mut self, now: Instant) {
        self.measured = Some((now, 0));
    }

    /// Bytes arrived over any of the connections.
    pub(super) fn arrived(&mut self, bytes: u64, now: Instant) {
        self.measured.get_or_insert((now, 0)).1 += bytes;
    }

    /// Whether further connections gained nothing, so that the link or the server is the limit.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        self.settled.is_some_and(|since| now - since < VALID)
    }

    /// The number of connections to have, where `open` ones are busy and reads wait for them.
    pub(super) fn wanted(&mut self, open: usize, round_trip: Duration, now: Instant) -> usize {
        if self.is_settled(now) {
            return open;
        }
        if open == 1 && self.earlier.is_some() {
            return STEP;
        }
        let Some((since, bytes)) = self.measured else { return open };
        let time = now - since;
        if time < SHORTEST.max(ROUND_TRIPS * round_trip) || bytes < BYTES * open as u64 {
            return open;
        }
        let rate = bytes as f64 / time.as_secs_f64();
        let earlier = self.earlier.replace((open, rate));
        let pays = earlier.is_none_or(|(fewer, slower)| {
            let proportional = open as f64 / fewer as f64 - 1.0;
            rate >= slower * (1.0 + WORTHWHILE * proportional)
        });
        if pays && open < Self::MOST {
            return (open * STEP).min(Self::MOST);
        }
        // With others than were measured before, the gain is not known.
        (self.settled, self.earlier) = (Some(now), None);
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
            need.restart(now);
            now += Duration::from_secs(2);
            need.arrived((2.0 * (open as f64 * each).min(link)) as u64, now);
            open = need.wanted(open, TRIP, now);
        }
        open
    }

    #[test]
    fn as_many_as_gain() {
        // 64 kB in each round trip, on 1 Gbit/s and on 8 Mbit/s.
        assert_eq!(connections(640e3, 125e6), 16);
        assert_eq!(connections(640e3, 1e6), 4);
        // A window that fills the link.
        assert_eq!(connections(100e6, 12.5e6), 4);
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
        need.restart(begin);
        need.arrived(100 << 20, begin + TRIP);
        assert_eq!(need.wanted(1, TRIP, begin + TRIP), 1);
    }
}
