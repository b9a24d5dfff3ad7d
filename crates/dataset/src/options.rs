//! The options of writing datasets, and the report of what was written.

use sapwood_codec::{Algorithm, Compression};
use sapwood_core::Result;
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::entry_ranges::EntryRanges;
use sapwood_root::ReadOptions;
use sapwood_stripe::{Dataset, LayoutOptions, Provenance};
use std::collections::BTreeMap;
use std::ops::Range;

/// Name and version of the writing tool.
const TOOL: &str = concat!("sapwood ", env!("CARGO_PKG_VERSION"));
/// ROOT's default level of ZSTD.
const ZSTD: u8 = 5;

/// How to write a dataset.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Compression of all baskets. Default: ZSTD, level 5.
    pub compression: Option<Compression>,
    /// Sizes of batches and objects.
    pub layout: LayoutOptions,
    /// Stores no statistics of the values in stripes, so that cuts cannot skip any. Default: false.
    pub without_statistics: bool,
    /// Number of computing threads, as in [`ReadOptions`].
    pub threads: Option<usize>,
    /// The user who writes, for the log.
    pub who: Option<String>,
    /// Job and attempt: a job commits at most once.
    pub job: Option<(String, u32)>,
    /// Further provenance to record.
    pub parameters: BTreeMap<String, String>,
    /// URL of the base in which to store new objects. Default: the store of the dataset.
    pub base: Option<String>,
    /// The parts of the inputs to write.
    pub chosen: InputSelection,
}

/// The parts of the input trees to write. Default: everything.
#[derive(Debug, Clone, Default)]
pub struct InputSelection {
    /// Paths of branches; their counters and sub-branches are included.
    pub branches: Option<Vec<String>>,
    /// For each input, ranges of entries, in order.
    pub entries: Option<Vec<Vec<Range<u64>>>>,
}

impl InputSelection {
    /// The selected entries of a tree that begins at entry `first` of an input.
    pub(super) fn entries(&self, input: usize, first: u64, entries: u64) -> Vec<Range<u64>> {
        let ranges = self.entries.as_ref().map(|inputs| inputs.get(input).map_or(&[][..], Vec::as_slice));
        EntryRanges::counted_from(ranges, first, entries).within(0..entries).collect()
    }
}

/// The result of writing to a dataset.
#[derive(Debug, Clone)]
pub struct WriteReport {
    /// The dataset at the new version.
    pub dataset: Dataset,
    /// Number of entries written.
    pub entries: u64,
    /// Number of objects stored.
    pub objects: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The job had committed before; nothing was changed.
    pub already: bool,
    /// Remarks for the user, such as inputs without entries.
    pub notes: Vec<String>,
}

/// How to add products.
#[derive(Debug, Clone, Default)]
pub struct AddOptions {
    /// Names of the products of the added tree. Default: all.
    pub products: Option<Vec<String>>,
    /// Matches entries by position. Default: by run, luminosity block and event number.
    pub by_position: bool,
}

/// The default compression of baskets.
pub(super) fn default_compression() -> Result<Compression> {
    Compression::new(Algorithm::Zstd, ZSTD)
}

impl WriteOptions {
    pub(super) fn compression(&self) -> Result<Compression> {
        self.compression.map_or_else(default_compression, Ok)
    }

    pub(super) fn made(&self, inputs: &[Input]) -> Provenance {
        Provenance {
            who: self.who.clone(),
            tool: TOOL.to_owned(),
            job: self.job.clone(),
            inputs: inputs.iter().map(Input::url).collect(),
            parameters: self.parameters.clone(),
            ..Provenance::default()
        }
    }

    pub(super) fn read(&self) -> ReadOptions {
        ReadOptions { threads: self.threads }
    }
}
