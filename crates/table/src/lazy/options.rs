//! How a lazy reader learns, and how much it may keep.

use std::ops::Range;
use std::time::Instant;

/// How to read lazily.
///
/// With `startup`, `learn` and `trigger` off and nothing trained, exactly what is touched is fetched. With a
/// trained set and `learn` off, that set is fetched for each window: declared columns.
#[derive(Debug, Clone)]
pub struct LazyOptions {
    /// The entries; by default all of the table.
    pub entries: Option<Range<u64>>,
    /// Queries, by index, and the share of windows in which they were touched, as an earlier reader
    /// [learned](super::Lazy::learned) it. `None`: nothing is known.
    pub trained: Option<Vec<(usize, f64)>>,
    /// While nothing is known, fetch all columns of the first window together. Default: true.
    pub startup: bool,
    /// Fetch the columns that are touched in most windows ahead of need. Default: true.
    pub learn: bool,
    /// When a column is touched that was not fetched, fetch with it all that were touched like that before.
    /// Default: true.
    pub trigger: bool,
    /// Most compressed bytes that one fetch takes on suspicion: of columns that were never touched. On a slow link,
    /// it takes what comes in 16 round trips, and at least 1 MiB. Default: 16 MiB.
    pub startup_bytes: u64,
    /// Most entries of the first window while nothing is known. Default: 1,000.
    pub startup_entries: u64,
    /// Bytes of windows that are kept when nobody needs them any more. Default: 256 MiB.
    pub memory_bytes: u64,
    /// Number of computing threads, as for [`read`](crate::read()).
    pub threads: Option<usize>,
    /// The moment from which the times of [fetches](super::Lazy::fetches) count. Default: now.
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
            memory_bytes: 256 << 20,
            threads: None,
            begin: None,
        }
    }
}
