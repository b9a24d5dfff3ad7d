//! A local file that grows: it collects pieces, and writes them at their offsets.

use super::background::{BackgroundWriter, Failure, write_at};
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, FilePiece, Result, cannot_write};
use std::fs::File;
use std::io;

/// Bytes to collect before writing, up to an offset that is a multiple of this: few enough that bytes that were just
/// read are still in the processor's cache. Systems keep files in pages of such sizes at such offsets; writes that
/// begin elsewhere cost a third more.
pub(super) const BUFFER: usize = 256 << 10;
/// Pieces that are written together; systems take at most 1024 of them.
const PIECES: usize = 512;
/// Space is reserved in steps of the file's size, between these bounds: a file system that knows what comes does less
/// work for each page.
const LEAST_ROOM: u64 = 4 << 20;
const MOST_ROOM: u64 = 64 << 20;

/// A file, open for writing.
#[derive(Debug)]
pub(super) struct GrowingFile {
    name: String,
    file: File,
    /// Pieces that wait to be written.
    waiting: Vec<Bytes>,
    /// Offset after the last byte that was written or collected, and of the first byte that is collected.
    end: u64,
    waiting_at: u64,
    /// The offset up to which space is reserved; `None` if the file system cannot reserve any.
    room: Option<u64>,
    /// The thread that writes, if the file is not small.
    behind: Option<BackgroundWriter>,
    /// True once something could not be written: then nothing more is written, whichever call saw the error.
    lost: bool,
    /// The process that writes. A fork of it has no such thread, and would wait for it forever.
    process: u32,
}

impl GrowingFile {
    /// A file that grows from `end` on; errors call it `name`.
    pub(super) fn new(name: String, file: File, end: u64) -> GrowingFile {
        let process = std::process::id();
        GrowingFile {
            name,
            file,
            waiting: Vec::new(),
            end,
            waiting_at: end,
            room: Some(end),
            behind: None,
            lost: false,
            process,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a piece: the next one, or one that comes again.
    pub(super) fn write(&mut self, piece: FilePiece) -> Result<()> {
        if piece.offset != self.end {
            self.flush_to(self.end)?;
            return self.write_at(piece.offset, vec![piece.bytes]);
        }
        self.end = piece.end();
        self.waiting.push(piece.bytes);
        loop {
            let full = (self.waiting_at / BUFFER as u64 + 1) * BUFFER as u64;
            if full > self.end {
                break;
            }
            self.flush_to(full)?;
        }
        if self.waiting.len() >= PIECES {
            self.flush_to(self.end)?;
        }
        Ok(())
    }

    /// Writes all collected pieces, and waits until they are written.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.flush_to(self.end)?;
        self.settle()
    }

    /// Writes collected pieces up to an offset in the last one.
    fn flush_to(&mut self, to: u64) -> Result<()> {
        if to == self.waiting_at {
            return Ok(());
        }
        self.make_room();
        let mut waiting = std::mem::take(&mut self.waiting);
        if let Some(last) = waiting.last_mut()
            && to < self.end
        {
            let behind = usize::try_from(self.end - to).unwrap_or(usize::MAX);
            self.waiting.push(last.split_off(last.len().saturating_sub(behind)));
        }
        self.write_at(self.waiting_at, waiting)?;
        self.waiting_at = to;
        Ok(())
    }

    /// Writes all collected pieces, and releases the reserved space that was not needed.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.give_back().map_err(|error| cannot_write(error).url(&self.name))
    }

    /// Releases the reserved space that was not needed, even if pieces could not be written.
    pub(super) fn give_back(&mut self) -> io::Result<()> {
        // The next call that writes reports the error.
        let _ = self.settle();
        match self.room.take() {
            Some(room) if room > self.end || self.lost => self.file.set_len(self.file.metadata()?.len()),
            _ => Ok(()),
        }
    }

    /// Offset after the last byte that was written or collected.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// A second handle of the open file.
    pub(super) fn again(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Waits until what was written is on the disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.tried(|file| file.sync_all())
    }

    /// Does something with the file after all pending writes; converts its error.
    pub(super) fn tried<T>(&mut self, work: impl FnOnce(&mut File) -> io::Result<T>) -> Result<T> {
        self.settle()?;
        work(&mut self.file).map_err(|error| cannot_write(error).url(&self.name))
    }

    /// Truncates the file to this size, even if pieces could not be written.
    pub(super) fn abandon(&mut self, bytes: u64) {
        // An error here has nowhere to go. The parent of a fork still writes to the file.
        let _ = self.settle();
        if self.is_ours() {
            let _ = self.file.set_len(bytes);
        }
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Reserves space for more than the next write, in files that are not small.
    fn make_room(&mut self) {
        let Some(room) = self.room.filter(|&room| self.end > room && self.end >= LEAST_ROOM) else { return };
        let len = (self.end - room).max(self.end.clamp(LEAST_ROOM, MOST_ROOM));
        // If there is none, the write reports it.
        self.room = reserve(&self.file, room, len).then_some(room + len);
    }

    /// Writes pieces, on a separate thread once the file is not small.
    fn write_at(&mut self, offset: u64, pieces: Vec<Bytes>) -> Result<()> {
        if !self.is_ours() {
            let message = "this process is a fork of the one that writes the file";
            return Err(Error::usage(message).url(&self.name).hint("create another file"));
        }
        if self.lost {
            return Err(self.incomplete().at(offset));
        }
        if self.behind.is_none() && self.end >= LEAST_ROOM {
            // Without a thread, this one writes.
            self.behind = BackgroundWriter::start(&self.file).ok();
        }
        let Some(behind) = &self.behind else {
            let written = write_at(&mut self.file, offset, &pieces);
            return written.map_err(|error| self.failed((offset, error)));
        };
        if behind.write(offset, pieces) {
            return Ok(());
        }
        self.settle().and(Err(self.incomplete().at(offset)))
    }

    /// Waits for all pending writes.
    fn settle(&mut self) -> Result<()> {
        match self.behind.take() {
            Some(behind) if self.is_ours() => behind.end().map_err(|failure| self.failed(failure)),
            // Its thread may hold the lock of their channel forever: even dropping it would wait.
            behind => {
                std::mem::forget(behind);
                if self.lost { Err(self.incomplete()) } else { Ok(()) }
            }
        }
    }

    fn failed(&mut self, (offset, error): Failure) -> Error {
        self.lost = true;
        cannot_write(error).url(&self.name).at(offset)
    }

    fn incomplete(&self) -> Error {
        Error::new(ErrorKind::Io, "a part of the file could not be written").url(&self.name)
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        if !self.is_ours() {
            let _ = self.settle();
        }
    }
}

/// Reserves space after the end of a file, whose length stays; false if that fails.
#[cfg(target_os = "linux")]
fn reserve(file: &File, start: u64, len: u64) -> bool {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, start, len).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_become_one_file() {
        let directory = sapwood_testkit::TestDirectory::new();
        let path = directory.file("growing", "before");
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut growing = GrowingFile::new("growing".to_owned(), file, 6);
        // All but the last pieces keep the file small; after them, a thread writes.
        let sizes = [1, 0, BUFFER - 8, 1, BUFFER, 3 * BUFFER + 5, 2, 2 * BUFFER - 2, 5 << 20, 7, BUFFER];
        let mut expected = b"before".to_vec();
        for (index, len) in sizes.into_iter().chain([1; 2 * PIECES]).enumerate() {
            let offset = expected.len() as u64;
            expected.extend((0..len).map(|at| u8::try_from((at + index) % 251).unwrap()));
            let bytes = Bytes::copy_from_slice(&expected[offset as usize..]);
            growing.write(FilePiece { offset, bytes, provisional: false }).unwrap();
        }
        let again = FilePiece { offset: 2, bytes: Bytes::from_static(b"F"), provisional: false };
        growing.write(again).unwrap();
        expected[2] = b'F';
        growing.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == expected);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_with_lost_bytes_stays_incomplete() {
        for len in [BUFFER, 8 << 20] {
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let mut growing = GrowingFile::new("full".to_owned(), full, 0);
            let piece = |offset| FilePiece { offset, bytes: vec![0; len].into(), provisional: false };
            assert!(growing.write(piece(0)).is_err() || growing.flush().is_err());
            // There is space again.
            growing.file = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
            assert!(growing.write(piece(growing.end())).is_err());
            assert!(growing.flush().is_err() && growing.finish().is_err() && growing.sync().is_err());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error() {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut growing = GrowingFile::new("full".to_owned(), file, 0);
        let piece = FilePiece { offset: 0, bytes: vec![0; BUFFER].into(), provisional: false };
        let error = growing.write(piece).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Io, Some(0)));
        assert!(error.to_string().contains("no room left"), "{error}");
    }
}
