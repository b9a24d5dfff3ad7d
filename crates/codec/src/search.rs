//! How far compressors search for repetitions.

use crate::{Algorithm, Compression};

/// How far a compressor searches, from the fastest search to the one with the smallest blocks.
///
/// On some columns, the far search finds nothing more than a fast one: on numbers that hardly repeat, or
/// hardly change. [`Encoder::learn`](crate::Encoder::learn) finds the search that is sufficient for the
/// baskets of a branch. Zstandard has this choice at ROOT's levels 4 and 5, and deflate up to 6. Other
/// compressions have a single search, and ignore this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// Zstandard: only the last candidate, for repetitions of at least 5 bytes. Deflate: the library's level 1.
    First,
    /// Zstandard: two candidates, one for long repetitions: the library's level 3. Deflate: its level 2.
    Double,
    /// A few candidates, using the longest repetition. Zstandard: the library's level 5. Deflate: its level 4.
    Few,
    /// Zstandard: more candidates, also compared with those one byte later. Deflate: the level of the compression.
    #[default]
    Far,
    /// Zstandard: as far as the library does at twice ROOT's level: for metadata, which repeat more than numbers, and
    /// are read whenever a file is opened.
    Farthest,
}

impl Search {
    /// The search for pages of RNTuples, where it does not depend on the page. The fastest one makes them 3 % smaller
    /// than ROOT's zlib does at level 1.
    pub fn of_pages(compression: Compression) -> Option<Search> {
        match (compression.algorithm(), compression.level()) {
            (Algorithm::Zlib | Algorithm::OldZlib, 1) => Some(Search::First),
            _ if Search::has_choice(compression) => None,
            _ => Some(Search::default()),
        }
    }

    /// Whether a compression has more than one search.
    pub(crate) fn has_choice(compression: Compression) -> bool {
        match compression.algorithm() {
            Algorithm::Zstd => matches!(compression.level(), 4 | 5),
            Algorithm::Zlib | Algorithm::OldZlib => compression.level() <= 6,
            Algorithm::Lz4 | Algorithm::Lzma => false,
        }
    }
}
