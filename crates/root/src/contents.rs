//! The contents of a file: the records of a ROOT file, or a dataset that is read as one.

use crate::root_file::{KeyEntry, KeyRecord, RootFile};
use crate::storage::FileBaskets;
use bytes::Bytes;
use sapwood_core::{Call, Error, Result};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::{BasketStorage, TTree, TreeTable};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The contents of a file. The default is a ROOT file: everything is in its own records.
///
/// Implement this for data in another form that is read as a ROOT file, and provide a header, a list of keys and bytes as
/// in a ROOT file.
pub trait FileContents: Debug + Send + Sync {
    /// The implementation itself, for downcasts.
    fn as_any(&self) -> &dyn Any;

    /// Size in bytes, as far as known.
    fn size(&self, file: &RootFile) -> u64 {
        file.fetcher().source().identity().size
    }

    /// The path of the virtual tree: the one that is not in the file's own records.
    fn virtual_tree(&self) -> Option<&str> {
        None
    }

    /// The number of entries of the virtual tree.
    fn virtual_entries(&self) -> Option<u64> {
        None
    }

    /// Number of parts of consecutive entries that can be read separately; at least 1.
    fn part_count(&self) -> usize {
        1
    }

    /// One of these parts, as a file; `None` if there is only one. The cost of reading it is counted in `file`.
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

    /// The file with the records of the keys.
    ///
    /// # Errors
    /// Those of reading.
    fn records(&self, file: &RootFile, call: &mut Call<'_>) -> Result<RootFile> {
        let _ = call;
        Ok(file.clone())
    }

    /// The class descriptions, as stored: each record with the version of ROOT that wrote it.
    ///
    /// # Errors
    /// Those of reading.
    fn descriptions(&self, file: &RootFile, call: &mut Call<'_>) -> Result<Vec<(Record, u32)>> {
        file.own_descriptions(call)
    }

    /// Keys in addition to the file's own list; some may be in both.
    ///
    /// # Errors
    /// Those of reading.
    fn further_keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        let _ = call;
        Ok(Vec::new())
    }

    /// The file that holds a path, and the cycle to look for in it; `None` if it is this file.
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

    /// The [virtual tree](FileContents::virtual_tree) as its record in a file, without baskets; the starts of its
    /// clusters; and the storage of its baskets.
    ///
    /// # Errors
    /// Those of reading; `Usage` if there is no such tree.
    fn tree_record(&self, file: &RootFile, call: &mut Call<'_>) -> Result<VirtualTree> {
        let _ = (file, call);
        Err(Error::usage("the file has no virtual tree"))
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
    let table = file_table(file, path, tree, streamers);
    table.branch_types(); // Readers may ask for them at any time.
    Ok(table)
}

/// A parsed tree of a file, as a table of columns.
pub fn file_table(file: &RootFile, path: &str, tree: TTree, streamers: &StreamerInfos) -> TreeTable {
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

/// The record of a virtual tree, the starts of its clusters, and the storage of its baskets.
pub type VirtualTree = (TreeRecord, Vec<u64>, Box<dyn BasketStorage>);

/// A tree as stored in a file: its key and its record.
#[derive(Debug)]
pub struct TreeRecord {
    /// Name of the key.
    pub name: String,
    /// Title of the key.
    pub title: String,
    /// Class of the tree.
    pub class_name: String,
    /// Length of the key in bytes: references inside the record count from its start.
    pub key_len: u32,
    /// The record, uncompressed.
    pub payload: Bytes,
}
