//! A walk through all directories that continues where one of them is damaged.

use crate::find::{KeyEntry, MAX_DEPTH, MAX_PATH};
use crate::reader::Reader;
use crate::{Directory, TFile};
use sapwood_core::{ByteRange, Error, ParseStep, Result, Segments};
use std::collections::HashSet;

/// The contents of all directories of a file, as far as they can be read.
#[derive(Debug, Default)]
pub struct Survey {
    /// Every key, each directory before its contents.
    pub entries: Vec<KeyEntry>,
    /// Path and key list of every directory that could be read; the root directory has an empty path.
    pub key_lists: Vec<(String, ByteRange)>,
    /// Path and reason for every directory that could not be read.
    pub broken: Vec<(String, Error)>,
}

impl TFile {
    /// Lists all keys, as [`list`](TFile::list) does, but collects errors of directories next to what could
    /// be read.
    ///
    /// # Errors
    /// None at present; the signature matches that of the other parsers.
    pub fn survey(&self, known: &Segments) -> Result<ParseStep<Survey>> {
        let mut walk = DirectoryWalk {
            reader: self.reader(known),
            visited: HashSet::from([self.root.offset]),
            list_bytes: 0,
            survey: Survey::default(),
        };
        walk.add(&self.root, "", 0);
        let complete = !walk.reader.is_waiting();
        Ok(walk.reader.finish(complete.then_some(walk.survey)))
    }
}

struct DirectoryWalk<'a> {
    reader: Reader<'a>,
    /// Offsets of the directories met so far: a cycle ends at the second visit.
    visited: HashSet<u64>,
    /// Bytes of the key lists met so far. In a valid file they do not overlap, which bounds the walk.
    list_bytes: u64,
    survey: Survey,
}

impl DirectoryWalk<'_> {
    fn add(&mut self, directory: &Directory, path: &str, depth: usize) {
        if let Some(range) = directory.key_list {
            self.list_bytes = self.list_bytes.saturating_add(range.len);
            self.survey.key_lists.push((path.to_owned(), range));
        }
        for key in &directory.keys {
            let path = if path.is_empty() { key.name.clone() } else { format!("{path}/{}", key.name) };
            self.survey.entries.push(KeyEntry { path: path.clone(), key: key.clone() });
            if !key.is_directory() {
                continue;
            }
            let refused = if !self.visited.insert(key.offset) {
                Some("the directory is in the file twice, or contains itself")
            } else if depth >= MAX_DEPTH || path.len() > MAX_PATH {
                Some("directories are nested too deep")
            } else if self.list_bytes > self.reader.size() {
                Some("the key lists of the directories overlap")
            } else {
                None
            };
            if let Some(why) = refused {
                self.survey.broken.push((path, Error::corrupt(why).at(key.offset)));
                continue;
            }
            match Directory::read(&mut self.reader, key.offset, key.key_len) {
                Ok(Some(below)) => self.add(&below, &path, depth + 1),
                Ok(None) => {}
                Err(error) => self.survey.broken.push((path, error)),
            }
        }
    }
}
