//! The options of a repack, and its report.

use sapwood_codec::Compression;
use sapwood_core::{Call, Deadline, Result};
use sapwood_root::{File, OpenOptions};
use sapwood_table::write::ClusterSize;
use std::ops::Range;
use std::time::Duration;

/// A file to read.
#[derive(Debug, Clone)]
pub enum Input {
    /// An open file.
    Open(File),
    /// A file that is opened when it is needed, and closed afterwards.
    At(InputFile),
}

/// A file that is opened when it is needed.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Its path or URL.
    pub url: String,
    /// How to open it.
    pub options: Box<OpenOptions>,
    /// The function that opens it.
    pub open: OpenFile,
}

/// Opens a path or URL.
pub type OpenFile = fn(&str, OpenOptions, &mut Call<'_>) -> Result<File>;

impl InputFile {
    /// Opens the file, within the deadline of its options (default: an hour).
    ///
    /// # Errors
    /// Those of [`open`](InputFile::open).
    pub fn open(&self, call: &mut Call<'_>) -> Result<File> {
        let mut call = call.until(self.options.source.deadline.within(Deadline::DEFAULT));
        let options = self.options.until(call.deadline());
        (self.open)(&self.url, options, &mut call)
    }
}

impl Input {
    /// Its URL.
    pub fn url(&self) -> String {
        match self {
            Input::Open(file) => file.url().to_owned(),
            Input::At(input) => sapwood_core::redact(&input.url),
        }
    }
}

/// How the new file differs from its inputs. By default it does not: baskets and pages are copied as they are.
#[derive(Debug, Clone, Default)]
pub struct RepackOptions {
    /// The format of the tables in the new file. Default: unchanged.
    pub format: OutputFormat,
    /// Compression of all baskets or pages, and of the metadata. Default: unchanged.
    pub compression: Option<Compression>,
    /// `fBasketSize` of all branches: the uncompressed size of a basket. Default: baskets are not re-split, or get the
    /// size that their branch states if `cluster` is set. For RNTuples, the size of a page; default: pages are copied,
    /// and new ones have 1 MiB.
    pub basket_size: Option<u32>,
    /// Size of clusters; a size in bytes refers to the compressed size in the inputs. Default: unchanged. For new
    /// clusters of RNTuples, a size in bytes refers to the new file; default: 128 MiB.
    pub cluster: Option<ClusterSize>,
    /// ROOT's split level of the objects in trees: 0 for one branch for each object, 99 for one for each member. Baskets are
    /// then re-split. Objects that cannot be converted keep their branches, which the notes of the report say. Default:
    /// unchanged.
    pub split: Option<i32>,
    /// Paths of the trees to write. Default: all.
    pub trees: Option<Vec<String>>,
    /// Drops everything that is not a tree.
    pub only_trees: bool,
    /// Branches and entries to write, for single trees.
    pub selections: Vec<TreeSelection>,
    /// What to do if the branches of merged trees differ.
    pub drift: SchemaDrift,
    /// Number of computing threads, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Paths of trees that are sets: if several inputs have the same entries in such a tree, they are written once.
    pub sets: Vec<String>,
    /// How often the sink writes its journal, if it has one, so that a later run can resume. Default: every 10 seconds.
    pub keep_every: Option<Duration>,
}

/// The format of the tables in a new file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// That of the inputs.
    #[default]
    Unchanged,
    /// RNTuples, whose fields get the values of the branches of trees.
    RNTuple,
    /// Trees, whose branches get the values of the fields of RNTuples.
    Tree,
}

/// The branches and entries of a tree to write.
#[derive(Debug, Clone, Default)]
pub struct TreeSelection {
    /// Path of the tree.
    pub tree: String,
    /// Paths of the branches; their sub-branches and count branches are included. For an RNTuple, names of fields; nothing
    /// is added to them, and projections without their collection get values of their own. Default: all.
    pub branches: Option<Vec<String>>,
    /// For each input, the ranges of entries, in order. Default: all.
    pub entries: Option<Vec<Vec<Range<u64>>>>,
}

/// What to do if the branches of merged trees differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaDrift {
    /// Fail, with the differences.
    #[default]
    Strict,
    /// Write the branches that all inputs have with the same type.
    Intersection,
}

/// The result of a repack.
#[derive(Debug, Clone, Default)]
pub struct RepackReport {
    /// Size of the new file in bytes.
    pub bytes: u64,
    /// Path and number of entries of each tree.
    pub trees: Vec<(String, u64)>,
    /// Number of baskets and pages copied unchanged.
    pub copied_baskets: u64,
    /// Number of baskets and pages recompressed, with the same entries.
    pub recompressed_baskets: u64,
    /// Number of baskets made by re-splitting, and of pages made from values.
    pub cut_baskets: u64,
    /// Number of objects copied that are not trees.
    pub objects: u64,
    /// Number of histograms that are sums over several inputs.
    pub sums: u64,
    /// CPU time spent decompressing, in nanoseconds, summed over all threads.
    pub decompress_ns: u64,
    /// CPU time spent compressing, in nanoseconds, summed over all threads.
    pub compress_ns: u64,
    /// Messages about what may be unexpected: objects kept from the first input only, branches that were dropped.
    pub notes: Vec<String>,
}
