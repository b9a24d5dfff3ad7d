//! Keeps the cache below its size: files that were not used for long, and cost little to make, are removed first.

use super::lock::FileLock;
use super::names::{BLOCK, KNOWN, PART, SpanName, range_of};
use super::record;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Files that a dead process left are removed after this time.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// How long another process may take to make room.
const PATIENCE: Duration = Duration::from_secs(2);

/// The logarithm of the nanoseconds that a kilobyte of a block is assumed to cost: it came over a link of 120 MB/s.
const BLOCK_COST: u32 = 13;

/// How full a cache is after room was made, in tenths of its size.
const LEFT: u64 = 9;

/// The room in a cache. Other processes fill it, too, so its use is counted regularly.
#[derive(Debug)]
pub(super) struct Room {
    directory: PathBuf,
    most: u64,
    counted: Mutex<Option<DiskUse>>,
}

#[derive(Debug, Clone, Copy)]
struct DiskUse {
    bytes: u64,
    /// What this process has added since.
    since: u64,
}

impl Room {
    pub(super) fn new(directory: &Path, most: u64) -> Self {
        Room { directory: directory.to_owned(), most, counted: Mutex::default() }
    }

    /// Counts what was added; true if it is time to look at the directory.
    fn add(&self, bytes: u64) -> bool {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        match counted.as_mut() {
            None => true,
            Some(counted) => {
                counted.since = counted.since.saturating_add(bytes);
                // Eight processes that see only their own additions exceed the size by a tenth.
                counted.since >= self.most / 64 || counted.bytes.saturating_add(counted.since) > self.most
            }
        }
    }

    fn set(&self, bytes: u64) {
        let counted = DiskUse { bytes, since: 0 };
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(counted);
    }

    /// A file was added: makes room if the cache is too full.
    pub(super) fn grown(&self, bytes: u64) {
        if self.add(bytes)
            && let Err(error) = self.make_room()
        {
            let directory = self.directory.display();
            log::warn!(target: "sapwood.source", "cannot make room in the cache {directory}: {error}");
        }
    }

    fn make_room(&self) -> io::Result<()> {
        // The process that makes room now may not have seen the last addition.
        let Some(_lock) = FileLock::wait_for(&self.directory.join("room.lock"), PATIENCE)? else {
            return Ok(());
        };
        let mut stored: Vec<_> = self.folders().iter().flat_map(|folder| stored_in(folder)).collect();
        let mut total = stored.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        if total > self.most {
            let now = SystemTime::now();
            stored.sort_by(|one, other| other.idle_per_cost(now).total_cmp(&one.idle_per_cost(now)));
            for file in &stored {
                if total <= self.most / 10 * LEFT {
                    break;
                }
                if !is_part(&file.path) && fs::remove_file(&file.path).is_ok() {
                    total = total.saturating_sub(file.bytes);
                }
            }
        }
        stored.iter().filter(|file| is_part(&file.path) && is_old(file)).for_each(|file| {
            // Whoever can lock it knows that no process writes it; releasing the lock removes it.
            drop(FileLock::try_new(&file.path));
        });
        self.folders().iter().for_each(|folder| remove_empty(folder));
        self.set(total);
        Ok(())
    }

    /// The folders of all files.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let is_ours = |entry: &DirEntry| {
            let name = entry.file_name();
            name.len() == 32 && name.to_str().is_some_and(|name| name.bytes().all(|c| c.is_ascii_hexdigit()))
        };
        files(&self.directory).filter(is_ours).map(|entry| entry.path()).collect()
    }
}

/// A file in the cache.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) used: SystemTime,
    /// The binary logarithm of the nanoseconds that it takes to make a kilobyte of it again.
    cost: u32,
}

impl StoredFile {
    /// A file that costs ten times as much is worth being kept ten times as long.
    fn idle_per_cost(&self, now: SystemTime) -> f64 {
        let idle = now.duration_since(self.used).unwrap_or_default();
        idle.as_secs_f64() / f64::from(self.cost).exp2()
    }
}

/// The blocks and columns in the folder of a file, of all its versions. Foreign files are ignored.
pub(super) fn stored_in(folder: &Path) -> Vec<StoredFile> {
    let all = files(folder).flat_map(|version| files(&version.path()).collect::<Vec<_>>());
    let stored = |entry: DirEntry| {
        let path = entry.path();
        let cost = match SpanName::of(&path) {
            Some(span) => span.cost,
            None if is_part(&path) || range_of(&path, BLOCK).or_else(|| range_of(&path, KNOWN)).is_some() => {
                BLOCK_COST
            }
            None => return None,
        };
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(StoredFile { path, bytes: metadata.len(), used: metadata.modified().ok()?, cost })
    };
    all.filter_map(stored).collect()
}

/// What is in a folder; nothing if it cannot be read, for example because another process just removed it.
pub(super) fn files(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == PART)
}

fn is_old(file: &StoredFile) -> bool {
    file.used.elapsed().is_ok_and(|age| age > FORGOTTEN)
}

/// Removes the folder of a file of which no version is kept.
pub(super) fn remove_empty(folder: &Path) {
    for version in files(folder) {
        // Fails, as it should, if the folder is not empty.
        let _ = fs::remove_dir(version.path());
    }
    if files(folder).all(|entry| entry.file_name() == record::FILE) {
        let _ = fs::remove_file(folder.join(record::FILE));
        let _ = fs::remove_dir(folder);
    }
}
