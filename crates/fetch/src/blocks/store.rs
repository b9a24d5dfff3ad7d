//! What keeps blocks on the local disk: the border between fetching them and the two places where they are kept.

use bytes::Bytes;
use sapwood_core::ByteRange;
use std::any::Any;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Keeps blocks of one file. All calls may wait for the disk.
pub(super) trait BlockStore: fmt::Debug + Send + Sync {
    /// A block that is kept.
    fn find(&self, block: ByteRange) -> Option<StoredBlock>;

    /// A place for a block that shall be fetched.
    fn reserve(&self, block: ByteRange) -> Reservation;

    /// Number of blocks that are kept, as far as is known.
    fn kept(&self) -> u64;

    /// The file has another version by now.
    fn outdated(&self);
}

/// The answer to somebody who wants to fetch a block.
#[derive(Debug)]
pub(super) enum Reservation {
    /// It is there by now.
    Here(StoredBlock),
    /// It is his to fetch, and is to be put there.
    Ours(Box<dyn BlockWriter>),
    /// Another process fetches it just now.
    Elsewhere,
    /// It cannot be kept.
    Nowhere,
}

/// Where a block is to be put. Dropped without, the block is free for others to fetch.
pub(super) trait BlockWriter: fmt::Debug + Send {
    /// Keeps the bytes of the block; false if that does not work.
    fn keep(self: Box<Self>, bytes: &[u8]) -> bool;
}

/// A block on the disk. It can be read for as long as this is there, even if the store lets it go.
#[derive(Debug, Clone)]
pub(super) struct StoredBlock {
    file: Arc<File>,
    /// Where the block begins in the file of the store, and how long it is.
    place: ByteRange,
    _keeps: Option<Arc<dyn Any + Send + Sync>>,
}

impl StoredBlock {
    /// The block that lies at `place` of `file`.
    pub(super) fn new(file: Arc<File>, place: ByteRange) -> Self {
        StoredBlock { file, place, _keeps: None }
    }

    /// Keeps `lease` for as long as the block can be read.
    pub(super) fn with_lease(self, lease: Arc<dyn Any + Send + Sync>) -> Self {
        StoredBlock { _keeps: Some(lease), ..self }
    }

    /// Bytes of the block.
    pub(super) fn len(&self) -> u64 {
        self.place.len
    }

    /// A part of the block, which counts from its start.
    ///
    /// # Errors
    /// Those of the operating system; `UnexpectedEof` if the file became shorter.
    pub(super) fn read(&self, part: ByteRange) -> io::Result<Bytes> {
        if part.end() > self.place.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; usize::try_from(part.len).map_err(io::Error::other)?];
        read_exact_at(&self.file, &mut bytes, self.place.start + part.start)?;
        Ok(bytes.into())
    }
}

/// Fills `bytes` from a position of a file.
#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Writes `bytes` to a position of a file.
#[cfg(unix)]
pub(super) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                at += read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                bytes = bytes.get(written..).unwrap_or_default();
                at += written as u64;
            }
        }
    }
    Ok(())
}
