//! A thread that writes blocks to a file in order, while its owner makes the next ones.

use bytes::Bytes;
use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Blocks that may wait for the thread: so few that their bytes are still in the processor's cache.
const WAITING: usize = 4;

/// Consecutive pieces, and the offset of the first.
type Block = (u64, Vec<Bytes>);

/// The offset of a block that could not be written, and why.
pub(super) type Failure = (u64, io::Error);

/// The thread. When this is dropped, it writes the blocks that wait, and ends.
#[derive(Debug)]
pub(super) struct BackgroundWriter {
    sender: SyncSender<Block>,
    thread: JoinHandle<Result<(), Failure>>,
}

impl BackgroundWriter {
    /// A thread for a file that nothing else writes to until the thread ends.
    pub(super) fn start(file: &File) -> io::Result<BackgroundWriter> {
        let (sender, receiver) = sync_channel(WAITING);
        let file = file.try_clone()?;
        let thread =
            Builder::new().name("sapwood-write".to_owned()).spawn(|| write_blocks(file, receiver))?;
        Ok(BackgroundWriter { sender, thread })
    }

    /// Hands a block to the thread; waits while too many others are before it. False if an earlier block could not be
    /// written: [`end`](Self::end) then says which.
    pub(super) fn write(&self, offset: u64, pieces: Vec<Bytes>) -> bool {
        self.sender.send((offset, pieces)).is_ok()
    }

    /// Waits until every block is written.
    pub(super) fn end(self) -> Result<(), Failure> {
        drop(self.sender);
        self.thread.join().map_err(|_| (0, io::Error::other("the thread that wrote it has ended")))?
    }
}

fn write_blocks(mut file: File, blocks: Receiver<Block>) -> Result<(), Failure> {
    blocks.into_iter().try_for_each(|(offset, pieces)| {
        write_at(&mut file, offset, &pieces).map_err(|error| (offset, error))
    })
}

/// Writes pieces one after the other.
pub(super) fn write_at(file: &mut File, offset: u64, pieces: &[Bytes]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    let mut slices: Vec<IoSlice<'_>> =
        pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| IoSlice::new(piece)).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_failed_write_is_reported_with_its_offset_and_nothing_follows() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let behind = BackgroundWriter::start(&file).unwrap();
        let block = || vec![Bytes::from_static(b"block")];
        behind.write(7, vec![]);
        // How many more are accepted depends on how far the thread is, but never more than may wait.
        let taken = (8..).take_while(|&offset| behind.write(offset, block())).count();
        assert!(taken <= WAITING + 1, "{taken}");
        let (offset, error) = behind.end().unwrap_err();
        assert_eq!((offset, error.kind()), (8, io::ErrorKind::StorageFull));
    }

    #[test]
    fn blocks_are_written_in_their_order() {
        let directory = sapwood_testkit::TestDirectory::new();
        let path = directory.0.join("file");
        let behind = BackgroundWriter::start(&File::create(&path).unwrap()).unwrap();
        for index in 0..100_u8 {
            assert!(behind.write(u64::from(index), vec![Bytes::from(vec![index; 3]), Bytes::from(vec![0])]));
        }
        behind.end().unwrap();
        let mut expected: Vec<u8> = (0..100).collect();
        expected.extend([99, 99, 0]);
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }
}
