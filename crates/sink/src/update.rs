//! A local file that is extended: its old bytes stay as they are until the last moment.

use super::growing::GrowingFile;
use super::lock::{Lock, lock};
use super::sink::Sink;
use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, FilePiece, Result, cannot_write};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A local file to extend. Only one process extends it at a time.
#[derive(Debug)]
pub struct LocalUpdate {
    name: String,
    file: File,
    size: u64,
}

impl LocalUpdate {
    /// Opens a file, and locks it against other processes that want to extend it.
    ///
    /// # Errors
    /// `NotFound`, `Permission`, `Usage` if it is not a file, `Io` if another process extends it.
    pub fn open(path: impl AsRef<Path>) -> Result<LocalUpdate> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = fs::metadata(path).and_then(|found| {
            if found.is_file() {
                OpenOptions::new().read(true).write(true).open(path).map(Some)
            } else {
                Ok(None)
            }
        });
        let file = match opened {
            Ok(Some(file)) => file,
            Ok(None) => {
                return Err(Error::usage("this is not a file, but a directory or a device").url(name));
            }
            Err(error) => return Err(cannot_open(error).url(name)),
        };
        if lock(&file) == Lock::SomebodyElses {
            return Err(Error::new(ErrorKind::Io, "another process is adding to the file")
                .url(name)
                .hint("try again when it has ended"));
        }
        let size = file.metadata().map_err(|error| cannot_write(error).url(&name))?.len();
        Ok(LocalUpdate { name, file, size })
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of a range.
    ///
    /// # Errors
    /// `Truncated` if it goes beyond the end, otherwise `Io`.
    pub fn read(&mut self, range: ByteRange) -> Result<Bytes> {
        let len = usize::try_from(range.len).ok().filter(|_| range.end() <= self.size);
        let Some(len) = len else {
            return Err(range.beyond(self.size).url(&self.name));
        };
        let mut bytes = vec![0; len];
        let read =
            self.file.seek(SeekFrom::Start(range.start)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| {
            let message = format!("the file cannot be read: {error}");
            Error::new(ErrorKind::Io, message).at(range.start).url(&self.name).caused_by(error)
        })?;
        Ok(bytes.into())
    }

    /// The sink for new bytes from `end` on. Pieces before `end` come last: they are kept until
    /// [`commit`](Sink::commit), and then written in order, after all others are on the disk.
    pub fn sink(self, end: u64) -> Box<dyn Sink> {
        let LocalUpdate { name, file, size } = self;
        Box::new(UpdateSink {
            file: GrowingFile::new(name, file, end),
            from: end,
            size,
            held: vec![],
            begun: false,
        })
    }
}

/// Extends a file.
#[derive(Debug)]
struct UpdateSink {
    file: GrowingFile,
    /// Where the new bytes begin.
    from: u64,
    /// The size of the file before.
    size: u64,
    held: Vec<FilePiece>,
    /// True once an old byte may have changed.
    begun: bool,
}

impl Sink for UpdateSink {
    fn url(&self) -> &str {
        self.file.name()
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        if piece.offset < self.from {
            self.held.push(piece);
            return Ok(());
        }
        self.file.write(piece)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.file.finish()?;
        if self.held.is_empty() {
            return Ok(());
        }
        self.file.sync()?;
        self.begun = true;
        for piece in std::mem::take(&mut self.held) {
            self.file.write(piece)?;
            // The header holds the end of the file, and must not reach the disk before the records that it refers to.
            self.file.sync()?;
        }
        Ok(())
    }
}

impl Drop for UpdateSink {
    fn drop(&mut self) {
        if !self.begun {
            // Bytes after the end have no meaning.
            self.file.abandon(self.size);
        }
    }
}

fn cannot_open(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "there is no such file")
            .hint("`recreate` makes a new one")
            .caused_by(error),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::new(ErrorKind::Permission, "you are not allowed to write to the file")
                .hint("make it writable, or copy it first")
                .caused_by(error)
        }
        _ => cannot_write(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::TestDirectory;

    fn file() -> (TestDirectory, String) {
        let directory = TestDirectory::new();
        let path = directory.file("old.root", "HEADold.");
        (directory, path)
    }

    fn piece(offset: u64, bytes: &'static [u8]) -> FilePiece {
        FilePiece { offset, bytes: Bytes::from_static(bytes), provisional: false }
    }

    #[test]
    fn old_bytes_change_last() {
        let (_directory, path) = file();
        let mut update = LocalUpdate::open(&path).unwrap();
        assert_eq!(
            (update.size(), &update.read(ByteRange { start: 4, len: 3 }).unwrap()[..]),
            (8, &b"old"[..])
        );
        assert_eq!(update.read(ByteRange { start: 4, len: 5 }).unwrap_err().kind(), ErrorKind::Truncated);
        let mut sink = update.sink(7);
        sink.write(piece(7, b"new")).unwrap();
        sink.write(piece(0, b"head")).unwrap();
        sink.write(piece(10, b"er")).unwrap();
        sink.write(piece(8, b"E")).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"HEADold"));
        sink.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headoldnEwer");
    }

    #[test]
    fn an_abandoned_update_leaves_the_old_file() {
        let (_directory, path) = file();
        let mut sink = LocalUpdate::open(&path).unwrap().sink(8);
        sink.write(piece(8, b"new")).unwrap();
        sink.write(piece(0, b"head")).unwrap();
        drop(sink);
        assert_eq!(fs::read(&path).unwrap(), b"HEADold.");
    }

    #[cfg(unix)]
    #[test]
    fn only_one_process_extends_a_file() {
        let (_directory, path) = file();
        let first = LocalUpdate::open(&path).unwrap();
        let error = LocalUpdate::open(&path).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        LocalUpdate::open(&path).unwrap();
    }

    #[test]
    fn a_missing_file_cannot_be_extended() {
        let nowhere = std::env::temp_dir().join("sapwood-no-such-file.root");
        assert_eq!(LocalUpdate::open(nowhere).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(LocalUpdate::open(std::env::temp_dir()).unwrap_err().kind(), ErrorKind::Usage);
    }
}
