//! Writing without I/O: a writer returns the pieces of a file, and its caller puts them where they belong.

use bytes::Bytes;

/// Bytes of a file that is written, and their offset.
///
/// Pieces come in the order of the file, each where the previous one ended, except that `provisional` pieces
/// come again, with their final bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePiece {
    /// Offset of the first byte.
    pub offset: u64,
    /// The bytes.
    pub bytes: Bytes,
    /// True if these bytes will be written again: the header and the records of directories, whose contents
    /// are known last.
    pub provisional: bool,
}

impl FilePiece {
    /// Offset just after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}
