//! What is asked for, and what was done.

use sapwood_codec::Compression;
use sapwood_core::{Call, Deadline, Result};
use sapwood_root::{File, OpenOptions};
use sapwood_ttree::write::ClusterSize;
use std::ops::Range;
use std::time::Duration;

/// A file that is read.
#[derive(Debug, Clone)]
pub enum Input {
    /// One that is open.
    Open(File),
    /// One that is opened when its turn comes, and closed after it.
    At(InputFile),
}

/// A file that is opened when its turn comes.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Its path or URL.
    pub url: String,
    /// How to open it.
    pub options: Box<OpenOptions>,
    /// What opens it.
    pub open: OpenFile,
}

/// Opens a path or URL.
pub type OpenFile = fn(&str, OpenOptions, &mut Call<'_>) -> Result<File>;

impl InputFile {
    /// Opens it, each step in an hour at most.
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

/// What is to be different in the copy. By default, nothing is: baskets are copied as they are.
#[derive(Debug, Clone, Default)]
pub struct RepackOptions {
    /// Compression of all baskets, and of what the file says of itself. Default: each as it is.
    pub compression: Option<Compression>,
    /// `fBasketSize` of all branches: bytes of a basket before compression. Default: baskets stay as they are or,
    /// where clusters change, as large as the branch says.
    pub basket_size: Option<u32>,
    /// The size of clusters; of bytes, those of the sources count. Default: clusters end where they did.
    pub cluster: Option<ClusterSize>,
    /// Paths of the trees that are written. Default: all.
    pub trees: Option<Vec<String>>,
    /// Leaves out everything that is no tree.
    pub only_trees: bool,
    /// What of single trees is written.
    pub choices: Vec<Choice>,
    /// What to do where the branches of trees that are merged differ.
    pub drift: Drift,
    /// Number of computing threads, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Paths of trees that are sets: of inputs that have the same entries in one, those of the first are written.
    pub sets: Vec<String>,
    /// How often the place of the new file is to keep what was done, where it can, so that a later run goes on from
    /// there. Default: every 10 seconds.
    pub keep_every: Option<Duration>,
}

/// What of a tree is written.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Path of the tree.
    pub tree: String,
    /// Paths of the branches, which come with those that count them and those in them. Default: all.
    pub branches: Option<Vec<String>>,
    /// For each input, the ranges of entries, in order. Default: all.
    pub entries: Option<Vec<Vec<Range<u64>>>>,
}

/// What to do where the branches of trees that are merged differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drift {
    /// Fail, and say where they differ.
    #[default]
    Strict,
    /// Write those that all have, of the same type.
    Intersection,
}

/// What was written.
#[derive(Debug, Clone, Default)]
pub struct RepackReport {
    /// Bytes of the new file.
    pub bytes: u64,
    /// Path and entries of each tree.
    pub trees: Vec<(String, u64)>,
    /// Baskets that were copied as they were.
    pub copied_baskets: u64,
    /// Baskets that were compressed anew, with the same entries.
    pub recompressed_baskets: u64,
    /// Baskets that were cut anew.
    pub cut_baskets: u64,
    /// Objects that are no trees, copied.
    pub objects: u64,
    /// Histograms that are sums.
    pub sums: u64,
    /// Nanoseconds of the processor in decompressing, of all threads.
    pub decompress_ns: u64,
    /// Nanoseconds of the processor in compressing, of all threads.
    pub compress_ns: u64,
    /// What is not as one might expect: objects of which the first was kept, branches that were left out.
    pub notes: Vec<String>,
}
