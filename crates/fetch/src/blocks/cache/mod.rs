//! A directory of blocks and decoded columns that processes share, and that outlives them.
//!
//! ```text
//! <directory>/<hash of the name>/latest           the version that was seen last, and when
//! <directory>/<hash of the name>/<version>/       one version of a file:
//!         <start>-<length>.block                  a block, with its checksum
//!         <start>-<length>.known                  the same for bytes that came with opening: head and tail
//!         <column>-<entries>-<cost>.column        some entries of a decoded column, with checksums
//!         ….part                                  a file that is being written; locked by its writer
//! ```
//!
//! Nothing is changed in place: a file is written under a name that ends with `.part`, and renamed when it is complete. A
//! damaged file is removed when it is read, and its content made again. A lock ends with the process that holds it.

mod block_file;
mod columns;
mod contents;
mod lock;
mod names;
mod record;
mod room;
mod shelf;
mod span_file;

pub use columns::{ColumnShelf, Span};
pub use contents::{CacheCheck, CachedFile};
pub(super) use shelf::Shelf;

use names::hashed;
use record::Latest;
use room::Room;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_source::Identity;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh64::xxh64;

/// What marks a directory that backups may leave out (<https://bford.info/cachedir/>).
const TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# Parts of files that sapwood read; all of it may be deleted.\n",
);

/// A directory of blocks and decoded columns.
#[derive(Debug, Clone)]
pub struct Cache {
    directory: PathBuf,
    room: Arc<Room>,
}

impl Cache {
    /// The cache in a directory that is made if it is not there; for the user alone, because others may not be
    /// allowed to read what lies in it.
    ///
    /// # Errors
    /// `Io` if it cannot be made.
    pub fn open(directory: impl Into<PathBuf>, size: u64) -> Result<Cache> {
        let directory = directory.into();
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Io, format!("the cache {} cannot be used: {error}", directory.display()))
                .caused_by(error)
        };
        make_private(&directory).map_err(failed)?;
        let tag = directory.join(TAG.0);
        if !tag.exists() {
            fs::write(tag, TAG.1).map_err(failed)?;
        }
        Ok(Cache { room: Arc::new(Room::new(&directory, size)), directory })
    }

    /// The blocks of one version of a file; `None` if nothing identifies this version.
    pub(super) fn shelf(&self, name: &str, identity: &Identity) -> Option<Shelf> {
        let version = identity.version.as_deref()?;
        let key = hashed(&format!("{}\n{version}", identity.size));
        let directory = self.of_name(name).join(&key);
        Some(Shelf::new(
            directory,
            xxh64(format!("{name}\n{key}").as_bytes(), 0),
            Arc::clone(&self.room),
            &identity.url,
        ))
    }

    /// The decoded columns of one version of a file, which its UUID identifies, too; `None` if nothing else does.
    pub fn columns(&self, name: &str, identity: &Identity, uuid: [u8; 16]) -> Option<ColumnShelf> {
        let version = identity.version.as_deref()?;
        let uuid = u128::from_be_bytes(uuid);
        let folder = self.of_name(name).join(hashed(&format!("{}\n{version}\n{uuid:032x}", identity.size)));
        if let Err(error) = self.remember(name, identity) {
            log::debug!(target: "sapwood.source", "{}: cannot write the cache: {error}", identity.url);
        }
        Some(ColumnShelf::new(folder, Arc::clone(&self.room), &identity.url))
    }

    /// The version of a file that was seen last.
    pub(super) fn latest(&self, name: &str) -> Option<Latest> {
        Latest::read(&self.of_name(name))
    }

    /// Remembers that the server was asked just now.
    pub(super) fn remember(&self, name: &str, identity: &Identity) -> io::Result<()> {
        record::write(&self.of_name(name), identity)
    }

    /// The folder of a file.
    fn of_name(&self, name: &str) -> PathBuf {
        self.directory.join(hashed(name))
    }
}

/// Creates a directory and its parents that only this user can read, because files may be private.
///
/// # Errors
/// Those of the system.
#[cfg(unix)]
pub fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Makes a directory, and those above it.
///
/// # Errors
/// Those of the system.
#[cfg(not(unix))]
pub fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}
