//! Locks of files that are being written. They end with the process, however that ends.

use std::fs::File;
#[cfg(unix)]
use std::fs::{Metadata, metadata};
use std::path::Path;

/// The result of locking a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Ours,
    SomebodyElses,
    /// Some file systems have no locks.
    Unknown,
}

/// Locks a file, unless another process has locked it.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Ours,
        Err(rustix::io::Errno::WOULDBLOCK) => Lock::SomebodyElses,
        Err(_) => Lock::Unknown,
    }
}

#[cfg(not(unix))]
pub(super) fn lock(_: &File) -> Lock {
    Lock::Unknown
}

/// True if a path still names this file: its last owner may have moved it to its target.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: Metadata| (found.dev(), found.ino());
    let both = file.metadata().map(place).ok().zip(metadata(path).map(place).ok());
    both.is_some_and(|(file, path)| file == path)
}

#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    false
}
