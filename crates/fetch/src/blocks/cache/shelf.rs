//! The blocks of one version of a file in the cache.

use super::block_file::{self, HEADER, Label};
use super::lock::FileLock;
use super::names::{BLOCK, KNOWN, part_of, range_of};
use super::record;
use super::room::Room;
use crate::blocks::store::{BlockStore, BlockWriter, Reservation, StoredBlock};
use crate::blocks::trouble::Trouble;
use sapwood_core::{ByteRange, Segments};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Blocks that stay open, so that each is verified only once.
const MOST_OPEN: usize = 32;

/// The folder of one version.
#[derive(Debug)]
pub(crate) struct Shelf(Arc<VersionFolder>);

#[derive(Debug)]
struct VersionFolder {
    folder: PathBuf,
    key: u64,
    room: Arc<Room>,
    trouble: Trouble,
    seen: Mutex<ShelfIndex>,
}

#[derive(Debug, Default)]
struct ShelfIndex {
    /// The starts of blocks that existed when last looked up.
    kept: HashSet<u64>,
    /// Verified blocks by start, and when each was last used.
    open: HashMap<u64, (u64, StoredBlock)>,
    clock: u64,
}

impl ShelfIndex {
    fn open(&mut self, start: u64) -> Option<StoredBlock> {
        self.clock += 1;
        let (used, held) = self.open.get_mut(&start)?;
        *used = self.clock;
        Some(held.clone())
    }

    fn keep_open(&mut self, start: u64, held: StoredBlock) {
        if self.open.len() >= MOST_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, (used, _))| *used).map(|(&start, _)| start);
            oldest.and_then(|start| self.open.remove(&start));
        }
        self.clock += 1;
        self.open.insert(start, (self.clock, held));
    }
}

impl Shelf {
    pub(super) fn new(folder: PathBuf, key: u64, room: Arc<Room>, url: &str) -> Self {
        Shelf(Arc::new(VersionFolder {
            folder,
            key,
            room,
            trouble: Trouble::new(url),
            seen: Mutex::default(),
        }))
    }

    /// Keeps the bytes that came with opening.
    pub(crate) fn keep_known(&self, known: &Segments) {
        for range in known.ranges() {
            let path = self.0.path(range, KNOWN);
            let Some(bytes) = known.get(range).filter(|_| !self.is_broken()) else { continue };
            if self.0.verified(&path, range).is_none()
                && let Reservation::Ours(place) = self.0.reserve(path, range)
            {
                place.keep(&bytes);
            }
        }
    }

    /// What came with opening before: head and tail of a file of `size` bytes; `None` unless both are there.
    pub(crate) fn known(&self, size: u64) -> Option<Segments> {
        let mut known = Segments::default();
        for entry in fs::read_dir(&self.0.folder).ok()?.flatten() {
            let path = entry.path();
            if let Some(range) = range_of(&path, KNOWN)
                && let Some(held) = self.0.verified(&path, range)
            {
                known.insert(range.start, held.read(ByteRange { start: 0, ..range }).ok()?);
            }
        }
        let whole = |edge: fn(ByteRange) -> u64, at| known.ranges().any(|range| edge(range) == at);
        (whole(|range| range.start, 0) && whole(ByteRange::end, size)).then_some(known)
    }

    /// A write failed: from now on nothing is kept.
    pub(crate) fn fail(&self, error: &io::Error) {
        self.0.trouble.report("cannot write the cache", error);
    }

    /// True if nothing can be kept.
    fn is_broken(&self) -> bool {
        self.0.trouble.is_known()
    }
}

impl BlockStore for Shelf {
    fn find(&self, block: ByteRange) -> Option<StoredBlock> {
        if let Some(held) = self.0.lock().open(block.start).filter(|held| held.len() == block.len) {
            return Some(held);
        }
        let found = self.0.verified(&self.0.path(block, BLOCK), block);
        let mut seen = self.0.lock();
        match &found {
            Some(held) => {
                seen.kept.insert(block.start);
                seen.keep_open(block.start, held.clone());
            }
            None => drop(seen.kept.remove(&block.start)),
        }
        found
    }

    fn reserve(&self, block: ByteRange) -> Reservation {
        if self.is_broken() {
            return self.find(block).map_or(Reservation::Nowhere, Reservation::Here);
        }
        match self.0.reserve(self.0.path(block, BLOCK), block) {
            // The process that held the lock may just have written it.
            Reservation::Ours(place) => self.find(block).map_or(Reservation::Ours(place), Reservation::Here),
            other => other,
        }
    }

    fn kept(&self) -> u64 {
        self.0.lock().kept.len() as u64
    }

    /// The server is asked when the file is opened next.
    fn outdated(&self) {
        if let Some(folder) = self.0.folder.parent() {
            record::forget(folder);
        }
    }
}

impl VersionFolder {
    fn path(&self, block: ByteRange, end: &str) -> PathBuf {
        self.folder.join(format!("{:x}-{:x}.{end}", block.start, block.len))
    }

    /// Reserves a file in the folder.
    fn reserve(self: &Arc<Self>, path: PathBuf, block: ByteRange) -> Reservation {
        match self.part(&path) {
            Ok(None) => Reservation::Elsewhere,
            Ok(Some(part)) => {
                Reservation::Ours(Box::new(BlockFileWriter { shelf: Arc::clone(self), part, path, block }))
            }
            Err(error) => {
                self.trouble.report("cannot write the cache", &error);
                Reservation::Nowhere
            }
        }
    }

    fn part(&self, path: &Path) -> io::Result<Option<FileLock>> {
        let part = part_of(path);
        match FileLock::try_new(&part) {
            // It is the first file of this version, or all of them were removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.folder)?;
                FileLock::try_new(&part)
            }
            lock => lock,
        }
    }

    /// The block in a file, if it exists and is intact; a damaged file is removed.
    fn verified(&self, path: &Path, block: ByteRange) -> Option<StoredBlock> {
        match block_file::open(path) {
            Ok(Some((found, held))) if found == (Label { key: self.key, block }) => {
                touch(path);
                Some(held)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            damaged => {
                let why = damaged.err().map(|error| format!(": {error}")).unwrap_or_default();
                let name = path.display();
                log::warn!(target: "sapwood.source", "{name} in the cache is damaged{why}; it is fetched again");
                let _ = fs::remove_file(path);
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ShelfIndex> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a file as used now; if that is not permitted, it will be evicted sooner.
pub(super) fn touch(path: &Path) {
    let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// A file of the cache that is to be written.
#[derive(Debug)]
struct BlockFileWriter {
    shelf: Arc<VersionFolder>,
    part: FileLock,
    path: PathBuf,
    block: ByteRange,
}

impl BlockWriter for BlockFileWriter {
    fn keep(self: Box<Self>, bytes: &[u8]) -> bool {
        let BlockFileWriter { shelf, part, path, block } = *self;
        let label = Label { key: shelf.key, block };
        match block_file::write(&part.file, label, bytes).and_then(|()| part.rename(&path)) {
            Ok(()) => {
                if range_of(&path, BLOCK).is_some() {
                    shelf.lock().kept.insert(block.start);
                }
                shelf.room.grown(HEADER + block.len);
                true
            }
            Err(error) => {
                shelf.trouble.report("cannot write the cache", &error);
                false
            }
        }
    }
}
