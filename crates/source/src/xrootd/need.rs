//! How many connections a file needs, judged by the bytes per second with fewer of them.

use crate::CostModel;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// How many connections pay, and since when that is known.
    settled: Option<(usize, Instant)>,
}

impl ConnectionNeed {
    /// The number of connections that is worthwhile even where the first one is fast.
    pub(super) const FEW: usize = 4;

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

    /// The first connection is fast: a few are enough.
    pub(super) fn know_fast(&mut self, now: Instant) {
        self.settle(Self::FEW, now);
    }

    fn settle(&mut self, connections: usize, now: Instant) {
        // With others than were measured before, the gain is not known.
        (self.settled, self.earlier) = (Some((connections, now)), None);
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

    /// How many connections pay, if that is known.
    pub(super) fn settled(&self, now: Instant) -> Option<usize> {
        self.settled.filter(|(_, since)| now - *since < VALID).map(|(connections, _)| connections)
    }

    /// How many connections fill a link of 1 Gbit/s, if each carries so many bytes in a round trip.
    pub(super) fn at_first(window: f64, round_trip: Duration) -> usize {
        let in_flight = CostModel::NOMINAL_BANDWIDTH as f64 * round_trip.as_secs_f64();
        ((in_flight / window).ceil() as usize).clamp(Self::FEW, Self::MOST)
    }

    /// The number of connections to have, where `open` ones are busy and reads wait for them. The first one carries
    /// `window` bytes in a round trip.
    pub(super) fn wanted(&mut self, open: usize, window: f64, round_trip: Duration, now: Instant) -> usize {
        if open == 1 {
            return Self::at_first(window, round_trip);
        }
        if self.settled(now).is_some() || self.is_new() {
            return open;
        }
        let Some(arrivals) = &self.measured else { return open };
        let time = now.saturating_duration_since(arrivals.since);
        if time < SHORTEST.max(ROUND_TRIPS * round_trip) || arrivals.batches < BATCHES * open {
            return open;
        }
        let rate = arrivals.bytes as f64 / time.as_secs_f64();
        let Some((fewer, slower)) = self.earlier.replace((open, rate)) else { return Self::MOST };
        let proportional = open as f64 / fewer as f64 - 1.0;
        let pays = rate >= slower * (1.0 + WORTHWHILE * proportional);
        if pays && open < Self::MOST {
            return Self::MOST;
        }
        // What all of them give, in connections such as the fewer ones were.
        let enough = (fewer as f64 * rate / slower).round() as usize;
        self.settle(if pays { open } else { enough.clamp(Self::FEW, open) }, now);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: usize = ConnectionNeed::FEW;

    const TRIP: Duration = Duration::from_millis(100);

    /// The numbers of connections that a link leads to, now and for later files, on which each carries `each` bytes per
    /// second, and all together no more than `link`.
    fn connections(each: f64, link: f64) -> (usize, usize) {
        let (mut need, mut open, mut now) = (ConnectionNeed::default(), 1, Instant::now());
        let window = each.min(link) * TRIP.as_secs_f64();
        for _ in 0..20 {
            need.restart(TRIP, now);
            now += TRIP + Duration::from_secs(2);
            for _ in 0..BATCHES * open {
                need.arrived((2.0 * (open as f64 * each).min(link)) as u64 / (BATCHES * open) as u64, now);
            }
            if open > 1 && need.is_new() {
                need.know_one(each.min(link));
            }
            open = need.wanted(open, window, TRIP, now);
        }
        (open, need.settled(now).unwrap())
    }

    #[test]
    fn as_many_as_gain() {
        // 64 kB in each round trip, on 1 Gbit/s, 50 Mbit/s and 6 Mbit/s.
        assert_eq!(connections(640e3, 125e6), (16, 16));
        assert_eq!(connections(640e3, 6.25e6), (16, 16));
        assert_eq!(connections(640e3, 0.75e6), (16, FEW));
        // 2 MB: seven fill the link.
        assert_eq!(connections(20e6, 125e6), (16, 7));
        // A window that fills the link, of 1 Gbit/s and of 100 Mbit/s.
        assert_eq!(connections(125e6, 125e6), (FEW, FEW));
        assert_eq!(connections(125e6, 12.5e6), (10, FEW));
    }

    #[test]
    fn what_is_known_is_found_out_again_after_a_minute() {
        let (mut need, begin) = (ConnectionNeed::default(), Instant::now());
        need.know_fast(begin);
        assert_eq!(need.settled(begin + VALID / 2), Some(FEW));
        assert_eq!(need.settled(begin + 2 * VALID), None);
    }

    #[test]
    fn a_short_time_shows_nothing() {
        let (mut need, begin) = (ConnectionNeed::default(), Instant::now());
        need.know_one(1e6);
        need.restart(TRIP, begin);
        for _ in 0..BATCHES * FEW {
            need.arrived(100 << 20, begin + 2 * TRIP);
        }
        assert_eq!(need.wanted(FEW, 1e5, TRIP, begin + 2 * TRIP), FEW);
        assert_eq!(need.wanted(FEW, 1e5, TRIP, begin + 4 * TRIP), ConnectionNeed::MOST);
    }
}
