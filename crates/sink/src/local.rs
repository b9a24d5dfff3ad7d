//! A new local file: written under another name beside its target, and moved there when it is complete.

use super::growing::GrowingFile;
use super::journal::Journal;
use super::lock::{Lock, is_at, lock};
use super::sink::{DAMAGED, Leftover, OTHER, Sink};
use sapwood_core::{Error, ErrorKind, FilePiece, Result, cannot_write, random_bytes};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// By this age a temporary file is locked, if its writer is still alive.
const UNLOCKED: Duration = Duration::from_secs(1);

/// A local file that is written.
///
/// It grows under a temporary name that ends with `.part`, in the directory of its target, since a move is atomic
/// only there. A process that is killed leaves that file and, if it kept notes, a journal whose name ends with
/// `.journal`; the next writer of the same target resumes from them, or removes them.
#[derive(Debug)]
pub struct LocalSink {
    target: PathBuf,
    part: TemporaryFile,
    file: GrowingFile,
    journal: Option<Journal>,
    /// True once a piece came, and once one could not be written.
    begun: bool,
    failed: bool,
}

/// The temporary file. Dropping this removes it and its journal, unless it stays.
#[derive(Debug)]
struct TemporaryFile {
    path: PathBuf,
    stays: bool,
    /// The process that made it: a fork of it does not remove the file when it drops this.
    process: u32,
}

impl TemporaryFile {
    fn new(path: PathBuf) -> TemporaryFile {
        TemporaryFile { path, stays: false, process: std::process::id() }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.stays && self.process == std::process::id() {
            remove(&self.path);
        }
    }
}

impl LocalSink {
    /// Makes the temporary file beside `target`, which need not exist, but its directory must.
    ///
    /// # Errors
    /// `NotFound` if there is no such directory, `Permission` if nothing may be written there, `Usage` if the
    /// target is a directory, otherwise `Io`.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref().to_owned();
        let name = target.display().to_string();
        if let Ok(old) = fs::metadata(&target) {
            // It would be replaced, which must not happen to /dev/null.
            if !old.is_file() {
                return Err(Error::usage("this is not a file, but a directory or a device").url(name));
            }
            if old.permissions().readonly() {
                return Err(Error::new(
                    ErrorKind::Permission,
                    "the file is there and must not be written to",
                )
                .url(name)
                .hint("make it writable, remove it, or choose another name"));
            }
        }
        let Some(file_name) = target.file_name() else {
            return Err(Error::usage("this is not the name of a file").url(name));
        };
        // A link stays a link: the file that it points to is replaced.
        let target = fs::canonicalize(&target).unwrap_or_else(|_| target.clone());
        let mut part_name = file_name.to_owned();
        part_name.push(format!(".{:08x}.part", u32::from_ne_bytes(random_bytes())));
        let path = target.with_file_name(part_name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| cannot_create(error, &target).url(&name))?;
        lock(&file);
        let (part, file) = (TemporaryFile::new(path), GrowingFile::new(name, file, 0));
        Ok(LocalSink { target, part, file, journal: None, begun: false, failed: false })
    }

    /// Resumes a part that an earlier run left, if it is of this job.
    fn adopt(&mut self, path: PathBuf, job: u64) -> io::Result<Leftover> {
        let file = File::options().write(true).open(&path)?;
        if lock(&file) != Lock::Ours || !is_at(&file, &path) {
            return Ok(Leftover::Nothing);
        }
        let Some((journal, noted)) = Journal::take_up(journal_of(&path))? else {
            return Ok(Leftover::Useless(DAMAGED));
        };
        if noted.job != job {
            return Ok(Leftover::Useless(OTHER));
        }
        if file.metadata()?.len() < noted.bytes {
            return Ok(Leftover::Useless("a part of it is lost"));
        }
        file.set_len(noted.bytes)?;
        self.file = GrowingFile::new(self.file.name().to_owned(), file, noted.bytes);
        (self.part, self.journal) = (TemporaryFile::new(path), Some(journal));
        Ok(Leftover::Kept { bytes: noted.bytes, notes: noted.notes })
    }
}

impl Sink for LocalSink {
    fn url(&self) -> &str {
        self.file.name()
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            remove_abandoned(&self.target);
        }
        let written = self.file.write(piece);
        self.failed |= written.is_err();
        written
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.file.finish()?;
        if self.target.exists() {
            // The data must be on the disk before it replaces a file; and a file that is replaced keeps its
            // permissions.
            self.file.tried(|file| file.set_permissions(fs::metadata(&self.target)?.permissions()))?;
            self.file.sync()?;
        }
        self.file.tried(|_| fs::rename(&self.part.path, &self.target))?;
        self.part.stays = true;
        remove(&journal_of(&self.part.path));
        Ok(())
    }

    fn take_up(&mut self, job: u64) -> Result<Leftover> {
        let mut found = Leftover::Nothing;
        for journal in beside(&self.target).into_iter().filter(|path| is_journal(path)) {
            let path = journal.with_extension("part");
            // A part that cannot be opened belongs to another writer, or is gone.
            match self.adopt(path, job) {
                Ok(Leftover::Nothing) | Err(_) => {}
                Ok(left @ Leftover::Kept { .. }) => return Ok(left),
                Ok(left) => found = left,
            }
        }
        self.journal = Some(Journal::new(journal_of(&self.part.path), job));
        Ok(found)
    }

    fn keep(&mut self, bytes: u64, note: &mut Vec<u8>) {
        let Some(journal) = self.journal.as_mut().filter(|journal| !journal.is_busy()) else { return };
        if self.failed || self.file.end() < bytes || self.file.flush().is_err() {
            self.failed = true;
            return;
        }
        if let Ok(part) = self.file.again() {
            journal.keep(Some(part), bytes, std::mem::take(note));
        }
    }

    fn leave(mut self: Box<Self>, bytes: u64, mut note: Vec<u8>) -> Option<String> {
        self.journal.as_mut()?.wait();
        self.keep(bytes, &mut note);
        let journal = self.journal.as_mut()?;
        journal.wait();
        self.part.stays = journal.is_kept();
        // On a full disk, other writers wait for the space that is reserved.
        let _ = self.file.give_back();
        self.part.stays.then(|| self.part.path.display().to_string())
    }
}

/// Removes the unlocked temporary files that earlier writers of this target left.
fn remove_abandoned(target: &Path) {
    for path in beside(target).into_iter().filter(|path| is_old(path)) {
        let is_abandoned = if is_journal(&path) {
            // The journal is made after its part, and removed after it.
            !path.with_extension("part").exists()
        } else {
            File::options().write(true).open(&path).is_ok_and(|file| lock(&file) == Lock::Ours)
        };
        if is_abandoned {
            remove(&path);
        }
    }
}

/// Removes a temporary file and its journal. A user without permission to remove them can still write beside them; an
/// error has nowhere to go, and nothing depends on it.
fn remove(part: &Path) {
    let _ = fs::remove_file(part);
    let _ = fs::remove_file(journal_of(part));
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "journal")
}

/// The journal of a temporary file.
fn journal_of(part: &Path) -> PathBuf {
    part.with_extension("journal")
}

/// True if a file is old enough that its writer, if alive, has locked it.
fn is_old(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > UNLOCKED)
}

/// The temporary files of a target, and their journals.
fn beside(target: &Path) -> Vec<PathBuf> {
    let directory = match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let name = target.file_name().and_then(|name| name.to_str());
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|one| name.is_some_and(|name| is_temporary(one, name)));
    names.map(|name| directory.join(name)).collect()
}

/// True for the temporary names of a file.
fn is_temporary(one: &str, name: &str) -> bool {
    let rest = one.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    let random = rest.and_then(|rest| rest.strip_suffix(".part").or_else(|| rest.strip_suffix(".journal")));
    random.is_some_and(|random| random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The error for a file that cannot be created beside `target`.
fn cannot_create(error: io::Error, target: &Path) -> Error {
    let directory = match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory.display().to_string(),
        _ => ".".to_owned(),
    };
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("there is no directory '{directory}'"))
                .hint("make it first")
                .caused_by(error)
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let message = format!("you are not allowed to write to the directory '{directory}'");
            Error::new(ErrorKind::Permission, message)
                .hint("choose another place for the file")
                .caused_by(error)
        }
        _ => cannot_write(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::growing::BUFFER;
    use super::*;
    use bytes::Bytes;

    fn piece(offset: u64, bytes: impl Into<Bytes>) -> FilePiece {
        FilePiece { offset, bytes: bytes.into(), provisional: false }
    }

    /// A directory of its own, and what is in it.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("sapwood-sink-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_committed() {
        let directory = directory("commit");
        let target = directory.join("a.root");
        let mut sink = LocalSink::create(&target).unwrap();
        sink.write(piece(0, &b"head...."[..])).unwrap();
        sink.write(piece(8, vec![7; 3 * BUFFER])).unwrap();
        sink.write(piece(8 + 3 * BUFFER as u64, &b"tail"[..])).unwrap();
        sink.write(piece(0, &b"HEAD"[..])).unwrap();
        assert!(!target.exists());
        Box::new(sink).commit().unwrap();
        let bytes = fs::read(&target).unwrap();
        assert_eq!(bytes.len(), 12 + 3 * BUFFER);
        assert!(bytes.starts_with(b"HEAD....\x07") && bytes.ends_with(b"\x07tail"));
        assert_eq!(names(&directory), ["a.root"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_dropped_leaves_the_old_file() {
        let directory = directory("drop");
        let target = directory.join("a.root");
        fs::write(&target, b"old").unwrap();
        let mut sink = LocalSink::create(&target).unwrap();
        sink.write(piece(0, &b"new"[..])).unwrap();
        assert_eq!(names(&directory).len(), 2);
        drop(sink);
        assert_eq!(names(&directory), ["a.root"]);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_others_left_is_removed() {
        let directory = directory("abandoned");
        let target = directory.join("a.root");
        let old = std::time::SystemTime::now() - 2 * UNLOCKED;
        let begin = || LocalSink::create(&target).unwrap().write(piece(0, &b"new"[..])).unwrap();
        let left = |name: &str| {
            let file = File::create(directory.join(name)).unwrap();
            file.set_modified(old).unwrap();
            file
        };
        for name in ["a.root.0123abcd.part", "b.root.0123abcd.part", "a.root.backup.part"] {
            drop(left(name));
        }
        for name in ["a.root.0123abcd.journal", "a.root.89abcdef.journal", "a.root.00000000.journal"] {
            drop(left(name));
        }
        let written = left("a.root.00000000.part");
        assert_eq!(lock(&written), Lock::Ours);
        begin();
        let theirs = ["a.root.00000000.journal", "a.root.00000000.part"];
        let not_ours = ["a.root.backup.part", "b.root.0123abcd.part"];
        assert_eq!(names(&directory), [theirs, not_ours].concat());
        drop(written);
        begin();
        assert_eq!(names(&directory), ["a.root.backup.part", "b.root.0123abcd.part"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn room_that_was_not_needed_is_given_back() {
        let directory = directory("room");
        let target = directory.join("a.root");
        let mut sink = LocalSink::create(&target).unwrap();
        for index in 0..24 {
            sink.write(piece(index * BUFFER as u64, vec![1; BUFFER])).unwrap();
        }
        Box::new(sink).commit().unwrap();
        let found = fs::metadata(&target).unwrap();
        assert_eq!(found.len(), 24 * BUFFER as u64);
        #[cfg(unix)]
        assert!(std::os::unix::fs::MetadataExt::blocks(&found) * 512 <= found.len() + (1 << 20));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_target_that_cannot_be_written_fails_at_once() {
        let directory = directory("refuse");
        let error = LocalSink::create(directory.join("none").join("a.root")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("make it first"), "{error}");
        assert_eq!(LocalSink::create(&directory).unwrap_err().kind(), ErrorKind::Usage);
        let target = directory.join("kept.root");
        fs::write(&target, b"old").unwrap();
        let mut permissions = fs::metadata(&target).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&target, permissions).unwrap();
        assert_eq!(LocalSink::create(&target).unwrap_err().kind(), ErrorKind::Permission);
        assert_eq!(names(&directory), ["kept.root"]);
        fs::remove_dir_all(directory).unwrap();
    }
}
