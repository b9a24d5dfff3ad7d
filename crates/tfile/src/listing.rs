//! A listing of all directories that continues when one of them is damaged.

use crate::find::{KeyEntry, MAX_DEPTH, MAX_PATH, too_deep};
use crate::reader::Reader;
use crate::{Directory, Key, TFile};
use sapwood_core::{ByteRange, Error, ParseStep, Result, Segments};
use std::collections::HashSet;

/// The contents of all directories of a file, as far as they can be read.
#[derive(Debug, Default)]
pub struct PartialListing {
    /// Every key, each directory before its contents.
    pub entries: Vec<KeyEntry>,
    /// Path and key list of every directory that could be read; the root directory has an empty path.
    pub key_lists: Vec<(String, ByteRange)>,
    /// Path and reason for every directory that could not be read.
    pub broken: Vec<(String, Error)>,
}

impl TFile {
    /// Lists all keys, as [`list`](TFile::list) does, but continues after a damaged directory.
    ///
    /// # Errors
    /// None at present; the signature matches that of the other parsers.
    pub fn list_partial(&self, known: &Segments) -> Result<ParseStep<PartialListing>> {
        let mut walk = DirectoryWalk {
            reader: self.reader(known),
            visited: HashSet::from([self.root.offset]),
            list_bytes: 0,
            listing: PartialListing::default(),
        };
        walk.add(&self.root, "", 0);
        let complete = !walk.reader.is_waiting();
        Ok(walk.reader.finish(complete.then_some(walk.listing)))
    }
}

struct DirectoryWalk<'a> {
    reader: Reader<'a>,
    /// Offsets of the directories so far: a cycle ends at the second visit.
    visited: HashSet<u64>,
    /// Total length of the key lists so far. In a valid file they do not overlap, which bounds the walk.
    list_bytes: u64,
    listing: PartialListing,
}

impl DirectoryWalk<'_> {
    fn add(&mut self, directory: &Directory, path: &str, depth: usize) {
        if let Some(range) = directory.key_list {
            self.list_bytes = self.list_bytes.saturating_add(range.len);
            self.listing.key_lists.push((path.to_owned(), range));
        }
        for key in &directory.keys {
            let path = if path.is_empty() { key.name.clone() } else { format!("{path}/{}", key.name) };
            self.listing.entries.push(KeyEntry { path: path.clone(), key: key.clone() });
            if !key.is_directory() {
                continue;
            }
            match self.read(key, &path, depth) {
                Ok(Some(below)) => self.add(&below, &path, depth + 1),
                Ok(None) => {}
                Err(error) => self.listing.broken.push((path, error)),
            }
        }
    }

    /// Reads a directory unless that could go on forever. `None` if bytes are missing.
    fn read(&mut self, key: &Key, path: &str, depth: usize) -> Result<Option<Directory>> {
        let corrupt = |message: String| Err(Error::corrupt(message).at(key.offset));
        if !self.visited.insert(key.offset) {
            return corrupt(format!("the directory '{path}' is in the file twice, or contains itself"));
        }
        if depth >= MAX_DEPTH || path.len() > MAX_PATH {
            return Err(too_deep(key));
        }
        if self.list_bytes > self.reader.size() {
            return corrupt(format!("the key lists of the directories above '{path}' overlap"));
        }
        Directory::read(&mut self.reader, key.offset, key.key_len)
    }
}
