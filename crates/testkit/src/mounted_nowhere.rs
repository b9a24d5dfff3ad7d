//! The interface of `mounted` where it cannot mount anything: it is written for Linux.

use crate::mount_fault::MountFault;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A mounted directory: there is none here.
#[derive(Debug)]
pub struct MountedDirectory(std::convert::Infallible);

/// What the reads of a mounted directory do.
#[derive(Debug, Clone)]
pub struct MountedReads(std::convert::Infallible);

impl MountedDirectory {
    /// Fails.
    ///
    /// # Errors
    /// Always of kind `Unsupported`.
    pub fn mount(_: &Path, _: &Path, _: Duration) -> io::Result<MountedDirectory> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "directories are mounted on Linux only"))
    }

    /// The handle that sets the fault of its reads.
    #[must_use]
    pub fn reads(&self) -> MountedReads {
        match self.0 {}
    }
}

impl MountedReads {
    /// Sets the fault from now on.
    pub fn set_fault(&self, _: MountFault) {
        match self.0 {}
    }
}
