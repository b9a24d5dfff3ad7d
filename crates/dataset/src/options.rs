//! Options of what writes datasets, and what was written.

use sapwood_codec::{Algorithm, Compression};
use sapwood_core::Result;
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::entry_ranges::EntryRanges as Entries;
use sapwood_root::ReadOptions;
use sapwood_stripe::{Dataset, LayoutOptions, Provenance};
use std::collections::BTreeMap;
use std::ops::Range;

/// Name and version of what writes.
const TOOL: &str = concat!("sapwood ", env!("CARGO_PKG_VERSION"));
/// ROOT's own level of ZSTD.
const ZSTD: u8 = 5;

/// How a dataset is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Compression of all baskets. Default: ZSTD, level 5.
    pub compression: Option<Compression>,
    /// Entries of batches and bytes of objects.
    pub layout: LayoutOptions,
    /// Nothing is noted of the values in stripes, so that no cut passes over any.
    pub without_statistics: bool,
    /// Number of computing threads, as in [`ReadOptions`].
    pub threads: Option<usize>,
    /// Who writes.
    pub who: Option<String>,
    /// Job and attempt: what a job committed, it does not commit again.
    pub job: Option<(String, u32)>,
    /// What else is to be remembered of how it came to be.
    pub parameters: BTreeMap<String, String>,
    /// The base of the dataset that new objects go to. Default: the place of the dataset itself.
    pub base: Option<String>,
    /// What of the inputs is written.
    pub chosen: InputSelection,
}

/// What of the trees of inputs becomes part of a dataset. Default: all.
#[derive(Debug, Clone, Default)]
pub struct InputSelection {
    /// Paths of the branches, which come with those that count them and those in them.
    pub branches: Option<Vec<String>>,
    /// For each input, the ranges of entries, in order.
    pub entries: Option<Vec<Vec<Range<u64>>>>,
}

impl InputSelection {
    /// The entries of a tree of some entries that begins in an input at `first`.
    pub(super) fn entries(&self, input: usize, first: u64, entries: u64) -> Vec<Range<u64>> {
        let ranges = self.entries.as_ref().map(|inputs| inputs.get(input).map_or(&[][..], Vec::as_slice));
        Entries::counted_from(ranges, first, entries).within(0..entries).collect()
    }
}

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The version that has it.
    pub dataset: Dataset,
    /// Its entries that were written.
    pub entries: u64,
    /// Objects and bytes that were stored.
    pub objects: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// True if the job had done it before.
    pub already: bool,
    /// What is not as one might expect.
    pub notes: Vec<String>,
}

/// What is done with a product that is added.
#[derive(Debug, Clone, Default)]
pub struct AddOptions {
    /// Names of the products, as the tree that is added has them. Default: all.
    pub products: Option<Vec<String>>,
    /// Entries belong together by their position. Default: by run, luminosity block and event number.
    pub by_position: bool,
}

/// How baskets are compressed, if nothing else is said.
pub fn stored() -> Result<Compression> {
    Compression::new(Algorithm::Zstd, ZSTD)
}

impl WriteOptions {
    pub(super) fn compression(&self) -> Result<Compression> {
        self.compression.map_or_else(stored, Ok)
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
