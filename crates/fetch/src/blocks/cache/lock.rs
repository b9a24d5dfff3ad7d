//! File locks of the operating system: they end with the process that holds them, however it ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that this process has locked, and its path; dropping it removes and unlocks the file.
#[derive(Debug)]
pub(super) struct FileLock {
    pub(super) file: File,
    path: PathBuf,
}

impl FileLock {
    /// Creates the file, or takes over one that a dead process left; `None` if another process holds it.
    pub(super) fn try_new(path: &Path) -> io::Result<Option<FileLock>> {
        loop {
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            if !try_lock(&file)? {
                return Ok(None);
            }
            // The previous holder may have renamed or removed it in the meantime: then another file is there
            // now.
            if is_at(&file, path)? {
                file.set_len(0)?;
                return Ok(Some(FileLock { file, path: path.to_owned() }));
            }
        }
    }

    /// Like [`try_new`](FileLock::try_new), but waits for the holder, on this thread; `None` after `longest`.
    pub(super) fn wait_for(path: &Path, longest: Duration) -> io::Result<Option<FileLock>> {
        let begin = Instant::now();
        loop {
            match FileLock::try_new(path)? {
                None if begin.elapsed() < longest => std::thread::sleep(Duration::from_millis(2)),
                locked => return Ok(locked),
            }
        }
    }

    /// Renames the file; an existing file of that name is replaced.
    pub(super) fn rename(self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Removed under the lock, before another process can take it. After a rename, there is nothing to
        // remove.
        if is_at(&self.file, &self.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
        unlock(&self.file);
    }
}

#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A forked process may hold the file open, too, so closing it would not be enough.
#[cfg(unix)]
fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn try_lock(_: &File) -> io::Result<bool> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "files cannot be locked on this system"))
}

#[cfg(not(unix))]
fn unlock(_: &File) {}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_holds_the_lock_and_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.part");
        fs::write(&path, "what a dead process left").unwrap();
        let first = FileLock::try_new(&path).unwrap().unwrap();
        assert_eq!(first.file.metadata().unwrap().len(), 0);
        assert!(FileLock::try_new(&path).unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        let second = FileLock::try_new(&path).unwrap().unwrap();
        second.rename(&folder.path().join("x.block")).unwrap();
        assert!(folder.path().join("x.block").exists() && !path.exists());
    }
}
