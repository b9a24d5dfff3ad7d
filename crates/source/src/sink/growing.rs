//! A local file that grows: pieces are collected, and written where they belong.

use sapwood_core::{Error, ErrorKind, Piece, Result};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Bytes that are collected before they are written.
pub(super) const BUFFER: usize = 1 << 20;

/// A file, open for writing.
#[derive(Debug)]
pub(super) struct Growing {
    name: String,
    file: File,
    buffer: Vec<u8>,
    /// Offset behind what is written and buffered, and of the buffer's first byte.
    end: u64,
    buffer_at: u64,
}

impl Growing {
    /// A file that grows from `end` on; errors call it `name`.
    pub(super) fn new(name: String, file: File, end: u64) -> Growing {
        Growing { name, file, buffer: Vec::new(), end, buffer_at: end }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a piece: the next one, or one that comes again.
    pub(super) fn write(&mut self, piece: &Piece) -> Result<()> {
        if piece.offset != self.end {
            self.flush()?;
            return self.write_at(piece.offset, &piece.bytes);
        }
        self.end = piece.end();
        if self.buffer.len() + piece.bytes.len() > BUFFER {
            self.flush()?;
        }
        if piece.bytes.len() < BUFFER {
            self.buffer.extend_from_slice(&piece.bytes);
            return Ok(());
        }
        self.write_at(piece.offset, &piece.bytes)?;
        self.buffer_at = self.end;
        Ok(())
    }

    /// Writes what was collected.
    pub(super) fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write_at(self.buffer_at, &buffer)?;
        self.buffer_at += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Waits until what was written is on the disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.tried(|file| file.sync_all())
    }

    /// Does something with the file; its error becomes one of ours.
    pub(super) fn tried<T>(&mut self, work: impl FnOnce(&mut File) -> io::Result<T>) -> Result<T> {
        work(&mut self.file).map_err(|error| io_error(error).url(&self.name))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let written = self.tried(|file| {
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)
        });
        written.map_err(|error| error.at(offset))
    }
}

/// What a failure to write means.
pub(crate) fn io_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = "there is no room left on the disk; what was there before is unchanged";
            Error::new(ErrorKind::Io, message).hint("free some, or choose another place for the file")
        }
        io::ErrorKind::FileTooLarge => Error::new(
            ErrorKind::Io,
            "the file is longer than the file system or a limit of the process allows",
        )
        .hint("see 'ulimit -f', or choose another place for the file"),
        _ => Error::new(ErrorKind::Io, format!("the operating system cannot write the file: {error}")),
    }
    .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        let error = io_error(io::Error::from(io::ErrorKind::StorageFull));
        assert!(error.to_string().contains("no room left"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_without_room_is_full() {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut growing = Growing::new("full".to_owned(), file, 0);
        let piece = Piece { offset: 0, bytes: vec![0; BUFFER].into(), provisional: false };
        let error = growing.write(&piece).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Io, Some(0)));
        assert!(error.to_string().contains("no room left"), "{error}");
    }
}
