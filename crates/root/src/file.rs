//! An open file: its keys, and the cost of reading it so far.

use crate::OpenOptions;
use crate::contents::{FileContents, RootContents};
use crate::root_file::{KeyEntry, RootFile};
use sapwood_core::{Call, Counters, Result};
use sapwood_fetch::Fetcher;
use sapwood_source::{MemorySource, Source, Trace};
use sapwood_tfile::{FileHeader, Record, StreamerInfos};
use std::collections::HashSet;
use std::sync::Arc;

/// An open file: a ROOT file, or a dataset that is read as one. Cheap to clone; all clones share one connection and its
/// counters.
#[derive(Debug, Clone)]
pub struct File {
    root: RootFile,
    contents: Arc<dyn FileContents>,
}

impl From<RootFile> for File {
    fn from(root: RootFile) -> File {
        File { root, contents: Arc::new(RootContents) }
    }
}

impl File {
    /// Opens the ROOT file at a path or URL: see [`RootFile::open`].
    ///
    /// # Errors
    /// Those of [`RootFile::open`].
    pub fn open_root(url: &str, options: OpenOptions, call: &mut Call<'_>) -> Result<File> {
        RootFile::open(url, options, call).map(File::from)
    }

    /// Opens a ROOT file from any source.
    ///
    /// # Errors
    /// Those of the source; `NotRoot`, `Truncated` or `Corrupt` if it is not a valid ROOT file.
    pub fn from_source(source: Arc<dyn Source>, call: &mut Call<'_>) -> Result<File> {
        RootFile::from_source(source, call).map(File::from)
    }

    /// Opens a ROOT file in memory. Reading it costs nothing; decoding is added to `counters`.
    ///
    /// # Errors
    /// `NotRoot`, `Truncated` or `Corrupt` if it is not a valid ROOT file.
    pub fn in_memory(source: MemorySource, counters: &Arc<Counters>, call: &mut Call<'_>) -> Result<File> {
        RootFile::in_memory(source, counters, call).map(File::from)
    }

    /// A file that looks like `root`, with other contents.
    pub fn with_contents(root: RootFile, contents: Arc<dyn FileContents>) -> File {
        File { root, contents }
    }

    /// Its bytes, as a ROOT file.
    pub fn root(&self) -> &RootFile {
        &self.root
    }

    /// Its contents.
    pub fn contents(&self) -> &dyn FileContents {
        &*self.contents
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        self.root.url()
    }

    /// Size in bytes; for a dataset, the size of the baskets located so far.
    pub fn size(&self) -> u64 {
        self.contents.size(&self.root)
    }

    /// The path of the tree, if this is a dataset.
    pub fn dataset_tree(&self) -> Option<&str> {
        self.contents.virtual_tree()
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        self.root.header()
    }

    /// The cost of reading the file so far.
    pub fn counters(&self) -> &Arc<Counters> {
        self.root.counters()
    }

    /// Every range requested since opening began; remains valid after the file is closed.
    pub fn trace(&self) -> Trace {
        self.root.trace()
    }

    /// Its fetcher.
    pub fn fetcher(&self) -> &Fetcher {
        self.root.fetcher()
    }

    /// All keys of the file, each directory before its contents.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if a directory is broken.
    pub fn keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        let mut keys = self.root.keys(call)?;
        let further = self.contents.further_keys(call)?;
        let known: HashSet<String> = keys.iter().map(|entry| entry.path.clone()).collect();
        keys.extend(further.into_iter().filter(|entry| !known.contains(&entry.path)));
        Ok(keys)
    }

    /// The keys of the root directory.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if the directory is broken.
    pub fn root_keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        if self.dataset_tree().is_none() {
            return self.root.root_keys(call);
        }
        let keys = self.keys(call)?.into_iter();
        Ok(keys.filter(|entry| entry.path == entry.key.name).collect())
    }

    /// The class descriptions of the file; read once.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if they are broken.
    pub fn streamers(&self, call: &mut Call<'_>) -> Result<Arc<StreamerInfos>> {
        self.root.streamers(call)
    }

    /// The class descriptions, as stored: each record with the version of ROOT that wrote it.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if they are broken.
    pub fn descriptions(&self, call: &mut Call<'_>) -> Result<Vec<(Record, u32)>> {
        self.contents.descriptions(&self.root, call)
    }

    /// The file with the records of the keys, except that of a dataset's tree.
    ///
    /// # Errors
    /// Those of reading.
    pub fn records(&self, call: &mut Call<'_>) -> Result<RootFile> {
        self.contents.records(&self.root, call)
    }

    /// Number of parts of consecutive entries that can be read separately; at least 1.
    pub fn part_count(&self) -> usize {
        self.contents.part_count()
    }

    /// One of these parts. The cost of reading it is counted here.
    ///
    /// # Errors
    /// Those of reading.
    pub fn part(&self, index: usize, call: &mut Call<'_>) -> Result<File> {
        let part = self.contents.part(&self.root, index, call)?;
        Ok(part.map_or_else(|| self.clone(), |(root, contents)| File { root, contents }))
    }

    /// The file that holds a path, and the cycle to look for in it.
    ///
    /// # Errors
    /// Those of reading.
    pub fn holder(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<(File, Option<u16>)> {
        let holder = self.contents.holder(path, cycle, call)?;
        Ok(holder.map_or_else(|| (self.clone(), cycle), |(file, cycle)| (File::from(file), cycle)))
    }
}
