//! Options of a lazy reader.

use std::ops::Range;
use std::time::Instant;

/// How a lazy reader learns, and how much it may keep.
///
/// With `startup`, `learn` and `trigger` off and nothing trained, the reader fetches exactly what is touched. With a
/// trained set and `learn` off, it fetches that set for each window, like declared columns.
#[derive(Debug, Clone)]
pub struct LazyOptions {
    /// The entries; by default all of the table.
    pub entries: Option<Range<u64>>,
    /// Queries, by index, and the share of windows in which they were touched, as [learned](super::Lazy::learned) by an
    /// earlier reader. `None` if nothing is known.
    pub trained: Option<Vec<(usize, f64)>>,
    /// While nothing is known, fetch all columns of the first window together. Default: true.
    pub startup: bool,
    /// Fetch the columns that are touched in most windows ahead of need. Default: true.
    pub learn: bool,
    /// When a touched column is missing, fetch with it all columns that were missing in the same way before. Default:
    /// true.
    pub trigger: bool,
    /// Most compressed bytes of untouched columns that one fetch takes speculatively. On a slow link, the limit is what
    /// arrives in 16 round trips, and at least 1 MiB. Default: 16 MiB.
    pub startup_bytes: u64,
    /// Most entries of the first window while nothing is known. Default: 1,000.
    pub startup_entries: u64,
    /// Most bytes for windows. A half is for decoded windows, which are kept up to a quarter once they are no longer needed;
    /// an eighth is for decompressed chunks that reach into the next window. The rest is for what the caller still holds, for
    /// what is being decoded, and for freed memory that the allocator keeps for a while. Default: 512 MiB.
    pub memory_bytes: u64,
    /// Number of computing threads, as for [`read`](crate::read()).
    pub threads: Option<usize>,
    /// The origin of the times of [fetches](super::Lazy::fetches). Default: now.
    pub begin: Option<Instant>,
}

impl Default for LazyOptions {
    fn default() -> Self {
        LazyOptions {
            entries: None,
            trained: None,
            startup: true,
            learn: true,
            trigger: true,
            startup_bytes: 16 << 20,
            startup_entries: 1000,
            memory_bytes: 512 << 20,
            threads: None,
            begin: None,
        }
    }
}
