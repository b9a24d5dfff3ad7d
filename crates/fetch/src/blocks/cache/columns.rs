//! The decoded columns of one version of a file in the cache: spans of consecutive entries.

use super::lock::FileLock;
use super::names::{SpanName, part_of};
use super::room::{Room, files};
use super::shelf::touch;
use super::span_file;
use crate::blocks::trouble::Trouble;
use bytes::Bytes;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most spans that a process has open: each is a mapping, of which a process may have a limited number.
const MOST_OPEN: usize = 16_384;

/// How long other processes' spans may go unnoticed.
const NOTICED: Duration = Duration::from_secs(1);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The decoded columns of one version of a file.
///
/// A span that was found stays open, and is found again, as long as this exists: whoever plans a read twice finds no less
/// the second time.
#[derive(Debug)]
pub struct ColumnShelf {
    folder: PathBuf,
    room: Arc<Room>,
    trouble: Trouble,
    index: Mutex<SpanIndex>,
}

#[derive(Debug, Default)]
struct SpanIndex {
    listed: Option<Instant>,
    /// The spans of each column that were there when last looked up.
    named: HashMap<u128, Vec<SpanName>>,
    open: HashMap<u128, Vec<Arc<Span>>>,
}

/// Some entries of a decoded column: verified memory that is shared with other processes, and never changes.
#[derive(Debug)]
pub struct Span {
    /// The entries.
    pub entries: Range<u64>,
    /// The buffers of the column, aligned to 64 bytes.
    pub buffers: Vec<Bytes>,
}

impl Drop for Span {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ColumnShelf {
    pub(super) fn new(folder: PathBuf, room: Arc<Room>, url: &str) -> Self {
        ColumnShelf { folder, room, trouble: Trouble::new(url), index: Mutex::default() }
    }

    /// True if there may be spans of a column.
    pub fn has(&self, column: u128) -> bool {
        let index = self.lock();
        index.named.contains_key(&column) || index.open.contains_key(&column)
    }

    /// The spans of a column that hold most of `entries`: each with the entries to take from it, in order. New ones are
    /// verified on the threads of the current pool.
    pub fn find(&self, column: u128, entries: &Range<u64>) -> Vec<(Range<u64>, Arc<Span>)> {
        let mut found = Vec::new();
        let mut next = entries.start;
        while next < entries.end {
            let Some(span) = self.best(column, next, entries.end) else { break };
            let part = next.max(span.entries.start)..span.entries.end.min(entries.end);
            next = part.end;
            found.push((part, span));
        }
        found
    }

    /// The span that holds the most entries from `next` on, or else the first after it.
    fn best(&self, column: u128, next: u64, end: u64) -> Option<Arc<Span>> {
        let holds = |entries: &Range<u64>| entries.start < end && next < entries.end;
        let rank = |entries: &Range<u64>| (entries.start.max(next), u64::MAX - entries.end);
        loop {
            let index = self.lock();
            let open = index.open.get(&column).into_iter().flatten().filter(|span| holds(&span.entries));
            let open = open.min_by_key(|span| rank(&span.entries)).cloned();
            let named = index.named.get(&column).into_iter().flatten().filter(|name| holds(&name.entries));
            let named = named.min_by_key(|name| rank(&name.entries)).cloned();
            // While it hashes, a thread may take up another task, which may need the lock.
            drop(index);
            let is_better =
                |name: &SpanName| open.as_ref().is_none_or(|open| rank(&name.entries) < rank(&open.entries));
            let Some(name) = named.filter(is_better) else { return open };
            let opened = self.open(&name);
            let mut index = self.lock();
            match opened {
                Some(span) => index.open.entry(column).or_default().push(span),
                None => index.named.entry(column).or_default().retain(|other| *other != name),
            }
        }
    }

    /// The span in a file, if it is there and intact; a damaged file is removed.
    fn open(&self, name: &SpanName) -> Option<Arc<Span>> {
        let path = self.folder.join(name.file());
        if OPEN.fetch_add(1, Ordering::Relaxed) >= MOST_OPEN {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        // Dropping it counts it out, too.
        let mut span = Span { entries: name.entries.clone(), buffers: Vec::new() };
        match span_file::open(&path) {
            Ok(Some((label, buffers))) if label == name.label() => {
                touch(&path);
                span.buffers = buffers;
                Some(Arc::new(span))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            damaged => {
                let why = damaged.err().map(|error| format!(": {error}")).unwrap_or_default();
                let path = path.display();
                log::warn!(target: "sapwood.source", "{path} in the cache is damaged{why}; the column is read again");
                let _ = fs::remove_file(self.folder.join(name.file()));
                None
            }
        }
    }

    /// True if a span has all of these entries.
    pub fn holds(&self, column: u128, entries: &Range<u64>) -> bool {
        let index = self.lock();
        let is_around = |other: &Range<u64>| other.start <= entries.start && entries.end <= other.end;
        index.named.get(&column).into_iter().flatten().any(|name| is_around(&name.entries))
            || index.open.get(&column).into_iter().flatten().any(|span| is_around(&span.entries))
    }

    /// Keeps a span, in place of those that it contains. `cost` is the time that it took to fetch and decode it.
    /// Nothing happens if another process is writing the same, or if nothing can be kept.
    pub fn keep(&self, column: u128, entries: &Range<u64>, buffers: &[&[u8]], cost: Duration) {
        if self.trouble.is_known() {
            return;
        }
        let bytes = buffers.iter().map(|buffer| buffer.len() as u64).sum();
        let name = SpanName::new(column, entries.clone(), bytes, cost);
        match self.write(&name, buffers) {
            Ok(Some(bytes)) => {
                self.replace(name);
                self.room.grown(bytes);
            }
            Ok(None) => {}
            Err(error) => self.trouble.report("cannot write the cache", &error),
        }
    }

    fn write(&self, name: &SpanName, buffers: &[&[u8]]) -> io::Result<Option<u64>> {
        let path = self.folder.join(name.file());
        let part = match FileLock::try_new(&part_of(&path)) {
            // It is the first file of this version, or all of them were removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.folder)?;
                FileLock::try_new(&part_of(&path))?
            }
            part => part?,
        };
        let Some(part) = part else { return Ok(None) };
        let bytes = span_file::write(&part.file, &name.label(), buffers)?;
        part.rename(&path)?;
        Ok(Some(bytes))
    }

    /// Removes the spans that a new one contains.
    fn replace(&self, new: SpanName) {
        let mut index = self.lock();
        let named = index.named.entry(new.column).or_default();
        let is_inside = |name: &mut SpanName| {
            new.entries.start <= name.entries.start && name.entries.end <= new.entries.end && *name != new
        };
        for inside in named.extract_if(.., is_inside) {
            let _ = fs::remove_file(self.folder.join(inside.file()));
        }
        named.push(new);
    }

    /// The spans, as listed just now or before.
    fn lock(&self) -> MutexGuard<'_, SpanIndex> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if index.listed.is_none_or(|listed| listed.elapsed() > NOTICED) {
            index.listed = Some(Instant::now());
            index.named.clear();
            for name in files(&self.folder).filter_map(|entry| SpanName::of(&entry.path())) {
                index.named.entry(name.column).or_default().push(name);
            }
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cache;
    use super::*;
    use sapwood_source::Identity;
    use std::path::Path;

    fn shelf(directory: &Path) -> ColumnShelf {
        let identity = Identity { url: "f.root".into(), size: 9, version: Some("v".into()) };
        Cache::open(directory, 1 << 30).unwrap().columns("f.root", &identity, [7; 16]).unwrap()
    }

    fn keep(shelf: &ColumnShelf, entries: Range<u64>) {
        let values: Vec<u8> = entries.clone().map(|entry| entry as u8).collect();
        shelf.keep(5, &entries, &[&values], Duration::from_millis(1));
    }

    /// The entries of the parts, after a check of their values.
    fn found(shelf: &ColumnShelf, entries: Range<u64>) -> Vec<Range<u64>> {
        let parts = shelf.find(5, &entries);
        for (_, span) in &parts {
            let values: Vec<u8> = span.entries.clone().map(|entry| entry as u8).collect();
            assert_eq!(span.buffers, [values]);
        }
        parts.into_iter().map(|(entries, _)| entries).collect()
    }

    #[test]
    fn parts_are_found_and_replaced_by_what_contains_them() {
        let folder = tempfile::tempdir().unwrap();
        let writer = shelf(folder.path());
        assert!(!writer.has(5) && found(&writer, 0..90).is_empty());
        [10..20, 20..30, 50..60].into_iter().for_each(|entries| keep(&writer, entries));
        let reader = shelf(folder.path());
        assert!(reader.has(5) && !reader.has(6));
        assert!(reader.holds(5, &(12..20)) && !reader.holds(5, &(12..21)));
        assert_eq!(found(&reader, 0..90), [10..20, 20..30, 50..60]);
        assert_eq!(found(&reader, 15..55), [15..20, 20..30, 50..55]);
        keep(&writer, 5..60);
        assert_eq!(writer.lock().named[&5].len(), 1);
        let names = fs::read_dir(&writer.folder).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(
            names.filter_map(|path| SpanName::of(&path)).map(|name| name.entries).collect::<Vec<_>>(),
            std::slice::from_ref(&(5..60))
        );
        // A reader that has planned with spans finds no less later.
        fs::remove_dir_all(&writer.folder).unwrap();
        assert_eq!(found(&reader, 0..90), [10..20, 20..30, 50..60]);
        assert!(found(&shelf(folder.path()), 0..90).is_empty());
    }

    #[test]
    fn a_damaged_part_is_removed_and_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let writer = shelf(folder.path());
        [10..20, 20..30].into_iter().for_each(|entries| keep(&writer, entries));
        let path = writer.folder.join(writer.lock().named[&5][0].file());
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(found(&writer, 0..90), std::slice::from_ref(&(20..30)));
        assert!(!path.exists());
    }
}
