//! What the threads of this process have spent their time on, for recordings of jobs.

use crate::Counter;

/// Times in nanoseconds, summed over all threads, files and writers of the process.
#[derive(Debug)]
pub struct Work {
    /// Decompression of baskets and pages.
    pub decompress: Counter,
    /// Decoding of decompressed bytes.
    pub decode: Counter,
    /// Compression.
    pub compress: Counter,
    /// Waiting until new bytes are written or uploaded.
    pub write: Counter,
}

/// The times of this process so far; a forked child begins with those of its parent.
pub static WORK: Work = Work {
    decompress: Counter::new(),
    decode: Counter::new(),
    compress: Counter::new(),
    write: Counter::new(),
};
