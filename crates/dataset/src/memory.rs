//! A sink in memory.

use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, FilePiece, Result};
use sapwood_sink::Sink;
use std::sync::{Arc, Mutex, PoisonError};

/// Collects a file in memory. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct MemorySink {
    file: Arc<Mutex<Vec<u8>>>,
    /// Largest size in bytes.
    limit: usize,
}

impl MemorySink {
    /// A sink for a file of at most this many bytes.
    pub(crate) fn new(limit: usize) -> MemorySink {
        MemorySink { file: Arc::default(), limit }
    }

    /// Takes the file, once it is complete.
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
            let message = format!("the file without the tree's entries has more than {} bytes", self.limit);
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
