//! A source over a file of the local machine.

use crate::{CostModel, Identity, PageCache, Source, check};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, cannot_read};
use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Bytes whose pages stay although they are to be dropped: threads read near each other, and the kernel reads ahead, so
/// that pages which were dropped at once would be read again.
const BEHIND: u64 = 64 << 20;

/// What the kernel usually reads from a disk at once. A disk reads a smaller gap sooner than it moves past it.
const AT_ONCE: u64 = 128 << 10;

/// A local file that is read by position: any number of threads may read at the same time.
///
/// The first poll of the future does the read; it never waits for anything but the disk.
#[derive(Debug)]
pub struct LocalSource {
    file: positional::File,
    identity: Identity,
    stamp: Stamp,
    /// If pages are to be dropped: the ranges that were read last, whose pages stay for now.
    behind: Option<Mutex<RangesBehind>>,
}

#[derive(Debug, Default)]
struct RangesBehind {
    ranges: VecDeque<ByteRange>,
    bytes: u64,
}

/// Attributes that change when an open file is written to. Replacing the file does not matter: the open file stays
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Stamp { size: metadata.len(), modified: metadata.modified().ok() }
    }

    fn version(self) -> Option<String> {
        let since_epoch = self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("{}-{}", since_epoch.as_nanos(), self.size))
    }
}

impl LocalSource {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound`, `Permission`, `Usage` if it is a directory, otherwise `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let failed = |error| io_error(error).url(&name);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::usage("this is a directory, not a file").url(name));
        }
        let stamp = Stamp::of(&metadata);
        let identity = Identity { url: name, size: stamp.size, version: stamp.version() };
        let file = positional::File::new(file);
        Ok(LocalSource { file, identity, stamp, behind: None })
    }

    /// The same file, whose pages are kept or dropped after they are read: the latest 64 MB and what the kernel read on
    /// its own when the source is dropped.
    #[must_use]
    pub fn with_page_cache(mut self, page_cache: PageCache) -> Self {
        self.behind = (page_cache == PageCache::Drop).then(Mutex::default);
        self
    }

    /// Drops the pages of what was read long ago.
    fn forget(&self, read: &[ByteRange]) {
        let Some(behind) = &self.behind else { return };
        let mut behind = behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.bytes += read.iter().map(|range| range.len).sum::<u64>();
        behind.ranges.extend(read);
        while behind.bytes > BEHIND
            && let Some(range) = behind.ranges.pop_front()
        {
            behind.bytes -= range.len;
            self.file.forget(range.start, range.len);
        }
    }

    /// Asks the kernel to fetch these ranges and small gaps between them, all at the same time; it may ignore that.
    pub(crate) fn will_need(&self, ranges: &[ByteRange]) {
        let near = |a: &ByteRange, b: &ByteRange| (a.end()..=a.end() + AT_ONCE).contains(&b.start);
        for run in ranges.chunk_by(near) {
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                self.file.will_need(first.start, last.end() - first.start);
            }
        }
    }

    /// True if some of these ranges have to come from a disk first, by a sample.
    fn is_partly_cold(&self, ranges: &[ByteRange]) -> bool {
        let some = [ranges.first(), ranges.get(ranges.len() / 2), ranges.last()];
        some.into_iter().flatten().any(|range| !self.file.is_cached(range.start))
    }

    pub(crate) fn read(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        check::request(&self.identity, ranges, deadline)?;
        if ranges.len() > 1 && self.is_partly_cold(ranges) {
            // The disk then has several reads in flight. Only the first may be there: the kernel read it ahead.
            self.will_need(ranges);
        }
        let mut answers = Vec::with_capacity(ranges.len());
        for range in ranges {
            if deadline.has_passed() {
                return Err(check::timeout(&self.identity));
            }
            let bytes = self.file.read(range.start, range.len as usize);
            let bytes = bytes.map_err(|e| io_error(e).at(range.start).url(&self.identity.url))?;
            if bytes.len() as u64 != range.len {
                return Err(self.changed("the file became shorter").at(range.start));
            }
            answers.push(Bytes::from(bytes));
        }
        self.forget(ranges);
        // After the reads, so that none of them can have seen a later version.
        let now = self.file.metadata().map_err(|e| io_error(e).url(&self.identity.url))?;
        if Stamp::of(&now) != self.stamp {
            return Err(self.changed("the file was written to while it was read"));
        }
        Ok(answers)
    }

    fn changed(&self, what: &str) -> Error {
        Error::new(ErrorKind::Changed, what).url(&self.identity.url).hint("open it again")
    }
}

impl Drop for LocalSource {
    fn drop(&mut self) {
        if self.behind.is_some() {
            self.file.forget(0, self.identity.size);
        }
    }
}

impl Source for LocalSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel::LOCAL
    }

    fn is_cold(&self, ranges: &[ByteRange]) -> bool {
        let cached = ranges.iter().filter(|range| self.file.is_cached(range.start)).count();
        2 * cached < ranges.len()
    }

    fn announce(&self, ranges: &[ByteRange]) {
        if self.is_partly_cold(ranges) {
            self.will_need(ranges);
        }
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move { self.read(ranges, deadline) })
    }
}

fn io_error(error: io::Error) -> Error {
    cannot_read(error, "there is no such file")
}

#[cfg(unix)]
mod positional {
    //! Reads at a position with one system call, into memory that need not be zeroed first.

    use rustix::buffer::spare_capacity;
    use rustix::io::{Errno, pread};
    use std::fs::Metadata;
    use std::io;

    #[derive(Debug)]
    pub(super) struct File(std::fs::File);

    impl File {
        pub(super) fn new(file: std::fs::File) -> Self {
            File(file)
        }

        pub(super) fn metadata(&self) -> io::Result<Metadata> {
            self.0.metadata()
        }

        /// Asks the kernel to fetch this range. That is advice: failures do not matter.
        pub(super) fn will_need(&self, start: u64, len: u64) {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            if let Some(len) = std::num::NonZeroU64::new(len) {
                let _ = rustix::fs::fadvise(&self.0, start, Some(len), rustix::fs::Advice::WillNeed);
            }
        }

        /// True if the byte at `start` can be read without waiting for a disk, or if that is not known.
        pub(super) fn is_cached(&self, start: u64) -> bool {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            {
                use rustix::io::{ReadWriteFlags, preadv2};
                let mut byte = [0];
                let into = &mut [io::IoSliceMut::new(&mut byte)];
                !matches!(preadv2(&self.0, into, start, ReadWriteFlags::NOWAIT), Err(Errno::AGAIN))
            }
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            {
                let _ = start;
                true
            }
        }

        /// Asks the kernel to drop the pages that hold this range. That is advice: failures do not matter.
        pub(super) fn forget(&self, start: u64, len: u64) {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            {
                // It keeps pages of which only a part is named.
                let page = rustix::param::page_size() as u64;
                let (first, end) = (start / page * page, (start + len).next_multiple_of(page));
                let len = std::num::NonZeroU64::new(end - first);
                let _ = rustix::fs::fadvise(&self.0, first, len, rustix::fs::Advice::DontNeed);
            }
        }

        /// The `len` bytes at `start`, or fewer where the file ends.
        pub(super) fn read(&self, start: u64, len: usize) -> io::Result<Vec<u8>> {
            let mut bytes = Vec::with_capacity(len);
            while bytes.len() < len {
                let at = start + bytes.len() as u64;
                match pread(&self.0, spare_capacity(&mut bytes), at) {
                    Ok(0) => break,
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            bytes.truncate(len);
            Ok(bytes)
        }
    }
}

#[cfg(not(unix))]
mod positional {
    //! Reads at a position by moving a shared cursor: correct everywhere, one reader at a time.

    use std::fs::Metadata;
    use std::io::{self, Read, Seek, SeekFrom};
    use std::sync::{Mutex, PoisonError};

    #[derive(Debug)]
    pub(super) struct File(Mutex<std::fs::File>);

    impl File {
        pub(super) fn new(file: std::fs::File) -> Self {
            File(Mutex::new(file))
        }

        pub(super) fn metadata(&self) -> io::Result<Metadata> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).metadata()
        }

        pub(super) fn will_need(&self, _: u64, _: u64) {}

        pub(super) fn is_cached(&self, _: u64) -> bool {
            true
        }

        pub(super) fn forget(&self, _: u64, _: u64) {}

        /// The `len` bytes at `start`, or fewer where the file ends.
        pub(super) fn read(&self, start: u64, len: usize) -> io::Result<Vec<u8>> {
            let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::with_capacity(len);
            (&mut *file).take(len as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    }
}
