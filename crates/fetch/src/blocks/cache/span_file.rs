//! The format of a span of a decoded column in a file: a header with checksums, then the buffers.
//!
//! The header is `sapwood column1\n`, then 64-bit numbers, the least significant byte first: the key of the column (two),
//! the first entry and the end of the span, the number of buffers, their lengths, the checksums (XXH3) of all pieces of 1 MiB
//! of each buffer, and the checksum of all before. Buffers begin at multiples of 64 bytes, so that they can be used where
//! the file is mapped.

use bytes::Bytes;
use memmap2::Mmap;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 16] = b"sapwood column1\n";
/// Bytes before the lengths of the buffers.
const FIXED: u64 = 56;
/// Bytes with one checksum.
const PIECE: u64 = 1 << 20;
const ALIGNMENT: u64 = 64;
/// Smaller files are read: a mapping would cost more.
const LEAST_MAPPED: u64 = 64 << 10;
/// No column has more buffers than this; a file that says so is damaged.
const MOST_BUFFERS: u64 = 1 << 16;

/// Which entries of which column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanLabel {
    pub(super) column: u128,
    pub(super) entries: Range<u64>,
}

/// Writes the buffers of a span to an empty file. Returns the bytes of the file.
pub(super) fn write(mut file: &File, label: &SpanLabel, buffers: &[&[u8]]) -> io::Result<u64> {
    let column = label.column.to_le_bytes();
    let mut header = MAGIC.to_vec();
    header.extend(column);
    let numbers = [label.entries.start, label.entries.end, buffers.len() as u64];
    let lens = buffers.iter().map(|buffer| buffer.len() as u64);
    header.extend(numbers.into_iter().chain(lens.clone()).flat_map(u64::to_le_bytes));
    header.extend(buffers.iter().flat_map(|buffer| sums(buffer)).flat_map(u64::to_le_bytes));
    header.extend(xxh3_64(&header).to_le_bytes());
    let mut written = header.len() as u64;
    file.write_all(&header)?;
    for buffer in buffers {
        let gap = aligned(written).unwrap_or(written) - written;
        file.write_all(&[0; ALIGNMENT as usize][..gap as usize])?;
        file.write_all(buffer)?;
        written += gap + buffer.len() as u64;
    }
    Ok(written)
}

/// Opens a span; `None` if the file is not exactly what was written. Hashes on the threads of the current pool.
pub(super) fn open(path: &Path) -> io::Result<Option<(SpanLabel, Vec<Bytes>)>> {
    let bytes = contents(&File::open(path)?)?;
    Ok(parse(&bytes)
        .filter(|(_, buffers, expected)| {
            let sums: Vec<u64> = buffers.iter().flat_map(|buffer| sums(buffer)).collect();
            sums == *expected
        })
        .map(|(label, buffers, _)| (label, buffers)))
}

#[expect(
    unsafe_code,
    reason = "a copy would take as long as touching all values, and the memory for each process"
)]
fn contents(file: &File) -> io::Result<Bytes> {
    let len = file.metadata()?.len();
    if len < LEAST_MAPPED {
        let mut bytes = Vec::with_capacity(len as usize);
        file.take(LEAST_MAPPED).read_to_end(&mut bytes)?;
        return Ok(Bytes::from(bytes));
    }
    // SAFETY: no process of sapwood changes or shortens a file under its final name: it is complete when it gets that name,
    // and is replaced or removed as a whole, which a mapping survives. As with any mapped file, others must not change it.
    let mapped = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(mapped))
}

/// The label, the buffers, and the checksums that their pieces should have.
fn parse(bytes: &Bytes) -> Option<(SpanLabel, Vec<Bytes>, Vec<u64>)> {
    let number = |at: u64| {
        let at = usize::try_from(at).ok()?;
        bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
    };
    let column = bytes.get(16..32)?.try_into().ok().map(u128::from_le_bytes)?;
    let count = number(48).filter(|count| *count <= MOST_BUFFERS && bytes.starts_with(MAGIC))?;
    let lens: Vec<u64> = (0..count).map(|index| number(FIXED + 8 * index)).collect::<Option<_>>()?;
    let pieces = lens.iter().try_fold(0_u64, |sum, len| sum.checked_add(len.div_ceil(PIECE)))?;
    let first_sum = FIXED + 8 * count;
    let end = pieces.checked_mul(8)?.checked_add(first_sum)?;
    let header = bytes.get(..usize::try_from(end).ok()?)?;
    if number(end)? != xxh3_64(header) {
        return None;
    }
    let sums = (0..pieces).map(|piece| number(first_sum + 8 * piece)).collect::<Option<_>>()?;
    let mut at = end + 8;
    let mut buffers = Vec::with_capacity(lens.len());
    for len in lens {
        let start = aligned(at)?;
        at = start.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
        buffers.push(bytes.slice(usize::try_from(start).ok()?..usize::try_from(at).ok()?));
    }
    let entries = number(32)?..number(40)?;
    (at == bytes.len() as u64).then_some((SpanLabel { column, entries }, buffers, sums))
}

fn sums(buffer: &[u8]) -> Vec<u64> {
    buffer.par_chunks(PIECE as usize).map(xxh3_64).collect()
}

fn aligned(position: u64) -> Option<u64> {
    position.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn damage_of_any_byte_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let label = SpanLabel { column: 1 << 70 | 5, entries: 3..8 };
        let (offsets, values) = ([1; 48], [7; 5]);
        let written = write(&File::create(&path).unwrap(), &label, &[&offsets, &[], &values]).unwrap();
        let whole = fs::read(&path).unwrap();
        assert_eq!(written, whole.len() as u64);
        let (found, buffers) = open(&path).unwrap().unwrap();
        assert_eq!(found, label);
        assert_eq!(buffers, [&offsets[..], &[], &values]);
        let starts: Vec<usize> = [0, 2].map(|index| buffers[index].as_ptr() as usize).to_vec();
        assert_eq!((starts[1] - starts[0]) % 64, 0);
        for i in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[i] ^= 1;
            fs::write(&path, flipped).unwrap();
            let damaged = open(&path).unwrap();
            // Between buffers are bytes that nobody reads.
            let is_unread =
                damaged.as_ref().is_some_and(|(_, buffers)| buffers == &[&offsets[..], &[], &values]);
            assert!(damaged.is_none() || is_unread, "byte {i}");
            fs::write(&path, &whole[..i]).unwrap();
            assert!(open(&path).unwrap().is_none(), "{i} bytes");
        }
    }

    #[test]
    fn large_spans_are_mapped_and_aligned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let values: Vec<u8> = (0..3 * PIECE + 5).map(|value| (value % 251) as u8).collect();
        write(&File::create(&path).unwrap(), &SpanLabel { column: 0, entries: 0..1 }, &[&[1; 3], &values])
            .unwrap();
        let (_, buffers) = open(&path).unwrap().unwrap();
        assert_eq!(buffers[1], values);
        assert!(buffers.iter().all(|buffer| (buffer.as_ptr() as usize).is_multiple_of(64)));
        let mut whole = fs::read(&path).unwrap();
        let last = whole.len() - 1;
        whole[last] ^= 128;
        fs::write(&path, whole).unwrap();
        assert!(open(&path).unwrap().is_none());
    }
}
