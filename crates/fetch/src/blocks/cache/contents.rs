//! The contents of a cache, for maintenance: listing, verifying, removing.

use super::names::{BLOCK, KNOWN, SpanName, range_of};
use super::record::{self, Latest};
use super::room::{remove_empty, stored_in};
use super::{Cache, block_file, span_file};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a cache holds of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFile {
    /// Its URL, without secrets; empty if its record was lost.
    pub url: String,
    /// Its size in bytes when it was last opened.
    pub size: u64,
    /// Number of blocks that are kept, over all versions.
    pub blocks: u64,
    /// Number of decoded columns, over all versions; one that is kept in several pieces counts once.
    pub columns: u64,
    /// Bytes on the disk, over all versions.
    pub bytes: u64,
    /// When any of it was last used.
    pub used: Option<SystemTime>,
}

/// The result of verifying all blocks and columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheCheck {
    /// Number of sound files: blocks, and pieces of columns.
    pub sound: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Files that were damaged, and were removed.
    pub damaged: Vec<PathBuf>,
}

impl Cache {
    /// The files with kept blocks or columns, the most recently used first.
    pub fn contents(&self) -> Vec<CachedFile> {
        let mut contents: Vec<_> = self.room.folders().iter().map(|folder| kept_in(folder)).collect();
        contents.sort_by_key(|kept| std::cmp::Reverse(kept.used));
        contents
    }

    /// Reads all blocks and columns, and removes those that are damaged.
    pub fn verify(&self) -> CacheCheck {
        let mut verified = CacheCheck::default();
        let files = self.room.folders().into_iter().flat_map(|folder| stored_in(&folder));
        for file in files {
            let is_sound = match SpanName::of(&file.path) {
                Some(name) => span_file::open(&file.path)
                    .map(|found| found.is_some_and(|(label, _)| label == name.label())),
                None => {
                    let range = range_of(&file.path, BLOCK).or_else(|| range_of(&file.path, KNOWN));
                    let Some(range) = range else { continue };
                    block_file::open(&file.path)
                        .map(|found| found.is_some_and(|(label, _)| label.block == range))
                }
            };
            match is_sound {
                Ok(true) => {
                    verified.sound += 1;
                    verified.bytes += file.bytes;
                }
                // Another process made room in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => {
                    let _ = fs::remove_file(&file.path);
                    verified.damaged.push(file.path);
                }
            }
        }
        verified
    }

    /// Removes the blocks and columns of one file, or of all. Returns how many bytes this freed. Other files stay,
    /// wherever they are: the directory may have been named by mistake.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn clear(&self, url: Option<&str>) -> io::Result<u64> {
        let mut freed = 0;
        for folder in self.room.folders() {
            let kept = kept_in(&folder);
            if url.is_none_or(|url| url == kept.url) {
                for file in stored_in(&folder) {
                    match fs::remove_file(&file.path) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => freed += file.bytes,
                    }
                }
                record::forget_unfinished(&folder);
                remove_empty(&folder);
            }
        }
        Ok(freed)
    }
}

fn kept_in(folder: &Path) -> CachedFile {
    let (url, size) =
        Latest::read(folder).map(|latest| (latest.identity.url, latest.identity.size)).unwrap_or_default();
    let files = stored_in(folder);
    let columns: HashSet<_> = files
        .iter()
        .filter_map(|file| Some((file.path.parent()?, SpanName::of(&file.path)?.column)))
        .collect();
    CachedFile {
        url,
        size,
        columns: columns.len() as u64,
        blocks: files.iter().filter(|file| range_of(&file.path, BLOCK).is_some()).count() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        used: files.iter().map(|file| file.used).max(),
    }
}
