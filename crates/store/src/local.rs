//! A store in a local or mounted directory: a key is the path of a file below it.

use super::key;
use super::store::{CreateOutcome, ObjectInfo, Store};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, random_bytes};
use sapwood_source::{RequestAccounting, SourceOptions};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;

/// Where files are written before they are moved to their paths. No part of a key begins with a dot.
const PARTS: &str = ".part";

/// From this age on, a temporary file is considered abandoned by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Objects as the files of a directory, which is made when it is first written to.
///
/// Written data is on the disk before an operation returns. A created file gets its name by a hard link, which
/// exactly one of several writers can make, over NFS as well. In a tokio runtime, blocking threads do the work, so
/// that the deadline holds even if the disk does not respond.
#[derive(Debug)]
pub struct LocalStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    url: String,
    accounting: RequestAccounting,
    /// True once abandoned files were searched for.
    swept: AtomicBool,
}

impl LocalStore {
    /// The store in a directory. Nothing is read or written yet.
    pub fn new(root: impl Into<PathBuf>, options: &SourceOptions) -> Self {
        let root = root.into();
        let url = root.display().to_string();
        let accounting = RequestAccounting::new(Arc::clone(&options.counters), None);
        LocalStore { inner: Arc::new(Inner { root, url, accounting, swept: AtomicBool::new(false) }) }
    }

    /// Does something with the file of a key, if that is `legal`, and waits for it until the deadline.
    fn act<'a, T: Send + 'static>(
        &'a self,
        place: &'a str,
        legal: Result<()>,
        deadline: Deadline,
        act: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'a, Result<T>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let done = async {
                legal?;
                if deadline.has_passed() {
                    return Err(too_late());
                }
                let Ok(runtime) = Handle::try_current() else { return act(&inner) };
                let work = runtime.spawn_blocking(move || act(&inner));
                match tokio::time::timeout_at(deadline.instant().into(), work).await {
                    Ok(Ok(done)) => done,
                    Ok(Err(_)) => Err(Error::new(ErrorKind::Cancelled, "the work on the file was cancelled")),
                    Err(_) => Err(too_late()),
                }
            };
            done.await.map_err(|error| error.url(self.inner.name(place)))
        })
    }
}

impl Inner {
    fn name(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    fn get(&self, key: &str, range: Option<ByteRange>) -> Result<Bytes> {
        self.accounting.read(1);
        let read = self.read(key, range);
        self.accounting.received(read.as_ref().map_or(0, Bytes::len));
        read
    }

    fn read(&self, key: &str, range: Option<ByteRange>) -> Result<Bytes> {
        let mut file = File::open(self.path(key)).map_err(cannot_read)?;
        let size = object(&file.metadata().map_err(cannot_read)?)?;
        let range = range.unwrap_or(ByteRange { start: 0, len: size });
        let end = range.start.checked_add(range.len).filter(|end| *end <= size);
        let (Some(_), Ok(len)) = (end, usize::try_from(range.len)) else {
            return Err(range.beyond(size));
        };
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start)).map_err(cannot_read)?;
        }
        let mut content = Vec::with_capacity(len);
        file.take(range.len).read_to_end(&mut content).map_err(cannot_read)?;
        match content.len() == len {
            true => Ok(content.into()),
            false => Err(range.beyond(range.start + content.len() as u64)),
        }
    }

    /// Writes a temporary file to the disk.
    fn part(&self, content: &[u8]) -> Result<TemporaryFile> {
        let parts = self.root.join(PARTS);
        fs::create_dir_all(&parts).map_err(|error| cannot_write(error, &parts))?;
        self.sweep(&parts);
        let path = parts.join(format!("{:032x}", u128::from_ne_bytes(random_bytes())));
        let mut file = File::create_new(&path).map_err(|error| cannot_write(error, &parts))?;
        let part = TemporaryFile { path, moved: false };
        file.write_all(content).and_then(|()| file.sync_all()).map_err(sapwood_core::cannot_write)?;
        Ok(part)
    }

    /// Removes abandoned files, once in the life of this store.
    fn sweep(&self, parts: &Path) {
        if self.swept.swap(true, Ordering::Relaxed) {
            return;
        }
        for entry in fs::read_dir(parts).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > ABANDONED) {
                // An error has nowhere to go, and nothing depends on it.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The path of a key; makes its directory.
    fn target(&self, key: &str) -> Result<PathBuf> {
        let target = self.path(key);
        let directory = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory).map_err(|error| cannot_write(error, directory))?;
        Ok(target)
    }

    fn put(&self, key: &str, content: &[u8]) -> Result<()> {
        let target = self.target(key)?;
        let mut part = self.part(content)?;
        fs::rename(&part.path, &target).map_err(sapwood_core::cannot_write)?;
        part.moved = true;
        sync_directory(&target)
    }

    fn create(&self, key: &str, content: &[u8]) -> Result<CreateOutcome> {
        let target = self.target(key)?;
        // Most writers that lose the race find the file already, and need not write.
        if target.try_exists().unwrap_or(false) {
            return Ok(CreateOutcome::Exists);
        }
        let part = self.part(content)?;
        if let Err(error) = fs::hard_link(&part.path, &target) {
            // NFS can lose the answer and find the link when it asks again: a file with two names is ours.
            if links(&part.path) != Some(2) {
                return without_link(error, &part.path, &target);
            }
        }
        Ok(match sync_directory(&target) {
            Ok(()) => CreateOutcome::Done,
            Err(error) => CreateOutcome::Unclear(error),
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let directory = prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut listed = Vec::new();
        let mut waiting = vec![directory.to_owned()];
        while let Some(directory) = waiting.pop() {
            let entries = match fs::read_dir(self.path(&directory)) {
                Ok(entries) => entries,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(cannot_read(error)),
            };
            for entry in entries {
                let entry = entry.map_err(cannot_read)?;
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                let key = if directory.is_empty() { name } else { format!("{directory}/{name}") };
                // Files that are not objects are skipped; a file that was just removed is not listed.
                let Ok(metadata) = fs::metadata(entry.path()) else { continue };
                if key::check(&key).is_err() || !key.starts_with(prefix) {
                    continue;
                }
                if metadata.is_dir() && entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                    waiting.push(key);
                } else if metadata.is_file() {
                    listed.push(stored(key, &metadata)?);
                }
            }
        }
        listed.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    fn delete(&self, keys: &[String]) -> Result<()> {
        for key in keys {
            match fs::remove_file(self.path(key)) {
                Err(error) if !is_missing(&error) => {
                    return Err(cannot_write(error, &self.path(key)).url(self.name(key)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The time that the file system stamps on a file now: that of its server, if it has one.
    fn now(&self) -> Result<SystemTime> {
        let part = self.part(&[])?;
        fs::metadata(&part.path).and_then(|metadata| metadata.modified()).map_err(cannot_read)
    }
}

/// A temporary file. Dropping this removes it, unless it was moved.
struct TemporaryFile {
    path: PathBuf,
    moved: bool,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.moved {
            // An error has nowhere to go, and nothing depends on it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Names the file on file systems without hard links; or returns why linking failed.
fn without_link(error: io::Error, part: &Path, target: &Path) -> Result<CreateOutcome> {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Ok(CreateOutcome::Exists);
    }
    #[cfg(target_os = "linux")]
    if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        return match renameat_with(CWD, part, CWD, target, RenameFlags::NOREPLACE).map_err(io::Error::from) {
            Ok(()) => sync_directory(target)
                .map(|()| CreateOutcome::Done)
                .or_else(|error| Ok(CreateOutcome::Unclear(error))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(CreateOutcome::Exists),
            Err(error) => Err(cannot_write(error, target)),
        };
    }
    // Over a network it may have been done nevertheless.
    let _ = part;
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull => {
            Err(cannot_write(error, target))
        }
        _ => Ok(CreateOutcome::Unclear(sapwood_core::cannot_write(error))),
    }
}

/// How many names a file has.
fn links(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|metadata| metadata.nlink())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Waits until the name of a file is on the disk.
fn sync_directory(target: &Path) -> Result<()> {
    let Some(directory) = target.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync directories, and need not.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        Err(error) => Err(sapwood_core::cannot_write(error)),
        Ok(()) => Ok(()),
    }
}

fn stored(key: String, metadata: &Metadata) -> Result<ObjectInfo> {
    let modified = metadata.modified().map_err(cannot_read)?;
    Ok(ObjectInfo { key, size: metadata.len(), modified })
}

/// The size of a file; a directory is not an object.
fn object(metadata: &Metadata) -> Result<u64> {
    match metadata.is_file() {
        true => Ok(metadata.len()),
        false => Err(Error::new(ErrorKind::NotFound, "this is a directory, not an object")),
    }
}

/// True if nothing has the name. A part of the path may be a file.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn cannot_read(error: io::Error) -> Error {
    sapwood_core::cannot_read(error, "there is no such object")
}

fn cannot_write(error: io::Error, place: &Path) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let message = format!("you are not allowed to write to '{}'", place.display());
            Error::new(ErrorKind::Permission, message).caused_by(error)
        }
        _ => sapwood_core::cannot_write(error),
    }
}

fn too_late() -> Error {
    Error::new(ErrorKind::Timeout, "the deadline passed before the file system was done")
}

impl Store for LocalStore {
    fn url(&self) -> &str {
        &self.inner.url
    }

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        let owned = key.to_owned();
        self.act(key, key::check(key), deadline, move |inner| inner.get(&owned, range))
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let owned = key.to_owned();
        self.act(key, key::check(key), deadline, move |inner| inner.put(&owned, &content))
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        let (owned, begun) = (key.to_owned(), Arc::new(OnceLock::new()));
        let begins = Arc::clone(&begun);
        let created = self.act(key, key::check(key), deadline, move |inner| {
            // The caller may have given up: it then returned an error that states that nothing was begun.
            match begins.set(true) {
                Ok(()) => inner.create(&owned, &content),
                Err(_) => Err(too_late()),
            }
        });
        Box::pin(async move {
            match created.await {
                // From here on it can no longer begin.
                Err(error) if error.kind() == ErrorKind::Timeout && begun.set(false).is_err() => {
                    Ok(CreateOutcome::Unclear(error))
                }
                other => other,
            }
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        let owned = prefix.to_owned();
        self.act(prefix, key::check_prefix(prefix), deadline, move |inner| inner.list(&owned))
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        let owned = key.to_owned();
        self.act(key, key::check(key), deadline, move |inner| {
            let metadata = fs::metadata(inner.path(&owned)).map_err(cannot_read)?;
            object(&metadata)?;
            stored(owned, &metadata)
        })
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let legal = keys.iter().try_for_each(|key| key::check(key));
        let owned = keys.to_vec();
        self.act("", legal, deadline, move |inner| inner.delete(&owned))
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        self.act("", Ok(()), deadline, Inner::now)
    }
}
