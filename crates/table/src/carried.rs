//! Chunks that several ranges of entries, or several columns, need: decompressed once for all of them.

use crate::table::{Chunk, ChunkContent, ChunkId, Table};
use bytes::Bytes;
use sapwood_core::Counters;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most uncompressed bytes to hold; further chunks are decompressed again. All pages of a typical cluster of an RNTuple fit.
const MOST: usize = 512 << 20;

/// The chunks of a range that the next one needs as well, or the index chunks that columns share.
#[derive(Debug)]
pub(crate) struct CarriedChunks {
    chunks: Mutex<HashMap<ChunkId, CarriedChunk>>,
    /// Bytes of these, and of those that are being decompressed.
    bytes: AtomicUsize,
    most: usize,
}

impl Default for CarriedChunks {
    fn default() -> Self {
        CarriedChunks::within(u64::MAX)
    }
}

#[derive(Debug)]
struct CarriedChunk {
    /// One past the last entry that needs it.
    end: u64,
    uncompressed: Bytes,
}

impl CarriedChunks {
    /// Holds at most this many bytes, and never more than usual.
    pub(crate) fn within(bytes: u64) -> CarriedChunks {
        let most = usize::try_from(bytes).unwrap_or(usize::MAX).min(MOST);
        CarriedChunks { chunks: Mutex::default(), bytes: AtomicUsize::new(0), most }
    }

    /// The uncompressed chunk, if it is held.
    pub(crate) fn get(&self, id: ChunkId) -> Option<ChunkContent> {
        self.lock().get(&id).map(|chunk| ChunkContent::Uncompressed(chunk.uncompressed.clone()))
    }

    /// Those of the chunks that are held; whoever asks keeps them, even if another range drops them now.
    pub(crate) fn among<'c>(
        &self,
        chunks: impl IntoIterator<Item = &'c Chunk>,
    ) -> HashMap<ChunkId, ChunkContent> {
        let held = self.lock();
        if held.is_empty() {
            return HashMap::new();
        }
        let content = |chunk: &Chunk| {
            let uncompressed = held.get(&chunk.id())?.uncompressed.clone();
            Some((chunk.id(), ChunkContent::Uncompressed(uncompressed)))
        };
        chunks.into_iter().filter_map(content).collect()
    }

    /// Decompresses a chunk and holds it, unless it is held or there is no room. Errors are left to the reader of the
    /// chunk.
    pub(crate) fn add(&self, table: &dyn Table, chunk: &Chunk, stored: &Bytes, counters: &Counters) {
        if self.lock().contains_key(&chunk.id()) {
            return;
        }
        let Some(len) = table.uncompressed_len(chunk, stored) else { return };
        if self.bytes.fetch_add(len, Ordering::Relaxed).saturating_add(len) <= self.most {
            let start = Instant::now();
            let uncompressed = table.uncompress(chunk, stored);
            counters.decompress_ns.add_time(start.elapsed());
            if let Ok(uncompressed) = uncompressed {
                let carried = CarriedChunk { end: chunk.entries.end, uncompressed };
                if self.lock().insert(chunk.id(), carried).is_none() {
                    return;
                }
            }
        }
        self.bytes.fetch_sub(len, Ordering::Relaxed);
    }

    /// Drops the chunks that no range from `entry` on needs.
    pub(crate) fn forget_before(&self, entry: u64) {
        self.lock().retain(|_, chunk| {
            let needed = chunk.end > entry;
            if !needed {
                self.bytes.fetch_sub(chunk.uncompressed.len(), Ordering::Relaxed);
            }
            needed
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChunkId, CarriedChunk>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
