//! The connections of one file, and what each has in flight.
//!
//! Over a long distance, one connection carries no more than its window in each round trip, and slows down with each lost
//! packet. Several carry more, unless the link itself is the limit. Which it is cannot be asked, only tried: where reads
//! wait for each other, connections are added as long as the bytes per second grow with them.
//!
//! A read is dealt out in batches. Once it is known how much a connection carries, it gets no more than that in advance,
//! so that connections which come up later find something to do.

use super::need::{ConnectionNeed, KnownServer};
use super::remote::{Connection, Remote};
use crate::cost_model::WINDOWS_LIMIT_FROM;
use crate::environment;
use sapwood_core::{Deadline, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Most bytes in flight on a connection that may be slow.
const MUCH: u64 = 32 << 20;

/// The same at the least, until it is known how much it carries: once others come up, they find something to do.
const LITTLE: u64 = 4 << 20;

/// The same on a fast connection, once no others will come up: a read that has all its bytes in flight waits once, while
/// bytes that are requested as others arrive wait again.
const MUCH_IF_FAST: u64 = 128 << 20;

/// Reads of fewer bytes are not worth a further connection, unless they are [long](LONG).
const WORTH_A_CONNECTION: u64 = 16 << 20;

/// A read that takes more round trips over one connection is worth a further one, however few bytes it has.
const LONG: f64 = 16.0;

/// Most bytes of one batch, while others may come up.
const BATCH: u64 = 8 << 20;

/// The first batch behind others on a connection of which little is known: small ones soon show how fast it is. A later
/// one takes a quarter of the bytes before it.
const FIRST_BATCH: u64 = 1 << 20;

/// The first batch, in windows, as far as these are known.
const FIRST_WINDOWS: f64 = 2.0;

/// Fewer bytes show nothing if they arrive within two round trips.
const EVIDENCE: u64 = 512 << 10;

/// The shortest time, in round trips, that a transfer is taken to last: shorter ones cannot be told from none.
const SHORTEST_TRANSFER: f64 = 0.05;

/// The smallest batch: the requests for smaller ones would cost more than they gain.
const SMALLEST_BATCH: u64 = 128 << 10;

/// A connection that carries this many bytes in a round trip is fast.
const LARGE_WINDOW: f64 = 8e6;

/// Windows in flight on a slow connection: it never waits for work, and others that come up find some.
const WINDOWS: f64 = 4.0;

/// Round trips over which a window is measured: it may change.
const RECENT: u32 = 8;

/// How long a further connection may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The environment variable for the number of connections: fixed, instead of found out.
const COUNT_VARIABLE: &str = "SAPWOOD_ROOT_CONNECTIONS";

/// The value of the variable.
static ASKED: LazyLock<Option<String>> = LazyLock::new(|| environment::text(COUNT_VARIABLE));

/// The fixed number of connections; `None` if it is to be found out.
static COUNT: LazyLock<Option<usize>> = LazyLock::new(|| count().ok().flatten());

/// The fixed number of connections.
///
/// # Errors
/// `Usage` if the variable is not such a number.
pub(super) fn count() -> Result<Option<usize>> {
    let range = 1..=ConnectionNeed::MOST;
    environment::number(COUNT_VARIABLE, ASKED.as_deref(), range, "a number of connections, 1 to 16,")
}

/// The connections of one file. Reads that fail on a further one are repeated.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pool: Mutex<ConnectionPool>,
    /// A batch has arrived, or a connection has come up.
    changed: Notify,
    /// Bytes of all reads that have begun and not ended.
    reading: AtomicU64,
}

/// The bytes of a read, until it is dropped.
pub(super) struct BegunRead<'a> {
    streams: &'a Streams,
    bytes: u64,
}

impl Drop for BegunRead<'_> {
    fn drop(&mut self) {
        self.streams.reading.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct ConnectionPool {
    /// The first one is that which opened the file.
    lanes: Vec<Lane>,
    opening: bool,
    /// How many were begun beside the first, including failures.
    begun: usize,
    need: ConnectionNeed,
    /// Whether the first one carries so much that a few are enough.
    is_first_fast: bool,
    /// Changes when the file was reopened.
    generation: usize,
}

/// A connection with what it has in flight.
#[derive(Debug)]
struct Lane {
    connection: Arc<Connection>,
    in_flight: u64,
    /// Bytes that were requested over it so far.
    requested: u64,
    /// Since when something is in flight, and the bytes that have arrived since.
    busy: (Instant, u64),
    window: Window,
    /// Whether it waits for half of what it had in flight. One wait for several batches is one round trip.
    is_full: bool,
}

/// The bytes that a connection carries in a round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Window {
    /// Too little has arrived to tell; it would be this many if that were all.
    Unknown(f64),
    /// So few that the connection is slow.
    Small(f64),
    Large,
}

impl Window {
    /// The window of a connection that took so long for the bytes.
    fn measured(bytes: u64, time: Duration, round_trip: Duration) -> Window {
        // The first bytes arrive after a round trip.
        let trips = time.div_duration_f64(round_trip) - 1.0;
        match bytes as f64 / trips.max(1.0) {
            window if window >= LARGE_WINDOW => Window::Large,
            window if trips >= 2.0 => Window::Small(window),
            _ if bytes < EVIDENCE => Window::Unknown(f64::INFINITY),
            _ => Window::Unknown(bytes as f64 / trips.max(SHORTEST_TRANSFER)),
        }
    }

    /// Its bytes, as far as they are known; infinitely many if they are no limit.
    fn bytes(self) -> f64 {
        match self {
            Window::Unknown(bytes) | Window::Small(bytes) => bytes,
            Window::Large => f64::INFINITY,
        }
    }

    /// Its bytes, if they are few.
    fn small(self) -> Option<f64> {
        match self {
            Window::Small(bytes) => Some(bytes),
            Window::Unknown(_) | Window::Large => None,
        }
    }
}

/// Permission to request bytes over a connection; they are in flight until it is dropped.
pub(super) struct Batch<'a> {
    streams: &'a Streams,
    pub(super) connection: Arc<Connection>,
    pub(super) bytes: u64,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut pool = self.streams.lock();
        if let Some(lane) = pool.lane(&self.connection) {
            lane.in_flight = lane.in_flight.saturating_sub(self.bytes);
        }
        drop(pool);
        self.streams.changed.notify_waiters();
    }
}

impl Batch<'_> {
    /// The bytes have arrived.
    pub(super) fn arrived(&self) {
        let (now, mut pool) = (Instant::now(), self.streams.lock());
        pool.need.arrived(self.bytes, now);
        let Some(lane) = pool.lane(&self.connection) else { return };
        lane.busy.1 += self.bytes;
        let (round_trip, time) = (self.connection.round_trip, now - lane.busy.0);
        let window = Window::measured(lane.busy.1, time, round_trip);
        if !matches!(window, Window::Unknown(_)) {
            lane.window = window;
            if time > RECENT * round_trip {
                lane.busy = (now, 0);
            }
        }
        if window == Window::Large {
            pool.judge_first(now);
        }
    }
}

impl Lane {
    fn new(connection: &Arc<Connection>) -> Lane {
        let busy = (Instant::now(), 0);
        let window = Window::Unknown(f64::INFINITY);
        Lane { connection: Arc::clone(connection), in_flight: 0, requested: 0, busy, window, is_full: false }
    }

    /// Most bytes in flight, and in a batch; `is_fast` if the few that there are suffice.
    fn limits(&self, is_fast: bool) -> (u64, u64) {
        match self.window {
            _ if is_fast => (MUCH_IF_FAST, u64::MAX),
            Window::Small(window) => {
                let most = ((WINDOWS * window) as u64).max(2 * SMALLEST_BATCH);
                (most, (window as u64).max(SMALLEST_BATCH))
            }
            Window::Unknown(window) => {
                let first = (FIRST_WINDOWS * window) as u64;
                let batch = if self.in_flight > 0 { self.requested / 4 } else { first };
                (((WINDOWS * window) as u64).clamp(LITTLE, MUCH), batch.clamp(FIRST_BATCH, BATCH))
            }
            Window::Large => (MUCH, BATCH),
        }
    }
}

impl ConnectionPool {
    fn lane(&mut self, connection: &Arc<Connection>) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| Arc::ptr_eq(&lane.connection, connection))
    }

    /// Takes up to this many bytes for the connection with the least in flight; `None` if all have enough.
    fn take(&mut self, wanted: u64, now: Instant) -> Option<(Arc<Connection>, u64)> {
        if self.lanes.iter().all(|lane| lane.in_flight == 0) {
            let round_trip = self.lanes.first().map(|first| first.connection.round_trip);
            self.need.restart(round_trip.unwrap_or_default(), now);
        }
        let is_fast = self.is_first_fast && self.lanes.len() > 1 && self.need.settled(now).is_some();
        for lane in &mut self.lanes {
            lane.is_full &= lane.in_flight > lane.limits(is_fast).0 / 2;
        }
        let lane = self.lanes.iter_mut().filter(|lane| !lane.is_full).min_by_key(|lane| lane.in_flight)?;
        let (most, batch) = lane.limits(is_fast);
        let bytes = wanted.min(batch);
        lane.is_full = lane.in_flight > 0 && lane.in_flight + bytes > most;
        if lane.is_full {
            return None;
        }
        if lane.in_flight == 0 {
            lane.busy = (now, 0);
        }
        lane.in_flight += bytes;
        lane.requested += bytes;
        Some((Arc::clone(&lane.connection), bytes))
    }

    /// Whether reads of so many bytes are worth further connections. How many, the window of the first one tells: they
    /// wait for that, unless it already seems to be narrow.
    fn is_much(&self, bytes: u64) -> bool {
        let Some(Lane { connection, window, .. }) = self.lanes.first() else { return false };
        let at_first = ConnectionNeed::at_first(window.bytes(), connection.round_trip);
        let is_known = !matches!(window, Window::Unknown(_)) || at_first > ConnectionNeed::FEW;
        is_known && bytes > WORTH_A_CONNECTION.min((LONG * window.bytes()) as u64)
    }

    /// The smallest window, if some are small.
    fn slowest(&self) -> Option<f64> {
        self.lanes.iter().filter_map(|lane| lane.window.small()).reduce(f64::min)
    }

    /// Judges by the first connection, once, if that shows by now: a fast one needs no more beside it than a few.
    fn judge_first(&mut self, now: Instant) {
        let Some(first) = self.lanes.first().filter(|_| self.need.is_new()) else { return };
        match first.window {
            Window::Unknown(_) => {}
            Window::Small(bytes) => self.need.know_one(bytes / first.connection.round_trip.as_secs_f64()),
            Window::Large => {
                self.is_first_fast = true;
                self.need.know_fast(now);
            }
        }
    }
}

impl Streams {
    /// Learns from the first bytes of a file how much its connection carries.
    pub(super) fn opened(&self, first: &Arc<Connection>, bytes: u64, time: Duration) {
        let known = || KnownServer::of(&first.server, Instant::now())?.window;
        let measured = Window::measured(bytes, time, first.round_trip);
        let window = measured.small().or_else(known).map_or(measured, Window::Small);
        self.lock().lanes = vec![Lane { window, ..Lane::new(first) }];
    }

    /// A read of so many bytes begins.
    pub(super) fn begin(&self, bytes: u64) -> BegunRead<'_> {
        self.reading.fetch_add(bytes, Ordering::Relaxed);
        BegunRead { streams: self, bytes }
    }

    /// Waits until a connection can take some of the wanted bytes. `first` is the open file, at which others are opened if
    /// that seems to pay.
    pub(super) async fn batch(
        self: &Arc<Self>,
        remote: &Arc<Remote>,
        first: &Arc<Connection>,
        wanted: u64,
    ) -> Batch<'_> {
        let is_near = first.round_trip < WINDOWS_LIMIT_FROM;
        loop {
            let changed = self.changed.notified();
            {
                let (now, mut pool) = (Instant::now(), self.lock());
                if pool.lane(first).is_none() {
                    pool.generation += 1;
                    pool.lanes = vec![Lane::new(first)];
                    pool.begun = 0;
                    (pool.need, pool.is_first_fast) = (ConnectionNeed::default(), false);
                }
                pool.lanes.retain(|lane| {
                    Arc::ptr_eq(&lane.connection, first) || !lane.connection.lost.load(Ordering::Relaxed)
                });
                if is_near {
                    return Batch { streams: self, connection: Arc::clone(first), bytes: wanted };
                }
                let is_much = pool.is_much(self.reading.load(Ordering::Relaxed));
                let taken = pool.take(wanted, now);
                let waits = taken.as_ref().is_none_or(|(_, bytes)| COUNT.is_some() && *bytes < wanted);
                let is_alone = pool.is_first_fast && pool.lanes.len() == 1;
                if (waits && COUNT.is_some()) || (is_much && (waits || is_alone)) {
                    self.grow(&mut pool, remote, first, now);
                }
                if let Some((connection, bytes)) = taken {
                    return Batch { streams: self, connection, bytes };
                }
            }
            changed.await;
        }
    }

    /// Opens further connections in the background, if they are needed: reads wait for those that there are.
    fn grow(
        self: &Arc<Self>,
        pool: &mut ConnectionPool,
        remote: &Arc<Remote>,
        first: &Arc<Connection>,
        now: Instant,
    ) {
        if pool.opening {
            return;
        }
        let (open, round_trip) = (pool.lanes.len(), first.round_trip);
        if open > 1 {
            pool.judge_first(now);
        }
        let known = COUNT.or_else(|| Some(KnownServer::of(&first.server, now)?.connections));
        let window = pool.lanes.first().map_or(f64::INFINITY, |first| first.window.bytes());
        let wanted = known.unwrap_or_else(|| pool.need.wanted(open, window, round_trip, now));
        if let Some(connections) = pool.need.settled(now).filter(|_| known.is_none()) {
            let window = pool.slowest();
            KnownServer { connections, window, since: now }.remember(&first.server);
        }
        let more = wanted.saturating_sub(open).min((4 * ConnectionNeed::MOST).saturating_sub(pool.begun));
        if more == 0 {
            return;
        }
        pool.opening = true;
        let numbers = pool.begun + 1..=pool.begun + more;
        pool.begun += more;
        let generation = pool.generation;
        let (streams, remote, first) = (Arc::clone(self), Arc::clone(remote), Arc::clone(first));
        // It ends by itself, even if nothing waits for it.
        drop(tokio::spawn(async move {
            let deadline = Deadline::after(PATIENCE);
            let found = numbers.map(|number| remote.connect_beside(&first, number, deadline));
            let found = futures::future::join_all(found).await;
            let mut pool = streams.lock();
            pool.opening = false;
            if pool.generation == generation {
                let now = Instant::now();
                pool.judge_first(now);
                // Until it is known, they carry as much as the others.
                let unknown = Window::Unknown(f64::INFINITY);
                let alike = pool.lanes.first().map_or(unknown, |first| first.window);
                let window = pool.slowest().map_or(alike, Window::Small);
                let found = found.into_iter().flatten();
                pool.lanes.extend(found.map(|found| Lane { window, ..Lane::new(&Arc::new(found)) }));
                pool.need.restart(round_trip, now);
            }
            drop(pool);
            streams.changed.notify_waiters();
        }));
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionPool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
