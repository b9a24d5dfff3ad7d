//! Baskets that reach from one range of a scan into the next: decompressed once for both.

use crate::elsewhere::{FileIndex, Located};
use bytes::Bytes;
use sapwood_core::Counters;
use sapwood_ttree::{BasketHeader, inflated};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most bytes of them that are held, content and all: what is more is decompressed again. Clusters of today fit.
const MOST: usize = 64 << 20;

/// The baskets of a scan that its next range needs again.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    baskets: Mutex<HashMap<(FileIndex, u64), Basket>>,
    /// Of those, and of those that are just being decompressed.
    bytes: AtomicUsize,
}

#[derive(Debug)]
struct Basket {
    /// One past its last entry.
    end: u64,
    record: Bytes,
}

impl Kept {
    /// The record of a basket, not compressed, if it is held.
    pub(crate) fn get(&self, located: Located<'_>) -> Option<Bytes> {
        self.lock().get(&located.place()).map(|basket| basket.record.clone())
    }

    /// Holds the basket whose `record` this is, as long as there is room for it; what is damaged, its reader will tell.
    pub(crate) fn keep(&self, located: Located<'_>, record: &Bytes, counters: &Counters) {
        let Ok(header) = BasketHeader::parse(record) else { return };
        let len = header.key_len.saturating_add(header.object_len);
        if len <= record.len() {
            return; // not compressed: nothing is gained
        }
        if self.bytes.fetch_add(len, Ordering::Relaxed).saturating_add(len) <= MOST {
            let start = Instant::now();
            let plain = inflated(record);
            counters.decompress_ns.add_time(start.elapsed());
            if let Ok(record) = plain {
                let basket = Basket { end: located.basket.end(), record };
                let known = self.lock().insert(located.place(), basket);
                if known.is_none() {
                    return;
                }
            }
        }
        self.bytes.fetch_sub(len, Ordering::Relaxed);
    }

    /// Forgets what no range from `entry` on needs.
    pub(crate) fn forget_before(&self, entry: u64) {
        self.lock().retain(|_, basket| {
            let needed = basket.end > entry;
            if !needed {
                self.bytes.fetch_sub(basket.record.len(), Ordering::Relaxed);
            }
            needed
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(FileIndex, u64), Basket>> {
        self.baskets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
