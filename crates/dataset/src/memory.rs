//! A file that is written to memory.

use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, FilePiece, Result};
use sapwood_sink::Sink;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes a file, which can be had when it is complete.
#[derive(Debug, Clone)]
pub(crate) struct MemorySink {
    file: Arc<Mutex<Vec<u8>>>,
    /// Largest size in bytes.
    limit: usize,
}

impl MemorySink {
    /// One for files of at most so many bytes.
    pub(crate) fn new(limit: usize) -> MemorySink {
        MemorySink { file: Arc::default(), limit }
    }

    /// The file.
    pub(crate) fn take(&self) -> Bytes {
        std::mem::take(&mut *self.file.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Sink for MemorySink {
    fn url(&self) -> &'static str {
        "memory:"
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        let too_large = || {
            let message = format!("what is beside the tree has more than {} bytes", self.limit);
            Error::new(ErrorKind::Limit, message)
        };
        let end = usize::try_from(piece.end()).ok().filter(|end| *end <= self.limit).ok_or_else(too_large)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.len() < end {
            file.resize(end, 0);
        }
        let start = end - piece.bytes.len();
        file.get_mut(start..end).into_iter().for_each(|place| place.copy_from_slice(&piece.bytes));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
