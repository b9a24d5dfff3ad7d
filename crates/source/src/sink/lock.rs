//! Locks of files that are written: they end with the process, however that ends.

use std::fs::File;

/// What became of a wish for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Ours,
    SomebodyElses,
    /// Some file systems have no locks.
    Unknown,
}

/// Locks a file, if nobody else did.
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
