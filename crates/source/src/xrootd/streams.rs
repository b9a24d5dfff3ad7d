//! Further connections to the server of a file: over a long distance, one connection carries no more than its window
//! in each round trip, and slows down with each lost packet.

use super::remote::{Connection, Remote};
use sapwood_core::Deadline;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most connections, including the first one.
const MOST: usize = 4;

/// More bytes in flight than one connection may carry: the usual largest window has 6 MB.
const MUCH: u64 = 16 << 20;

/// Round trip from which on the window limits a connection.
const FAR: Duration = Duration::from_millis(5);

/// How long a further connection may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The further connections of one file. Reads that fail there are repeated over the first connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Bytes that were requested and have not arrived.
    asked: AtomicU64,
    state: Mutex<ConnectionPool>,
}

#[derive(Debug, Default)]
struct ConnectionPool {
    open: Vec<Arc<Connection>>,
    /// How many were begun, including failures.
    begun: usize,
    making: bool,
    /// How many reads were given a connection.
    reads: usize,
}

/// Requested bytes, until they have arrived.
pub(super) struct AskedBytes<'a> {
    streams: &'a Streams,
    bytes: u64,
}

impl Drop for AskedBytes<'_> {
    fn drop(&mut self) {
        self.streams.asked.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Streams {
    /// A read requests so many bytes.
    pub(super) fn asked(&self, bytes: u64) -> AskedBytes<'_> {
        self.asked.fetch_add(bytes, Ordering::Relaxed);
        AskedBytes { streams: self, bytes }
    }

    /// The connection for the next read, in turns; `None` for the first one.
    pub(super) fn pick(&self) -> Option<Arc<Connection>> {
        let mut state = self.lock();
        state.open.retain(|connected| !connected.lost.load(Ordering::Relaxed));
        state.reads = state.reads.wrapping_add(1);
        let turn = state.reads % (state.open.len() + 1);
        turn.checked_sub(1).and_then(|turn| state.open.get(turn)).cloned()
    }

    /// Begins another connection like `first`, in the background, if enough is in flight to make it worthwhile.
    pub(super) fn grow(self: &Arc<Self>, remote: &Arc<Remote>, first: &Arc<Connection>) {
        if self.asked.load(Ordering::Relaxed) < MUCH || first.round_trip < FAR {
            return;
        }
        let number = {
            let mut state = self.lock();
            if state.making || state.begun + 1 >= MOST {
                return;
            }
            state.making = true;
            state.begun += 1;
            state.begun
        };
        let (streams, remote, first) = (Arc::clone(self), Arc::clone(remote), Arc::clone(first));
        // It ends by itself, even if nothing waits for it.
        drop(tokio::spawn(async move {
            let found = remote.connect_beside(&first, number, Deadline::after(PATIENCE)).await;
            let mut state = streams.lock();
            state.making = false;
            state.open.extend(found.map(Arc::new));
        }));
    }

    /// Drops the connections, because the file was reopened, perhaps elsewhere.
    pub(super) fn clear(&self) {
        self.lock().open.clear();
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionPool> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
