//! Options of reading a file in blocks. [`open`](crate::open) does not look at them: who reads in blocks does.

use std::path::PathBuf;
use std::time::Duration;

/// How a file is read in large blocks that are kept on the local disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockOptions {
    /// Bytes of a block. Default: [`BLOCK`](BlockOptions::BLOCK).
    pub block: u64,
    /// Most bytes of the temporary file that blocks are kept in where there is no cache; at least one block is kept.
    /// Default: [`SCRATCH`](BlockOptions::SCRATCH).
    pub scratch: u64,
    /// Where blocks are kept longer than the file is open. Default: nowhere.
    pub cache: Option<CacheOptions>,
}

impl BlockOptions {
    /// 16 MiB: a few times what a link carries in a round trip.
    pub const BLOCK: u64 = 16 << 20;
    /// 4 GiB.
    pub const SCRATCH: u64 = 4 << 30;
}

impl Default for BlockOptions {
    fn default() -> Self {
        BlockOptions { block: Self::BLOCK, scratch: Self::SCRATCH, cache: None }
    }
}

/// A directory of blocks that processes share and that outlives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// The directory; made if it is not there.
    pub directory: PathBuf,
    /// Most bytes in it. What was used least recently makes room. Default: [`SIZE`](CacheOptions::SIZE).
    pub size: u64,
    /// For how long the version that was seen last is taken for the current one, so that the server is not asked.
    /// Default: no time.
    pub max_age: Duration,
}

impl CacheOptions {
    /// 20 GB.
    pub const SIZE: u64 = 20_000_000_000;

    /// The cache in a directory, with the defaults.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        CacheOptions { directory: directory.into(), size: Self::SIZE, max_age: Duration::ZERO }
    }
}
