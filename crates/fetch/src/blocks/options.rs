//! Options of lazy download: the size of blocks, and where they are kept.

use std::path::PathBuf;
use std::time::Duration;

/// How to read a file in large blocks that are kept on the local disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockOptions {
    /// Bytes of a block. Default: 16 MiB, a few times what a link carries in a round trip.
    pub block_size: u64,
    /// Most bytes of the temporary file that holds blocks when there is no cache; at least one block is kept.
    /// Default: 4 GiB.
    pub scratch_size: u64,
    /// Where blocks outlive the open file. Default: nowhere.
    pub cache: Option<CacheOptions>,
}

impl BlockOptions {
    /// Bytes of the smallest block that is worth a request: callers refuse others.
    pub const SMALLEST: u64 = 4096;
}

impl Default for BlockOptions {
    fn default() -> Self {
        BlockOptions { block_size: 16 << 20, scratch_size: 4 << 30, cache: None }
    }
}

/// A directory of blocks that processes share and that outlives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// The directory; it is made if it does not exist.
    pub directory: PathBuf,
    /// Most bytes in it. The least recently used blocks are evicted. Default: [`SIZE`](CacheOptions::SIZE).
    pub size: u64,
    /// How long the last known version is assumed to be current, without asking the server. Default: zero.
    pub max_age: Duration,
}

impl CacheOptions {
    /// 20 GB.
    pub const SIZE: u64 = 20_000_000_000;

    /// A cache in a directory, with the defaults.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        CacheOptions { directory: directory.into(), size: Self::SIZE, max_age: Duration::ZERO }
    }
}
