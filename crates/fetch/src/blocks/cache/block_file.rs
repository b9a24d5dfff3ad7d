//! The format of a block in a file: a header with a checksum, then the bytes.
//!
//! The header is `sapwood block 1\n`, then 64-bit numbers, the least significant byte first: the key of the file and
//! its version, the start of the block, its length, and the checksum (XXH64) of all before and of the bytes.

use crate::blocks::store::{StoredBlock, read_exact_at};
use sapwood_core::ByteRange;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh64::Xxh64;

const MAGIC: &[u8; 16] = b"sapwood block 1\n";
/// Bytes before the checksum.
const SUMMED: usize = 40;
/// Bytes before the block.
pub(super) const HEADER: u64 = 48;
/// Bytes that are hashed at once.
const CHUNK: u64 = 256 << 10;

/// Which block of which version of which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) key: u64,
    pub(super) block: ByteRange,
}

impl Label {
    fn bytes(self) -> [u8; SUMMED] {
        let mut bytes = [0; SUMMED];
        let numbers = [self.key, self.block.start, self.block.len].map(u64::to_le_bytes);
        let fields = MAGIC.chunks(8).chain(numbers.iter().map(<[u8; 8]>::as_slice));
        for (place, field) in bytes.chunks_mut(8).zip(fields) {
            place.copy_from_slice(field);
        }
        bytes
    }

    fn read(bytes: &[u8; SUMMED]) -> Option<Label> {
        let (magic, numbers) = bytes.split_at(MAGIC.len());
        let mut numbers =
            numbers.chunks_exact(8).filter_map(|field| field.try_into().ok().map(u64::from_le_bytes));
        let (key, start, len) = (numbers.next()?, numbers.next()?, numbers.next()?);
        (magic == MAGIC).then_some(Label { key, block: ByteRange::new(start, len).ok()? })
    }
}

/// Writes a block to an empty file.
pub(super) fn write(mut file: &File, label: Label, bytes: &[u8]) -> io::Result<()> {
    let header = label.bytes();
    let mut sum = Xxh64::new(0);
    sum.update(&header);
    sum.update(bytes);
    file.write_all(&header)?;
    file.write_all(&sum.digest().to_le_bytes())?;
    file.write_all(bytes)
}

/// Opens a block; `None` if it is not exactly what was written.
pub(super) fn open(path: &Path) -> io::Result<Option<(Label, StoredBlock)>> {
    let file = File::open(path)?;
    let mut header = [0; HEADER as usize];
    if file.metadata()?.len() < HEADER {
        return Ok(None);
    }
    read_exact_at(&file, &mut header, 0)?;
    let (summed, sum) = header.split_at(SUMMED);
    let summed: &[u8; SUMMED] = summed.try_into().map_err(io::Error::other)?;
    let Some(label) = Label::read(summed) else { return Ok(None) };
    if file.metadata()?.len() != HEADER.saturating_add(label.block.len) {
        return Ok(None);
    }
    let held = StoredBlock::new(Arc::new(file), ByteRange { start: HEADER, len: label.block.len });
    let mut found = Xxh64::new(0);
    found.update(summed);
    let mut at = 0;
    while at < label.block.len {
        let chunk = ByteRange { start: at, len: CHUNK.min(label.block.len - at) };
        found.update(&held.read(chunk)?);
        at += chunk.len;
    }
    Ok((found.digest().to_le_bytes() == *sum).then_some((label, held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn damage_of_any_byte_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        let label = Label { key: 7, block: ByteRange { start: 100, len: 30 } };
        write(&File::create(&path).unwrap(), label, &[5; 30]).unwrap();
        let (found, held) = open(&path).unwrap().unwrap();
        assert_eq!(found, label);
        assert_eq!(held.read(ByteRange { start: 28, len: 2 }).unwrap(), [5; 2].as_slice());
        assert!(held.read(ByteRange { start: 28, len: 3 }).is_err());
        let whole = fs::read(&path).unwrap();
        for i in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[i] ^= 1;
            fs::write(&path, flipped).unwrap();
            assert!(open(&path).unwrap().is_none(), "byte {i}");
            fs::write(&path, &whole[..i]).unwrap();
            assert!(open(&path).unwrap().is_none(), "{i} bytes");
        }
    }
}
