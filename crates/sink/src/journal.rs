//! The journal of a growing file: how much of it is safely on the disk, and the notes of its writer for a later run
//! that resumes the job.
//!
//! It begins with a magic word and the number of the job. Records follow: the length of the note, the number of bytes
//! of the file that it covers, the XXH64 of these two and of the note, and the note; numbers have 8 bytes,
//! little-endian. A separate thread writes a record once everything that it covers is on the disk, so the writer does
//! not wait for the disk.

use super::lock::{Lock, is_at, lock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};
use xxhash_rust::xxh64::Xxh64;

const MAGIC: [u8; 8] = *b"sapwood1";
/// Bytes before the first record, and before the note of a record.
const HEAD: usize = 16;
const RECORD_HEAD: usize = 24;
/// Longest journal that is read, since notes are read into memory.
const LONGEST: u64 = 1 << 30;

/// The journal of one file. It is locked from its first record on.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    job: u64,
    /// `None` until there is a record, and if none can be written.
    file: Option<File>,
    writing: Option<JoinHandle<io::Result<()>>>,
    /// True if there is a record.
    kept: bool,
    broken: bool,
}

/// What a journal holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JournalContents {
    pub(crate) job: u64,
    /// How many bytes of the file are safe.
    pub(crate) bytes: u64,
    /// All notes, one after the other.
    pub(crate) notes: Vec<u8>,
}

impl Journal {
    /// A journal whose file is made with the first record.
    pub(crate) fn new(path: PathBuf, job: u64) -> Journal {
        Journal { path, job, file: None, writing: None, kept: false, broken: false }
    }

    /// Opens the journal of an earlier run, and continues it after its last complete record; `None` if it has none.
    ///
    /// # Errors
    /// `WouldBlock` if another process writes it, and the errors of the system.
    pub(crate) fn take_up(path: PathBuf) -> io::Result<Option<(Journal, JournalContents)>> {
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        if lock(&file) != Lock::Ours || !is_at(&file, &path) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if file.metadata()?.len() > LONGEST {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let Some((noted, end)) = parse(&bytes) else { return Ok(None) };
        file.set_len(end as u64)?;
        file.seek(SeekFrom::Start(end as u64))?;
        Ok(Some((Journal { file: Some(file), kept: true, ..Journal::new(path, noted.job) }, noted)))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True if there is a record, or one is being written.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// True if a record is still being written, or none can be.
    pub(crate) fn is_busy(&self) -> bool {
        self.broken || self.writing.as_ref().is_some_and(|writing| !writing.is_finished())
    }

    /// Begins to write a record about a file of which this many bytes were handed to the system; given the file, it
    /// first waits until these are on the disk. A journal that cannot be written is abandoned; its earlier records
    /// stay valid.
    pub(crate) fn keep(&mut self, part: Option<File>, bytes: u64, note: Vec<u8>) {
        self.wait();
        if self.broken {
            return;
        }
        match self.begin(part, bytes, note) {
            Ok(writing) => (self.writing, self.kept) = (Some(writing), true),
            Err(error) => self.give_up(&error),
        }
    }

    fn begin(
        &mut self,
        part: Option<File>,
        bytes: u64,
        note: Vec<u8>,
    ) -> io::Result<JoinHandle<io::Result<()>>> {
        let (mut journal, new) = match &self.file {
            Some(file) => (file.try_clone()?, false),
            None => (OpenOptions::new().write(true).create_new(true).open(&self.path)?, true),
        };
        if new {
            lock(&journal);
            self.file = Some(journal.try_clone()?);
            let mut head = MAGIC.to_vec();
            head.extend(self.job.to_le_bytes());
            journal.write_all(&head)?;
        }
        let directory = self.path.parent().filter(|_| new).map(Path::to_owned);
        Builder::new().name("sapwood-keep".to_owned()).spawn(move || {
            part.map_or(Ok(()), |part| part.sync_data())?;
            journal.write_all(&record(bytes, &note))?;
            journal.sync_data()?;
            directory.map_or(Ok(()), |directory| sync_directory(&directory))
        })
    }

    /// Waits until all records are written.
    pub(crate) fn wait(&mut self) {
        let broken = || io::Error::other("a thread that writes a journal ended without a result");
        let written = self.writing.take().map(|writing| writing.join().unwrap_or_else(|_| Err(broken())));
        if let Some(Err(error)) = written {
            self.give_up(&error);
        }
    }

    /// Removes the journal, if it was written or opened.
    pub(crate) fn remove(self) {
        if self.file.is_some() {
            // An error has nowhere to go, and nothing depends on it.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn give_up(&mut self, error: &io::Error) {
        self.broken = true;
        log::warn!(
            target: sapwood_source::LOG,
            "{}: the job cannot be resumed beyond this point: {error}",
            self.path.display()
        );
    }
}

fn record(bytes: u64, note: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(RECORD_HEAD + note.len());
    record.extend((note.len() as u64).to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(checksum(&record, note).to_le_bytes());
    record.extend(note);
    record
}

fn checksum(head: &[u8], note: &[u8]) -> u64 {
    let mut hasher = Xxh64::new(0);
    hasher.update(head);
    hasher.update(note);
    hasher.digest()
}

/// The contents of the complete records of a journal, and where the last of them ends.
fn parse(journal: &[u8]) -> Option<(JournalContents, usize)> {
    let (job, mut left) = journal.strip_prefix(&MAGIC)?.split_first_chunk()?;
    let mut noted = JournalContents { job: u64::from_le_bytes(*job), bytes: 0, notes: Vec::new() };
    let mut end = HEAD;
    while let Some((bytes, note)) = next(left).filter(|(bytes, _)| *bytes >= noted.bytes) {
        noted.bytes = bytes;
        noted.notes.extend_from_slice(note);
        let len = RECORD_HEAD + note.len();
        (end, left) = (end + len, left.get(len..)?);
    }
    (end > HEAD).then_some((noted, end))
}

/// The record at the beginning of some bytes, if it is complete.
fn next(journal: &[u8]) -> Option<(u64, &[u8])> {
    let (head, rest) = journal.split_at_checked(RECORD_HEAD)?;
    let (numbers, _) = head.as_chunks::<8>();
    let [len, bytes, sum] = *numbers else { return None };
    let note = rest.get(..usize::try_from(u64::from_le_bytes(len)).ok()?)?;
    let whole = checksum(head.get(..16)?, note) == u64::from_le_bytes(sum);
    whole.then_some((u64::from_le_bytes(bytes), note))
}

/// Waits until a new file in a directory survives a power cut.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_records_count() {
        let mut journal = MAGIC.to_vec();
        journal.extend(7_u64.to_le_bytes());
        assert_eq!(parse(&journal), None);
        journal.extend(record(100, b"one"));
        let one = journal.len();
        journal.extend(record(300, b" two"));
        let both = JournalContents { job: 7, bytes: 300, notes: b"one two".to_vec() };
        assert_eq!(parse(&journal), Some((both, journal.len())));
        for len in one..journal.len() {
            let first = JournalContents { job: 7, bytes: 100, notes: b"one".to_vec() };
            assert_eq!(parse(&journal[..len]), Some((first, one)));
        }
        for damaged in 0..journal.len() {
            let mut journal = journal.clone();
            journal[damaged] ^= 0x10;
            let found = parse(&journal).map(|(noted, _)| (noted.job, noted.bytes));
            let expected = match damaged {
                8 => Some((7 ^ 0x10, 300)),
                9..16 => found.filter(|(job, bytes)| *job != 7 && *bytes == 300),
                _ if damaged < one => None,
                _ => Some((7, 100)),
            };
            assert_eq!(found, expected, "{damaged}");
        }
    }
}
