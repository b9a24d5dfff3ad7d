//! Cuts the pieces of a file into the parts of an upload, and holds back those that may be written again.

use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, FilePiece, Result};
use std::collections::BTreeMap;

/// Bytes of the first parts. Stores want at least 5 MiB in all but the last.
const PART: usize = 8 << 20;
/// After this many parts, later parts double in size, because stores accept at most 10,000 parts.
const PARTS_OF_A_LENGTH: usize = 1000;
/// Most bytes that are held back.
const MOST_HELD: usize = 1 << 30;

/// A part, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UploadPart {
    /// Its index, from 0.
    pub(crate) number: usize,
    pub(crate) bytes: Bytes,
}

/// Cuts pieces into parts.
#[derive(Debug, Default)]
pub(crate) struct UploadParts {
    /// The part that grows: its number, its offset in the file, and whether a byte of it may be written again.
    number: usize,
    open: Vec<u8>,
    open_at: u64,
    provisional: bool,
    /// An earlier run sent everything before this offset: pieces of it come again with the same bytes.
    sent_before: u64,
    /// Parts of which bytes may be written again, by their offset.
    held: BTreeMap<u64, (usize, Vec<u8>)>,
    held_bytes: usize,
}

fn length_of(number: usize) -> usize {
    PART << (number / PARTS_OF_A_LENGTH).min(10)
}

/// The offset of a part.
pub(crate) fn offset_of(number: usize) -> u64 {
    (0..number).map(|number| length_of(number) as u64).sum()
}

impl UploadParts {
    /// Resumes after this many parts, including those that were held back.
    pub(crate) fn resume(number: usize, held: BTreeMap<usize, Vec<u8>>) -> UploadParts {
        let held_bytes = held.values().map(Vec::len).sum();
        let held = held.into_iter().map(|(number, bytes)| (offset_of(number), (number, bytes))).collect();
        let sent_before = offset_of(number);
        UploadParts { number, open_at: sent_before, sent_before, held, held_bytes, ..UploadParts::default() }
    }

    /// The bytes of a part that is held back.
    pub(crate) fn held(&self, number: usize) -> Option<&[u8]> {
        self.held.get(&offset_of(number)).map(|(_, bytes)| bytes.as_slice())
    }

    /// Takes a piece, and returns the parts that are now complete.
    ///
    /// # Errors
    /// `Limit` if too many bytes would have to be held back.
    pub(crate) fn write(&mut self, piece: &FilePiece) -> Result<Vec<UploadPart>> {
        let end = self.open_at + self.open.len() as u64;
        let again = usize::try_from(end.saturating_sub(piece.offset)).unwrap_or(usize::MAX);
        let (again, mut bytes) = piece.bytes.split_at(again.min(piece.bytes.len()));
        self.overwrite(piece.offset, again)?;
        let mut ready = Vec::new();
        while !bytes.is_empty() {
            let room = length_of(self.number) - self.open.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.open.extend_from_slice(now);
            self.provisional |= piece.provisional;
            bytes = later;
            if now.len() == room {
                ready.extend(self.close());
            }
        }
        if self.held_bytes > MOST_HELD {
            let message = "the file has directories in many places, and the parts around them have to be kept in memory";
            return Err(Error::new(ErrorKind::Limit, message)
                .hint("write to a local file and copy it, or make the directories first"));
        }
        Ok(ready)
    }

    /// Ends the file, and returns the remaining parts.
    pub(crate) fn finish(mut self) -> Vec<UploadPart> {
        let mut left = Vec::new();
        if !self.open.is_empty() || self.number == 0 {
            left.extend(self.close());
        }
        let held = std::mem::take(&mut self.held).into_values();
        left.extend(held.map(|(number, bytes)| UploadPart { number, bytes: bytes.into() }));
        left
    }

    /// Completes the part that grows.
    fn close(&mut self) -> Option<UploadPart> {
        let room = length_of(self.number + 1);
        let bytes = std::mem::replace(&mut self.open, Vec::with_capacity(room.min(PART)));
        let (number, at) = (self.number, self.open_at);
        self.number += 1;
        self.open_at += bytes.len() as u64;
        if std::mem::take(&mut self.provisional) {
            self.held_bytes += bytes.len();
            self.held.insert(at, (number, bytes));
            return None;
        }
        Some(UploadPart { number, bytes: bytes.into() })
    }

    fn overwrite(&mut self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (start, part) = if at >= self.open_at {
                (self.open_at, &mut self.open)
            } else {
                match self.held.range_mut(..=at).next_back() {
                    Some((start, (_, part))) => (*start, part),
                    None => {
                        (at, bytes) = self.pass(at, bytes)?;
                        continue;
                    }
                }
            };
            let from = usize::try_from(at - start).unwrap_or(usize::MAX);
            let room = part.len().saturating_sub(from).min(bytes.len());
            let Some(target) = part.get_mut(from..from.saturating_add(room)).filter(|_| room > 0) else {
                (at, bytes) = self.pass(at, bytes)?;
                continue;
            };
            let (now, later) = bytes.split_at(room);
            target.copy_from_slice(now);
            (at, bytes) = (at + room as u64, later);
        }
        Ok(())
    }

    /// Skips what an earlier run sent, up to a part that was held back.
    fn pass<'b>(&self, at: u64, bytes: &'b [u8]) -> Result<(u64, &'b [u8])> {
        let next = self.held.range(at..).next().map_or(self.sent_before, |(held, _)| *held);
        let passed = next.min(self.sent_before).saturating_sub(at).min(bytes.len() as u64);
        if passed == 0 {
            return Err(sent(at));
        }
        let behind = bytes.get(usize::try_from(passed).unwrap_or(usize::MAX)..).unwrap_or_default();
        Ok((at + passed, behind))
    }
}

fn sent(at: u64) -> Error {
    Error::usage("bytes that were sent cannot be written again: they were not marked as provisional").at(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: usize, bytes: Vec<u8>, provisional: bool) -> FilePiece {
        FilePiece { offset: offset as u64, bytes: bytes.into(), provisional }
    }

    fn together(mut parts: Vec<UploadPart>) -> Vec<u8> {
        parts.sort_by_key(|part| part.number);
        assert!(parts.iter().enumerate().all(|(number, part)| part.number == number));
        parts.iter().flat_map(|part| part.bytes.to_vec()).collect()
    }

    #[test]
    fn provisional_parts_are_held_back() {
        let mut parts = UploadParts::default();
        let mut sent = parts.write(&piece(0, vec![1; 100], true)).unwrap();
        sent.extend(parts.write(&piece(100, vec![2; 3 * PART], false)).unwrap());
        assert_eq!(sent.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 2]);
        // Crosses the border of two parts.
        sent.extend(parts.write(&piece(100 + 3 * PART, vec![3; PART], true)).unwrap());
        sent.extend(parts.write(&piece(100 + 4 * PART, vec![4; 10], false)).unwrap());
        sent.extend(parts.write(&piece(100 + 3 * PART, vec![5; PART], false)).unwrap());
        sent.extend(parts.write(&piece(0, vec![6; 100], false)).unwrap());
        assert_eq!(sent.len(), 2);
        assert_eq!(parts.write(&piece(PART, vec![0; 1], false)).unwrap_err().kind(), ErrorKind::Usage);
        sent.extend(parts.finish());
        let expected = [vec![6; 100], vec![2; 3 * PART], vec![5; PART], vec![4; 10]].concat();
        assert!(together(sent) == expected);
    }

    #[test]
    fn ten_thousand_parts_hold_what_a_store_can() {
        assert_eq!(length_of(999), PART);
        let most: usize = (0..10_000).map(length_of).sum();
        assert!(most > 5 << 40);
    }

    #[test]
    fn parts_stay_small_enough_for_memory() {
        let parts = |bytes: u64| (0..).find(|&number| offset_of(number) >= bytes).unwrap();
        for (bytes, count, longest) in
            [(5_000_000_000, 597, 8), (100_000_000_000, 3616, 64), (1_000_000_000_000, 6879, 512)]
        {
            assert_eq!(parts(bytes), count, "{bytes}");
            assert_eq!(length_of(count - 1), longest << 20, "{bytes}");
        }
        // S3 takes parts of at most 5 GiB.
        assert!((0..10_000).all(|number| length_of(number) <= 5 << 30));
    }

    #[test]
    fn bytes_that_an_earlier_run_sent_are_skipped() {
        let file: Vec<u8> = (0..3 * PART + 1000).map(|index| (index % 251) as u8).collect();
        let end = file.len();
        let write = |parts: &mut UploadParts, from: usize, to: usize| {
            parts.write(&piece(from, file[from..to].to_vec(), from == 0)).unwrap()
        };
        let mut first = UploadParts::default();
        assert!(write(&mut first, 0, 100).is_empty());
        let mut sent = write(&mut first, 100, 2 * PART + 10);
        assert_eq!(sent.len(), 1);
        let held = BTreeMap::from([(0, first.held(0).unwrap().to_vec())]);
        let mut parts = UploadParts::resume(2, held);
        assert!(write(&mut parts, 0, 100).is_empty());
        assert!(write(&mut parts, PART - 5, PART + 5).is_empty());
        assert!(write(&mut parts, PART + 5, 2 * PART - 3).is_empty());
        sent.extend(write(&mut parts, 2 * PART - 3, 2 * PART + 20));
        sent.extend(write(&mut parts, 2 * PART + 20, end));
        assert!(parts.write(&piece(2 * PART + 1, vec![0; 9], false)).is_err());
        sent.extend(parts.finish());
        assert!(together(sent) == file);
    }

    #[test]
    fn a_file_of_one_part() {
        let mut parts = UploadParts::default();
        assert!(parts.write(&piece(0, vec![1; 10], true)).unwrap().is_empty());
        assert_eq!(together(parts.finish()), [1; 10]);
        assert_eq!(UploadParts::default().finish().len(), 1);
    }
}
