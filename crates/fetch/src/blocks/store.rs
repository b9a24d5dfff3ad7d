//! Stores of blocks on the local disk: the interface between fetching blocks and the two places that keep
//! them.

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

    /// Reserves space for a block that is to be fetched.
    fn reserve(&self, block: ByteRange) -> Reservation;

    /// Number of blocks that are kept, as far as known.
    fn kept(&self) -> u64;

    /// The file has another version now.
    fn outdated(&self);
}

/// The answer to a request to fetch a block.
#[derive(Debug)]
pub(super) enum Reservation {
    /// It has arrived in the meantime.
    Here(StoredBlock),
    /// The caller fetches it and writes it there.
    Ours(Box<dyn BlockWriter>),
    /// Another process is fetching it.
    Elsewhere,
    /// It cannot be kept.
    Nowhere,
}

/// Writes a block. If it is dropped unused, others may fetch the block.
pub(super) trait BlockWriter: fmt::Debug + Send {
    /// Keeps the bytes of the block; false if that fails.
    fn keep(self: Box<Self>, bytes: &[u8]) -> bool;
}

/// A block on the disk. It can be read as long as this exists, even if the store evicts it.
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

    /// Holds `lease` as long as the block can be read.
    pub(super) fn with_lease(self, lease: Arc<dyn Any + Send + Sync>) -> Self {
        StoredBlock { _keeps: Some(lease), ..self }
    }

    /// Bytes of the block.
    pub(super) fn len(&self) -> u64 {
        self.place.len
    }

    /// A part of the block; offsets count from its start.
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
