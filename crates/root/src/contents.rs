//! What stands behind a file: the records of a ROOT file, or a dataset that is read as one.

use crate::root_file::{KeyEntry, KeyRecord, RootFile};
use crate::storage::FileBaskets;
use bytes::Bytes;
use sapwood_core::{Call, Error, Result};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::{BasketRef, TTree, TreeTable};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What stands behind a file. By default, it is a ROOT file: all that it holds is in its own records.
///
/// What is stored otherwise but read as a ROOT file implements this, and gives the file a header, a list of keys and
/// bytes as they would be in one.
pub trait FileContents: Debug + Send + Sync {
    /// The implementation itself, for those who know it.
    fn as_any(&self) -> &dyn Any;

    /// Size in bytes, as far as it is known.
    fn size(&self, file: &RootFile) -> u64 {
        file.fetcher().source().identity().size
    }

    /// The path of the tree that is not stored in the file's own records.
    fn virtual_tree(&self) -> Option<&str> {
        None
    }

    /// The number of entries of that tree.
    fn virtual_entries(&self) -> Option<u64> {
        None
    }

    /// How many parts of consecutive entries it can be read as; at least 1.
    fn part_count(&self) -> usize {
        1
    }

    /// One of these parts, as a file; `None` if there is only one. What reading it costs is counted in `file`.
    ///
    /// # Errors
    /// Those of reading.
    fn part(
        &self,
        file: &RootFile,
        index: usize,
        call: &mut Call<'_>,
    ) -> Result<Option<(RootFile, Arc<dyn FileContents>)>> {
        let _ = (file, index, call);
        Ok(None)
    }

    /// The file with the records that the keys name.
    ///
    /// # Errors
    /// Those of reading.
    fn records(&self, file: &RootFile, call: &mut Call<'_>) -> Result<RootFile> {
        let _ = call;
        Ok(file.clone())
    }

    /// The descriptions of its classes as they are stored: each record with the version of ROOT that wrote it.
    ///
    /// # Errors
    /// Those of reading.
    fn descriptions(&self, file: &RootFile, call: &mut Call<'_>) -> Result<Vec<(Record, u32)>> {
        file.own_descriptions(call)
    }

    /// Keys beyond those in the file's own list; some may be there, too.
    ///
    /// # Errors
    /// Those of reading.
    fn further_keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        let _ = call;
        Ok(Vec::new())
    }

    /// The file that holds what is at a path, and the cycle to look for in it, if it is not this file.
    ///
    /// # Errors
    /// Those of reading.
    fn holder(
        &self,
        path: &str,
        cycle: Option<u16>,
        call: &mut Call<'_>,
    ) -> Result<Option<(RootFile, Option<u16>)>> {
        let _ = (path, cycle, call);
        Ok(None)
    }

    /// The tree of a key, as a table of columns.
    ///
    /// # Errors
    /// `Truncated`, `Corrupt` or `Unsupported` if its record is broken.
    fn table(&self, file: &RootFile, found: &KeyRecord) -> Result<TreeTable> {
        let KeyRecord { path, key, record, streamers } = found;
        tree_table(file, path, key, record, streamers)
            .map_err(|error| record.locate(&key.name, &error).url(file.url()))
    }

    /// The [virtual tree](FileContents::virtual_tree) as the record that a file would have of it, but for its baskets,
    /// and where its clusters begin.
    ///
    /// # Errors
    /// Those of reading; `Usage` if there is no such tree.
    fn tree_record(&self, call: &mut Call<'_>) -> Result<(TreeRecord, Vec<u64>)> {
        let _ = call;
        Err(Error::usage("the file has its trees in records of its own"))
    }

    /// The baskets of some of the `count` branches of that record, by their places in it.
    ///
    /// # Errors
    /// Those of reading; `Usage` if there is no such tree; `Corrupt` if it has another number of branches.
    fn baskets(&self, branches: &[usize], count: usize, call: &mut Call<'_>) -> Result<Vec<Vec<BasketRef>>> {
        let _ = (branches, count, call);
        Err(Error::usage("the file has its trees in records of its own"))
    }
}

/// The tree in a record, as a table of columns.
///
/// # Errors
/// `Truncated`, `Corrupt` or `Unsupported`, with the offset inside the record.
pub(crate) fn tree_table(
    file: &RootFile,
    path: &str,
    key: &Key,
    record: &Record,
    streamers: &StreamerInfos,
) -> Result<TreeTable> {
    let tree = TTree::parse(&key.class_name, &record.payload, record.key_len, file.size(), streamers)?;
    Ok(file_table(file, path, tree, streamers))
}

/// A tree that was parsed from a record of a file, as a table of columns.
pub(crate) fn file_table(file: &RootFile, path: &str, tree: TTree, streamers: &StreamerInfos) -> TreeTable {
    let storage = Box::new(FileBaskets::new(file.clone()));
    TreeTable::new(path, tree, storage, vec![Compiler::new(streamers.clone())], Vec::new())
}

/// An ordinary ROOT file.
#[derive(Debug)]
pub(crate) struct RootContents;

impl FileContents for RootContents {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tree as it stands in a file: its key and its record.
#[derive(Debug)]
pub struct TreeRecord {
    /// Name of the key.
    pub name: String,
    /// Title of the key.
    pub title: String,
    /// Class of the tree.
    pub class_name: String,
    /// Bytes of the key before the record: references inside the record count from the key.
    pub key_len: u32,
    /// The record, uncompressed.
    pub payload: Bytes,
}
