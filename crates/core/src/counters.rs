//! What a read cost: counters that every layer adds to and every report shows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Counters of one file, shared by all layers that work for it.
        #[derive(Debug, Default)]
        pub struct Counters { $($(#[doc = $doc])+ pub $name: Counter,)+ }

        /// The values of [`Counters`] at one moment.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Snapshot { $($(#[doc = $doc])+ pub $name: u64,)+ }

        impl Counters {
            /// The values now.
            pub fn snapshot(&self) -> Snapshot {
                Snapshot { $($name: self.$name.get(),)+ }
            }
        }

        impl Snapshot {
            /// Names and values, in a fixed order.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

counters! {
    /// Messages sent to the server (or reads of the local file).
    requests,
    /// Byte ranges in those messages.
    ranges,
    /// Times that something failed and was asked for again.
    retries,
    /// Waits of one round trip in sequence: requests that overlap in time count once.
    turnarounds,
    /// Bytes that the layers above asked for.
    wanted_bytes,
    /// Bytes that came from the source.
    fetched_bytes,
    /// Bytes fetched and not asked for: the price of merging neighbours.
    overread_bytes,
    /// Reads that went around the planner; always 0.
    unplanned_reads,
    /// Bytes of baskets that were passed over, because no wanted entry lies in them.
    skipped_bytes,
    /// Baskets decoded.
    baskets,
    /// Bytes of the columns that baskets became; offsets that columns share count for each of them.
    decompressed_bytes,
    /// Nanoseconds that somebody waited for bytes.
    wait_ns,
    /// Nanoseconds that threads decompressed baskets, all threads together.
    decompress_ns,
    /// Nanoseconds that threads decoded what was decompressed, all threads together.
    decode_ns,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Adds a time, in nanoseconds.
    pub fn add_time(&self, time: Duration) {
        self.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
